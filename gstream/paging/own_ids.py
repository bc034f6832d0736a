"""Numbers of the vertices whose state one rank holds: its own slice, and the mirrors that its part of the graph has.

Numbers keep the order of store IDs, so lists, pages and directories stay in order:

    0 ... mirrors below | unused | own slice, from `first` on | unused | mirrors above

The own slice begins and ends with a word of bitmaps. Pages get these numbers as they are read (`OwnReader`). Kernels
then work on arrays of `count` vertices as they do on those of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gstream.hostcode.bitmaps import list_bits, set_bits
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import population
from gstream.hostcode.jit import helper, kernel
from gstream.paging.page_table import PageTable

Range = tuple[int, int]  # of vertices: first, and the one behind the last
WORD = 64
PIECE = 1 << 20  # vertices whose arrays are looked at together


@dataclass(frozen=True, eq=False)
class OwnIds:
    """Which vertices have numbers, and which. name: of this choice of vertices, for arrays that are kept.

    here: uint64[ceil(V / 64) + 1], the vertices' bits by store ID. before: how many bits are set in the words before
    each. slices: of all ranks, by store IDs; all but the last end at words of bitmaps. first: the number of the own
    slice's first vertex; behind: of the first mirror above it, or more. count: numbers, used or not.
    """

    name: str
    here: np.ndarray
    before: np.ndarray
    slices: tuple[Range, ...]
    rank: int
    first: int
    behind: int
    count: int

    @classmethod
    def made(cls, name: str, bits: np.ndarray, slices: Sequence[Range], rank: int) -> OwnIds:
        """bits: uint64[ceil(V / 64)], mirrors by store IDs; the own slice is added."""
        here, own = np.append(bits, np.uint64(0)), slices[rank]
        here[own[0] // WORD : own[1] // WORD] = ~np.uint64(0)
        if own[0] < own[1] and own[1] % WORD:
            here[own[1] // WORD] |= np.uint64((1 << own[1] % WORD) - 1)
        counts = np.bitwise_count(here)
        total = int(counts.sum(dtype=np.int64))
        before = np.zeros(len(here), np.uint32 if total < 1 << 32 else np.uint64)
        np.cumsum(counts[:-1], out=before[1:])
        made = cls(name, here, before, tuple(slices), rank, 0, 0, 0)
        below, above = (int(number) for number in made._members_below(np.array(own)))
        first = _word_from(below + 1) if own[0] else 0  # vertices below that have no number stay below
        behind = _word_from(first + own[1] - own[0])
        return replace(made, first=first, behind=behind, count=behind + total - above)

    @property
    def own(self) -> Range:
        """The rank's slice, by store IDs."""
        return self.slices[self.rank]

    @property
    def own_numbers(self) -> Range:
        """The same by numbers."""
        return self.first, self.first + self.own[1] - self.own[0]

    @property
    def shift(self) -> int:
        """Store ID less number, in the own slice."""
        return self.own[0] - self.first

    @property
    def nbytes(self) -> int:
        return self.here.nbytes + self.before.nbytes

    def numbers(self, ids: np.ndarray) -> np.ndarray:
        """int64[n]: numbers of vertices; of one that has none, that of the next which has one, or an unused one."""
        (low, high), found = self.own, self._members_below(ids)
        found[ids >= low] += self._shifts[0]
        found[ids >= high] += self._shifts[1] - self._shifts[0]
        return found

    def numbers_or(self, ids: np.ndarray, none: int) -> np.ndarray:
        """Numbers of vertices in the type of `ids`; none: of one that has none, and of that ID itself."""
        found = np.full_like(ids, none)
        there = ids != ids.dtype.type(none)
        there[there] = self._has(ids[there].astype(np.int64))
        found[there] = self.numbers(ids[there])
        return found

    @property
    def _shifts(self) -> tuple[int, int]:
        """What is added to the members below a vertex of the own slice, and of one above it."""
        below, above = self._members_below(np.array(self.own)).tolist()
        return self.first - below, self.behind - above

    def _members_below(self, ids: np.ndarray) -> np.ndarray:
        at = ids.astype(np.int64)
        words, low = at // WORD, (np.uint64(1) << (at % WORD).astype(np.uint64)) - np.uint64(1)
        return self.before[words].astype(np.int64) + np.bitwise_count(self.here[words] & low)

    def range_of(self, part: Range) -> Range:
        """Numbers of a range of store IDs that lies in one slice."""
        first, last = self.numbers(np.array(part)).tolist()
        inside = self.own[0] <= part[0] < part[1] <= self.own[1]
        return first, first + part[1] - part[0] if inside else last

    @property
    def regions(self) -> list[Range]:
        """The slices of all ranks, by numbers."""
        return [self.range_of(part) if part[0] < part[1] else (0, 0) for part in self.slices]

    def select(self, read: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """An array of all vertices by numbers, 0 where a number is unused. read(first, last): by store IDs."""
        none = read(0, 0)
        found = np.zeros((self.count, *none.shape[1:]), none.dtype)
        for first, last, ids in self._pieces(self.here):
            found[self.numbers(ids)] = read(first, last)[ids - first]
        return found

    def bits(self, bits: np.ndarray) -> np.ndarray:
        """A bitmap of all vertices, uint64[ceil(V / 64)], by numbers."""
        found = np.zeros(-(-self.count // WORD), np.uint64)
        for _, _, ids in self._pieces(bits):
            set_bits(found, self.numbers(ids[self._has(ids)]).astype(np.uint64))
        return found

    def of(self, name: str, read: Callable[..., np.ndarray]) -> tuple[str, Callable[[], np.ndarray]]:
        """What VertexArrays takes, for an array of all vertices of that name."""
        return f"{name} by {self.name}", lambda: self.select(read)

    def _has(self, ids: np.ndarray) -> np.ndarray:
        return (self.here[ids // WORD] >> (ids % WORD).astype(np.uint64)) & np.uint64(1) != 0

    def _pieces(self, bits: np.ndarray) -> Any:
        """(first, last, int64[n] of the vertices in [first, last) whose bit is set), piece by piece."""
        vertices = self.slices[-1][1]
        for first in range(0, vertices, PIECE):
            last = min(first + PIECE, vertices)
            yield first, last, list_bits(bits, first, last).astype(np.int64)

    def table(self, table: PageTable, opened: Callable[..., Any]) -> PageTable:
        """A page table by numbers. opened: PageReader of the topology. Pages of other ranks keep their order alone."""
        first = self.numbers(table.first_vertex)
        last = np.maximum(first, self.numbers(table.last_vertex + np.uint64(1)) - 1)
        inside = self._has(table.last_vertex.astype(np.int64))
        last[inside] = self.numbers(table.last_vertex[inside])
        last = np.minimum(last, self.count - 1)

        def reader(direct: bool = False) -> OwnReader:
            return OwnReader(opened(direct=direct), table, self)

        return replace(
            table, name=f"{table.name} by {self.name}", first_vertex=np.minimum(first, last).astype(np.uint64),
            last_vertex=last.astype(np.uint64), vertices=self.count, opened=reader,
        )  # fmt: skip

    def renumber(self, words: np.ndarray, records: np.ndarray, strides: np.ndarray) -> None:
        """Write numbers over the vertices of pages, id[n, W], whose neighbours all have one. records, strides: [n]."""
        own, shifts = np.array(self.own, np.uint64), np.array(self._shifts, np.int64)
        _renumber(words, records, strides, self.here, self.before, own, shifts)


class OwnReader:
    """Reads the pages of a part, and gives their vertices numbers. As gstream.paging.page_rows.Reader, of pages that
    are stored as they are."""

    def __init__(self, reader: Any, table: PageTable, ids: OwnIds) -> None:
        """table: by store IDs."""
        self.spread, self._reader, self._table, self._ids = reader.spread, reader, table, ids
        self._strides = np.maximum(table.page_layout, 1)

    def read(self, first: int, count: int, out: np.ndarray) -> np.ndarray:
        pages: np.ndarray = self._reader.read(first, count, out)
        here = slice(first, first + count)
        self._ids.renumber(self._table.words_of(pages), self._table.records[here], self._strides[here])
        return pages

    def read_weights(self, first: int, count: int, out: np.ndarray) -> np.ndarray:
        weights: np.ndarray = self._reader.read_weights(first, count, out)
        return weights

    def read_sound(self, first: int, count: int, weights: bool, room: np.ndarray) -> np.ndarray:
        raise AssertionError("pages of parts are not coded")


def _word_from(number: int) -> int:
    """The first number from this one on that begins a word of bitmaps."""
    return -(-number // WORD) * WORD


@helper
def _number(v: Any, here: Any, before: Any, own: Any, shifts: Any) -> Any:
    word = v >> u64(6)
    found = u64(before[word]) + u64(population(here[word] & ((u64(1) << (v & u64(63))) - u64(1))))
    if v >= own[1]:
        return found + u64(shifts[1])
    return found + u64(shifts[0]) if v >= own[0] else found


@kernel
def _renumber(words: Any, records: Any, strides: Any, here: Any, before: Any, own: Any, shifts: Any) -> Any:
    """Slots at the end of a page, then each record's neighbours (pagestore/layout.py); one thread."""
    end = u64(words.shape[1])
    for page in range(u64(len(words))):
        stride = u64(strides[page])
        for record in range(u64(records[page])):
            slot = end - u64(2) * (record + u64(1))
            words[page, slot] = _number(u64(words[page, slot]), here, before, own, shifts)
            at = u64(words[page, slot + u64(1)])
            for _ in range(u64(words[page, at])):
                at += stride
                words[page, at] = _number(u64(words[page, at]), here, before, own, shifts)
