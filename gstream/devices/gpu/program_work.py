"""A program's steps as work of a GPU's queue: push or pull over pages, RA resident or streamed with them."""

from __future__ import annotations

from typing import Any

from gstream.devices.gpu.page_pool import Launch, PagePool
from gstream.devices.gpu.stream_lane import Lane
from gstream.devices.gpu.tiles import PATIENCE, Tiles, kept_tiles, tiles_of
from gstream.devices.gpu.vertex_state import GpuState
from gstream.devices.job import Step


class ProgramWork:
    """The kernels of one job (a gstream.devices.gpu.batch_queue.Work); `begin` says which step."""

    def __init__(self, state: GpuState, pool: PagePool) -> None:
        self.state, self.stream, self.queued, self._pool = state, state.stream, state.queued, pool
        self.ready = state.gpu.event()
        self._step: Step | None = None
        self._last: Launch | None = None  # over cached pages; how often it came again, and its tiles
        self._again = 0
        self._tiles: Tiles | None = None
        self._made: Tiles | None = None  # the run's last ones

    def begin(self, step: Step) -> None:
        """What is launched from now on belongs to `step`; a push's messages are made ready."""
        self._step = step
        state = self.state
        state.scattered = step.direction == "push" or not state.slices[1]
        if step.direction == "push" and state.code.premessage and state.plan.resident:
            state.refresh((0, state.job.vertices))
        self.ready.record(state.stream)

    @property
    def name(self) -> str:
        return f"{self._step.direction}_kernel of {self.state.unit.program}" if self._step else ""

    @property
    def reach(self) -> int:
        streamed = self._step is not None and self._step.direction == "push" and not self.state.plan.resident
        return self.state.plan.reach if streamed else 0

    def launch(self, pages: Launch, stream: Any) -> None:
        state, step = self.state, self._step
        assert step is not None, "no step has begun"
        tail, told = (state.counter, state.context), step.told
        if step.direction == "notify":
            kernel = state.kernels["notify_kernel"]
            kernel(
                stream,
                pages.blocks(kernel),
                *pages.arguments(),
                state.active.address,
                state.next.address,
                state.counter,
            )
            return
        if step.direction == "pull" and not told and (tiles := self._tiles_for(pages)) is not None:
            tiles.launch()
            if tiles.rest is None:
                return
            pages = tiles.rest
        source = (state.value if state.source is None else state.source).address, 0, state.degree.address
        if self.reach:
            assert pages.lane is not None
            source = self._copy_source(pages, pages.lane)
        common = (
            *pages.arguments(), *source, state.active.address, state.combined.address, *state.chunk, state.next.address,
        )  # fmt: skip
        kernel = state.kernels[f"{step.direction}_kernel"]
        if step.direction == "push":
            kernel(stream, pages.blocks(kernel), *common, *tail)
            return
        table, name = pages.table, pages.table.table.name
        bits = state.remain if step.remain else state.open
        carry = state.carry[name].address, table.place_of.address
        if told:
            kernel = state.kernels["pull_told_kernel"]
            kernel(
                stream, pages.blocks(kernel), *pages.arguments(), source[0], source[2], state.active.address,
                state.got.address, state.next.address, *carry, *tail,
            )  # fmt: skip
            return
        hot, shared = state.hot
        kernel(stream, pages.blocks(kernel), *common, bits.address, *carry, hot, *state.slices, *tail, shared=shared)

    def _tiles_for(self, pages: Launch) -> Tiles | None:
        """Of a launch that comes again and again, over cached pages that stay where they are."""
        if self.state.code.idempotent or self.state.code.vector or pages.lane is not None:
            return None
        if pages is not self._last:
            self._last, self._again, self._tiles = pages, 0, self._known_tiles(pages)
            return self._tiles
        self._again += 1
        if self._again == PATIENCE and self._tiles is None:
            self._tiles = self._made = tiles_of(self.state, self._pool, pages)
        return self._tiles

    def _known_tiles(self, pages: Launch) -> Tiles | None:
        """Those that this run has made for the same pages, or of pieces that an earlier one has left."""
        if self._made is None:
            self._made = kept_tiles(self.state, self._pool, pages)
        elif self._made.are_of(pages):
            self._made.take(pages)
        else:
            return None
        return self._made

    @property
    def claims(self) -> list[tuple[int, int]]:
        """Address and number of what blocks count their claims on tiles in."""
        return [] if self._tiles is None else [self._tiles.claims]

    def _copy_source(self, pages: Launch, lane: Lane) -> tuple[int, int, int]:
        """(address, first vertex, address of degrees) of the RA of the pages' own vertices, copied to the lane."""
        state, host, table = self.state, self.state.job.host, pages.table.table
        first, last = int(table.first_vertex[pages.numbers[0]]), int(table.last_vertex[pages.numbers[-1]]) + 1
        assert host.value is not None
        state.gpu.write(lane.value.address, host.value[first:last], lane.stream)
        state.attribute_bytes += (last - first) * state.code.value_dtype.itemsize
        if lane.degree.count:
            state.gpu.write(lane.degree.address, host.degree[first:last], lane.stream)
            state.attribute_bytes += (last - first) * host.degree.itemsize
        if not state.code.premessage:
            return lane.value.address, first, lane.degree.address
        state.kernels["message_kernel"](
            lane.stream, max(1, (last - first) // 512), lane.value.address, first, lane.degree.address,
            lane.message.address, first, first, last, state.context,
        )  # fmt: skip
        return lane.message.address, first, lane.degree.address

    def take_edges(self) -> int:
        return self.state.take_counts()[0]

    def close(self, ended: bool) -> None:
        self.ready = None
