"""Rounds of Louvain and Leiden on a GPU that holds a level's lists, and tables of a part of a slice; the host's cores
do the rest.

Launches are only queued. Twice a round the host waits: until it knows how much is in each bin, and how many vertices
moved. Where the GPU has no room, or another device runs, the cores do it: the answer is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.communities import gpu_merges as merging
from gstream.algorithms.communities import gpu_moves as kernels
from gstream.algorithms.communities.levels import Lists
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.records import bytes_of
from gstream.records.held import Scratch

ON_GPU = 1 << 17  # entries of a level whose slices take a GPU less time than the launches
MOST_SLICES = 256
MOST_BINS = 1 << 14  # of a round; their tables take turns
TABLE_SLOTS = 1 << 25  # of a bin, where longer lists do not ask for more
MOST_LISTS = 4  # of the longest ones that find room in one bin
MOST_SLOTS = (1 << 32) - 1

Bin = tuple[np.uint64, int, int]  # where it begins in `order`, pieces, slots of its tables


class GpuSlices:
    """A level's lists, and room on the GPU for the tables of a bin."""

    def __init__(self, session: Session, lists: Lists) -> None:
        self.session, self.lists = session, lists
        self.vertices, self.entries, kind = len(lists.starts) - 1, len(lists.ids), session.id_dtype
        self.longest = int(np.diff(lists.starts).max(initial=1))
        most = self.vertices + self.entries // kernels.PIECE  # pieces of all lists, at most
        self.order, self.pieces = Scratch(most, kind), Scratch(most, np.uint32)
        self.visit, self.table = Scratch(self.vertices, np.uint32), Scratch(self.vertices, np.uint32)
        self.gain = Scratch(self.vertices, np.float64)
        self.held, self.slots = np.zeros(MOST_BINS, np.uint64), np.zeros(MOST_BINS, np.uint64)
        self.moved = np.zeros(1, np.int64)
        self.keys, self.sums = Scratch(0, kind), Scratch(0, np.float64)

    @property
    def _own(self) -> tuple[Any, ...]:
        return (
            self.order, self.pieces, self.visit, self.table, self.gain, self.held, self.slots, self.moved, self.keys,
            self.sums,
        )  # fmt: skip

    def resident(self, *arrays: np.ndarray) -> Resident:
        """All arrays on the GPU, if it has room; the summary notes if not."""
        given: tuple[Any, ...] = self.lists.starts, self.lists.ids, self.lists.weights, *arrays
        wanted = min(2 * self.entries, max(TABLE_SLOTS, MOST_LISTS * 2 * self.longest), MOST_SLOTS)
        slots = slots_within(self.session, bytes_of((*given, *self._own)), 2 * self.longest, wanted)
        self.keys, self.sums = Scratch(slots, self.session.id_dtype), Scratch(slots, np.float64)
        given += self._own
        return Resident(self.session, *(given if self.session.fits(given) else given[:0]))

    def move(
        self, resident: Resident, known: tuple[np.ndarray, ...], due: np.ndarray, to: np.ndarray, factor: float,
        salt: int, slices: int,
    ) -> int | None:  # fmt: skip
        """A round; returns how many vertices moved. known: side, total, strength. None: tables have no room, and
        nothing was changed."""
        side, total, strength = known
        starts, ids, count = self.lists.starts, self.lists.ids, shares
        found = self._list(resident, due, to, salt, slices)
        for bins in found or ():
            for begin, many, slots in bins:
                listed = self.order, self.pieces, begin
                given = starts, *listed, self.table, *known, factor, self.keys, self.sums, self.gain
                self._fill(resident, listed, many, slots, side)
                resident.each(kernels.weigh_moves, many, *given)
                resident.each(kernels.take_moves, many, *given, to)
                resident.each(kernels.wake_ends, many, starts, ids, *listed, side, to, due)
            whole, many = whole_of(bins)
            resident.each(kernels.go, count(many), self.order, self.pieces, *whole, to, *known, self.moved)
        return None if found is None else int(resident.read(self.moved)[0])

    def merge(
        self, resident: Resident, known: tuple[np.ndarray, ...], parts: tuple[np.ndarray, ...], due: np.ndarray,
        to: np.ndarray, factor: float, salt: int, slices: int,
    ) -> bool:  # fmt: skip
        """Leiden's refinement. parts: part, bulk, cut, inner, mixed_in; cut and inner are zero. to: all bits set.
        False: tables have no room, and nothing was changed."""
        side, total, strength = known
        part, bulk, cut, inner, mixed_in = parts
        starts, ids, weights, count = self.lists.starts, self.lists.ids, self.lists.weights, shares
        found = self._list(resident, due, to, salt, slices)
        for bins in found or ():
            (begin, _), many = whole_of(bins)
            ends = starts, ids, weights, self.order, self.pieces, begin, side, inner, cut
            resident.each(merging.sum_inside, many, *ends)
        for bins in found or ():
            whole, every = whole_of(bins)
            alone = side, total, strength, inner, mixed_in, factor
            resident.each(merging.pass_over, count(every), self.order, self.pieces, *whole, *alone)
            for begin, many, slots in bins:
                listed = self.order, self.pieces, begin
                given = starts, *listed, self.table, *known, bulk, cut, factor, self.keys, self.sums, self.gain
                self._fill(resident, listed, many, slots, part)
                resident.each(merging.weigh_merges, many, *given)
                resident.each(merging.take_merges, many, *given, to)
                linked = starts, *listed, self.table, np.uint64(many), to, self.keys, self.sums, self.gain
                resident.each(merging.weigh_links, count(many), *linked)
            joined = to, self.gain, inner, strength, part, bulk, cut, mixed_in
            resident.each(merging.join_parts, count(every), self.order, self.pieces, *whole, *joined)
            resident.each(merging.end_visits, count(every), self.order, *whole, to)
        return found is not None

    def end(self, resident: Resident, *arrays: np.ndarray) -> None:
        """Nobody reads the GPU's own arrays, nor `arrays`."""
        resident.forget(*self._own, *arrays)

    def _list(
        self, resident: Resident, due: np.ndarray, to: np.ndarray, salt: int, slices: int
    ) -> list[list[Bin]] | None:  # fmt: skip
        """Put what is due into `order`; returns the slices that have any. They are cut into so many bins that tables
        have room for each; None where there are not that many, and nothing was changed."""
        starts, every, parts, again = self.lists.starts, shares(self.vertices), 1, False
        while True:
            bins = self.visit, self.held, self.slots
            asked = np.uint64(salt), np.uint64(slices - 1), np.uint64(parts), again
            resident.each(kernels.begin_visits, every, due, *bins, self.moved, *asked)
            resident.each(kernels.count_visits, every, starts, *bins)
            held, slots = (resident.read(array)[: slices * parts].copy() for array in bins[1:])
            if int(slots.max()) <= len(self.keys):
                break
            if 2 * slices * parts > MOST_BINS:
                resident.each(kernels.leave_visits, every, self.visit, due)
                return None
            parts, again = 2 * parts, True
        begins = np.cumsum(held) - held
        self.held[: len(held)] = begins
        self.slots.fill(0)
        resident.put(self.held)
        resident.put(self.slots)
        resident.each(kernels.list_visits, every, starts, *bins, self.order, self.pieces, self.table, self.gain, to)
        listed = [*zip(begins, held.tolist(), slots.tolist(), strict=True)]
        cut = ([one for one in listed[first : first + parts] if one[1]] for first in range(0, len(listed), parts))
        return [bins for bins in cut if bins]

    def _fill(
        self, resident: Resident, listed: tuple[Any, ...], many: int, slots: int, label: np.ndarray
    ) -> None:  # fmt: skip
        """The tables of the visited vertices: weights by the labels of their neighbours."""
        starts, ids, weights = self.lists.starts, self.lists.ids, self.lists.weights
        if not slots:
            return
        resident.each(kernels.empty_tables, shares(slots), np.uint64(slots), self.keys, self.sums)
        given = starts, ids, weights, *listed, self.table, label, self.keys, self.sums
        resident.each(kernels.fill_tables, many, *given)


