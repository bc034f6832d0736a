"""The measured stores: converted from the arrays that the peers get, or generated; kept from run to run.

A store is made anew when the text of pagestore/ or what it is made from has changed, so that no figure comes from an
older page format. A file beside it says what it was made from.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np

from bench.child import gstream, run
from bench.graphs import BLOCK, EDGE_FACTOR, SEED, Graph, edge_weights
from bench.machine import ROOT

ORDERS = ("natural", "degree")
SYMMETRIC = ("--undirected", "--dedupe", "--drop-self-loops", "--scramble", "--order", "degree")
AS_GENERATED = "out, as generated"
KINDS = {
    "undirected": SYMMETRIC,
    "columns": (*SYMMETRIC, "--columns", "32"),
    "weighted": (*SYMMETRIC, "--weights"),
    "undirected, coded": (*SYMMETRIC, "--compress", "on"),
    "weighted, coded": (*SYMMETRIC, "--weights", "--compress", "on"),
    "out": ("--dedupe", "--drop-self-loops", "--scramble", "--order", "degree", "--topology", "out"),
    AS_GENERATED: ("--topology", "out"),
}  # generated RMAT graphs: options of `gstream generate`
MEMORY_SHARE = 3  # generating takes a third of the free memory: the file's pages want room too


def _made_from(what: str) -> str:
    """What a store is made from, as text: `what`, and a digest of pagestore/'s text (not of its times, as trees get
    copied)."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "pagestore").rglob("*.py")):
        digest.update(path.read_bytes())
    return f"{what}\npagestore {digest.hexdigest()}\n"


def _note(path: Path) -> Path:
    return path.with_suffix(".made-from")


def is_kept(path: Path, what: str) -> bool:
    """Whether the store at `path` is there and made from `what` by today's pagestore; one that is not is removed."""
    if path.exists() and _note(path).exists() and _note(path).read_text() == _made_from(what):
        return True
    path.unlink(missing_ok=True)
    return False


def keep(path: Path, what: str) -> None:
    """Note what the store at `path`, which is whole now, was made from."""
    _note(path).write_text(_made_from(what))


def generated(folder: Path, scale: int, kind: str, edge_factor: int = EDGE_FACTOR) -> tuple[Path, float]:
    """(path of an RMAT store of one of KINDS, seconds that making it took: 0 where it was there)."""
    from gstream.options.memory import memory

    name = f"rmat-{scale}-{kind.replace(', ', '-').replace(' ', '-')}"
    path = folder / (f"{name}-{edge_factor}.gs" if edge_factor != EDGE_FACTOR else f"{name}.gs")
    options = ["--scale", str(scale), "--edge-factor", str(edge_factor), "--seed", str(SEED), *KINDS[kind]]
    if is_kept(path, " ".join(options)):
        return path, 0.0
    folder.mkdir(parents=True, exist_ok=True)
    room = f"{max(64, (memory()[1] // MEMORY_SHARE) >> 20)}MiB"
    done = run(gstream("generate", "rmat", path, *options, "--memory", room, "--force"))
    keep(path, " ".join(options))
    print(f"    generated {path.name} in {done.seconds:.1f} s", file=sys.stderr, flush=True)
    return path, done.seconds


def kron(graph: Graph, order: str, weighted: bool = False) -> Path:
    """Path of the undirected store (no duplicates, no self-loops) in one vertex order, with weights 1..255 or none."""
    return _converted(graph, f"kron-{order}{'-weighted' if weighted else ''}", "kron", order, weighted)


def directed(graph: Graph, order: str) -> Path:
    """Path of the store of the edges as they point (no duplicates, no self-loops), both topologies."""
    return _converted(graph, f"directed-{order}", "directed", order)


def acyclic(graph: Graph, order: str) -> Path:
    """Path of the store of the undirected graph's edges, each from the lesser to the greater ID: without a cycle."""
    return _converted(graph, f"acyclic-{order}", "acyclic", order)


def _converted(graph: Graph, name: str, what: str, order: str, weighted: bool = False) -> Path:
    """Path of the store `name` of the graph's edges as generated; `what`: "kron", "directed" or "acyclic"."""
    import pagestore

    path = graph.folder / f"{name}.gs"
    if not is_kept(path, what):
        source, target = graph.edges[:, 0], graph.edges[:, 1]
        if what == "acyclic":
            source, target = np.minimum(source, target), np.maximum(source, target)
        pagestore.convert_arrays(
            path,
            source,
            target,
            weights_of(graph) if weighted else None,
            directed=what != "kron",
            vertices=graph.vertices,
            order=order,
            dedupe=True,
            drop_self_loops=True,
        )
        keep(path, what)
    return path


def weights_of(graph: Graph) -> np.ndarray:
    """u1[edges]: weights 1..255 of the edges as generated."""
    weights = np.empty(len(graph.edges), dtype=np.uint8)
    for first in range(0, len(weights), BLOCK):
        part = slice(first, first + BLOCK)
        weights[part] = edge_weights(graph.edges[part, 0], graph.edges[part, 1])
    return weights


def mixed_sum(source: np.ndarray, target: np.ndarray) -> int:
    """Sum over edges, modulo 2^64, of a hash of (source, target): equal for equal multisets of edges, in any order."""
    keys = source.astype(np.uint64) << np.uint64(32) | target.astype(np.uint64)
    keys *= np.uint64(0x9E3779B97F4A7C15)
    keys ^= keys >> np.uint64(32)
    keys *= np.uint64(0xD6E8FEB86659FD93)
    keys ^= keys >> np.uint64(29)
    return int(keys.sum(dtype=np.uint64))


def input_sum(edges: np.ndarray) -> int:
    """`mixed_sum` of all rows of edges u4[n, 2]."""
    total = 0
    for first in range(0, len(edges), BLOCK):
        part = edges[first : first + BLOCK]
        total += mixed_sum(part[:, 0], part[:, 1])
    return total % (1 << 64)
