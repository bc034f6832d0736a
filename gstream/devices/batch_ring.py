"""Where a device that copies puts the pages of each batch: a ring of buffers for its streams, and cache slots.

One pool of rows (a row holds one page) is laid out so:

    rows [0, streams x batch_pages)      the ring: batch_pages rows for each stream, reused in stream order
    rows after that                      slots of the page caches, one run of them for each page set

A stream has one batch at a time, so a ring row is never overwritten before its last kernel. A cache slot is: it may be
filled on one stream and read on another, so placements name the tickets (events) to wait for. Pages that are cached
already are processed first, in one launch (`held`); the others are copied and processed by batches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gstream.devices.job import DevicePlan
from gstream.paging.page_cache import PageCache
from gstream.paging.page_table import PageTable


@dataclass
class Placement:
    """Where pages lie that one launch works on. rows: int64[n], pool row of each; waits: tickets of batches that must
    be over before pages are copied there; slots: the rows that are cache slots."""

    stream: int
    rows: np.ndarray
    waits: list[int]
    slots: np.ndarray


class BatchRing:
    """Rows and streams of one job. Tickets are numbers that grow by one a launch."""

    def __init__(self, plan: DevicePlan, tables: dict[str, PageTable]) -> None:
        self.batch_pages, self.streams = plan.batch_pages, plan.streams
        self.caches: dict[str, PageCache] = {}
        self._first_slot: dict[str, int] = {}
        self.ring_rows = self.rows = plan.streams * plan.batch_pages
        for name, slots in plan.cache_pages.items():
            if slots and plan.policy:
                self.caches[name] = PageCache(tables[name].pages, slots, plan.policy)
                self._first_slot[name] = self.rows
                self.rows += self.caches[name].slots
        self._last_ticket = np.full(self.rows, -1, dtype=np.int64)
        self._tickets = self._placed = self._over = 0

    def held(self, numbers: np.ndarray, table: PageTable) -> tuple[Placement, np.ndarray]:
        """Where those of the pages `numbers` (int64[n], distinct) lie that are cached, and bool[n]: which these are.

        The launch over them has a stream of its own, number `streams`, and nothing is copied for it, so it never
        waits. Hits and misses are counted here.
        """
        cache = self.caches.get(table.name)
        if cache is None or len(numbers) == 0:
            nothing = np.zeros(0, np.int64)
            return Placement(self.streams, nothing, [], nothing), np.zeros(len(numbers), np.bool_)
        slots = cache.look_up(numbers)
        found = slots >= 0
        rows = slots[found] + self._first_slot[table.name]
        return Placement(self.streams, rows, [], rows), found

    def place(self, numbers: np.ndarray, table: PageTable) -> Placement:
        """Rows for pages that must come (int64[n], distinct, not cached, batch_pages at most), on the next stream."""
        assert len(numbers) <= self.batch_pages, f"{len(numbers)} pages in a batch of {self.batch_pages}"
        stream = self.next_stream()
        base = stream * self.batch_pages
        rows = np.arange(base, base + len(numbers), dtype=np.int64)
        cache = self.caches.get(table.name)
        if cache is None:
            return Placement(stream, rows, [], rows[:0])
        slots = cache.admit(numbers)
        cached = slots >= 0
        rows[cached] = slots[cached] + self._first_slot[table.name]
        return Placement(stream, rows, self._waits(rows[cached]), rows[cached])

    def absent(self, numbers: np.ndarray, table: PageTable) -> np.ndarray:
        """Those of the pages (int64[n]) that no slot holds, or will when what is queued is over."""
        cache = self.caches.get(table.name)
        if cache is None:
            return numbers
        return numbers[:0] if cache.whole else cache.absent(numbers)

    def changes(self, table: PageTable) -> int:
        """How often pages of a topology were put into its cache; rows_of is the same while that is."""
        cache = self.caches.get(table.name)
        return 0 if cache is None else cache.changes

    def rows_of(self, table: PageTable) -> np.ndarray:
        """uint32[pages]: the row of each page of a topology, all bits set where it is not cached."""
        cache = self.caches.get(table.name)
        if cache is None:
            return np.full(table.pages, ~np.uint32(0))
        slots = cache.slot_of_page
        return np.where(slots < 0, ~np.uint32(0), (slots + self._first_slot[table.name]).astype(np.uint32))

    def admits(self, table: PageTable) -> bool:
        """Whether pages that come may take a slot of the cache."""
        cache = self.caches.get(table.name)
        return cache is not None and (cache.policy == "lru" or cache.used < cache.slots)

    def stays(self, table: PageTable) -> bool:
        """Whether pages that are cached keep their slots."""
        cache = self.caches.get(table.name)
        return cache is not None and cache.policy == "pinned"

    def next_stream(self) -> int:
        """Streams take turns."""
        self._placed += 1
        return (self._placed - 1) % self.streams

    def _waits(self, slots: np.ndarray) -> list[int]:
        waits = np.unique(self._last_ticket[slots])
        return waits[waits >= 0].tolist()

    def ticket(self, placement: Placement) -> int:
        """The number of a launch that has been queued as placed."""
        number = self._tickets
        self._tickets += 1
        self._last_ticket[placement.slots] = number
        return number

    def all_over(self) -> None:
        """Note that every launch so far is over, so none is waited for."""
        if self._over < self._tickets:
            self._last_ticket[:] = -1
            self._over = self._tickets


def cut_by_reach(numbers: np.ndarray, table: PageTable, reach: int, batch_pages: int) -> list[np.ndarray]:
    """Cut a batch so that the vertices of each piece lie within `reach` of each other, batch_pages at most.

    A streamed RA travels with its pages: the values of all vertices from the first page's first to the last's last.
    reach 0: RA is not streamed, and only batch_pages counts.
    """
    if reach == 0 and len(numbers) <= batch_pages:
        return [numbers]
    pieces = []
    start = 0
    for end in range(1, len(numbers) + 1):
        cut = end == len(numbers) or end - start == batch_pages
        if not cut and reach:
            first, last = numbers[start], numbers[end]
            apart = int(table.last_vertex[last]) - int(table.first_vertex[first]) >= reach
            cut = apart or first < table.small_pages <= last  # large pages begin anew with the first vertices
        if cut:
            pieces.append(numbers[start:end])
            start = end
    return pieces
