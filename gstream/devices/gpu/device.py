"""A GPU as a device: pages come over the link into a ring of batch buffers, one for each stream, or stay in its cache.

run_cached_pages(pages) runs one launch over all wanted pages that are in the cache. submit(batch) queues the copies of
its pages on the one stream for copies, and on the batch's own the kernel, which waits for them. Before a stream is used
again its last batch must be over: one a stream is in flight. Page kernels without `gpu_work` run on the host's cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.devices.attributes import message_dtype, needed_degrees, whole_degrees
from gstream.devices.base import Device
from gstream.devices.gpu import autonomous
from gstream.devices.gpu.arrays import Shelves
from gstream.devices.gpu.batch_queue import BatchQueue
from gstream.devices.gpu.driver import DeviceError, Gpu, never_free
from gstream.devices.gpu.exchange import PeerExchange
from gstream.devices.gpu.kept_values import KeptValues
from gstream.devices.gpu.memory import in_context
from gstream.devices.gpu.page_pool import Launch, PagePool
from gstream.devices.gpu.program_work import ProgramWork
from gstream.devices.gpu.stream_lane import Spans, Stopwatch
from gstream.devices.gpu.uploads import Uploads
from gstream.devices.gpu.vertex_state import GpuState
from gstream.devices.host.device import HostDevice
from gstream.devices.job import DevicePlan, Job, Made, Repeat, Rules, Step
from gstream.devices.page_kernel import PageKernel
from gstream.paging.kept_memory import KeptMemory
from gstream.paging.page_source import Batch, nothing
from gstream.paging.page_table import PageTable
from gstream.records.held import Held
from gstream.telemetry.trace import Trace
from pagestore.errors import ResourceError

USABLE = 0.95  # of the free memory; the rest is for the driver's own needs
SLACK_BYTES = 256 << 20
ALL_CLAIMED = 0xF0000000  # more claims than a launch has, and few enough to count on in 32 bits


class GpuDevice(Device):
    """GPU number `index`; `threads` host threads for sweeps."""

    exchange = PeerExchange
    pins = True
    decodes = True

    def __init__(self, name: str, index: int, threads: int, trace: Trace | None = None, keeps: bool = False) -> None:
        """keeps: host memory of answers stays pinned, for the next ones."""
        super().__init__(name)
        self.gpu = Gpu(index)
        if keeps:
            self.gpu.answers = KeptMemory(pin=self.gpu.pin)
            self.gpu.shelves = Shelves()
        self.kept = KeptValues(self.gpu)
        self._state: GpuState | None = None
        self.merges: Stopwatch  # of the job's reduce and gather
        self._threads = threads
        self._sweeper: HostDevice | None = None
        self._capacity: int | None = None
        self._lost = False
        self.kept_pool: PagePool | None = None
        self._work: ProgramWork | None = None
        self._queue: BatchQueue | None = None
        self.zero_copy = self.gpu.reads_host
        with self.gpu:
            self.spans = None if trace is None else Spans(self.gpu, trace, name)
            self.uploads = Uploads(self.gpu, self.spans)

    @property
    def state(self) -> GpuState:
        assert self._state is not None, "no job is attached"
        return self._state

    @property
    def resident(self) -> bool:
        """Whether it has all values of a job."""
        return self._state is not None and self._state.plan.resident

    @property
    def pool(self) -> PagePool:
        assert self.kept_pool is not None, "no job is attached"
        return self.kept_pool

    @property
    def queue(self) -> BatchQueue:
        assert self._queue is not None, "no job is attached"
        return self._queue

    @property
    def work(self) -> ProgramWork:
        assert self._work is not None, "no job is attached"
        return self._work

    @property
    def memory_bytes(self) -> int:
        return sum(part.memory_bytes for part in (self.uploads, self.kept_pool, self._state) if part is not None)

    def capacity(self) -> int | None:
        """Asked of the driver once, when nothing is held: plans that change from run to run would empty the cache."""
        if self._capacity is None:
            with self.gpu:
                free = self.gpu.free_bytes()
            self._capacity = int(free * USABLE) - SLACK_BYTES
            if self._capacity <= 0:
                raise ResourceError(
                    f"{self.name} ({self.gpu.name}): only {free} bytes of its memory are free. End other programs "
                    "on it (nvidia-smi names them), close other graphs that use it, or name another GPU with --devices."
                )
        return self._capacity

    def take(self, count: int, dtype: Any, fill: Any = None) -> np.ndarray:
        if self.gpu.answers is None:
            return super().take(count, dtype, fill)
        with self.gpu:
            return self.gpu.answers.take(count, dtype, fill)

    @in_context
    def hand_over(self) -> np.ndarray | Held:
        return self.kept.keep(self.state.give_values(), self.state.job.vertices)

    def hold(self, count: int, dtype: Any) -> np.ndarray | Held:
        return self.kept.make(count, dtype)

    def there(self, name: str, array: np.ndarray) -> np.ndarray | Held:
        return array if self.gpu.answers is None else self.kept.there(name, lambda: array)

    def keeps_all(self, table: PageTable) -> bool:
        pool = self.kept_pool
        return pool is not None and pool.ring.stays(table) and pool.ring.caches[table.name].slots == table.pages

    def cached(self, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> dict[str, np.ndarray]:
        if self.kept_pool is None or not self.kept_pool.serves(plan, tables, weights):
            return {}
        return {name: cache.page_of_slot[: cache.used] for name, cache in self.kept_pool.ring.caches.items()}

    def pin(self, array: np.ndarray, touched: bool = False) -> Callable[[], None]:
        """Pin host memory that copies come from, or that kernels read in place, and that shares no page of the system's
        with other arrays; returns what undoes it."""
        if array.nbytes == 0:
            return nothing
        with self.gpu:
            unpin = self.gpu.pin(array, touched)

        def undo() -> None:
            if self._lost:  # what is queued may read it at any time
                never_free(array)
            else:
                self._in_the_end(unpin)

        return undo

    def attach(self, job: Job) -> None:
        self._check()
        with self.gpu:
            code, copied = job.code, job.plan.source_copy
            degrees = needed_degrees(code, True) if job.plan.resident else whole_degrees(code, copied)
            self.uploads.keep({f"heads/{name}" for name in job.host.heads} | degrees)
            self._make_pool(job.plan, job.tables, job.code.uses_edge)
            self._state = GpuState(self.gpu, job, self.pool.tables, self.uploads, self.spans)
            reach = 0 if job.plan.resident or job.plan.message or copied else job.plan.reach
            for lane in self.pool.lanes if reach else ():
                lane.value = self.gpu.empty(reach, job.code.value_dtype)
                lane.degree = self.gpu.empty(reach if job.code.uses_degree else 0, job.host.degree.dtype)
                lane.message = self.gpu.empty(reach if job.code.premessage else 0, message_dtype(job.code))
            self._work = ProgramWork(self._state, self.pool)
            self._queue = BatchQueue(self.gpu, self, self.pool, self._work, self.spans)
            self.merges = Stopwatch(self.gpu)

    def _make_pool(self, plan: DevicePlan, tables: dict[str, PageTable], weights: bool) -> None:
        """The pool of the last run where the plan is the same; else its memory goes first."""
        if self.kept_pool is not None and not self.kept_pool.serves(plan, tables, weights):
            self.kept_pool.free()
            self.kept_pool = None  # within the context: its streams go
            if self.gpu.shelves is not None:
                self.gpu.shelves.free()  # jobs of another plan take arrays of other sizes
        if self.kept_pool is None:
            self.kept_pool = PagePool(self.gpu, plan, tables, weights)
        elif self.kept_pool.made is not None and self.kept_pool.made.memory_bytes > plan.spare_bytes:
            self.kept_pool.keep_made(None)

    def _in_the_end(self, call: Callable[[], None]) -> None:
        """Call in the GPU's context; an error of CUDA that shows here only follows one that is on its way."""
        try:
            with self.gpu:
                call()
        except DeviceError:
            self._lose()

    def wait_quietly(self) -> None:
        self._in_the_end(self.gpu.synchronize)

    def detach(self) -> None:
        """Raises nothing."""
        if self._sweeper is not None:
            self._sweeper.detach()
        if self._queue is None and self._state is None:
            return
        self._in_the_end(self._end_job)

    def _end_job(self) -> None:
        try:
            if self._queue is not None:
                self._queue.close()
        finally:  # also where Ctrl-C comes meanwhile
            self._forget_job()

    def _forget_job(self) -> None:
        self.gpu.synchronize()
        if self._state is not None:
            self.stats.attribute_bytes += self._state.attribute_bytes
            self._state.free()
        for lane in self.pool.lanes:
            lane.free_source()
        self._count_hits()
        self._state = self._work = self._queue = None

    def _lose(self) -> None:
        """CUDA's errors stick to a process: forget what is on the GPU, which can't be freed any more."""
        never_free((vars(self).copy(), self.gpu.shelves))
        self._state = self._work = self._queue = self.kept_pool = None
        self.uploads = Uploads(self.gpu)
        self.gpu.shelves = self.gpu.make_room = None
        self._lost = True

    def _check(self) -> None:
        if self._lost:
            raise self.gpu.failure("", "it failed before")

    def _count_hits(self) -> None:
        for cache in self.pool.ring.caches.values():
            self.stats.cache_hits += cache.hits
            self.stats.cache_misses += cache.misses
            cache.hits = cache.misses = 0

    def release(self) -> None:
        """Give everything back that is kept between runs."""
        self._in_the_end(self._give_back)

    def _give_back(self) -> None:
        self.uploads.keep(set())
        if self.kept_pool is not None:
            self.kept_pool.free()
        self.kept_pool = None
        self.gpu.staged.clear()
        if not self._lost:
            self.kept.make_room()
        if self.gpu.answers is not None:
            self.gpu.answers.release()

    def close(self) -> None:
        self.detach()
        if not self._lost:
            self._in_the_end(self.kept.close)
        self.release()
        if self.gpu.answers is not None and not self._lost:
            self._in_the_end(self.gpu.answers.close)
        if self._sweeper is not None:
            self._sweeper.close()
        self._in_the_end(self._end_trace)

    def _end_trace(self) -> None:
        self.spans = self.uploads.spans = None  # within the context: its events go

    # Batches

    @property
    def _pages(self) -> BatchQueue | HostDevice:
        """What pages are submitted to: the GPU's queue, or the host's cores in a sweep that has no work for GPUs."""
        found = self._queue or self._sweeper
        assert found is not None, "no job is attached, and no sweep has begun"
        return found

    @in_context
    def begin(self, step: Step) -> None:
        self.work.begin(step)

    def run_cached_pages(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        return self._pages.run_cached_pages(table, numbers)

    def absent(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        return self._pages.absent(table, numbers)

    @property
    def behind(self) -> int:
        return self._pages.behind

    def submit(self, batch: Batch) -> None:
        self._pages.submit(batch)

    def submit_in_place(self, batch: Batch) -> None:
        self._pages.submit_in_place(batch)

    def submit_ahead(self, batch: Batch) -> bool:
        return self._pages.submit_ahead(batch)

    def wait_for_room(self) -> None:
        if self._queue is not None:
            self._queue.wait_for_room()

    def wait(self) -> None:
        if self._queue is not None:
            self._queue.wait()

    def wait_for_batches(self) -> None:
        """Return when all batches are over: what works on vertices is in order on one stream."""
        if self._queue is not None:
            self._queue.wait_for_batches()

    @in_context
    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        looked, found = self.state.frontier(edges, table)
        self._count(looked)
        return found

    @in_context
    def finish_counts(self) -> int:
        edges, changed = self.state.take_counts()
        self._count(edges)
        return changed

    def _count(self, edges: int) -> None:
        self.stats.edges += edges
        self.stats.merge_seconds += self.merges.take()
        self.queue.all_over()

    def repeat(self, table: PageTable, numbers: np.ndarray) -> Repeat | None:
        return None if (again := self.queue.again(table, numbers)) is None else GpuRepeat(self, again[0])

    @in_context
    def run_ahead(self, rules: Rules, first: int, limit: int | None) -> Made | None:
        return autonomous.run(self, self.state, self.pool, rules, first, limit)

    def begin_sweep(self, kernel: PageKernel, tables: dict[str, PageTable], plan: DevicePlan) -> None:
        self._check()
        on_gpu = getattr(kernel, "gpu_work", None)
        if on_gpu is not None:
            with self.gpu:
                self._make_pool(plan, dict(tables), kernel.needs_weights)
                self._queue = BatchQueue(self.gpu, self, self.pool, on_gpu(self), self.spans)
            return
        if self._sweeper is None:
            self._sweeper = HostDevice(self.name, self._threads)
        self._sweeper.begin_sweep(kernel, tables, plan)

    def end_sweep(self) -> Any:
        if self._queue is not None:
            with self.gpu:
                queue, self._queue = self._queue, None  # what breaks off here is closed already
                queue.close(ended=True)
            self._count_hits()
            return None
        assert self._sweeper is not None, "no sweep has begun"
        counted = self._sweeper.take_stats()
        self.stats.pages += counted.pages
        self.stats.edges += counted.edges
        return self._sweeper.end_sweep()


class GpuRepeat:
    """A gstream.devices.job.Repeat: the last launch over pages that all stay on the GPU, once more."""

    def __init__(self, device: GpuDevice, launch: Launch) -> None:
        self._device, self._launch = device, launch

    def ask(self, frontier: bool) -> None:
        with self._device.gpu:
            self._device.state.ask(frontier)

    def retract(self) -> None:
        """Warps that find all of it claimed end; claims are made for the next run again once they have."""
        device, launch = self._device, self._launch
        with device.gpu:
            state, claims = device.state, [(launch.claims, 1), *device.work.claims]
            claimed = np.full(max(count for _, count in claims), ALL_CLAIMED, np.uint64)
            for address, count in claims:  # by a copy: a kernel would have to wait for processors
                device.gpu.write(address, claimed[:count], device.pool.copies)
            state.wait()
            device.pool.copies.synchronize()
            device.gpu.write(launch.claims, np.zeros(1, np.uint64))
            state.take_counts()
            device.stats.pages -= len(launch.numbers)
            device.pool.ring.caches[launch.table.table.name].hits -= len(launch.numbers)
            device.queue.all_over()
