"""The rows in host memory that pages are read into, as kernels read them or coded, and their pinning.

Rows        row r holds a page, uint8[page_bytes], at byte r * page_bytes
CodedRows   the same of coded pages: those that stay lie without gaps, so that one copy moves many; in a ring and a
            cache all rows are as long as the longest coded page
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable
from contextlib import ExitStack
from typing import Protocol

import numpy as np

from gstream.paging.page_table import PageTable
from pagestore.io import aligned_empty
from pagestore.spread import Spread

SEGMENT_BYTES = 16 << 20
Pin = Callable[[np.ndarray, bool], Callable[[], None]]  # pin(array, touched): what undoes it (gstream.devices.base)


class Reader(Protocol):
    """Reads runs of pages without the GIL, CRC checked (pagestore.PageReader). spread: which file holds which."""

    spread: Spread

    def read(self, first: int, count: int, out: np.ndarray) -> np.ndarray: ...

    def read_weights(self, first: int, count: int, out: np.ndarray) -> np.ndarray: ...

    def read_sound(self, first: int, count: int, weights: bool, room: np.ndarray) -> np.ndarray: ...


def page_rows(rows: int, row_bytes: int, reserve: bool = True) -> np.ndarray:
    """uint8[rows, row_bytes], page-aligned for O_DIRECT; memory is taken as it is touched and given back when freed.

    reserve: all will be touched; else there may be more than the machine has."""
    return aligned_empty(rows * row_bytes, reserve).reshape(rows, row_bytes)


def segment_rows(table: PageTable, rows: int) -> int:
    """Rows that are pinned at once: whole stretches, which no batch crosses, of SEGMENT_BYTES or more.

    They end with a page of the system's, which is pinned once only; those of the weights, too.
    """
    stretches = -(-SEGMENT_BYTES // (table.stretch * table.page_bytes))
    weight_bytes = table.stretch * table.weight_page_bytes
    whole = mmap.PAGESIZE // math.gcd(mmap.PAGESIZE, weight_bytes) if weight_bytes else 1
    return min(max(1, rows), table.stretch * -(-stretches // whole) * whole)


def coded_bytes(table: PageTable, weights: bool) -> int:
    """What CodedRows of a topology that stays take, at most."""
    segments = -(-table.pages // segment_rows(table, table.pages))
    return table.stored_bytes(table.pages, weights) + (1 + weights) * segments * mmap.PAGESIZE


class Rows:
    """Rows of one source. pages: uint8[rows, page_bytes]; weights: uint8[rows, weight_page_bytes] or None.

    pin: pins an array, if a GPU copies from it. stays: a page has a row of its own, which is pinned once it is read;
    else all rows are pinned at once, as copies cross them.
    """

    coded = False

    def __init__(self, table: PageTable, rows: int, weights: bool, stays: bool, pin: Pin | None) -> None:
        self.table, self._stays, self._pin, self._pinned = table, stays, pin, ExitStack()
        self.segment = segment_rows(table, rows) if stays else max(1, rows)
        self.pages, self.weights = self._take(rows, weights)
        self._pins = np.full(-(-rows // self.segment), 2 if pin is None else 0)  # of a segment's pages, weights
        if not stays:
            try:
                self.pin(0, rows, touched=False)
            except BaseException:
                self._pinned.close()
                raise

    def _take(self, rows: int, weights: bool) -> tuple[np.ndarray, np.ndarray | None]:
        table = self.table
        widths = table.page_bytes, *([table.weight_page_bytes] if weights else [])
        reserve = not self._stays or table.share is None  # rows of other ranks' pages are never touched
        made = [page_rows(rows, width, reserve) for width in widths]
        return made[0], made[1] if weights else None

    @property
    def nbytes(self) -> int:
        """Of rows that are used."""
        if self._stays and self.table.share is not None:
            return self.table.bytes_of(self.table.share, self.weights is not None)
        return self.pages.nbytes + (0 if self.weights is None else self.weights.nbytes)

    def read(self, reader: Reader, first: int, row: int, count: int) -> None:
        """Read pages first..first+count-1 into rows from `row` on."""
        reader.read(first, count, out=self.pages[row : row + count])
        if self.weights is not None:
            reader.read_weights(first, count, out=self.weights[row : row + count])

    def pin(self, first: int, end: int, touched: bool = True) -> None:
        """Pin the segments of rows [first, end), which have been read, and what is beside them in the segments.

        Raises ResourceError where that can't be done. What was pinned stays so until all is: copies of others may be
        queued, which nothing may be unpinned under.
        """
        for number in range(first // self.segment, -(-end // self.segment)):
            given = [array for array in (self.pages, self.weights) if array is not None]
            for array in given[self._pins[number] :]:
                assert self._pin is not None, "nothing is to be pinned"
                self._pinned.callback(self._pin(self._part(array, number), touched))
                self._pins[number] += 1

    def _part(self, array: np.ndarray, segment: int) -> np.ndarray:
        return array[segment * self.segment : (segment + 1) * self.segment]

    def begins(self, rows: np.ndarray, weights: bool) -> np.ndarray:
        """int64[n]: the byte at which each row begins."""
        return rows * (self.table.weight_page_bytes if weights else self.table.page_bytes)

    def fill(self, rows: np.ndarray, byte: int) -> None:
        """Every byte of these rows, so that a late reader is found out."""
        self.pages[rows] = byte

    def close(self) -> None:
        """Unpin all."""
        self._pinned.close()


class CodedRows(Rows):
    """Rows of coded pages, checked so far that a GPU may decode them. pages, weights: uint8[bytes].

    Of pages that stay, a segment begins with a page of the system's, which is pinned once only.
    """

    coded = True

    def _take(self, rows: int, weights: bool) -> tuple[np.ndarray, np.ndarray | None]:
        table = self.table
        self._begins = [self._laid(table.coded_sizes(of), rows) for of in (False, True)[: 1 + weights]]
        made = [aligned_empty(int(begins[-1])) for begins in self._begins]
        return made[0], made[1] if weights else None

    @property
    def nbytes(self) -> int:
        return self.pages.nbytes + (0 if self.weights is None else self.weights.nbytes)

    def _laid(self, sizes: np.ndarray, rows: int) -> np.ndarray:
        """int64[rows + 1]: where rows begin; sizes: of the topology's pages."""
        if not self._stays:
            return np.arange(rows + 1) * int(sizes.max(initial=0))
        starts = np.arange(0, len(sizes), self.segment)
        of_segments = -(-np.add.reduceat(sizes, starts) // mmap.PAGESIZE) * mmap.PAGESIZE if len(starts) else starts
        before = np.cumsum(of_segments) - of_segments
        within = np.cumsum(sizes) - sizes
        within -= np.repeat(within[starts], np.diff(np.append(starts, len(sizes))))
        begins = within + np.repeat(before, np.diff(np.append(starts, len(sizes))))
        return np.append(begins, of_segments.sum())

    def begins(self, rows: np.ndarray, weights: bool) -> np.ndarray:
        return self._begins[int(weights)][rows]

    def read(self, reader: Reader, first: int, row: int, count: int) -> None:
        for weights, array in ((False, self.pages), (True, self.weights)):
            if array is None:
                continue
            step = count if self._stays else 1  # pages that stay are read by stretches, which no segment cuts
            for at in range(0, count, step):
                begin = int(self._begins[int(weights)][row + at])
                size = int(self.table.coded_sizes(weights)[first + at : first + at + step].sum())
                reader.read_sound(first + at, step, weights, array[begin : begin + size])

    def fill(self, rows: np.ndarray, byte: int) -> None:
        for begin, end in zip(self._begins[0][rows], self._begins[0][rows + 1], strict=True):
            self.pages[begin:end] = byte

    def _part(self, array: np.ndarray, segment: int) -> np.ndarray:
        begins = self._begins[int(array is not self.pages)]
        last = min((segment + 1) * self.segment, len(begins) - 1)
        return array[int(begins[segment * self.segment]) : int(begins[last])]
