"""Devices whose attributes are arrays of host memory, and how they agree: the host's cores, and fakes of tests."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from gstream.devices.base import Call, Device, Exchange, Feeding
from gstream.devices.host.vertex_state import BITS, Launch, VertexState
from gstream.devices.job import DevicePlan, Job, Range, Step
from gstream.devices.page_kernel import PageKernel
from gstream.paging.kept_memory import FRESH, KeptMemory
from gstream.paging.page_source import nothing
from gstream.paging.page_table import PageTable
from gstream.paging.readers import QUIET


class MemoryExchange(Exchange):
    """Devices that read each other's arrays where they are; several work side by side, from a thread each."""

    devices: Sequence[MemoryDevice]
    notifies = True

    def __init__(self, devices: Sequence[MemoryDevice]) -> None:
        super().__init__(devices)
        self._servers = ThreadPoolExecutor(len(devices), "device", *QUIET) if len(devices) > 1 else None

    def close(self) -> None:
        if self._servers is not None:
            self._servers.shutdown()

    def order(self) -> None:
        """Every call is finished when it returns."""

    def each(self, call: Call) -> None:
        if self._servers is None:
            call(self.devices[0], 0)
            return
        futures = [self._servers.submit(call, device, number) for number, device in enumerate(self.devices)]
        try:
            wait(futures)
        except BaseException:
            wait(futures)  # a signal: nobody may work on the devices when it is raised
            raise
        for future in futures:
            future.result()

    queue = each

    def feed(self, feedings: Sequence[Feeding]) -> None:
        if len(feedings) == 1:
            deque(feedings[0], maxlen=0)
            return
        self.each(lambda _, number: deque(feedings[number], maxlen=0))

    def reduce(self, slices: Sequence[Range], pulled: PageTable | None, then: Call) -> None:
        def renew(device: MemoryDevice, number: int) -> None:  # no device touches another's slice
            self._combine(device, slices[number], pulled)
            then(device, number)

        self.each(renew)
        self.sent = self._sending

    def _combine(self, device: MemoryDevice, part: Range, pulled: PageTable | None) -> None:
        state = device.state
        peers = [peer.state for peer in self.devices] if len(self.devices) > 1 else [state]
        if len(peers) > 1:
            began = time.perf_counter()
            state.reduce(part, peers)
            device.stats.merge_seconds += time.perf_counter() - began
        if pulled is not None:
            state.add_hubs(pulled, part, peers)

    def gather(self, slices: Sequence[Range], values: bool) -> None:
        if len(self.devices) > 1:
            peers = [peer.state for peer in self.devices]
            self.each(lambda device, _: self._take(device, peers, slices, values and not self.sent))

    def _take(
        self, device: MemoryDevice, peers: Sequence[VertexState], slices: Sequence[Range], values: bool
    ) -> None:  # fmt: skip
        began = time.perf_counter()
        device.state.gather(slices, peers, values)
        device.stats.merge_seconds += time.perf_counter() - began

    def hand_out(self, slices: Sequence[Range], cores: Any, names: Sequence[str]) -> Call:
        for device, part in zip(self.devices, slices, strict=True):
            device.wait()
            for name in names:
                mine, theirs = getattr(device.state, name), getattr(cores, name)
                if name not in BITS:
                    theirs[slice(*part)] = mine[slice(*part)]
                elif device is self.devices[0]:
                    theirs[:] = mine
        return nothing

    def take_in(self, slices: Sequence[Range], cores: Any) -> None:
        for device, part in zip(self.devices, slices, strict=True):
            device.state.reduce(part, [cores])

    def share_told(self) -> None:
        first, *others = (device.state.next for device in self.devices)
        for other in others:
            first |= other
        for other in others:
            other[:] = first

    def collect(self) -> None:
        if not self.sent or self._slices is None:
            return
        first, *others = (device.state for device in self.devices)
        for part, peer in zip(self._slices[1:], others, strict=True):
            window = first.window(part)
            first.value[window] = peer.value[window]


class MemoryDevice(Device):
    """Attributes in a VertexState, whose calls are done when they return. Subclasses bring the pages."""

    exchange = MemoryExchange

    def __init__(self, name: str, launch: Launch, copies: bool, memory: KeptMemory = FRESH) -> None:
        """memory: where attributes lie."""
        super().__init__(name)
        self._launch, self._copies, self._memory = launch, copies, memory
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

    def take(self, count: int, dtype: Any, fill: Any = None) -> np.ndarray:
        return self._memory.take(count, dtype, fill)

    def attach(self, job: Job) -> None:
        self._state = VertexState(job, self._launch, self._copies, self._memory)

    def detach(self) -> None:
        if self._state is not None:
            self._count_looked()
            self.stats.attribute_bytes += self._state.attribute_bytes
        self._state = self._step = self._sweep = None

    def release(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        self.detach()

    def begin(self, step: Step) -> None:
        self._step = step
        self.state.hubs = []

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        self._count_looked()
        state = self.state
        active = state.count("active")
        lists = None if table is None else state.lists_of("active", table)
        return active, state.active_edges() if edges and active else 0, state.held_back, lists

    def finish_counts(self) -> int:
        """The first device has the bits of all."""
        self._count_looked()
        return 0

    def _count_looked(self) -> None:
        state = self.state
        self.stats.edges, state.looked = self.stats.edges + state.looked, 0

    def begin_sweep(self, kernel: PageKernel, tables: dict[str, PageTable], plan: DevicePlan) -> None:
        self._sweep = (kernel, kernel.make_state())

    def end_sweep(self) -> Any:
        assert self._sweep is not None, "no sweep has begun"
        self.wait()
        state = self._sweep[1]
        self._sweep = None
        return state
