"""The page sources of an engine: one for each page set and device, made as planned and kept while plans agree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from gstream.paging.page_rows import Pin
from gstream.paging.page_source import InMemory, PageSource, SourcePlan
from gstream.paging.page_table import NO_PAGES, PageTable
from gstream.paging.readers import Readers
from gstream.telemetry.progress import WorkDone
from gstream.telemetry.trace import Trace


class Sources:
    """Page sources by the page set's name, one a device. A resident page set has one source, which all devices share,
    and the cores beside them.

    bytes_read: of pages and weights, from the store's file so far.

    devices: how many there are. pin: Device.pin of the first, if it pins: memory pinned for one GPU is pinned for all.
    poison: fill ring rows that are let go of, for fake devices. capped: host memory has a cap, so that what a plan
    does not count goes.
    """

    def __init__(
        self, store: Any, devices: int, pin: Pin | None, readers: Readers, capped: bool, poison: bool,
        trace: Trace | None,
    ) -> None:  # fmt: skip
        self._store, self._devices, self._readers = store, devices, readers
        self._capped, self._poison, self._trace, self._pin = capped, poison, trace, pin
        self.by_name: dict[str, list[PageSource]] = {}
        self.bytes_read, self._lock = 0, threading.Lock()
        self.work: WorkDone | None = None  # counts the pages of each batch; None: no progress is shown

    def follow(self, progress: Any, tell: Callable[..., None]) -> None:
        """Tell a progress callback of pages, if it has `within` (gstream.telemetry.progress.WorkDone)."""
        if (within := getattr(progress, "within", None)) is not None:
            self.work = WorkDone(within, tell, getattr(progress, "rounds", None))

    def in_memory(self, table: PageTable, weights: bool, wanted: np.ndarray = NO_PAGES) -> InMemory:
        """The pages of a page set that is resident in host memory; wanted: int64[n], those that are read first."""
        return self.by_name[table.name][0].in_memory(weights, wanted)

    def unread(self, table: PageTable, plan: SourcePlan) -> int:
        """Pages that have yet to be read of those that are to stay in host memory."""
        have = self.by_name.get(table.name)
        if not plan.resident:
            return 0
        return table.pages if have is None or not self._serves(have[0], plan) else have[0].unread

    def cached(self, table: PageTable, plan: SourcePlan) -> int:
        """Pages that the caches of a streamed page set hold already."""
        have = self.by_name.get(table.name)
        if plan.resident or have is None or not have[0].plan.serves(plan):
            return 0
        return sum(source.cache.used for source in have if source.cache is not None)

    def serve(self, table: PageTable, weights: bool, coded: bool = False) -> bool:
        """Whether the source that is there has what a sweep reads: pages (resident weights may go unused). coded: the
        devices take coded pages. Lists are read, too, where all pages have room as kernels read them."""
        have = self.by_name.get(table.name)
        if have is None or not (have[0].plan.weights or not weights):
            return False
        plan = have[0].plan
        return plan.readable or not plan.coded or (coded and not plan.resident)

    def _serves(self, have: PageSource, plan: SourcePlan) -> bool:
        """Whether it has what the plan says, and under a cap no more."""
        return have.plan.serves(plan) and not (self._capped and have.plan.twice and not plan.twice)

    def give(self, table: PageTable, coded: bool) -> None:
        """Batches of a page set that is there both ways come as they are stored, or as kernels read them."""
        source = self.by_name[table.name][0]
        if source.plan.twice:
            source.give(coded)

    def prepare(self, plans: dict[str, SourcePlan], tables: dict[str, PageTable], cores: int = 0) -> None:
        """Make the sources as planned; those that hold the same already stay, with their pages.

        cores: 1 where cores beside the devices take pages, too: theirs is the last.
        """
        count = self._devices + cores
        for name in [name for name in self.by_name if name not in plans]:
            if self._capped or not all(plan.resident for plan in plans.values()):
                self._drop(name)
        for name, plan in plans.items():
            have = self.by_name.get(name)
            if have is not None and self._serves(have[0], plan) and (plan.resident or len(have) == count):
                self.give(tables[name], plan.coded)
                continue
            have = None  # its memory goes before there is more
            self._drop(name)
            reader = (tables[name].opened or self._store.topology(name).reader)(direct=not plan.resident)
            with ExitStack() as undo:
                made = []
                for _ in range(1 if plan.resident else count):
                    beside = self._readers, self._count, self._poison, self._trace, self._pin
                    given = (tables[name], reader, plan, *beside)
                    made.append(PageSource(*given))
                    made[-1].work = self.work
                    undo.callback(made[-1].close)
                self.by_name[name] = made * (self._devices + 1) if plan.resident else made
                undo.pop_all()

    def holds(self, name: str) -> bool:
        """Whether host memory has room for all pages of a page set: those that are not there are read once."""
        return name in self.by_name and self.by_name[name][0].plan.readable

    def end_reading(self) -> None:
        """End reading ahead for supersteps that do not come."""
        for source in self.distinct():
            source.end_reading()

    def drop_streamed(self) -> None:
        """After an error ring groups and cache slots may be in any state: streamed sources are made anew."""
        for name in [name for name, have in self.by_name.items() if not have[0].plan.resident]:
            self._drop(name)

    def clear(self) -> None:
        """Free all pages."""
        for name in list(self.by_name):
            self._drop(name)

    def _drop(self, name: str) -> None:
        """Free one page set's rows."""
        for source in set(self.by_name.pop(name, ())):
            source.close()

    def _count(self, nbytes: int) -> None:
        """Of any thread that reads."""
        with self._lock:
            self.bytes_read += nbytes

    def distinct(self) -> list[PageSource]:
        """Each source once."""
        return list({id(source): source for have in self.by_name.values() for source in have}.values())

    @property
    def bytes_held(self) -> int:
        return sum(source.bytes_held for source in self.distinct())

    def take_hits(self) -> tuple[int, int]:
        """Hits and misses of the caches in host memory since the last call."""
        caches = [source.cache for source in self.distinct() if source.cache is not None]
        found = sum(cache.hits for cache in caches), sum(cache.misses for cache in caches)
        for cache in caches:
            cache.hits = cache.misses = 0
        return found
