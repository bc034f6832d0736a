"""Which file of a striped store holds which pages.

Stretch s, pages s*L to s*L+L-1 of a topology, is stretch s // N of stripe (s + mix(s // N)) mod N, for N stripes. So N
stretches that follow each other lie in N stripes, and a sweep keeps all disks equally busy. Hashing turns their order
from one N to the next, so no pattern of pages that are left out favours a disk for long (Garaph 2.2 hashes pages, too).
A store in one file is one stripe, whose only stretch has no end.
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
    """Pages over `files` files, by stretches of `stretch` pages."""

    files: int = 1
    stretch: int = ENDLESS

    def file_of(self, stretch: int) -> int:
        """The number of the file that holds a stretch."""
        return (stretch + mix(stretch // self.files)) % self.files

    def files_of(self, pages: np.ndarray) -> np.ndarray:
        """The same of pages: int64[n] of int64[n]."""
        if self.files == 1:
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

    def runs(self, first: int, count: int) -> Iterator[Run]:
        """Pages first..first+count-1 as runs that lie in one file each, in order."""
        end = first + count
        while first < end:
            stretch, at = divmod(first, self.stretch)
            here = min(end - first, self.stretch - at)
            yield Run(self.file_of(stretch), stretch // self.files * self.stretch + at, first, here)
            first += here
