"""The next level of Louvain and Leiden, made by a GPU that holds a level's lists (kernels: gpu_groups.py).

Groups are done batch by batch, as many as have room for their tables. The host only adds up sizes. Lists stay on the
GPU where it has room for as many entries as the level has, else they go to the host as they are found.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.algorithms.communities import gpu_groups as kernels
from gstream.algorithms.communities.gpu_moves import PIECE, empty_tables
from gstream.algorithms.communities.gpu_slices import shares, slots_within
from gstream.algorithms.communities.levels import Lists
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.records import bytes_of
from gstream.records.held import Scratch

if TYPE_CHECKING:
    from gstream.devices.gpu.kept_values import GpuValues

BATCH_SLOTS = 1 << 28  # of the tables of a batch, where a larger group does not ask for more
HOST_SHARE = 16  # of the memory that is left, lists of a batch take so small a part

TABLES_SHARE = 8  # of lists that stay, tables take so small a part at least

Add = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]


class GpuGroups:
    """Groups of a level's vertices. made: whether their lists are; the GPU may have no room."""

    def __init__(self, session: Session, lists: Lists, own: float, place: np.ndarray, count: int) -> None:
        """As of coarser.coarser. own: what a self-loop counts."""
        self.session, self.lists, self.own, self.place, self.count = session, lists, own, place, count
        self.made = False

    def make(self, add: Add, stay: bool) -> Lists | None:
        """The lists of all groups, if they stay on the GPU; else they are given to `add` (coarser.Found.add), or none
        is made. stay: they may."""
        session, kind, entries = self.session, self.session.id_dtype, len(self.lists.ids)
        most, sizes = len(self.place) + entries // PIECE, np.zeros(self.count, np.uint64)
        self.order, self.pieces, self.held = Scratch(most, kind), Scratch(most, np.uint32), np.zeros(1, np.uint64)
        self.sizes, self.lows = sizes, np.zeros(self.count + 1, np.uint64)
        given: tuple[Any, ...] = self.lists.starts, self.lists.ids, self.lists.weights, self.place, *self._own
        kept = self._hold(bytes_of(given)) if stay else None
        entry, batch = kind.itemsize + 8, 2 * min(entries, max(BATCH_SLOTS // 2, self.count))
        if kept is None:
            left = session.engine.host_memory - session.engine.beside_bytes
            batch = min(batch, 2 * max(left // (HOST_SHARE * entry), 1))
        slots = slots_within(session, bytes_of(given), 1, batch, 0 if kept else entry // 2)
        self.keys, self.sums = Scratch(slots, kind), Scratch(slots, np.float64)
        ends, heavy = kept or (Scratch(slots // 2 + 1, kind), Scratch(slots // 2 + 1, np.float64))
        given = *given, self.keys, self.sums, ends, heavy
        if not session.fits(given):
            return None
        session.reserve(self.sizes, self.lows)
        with Resident(session, *given) as resident:
            if resident.on_gpu and self._size(resident, slots):
                starts = self._make(resident, (ends, heavy), slots, None if kept else add)
                self.made = True
            resident.forget(*self._own, self.keys, self.sums, ends, heavy)
        session.release(self.sizes, self.lows)
        if not self.made or kept is None:
            return None
        for values in kept:
            values.shrink(int(starts[-1]))
        return Lists(starts, *kept, 0)

    @property
    def _own(self) -> tuple[Any, ...]:
        return self.order, self.pieces, self.held, self.sizes, self.lows

    def _hold(self, beside: int) -> tuple[GpuValues, GpuValues] | None:
        """Room for as many entries as the level has, which leaves some for tables beside so many bytes."""
        session, entries = self.session, len(self.lists.ids)
        left, needed = session.gpu_room(beside), (session.id_dtype.itemsize + 8) * entries
        if left is not None and left < needed + needed // TABLES_SHARE:
            return None
        ends, heavy = session.hold(entries, session.id_dtype), session.hold(entries, np.float64)
        return None if ends is None or heavy is None else (ends, heavy)

    def _size(self, resident: Resident, slots: int) -> bool:
        """Where the groups' tables begin. Whether each has room."""
        starts, every = self.lists.starts, shares(len(self.place))
        resident.each(kernels.size_groups, every, starts, self.place, self.sizes)
        room = np.uint64(2) * np.minimum(resident.read(self.sizes), np.uint64(self.count))
        np.cumsum(room, out=self.lows[1:])
        resident.put(self.lows)
        self.sizes.fill(0)
        resident.put(self.sizes)
        return int(room.max(initial=0)) <= slots

    def _make(self, resident: Resident, packed: tuple[Any, Any], slots: int, add: Add | None) -> np.ndarray:
        """u8[count + 1], where each list begins; they stay in `packed`, or are given to `add`."""
        lists, every, starts = self.lists, shares(len(self.place)), np.zeros(self.count + 1, np.uint64)
        for first, last in batches(self.lows, slots):
            batch, many = (np.uint64(first), np.uint64(last)), int(self.lows[last] - self.lows[first])
            self.held[0] = 0
            resident.put(self.held)
            listed = self.order, self.pieces
            resident.each(kernels.list_members, every, lists.starts, self.place, *batch, *listed, self.held)
            resident.each(empty_tables, shares(many), np.uint64(many), self.keys, self.sums)
            given = lists.starts, lists.ids, lists.weights, *listed, self.place, self.lows, batch[0], self.own
            pieces = int(resident.read(self.held)[0])
            resident.each(kernels.fill_groups, pieces, *given, self.keys, self.sums)
            tables = self.lows, *batch, np.uint64(many), self.keys
            resident.each(kernels.count_groups, shares(many), *tables, self.sizes)
            there = resident.read(self.sizes)[first:last].copy()
            np.add(np.cumsum(there), starts[first], out=starts[first + 1 : last + 1])
            begin = np.uint64(0) if add is None else starts[first]
            self.sizes[first:last] = starts[first:last] - begin
            resident.put(self.sizes)
            resident.each(kernels.pack_groups, shares(many), *tables, self.sums, self.sizes, *packed)
            if add is not None:
                self._give(add, first, there, [resident.read_head(array, int(there.sum())) for array in packed])
        return starts

    def _give(self, add: Add, first: int, sizes: np.ndarray, lists: list[np.ndarray]) -> None:
        self.session.reserve(*lists)
        add(np.arange(first, first + len(sizes)), sizes, *lists)
        self.session.release(*lists)


def batches(lows: np.ndarray, slots: int) -> list[tuple[int, int]]:
    """(first, last) of groups that together have no more slots, and of which none has more. lows: u8[G + 1]."""
    bounds, groups = [0], len(lows) - 1
    while bounds[-1] < groups:
        bounds.append(int(np.searchsorted(lows, lows[bounds[-1]] + np.uint64(slots), side="right")) - 1)
    return [*pairwise(bounds)]
