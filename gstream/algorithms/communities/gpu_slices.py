"""Rounds of Louvain and Leiden on a GPU that holds a level's lists and tables; the host's cores do the rest.

Launches are only queued; the host waits once a round, for the number of moves. Where the GPU has no room, or another
device runs, `None` says that the cores are to do it: the answer is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.communities import gpu_moves as kernels
from gstream.algorithms.communities.levels import Lists
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.records.held import Scratch

ON_GPU = 1 << 17  # entries of a level whose slices take a GPU less time than the launches
MOST_SLICES = 256
LEAST_ITEMS = 1 << 14  # of a launch: warps that keep a GPU busy


class GpuSlices:
    """A level's lists, and room on the GPU for a slice's tables."""

    def __init__(self, session: Session, lists: Lists) -> None:
        self.session, self.lists = session, lists
        self.vertices, entries, kind = len(lists.starts) - 1, len(lists.ids), session.id_dtype
        self.most = self.vertices + entries // kernels.PIECE  # pieces of all lists, at most
        self.order, self.pieces = Scratch(self.most, kind), Scratch(self.most, np.uint32)
        self.visit = Scratch(self.vertices, np.uint32)
        self.keys, self.sums = Scratch(2 * entries, kind), Scratch(2 * entries, np.float64)
        self.gain, self.held = Scratch(self.vertices, np.float64), np.zeros(MOST_SLICES, np.uint64)
        self.moved = np.zeros(1, np.int64)
        self._own = self.order, self.pieces, self.visit, self.keys, self.sums, self.gain, self.held, self.moved

    def resident(self, *arrays: np.ndarray) -> Resident:
        """All arrays on the GPU, if it has room; the summary notes if not."""
        given: tuple[Any, ...] = self.lists.starts, self.lists.ids, self.lists.weights, *self._own, *arrays
        return Resident(self.session, *(given if self.session.fits(given) else given[:0]))

    def move(
        self, resident: Resident, known: tuple[np.ndarray, ...], due: np.ndarray, to: np.ndarray, factor: float,
        salt: int, slices: int,
    ) -> int:  # fmt: skip
        """A round; returns how many vertices moved. known: side, total, strength."""
        side, total, strength = known
        starts, ids, items = self.lists.starts, self.lists.ids, self._items(slices)
        self._begin(resident, due, salt, slices)
        for turn in map(np.uint64, range(slices)):
            visits = self.order, self.pieces, self.held, turn
            found = starts, *visits, np.uint64(items), *known, factor, self.keys, self.sums, self.gain
            resident.each(kernels.list_visits, self._shares, starts, self.visit, *visits)
            self._fill(resident, visits, items, side, to)
            resident.each(kernels.weigh_moves, items, *found)
            resident.each(kernels.take_moves, items, *found, to)
            resident.each(kernels.wake_ends, items, starts, ids, *visits, np.uint64(items), side, to, due)
            resident.each(kernels.go, self._shares, *visits, to, *known, self.moved)
        return int(resident.read(self.moved)[0])

    def merge(
        self, resident: Resident, known: tuple[np.ndarray, ...], parts: tuple[np.ndarray, ...], due: np.ndarray,
        to: np.ndarray, factor: float, salt: int, slices: int,
    ) -> None:  # fmt: skip
        """Leiden's refinement. parts: part, bulk, cut, inner, mixed_in. to: all bits set."""
        side, total, strength = known
        part, bulk, cut, inner, mixed_in = parts
        starts, items = self.lists.starts, self._items(slices)
        self._begin(resident, due, salt, slices)
        for turn in map(np.uint64, range(slices)):
            visits = self.order, self.pieces, self.held, turn
            found = starts, *visits, np.uint64(items), *known, bulk, cut, factor, self.keys, self.sums, self.gain
            alone = side, total, strength, inner, mixed_in, factor
            resident.each(kernels.list_merges, self._shares, starts, self.visit, *alone, *visits)
            self._fill(resident, visits, items, part, to)
            resident.each(kernels.weigh_merges, items, *found)
            resident.each(kernels.take_merges, items, *found, to)
            given = to, self.keys, self.sums, inner, strength, part, bulk, cut, mixed_in
            resident.each(kernels.join_parts, self._shares, starts, *visits, *given)
            resident.each(kernels.end_visits, self._shares, self.order, self.held, turn, to)

    def end(self, resident: Resident, *arrays: np.ndarray) -> None:
        """Nobody reads the GPU's own arrays, nor `arrays`."""
        resident.forget(*self._own, *arrays)

    @property
    def _shares(self) -> int:
        return -(-self.most // kernels.SHARE)

    def _items(self, slices: int) -> int:
        """Pieces that a launch takes at once, one a warp: all of nearly every slice."""
        return min(self.most, max(LEAST_ITEMS, 2 * self.most // slices))

    def _begin(self, resident: Resident, due: np.ndarray, salt: int, slices: int) -> None:
        given = due, self.visit, self.held, self.moved, np.uint64(salt), np.uint64(slices - 1)
        resident.each(kernels.begin_visits, self._shares, *given)

    def _fill(
        self, resident: Resident, visits: tuple[Any, ...], items: int, label: np.ndarray, to: np.ndarray
    ) -> None:  # fmt: skip
        """The tables of the visited vertices: weights by the labels of their neighbours."""
        starts, ids, weights = self.lists.starts, self.lists.ids, self.lists.weights
        given, tables = (*visits, np.uint64(items)), (self.keys, self.sums)
        resident.each(kernels.empty_tables, items, starts, *given, *tables, self.gain, to)
        resident.each(kernels.fill_tables, items, starts, ids, weights, *given, label, *tables)
