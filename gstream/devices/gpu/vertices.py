"""Vertices of a GPU: what works on them is queued on the stream of its state (gstream.devices.gpu.vertex_state)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gstream.devices.base import Device, Range, Step
from gstream.devices.gpu import hub_sums, merge
from gstream.devices.gpu.driver import Gpu
from gstream.devices.gpu.stream_lane import Stopwatch
from gstream.devices.gpu.vertex_state import GpuState
from gstream.paging.page_table import PageTable


class GpuVertices(Device):
    """The calls of a device that are its attributes' alone, in the context of `gpu`."""

    def __init__(self, name: str, gpu: Gpu) -> None:
        super().__init__(name)
        self.gpu = gpu
        self._state: GpuState | None = None
        self._merges: Stopwatch  # of the job's reduce and gather

    @property
    def state(self) -> GpuState:
        assert self._state is not None, "no job is attached"
        return self._state

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

    def spread(self, slices: list[Range], peers: Sequence[Device]) -> bool:
        if any(peer.apart(peers) for peer in peers):
            return False
        with self.gpu:
            merge.spread(self.state, slices, merge.states(peers))
        return True

    def send_to(self, peers: Sequence[Device]) -> bool:
        if any(peer.apart(peers) for peer in peers):
            return False
        with self.gpu:
            merge.send_to(self.state, merge.states(peers))
        return True

    def reduce(self, part: Range, peers: Sequence[Device]) -> None:
        with self.gpu, self._merges.over(self.state.stream):
            merge.reduce(self.state, part, merge.states(peers))

    def add_hubs(self, table: PageTable, part: Range, peers: Sequence[Device]) -> None:
        with self.gpu:
            hub_sums.add(self.state, table.name, part, merge.states(peers))

    def apply(self, part: Range) -> None:
        with self.gpu:
            self.state.apply(part)

    def gather(self, parts: Sequence[Range], peers: Sequence[Device], values: bool) -> None:
        with self.gpu, self._merges.over(self.state.stream):
            merge.gather(self.state, parts, merge.states(peers), values)

    def collect(self, parts: Sequence[Range], peers: Sequence[Device]) -> None:
        with self.gpu:
            merge.collect(self.state, parts, merge.states(peers))

    def store(self, part: Range) -> None:
        with self.gpu:
            self.state.store(part)

    def partials(self, part: Range) -> np.ndarray:
        with self.gpu:
            return self.state.partials(part)

    def advance(self) -> None:
        with self.gpu:
            self.state.advance()

    def hold_back(self, step: float, least_edges: int) -> None:
        with self.gpu:
            self.state.hold_back(step, least_edges)

    def readmit(self, table: PageTable, pages: np.ndarray) -> None:
        with self.gpu:
            self.state.readmit(table, pages)

    def list_vertices(self, which: str, most: int) -> np.ndarray | None:
        """Testing every bit of a page on the device takes less time than finding the records of a list."""
        return None

    def lists_of(self, which: str, table: PageTable) -> np.ndarray:
        with self.gpu:
            return self.state.lists_of(which, table)

    def read_values(self) -> np.ndarray:
        with self.gpu:
            return self.state.read_values()

    def read_bits(self, which: str) -> np.ndarray:
        with self.gpu:
            return self.state.read_bits(which)

    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        with self.gpu:
            self.state.restore(values, active)
