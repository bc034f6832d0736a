"""Triangles of every vertex, and the local clustering coefficient (LCC), by joining lists with lists.

triangles(v) = pairs of v's neighbours that are neighbours themselves (networkx.triangles; their sum over 3 is GAP's
triangle count), of undirected graphs.
lcc(v) = edges between v's neighbours / (d * (d - 1)), d = |N(v)|, 0 where d < 2, with N(v) the out- and in-neighbours
of v, each once, and an undirected edge counted in both directions (LDBC Graphalytics). Of undirected graphs that is
networkx.clustering; of directed ones networkx counts otherwise (Fagiolo 2007).
Both take the graph as simple: self-loops and duplicates don't count.

An edge is in one list, that of its lower end (gstream.algorithms.joins). Blocks of lists, each a range of vertices, are
the inner and the outer operand of a nested loop: one block stays while the others are gathered from the pages, so that
a graph counts whose lists take more than memory. Where all lists fit, each page is moved twice: once to size the lists.

Holds 24 bytes a vertex (triangles) or 28 (LCC) and degrees, on the host's cores 2 bits for each thread; a block 4 bytes
for each edge between neighbours (8 past 2^30 vertices) and 16 for each vertex.

Runs gstream.algorithms.joins; needs an undirected store, lcc any topology; holds 24 bytes a vertex, lcc 28, degrees and
blocks; certificate: gstream.algorithms.spots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.algorithms import joins
from gstream.algorithms.blocks import Blocks, Range, gather, neighbours
from gstream.algorithms.session import Session, SharedKernel
from gstream.results import Column
from pagestore.errors import UsageError


@dataclass(frozen=True)
class Lists:
    """A block's lists of higher neighbours: vertex first + k has entries[starts[k]:after[k]]."""

    block: Range
    after: np.ndarray
    entries: np.ndarray

    @property
    def arrays(self) -> tuple[Any, ...]:
        return np.uint64(self.block.first), self.block.starts, self.after, self.entries


def run_triangles(session: Session) -> tuple[list[Column], dict[str, Any]]:
    """Column triangles. Raises UsageError (a directed store), ResourceError."""
    if session.meta.directed:
        raise UsageError(
            f"{session.store.path}: is directed, and triangles are counted in undirected graphs. Convert with "
            "--undirected, or run lcc."
        )
    arcs, _, rounds = _join(session, degrees=False)
    arcs >>= np.uint64(1)  # each edge between neighbours stood for two
    found = {"triangles": int(arcs.sum()) // 3}
    return [Column("triangles", arcs)], found | session.finish(rounds, True)


def run_lcc(session: Session) -> tuple[list[Column], dict[str, Any]]:
    """Column lcc, float64. Raises ResourceError."""
    arcs, degree, rounds = _join(session, degrees=True)
    pairs = degree.astype(np.float64)
    pairs *= pairs - 1
    lcc = np.divide(arcs, pairs, out=np.zeros(len(arcs)), where=pairs > 0)
    found = {"mean_lcc": float(lcc.mean()) if len(lcc) else 0.0}
    return [Column("lcc", lcc, dtype=np.dtype(np.float64))], found | session.finish(rounds, True)


def _join(session: Session, degrees: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """(edges between neighbours u8[V], neighbours u4[V], rounds of the outer loop)."""
    vertices, size = session.meta.vertices, neighbours(session)
    arcs, degree = np.zeros(vertices, np.uint64), np.zeros(vertices if degrees else 0, np.uint32)
    marks = np.zeros((0 if session.on_gpus else session.engine.workers.threads, -(-vertices // 32)), np.uint64)
    session.hold(size, arcs, degree, marks)
    blocks, inner, outer = higher_lists(session, size)
    for number in range(len(blocks)):
        two = inner.lists(number)
        if degrees:
            session.each(joins.count_ends, *two.arrays, degree, long=True)
        for other in range(len(blocks)):
            one = two if other == number else outer.lists(other)
            if session.on_gpus:
                session.join(joins.close_triangles, len(one.after), *one.arrays, *two.arrays, arcs)
            else:
                seats = np.zeros(1, np.int64)
                session.look(joins.close_marked, *one.arrays, *two.arrays, arcs, marks, seats, long=True)
    return arcs, degree, len(blocks)


def higher_lists(session: Session, size: np.ndarray, beside: int = 0) -> tuple[Blocks, Gatherer, Gatherer]:
    """Blocks of lists of higher neighbours, and room for two of them, which are the same where there is one block.

    size: entries of each vertex's lists, which order vertices. beside: arrays as large as a block's entries that go
    with each block.
    """
    higher = _count_higher(session, size)
    dtype = np.uint32 if session.meta.vertices <= 1 << 30 else np.uint64
    blocks = Blocks(session, higher, dtype, shares=1 + beside)
    if len(blocks) > 1:
        session.let_go(blocks.before)
        blocks = Blocks(session, higher, dtype, shares=2 * (1 + beside))
    inner = Gatherer(session, blocks, size)
    return blocks, inner, Gatherer(session, blocks, size) if len(blocks) > 1 else inner


def _count_higher(session: Session, size: np.ndarray) -> np.ndarray:
    """Entries that each vertex's list may have, of the type of `size`."""
    higher = np.zeros_like(size)
    session.hold(higher)
    both = session.meta.directed and len(session.meta.topologies) == 1
    for name in session.meta.topologies:
        session.sweep(name, SharedKernel(joins.count_higher, (both, size, higher)))
    return higher


class Gatherer:
    """Room for the lists of one block at a time."""

    def __init__(self, session: Session, blocks: Blocks, size: np.ndarray) -> None:
        self.session, self.blocks, self.size = session, blocks, size
        self.entries = np.empty(blocks.most_entries, blocks.dtype)
        self.after = np.empty(blocks.most_vertices, np.uint64)
        session.hold(self.entries, self.after, self.after)
        self.top = session.meta.vertices.bit_length() + 2
        self._last: tuple[int, Lists] | None = None

    def lists(self, number: int) -> Lists:
        """The lists of a block; those of the block before are gone."""
        if self._last is None or self._last[0] != number:
            self._last = number, self._gather(number)
        return self._last[1]

    def _gather(self, number: int) -> Lists:
        block = self.blocks.range(number)
        after = self.after[: block.end - block.first]
        gather(self.session, block, joins.gather_higher, (self.size, self.entries), after)
        self.session.each(joins.tidy, block.starts, self.entries, self.top, after, long=True)
        return Lists(block, after, self.entries)
