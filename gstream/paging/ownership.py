"""Which device owns a page: a hash of its stretch, the same in every superstep (GStream thesis 3.3); and which merges
a vertex.

A *stretch* is a fixed run of pages. The hash is the thesis's default, stretch number mod devices: neighbouring
stretches go to different devices, so a sweep is spread evenly, and because it never looks at the frontier, caches keep
their worth from one superstep to the next. A batch never crosses a stretch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

HEAVY = 4  # vertices' worth of work that one is which sends on `apply`: of others little more than a degree is read
STRETCHES_PER_DEVICE = 8  # at least this many each where the graph has the pages: bounds the imbalance at 1/8


def stretch_pages(pages: int, devices: int, largest: int) -> int:
    """Pages in one stretch: `largest` (16 MiB of pages), fewer where a small graph would leave devices idle.

    One device gets the largest stretch whatever the size. Raises ValueError when an argument is not positive.
    """
    if devices < 1 or largest < 1 or pages < 0:
        raise ValueError(f"pages {pages}, devices {devices}, largest {largest}: need at least 0, 1, 1")
    if devices == 1:
        return largest
    return max(1, min(largest, pages // (STRETCHES_PER_DEVICE * devices)))


@dataclass(frozen=True)
class Partition:
    """Which of several devices owns a stretch: shares in proportion to `weights`, one a device.

    With equal weights the owner is the stretch number mod devices. With others each device gives up stretches of those,
    or takes some in, as few as will do: caches keep most of their worth when weights change. weights: at least 0, of
    which one is more. groups: of neighbouring devices, as many in each. Of these a stretch goes to the one whose number
    is the stretch's mod groups, as in a graph that is split for as many ranks.
    """

    weights: tuple[float, ...]
    groups: int = 1

    def __post_init__(self) -> None:
        if not all(0 <= weight < float("inf") for weight in self.weights) or not sum(self.weights):
            raise ValueError(f"weights {self.weights}: need one a device, none below 0 and one above it")

    @classmethod
    def equal(cls, devices: int, groups: int = 1) -> Partition:
        """Equal shares for `devices` devices."""
        return cls((1.0,) * devices, groups)

    @property
    def devices(self) -> int:
        return len(self.weights)

    def owners(self, numbers: np.ndarray, stretch: int) -> np.ndarray:
        """int64[n]: the device (0..devices-1) that owns each page of `numbers` (int64[n])."""
        row, home = np.divmod(numbers // stretch, self.devices)
        if self.groups > 1:
            home = home % self.groups * (self.devices // self.groups) + home // self.groups
        if len(set(self.weights)) == 1:
            return home
        share = np.array(self.weights) * (self.devices / sum(self.weights))
        kept, place = np.minimum(share, 1.0), _spread(row)
        takes = np.cumsum(share - kept)
        given = (place - kept[home]) / np.maximum(1.0 - kept[home], 1e-300)  # evenly in [0, 1), of those that go
        taker = np.searchsorted(takes, np.maximum(given, 0.0) * takes[-1], side="right")
        return np.where(place < kept[home], home, np.minimum(taker, self.devices - 1))

    def share(self, numbers: np.ndarray, stretch: int, device: int) -> np.ndarray:
        """The pages of `numbers` (int64[n], ascending) that `device` owns, ascending."""
        return numbers if self.devices == 1 else numbers[self.owners(numbers, stretch) == device]

    def count(self, pages: int, stretch: int, device: int) -> int:
        """How many of a page set's pages `device` owns."""
        return _counts(self, pages, stretch)[device]


@lru_cache(maxsize=64)  # plans ask for it once a device
def _counts(partition: Partition, pages: int, stretch: int) -> list[int]:
    found = np.bincount(partition.owners(np.arange(pages), stretch), minlength=partition.devices)
    return [int(count) for count in found]


def _spread(row: np.ndarray) -> np.ndarray:
    """float64[n] in [0, 1): of any numbers (int64[n]) that follow each other evenly spread, by the golden ratio."""
    return (row.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(11)) / float(1 << 53)


def cut_batches(numbers: np.ndarray, stretch: int, batch_pages: int, small_pages: int) -> list[np.ndarray]:
    """Cut pages (int64[n], ascending) into batches: neighbours of one stretch and one kind, `batch_pages` at most.

    Small pages come before large ones because pages are numbered so; no batch mixes the two kinds.
    """
    batches: list[np.ndarray] = []
    first = 0
    for last in _ends(numbers, stretch, small_pages).tolist():
        for start in range(first, last, batch_pages):
            batches.append(numbers[start : min(start + batch_pages, last)])
        first = last
    return batches


def count_batches(numbers: np.ndarray, stretch: int, batch_pages: int, small_pages: int) -> int:
    """How many batches `cut_batches` makes."""
    sizes = np.diff(_ends(numbers, stretch, small_pages), prepend=0)
    return int((-(-sizes // batch_pages)).sum())


def _ends(numbers: np.ndarray, stretch: int, small_pages: int) -> np.ndarray:
    """int64[n]: behind the last of each run of pages of one stretch and one kind."""
    if len(numbers) == 0:
        return np.zeros(0, np.int64)
    group = numbers // stretch * 2 + (numbers >= small_pages)
    return np.append(np.flatnonzero(group[1:] != group[:-1]) + 1, len(numbers))


def slices(chunk: tuple[int, int], unit: int, devices: int, heavy: int = 0) -> list[tuple[int, int]]:
    """One slice of the chunk a device, in order, at multiples of the unit from its beginning; some may be empty.

    As many vertices each, of which those before `heavy` count HEAVY times.
    """
    first, last = chunk
    heavy = min(max(heavy - first, 0), last - first)
    work = last - first + (HEAVY - 1) * heavy
    cuts = [first]
    for device in range(1, devices):
        mine = work * device // devices
        count = mine // HEAVY if mine < HEAVY * heavy else mine - (HEAVY - 1) * heavy
        cuts.append(min(last, first + (count + unit // 2) // unit * unit))
    return list(zip(cuts, [*cuts[1:], last], strict=True))
