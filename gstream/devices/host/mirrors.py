"""Mirrors: the vertices of other ranks' slices whose values this rank's part of the graph takes, or writes to.

A rank's arrays have its own slice and its mirrors (gstream.paging.own_ids). A vertex is merged by the rank whose slice
it is in. Two ranks know from bitmaps what goes between them: each makes its own from its part's `reads` and page
directory, and tells others their slice of it once. So no list of vertices goes with the values; where only some of them
changed, a bit for each says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.devices.job import Range
from gstream.devices.ranks import Ranks
from gstream.hostcode.bitmaps import clear_bits, list_bits, set_bits
from gstream.paging.own_ids import PIECE, WORD, OwnIds
from gstream.paging.page_table import PageTable

TOLD = 2  # bitmaps of the own slice, one a rank: what others read of it, and write


@dataclass(frozen=True)
class PartOfRank:
    """What a part tells of itself, by topology. named: uint64[ceil(V / 64)], vertices that its pages name; degrees: of
    the vertices from one on to another."""

    named: Callable[[str], np.ndarray]
    degrees: Callable[[str, int, int], np.ndarray]

    def listed(self, table: PageTable, pages: np.ndarray) -> np.ndarray:
        """uint64[ceil(V / 64)]: vertices whose lists lie in these pages (int64[n])."""
        bits = np.zeros(-(-table.vertices // WORD), np.uint64)
        first, last = table.first_vertex[pages].astype(np.int64), table.last_vertex[pages].astype(np.int64)
        for low in range(0, table.vertices, PIECE):
            high = min(low + PIECE, table.vertices)
            inside = (first < high) & (last >= low)
            change = np.zeros(high - low + 1, np.int64)
            np.add.at(change, np.maximum(first[inside], low) - low, 1)
            np.add.at(change, np.minimum(last[inside] + 1, high) - low, -1)
            found = (np.cumsum(change[:-1]) > 0) & (self.degrees(table.name, low, high) > 0)
            packed = np.packbits(found, bitorder="little")
            bits.view(np.uint8)[low // 8 : low // 8 + len(packed)] = packed
        return bits


class Mirrors:
    """What this rank takes and gives. reads, writes: uint64[ceil(V / 64)] by store IDs, whose values it takes, and
    changes; arrays that the calls are given go by numbers."""

    def __init__(self, ranks: Ranks, ids: OwnIds, reads: np.ndarray, writes: np.ndarray) -> None:
        self._ranks, self._ids, self._slices = ranks, ids, ids.slices
        self._reads, self._writes = ids.bits(reads), ids.bits(writes)
        self._read_by, self._written_by = self._tell(reads), self._tell(writes)

    @property
    def nbytes(self) -> int:
        told = [*self._read_by.values(), *self._written_by.values()]
        return self._reads.nbytes + self._writes.nbytes + sum(bits.nbytes for bits in told)

    def reduce(self, array: np.ndarray, combine: Callable[..., Any], changed: np.ndarray | None = None) -> None:
        """Own slice of the array becomes what all ranks wrote there comes to. changed: bits that say what this rank has
        written; its own become those of all."""
        for to, source in self._partners():
            for there, here in self._pieces(to, self._ranks.rank):
                given, mine = self.written_there(there), self.written_here(source, here)
                if changed is not None:
                    given, mine = self._told(changed, given, to, mine, source)
                    set_bits(changed, mine)
                room = self._swap(array[given], to, len(mine), source)
                array[mine] = combine(array[mine], room)

    def gather(self, array: np.ndarray, bits: np.ndarray | None = None, all_values: bool = True) -> None:
        """Mirrors take the values of their owners, and their bits. all_values: else those alone whose bit is set."""
        for to, source in self._partners():
            for here, there in self._pieces(self._ranks.rank, source):
                given, mine = self._own(self._read_by[to], here), self._mirrored(self._reads, there)
                if bits is not None:
                    clear_bits(bits, mine)
                    some, theirs = self._told(bits, given, to, mine, source)
                    set_bits(bits, theirs)
                    given, mine = (given, mine) if all_values else (some, theirs)
                array[mine] = self._swap(array[given], to, len(mine), source)

    def written_there(self, part: Range) -> np.ndarray:
        """uint64[n]: numbers of the vertices in a range of another rank's slice that this rank writes to."""
        return self._mirrored(self._writes, part)

    def written_here(self, source: int, part: Range) -> np.ndarray:
        """uint64[n]: numbers of the vertices in a range of the own slice that another rank writes to."""
        return self._own(self._written_by[source], part)

    def _told(
        self, bits: np.ndarray, given: np.ndarray, to: int, mine: np.ndarray, source: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of `given` whose bit is set here, and of `mine` whose bit is set on rank `source`."""
        flags = (bits[given >> np.uint64(6)] >> (given & np.uint64(63))) & np.uint64(1) != 0
        told = self._swap(np.packbits(flags), to, -(-len(mine) // 8), source)
        return given[flags], mine[np.unpackbits(told, count=len(mine)).view(bool)]

    def _tell(self, bits: np.ndarray) -> dict[int, np.ndarray]:
        """What each other rank has of such bits in this rank's slice."""
        found, own = {}, _words(self._ids.own)
        for to, source in self._partners():
            found[source] = self._swap(bits[_words(self._slices[to])], to, len(bits[own]), source)
        return found

    def _own(self, told: np.ndarray, part: Range) -> np.ndarray:
        """uint64[n]: numbers of the vertices of a range in the own slice that another rank told of."""
        first, _ = self._ids.own
        return list_bits(told, part[0] - first, part[1] - first) + np.uint64(self._ids.first)

    def _mirrored(self, bits: np.ndarray, part: Range) -> np.ndarray:
        """uint64[n]: numbers of the mirrors in a range of another rank's slice whose bit is set."""
        return list_bits(bits, *self._ids.range_of(part))

    def _partners(self) -> Iterator[tuple[int, int]]:
        """(whom to give, whom to take from), one after the other."""
        rank, size = self._ranks.rank, self._ranks.size
        for step in range(1, size):
            yield (rank + step) % size, (rank - step) % size

    def _pieces(self, one: int, other: int) -> Iterator[tuple[Range, Range]]:
        """Pieces of two ranks' slices, side by side: as many as the longest slice has, some of them empty."""
        slices = self._slices
        longest = max((last - first for first, last in slices), default=0)
        for at in range(0, longest, PIECE):
            pair = [
                (min(first + at, last), min(first + at + PIECE, last)) for first, last in (slices[one], slices[other])
            ]
            yield pair[0], pair[1]

    def _swap(self, given: np.ndarray, to: int, count: int, source: int) -> np.ndarray:
        room = np.empty((count, *given.shape[1:]), given.dtype)
        self._ranks.swap(given, to, room, source)
        return room


def _words(part: Range) -> slice:
    return slice(part[0] // WORD, -(-part[1] // WORD)) if part[0] < part[1] else slice(0, 0)
