"""A GPU as a device: pages come over the link into a ring of batch buffers, one for each stream, or stay in its cache.

submit(batch) queues, on the batch's stream: the copies of pages that the cache lacks, the copy of the work list, the
kernel, an event. Before a stream is used again its last batch must be over, which bounds what is in flight to one batch
a stream. Sweeps of page kernels, which are compiled for the host, run on the host's cores.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gstream.cudacode.worklists import make_parts
from gstream.devices.base import Device, DevicePlan, Job, Range, Step
from gstream.devices.cuda import Array, Gpu
from gstream.devices.gpulane import Lane
from gstream.devices.gpustate import GpuState
from gstream.devices.host import HostDevice
from gstream.devices.state import message_dtype
from gstream.devices.streams import BatchRing, Placement, cut_by_reach
from gstream.pages import Batch
from gstream.pagetable import PageTable
from gstream.sweep import PageKernel

BLOCKS_A_PROCESSOR = 8  # of the edge kernels: 256 threads each, all resident at once
USABLE = 0.95  # of the free memory; the rest is for work lists and the driver
SLACK_BYTES = 256 << 20


class GpuDevice(Device):
    """GPU number `index`; `threads` host threads for sweeps."""

    def __init__(self, name: str, index: int, threads: int) -> None:
        super().__init__(name)
        self.gpu = Gpu(index)
        self._threads = threads
        self._sweeper: HostDevice | None = None
        self._state: GpuState | None = None
        self._step: Step | None = None
        self._ring: BatchRing | None = None
        self._lanes: list[Lane] = []
        self._pages = self._weights = None  # type: Array | None
        self._letting_go: deque[tuple[Any, Callable[[], None]]] = deque()  # copies queued, and what they let go of
        self._known_parts: dict[tuple[str, int, int], tuple[bytes, Array, int]] = {}

    @property
    def state(self) -> GpuState:
        assert self._state is not None, "no job is attached"
        return self._state

    @property
    def memory_bytes(self) -> int:
        held = sum(array.nbytes for array in (self._pages, self._weights) if array is not None)
        held += sum(parts.nbytes for _, parts, _ in self._known_parts.values())
        held += sum(lane.memory_bytes for lane in self._lanes)
        return held + (self._state.memory_bytes if self._state else 0)

    def capacity(self) -> int | None:
        with self.gpu:
            return max(0, int(self.gpu.free_bytes() * USABLE) - SLACK_BYTES)

    def pin(self, array: np.ndarray) -> Callable[[], None]:
        """Pin host memory that batches come from; returns what undoes it."""
        with self.gpu:
            unpin = self.gpu.pin(array)

        def undo() -> None:
            with self.gpu:
                unpin()

        return undo

    def attach(self, job: Job) -> None:
        with self.gpu:
            self._state = GpuState(self.gpu, job)
            self._ring = BatchRing(job.plan, job.tables)
            self._lanes = [Lane(self.gpu) for _ in range(job.plan.streams)]
            table = next(iter(job.tables.values()))
            self._pages = self.gpu.empty(self._ring.rows * table.page_bytes, np.uint8)
            weights = table.weight_page_bytes if job.code.uses_edge else 0
            self._weights = self.gpu.empty(self._ring.rows * weights, np.uint8)
            streamed = not job.plan.resident and not job.plan.message and not job.plan.source_copy
            for lane in self._lanes if streamed else ():
                reach = job.plan.reach
                lane.value = self.gpu.empty(reach, job.code.value_dtype)
                lane.degree = self.gpu.empty(reach if job.code.uses_degree else 0, job.host.degree.dtype)
                lane.message = self.gpu.empty(reach if job.code.premessage else 0, message_dtype(job.code))

    def detach(self) -> None:
        if self._sweeper is not None:
            self._sweeper.detach()
        if self._state is None:
            return
        with self.gpu:
            self.gpu.synchronize()
            self._let_go(all_of_them=True)
            assert self._ring is not None
            for cache in self._ring.caches.values():
                self.stats.cache_hits += cache.hits
                self.stats.cache_misses += cache.misses
            self.stats.attribute_bytes += self._state.attribute_bytes
            self._state.free()
            for lane in self._lanes:
                lane.free()
            for array in (self._pages, self._weights, *(parts for _, parts, _ in self._known_parts.values())):
                if array is not None:
                    array.free()
        self._state = self._step = self._ring = self._pages = self._weights = None
        self._lanes, self._known_parts = [], {}

    def close(self) -> None:
        self.detach()
        if self._sweeper is not None:
            self._sweeper.close()

    # Batches

    def begin(self, step: Step) -> None:
        self._step = step
        state = self.state
        if step.direction == "push" and state.code.premessage and state.plan.resident:
            with self.gpu:
                state.refresh((0, state.job.vertices))
                state.stream.synchronize()

    def submit(self, batch: Batch) -> None:
        if self._sweeper is not None and self._state is None:
            self._sweeper.submit(batch)
            return
        assert self._ring is not None
        with self.gpu:
            self._let_go()
            streamed = self._lanes[0].value.count
            pieces = cut_by_reach(batch.numbers, batch.table, streamed or 1 << 62, self._ring.batch_pages)
            at = 0
            for number, piece in enumerate(pieces):
                place = self._ring.place(piece, batch.table)
                lane = self._lanes[place.stream]
                lane.wait()
                rows = batch.rows[at : at + len(piece)]
                at += len(piece)
                self._copy(batch, piece, rows, place, lane)
                if number == len(pieces) - 1:
                    self._letting_go.append((lane.copied, batch.done))
                self._run(batch, piece, place, lane)
                self._ring.ticket(place)

    def _copy(self, batch: Batch, numbers: np.ndarray, rows: np.ndarray, place: Placement, lane: Lane) -> None:
        """Queue the copies of the pages that are not on the device, a run of neighbouring rows at a time."""
        assert self._ring is not None and self._pages is not None and self._weights is not None
        for ticket in place.waits:
            lane.stream.wait_for_event(self._lanes[ticket % len(self._lanes)].over)
        table, absent = batch.table, np.flatnonzero(place.absent)
        if len(absent):
            to, source = place.rows[absent], rows[absent]
            breaks = np.flatnonzero((np.diff(to) != 1) | (np.diff(source) != 1)) + 1
            for low, high in zip([0, *breaks.tolist()], [*breaks.tolist(), len(absent)], strict=True):
                part = slice(int(source[low]), int(source[low]) + high - low)
                self.gpu.write(
                    self._pages.address + int(to[low]) * table.page_bytes, batch.pages[part].reshape(-1), lane.stream
                )
                if batch.weights is not None:
                    where = self._weights.address + int(to[low]) * table.weight_page_bytes
                    self.gpu.write(where, batch.weights[part].reshape(-1), lane.stream)
        lane.copied.record(lane.stream)
        self.stats.pages += len(numbers)
        self.stats.pages_moved += len(absent)
        self.stats.bytes_moved += table.bytes_of(len(absent), batch.weights is not None)

    def _run(self, batch: Batch, numbers: np.ndarray, place: Placement, lane: Lane) -> None:
        state, step, table = self.state, self._step, batch.table
        assert step is not None and self._pages is not None and self._weights is not None
        parts, count, large = self._parts(table, numbers, place, lane)
        page_words = table.layout.words
        head = (self._pages.address, self._weights.address, page_words, parts, count)
        blocks = min(count, BLOCKS_A_PROCESSOR * self.gpu.processors)
        source, source_first, degree = self._source(step, table, numbers, lane)
        arrays = (state.combined.address, *state.chunk, state.next.address)
        common = (*head, source, source_first, degree, state.active.address, *arrays)
        if step.direction == "push":
            state.kernels["push_kernel"](lane.stream, blocks, *common, state.counter.address, state.context)
        else:
            bits = state.remain if step.remain else state.open
            hubs = len(large) > 0 and not state.code.idempotent
            carry = self.gpu.empty(count if hubs else 0, state.code.got_dtype)
            tail = (bits.address, carry.address, state.counter.address, state.context)
            state.kernels["pull_kernel"](lane.stream, blocks, *common, *tail)
            if hubs:  # their pages are few: their sums are waited for
                lane.stream.synchronize()
                sums = self.gpu.read(carry.address, np.empty(count, state.code.got_dtype))
                carry.free()
                state.hubs.append((large[:, 0], sums[large[:, 1]]))
        lane.over.record(lane.stream)
        lane.used = True

    def _source(self, step: Step, table: PageTable, numbers: np.ndarray, lane: Lane) -> tuple[int, int, int]:
        """(address of RA, its first vertex, address of degrees) for a batch; a streamed RA is copied with it."""
        state = self.state
        if step.direction == "push" and not state.plan.resident:
            first, last = int(table.first_vertex[numbers[0]]), int(table.last_vertex[numbers[-1]]) + 1
            host = state.job.host
            assert host.value is not None
            self.gpu.write(lane.value.address, host.value[first:last], lane.stream)
            if lane.degree.count:
                self.gpu.write(lane.degree.address, host.degree[first:last], lane.stream)
            state.attribute_bytes += (last - first) * (
                host.value.itemsize + (host.degree.itemsize if lane.degree.count else 0)
            )
            if state.code.premessage:
                state.kernels["message_kernel"](
                    lane.stream, max(1, (last - first) // 512), lane.value.address, first, lane.degree.address,
                    lane.message.address, first, first, last, state.context,
                )  # fmt: skip
                return lane.message.address, first, lane.degree.address
            return lane.value.address, first, lane.degree.address
        if state.source is not None:
            return state.source.address, 0, state.degree.address
        return state.value.address, 0, state.degree.address

    def _parts(
        self, table: PageTable, numbers: np.ndarray, place: Placement, lane: Lane
    ) -> tuple[int, int, np.ndarray]:
        """(address, length) of a batch's work list, and int64[k, 2]: page and index of the parts of large pages.

        Those of batches that lie in the cache whole are kept: a sweep over cached pages uploads nothing.
        """
        key, rows = (table.name, int(numbers[0]), len(numbers)), place.rows.tobytes()
        known = self._known_parts.get(key)
        large_pages = numbers >= table.small_pages
        if known is not None and known[0] == rows and not large_pages.any():
            return known[1].address, known[2], np.zeros((0, 2), np.int64)
        parts = make_parts(
            place.rows, large_pages, table.records[numbers], table.edges[numbers], table.group[numbers],
            table.layout.header_words,
        )  # fmt: skip
        large = np.zeros((0, 2), np.int64)
        if large_pages.any():
            page_of = np.zeros(int(place.rows.max()) + 1, np.int64)
            page_of[place.rows] = numbers
            pages = page_of[parts[:, 0]]
            index = np.flatnonzero(pages >= table.small_pages)
            large = np.stack([pages[index], index], axis=1)
        elif len(place.slots) == len(numbers) and known is None and np.all(np.diff(numbers) == 1):
            self._known_parts[key] = (rows, self.gpu.upload(parts), len(parts))
        return lane.put_parts(parts), len(parts), large

    def _let_go(self, all_of_them: bool = False) -> None:
        """Tell the sources of batches whose copies are over."""
        while self._letting_go and (all_of_them or self._letting_go[0][0].query()):
            event, done = self._letting_go.popleft()
            event.synchronize()
            done()

    def make_room(self) -> None:
        if self._letting_go:
            with self.gpu:
                event, done = self._letting_go.popleft()
                event.synchronize()
                done()

    def finish(self) -> None:
        if self._state is None:
            return
        with self.gpu:
            self.gpu.synchronize()
            self._let_go(all_of_them=True)
            for lane in self._lanes:
                lane.used = False
            self.stats.edges += self._state.take_edges()

    # Vertices

    def load(self, chunk: Range, values: bool) -> None:
        with self.gpu:
            self.state.load(chunk, values)

    def start(self, part: Range) -> None:
        with self.gpu:
            self.state.start(part)

    def refresh(self, part: Range) -> None:
        with self.gpu:
            self.state.refresh(part)

    def reopen(self) -> None:
        with self.gpu:
            self.state.reopen()

    def heads(self, step: Step, part: Range) -> None:
        with self.gpu:
            self.state.heads(step, part)

    def hub_sums(self) -> tuple[np.ndarray, np.ndarray]:
        hubs, self.state.hubs = self.state.hubs, []
        if not hubs:
            return np.zeros(0, np.int64), np.zeros(0, self.state.code.got_dtype)
        numbers, sums = (np.concatenate(column) for column in zip(*hubs, strict=True))
        return numbers, sums

    def add_hub_sums(self, vertices: np.ndarray, sums: np.ndarray) -> None:
        with self.gpu:
            self.state.add_hub_sums(vertices, sums)

    def reduce(self, part: Range, peers: Sequence[Device]) -> None:
        with self.gpu:
            self.gpu.enable_peers([peer.gpu for peer in peers if isinstance(peer, GpuDevice)])
            self.state.reduce(part, states(peers))

    def apply(self, part: Range) -> None:
        with self.gpu:
            self.state.apply(part)

    def gather(self, parts: Sequence[Range], peers: Sequence[Device], values: bool) -> None:
        with self.gpu:
            self.gpu.enable_peers([peer.gpu for peer in peers if isinstance(peer, GpuDevice)])
            self.state.gather(parts, states(peers), values)

    def store(self, part: Range) -> None:
        with self.gpu:
            self.state.store(part)

    def partials(self, part: Range) -> np.ndarray:
        with self.gpu:
            return self.state.partials(part)

    def advance(self) -> None:
        with self.gpu:
            self.state.advance()

    def count(self, which: str) -> int:
        with self.gpu:
            return self.state.count(which)

    def active_edges(self) -> int:
        with self.gpu:
            return self.state.active_edges()

    def list_vertices(self, which: str) -> np.ndarray:
        with self.gpu:
            return self.state.list_vertices(which)

    def pages_of(self, which: str, table: PageTable) -> np.ndarray:
        with self.gpu:
            return self.state.pages_of(which, table)

    def read_values(self) -> np.ndarray:
        with self.gpu:
            return self.state.read_values()

    def begin_sweep(self, kernel: PageKernel, table: PageTable, plan: DevicePlan) -> None:
        if self._sweeper is None:
            self._sweeper = HostDevice(self.name, self._threads)
        self._sweeper.begin_sweep(kernel, table, plan)

    def end_sweep(self) -> Any:
        assert self._sweeper is not None, "no sweep has begun"
        counted = self._sweeper.take_stats()
        self.stats.pages += counted.pages
        self.stats.edges += counted.edges
        return self._sweeper.end_sweep()


def states(peers: Sequence[Device]) -> list[GpuState]:
    """The peers' attributes; devices of one run are all GPUs."""
    return [peer.state for peer in peers if isinstance(peer, GpuDevice)]
