"""What a run knows between its supersteps, and the paths that are faster than a superstep by the driver.

gstream.engine.superstep makes supersteps; a fast path makes some by itself where it may, and
sees no more of a run than its state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gstream.devices.base import Device, Exchange
from gstream.devices.job import Job
from gstream.engine.checkpoint import Keeper
from gstream.engine.delta_stepping import Near
from gstream.engine.demand import Demand
from gstream.engine.direction import Chooser, Frontier
from gstream.engine.turns import Turn
from gstream.options.run_options import RunOptions
from gstream.paging.page_source import InMemory
from gstream.paging.page_table import NO_PAGES, PageTable
from gstream.planning.memory_fit import BLOCK
from gstream.planning.plan import Plan
from gstream.telemetry.stats import RunStats, StepStats


class Streamer(Protocol):
    """What the driver needs of the engine: its devices, and pages streamed to them."""

    devices: list[Device]
    exchange: Exchange
    options: RunOptions
    turn: Turn

    def stream(self, demand: Demand, weights: bool, again: bool = False, in_place: np.ndarray = NO_PAGES) -> None:
        """Submit the pages to their owners and finish; again: the next call asks for them too.

        in_place: int64[k], pages that devices read from host memory without a copy, if host memory holds them.
        """

    def in_memory(self, table: PageTable, weights: bool, wanted: np.ndarray = NO_PAGES) -> InMemory:
        """The pages of a topology that is resident in host memory; wanted: int64[n], those that are read first."""

    def counts(self) -> tuple[int, int, int, int]:
        """Pages processed, bytes moved, edges looked at and bytes read from disk so far."""

    def note_peak(self, more: int = 0) -> None:
        """Take what is held now, and `more` bytes, into the peak of memory."""


Order = tuple[float, float]  # step and limit, as gstream.engine.checkpoint keeps them
Watch = Callable[[int, np.ndarray], None]  # gets the superstep and value[V], in store order


class FastPath(Protocol):
    """Supersteps of one run that are made without the driver: the same values as by its supersteps."""

    def step(self, frontier: Frontier, supersteps: int, limit: int | None) -> tuple[int, Frontier]:
        """Make supersteps as long as it may: (how many, the next frontier). After 0, somebody else has to.

        supersteps: those made so far; limit: of all.
        """


class RunState:
    """One program on its way through supersteps; the engine has attached the devices."""

    def __init__(
        self, engine: Streamer, code: Any, plan: Plan, job: Job, watch: Watch | None = None,
        keeper: Keeper | None = None,
    ) -> None:  # fmt: skip
        self.engine, self.code, self.plan, self.job = engine, code, plan, job
        self.devices, self.exchange = engine.devices, engine.exchange
        self.watch, self.keeper, self.trace = watch, keeper, engine.options.trace
        self.near = Near(plan) if plan.device.held_bits else None
        zero_copy = engine.options.zero_copy and self.devices[0].zero_copy
        self.chooser = Chooser(plan, code.has_done, self.exchange, zero_copy, self.near is not None)
        self.stats = RunStats(kept=None if keeper is None else keeper.kept)
        self.warm = any(len(pages) for held in plan.on_devices.values() for pages in held)  # of runs before
        self.began_at = self.made = 0  # superstep of the checkpoint (0: none); supersteps made after it
        self.last = False  # this superstep is known to be the last
        self.order: Order | None = None  # of the present frontier, where its least values send first
        self.stale = False  # open bits may hold vertices that are done
        self.forced: str | None = None  # the next superstep's direction; its pages come to stay
        self.seconds_in_vain = 0.0  # before it, of a device that could not make it
        self.partials = np.zeros((-(-plan.graph.vertices // BLOCK), len(code.totals)), dtype=np.float64)
        self.late: list[tuple[slice, np.ndarray]] = []  # partials on their way: rows, and what comes there
        self.totals: dict[str, float] = {}

    def sum_totals(self) -> None:
        """From the partials that have come."""
        for rows, partials in self.late:
            self.partials[rows] = partials
        self.late = []
        if self.code.totals:
            self.totals = self.code.set_totals(self.partials)

    def note(self, step: StepStats) -> None:
        """Keep the figures of a superstep, or of several, and pass them to the progress callback."""
        self.stats.per_superstep.append(step)
        self.made += step.supersteps
        if self.engine.options.progress is not None:
            self.engine.turn.tell(self.engine.options.progress, self.began_at + self.made, step)
