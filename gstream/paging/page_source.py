"""Pages in host memory: all of one topology where they fit, else a ring of batches read ahead of use, and a cache.

Rows of one pool, `uint8[rows, page_bytes]`, hold the pages:

    resident    row p holds page p; a page is read when it is first wanted, and stays
    streamed    rows [0, cache) are slots of the page cache, the rest is the ring: `groups` groups of batch_pages rows

A batch that is being read or used keeps its ring group and pins its cache slots until its `done` is called. Threads
read up to all free groups ahead of the consumer, a batch from each file that holds some of its pages.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from gstream.paging.ownership import cut_batches
from gstream.paging.page_cache import PageCache
from gstream.paging.page_rows import CodedRows, Pin, Reader, Rows, coded_bytes
from gstream.paging.page_table import NO_PAGES, PageTable
from gstream.paging.readers import Read, Readers
from gstream.telemetry.progress import WorkDone
from gstream.telemetry.trace import Trace, timed
from pagestore.io import aligned_empty

POISON = 0xA5  # released rows are filled with it when a fake device takes part: a late reader is found out


def nothing() -> None:
    return None


@dataclass
class Batch:
    """Pages that one copy moves and one launch processes; of one kind (small or large) unless it is zero-copy.

    numbers: int64[n], page numbers, ascending; rows: int64[n], where each lies in `pages`: uint8[*, page_bytes] and
    `weights`: uint8[*, weight_page_bytes] or None. Whoever processes it calls `done` once, when it has read them.
    coded: `pages` and `weights` are uint8[*] of coded pages instead, which begin at begins, weights_begins: int64[n].
    """

    table: PageTable
    numbers: np.ndarray
    rows: np.ndarray
    pages: np.ndarray
    weights: np.ndarray | None
    done: Callable[[], None] = nothing
    begins: np.ndarray | None = None
    weights_begins: np.ndarray | None = None

    @property
    def coded(self) -> bool:
        return self.begins is not None

    @property
    def nbytes(self) -> int:
        """Bytes of its pages where kernels read them."""
        weights = 0 if self.weights is None else self.table.weight_page_bytes
        return len(self.numbers) * (self.table.layout.page_bytes + weights)


@dataclass(frozen=True)
class InMemory:
    """A topology that has room in host memory whole. words: id[pages, W]; weights: weight[pages, W] or None;
    read: bool[pages], which have been and stay there."""

    words: np.ndarray
    weights: np.ndarray | None
    read: np.ndarray


@dataclass(frozen=True)
class SourcePlan:
    """How one topology's pages are held in host memory, for one device (all devices share a resident topology).

    skip: so many pages, the first that come, take no slot of the cache: the device's own keeps them. coded: pages lie
    there as they are stored, for devices that decode them. twice: coded pages that stay lie there as kernels read them,
    too, for single lists.
    """

    resident: bool
    weights: bool
    batch_pages: int
    groups: int = 0
    cache_pages: int = 0
    policy: str | None = None
    skip: int = 0
    coded: bool = False
    twice: bool = False

    @property
    def readable(self) -> bool:
        """Whether all pages stay there as kernels read them."""
        return self.resident and (self.twice or not self.coded)

    def rows(self, table: PageTable) -> int:
        return table.pages if self.resident else self.cache_pages + self.groups * self.batch_pages

    def bytes_held(self, table: PageTable) -> int:
        if self.coded:
            if not self.resident:
                return table.longest_coded(self.weights) * self.rows(table)
            return coded_bytes(table, self.weights) + (table.bytes_of(table.taken, self.weights) if self.twice else 0)
        return table.bytes_of(table.taken if self.resident else self.rows(table), self.weights)

    def serves(self, other: SourcePlan) -> bool:
        """Whether pages held by this plan serve a run planned otherwise: resident weights may go unused, and one of the
        two forms of pages."""
        stays = self.resident and other.resident and (self.twice or (self.coded == other.coded and not other.twice))
        return self == other or (stays and self.weights >= other.weights)


def join_batches(batches: list[Batch]) -> Batch:
    """One batch of the pages of several, which follow each other."""
    joined = Batch(
        batches[0].table, np.concatenate([batch.numbers for batch in batches]),
        np.concatenate([batch.rows for batch in batches]), batches[0].pages, batches[0].weights,
    )  # fmt: skip
    assert not batches[0].coded, "only devices that read pages in place take several batches as one"

    def done() -> None:
        for batch in batches:
            batch.done()

    joined.done = done
    return joined


def counted(batches: Generator[Batch, None, None], work: WorkDone) -> Generator[Batch, None, None]:
    """The same batches; their pages are done when the next one is asked for."""
    with closing(batches):
        for batch in batches:
            yield batch
            work.count(len(batch.numbers))


def in_own_pages(array: np.ndarray) -> np.ndarray:
    """A copy that shares no page of the system's with other arrays: a page is pinned once only."""
    copy = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class PageSource:
    """Feeds batches of one topology's pages. One thread consumes a streamed source; a resident one may be shared."""

    def __init__(
        self, table: PageTable, reader: Reader, plan: SourcePlan, readers: Readers,
        count: Callable[[int], None], poison: bool = False, trace: Trace | None = None, pin: Pin | None = None,
    ) -> None:  # fmt: skip
        """count: called with the bytes of each read, by any thread."""
        self.table, self._trace = table, trace
        self.plan = plan
        self._count, self._process = count, os.getpid()
        self.poison = poison
        self.work: WorkDone | None = None
        rows = plan.rows(table)
        self._rows = (CodedRows if plan.coded else Rows)(table, rows, plan.weights, plan.resident, pin)
        self._lists = Rows(table, rows, plan.weights, True, pin) if plan.twice else self._rows
        self.give(plan.coded)
        self.cache = None
        if not plan.resident and plan.cache_pages and plan.policy:
            self.cache = PageCache(table.pages, plan.cache_pages, plan.policy)
        self._unread = np.zeros(0 if self.cache is None else self.cache.slots, dtype=bool)  # slots whose page was not
        self._reader = reader
        self._readers = readers
        self._passed = 0  # pages that the device keeps
        self._free = deque(range(plan.groups))
        self._ahead: deque[tuple[Batch, Read | None]] = deque()
        self._loaded = np.zeros(table.pages if plan.resident else 0, dtype=bool)

    @property
    def bytes_held(self) -> int:
        return self._rows.nbytes + (self._lists.nbytes if self.plan.twice else 0)

    def give(self, coded: bool) -> None:
        """Batches are of coded pages, or of pages as kernels read them: what is held twice gives either. pages and
        weights are all rows that batches are of, or the bytes of coded ones."""
        self.coded = coded
        self._given = self._rows if coded == self.plan.coded else self._lists
        self.pages, self.weights = self._given.pages, self._given.weights

    @property
    def unread(self) -> int:
        """Pages of a resident source that have yet to be read."""
        return len(self._loaded) - int(np.count_nonzero(self._loaded))

    def batches(
        self, numbers: np.ndarray, whole: bool, wait_for_room: Callable[[], None], weights: bool = False,
        again: bool = False,
    ) -> Generator[Batch, None, None]:  # fmt: skip
        """Batches of the pages `numbers` (int64[n], ascending), in order.

        whole: what is in memory comes as one batch (for devices that read pages in place): all resident pages, or all
        batches that have been read while the last one was used, so that launches are few where kernels are slower.
        wait_for_room: called when every ring group is in use; must bring about a `done`.
        weights: with their weights pages. again: the same pages will be asked for next, so that reading goes on with
        the first of them while the caller merges. Raises StoreError on a bad page.
        """
        if self.plan.resident:
            found = self._resident_batches(numbers, whole, self.weights if weights else None)
        else:
            found = self._streamed_batches(numbers, whole, wait_for_room, weights, again)
        return found if self.work is None else counted(found, self.work)

    def first_again(self, numbers: np.ndarray, weights: bool) -> Iterator[Batch]:
        """The batches that `batches` will give for the same pages, where all are in memory; else none."""
        if self.plan.resident and self._loaded[numbers].all():
            yield from self._resident_batches(numbers, False, self.weights if weights else None)

    def in_memory(self, weights: bool, wanted: np.ndarray = NO_PAGES) -> InMemory:
        """Of a resident source; wanted: int64[n], pages that are read first."""
        assert self.plan.readable, "pages come and go, or are coded"
        for _ in self._resident_batches(wanted, False, None):
            pass
        rows = self._lists
        given = self.table.weights_of(rows.weights) if weights and rows.weights is not None else None
        return InMemory(self.table.words_of(rows.pages), given, self._loaded)

    def lying(self, numbers: np.ndarray, weights: bool) -> Batch:
        """Those of the pages (int64[n], ascending) that lie in pinned rows of their own; `done` need not be called."""
        held, rows = numbers[self._loaded[numbers]] if self.plan.readable else numbers[:0], self._lists
        for number in np.unique(held // rows.segment).tolist():
            rows.pin(number * rows.segment, number * rows.segment + 1)
        return Batch(self.table, held, held, rows.pages, rows.weights if weights else None)

    def _batch(self, numbers: np.ndarray, rows: np.ndarray, weights: np.ndarray | None) -> Batch:
        batch = Batch(self.table, numbers, rows, self.pages, weights)
        if self.coded:
            batch.begins = self._rows.begins(rows, False)
            batch.weights_begins = None if weights is None else self._rows.begins(rows, True)
        return batch

    def _cut(self, numbers: np.ndarray) -> list[np.ndarray]:
        return cut_batches(numbers, self.table.stretch, self.plan.batch_pages, self.table.small_pages)

    def _resident_batches(
        self, numbers: np.ndarray, whole: bool, weights: np.ndarray | None
    ) -> Generator[Batch, None, None]:
        if whole and self._loaded[numbers].all():
            if len(numbers):
                yield Batch(self.table, numbers, numbers, self.pages, weights)
            return
        reads: deque[tuple[np.ndarray, Read | None]] = deque()
        try:
            for part in self._cut(numbers):
                absent = part[~self._loaded[part]]
                reads.append((part, self._start_reading(absent, absent) if len(absent) else None))
            while reads:
                part, read = reads.popleft()
                if read is not None:
                    read.result()
                    self._loaded[part] = True
                if not whole:
                    self._given.pin(int(part[0]), int(part[-1]) + 1)
                yield self._batch(part, part, weights)
        finally:
            _wait_for((read for _, read in reads), self._process)

    def _streamed_batches(
        self, numbers: np.ndarray, whole: bool, wait_for_room: Callable[[], None], weights: bool, again: bool
    ) -> Generator[Batch, None, None]:
        parts = deque(self._cut(numbers))
        following = parts.copy() if again else deque()
        reads = self._take_ahead(parts, weights)
        try:
            while parts or reads:
                while parts and self._free:
                    reads.append(self._begin(parts.popleft(), self._free.popleft(), weights))
                if not reads:
                    wait_for_room()
                    if not self._free:
                        raise RuntimeError("no ring group came free: a device keeps its batches")
                    continue
                ready = [self._finished(reads)]
                while whole and reads and (reads[0][1] is None or reads[0][1].done()):
                    ready.append(self._finished(reads))
                yield ready[0] if len(ready) == 1 else join_batches(ready)
                while following and not parts and self._free:
                    self._ahead.append(self._begin(following.popleft(), self._free.popleft(), weights))
        finally:
            self._let_go(reads)

    def _take_ahead(self, parts: deque[np.ndarray], weights: bool) -> deque[tuple[Batch, Read | None]]:
        """The batches at the head of `parts` that are being read already; others that are go."""
        reads: deque[tuple[Batch, Read | None]] = deque()
        while self._ahead and parts and self._is_next(self._ahead[0][0], parts[0], weights):
            reads.append(self._ahead.popleft())
            parts.popleft()
        self.end_reading()
        return reads

    @staticmethod
    def _is_next(batch: Batch, numbers: np.ndarray, weights: bool) -> bool:
        return np.array_equal(batch.numbers, numbers) and (batch.weights is not None) == weights

    def close(self) -> None:
        """End reading, unpin the rows."""
        self.end_reading()
        self._rows.close()
        self._lists.close()

    def end_reading(self) -> None:
        """Wait until no thread reads into this source's rows; forget what was read ahead."""
        self._let_go(self._ahead)
        self._ahead.clear()

    def _let_go(self, reads: Collection[tuple[Batch, Read | None]]) -> None:
        """End the reads of batches that nobody will use, and give their rows back.

        The cache has given slots to their pages already: pages that were not read after all are when they are wanted.
        """
        _wait_for((read for _, read in reads), self._process)
        for batch, read in reads:
            if self.cache is not None and read is not None and read.failed:
                self._unread[batch.rows[batch.rows < self.plan.cache_pages]] = True
            batch.done()

    @staticmethod
    def _finished(reads: deque[tuple[Batch, Read | None]]) -> Batch:
        """The oldest batch, once it is read; its error leaves it in the queue."""
        batch, read = reads[0]
        if read is not None:
            read.result()
        reads.popleft()
        return batch

    def _begin(self, numbers: np.ndarray, group: int, weights: bool) -> tuple[Batch, Read | None]:
        """Choose rows for a batch and start reading what is not in memory."""
        base = self.plan.cache_pages + group * self.plan.batch_pages
        rows = np.arange(base, base + len(numbers), dtype=np.int64)
        slots = np.empty(0, dtype=np.int64)
        absent = np.ones(len(numbers), dtype=bool)
        if self.cache is not None:
            found = self.cache.look_up(numbers)
            absent = found < 0
            self.cache.pin(found[~absent])
            unread = ~absent & self._unread[found]
            if self._passed < self.plan.skip:
                self._passed += len(numbers)
            else:
                found[absent] = self.cache.admit(numbers[absent])
                self.cache.pin(found[absent & (found >= 0)])
            slots = found[found >= 0]
            rows = np.where(found >= 0, found, rows)
            self._unread[slots] = False
            absent |= unread
        batch = self._batch(numbers, rows, self.weights if weights else None)
        batch.done = lambda: self._release(group, slots, rows[rows >= self.plan.cache_pages])
        if not absent.any():
            return batch, None
        return batch, self._start_reading(numbers[absent], rows[absent])

    def _release(self, group: int, slots: np.ndarray, ring_rows: np.ndarray) -> None:
        if self.poison:
            self._rows.fill(ring_rows, POISON)
        if self.cache is not None:
            self.cache.unpin(slots)
        self._free.append(group)

    def _start_reading(self, numbers: np.ndarray, rows: np.ndarray) -> Read:
        """Have the threads of each disk read what it holds of the pages into rows."""
        files, parts = self._reader.spread.files_of(numbers), []
        try:
            for file in np.unique(files).tolist():
                here = files == file
                parts.append(self._readers.submit(file, self._read, numbers[here], rows[here]))
        except BaseException:
            Read(parts).end()
            raise
        return Read(parts)

    def _read(self, numbers: np.ndarray, rows: np.ndarray) -> None:
        """Read pages into rows, one call a run of pages whose rows are neighbours too."""
        breaks = np.flatnonzero((np.diff(numbers) != 1) | (np.diff(rows) != 1)) + 1
        bounds = [0, *breaks.tolist(), len(numbers)]
        for start, end in zip(bounds[:-1], bounds[1:], strict=True):
            first, row, count = int(numbers[start]), int(rows[start]), end - start
            what = f"{count} pages of {self.table.name}"
            with timed(self._trace, "disk", threading.current_thread().name, what):
                for held in {self._rows, self._lists}:
                    held.read(self._reader, first, row, count)
        self._count(self.table.stored_bytes_of(numbers, self.weights is not None))


def _wait_for(reads: Iterable[Read | None], process: int) -> None:
    """Cancel what has not begun and wait for the rest, so that no thread writes into rows afterwards.

    process: whose threads they are; none is there to wait for in a child that it forked.
    """
    for read in list(reads) if os.getpid() == process else []:
        if read is not None:
            read.end()
