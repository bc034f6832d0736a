"""The next level of Louvain and Leiden: a graph whose vertices are groups of a level's.

Its lists are made group by group. They stay in host memory while they take no more than a share of what is left. Larger
ones go to a file without a name beside the store (else in $TMPDIR), which is gone when the process ends, however it
ends. They are read from there as a store's are, by blocks.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from bisect import bisect_left
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from gstream.algorithms.communities import gpu_slices, grouping, moving
from gstream.algorithms.communities.gpu_coarser import GpuGroups
from gstream.algorithms.communities.levels import ALONE, Gathered, Held, Lists, Stored, Tables, entry_dtype
from gstream.algorithms.support.blocks import Blocks, head_of
from gstream.algorithms.support.session import Session
from pagestore.errors import ResourceError
from pagestore.io import read_into, write_from

HELD_SHARE = 4  # of the memory that is left, lists take so small a part
PIECE_SHARE = 16  # the same, of the groups whose lists are made at once
PIECE = 1 << 22  # entries of those at most, but for one larger group


class Filed(Gathered):
    """A smaller graph in files: lists one after the other, ends in one, weights in the other."""

    own = 1.0

    def __init__(self, session: Session, sizes: np.ndarray, files: Files) -> None:
        """sizes: u8[V], entries of each list. Raises ResourceError."""
        super().__init__(session, Blocks(session, sizes, entry_dtype(session, True), shares=2), True)
        self._files = files
        pairs = len(self.ids) if len(self.blocks) > 1 else 0
        self._read = np.empty(pairs, self.ids.dtype), np.empty(pairs)
        session.reserve(*self._read)

    def _gather(self, number: int) -> Lists:
        return self._block(number, self.ids, self.heavy)

    def _block(self, number: int, ids: np.ndarray, heavy: np.ndarray) -> Lists:
        block = self.blocks.range(number)
        some = head_of(ids, block.entries), head_of(heavy, block.entries)
        self._files.read(int(self.blocks.before[block.first]), *some)
        return Lists(block.starts, *some, block.first)

    def _gather_visited(self, visited: np.ndarray, starts: np.ndarray) -> Lists:
        entries, bounds = int(starts[-1]), self.blocks.bounds
        ids, heavy = self.ids[:entries], self.heavy[:entries]
        for number, (first, end) in enumerate(pairwise(bounds)):
            if (self._slot[first:end] != self.session.none).any():
                given = self._block(number, *self._read).arrays
                self.session.each(moving.pick_lists, *given, self._slot, starts, ids, heavy)
        return Lists(starts, ids, heavy, 0, True)

    def free(self) -> None:
        """Give the memory and the disk back."""
        own = self.ids, self.heavy, self._cursor, self._cursor, self._slot, self.blocks.before, *self._read
        self.session.release(*own)
        self._files.close()


Level = Stored | Held | Filed


class Files:
    """Ends and weights of lists, in files that have no name."""

    def __init__(self, session: Session) -> None:
        store = session.store.path
        folders = [os.path.dirname(os.path.abspath(store))] if os.path.isfile(store) else []
        self._files: list[Any] = []
        for folder in (*folders, tempfile.gettempdir()):
            with suppress(OSError):
                self._files = [tempfile.TemporaryFile(dir=folder, buffering=0) for _ in range(2)]
                self.where, self.entries = f"{folder}: a smaller graph of the run", 0
                self.close = weakref.finalize(self, _close, self._files)  # also where an error ends the run
                return
        raise ResourceError(
            f"{', '.join((*folders, tempfile.gettempdir()))}: no file can be made for a smaller graph, which "
            "--host-memory has no room for. Raise --host-memory, or set TMPDIR to a folder that can be written."
        )

    def append(self, *lists: np.ndarray) -> None:
        """Add ids and weights. Raises ResourceError where the disk is full."""
        for file, array in zip(self._files, lists, strict=True):
            write_from(file.fileno(), self.entries * array.itemsize, np.ascontiguousarray(array), self.where)
        self.entries += len(lists[0])

    def read(self, first: int, *lists: np.ndarray) -> None:
        """Fill ids and weights from an entry on."""
        for file, array in zip(self._files, lists, strict=True):
            read_into(file.fileno(), first * array.itemsize, array, self.where)


def _close(files: list[Any]) -> None:
    for file in files:
        file.close()


class Found:
    """Lists of groups, in the groups' order, as they are found."""

    def __init__(self, session: Session, count: int, most: int) -> None:
        """most: entries of all lists, at most."""
        self._session, self._sizes, self._most = session, np.zeros(count, np.uint64), most
        session.reserve(self._sizes)
        left, entry = session.engine.host_memory - session.engine.beside_bytes, entry_dtype(session, True).itemsize
        room = min(most, max(ALONE, left // (HELD_SHARE * entry)))
        self._lists = np.empty(room, session.id_dtype), np.empty(room)  # takes no memory before it is written to
        self._entries = 0  # that are there
        self._files: Files | None = None
        self._last: tuple[int, np.ndarray, np.ndarray] | None = None  # may go on in the lists of the next block

    def add(self, groups: np.ndarray, sizes: np.ndarray, ids: np.ndarray, weights: np.ndarray) -> None:
        """Lists of some groups, one after the other. The first may be the last one's again."""
        self._sizes[groups] = sizes
        begin, end, first = 0, len(ids) - int(sizes[-1]), int(groups[0])
        if self._last is not None:
            group, before = self._last[0], [*self._last[1:]]
            if group == first:
                begin = int(sizes[0])
                before = _joined(before[0], before[1], ids[:begin], weights[:begin])
                self._sizes[group] = len(before[0])
                if len(groups) == 1:
                    self._last = group, before[0], before[1]
                    return
            self._put(before[0], before[1])
        self._put(ids[begin:end], weights[begin:end])
        self._last = int(groups[-1]), ids[end:].copy(), weights[end:].copy()

    def _put(self, ids: np.ndarray, weights: np.ndarray) -> None:
        end = self._entries + len(ids)
        if self._files is None and end > len(self._lists[0]):
            self._files = Files(self._session)
            self._files.append(*self._there)
            self._session.release(*self._there)
            self._lists = self._lists[0][:0].copy(), self._lists[1][:0].copy()
        if self._files is not None:
            self._files.append(ids, weights)
            return
        self._session.reserve(ids, weights)
        for array, values in zip(self._lists, (ids, weights), strict=True):
            array[self._entries : end] = values
        self._entries = end

    @property
    def has_room(self) -> bool:
        """Whether lists of most entries have room in host memory."""
        return len(self._lists[0]) == self._most

    def leave_on_gpu(self, lists: Lists) -> Held:
        """The graph of lists that stay on a GPU."""
        self._session.release(self._sizes)
        return Held(self._session, lists)

    @property
    def _there(self) -> tuple[np.ndarray, np.ndarray]:
        return self._lists[0][: self._entries], self._lists[1][: self._entries]

    def level(self) -> Held | Filed:
        """The graph of all lists. Raises ResourceError."""
        if self._last is not None:
            self._put(*self._last[1:])
        session = self._session
        session.release(self._sizes)
        if self._files is not None:
            return Filed(session, self._sizes, self._files)
        session.release(*self._there)  # a level counts its own
        return Held(session, Lists(np.append(np.uint64(0), np.cumsum(self._sizes)), *self._there, 0))


def _joined(ids: np.ndarray, weights: np.ndarray, more_ids: np.ndarray, more_weights: np.ndarray) -> list[np.ndarray]:
    """Two lists of one group as one: an end stands once."""
    ends, place = np.unique(np.concatenate((ids, more_ids)), return_inverse=True)
    return [ends, np.bincount(place, np.concatenate((weights, more_weights)), len(ends))]


def pieces_of(before: np.ndarray, piece: int = PIECE) -> list[int]:
    """Bounds of pieces with some `piece` entries. before: u8[n + 1], entries before each group."""
    cuts = (
        bisect_left(range(len(before) - 1), at, key=lambda g: int(before[g])) for at in range(0, int(before[-1]), piece)
    )
    return sorted({0, *cuts, len(before) - 1})


def coarser(session: Session, level: Level, place: np.ndarray, count: int) -> Held | Filed:
    """The graph whose vertices are groups of a level's: place (id[V]) is the group of each, below count."""
    found = Found(session, count, level.entries)
    lists = level.on_gpu() if session.on_one_gpu and level.entries >= gpu_slices.ON_GPU else None
    if lists is not None:
        groups = GpuGroups(session, lists, level.own, place, count)
        stayed = groups.make(found.add, found.has_room)
        if stayed is not None:
            return found.leave_on_gpu(stayed)
    if lists is None or not groups.made:
        _add_on_cores(session, level, place, count, found)
    return found.level()


def _add_on_cores(session: Session, level: Level, place: np.ndarray, count: int, found: Found) -> None:
    """Put the lists of groups into `found`, by the host's cores."""
    members, begins = np.empty(len(place), session.id_dtype), np.zeros(count + 2, np.int64)
    session.reserve(members, begins)
    session.each(grouping.list_members, place, begins, members, items=0)
    for lists, begin, end in level.among(members):
        some = members[begin:end]
        group = place[some]
        bounds = np.concatenate(([0], np.flatnonzero(group[1:] != group[:-1]) + 1, [len(some)]))
        before = lists.starts
        if not lists.listed:
            sizes = (before[1:] - before[:-1])[some - some.dtype.type(lists.first)]
            before = np.append(np.uint64(0), np.cumsum(sizes))
        room = np.minimum(np.diff(before[bounds]), np.uint64(count))
        tables = Tables(session, int(room.max(initial=1)))
        left = session.engine.host_memory - session.engine.beside_bytes
        piece = max(1, min(PIECE, left // (PIECE_SHARE * entry_dtype(session, True).itemsize)))
        for low, high in pairwise(pieces_of(np.append(np.uint64(0), np.cumsum(room)), piece)):
            given = some, bounds[low : high + 1].astype(np.uint64), place, room[low:high], tables
            found.add(group[bounds[low:high]], *_added(session, lists, level.own, *given))
        tables.free()
    session.release(members, begins)


def _added(
    session: Session, lists: Lists, own: float, members: np.ndarray, bounds: np.ndarray, place: np.ndarray,
    room: np.ndarray, tables: Tables,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """(entries of each group, ids, weights) of some groups' lists."""
    places = np.append(np.uint64(0), np.cumsum(room))
    ids, weights = np.empty(int(places[-1]), session.id_dtype), np.empty(int(places[-1]))
    session.reserve(ids, weights, ids, weights)  # the second time what is packed
    found = np.zeros(len(room), np.uint64)
    given = members, bounds, place, places, ids, weights, found, *tables.arrays
    session.look(grouping.add_lists, *lists.for_visits, own, *given, items=tables.items())
    starts = np.append(np.uint64(0), np.cumsum(found))
    packed_ids, packed_weights = np.empty(int(starts[-1]), ids.dtype), np.empty(int(starts[-1]))
    session.each(grouping.pack_lists, places, found, starts, ids, weights, packed_ids, packed_weights)
    session.release(ids, weights, ids, weights)
    return found, packed_ids, packed_weights
