"""Vertices of a device that is late (tests.fakes.device): what works on them is queued on a stream of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from gstream.devices.base import Call, Exchange
from gstream.devices.host.memory_device import MemoryDevice, MemoryExchange
from gstream.devices.host.vertex_state import VertexState
from gstream.devices.job import Job, Range, Step
from gstream.paging.page_table import PageTable
from tests.fakes.scheduler import Operation, Scheduler

PULLING = ("gather", "advance", "ask", "kernel")  # what may be queued when a superstep is over


class LateState(VertexState):
    """Vertex kernels are done by `wait` of the device, or before pages that come after `begin`.

    peers: devices that `apply` sends to.
    """

    def __init__(self, job: Job, device: LateDevice) -> None:
        super().__init__(job, _call, copies=True)
        self._device, self.peers = device, list[LateDevice]()

    def _later(self, kind: str, *given: Any) -> None:
        """Queue a call of the kernel itself."""
        usual = getattr(VertexState, kind)
        self._device.later(kind, lambda: usual(self, *given))

    def _now(self, kind: str, *given: Any) -> None:
        """What must find nothing queued, where it does anything."""
        assert not self._device.queued, f"{self._device.name}: {kind} while {self._device.queued} is queued"
        getattr(VertexState, kind)(self, *given)

    def start(self, part: Range) -> None:
        self._later("start", part)

    def refresh(self, part: Range) -> None:
        self._later("refresh", part)

    def reopen(self) -> None:
        self._later("reopen")

    def heads(self, step: Step, part: Range) -> None:
        self._later("heads", step, part)

    def apply(self, part: Range) -> None:
        def run() -> None:
            VertexState.apply(self, part)
            quiet(self._device, self.peers, "apply", "reduce")
            for peer in self.peers:
                self.send(part, peer.state)

        self._device.later("apply", run)

    def advance(self) -> None:
        self._later("advance")

    def hold_back(self, step: float, least_edges: int) -> None:
        self._later("hold_back", step, least_edges)

    def load(self, chunk: Range, values: bool) -> None:
        if not self.plan.resident:
            self._now("load", chunk, values)

    def store(self, part: Range) -> None:
        if not self.plan.resident:
            self._now("store", part)

    def readmit(self, table: PageTable, pages: np.ndarray) -> None:
        self._now("readmit", table, pages)

    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        self._now("restore", values, active)


class LateExchange(MemoryExchange):
    """Merges are queued; each asserts that no peer has work of another phase queued. One thread serves all devices, so
    that a seed gives one schedule."""

    devices: Sequence[LateDevice]
    sends, notifies = True, False
    each, feed = Exchange.each, Exchange.feed

    def order(self) -> None:
        """A pull that was begun early is on the stream of vertices, so that it may still be late on a device alone."""
        if len(self.devices) > 1:
            for device in sorted(self.devices, key=LateDevice.lateness):
                device.wait()
        elif not self.devices[0].asked:
            self.devices[0].wait()

    def queue(self, call: Call) -> None:
        for number, device in enumerate(self.devices):
            call(device, number)
        if not self.devices[0].state.plan.resident:
            self.order()

    def attach(self, slices: Sequence[Range] | None, sends: bool) -> None:
        super().attach(slices, sends)
        for device in self.devices:
            device.state.peers = list(self.devices) if sends else []

    def _combine(self, device: Any, part: Range, pulled: PageTable | None) -> None:
        def run() -> None:
            if len(self.devices) > 1:
                quiet(device, self.devices, "reduce", "apply")
            MemoryExchange._combine(self, device, part, pulled)

        device.later("reduce", run)

    def take_in(self, slices: Sequence[Range], cores: VertexState) -> None:
        for device, part in zip(self.devices, slices, strict=True):
            device.later("reduce", lambda device=device, part=part: device.state.reduce(part, [cores]))

    def gather(self, slices: Sequence[Range], values: bool) -> None:
        if len(self.devices) > 1:
            self.queue(lambda device, _: self._queue_gather(device, slices, values and not self.sent))

    def _queue_gather(self, device: LateDevice, slices: Sequence[Range], values: bool) -> None:
        """What it takes are the arrays that have the peers' bits now: they may have changed roles by then."""
        shown = [peer.state if peer is device else copy(peer.state) for peer in self.devices]

        def take() -> None:
            quiet(device, self.devices, "gather", "advance", "ask", "refresh")
            self._take(device, shown, slices, values)

        device.later("gather", take)

    def collect(self) -> None:
        if self.sent:
            quiet(self.devices[0], self.devices, "collect", *PULLING)
        super().collect()


class LateDevice(MemoryDevice):
    """A device of one thread, whose work a scheduler does late; `seed`: the schedule.

    looked: edges that were looked at and are not counted yet.
    """

    exchange = LateExchange

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name, _call, copies=True)
        self._schedule = Scheduler(name, seed)
        self.looked = 0
        self._told: list[tuple[int, int]] | None = None  # active vertices, edges looked at: once asked, and once done

    @property
    def state(self) -> LateState:
        assert isinstance(self._state, LateState), "no job is attached"
        return self._state

    def lateness(self) -> float:
        """Order in which devices are waited for."""
        return self._schedule.random.random()

    def attach(self, job: Job) -> None:
        self._state = LateState(job, self)

    def begin(self, step: Step) -> None:
        self.wait()
        super().begin(step)

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        if (active := self._tell()) is not None:
            return active, 0, 0, None
        return super().frontier(edges, table)

    def finish_counts(self) -> int:
        """The first of them has the bits of all."""
        self._tell()
        return 0

    @property
    def asked(self) -> bool:
        """Whether the next `frontier` says what was asked before."""
        return self._told is not None

    def ask(self) -> None:
        """Queue that the frontier is looked at, and edges are counted."""
        self._told = told = list[tuple[int, int]]()

        def look() -> None:
            told.append((self.state.count("active"), self.looked))
            self.looked = 0

        self.later("ask", look)

    def _tell(self) -> int | None:
        """Count edges looked at, when all is over, or all before `ask`: then how many vertices were active."""
        if self._told is None:
            self.wait()
            self._count_looked()
            return None
        while not self._told:
            self._schedule.do_one()
        (active, edges), self._told = self._told[0], None
        self.stats.edges += edges
        return active

    def _count_looked(self) -> None:
        self.stats.edges, self.looked = self.stats.edges + self.looked, 0
        if self._state is not None:
            super()._count_looked()

    # The scheduler

    @property
    def queued(self) -> set[str]:
        """Kinds of operations that are still to be done."""
        return self._schedule.queued

    def wait(self) -> None:
        self._schedule.wait()

    def later(self, kind: str, run: Callable[[], None]) -> None:
        self._schedule.put(-1, Operation(kind, run))


def quiet(device: LateDevice, peers: Sequence[LateDevice], *kinds: str) -> None:
    """Assert that peers have nothing queued but these kinds; kinds[0]: what the device does."""
    for peer in peers:
        queued = peer.queued - set(kinds)
        assert not queued, f"{device.name}: {kinds[0]} while {peer.name} has {queued} queued"


def _call(kernel: Callable[..., int], *arguments: object, limit: int) -> int:
    """Launch on the one thread there is."""
    return int(kernel(*arguments) or 0)
