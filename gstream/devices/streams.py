"""Where a device that copies puts the pages of each batch: a ring of buffers for its streams, and cache slots.

One pool of rows (a row holds one page) is laid out so:

    rows [0, streams x batch_pages)      the ring: batch_pages rows for each stream, reused in stream order
    rows after that                      slots of the page caches, one run of them for each page set

Copy and kernel of a batch are queued on one stream, so a ring row is never overwritten before its last kernel. A cache
slot is: it may be filled on one stream and read on another, so `place` names the tickets (events) to wait for. Within
one sweep a page comes once, hence the last batch that touched a slot is all there is to wait for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gstream.cache import PageCache
from gstream.devices.base import DevicePlan
from gstream.pagetable import PageTable


@dataclass
class Placement:
    """Where a batch goes. rows: int64[n], pool row of each page; absent: bool[n], pages that must be copied;
    waits: tickets of batches that must be over before this one may begin."""

    stream: int
    rows: np.ndarray
    absent: np.ndarray
    waits: list[int]
    slots: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


class BatchRing:
    """Rows and streams of one job. Tickets are numbers that grow by one a batch."""

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
        self._tickets = 0

    def place(self, numbers: np.ndarray, table: PageTable) -> Placement:
        """Rows for the pages `numbers` (int64[n], distinct, batch_pages at most) on the next stream."""
        stream = self._tickets % self.streams
        base = stream * self.batch_pages
        rows = np.arange(base, base + len(numbers), dtype=np.int64)
        cache = self.caches.get(table.name)
        if cache is None:
            return Placement(stream, rows, np.ones(len(numbers), dtype=bool), [])
        slots = cache.look_up(numbers)
        absent = slots < 0
        cache.pin(slots[~absent])  # a page that this batch needs makes no room for another of its pages
        slots[absent] = cache.admit(numbers[absent])
        cache.unpin(slots[~absent])
        cached = slots >= 0
        rows[cached] = slots[cached] + self._first_slot[table.name]
        waits = np.unique(self._last_ticket[rows[cached]])
        return Placement(stream, rows, absent, waits[waits >= 0].tolist(), rows[cached])

    def ticket(self, placement: Placement) -> int:
        """The number of a batch that has been queued as placed."""
        number = self._tickets
        self._tickets += 1
        self._last_ticket[placement.slots] = number
        return number


def cut_by_reach(numbers: np.ndarray, table: PageTable, reach: int, batch_pages: int) -> list[np.ndarray]:
    """Cut a batch so that the vertices of each piece lie within `reach` of each other, batch_pages at most.

    A streamed RA travels with its pages: the values of all vertices from the first page's first to the last's last.
    """
    pieces = []
    start = 0
    for end in range(1, len(numbers) + 1):
        full = end == len(numbers) or end - start == batch_pages
        if full or int(table.last_vertex[numbers[end]] - table.first_vertex[numbers[start]]) + 1 > reach:
            pieces.append(numbers[start:end])
            start = end
    return pieces
