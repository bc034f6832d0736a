"""The measured graphs as plain arrays (inputs, peers, references) and as stores, kept under bench/scratch/.

`rmat-S`: Graph500 parameters (.57, .19, .19), edge factor 16, scrambled IDs; 16 * 2^S directed edges as generated.
Its *kron* form is what the GAP suite measures: both directions, no duplicates, no self-loops. Weights are a hash of
the end points, 1 to 255. `debian` is the graph that ships with gstream: package dependencies, string IDs.
Files: edges.npy u4[edges, 2]; edges.txt SNAP text; kron-indptr.npy u8[V+1], kron-indices.npy u4[E], kron-weights.npy
u1[E] (CSR, ascending lists). The arrays are made with NumPy alone, so that equal answers also prove the conversion.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bench.machine import ROOT

WORK = ROOT / "bench" / "scratch"
SHIPPED = ROOT / "gstream" / "data" / "debian.txt.gz"
EDGE_FACTOR = 16
SEED = 20
MOST_WEIGHT = 255
BLOCK = 1 << 22  # edges handled at once where temporaries matter


@dataclass(frozen=True)
class Csr:
    """Adjacency lists: neighbours of v are indices[indptr[v]:indptr[v+1]], ascending; weights beside them."""

    indptr: np.ndarray  # u8[V+1]
    indices: np.ndarray  # u4[E]
    weights: np.ndarray  # u1[E], 1..255, the same in both directions

    @property
    def vertices(self) -> int:
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        return len(self.indices)

    @cached_property
    def degree(self) -> np.ndarray:
        """u8[V]"""
        return np.diff(self.indptr)

    def by_degree(self) -> Csr:
        """The same graph renumbered by descending degree (ties in ID order); lists ascending again."""
        order = np.argsort(-self.degree.astype(np.int64), kind="stable")
        place = np.empty(self.vertices, dtype=np.uint32)
        place[order] = np.arange(self.vertices, dtype=np.uint32)
        keys = np.repeat(place.astype(np.uint64) << np.uint64(32), self.degree.astype(np.int64))
        keys |= place[self.indices]
        keys.sort()
        indptr = np.zeros(self.vertices + 1, dtype=np.uint64)
        np.cumsum(self.degree[order], out=indptr[1:])
        indices = keys.astype(np.uint32)  # the low word
        keys >>= np.uint64(32)
        return Csr(indptr, indices, edge_weights(order[keys], order[indices]))

    def sources(self) -> np.ndarray:
        """u4[E]: the vertex whose list each of `indices` is in."""
        return np.repeat(np.arange(self.vertices, dtype=np.uint32), self.degree.astype(np.int64))

    def halves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every undirected edge once: (source u4[E/2], target u4[E/2], weight u1[E/2]), source < target."""
        source = self.sources()
        once = source < self.indices
        return source[once], self.indices[once], self.weights[once]

    def upward(self) -> Csr:
        """The edges from the lesser to the greater vertex alone: a directed graph without a cycle."""
        source, target, weight = self.halves()
        indptr = np.zeros(self.vertices + 1, dtype=np.uint64)
        np.cumsum(np.bincount(source, minlength=self.vertices), out=indptr[1:])
        return Csr(indptr, target, weight)


