"""Devices whose attributes are arrays of host memory: the host's cores, and the fake device of tests."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gstream.devices.base import Device, DevicePlan, Job, Range, Step
from gstream.devices.host.vertex_state import Launch, VertexState
from gstream.devices.page_kernel import PageKernel
from gstream.paging.page_table import PageTable


class MemoryDevice(Device):
    """Vertex kernels and merges on a VertexState; each call is done when it returns. Subclasses bring the pages."""

    def __init__(self, name: str, launch: Launch, copies: bool) -> None:
        super().__init__(name)
        self._launch, self._copies = launch, copies
        self._state: VertexState | None = None
        self._step: Step | None = None
        self._sweep: tuple[PageKernel, Any] | None = None

    @property
    def state(self) -> VertexState:
        assert self._state is not None, "no job is attached"
        return self._state

    @property
    def step(self) -> Step:
        assert self._step is not None, "no step has begun"
        return self._step

    @property
    def memory_bytes(self) -> int:
        return self._state.memory_bytes if self._state else 0

    def attach(self, job: Job) -> None:
        self._state = VertexState(job, self._launch, self._copies)

    def detach(self) -> None:
        if self._state is not None:
            self.stats.attribute_bytes += self._state.attribute_bytes
        self._state = self._step = self._sweep = None

    def release(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        self.detach()

    def load(self, chunk: Range, values: bool) -> None:
        self.state.load(chunk, values)

    def start(self, part: Range) -> None:
        self.state.start(part)

    def refresh(self, part: Range) -> None:
        self.state.refresh(part)

    def reopen(self) -> None:
        self.state.reopen()

    def heads(self, step: Step, part: Range) -> None:
        self.stats.edges += self.state.heads(step, part)

    def begin(self, step: Step) -> None:
        self._step = step
        self.state.hubs = []

    def make_room(self) -> None:
        """Batches are done when `submit` returns."""

    def finish(self) -> None:
        """Every call is finished when it returns."""

    def reduce(self, part: Range, peers: Sequence[Device]) -> None:
        with self._merging():
            self.state.reduce(part, states(peers))

    def add_hubs(self, table: PageTable, part: Range, peers: Sequence[Device]) -> None:
        self.state.add_hubs(table, part, states(peers))

    def apply(self, part: Range) -> None:
        self.state.apply(part)

    def gather(self, parts: Sequence[Range], peers: Sequence[Device], values: bool) -> None:
        with self._merging():
            self.state.gather(parts, states(peers), values)

    def collect(self, parts: Sequence[Range], peers: Sequence[Device]) -> None:
        self.state.collect(parts, states(peers))

    @contextmanager
    def _merging(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.stats.merge_seconds += time.perf_counter() - began

    def store(self, part: Range) -> None:
        self.state.store(part)

    def partials(self, part: Range) -> np.ndarray:
        return self.state.partials(part)

    def advance(self) -> None:
        self.state.advance()

    def tally(self) -> int:
        """Figures are counted as they come."""
        return 0

    def hold_back(self, step: float, least_edges: int) -> None:
        self.state.hold_back(step, least_edges)

    def readmit(self, table: PageTable, pages: np.ndarray) -> None:
        self.state.readmit(table, pages)

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        state = self.state
        active = state.count("active")
        lists = None if table is None else state.lists_of("active", table)
        return active, state.active_edges() if edges and active else 0, state.held_back, lists

    def list_vertices(self, which: str, most: int) -> np.ndarray | None:
        return self.state.list_vertices(which) if self.state.count(which) <= most else None

    def lists_of(self, which: str, table: PageTable) -> np.ndarray:
        return self.state.lists_of(which, table)

    def read_values(self) -> np.ndarray:
        return self.state.value

    def read_bits(self, which: str) -> np.ndarray:
        return self.state.bits(which).copy()

    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        self.state.restore(values, active)

    def begin_sweep(self, kernel: PageKernel, tables: dict[str, PageTable], plan: DevicePlan) -> None:
        self._sweep = (kernel, kernel.make_state())

    def end_sweep(self) -> Any:
        assert self._sweep is not None, "no sweep has begun"
        self.finish()
        state = self._sweep[1]
        self._sweep = None
        return state


def states(peers: Sequence[Device]) -> list[VertexState]:
    """The peers' attributes; devices of one run are all of this kind, or all of another."""
    assert all(isinstance(peer, MemoryDevice) for peer in peers)
    return [peer.state for peer in peers if isinstance(peer, MemoryDevice)]
