"""What a run knows between its supersteps, and the paths that make supersteps.

gstream.engine.superstep makes one after the other; a fast path makes some in another way where it may.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from enum import Enum
from typing import Any, Protocol

import numpy as np

from gstream.devices.base import Exchange
from gstream.devices.host.beside import BesideDevice
from gstream.devices.job import HostVertices, Step
from gstream.engine.checkpoint import Keeper
from gstream.engine.demand import Demand
from gstream.engine.direction import PUSH_COST, VECTOR_PUSH_COST, Chooser, Frontier
from gstream.engine.turns import Turn
from gstream.hostcode.generate import BLOCK
from gstream.options.run_options import RunOptions
from gstream.options.stopping import Asked
from gstream.paging.page_table import NO_PAGES
from gstream.paging.source_pool import Sources
from gstream.planning.plan import Plan
from gstream.telemetry import compiling
from gstream.telemetry.stats import RunStats, StepStats

Order = tuple[float, float]  # step and limit, as gstream.engine.checkpoint keeps them
# Pages processed, bytes moved, edges looked at, bytes read from disk, seconds of compiling.
Counts = tuple[int, int, int, int, float]
Watch = Callable[[int, np.ndarray, np.ndarray], None]  # gets the superstep, value[V] in store order, active bits


class Kept(Enum):
    """What devices know of what the vertices of their slices got: nothing; that it is 0, and that no vertex needs to
    be looked at but for others' first values; or all of it."""

    NOTHING, ZERO, SUMS = range(3)


class Parts(Protocol):
    """What a run takes of the engine: how devices agree, where pages come from, and whom to tell."""

    cores: BesideDevice | None
    sources: Sources
    options: RunOptions
    turn: Turn

    def exchange_of(self, plan: Plan) -> Exchange:
        """How the devices of a plan agree."""

    def serve(self, call: Callable[[], Any]) -> Future[Any]:
        """Call in the thread that works for the cores."""

    def note_peak(self, more: int = 0) -> None:
        """Take what is held now, and `more` bytes, into the peak of memory."""


class RunState:
    """One program on its way through supersteps; the engine has attached the devices.

    asked: what the caller wants; limit: supersteps that the run may make. supersteps: those made, with a checkpoint's;
    began_at: the superstep of the checkpoint (0: none). resident: all values are on the devices. copies_source: RA of a
    pull is made from WA. slices: each chunk of WA, with the slice of each device. whole: what every superstep of a SUM
    does, and its pages. last: no superstep follows this one. order: of the present frontier, if its least values send
    first. cut: the step that the frontier was cut with (gstream.engine.delta_stepping). pages_ahead: pages that were
    queued for the next superstep. vain_seconds: of a device that could not make this superstep. look_every: supersteps
    that a device makes by itself at once, at most. kept: what vertices got in the last superstep, of SUM; applied:
    float64[totals], those that `apply` saw last, NaN where it saw none yet. few: active vertices up to
    which notify-pull is asked whether it is worth it.
    """

    def __init__(
        self, engine: Parts, code: Any, plan: Plan, host: HostVertices, asked: Asked, limit: int | None,
        watch: Watch | None = None, keeper: Keeper | None = None,
    ) -> None:  # fmt: skip
        self.engine, self.code, self.plan, self.host = engine, code, plan, host
        self.exchange, self.sources = engine.exchange_of(plan), engine.sources
        self.devices = self.exchange.devices
        self.asked, self.limit = asked, asked.most_supersteps(limit)
        self.watch, self.keeper, self.trace = watch, keeper, engine.options.trace
        zero_copy = engine.options.zero_copy and self.devices[0].zero_copy
        cost = VECTOR_PUSH_COST if code.vector else PUSH_COST
        self.chooser = Chooser(plan, code.has_done, self.exchange, zero_copy, cost)
        self.stats = RunStats(kept=None if keeper is None else keeper.kept)
        self.warm = any(len(pages) for held in plan.on_devices.values() for pages in held)  # of runs before
        self.whole: tuple[Step, Demand, np.ndarray] | None = None
        if not code.idempotent:
            table = plan.table(plan.directions[0])
            self.whole = Step(plan.directions[0], table), Demand.whole(table), NO_PAGES
        sends = self.exchange.sends and plan.sends
        device, heavy = plan.device, plan.device.senders if sends else 0
        self.resident, self.copies_source = device.resident, device.message or device.source_copy
        self.slices = [(chunk, plan.slices(chunk, heavy=heavy)) for chunk in plan.chunks]
        self.exchange.follow({way: plan.table(way) for way in plan.directions})
        self.exchange.attach(self.slices[0][1] if self.resident and self.slices else None, sends)
        self.began_at = self.supersteps = self.pages_ahead = 0
        self.look_every: int | None = None
        self.few = -1.0
        self.in_place = not code.synchronous  # or a run was that this one goes on from
        self.kept, self.applied = Kept.NOTHING, np.full(len(code.totals), np.nan)
        self.last = False
        self.order: Order | None = None
        self.cut: float | None = None
        self.vain_seconds = 0.0
        self.partials = np.zeros((-(-plan.graph.whole // BLOCK), len(code.totals)), dtype=np.float64)
        self.late: list[tuple[slice, np.ndarray]] = []  # partials on their way: rows, and what comes there
        self.totals: dict[str, float] = {}

    def forget(self) -> None:
        """The next superstep sums all lists anew: nothing of what vertices got is left."""
        if self.kept == Kept.SUMS:
            slices = self.slices[0][1]
            self.exchange.queue(lambda device, number: device.state.forget(slices[number], told=False))
        self.kept = Kept.NOTHING

    def look(self) -> Frontier:
        """Measure the frontier, and have what all devices count."""
        return Frontier(*self.exchange.frontier(self.chooser.counts_edges, self.chooser.counted))

    def sum_totals(self) -> None:
        """From the partials that have come."""
        for rows, partials in self.late:
            self.partials[rows] = partials
        self.late = []
        if self.code.totals:
            self.totals = self.code.set_totals(self.partials)

    def counts(self) -> Counts:
        """Of the engine so far, without the pages that were queued for the next superstep."""
        pages, moved, edges = -self.pages_ahead, 0, 0
        for device in [*self.devices, *([] if self.engine.cores is None else [self.engine.cores])]:
            stats = device.stats
            pages, moved, edges = pages + stats.pages, moved + stats.bytes_moved, edges + stats.edges
        return pages, moved, edges, self.sources.bytes_read, compiling.meter().seconds

    def note(self, step: StepStats) -> None:
        """Keep the figures of a superstep, or of several, and pass them to the progress callback."""
        self.stats.per_superstep.append(step)
        self.supersteps += step.supersteps
        if self.engine.options.progress is not None:
            self.engine.turn.tell(self.engine.options.progress, self.supersteps, step)


class FastPath(Protocol):
    """Supersteps of one run that are made in another way than by the driver: the same values."""

    @classmethod
    def applies(cls, run: Any) -> bool:
        """Whether the run may take it (a gstream.engine.superstep.Supersteps, with its first values)."""

    def __init__(self, run: Any) -> None: ...

    def step(self, frontier: Frontier) -> Frontier | None:
        """Make supersteps as long as it may, and note each: the next frontier. None: the driver makes the next."""

    def cancel(self) -> None:
        """The run is over: end what was begun for a superstep that does not come."""
