"""The page cache: which page lies in which slot, and which slot to give up (GStream thesis 3.4).

One implementation serves host memory (pages read from disk) and device memory (pages copied over the link).
`slot_of_page[p]` is -1 where page p is not resident. Two policies:

    lru     the thesis's: a missed page always takes a slot, that of the page used longest ago
    pinned  the first pages to come keep their slots for good; later ones pass through unless a slot is free.
            A cyclic sweep over more pages than slots gives LRU no hit at all, and pinned slots/pages of them. Devices
            look for all pages of a sweep first, and so have slots/pages hits by LRU, too.
"""

from __future__ import annotations

import numpy as np

POLICIES = ("lru", "pinned")


class PageCache:
    """Slots for pages of one topology.

    Invariants: slot_of_page and page_of_slot are inverse to each other; a slot with a positive pin count is never
    given up; hits + misses is the number of pages asked for.
    """

    def __init__(self, pages: int, slots: int, policy: str = "pinned") -> None:
        if policy not in POLICIES:
            raise ValueError(f"cache policy {policy!r}; it must be one of {', '.join(POLICIES)}")
        self.policy = policy
        self.slots = min(slots, pages)
        self.slot_of_page = np.full(pages, -1, dtype=np.int64)
        self.page_of_slot = np.full(self.slots, -1, dtype=np.int64)
        self.pins = np.zeros(self.slots, dtype=np.int32)
        self.changes = 0  # calls of admit
        self.used = 0  # slots ever taken; free ones are handed out in order, so that neighbours lie side by side
        self.hits = 0
        self.misses = 0
        self._stamp = np.zeros(self.slots, dtype=np.int64)
        self._clock = 0

    def look_up(self, numbers: np.ndarray) -> np.ndarray:
        """int64[n]: slot of each page (int64[n], distinct), -1 where it is not resident. Counts hits and misses."""
        slots = self.slot_of_page[numbers]
        found = slots[slots >= 0]
        self.hits += len(found)
        self.misses += len(numbers) - len(found)
        self._touch(found)
        return slots

    @property
    def whole(self) -> bool:
        """Whether all pages are resident."""
        return self.used == len(self.slot_of_page)

    def absent(self, numbers: np.ndarray) -> np.ndarray:
        """Those of the pages (int64[n]) that are not resident; counts nothing."""
        return numbers[self.slot_of_page[numbers] < 0]

    def admit(self, numbers: np.ndarray) -> np.ndarray:
        """Slots for missed pages (int64[n], distinct, none resident); -1 where the policy lets a page pass through."""
        self.changes += 1
        slots = np.full(len(numbers), -1, dtype=np.int64)
        fresh = min(len(numbers), self.slots - self.used)
        slots[:fresh] = np.arange(self.used, self.used + fresh)
        wanted = len(numbers) - fresh
        if wanted and self.policy == "lru":
            victims = self._oldest(wanted)  # of the slots taken before this call
            slots[fresh : fresh + len(victims)] = victims
            self.slot_of_page[self.page_of_slot[victims]] = -1
        self.used += fresh
        taken = slots >= 0
        self.page_of_slot[slots[taken]] = numbers[taken]
        self.slot_of_page[numbers[taken]] = slots[taken]
        self._touch(slots[taken])
        return slots

    def pin(self, slots: np.ndarray) -> None:
        """Keep `slots` (int64[n], distinct) where they are until `unpin`; pins are counted."""
        self.pins[slots] += 1

    def unpin(self, slots: np.ndarray) -> None:
        """Take one pin off each of `slots`."""
        self.pins[slots] -= 1

    def _touch(self, slots: np.ndarray) -> None:
        self._clock += 1
        self._stamp[slots] = self._clock

    def _oldest(self, count: int) -> np.ndarray:
        """Up to `count` unpinned slots, least recently used first."""
        free = np.flatnonzero(self.pins[: self.used] == 0)
        if len(free) > count:
            free = free[np.argpartition(self._stamp[free], count - 1)[:count]]
        return free[np.argsort(self._stamp[free], kind="stable")]
