"""The graphs of cliffs.py: long, flat, dense and lopsided ones, of as many edges as are asked for.

`path`, `cycle`, `comb`, `grid` and `tree` point away from vertex 0; names that end in `-undirected` are the same edges
both ways. `star-out` and `star-in` have their hub at vertex 0; `complete` points from lesser to greater vertices;
`cliques` is a chain of complete graphs of CLIQUE vertices. Natural numbering walks a graph from vertex 0; `permuted`
gives the same graph IDs drawn from a seed. Weights are a hash of the edge, 1 to 255.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from bench import stores
from bench.graphs import SEED, Csr, directed_csr, edge_weights, kron_csr

CLIQUE = 16
TOOTH = 8  # edges of a comb's teeth
NUMBERINGS = ("natural", "permuted")
Edges = tuple[int, np.ndarray, np.ndarray]  # vertices, sources int64[edges], targets int64[edges]


def path(edges: int) -> Edges:
    source = np.arange(edges)
    return edges + 1, source, source + 1


def cycle(edges: int) -> Edges:
    source = np.arange(edges)
    return edges, source, (source + 1) % edges


def comb(edges: int) -> Edges:
    """A spine whose every vertex has a tooth of TOOTH edges; numbered tooth by tooth."""
    spine = max(2, edges // (TOOTH + 1))
    first = np.arange(spine) * (TOOTH + 1)
    along = (first[:, None] + np.arange(TOOTH)).ravel()
    source = np.concatenate((first[:-1], along))
    return spine * (TOOTH + 1), source, np.concatenate((first[1:], along + 1))


def grid(edges: int) -> Edges:
    """A square, row by row, edges to the right and down."""
    side = max(2, round((edges / 2) ** 0.5))
    place = np.arange(side * side).reshape(side, side)
    source = np.concatenate((place[:, :-1].ravel(), place[:-1].ravel()))
    return side * side, source, np.concatenate((place[:, 1:].ravel(), place[1:].ravel()))


def star(edges: int) -> Edges:
    return edges + 1, np.zeros(edges, np.int64), np.arange(1, edges + 1)


def star_in(edges: int) -> Edges:
    return edges + 1, np.arange(1, edges + 1), np.zeros(edges, np.int64)


def complete(edges: int) -> Edges:
    vertices = max(2, round((2 * edges) ** 0.5))
    source, target = np.triu_indices(vertices, 1)
    return vertices, source, target


def tree(edges: int) -> Edges:
    """Binary, numbered level by level."""
    target = np.arange(1, edges + 1)
    return edges + 1, (target - 1) // 2, target


def cliques(edges: int) -> Edges:
    source, target = np.triu_indices(CLIQUE, 1)
    count = max(1, edges // (len(source) + 1))
    first = np.arange(count)[:, None] * CLIQUE
    links = first[1:, 0] - 1
    source = np.concatenate(((first + source).ravel(), links))
    return count * CLIQUE, source, np.concatenate(((first + target).ravel(), links + 1))


SHAPES: dict[str, Callable[[int], Edges]] = {
    "path": path, "path-undirected": path, "cycle": cycle, "cycle-undirected": cycle, "comb": comb,
    "comb-undirected": comb, "grid": grid, "grid-undirected": grid, "star-out": star, "star-in": star_in,
    "star-undirected": star, "complete": complete, "complete-undirected": complete, "tree": tree,
    "tree-undirected": tree, "cliques-undirected": cliques,
}  # fmt: skip
LONG = frozenset(name for name in SHAPES if name.startswith(("path", "cycle", "comb", "grid", "cliques")))
CYCLIC = frozenset(name for name in SHAPES if name.endswith("undirected")) | {"cycle"}


@dataclass(frozen=True)
class Cliff:
    """One graph: a shape, about so many edges, a numbering."""

    shape: str
    edges: int
    numbering: str

    @property
    def directed(self) -> bool:
        return not self.shape.endswith("-undirected")

    @cached_property
    def made(self) -> tuple[int, np.ndarray, np.ndarray, int]:
        """(vertices, sources, targets, the ID of natural vertex 0)."""
        vertices, source, target = SHAPES[self.shape](self.edges)
        if self.numbering == "natural":
            return vertices, source, target, 0
        place = np.random.default_rng(SEED).permutation(vertices)
        return vertices, place[source], place[target], int(place[0])

    @cached_property
    def weights(self) -> np.ndarray:
        """u1[edges]"""
        _, source, target, _ = self.made
        return edge_weights(source.astype(np.uint32), target.astype(np.uint32))

    @cached_property
    def csr(self) -> Csr:
        """The edges as peers take them, both ways where it is undirected."""
        vertices, source, target, _ = self.made
        edges = np.stack((source, target), axis=1).astype(np.uint32)
        return directed_csr(edges, vertices) if self.directed else kron_csr(edges, vertices)

    def store(self, folder: Path) -> Path:
        """Path of its store in natural order with weights and both topologies, kept from run to run."""
        import pagestore

        at = folder / f"{self.shape}-{self.edges}-{self.numbering}.gs"
        what = f"cliff {self}"
        if not stores.is_kept(at, what):
            folder.mkdir(parents=True, exist_ok=True)
            vertices, source, target, _ = self.made
            pagestore.convert_arrays(at, source, target, self.weights, directed=self.directed, vertices=vertices)
            stores.keep(at, what)
        return at
