"""Which device owns a page: a hash of its stretch, the same in every superstep (GStream thesis 3.3); and which merges
a vertex.

A *stretch* is a fixed run of pages. The hash is the thesis's default, stretch number mod devices: neighbouring
stretches go to different devices, so a sweep is spread evenly, and because it never looks at the frontier, caches keep
their worth from one superstep to the next. A batch never crosses a stretch.
"""

from __future__ import annotations

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


def owners(numbers: np.ndarray, stretch: int, devices: int) -> np.ndarray:
    """int64[n]: the device (0..devices-1) that owns each page of `numbers` (int64[n])."""
    return (numbers // stretch) % devices


def share(numbers: np.ndarray, stretch: int, devices: int, device: int) -> np.ndarray:
    """The pages of `numbers` (int64[n], ascending) that `device` owns, ascending."""
    if devices == 1:
        return numbers
    return numbers[owners(numbers, stretch, devices) == device]


def largest_share(pages: int, stretch: int, devices: int) -> int:
    """The most pages that one device owns."""
    if devices == 1 or pages == 0:
        return pages
    return int(np.bincount(owners(np.arange(pages), stretch, devices)).max())


def cut_batches(numbers: np.ndarray, stretch: int, batch_pages: int, small_pages: int) -> list[np.ndarray]:
    """Cut pages (int64[n], ascending) into batches: neighbours of one stretch and one kind, `batch_pages` at most.

    Small pages come before large ones because pages are numbered so; no batch mixes the two kinds.
    """
    if len(numbers) == 0:
        return []
    group = numbers // stretch * 2 + (numbers >= small_pages)
    edges = np.flatnonzero(group[1:] != group[:-1]) + 1
    batches: list[np.ndarray] = []
    first = 0
    for last in [*edges.tolist(), len(numbers)]:
        for start in range(first, last, batch_pages):
            batches.append(numbers[start : min(start + batch_pages, last)])
        first = last
    return batches


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