def edge_weights(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Integer weights 1..255 (u1[n]) that depend on the unordered pair only: a multiplicative hash."""
    low = np.minimum(source, target).astype(np.uint64)
    high = np.maximum(source, target).astype(np.uint64)
    mixed = low * np.uint64(0x9E3779B97F4A7C15) ^ high * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x165667B19E3779F9)
    return ((mixed >> np.uint64(40)) % np.uint64(MOST_WEIGHT) + np.uint64(1)).astype(np.uint8)


def kron_csr(edges: np.ndarray, vertices: int) -> Csr:
    """Both directions of `edges` u4[n, 2], without duplicates and self-loops, as CSR; one sort of 64-bit keys."""
    loopless = edges[edges[:, 0] != edges[:, 1]]
    source, target = loopless[:, 0].astype(np.uint64), loopless[:, 1].astype(np.uint64)
    keys = np.concatenate((source << np.uint64(32) | target, target << np.uint64(32) | source))
    del source, target, loopless
    return _csr_of(keys, vertices)


def directed_csr(edges: np.ndarray, vertices: int) -> Csr:
    """`edges` u4[n, 2] as they point, without duplicates and self-loops."""
    loopless = edges[edges[:, 0] != edges[:, 1]]
    return _csr_of(loopless[:, 0].astype(np.uint64) << np.uint64(32) | loopless[:, 1], vertices)


def _csr_of(keys: np.ndarray, vertices: int) -> Csr:
    """CSR of the distinct keys u8[n], source in the high word and target in the low one; sorts them in place."""
    keys.sort()
    distinct = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=distinct[1:])
    keys = keys[distinct]
    del distinct
    indices = keys.astype(np.uint32)  # the low word
    keys >>= np.uint64(32)
    indptr = np.zeros(vertices + 1, dtype=np.uint64)
    np.cumsum(np.bincount(keys.astype(np.int64), minlength=vertices), out=indptr[1:])
    weights = np.empty(len(indices), dtype=np.uint8)
    for first in range(0, len(indices), BLOCK):
        part = slice(first, first + BLOCK)
        weights[part] = edge_weights(keys[part], indices[part])
    return Csr(indptr, indices, weights)


class Graph:
    """One measured graph with its files under bench/scratch/NAME/; everything is made when first asked for."""

    def __init__(self, name: str, seed: int = SEED) -> None:
        self.name, self.seed = name, seed
        kind, _, scale = name.partition("-")
        if kind not in ("rmat", "debian") or (kind == "rmat" and not scale.isdigit()):
            raise ValueError(f"graph {name!r} is unknown; it is rmat-SCALE or debian")
        self.scale = int(scale) if kind == "rmat" else None
        self.folder = WORK / (f"{name}-seed{seed}" if kind == "rmat" else name)
        self.folder.mkdir(parents=True, exist_ok=True)

    def _array(self, name: str, make: str) -> np.ndarray:
        path = self.folder / name
        if not path.exists():
            getattr(self, make)()
        return np.load(path, mmap_mode="r")

    def _save(self, name: str, array: np.ndarray) -> None:
        partial = self.folder / (name + ".partial.npy")
        np.save(partial, array)
        partial.rename(self.folder / name)

    def _make_edges(self) -> None:
        if self.scale is None:
            self._save("edges.npy", _shipped_edges()[0])
            return
        from pagestore.generate import rmat

        chunks = rmat(scale=self.scale, edge_factor=EDGE_FACTOR, seed=self.seed, scramble=True).chunks()
        edges = np.empty((EDGE_FACTOR << self.scale, 2), dtype=np.uint32)
        at = 0
        for chunk in chunks:
            edges[at : at + len(chunk), 0] = chunk.source
            edges[at : at + len(chunk), 1] = chunk.target
            at += len(chunk)
        self._save("edges.npy", edges)

    def _make_kron(self) -> None:
        csr = kron_csr(self.edges, self.vertices)
        self._save("kron-weights.npy", csr.weights)
        self._save("kron-indptr.npy", csr.indptr)
        self._save("kron-indices.npy", csr.indices)

    @cached_property
    def vertices(self) -> int:
        """Vertices of the graph: 2^scale, or the packages of the shipped graph."""
        return 1 << self.scale if self.scale is not None else int(self.edges.max()) + 1

    @cached_property
    def edges(self) -> np.ndarray:
        """u4[edges, 2]: (source, target) as generated, duplicates and self-loops among them; memory-mapped."""
        return self._array("edges.npy", "_make_edges")

    @cached_property
    def kron(self) -> Csr:
        """The undirected form as CSR arrays in memory."""
        indices = np.array(self._array("kron-indices.npy", "_make_kron"))
        indptr, weights = np.load(self.folder / "kron-indptr.npy"), np.load(self.folder / "kron-weights.npy")
        return Csr(indptr, indices, weights)

    def npy(self) -> Path:
        """Path of edges.npy."""
        return Path(str(self.edges.filename))  # type: ignore[attr-defined]

    def text(self) -> Path:
        """Path of the SNAP text of the edges (the shipped graph's own file, for debian)."""
        if self.scale is None:
            return SHIPPED
        path = self.folder / "edges.txt"
        if not path.exists():
            partial = path.with_suffix(".txt.partial")
            write_text(self.edges, partial)
            partial.rename(path)
        return path

    def sources(self, count: int) -> list[int]:
        """`count` distinct random vertices with neighbours, from the seed."""
        candidates = np.flatnonzero(self.kron.degree)
        generator = np.random.default_rng(self.seed)
        return generator.choice(candidates, size=min(count, len(candidates)), replace=False).tolist()


def write_text(edges: np.ndarray, path: Path) -> None:
    """SNAP text: a comment line, then `source<TAB>target` a line."""
    import pyarrow as pa
    from pyarrow import csv

    plain = csv.WriteOptions(include_header=False, delimiter="\t")
    with path.open("wb") as file:
        file.write(b"# Directed graph; FromNodeId ToNodeId\n")
        for block in blocks(edges):
            csv.write_csv(pa.table({"source": block[:, 0], "target": block[:, 1]}), file, plain)


def blocks(edges: np.ndarray) -> Iterator[np.ndarray]:
    """Contiguous copies of at most BLOCK rows."""
    for first in range(0, len(edges), BLOCK):
        yield np.ascontiguousarray(edges[first : first + BLOCK])


def _shipped_edges() -> tuple[np.ndarray, list[str]]:
    """The shipped graph as (u4[edges, 2], names ascending by UTF-8 bytes), read with Python alone."""
    rows = []
    with gzip.open(SHIPPED, "rt", encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                rows.append(line.split())
    names = sorted({name for row in rows for name in row}, key=lambda name: name.encode())
    number = {name: index for index, name in enumerate(names)}
    return np.array([[number[source], number[target]] for source, target in rows], dtype=np.uint32), names
