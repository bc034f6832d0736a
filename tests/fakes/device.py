"""A device that is late: tests the driver as a GPU would, from a seed (tinygrad's way of testing without the hardware).

It has memory of its own, streams, a ring and a page cache like a device behind a link. Copies, kernels and merges are
only queued; a seeded scheduler does them later, in any order that streams and events allow, one at a time. What real
hardware punishes now and then is found every time:

- a page is checked against the directory's CRC when its kernel runs: the right page must be in the right row, then
- ring rows are poisoned after use, and so are rows of host memory that the device has let go of
- a merge asserts that no peer still has work of another phase queued, but for copies ahead, which nobody waits for
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from gstream.devices.batch_ring import BatchRing, Placement, cut_by_reach
from gstream.devices.host.vertex_state import records_of
from gstream.devices.job import DevicePlan, Job, Repeat, Step
from gstream.devices.page_kernel import PageKernel
from gstream.hostcode.parts import make_parts
from gstream.paging.page_source import POISON, Batch, nothing
from gstream.paging.page_table import PageTable
from pagestore.crc import page_crcs
from tests.fakes.scheduler import Operation
from tests.fakes.vertices import LateDevice


class FakeDevice(LateDevice):
    """One late device; `seed` fixes its schedule."""

    zero_copy = reads_late = True

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name, seed)
        self._ahead: deque[tuple[np.ndarray, Placement]] = deque()  # pages copied for the next step, in order
        self._released = 0
        self._ring: BatchRing | None = None
        self._pages = self._weights = np.zeros((0, 0), dtype=np.uint8)
        self._sources: list[tuple[np.ndarray, np.ndarray]] = []

    @property
    def memory_bytes(self) -> int:
        buffers = sum(value.nbytes + degree.nbytes for value, degree in self._sources)
        return super().memory_bytes + self._pages.nbytes + self._weights.nbytes + buffers

    def attach(self, job: Job) -> None:
        super().attach(job)
        self._make_pool(job.plan, job.tables, job.code.uses_edge)
        streamed = not job.plan.resident and not job.plan.message and not job.plan.source_copy
        reach = job.plan.reach if streamed else 0
        degrees = reach if job.code.uses_degree else 0
        self._sources = [
            (np.empty(reach, job.code.value_dtype), np.empty(degrees, job.host.degree.dtype))
            for _ in range(job.plan.streams)
        ]

    def _make_pool(self, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> None:
        self._ring = BatchRing(plan, tables)
        self._schedule.reset(plan.streams + 1)
        self._ahead.clear()
        table = next(iter(tables.values()))
        self._pages = np.full((self._ring.rows, table.page_bytes), POISON, dtype=np.uint8)
        self._weights = np.full((self._ring.rows if weights else 0, table.weight_page_bytes), POISON, dtype=np.uint8)

    def detach(self) -> None:
        self._count_hits()
        super().detach()
        self._schedule.reset(1)
        self._ahead.clear()
        self._ring = None
        self._pages = self._weights = np.zeros((0, 0), dtype=np.uint8)
        self._sources = []

    def _count_hits(self) -> None:
        self._count_looked()
        for cache in self._ring.caches.values() if self._ring else ():
            self.stats.cache_hits += cache.hits
            self.stats.cache_misses += cache.misses

    # Batches

    def run_cached_pages(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        ring = self.ring
        place, found = ring.held(numbers, table)
        held, at = numbers[found], 0
        streamed = self._step is not None and self._sweep is None and self._streams_source(self._step)
        for piece in cut_by_reach(held, table, self._reach if streamed else 0, len(held)) if len(held) else ():
            rows = place.rows[at : at + len(piece)]
            at += len(piece)
            stream = ring.next_stream() if streamed else place.stream
            self.stats.pages += len(piece)
            self._queue_kernel(table, piece, Placement(stream, rows, place.waits, rows), len(self._weights) > 0)
        return numbers[~found]

    @property
    def ring(self) -> BatchRing:
        assert self._ring is not None, "no job is attached"
        return self._ring

    @property
    def _reach(self) -> int:
        """Vertices that the buffer of a streamed RA holds; 0: RA is not streamed."""
        return len(self._sources[0][0]) if self._sources else 0

    def submit(self, batch: Batch) -> None:
        self.stats.pages += len(batch.numbers)
        self.stats.pages_moved += len(batch.numbers)
        self.stats.bytes_moved += batch.table.bytes_of(len(batch.numbers), batch.weights is not None)
        ready = self._take_ahead(batch)
        if ready is None:
            self._submit_pieces(batch)
        else:
            self._let_go(batch)
            self._queue_kernel(batch.table, batch.numbers, ready, batch.weights is not None)
        for _ in range(self._schedule.random.randrange(6)):
            self._schedule.do_one()

    def _submit_pieces(self, batch: Batch) -> None:
        cut = cut_by_reach(batch.numbers, batch.table, self._reach, self.ring.batch_pages)
        start, left = 0, [len(cut)]  # pieces go to different streams: the last to be copied lets go of the batch

        def copied() -> None:
            left[0] -= 1
            if left[0] == 0:
                self._let_go(batch)

        for numbers in cut:
            place = self.ring.place(numbers, batch.table)
            self._queue_copy("copy", batch, numbers, batch.rows[start : start + len(numbers)], place, copied)
            self._queue_kernel(batch.table, numbers, place, batch.weights is not None)
            start += len(numbers)

    def absent(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        return self.ring.absent(numbers, table)

    def submit_ahead(self, batch: Batch) -> bool:
        """As a GPU does it: only where all pages pass through the ring, one batch a stream."""
        ring = self.ring
        whole = not self._reach and len(batch.numbers) <= ring.batch_pages
        if not whole or len(self._ahead) == ring.streams or ring.admits(batch.table):
            return False
        place = ring.place(batch.numbers, batch.table)
        self._queue_copy("ahead", batch, batch.numbers, batch.rows, place, nothing)
        self._ahead.append((batch.numbers, place))
        return True

    def _take_ahead(self, batch: Batch) -> Placement | None:
        """Where a batch lies, or will, that was asked for ahead; if another one was, all of them are in vain."""
        if self._ahead and np.array_equal(self._ahead[0][0], batch.numbers):
            return self._ahead.popleft()[1]
        self._ahead.clear()
        return None

    def _let_go(self, batch: Batch) -> None:
        self._released += 1
        batch.done()

    def _queue_copy(
        self, kind: str, batch: Batch, numbers: np.ndarray, rows: np.ndarray, place: Placement,
        copied: Callable[[], None],
    ) -> None:  # fmt: skip
        assert place.rows.max() < self.ring.rows and len(numbers) <= self.ring.batch_pages

        def copy() -> None:
            assert batch.weights is None or len(self._weights)
            self._pages[place.rows] = batch.pages[rows]
            if batch.weights is not None:
                self._weights[place.rows] = batch.weights[rows]
            copied()

        self._schedule.put(place.stream, Operation(kind, copy, place.waits))

    def _queue_kernel(self, table: PageTable, numbers: np.ndarray, place: Placement, weights: bool) -> None:
        """Queue the launch over pages that its stream has copied, or that were there."""
        step, sweep, ring_rows = self._step, self._sweep, self.ring.ring_rows

        def launch() -> None:
            self._check(table, numbers, self._pages[place.rows])
            beside = self._weights if weights else None
            if sweep is not None:
                (kernel, state), words = sweep, table.words_of(self._pages)
                view = None if beside is None else table.weights_of(beside)
                self.looked += kernel.run(words, view, make_parts(words, place.rows), np.zeros(1, np.int64), state)
            else:
                assert step is not None
                self.looked += self._process(step, self._pages, beside, table, numbers, place.rows, place.stream)
            self._pages[place.rows[place.rows < ring_rows]] = POISON

        if step is not None and sweep is None and self._streams_source(step):
            self._schedule.put(
                place.stream, Operation("copy", self._source_copy(place.stream, table, numbers), place.waits)
            )
        ticket = self.ring.ticket(place)
        self._schedule.put(place.stream, Operation("kernel", launch, place.waits, ticket))
        self._schedule.bound(place.stream)

    def _check(self, table: PageTable, numbers: np.ndarray, pages: np.ndarray) -> None:
        """By the CRC that the directory has of each page."""
        found = [page_crcs(int(n), page[None])[0] for n, page in zip(numbers, pages, strict=True)]
        assert np.array_equal(found, table.crc[numbers]), f"{self.name}: a row holds another page than expected"

    def _streams_source(self, step: Step) -> bool:
        return step.direction == "push" and not self.state.plan.resident

    def _source_copy(self, stream: int, table: PageTable, numbers: np.ndarray) -> Callable[[], None]:
        """RA of a push: values (and degrees) of the batch's own vertices, from host memory to the stream's buffer."""
        first, last = int(table.first_vertex[numbers[0]]), int(table.last_vertex[numbers[-1]]) + 1
        value, degree = self._sources[stream]
        host = self.state.job.host
        assert last - first <= len(value), f"{self.name}: RA of a batch is larger than its buffer"

        def copy() -> None:
            assert host.value is not None
            value[: last - first] = host.value[first:last]
            if len(degree):
                degree[: last - first] = host.degree[first:last]
            self.stats.attribute_bytes += (last - first) * (value.itemsize + (degree.itemsize if len(degree) else 0))

        return copy

    def submit_in_place(self, batch: Batch) -> None:
        assert self._step is not None and not self._streams_source(self._step)
        step, numbers, stream = self._step, batch.numbers, self.ring.next_stream()
        self.stats.pages += len(numbers)

        def launch() -> None:
            self._check(batch.table, numbers, batch.pages[batch.rows])
            self.looked += self._process(step, batch.pages, batch.weights, batch.table, numbers, batch.rows, stream)

        self._schedule.put(stream, Operation("kernel", launch))

    def _process(
        self, step: Step, pages: np.ndarray, weights: np.ndarray | None, table: PageTable, numbers: np.ndarray,
        rows: np.ndarray, stream: int,
    ) -> int:  # fmt: skip
        state, words = self.state, table.words_of(pages)
        beside = state.code.no_weights if weights is None else table.weights_of(weights)
        if step.listed is not None:
            work = records_of(words, numbers, rows, table, step.listed, skip=step.skip)
        else:
            work = make_parts(words, rows)
        if step.direction == "pull":
            edges = state.pull(words, beside, work, step)
            state.keep_hubs(numbers, rows, work, step)
            return edges
        value, first, degree = state.value, 0, state.degree
        if self._streams_source(step):
            value, degree = self._sources[stream]
            first = int(table.first_vertex[numbers[0]])
        return state.push(words, beside, work, value, first, degree, step.listed is not None)

    def repeat(self, table: PageTable, numbers: np.ndarray) -> Repeat | None:
        here = self.ring.stays(table) and len(self.absent(table, numbers)) == 0
        return FakeRepeat(self, table, len(numbers)) if here else None

    def wait_for_room(self) -> None:
        released = self._released
        while released == self._released and not self._schedule.empty:
            self._schedule.do_one()

    def wait(self) -> None:
        super().wait()
        if self._ring is not None:
            self._ring.all_over()

    def begin_sweep(self, kernel: PageKernel, tables: dict[str, PageTable], plan: DevicePlan) -> None:
        self._make_pool(plan, tables, kernel.needs_weights)
        self._sources = []
        super().begin_sweep(kernel, tables, plan)

    def end_sweep(self) -> object:
        state = super().end_sweep()
        self._count_hits()
        self._ring = None
        return state


class FakeRepeat:
    """The pull over so many pages of a topology on a fake device, which looks at edges when it likes."""

    def __init__(self, device: FakeDevice, table: PageTable, pages: int) -> None:
        self._device, self._table, self._pages = device, table, pages

    def ask(self, frontier: bool) -> None:
        self._device.ask()

    def retract(self) -> None:
        device = self._device
        device.wait()
        device.looked = 0
        device.stats.pages -= self._pages
        device.ring.caches[self._table.name].hits -= self._pages