def sum_strengths(session: Session, lists: Lists, own: float, strength: np.ndarray) -> bool:
    """Add the weights at each vertex to `strength`, by a GPU. False: it has no room, and nothing was done."""
    given = lists.starts, lists.ids, lists.weights
    if not session.fits((*given, strength)):
        return False
    with Resident(session, *given, strength) as resident:
        if not resident.on_gpu:
            return False
        resident.each(kernels.sum_strengths, len(strength), *given, own, strength)
    return True


def whole_of(bins: list[Bin]) -> tuple[tuple[np.uint64, np.uint64], int]:
    """((where the first bin begins, pieces of all), pieces of all)."""
    many = sum(bin[1] for bin in bins)
    return (bins[0][0], np.uint64(many)), many


def shares(count: int) -> int:
    """Items of which each looks at a share of `count` things."""
    return -(-count // kernels.SHARE)


def slots_within(session: Session, beside: int, least: int, wanted: int, more: int = 0) -> int:
    """Slots of tables for which the GPU has room beside so many bytes: those wanted, or fewer, and no fewer than
    `least`. more: bytes of a slot beside its key and sum."""
    room = session.gpu_room(beside)
    return wanted if room is None else max(least, min(wanted, room // (session.id_dtype.itemsize + 8 + more)))
