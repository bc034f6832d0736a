"""Mirrors: the vertices of other ranks' slices whose values this rank's part of the graph takes, or writes to.

Every rank has arrays of all vertices, of which its own slice and its mirrors are good. A vertex is merged by the rank
whose slice it is in. Two ranks know from bitmaps what goes between them: each makes its own from its part's `reads` and
page directory, and tells others their slice of it once. So no list of vertices goes with the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.devices.job import Range
from gstream.devices.ranks import Ranks
from gstream.hostcode.bitmaps import list_bits
from gstream.paging.page_table import PageTable

PIECE = 1 << 20  # vertices of a slice whose values go at once
WORD = 64
BITMAPS = 4  # of all vertices, that one Mirrors has
MOST_KNOWN = 2  # Mirrors that an exchange keeps for runs to come


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
    """Of a way to cut the vertices. reads, writes: uint64[ceil(V / 64)], whose values this rank takes, and changes."""

    def __init__(self, ranks: Ranks, slices: Sequence[Range], reads: np.ndarray, writes: np.ndarray) -> None:
        self._ranks, self._slices = ranks, list(slices)
        self._reads, self._writes = reads, writes
        self._read_by, self._written_by = self._tell(reads), self._tell(writes)

    def reduce(self, array: np.ndarray, start: int, combine: Callable[..., Any]) -> None:
        """Own slice of the array, which begins with vertex `start`, becomes what all ranks wrote there comes to."""
        for to, source in self._partners():
            for there, here in self._pieces(self._slices, to, self._ranks.rank):
                given, mine = _places(self._writes, 0, there), self._own(self._written_by[source], here)
                room = self._swap(array[given - start], to, len(mine), source)
                array[mine - start] = combine(array[mine - start], room)

    def reduce_changed(self, array: np.ndarray, start: int, bits: np.ndarray, combine: Callable[..., Any]) -> None:
        """The same where `bits`, of all vertices, say what this rank has written. Own bits become those of all."""
        rank, theirs = self._ranks.rank, []
        for to, source in self._partners():
            for there, here in self._pieces(self._slices, to, rank):
                told = self._swap(bits[_words(there)], to, len(bits[_words(here)]), source)
                given, mine = _places(bits, 0, there), _places(told, here[0] // WORD * WORD, here)
                room = self._swap(array[given - start], to, len(mine), source)
                array[mine - start] = combine(array[mine - start], room)
                theirs.append((here, told))
        for here, told in theirs:
            bits[_words(here)] |= told

    def gather(self, array: np.ndarray, start: int, slices: Sequence[Range], changed: np.ndarray | None = None) -> None:
        """Mirrors take the values of the slices' owners. changed: only these vertices' values, known to all ranks."""
        rank = self._ranks.rank
        for to, source in self._partners():
            for here, there in self._pieces(slices, rank, source):
                given, mine = self._own(self._read_by[to], here, changed), _places(self._reads, 0, there, changed)
                array[mine - start] = self._swap(array[given - start], to, len(mine), source)

    def _tell(self, bits: np.ndarray) -> dict[int, np.ndarray]:
        """What each other rank has of such bits in this rank's slice."""
        found, own = {}, _words(self._slices[self._ranks.rank])
        for to, source in self._partners():
            found[source] = self._swap(bits[_words(self._slices[to])], to, len(bits[own]), source)
        return found

    def _own(self, words: np.ndarray, part: Range, changed: np.ndarray | None = None) -> np.ndarray:
        """Vertices of a range in this rank's slice that another rank told of."""
        return _places(words, self._slices[self._ranks.rank][0] // WORD * WORD, part, changed)

    def _partners(self) -> Iterator[tuple[int, int]]:
        """(whom to give, whom to take from), one after the other."""
        rank, size = self._ranks.rank, self._ranks.size
        for step in range(1, size):
            yield (rank + step) % size, (rank - step) % size

    @staticmethod
    def _pieces(slices: Sequence[Range], one: int, other: int) -> Iterator[tuple[Range, Range]]:
        """Pieces of two ranks' slices, side by side: as many as the longest slice has, some of them empty."""
        longest = max((last - first for first, last in slices), default=0)
        for at in range(0, longest, PIECE):
            pair = [
                (min(first + at, last), min(first + at + PIECE, last)) for first, last in (slices[one], slices[other])
            ]
            yield pair[0], pair[1]

    def _swap(self, given: np.ndarray, to: int, count: int, source: int) -> np.ndarray:
        room = np.empty(count, given.dtype)
        self._ranks.swap(given, to, room, source)
        return room


def _words(part: Range) -> slice:
    return slice(part[0] // WORD, -(-part[1] // WORD)) if part[0] < part[1] else slice(0, 0)


def _places(bits: np.ndarray, base: int, part: Range, changed: np.ndarray | None = None) -> np.ndarray:
    """int64[n]: vertices of a range whose bit is set. base: the vertex of the first bit."""
    first, last = part
    if first >= last:
        return np.empty(0, np.int64)
    if changed is not None:
        low, own = first // WORD * WORD, _words(part)
        bits, base = bits[own.start - base // WORD : own.stop - base // WORD] & changed[own], low
    return list_bits(bits, first - base, last - base).astype(np.int64) + base
