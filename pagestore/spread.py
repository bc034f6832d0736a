"""Which file holds which pages, of a striped store and of a graph in parts.

Stretch s, pages s*L to s*L+L-1 of a topology, is stretch s // N of stripe (s + mix(s // N)) mod N, for N stripes. So N
stretches that follow each other lie in N stripes, and a sweep keeps all disks equally busy. Hashing turns their order
from one N to the next, so no pattern of pages that are left out favours a disk for long (Garaph 2.2 hashes pages, too).
A store in one file is one stripe, whose only stretch has no end.

Of a graph in N parts (pagestore/manifest.py) stretch s is stretch s // N of part s mod N, as the thesis hashes pages to
devices (3.3): a part is opened by the rank of its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

ENDLESS = 1 << 62  # pages
MASK = (1 << 64) - 1


class Run(NamedTuple):
    """Pages first..first+pages-1, which are rows row..row+pages-1 of those in file number `file`."""

    file: int
    row: int
    first: int
    pages: int


def mix(number: int) -> int:
    """A bijection of 64-bit numbers that spreads every bit (splitmix64's finaliser)."""
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB & MASK
    return number ^ (number >> 31)


@dataclass(frozen=True)
class Spread:
    """Pages over `files` files, by stretches of `stretch` pages. mixed: in an order that hashing turns.

    only: the one file that is open, a part; None: all are.
    """

    files: int = 1
    stretch: int = ENDLESS
    mixed: bool = True
    only: int | None = None

    def file_of(self, stretch: int) -> int:
        """The number of the file that holds a stretch."""
        return (stretch + (mix(stretch // self.files) if self.mixed else 0)) % self.files

    @property
    def opened(self) -> int:
        """How many files are open."""
        return self.files if self.only is None else 1

    def files_of(self, pages: np.ndarray) -> np.ndarray:
        """The same of pages, among those that are open: int64[n] of int64[n]."""
        if self.opened == 1:
            return np.zeros(len(pages), np.int64)
        stretches, which = np.unique(pages // self.stretch, return_inverse=True)
        return np.array([self.file_of(stretch) for stretch in stretches.tolist()], np.int64)[which]

    def rows(self, pages: int) -> list[int]:
        """How many of a topology's pages each file holds."""
        rounds, rest = divmod(pages, self.stretch * self.files)
        held = [rounds * self.stretch] * self.files
        for number, first in enumerate(range(0, rest, self.stretch)):
            held[self.file_of(rounds * self.files + number)] += min(self.stretch, rest - first)
        return held

    def here(self, pages: int) -> int:
        """How many of a topology's pages lie in files that are open."""
        return pages if self.only is None else self.rows(pages)[self.only]

    def foreign(self, first: int, count: int) -> int | None:
        """The first of pages first..first+count-1 that lies in a file that is not open; None: there is none."""
        for stretch in range(first // self.stretch, -(-(first + count) // self.stretch)) if count > 0 else ():
            if self.only is not None and self.file_of(stretch) != self.only:
                return max(first, stretch * self.stretch)
        return None

    def ranges(self, pages: int, most: int) -> Iterator[tuple[int, int]]:
        """(first, count) of all pages in open files, in order, at most so many at once and of one stretch."""
        if self.only is None:
            yield from ((first, min(most, pages - first)) for first in range(0, pages, most))
            return
        for begin in range(self.only * self.stretch, pages, self.files * self.stretch):
            end = min(begin + self.stretch, pages)
            yield from ((first, min(most, end - first)) for first in range(begin, end, most))

    def runs(self, first: int, count: int) -> Iterator[Run]:
        """Pages first..first+count-1 as runs that lie in one file each, in order; of those that are open."""
        end = first + count
        while first < end:
            stretch, at = divmod(first, self.stretch)
            here = min(end - first, self.stretch - at)
            file = self.file_of(stretch) if self.only is None else 0
            yield Run(file, stretch // self.files * self.stretch + at, first, here)
            first += here
