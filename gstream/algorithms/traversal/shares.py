"""Predecessors of breadth-first search where lists are not in natural order: parents of low natural index push first.

The predecessor of v is its parent of least natural index. In natural order that is the first parent in v's list, in
another order v has to look at its whole list. So parents below a bound of natural indices push at first: which vertices
they reach have their predecessors, those with long lists nearly always among them. The others, whose lists are short,
pull from all parents. The bound is chosen for each level: 0 makes the level a pull, the number of vertices a push.

Bounds are chosen by what the edges cost. A few vertices of each range of store IDs are looked at, and the mean degree
of the range is taken for theirs. Bounds change the time, and no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gstream.algorithms.support.array_sweep import Join
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal import nearest
from gstream.hostcode.bitmaps import bitmap
from gstream.paging.page_table import PageTable
from gstream.records import RecordKernel

Way = Callable[[Any, bool], tuple[RecordKernel, tuple[Any, ...]]]

LEVELS = 16  # vertices that are farther away pull from all parents: graphs of more levels have no hubs
FIRST = 64  # vertices of the first range; each other range doubles the vertices so far
DRAWN = 1 << 8  # vertices of a range that are looked at, at most: 0.2 ms in all
HALVINGS = 12  # bounds that are compared: all vertices, half of them, ... and none
PUSH_COST = 2.0  # of an edge, against one of a pull: an atomic, or a look whether it is needed
LIST_COST = 4.0  # of a list, against an edge of a pull


class Shares:
    """One pass: who pushes, who pulls. arrays: all that kernels work with, of which some have no element; `pushing`
    alone grows with the graph."""

    def __init__(self, session: Session, distance: Any, natural: Any, listed: bool = True) -> None:
        """distance: u4[V]. natural: id[V], or of no element if store IDs are natural indices. A GPU may hold them.
        listed: a bitmap says which vertices push, as pages are chosen by it; else their natural index says it."""
        self.session, (self.name, self.pull) = session, session.gathers()
        vertices, self._distance, self._natural = len(distance), distance, natural
        self.may_choose = self.pull and len(natural) > 0 and session.store.has("out")
        self._at, self._ranges = vertices_drawn(vertices if self.may_choose else 0)
        self._drawn = np.empty(len(self._at), np.uint64)
        self.until = np.full(LEVELS + 1, 0 if self.pull else vertices, np.uint64)
        self.pushing = bitmap(vertices if listed and (self.may_choose or not self.pull) else 0)
        self._at = session.there("vertices_drawn", self._at)
        self.arrays = (self._at, self._drawn, self.until)

    def choose(self, resident: Resident) -> None:
        """Let some parents push."""
        at, few = self._at, np.uint64(nearest.FEW_SHIFT)
        if resident.on_gpu:
            resident.each(nearest.draw, -(-len(at) // nearest.LANES), self._distance, self._natural, at, self._drawn)
            drawn = resident.read(self._drawn)
            near, names = drawn >> few, drawn & ((np.uint64(1) << few) - np.uint64(1))
        else:
            near, names = np.take(self._distance, at), np.take(self._natural, at)
        tables = self.session.engine.graph.tables
        self.until[:] = choose_bounds(tables[self.name], tables["out"], self._ranges, near, names, len(self._distance))
        resident.put(self.until)

    def sweep(self, resident: Resident, way: Way, predecessor: Any, open_bits: Any, join: Join | None = None) -> None:
        """way(bits, pull) at the lists of vertices that push, and of those of open_bits that have no predecessor then,
        which pull. way: a kernel and its arrays."""
        pulling, items, bits = open_bits, -(-len(open_bits) // nearest.WORDS), self.pushing
        if self.until.any():
            given = (self._distance, self._natural, self.until, bits)
            resident.each(nearest.open_pushing, items, *given, items=len(predecessor))
            resident.sweep("out", *way(bits, False), bits, join=join)
            if self.pull:
                resident.each(nearest.open_childless, items, predecessor, open_bits, bits, items=len(predecessor))
                pulling = bits
        if self.pull:
            resident.sweep(self.name, *way(pulling, True), pulling, join=join)

    def sweep_all(self, resident: Resident, way: Way, bits: Any = None) -> None:
        """`sweep` where a GPU keeps all pages. bits: of who pulls, or pushes, where kernels do not see that."""
        if self.until.any():
            resident.sweep("out", *way(bits, False))
        if self.pull:
            resident.sweep(self.name, *way(bits, True))


def ranges_of(vertices: int) -> np.ndarray:
    """uint64[n + 1]: bounds of n ranges of store IDs, 0 and `vertices` among them."""
    bounds = [0]
    while bounds[-1] < vertices:
        bounds.append(min(max(FIRST, 2 * bounds[-1]), vertices))
    return np.array(bounds, np.uint64)


@lru_cache(1)
def vertices_drawn(vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """(uint64[n] vertices, int64[n] the range of each), at even steps of every range."""
    bounds = ranges_of(vertices)
    sizes = np.diff(bounds.astype(np.int64))
    counts = np.minimum(sizes, DRAWN)
    of = np.repeat(np.arange(len(sizes)), counts)
    rank = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return bounds[of] + (rank * sizes[of] // counts[of]).astype(np.uint64), of


def mean_degrees(table: PageTable, bounds: np.ndarray) -> np.ndarray:
    """float64[n]: of the vertices of each range, by the page directory."""
    first, before = table.edges_before
    return np.diff(np.interp(bounds, np.append(first, bounds[-1]), before)) / np.diff(bounds)


def choose_bounds(
    into: PageTable, out: PageTable, ranges: np.ndarray, distance: np.ndarray, natural: np.ndarray, vertices: int
) -> np.ndarray:
    """uint64[LEVELS + 1]: for each level, below which natural index parents push.

    into, out: pages that are pulled from, and those that are pushed from. ranges, distance, natural: of vertices drawn.
    """
    bounds = ranges_of(vertices)
    into_degree, out_degree = mean_degrees(into, bounds), mean_degrees(out, bounds)
    until = np.array([0, *(vertices >> halving for halving in range(HALVINGS - 1, -1, -1))], np.uint64)
    near = distance < LEVELS
    level, of = distance[near].astype(np.int64), ranges[near]
    weight = (np.diff(bounds) / np.bincount(ranges))[of]  # vertices that each drawn one stands for
    first = np.searchsorted(until, natural[near], "right")  # of the bounds that let a vertex push
    least = (level + 1) * len(until) + first

    def so_far(amount: np.ndarray) -> np.ndarray:
        """float64[LEVELS, bounds]: of the parents that push into each level up to each bound."""
        sums = np.bincount(least, amount, (LEVELS + 1) * len(until)).reshape(LEVELS + 1, -1)
        return np.cumsum(sums[:LEVELS], axis=1)

    edges = so_far(weight * out_degree[of])
    children = np.bincount(level * len(into_degree) + of, weight, LEVELS * len(into_degree)).reshape(LEVELS, 1, -1)
    left = children * np.exp(edges[:, :, None] / -int(out.edges.sum()) * into_degree)  # with no parent that pushed
    left[:, -1] = 0
    cost = PUSH_COST * edges + LIST_COST * so_far(weight) + left @ (into_degree + LIST_COST)
    return np.append(until[np.argmin(cost, axis=1)], np.uint64(0))
