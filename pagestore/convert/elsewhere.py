"""Sorting in the memory of a device that holds all keys, instead of in buckets: the steps of `shuffle` by its means.

    source --keys--> device --sort--> lists           first
    keys there --rename--> --sort--> lists            ordered: the vertices are renumbered
    keys there --turn--> --sort--> lists              turned: the other topology

Keys cross the link once. Lists come back to host memory, as `shuffle` leaves them: the store's bytes are the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pagestore.convert.buckets import BOTH, Buckets, Scattered
from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.emit import decode, merged_range
from pagestore.convert.options import ProgressHook
from pagestore.convert.sortededges import PartStore, SortedEdges
from pagestore.convert.sorter import EdgeSorter
from pagestore.convert.storage import Vector

MOST_KEYS = (1 << 32) - 1  # places of keys are of 4 bytes
READ = 1 << 20  # elements that a thread takes from the device at a time


class SorterKeys:
    """What `Shuffler.partition` adds keys to, in place of buckets."""

    def __init__(self, sorter: EdgeSorter) -> None:
        self._sorter = sorter

    def append(self, piece: Scattered, number: int) -> None:
        """Add a piece of the one bucket; thread-safe. `number` is not used."""
        self._sorter.append(piece.keys, piece.weights)


def may_hold(keys: int, vertices: int) -> bool:
    """Whether keys of so many vertices have 8 bytes, and places 4."""
    return keys <= MOST_KEYS and vertices <= 1 << 32


def one_bucket(bins: int, shift: int, ids: tuple[int, np.ndarray | None], vertices: int, direction: int) -> Buckets:
    """A bucket of all vertices; arguments as of `shuffle.plan_buckets`."""
    bits = max(1, (max(vertices, 1) - 1).bit_length())
    return Buckets(np.zeros(bins, np.uint32), shift, *ids, np.array([0, vertices], np.uint64), bits, direction)


class Elsewhere:
    """The sorter of one conversion, and how its lists become SortedEdges."""

    def __init__(
        self, sorter: EdgeSorter, vertices: int, weight_dtype: np.dtype | None, threads: int, hook: ProgressHook | None
    ) -> None:
        self.sorter, self.vertices, self.weight_dtype = sorter, vertices, weight_dtype
        self.threads, self.hook = threads, hook

    def first(self, fill: Callable[[SorterKeys], object], keys: int, dedupe: bool, direction: int) -> SortedEdges:
        """Sort what `fill` adds, up to `keys` keys of one direction, or of BOTH."""
        bits = max(1, (max(self.vertices, 1) - 1).bit_length())
        self.sorter.begin(keys, self.vertices, bits, self.weight_dtype is not None)
        fill(SorterKeys(self.sorter))
        return self._edges(dedupe, direction == BOTH, "edges")

    def ordered(self, place: Vector) -> SortedEdges:
        """The same edges between renumbered vertices."""
        self.sorter.rename(place.read(0, self.vertices))
        return self._edges(False, False, "out")

    def turned(self) -> SortedEdges:
        """The same edges the other way."""
        self.sorter.turn()
        return self._edges(False, False, "in")

    def _edges(self, dedupe: bool, mirrored: bool, label: str) -> SortedEdges:
        """Bring the lists of the keys that are there to host memory."""
        found = self.sorter.lists(dedupe, mirrored)
        ticker = Ticker(self.hook, f"sort {label}", found.kept, "edges")
        degrees = Vector(self.vertices, np.uint32)
        assert degrees.array is not None
        lengths = degrees.array
        room = np.array([found.kept], np.int64)
        dtypes = [np.dtype(np.uint32), *([] if self.weight_dtype is None else [self.weight_dtype])]
        stores = [PartStore(dtype, room, None) for dtype in dtypes]
        spaces = [store.space(0, 0, found.kept) for store in stores]
        targets, weights = spaces[0], None if len(spaces) < 2 else spaces[1]
        assert targets is not None
        ranges: list[tuple[float, float] | None] = [None] * self.threads

        def take(thread: int, item: tuple[bool, int]) -> None:
            of_vertices, at = item
            if of_vertices:
                self.sorter.read_degrees(at, lengths[at : at + READ])
                return
            piece = targets[at : at + READ]
            self.sorter.read_targets(at, piece)
            if weights is not None and self.weight_dtype is not None:
                codes = np.empty(len(piece), np.uint32)
                self.sorter.read_codes(at, codes)
                narrow = codes.astype(np.uint8) if self.weight_dtype.itemsize == 1 else codes
                here = weights[at : at + READ]
                here[:] = decode(narrow, self.weight_dtype)
                ranges[thread] = merged_range(ranges[thread], (float(here.min()), float(here.max())))
            ticker.add(len(piece))

        items = [(True, at) for at in range(0, self.vertices, READ)] + [
            (False, at) for at in range(0, found.kept, READ)
        ]
        run_crew(self.threads, iter(items), take)
        ticker.finish()
        span = None
        for one in ranges:
            span = merged_range(span, one)
        firsts = np.array([0, self.vertices], np.uint64)
        return SortedEdges(
            self.vertices, firsts, room, degrees, stores[0], None if weights is None else stores[1],
            found.duplicates, found.loops, found.hash, span,
        )  # fmt: skip
