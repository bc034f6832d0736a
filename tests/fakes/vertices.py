"""Vertices of a device that is late (tests.fakes.device): what works on them is queued on a stream of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from gstream.devices.base import Device, Range, Step
from gstream.devices.host.memory_device import MemoryDevice, states
from gstream.paging.page_table import PageTable
from tests.fakes.scheduler import Operation, Scheduler

PULLING = ("gather", "advance", "ask", "kernel")  # what may be queued when a superstep is over


class LateDevice(MemoryDevice):
    """Vertex kernels and merges are done by `finish`, or before pages that come after `begin`; `seed`: the schedule.

    looked: edges that were looked at and are not counted yet.
    """

    queues = True
    threaded = False  # one thread serves all, so that a seed gives one schedule

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(name, _call, copies=True)
        self._schedule = Scheduler(name, seed)
        self.looked = 0
        self._peers: Sequence[Device] = ()  # that `apply` sends to
        self._told: list[tuple[int, int]] | None = None  # active vertices, edges looked at: once asked, and once done

    def lateness(self) -> float:
        return self._schedule.random.random()

    def begin(self, step: Step) -> None:
        self.finish()
        super().begin(step)

    def start(self, part: Range) -> None:
        self._later("start", lambda: self.state.start(part))

    def refresh(self, part: Range) -> None:
        self._later("refresh", lambda: self.state.refresh(part))

    def reopen(self) -> None:
        self._later("reopen", lambda: self.state.reopen())

    def heads(self, step: Step, part: Range) -> None:
        self._later("heads", lambda: MemoryDevice.heads(self, step, part))

    def detach(self) -> None:
        super().detach()
        self._peers = ()

    def send_to(self, peers: Sequence[Device]) -> bool:
        self._peers = peers
        return True

    def apply(self, part: Range) -> None:
        def run() -> None:
            self.state.apply(part)
            for peer in states(self._quiet(self._peers, "apply", "reduce", "hubs")):
                self.state.send(part, peer)

        self._later("apply", run)

    def collect(self, parts: Sequence[Range], peers: Sequence[Device]) -> None:
        self._quiet(peers, "collect", *PULLING)
        super().collect(parts, peers)

    def reduce(self, part: Range, peers: Sequence[Device]) -> None:
        self._later("reduce", lambda: MemoryDevice.reduce(self, part, self._quiet(peers, "reduce", "hubs", "apply")))

    def add_hubs(self, table: PageTable, part: Range, peers: Sequence[Device]) -> None:
        self._later("hubs", lambda: self.state.add_hubs(table, part, states(peers)))

    def gather(self, parts: Sequence[Range], peers: Sequence[Device], values: bool) -> None:
        """What it takes are the arrays that have the peers' bits now: they may have changed roles by then."""
        shown = [peer if peer is self._state else copy(peer) for peer in states(peers)]

        def take() -> None:
            self._quiet(peers, "gather", "advance", "ask", "refresh")
            with self._merging():
                self.state.gather(parts, shown, values)

        self._later("gather", take)

    def _quiet(self, peers: Sequence[Device], *kinds: str) -> Sequence[Device]:
        for peer in peers:
            assert isinstance(peer, LateDevice)
            queued = peer.queued - set(kinds)
            assert not queued, f"{self.name}: {kinds[0]} while {peer.name} has {queued} queued"
        return peers

    def load(self, chunk: Range, values: bool) -> None:
        if not self.state.plan.resident:
            self._assert_idle("load")
        super().load(chunk, values)

    def store(self, part: Range) -> None:
        if not self.state.plan.resident:
            self._assert_idle("store")
        super().store(part)

    def advance(self) -> None:
        self._later("advance", self.state.advance)

    def hold_back(self, step: float, least_edges: int) -> None:
        self._later("hold_back", lambda: self.state.hold_back(step, least_edges))

    def frontier(self, edges: bool, table: PageTable | None) -> tuple[int, int, int, np.ndarray | None]:
        if (active := self._tell()) is not None:
            return active, 0, 0, None
        return super().frontier(edges, table)

    def tally(self) -> int:
        """The first of them has the bits of all."""
        self._tell()
        return 0

    def ask(self) -> None:
        """Queue that the frontier is looked at, and edges are counted."""
        self._told = told = list[tuple[int, int]]()

        def look() -> None:
            told.append((MemoryDevice.frontier(self, False, None)[0], self.looked))
            self.looked = 0

        self._later("ask", look)

    def _tell(self) -> int | None:
        """Count edges looked at, when all is over, or all before `ask`: then how many vertices were active."""
        if self._told is None:
            self.finish()
            self._count_edges()
            return None
        while not self._told:
            self._schedule.do_one()
        (active, edges), self._told = self._told[0], None
        self.stats.edges += edges
        return active

    def readmit(self, table: PageTable, pages: np.ndarray) -> None:
        self._assert_idle("readmit")
        super().readmit(table, pages)

    def restore(self, values: np.ndarray, active: np.ndarray) -> None:
        self._assert_idle("restore")
        super().restore(values, active)

    def _assert_idle(self, what: str) -> None:
        assert not self.queued, f"{self.name}: {what} while {self.queued} is queued"

    def _count_edges(self) -> None:
        self.stats.edges, self.looked = self.stats.edges + self.looked, 0

    # The scheduler

    @property
    def queued(self) -> set[str]:
        """Kinds of operations that are still to be done."""
        return self._schedule.queued

    def finish(self) -> None:
        self._schedule.finish()

    def settle(self) -> None:
        """A pull that was begun early is on the stream of vertices, so that it may still be late."""
        if self._told is None:
            self.finish()

    def _later(self, kind: str, run: Callable[[], None]) -> None:
        self._schedule.put(-1, Operation(kind, run))


def _call(kernel: Callable[..., int], *arguments: object, limit: int) -> int:
    """Launch on the one thread there is."""
    return int(kernel(*arguments) or 0)
