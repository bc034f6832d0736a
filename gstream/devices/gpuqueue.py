"""Batches of one job on a GPU: one launch over what is cached, then copy and kernel of the rest, in stream order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.devices.base import Device, Step
from gstream.devices.cuda import Gpu
from gstream.devices.gpulane import Lane, Spans
from gstream.devices.gpupool import GpuTable, PagePool
from gstream.devices.gpustate import GpuState
from gstream.devices.streams import Placement, cut_by_reach
from gstream.pages import Batch
from gstream.pagetable import PageTable

BLOCKS_A_PROCESSOR = 8  # of the edge kernels: 256 threads each, all resident at once


class BatchQueue:
    """Queues launches of one job's steps; `device`: whose figures count. Call with the GPU's context current."""

    def __init__(self, gpu: Gpu, device: Device, pool: PagePool, state: GpuState, spans: Spans | None) -> None:
        self.gpu, self.device, self.pool, self.state, self._spans = gpu, device, pool, state, spans
        self._step: Step | None = None
        self._letting_go: deque[tuple[Any, Callable[[], None]]] = deque()  # copies queued, and what they let go of
        self._hubs: dict[str, list[np.ndarray]] = {}  # large pages pulled since `begin`, by topology
        self._held_over, self._held_ticket = gpu.event(), -1  # the launch over cached pages

    def begin(self, step: Step) -> None:
        self._step, self._hubs = step, {}
        state = self.state
        if step.direction == "push" and state.code.premessage and state.plan.resident:
            state.refresh((0, state.job.vertices))
        state.stream.synchronize()  # the lanes' streams don't wait for this one

    def submit_held(self, table: PageTable, numbers: np.ndarray) -> np.ndarray:
        place, found = self.pool.ring.held(numbers, table)
        held = numbers[found]
        if len(held) == 0:
            return numbers
        self.device.stats.pages += len(held)
        if self._streams_source():
            self._submit_held_by_reach(table, held, place)
            return numbers[~found]
        known, stream = self.pool.tables[table.name], self.state.stream
        moved = not follows(held, place.rows)
        where = (known.put_map(held, place.rows, stream), 0) if moved else (0, int(held[0] - place.rows[0]))
        begin = self._mark(stream)
        self._launch(stream, known, held, where, self._source())
        self._span("cached pages", f"kernel: {len(held)} cached pages of {table.name}", begin, stream)
        self._held_over.record(stream)
        self._held_ticket = self.pool.ring.ticket(place)
        return numbers[~found]

    def _submit_held_by_reach(self, table: PageTable, held: np.ndarray, place: Placement) -> None:
        """Cached pages whose RA is streamed: by pieces that lie within reach of each other."""
        at, ring = 0, self.pool.ring
        for piece in cut_by_reach(held, table, self.state.plan.reach, len(held)):
            stream = ring.next_stream()
            rows = place.rows[at : at + len(piece)]
            at += len(piece)
            lane = self.pool.lanes[stream]
            lane.wait()
            self._run(table, piece, Placement(stream, rows, place.waits, rows), lane)

    def _streams_source(self) -> bool:
        """Whether the RA of this step travels with its pages."""
        return self._step is not None and self._step.direction == "push" and not self.state.plan.resident

    def submit(self, batch: Batch) -> None:
        self._let_go()
        ring = self.pool.ring
        reach = self.state.plan.reach if self._streams_source() else 0
        pieces, at = cut_by_reach(batch.numbers, batch.table, reach, ring.batch_pages), 0
        for number, piece in enumerate(pieces):
            place = ring.place(piece, batch.table)
            lane = self.pool.lanes[place.stream]
            lane.wait()
            self._wait_for(place, lane)
            begin = self._mark(lane.stream)
            self._copy(batch, piece, batch.rows[at : at + len(piece)], place, lane)
            self._span(f"stream {place.stream}", f"copy: {len(piece)} pages of {batch.table.name}", begin, lane.stream)
            at += len(piece)
            if number == len(pieces) - 1:
                self._letting_go.append((lane.copied, batch.done))
            self._run(batch.table, piece, place, lane)

    def _wait_for(self, place: Placement, lane: Lane) -> None:
        """Queue the wait for launches that use the cache slots which this batch overwrites."""
        if place.waits:
            users = [(other.ticket, other.over) for other in self.pool.lanes if other is not lane]
            for ticket, over in [*users, (self._held_ticket, self._held_over)]:
                if ticket in place.waits:
                    lane.stream.wait_for_event(over)

    def _copy(self, batch: Batch, numbers: np.ndarray, source: np.ndarray, place: Placement, lane: Lane) -> None:
        """Queue the copies of pages, a run of neighbouring rows at a time."""
        table, to, pool = batch.table, place.rows, self.pool
        breaks = np.flatnonzero((np.diff(to) != 1) | (np.diff(source) != 1)) + 1
        for low, high in zip([0, *breaks.tolist()], [*breaks.tolist(), len(to)], strict=True):
            part = slice(int(source[low]), int(source[low]) + high - low)
            at = int(to[low])
            self.gpu.write(pool.pages.address + at * table.page_bytes, batch.pages[part].reshape(-1), lane.stream)
            if batch.weights is not None:
                where = pool.weights.address + at * table.weight_page_bytes
                self.gpu.write(where, batch.weights[part].reshape(-1), lane.stream)
        lane.copied.record(lane.stream)
        self.device.stats.pages += len(numbers)
        self.device.stats.pages_moved += len(numbers)
        self.device.stats.bytes_moved += table.bytes_of(len(numbers), batch.weights is not None)

    def _run(self, table: PageTable, numbers: np.ndarray, place: Placement, lane: Lane) -> None:
        """Queue the kernel of pages that the lane's stream has copied, or that were there."""
        first, last, rows = int(numbers[0]), int(numbers[-1]), place.rows
        known = self.pool.tables[table.name]
        where = (0, first - int(rows[0])) if follows(numbers, rows) else (lane.put_rows(numbers, rows), first)
        source = self._source()
        if self._streams_source():
            source = self._copy_source(int(table.first_vertex[first]), int(table.last_vertex[last]) + 1, lane)
        begin = self._mark(lane.stream)
        self._launch(lane.stream, known, numbers, where, source)
        self._span(f"stream {place.stream}", f"kernel: {len(numbers)} pages of {table.name}", begin, lane.stream)
        lane.over.record(lane.stream)
        lane.used, lane.ticket = True, self.pool.ring.ticket(place)

    def _launch(
        self, stream: Any, known: GpuTable, numbers: np.ndarray, where: tuple[int, int], source: tuple[int, int, int]
    ) -> None:
        """Queue the step's kernel over pages. where: address of their map, its first page (Pool in cuda/pages.cuh)."""
        state, step, pool = self.state, self._step, self.pool
        assert step is not None
        first = int(known.part_of[numbers[0]])
        count = int(known.part_of[numbers[-1] + 1]) - first
        words = known.table.layout.words
        head = (pool.pages.address, pool.weights.address, words, *where, known.parts.address, first, count)
        common = (*head, *source, state.active.address, state.combined.address, *state.chunk, state.next.address)
        blocks = min(count, BLOCKS_A_PROCESSOR * self.gpu.processors)
        if step.direction == "push":
            state.kernels["push_kernel"](stream, blocks, *common, state.counter.address, state.context)
            return
        bits, name = state.remain if step.remain else state.open, known.table.name
        carry = state.carry[name].at(-known.first_large)  # by index of the part; only large pages have one
        state.kernels["pull_kernel"](stream, blocks, *common, bits.address, carry, state.counter.address, state.context)
        if not state.code.idempotent and numbers[-1] >= known.table.small_pages:
            self._hubs.setdefault(name, []).append(numbers[numbers >= known.table.small_pages])

    def _source(self) -> tuple[int, int, int]:
        """(address of a resident RA, its first vertex, address of degrees)."""
        state = self.state
        return (state.value if state.source is None else state.source).address, 0, state.degree.address

    def _copy_source(self, first: int, last: int, lane: Lane) -> tuple[int, int, int]:
        """The same for a streamed RA, whose vertices [first, last) are copied to the lane."""
        state, host = self.state, self.state.job.host
        assert host.value is not None
        self.gpu.write(lane.value.address, host.value[first:last], lane.stream)
        state.attribute_bytes += (last - first) * host.value.itemsize
        if lane.degree.count:
            self.gpu.write(lane.degree.address, host.degree[first:last], lane.stream)
            state.attribute_bytes += (last - first) * host.degree.itemsize
        if not state.code.premessage:
            return lane.value.address, first, lane.degree.address
        state.kernels["message_kernel"](
            lane.stream, max(1, (last - first) // 512), lane.value.address, first, lane.degree.address,
            lane.message.address, first, first, last, state.context,
        )  # fmt: skip
        return lane.message.address, first, lane.degree.address

    def _mark(self, stream: Any) -> Any:
        return None if self._spans is None else self._spans.mark(stream)

    def _span(self, track: str, name: str, begin: Any, stream: Any) -> None:
        if self._spans is not None:
            self._spans.add(track, name, begin, self._spans.mark(stream))

    def _let_go(self, all_of_them: bool = False) -> None:
        """Tell the sources of batches whose copies are over."""
        while self._letting_go and (all_of_them or self._letting_go[0][0].query()):
            event, done = self._letting_go.popleft()
            event.synchronize()
            done()

    def make_room(self) -> None:
        if self._letting_go:
            event, done = self._letting_go.popleft()
            event.synchronize()
            done()

    def finish(self) -> None:
        """Return when all is over."""
        self.gpu.synchronize()
        self._let_go(all_of_them=True)
        if self._spans is not None:
            self._spans.flush()
        for lane in self.pool.lanes:
            lane.used, lane.ticket = False, -1
        self.pool.ring.all_over()
        self.device.stats.edges += self.state.take_edges()

    def hub_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Page and sum of each part of the large pages pulled since `begin`."""
        columns = [self.state.hub_sums(name, np.concatenate(done)) for name, done in self._hubs.items()]
        self._hubs = {}
        if not columns:
            return np.zeros(0, np.int64), np.zeros(0, self.state.code.got_dtype)
        numbers, sums = (np.concatenate(column) for column in zip(*columns, strict=True))
        return numbers, sums


def follows(numbers: np.ndarray, rows: np.ndarray) -> bool:
    """Whether pages (int64[n], ascending) and their rows are both without gaps."""
    last = len(numbers) - 1
    return int(numbers[-1] - numbers[0]) == last and bool(np.all(np.diff(rows) == 1))
