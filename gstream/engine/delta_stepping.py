"""Near first: of a large frontier only the least values send; the others are held back until they are the least.

Shortest paths by supersteps push most vertices several times: a path with more edges may be shorter. Values that lie
near the least one change seldom any more, so near ones go first and most edges are looked at once (delta-stepping of
Meyer and Sanders, the near and far piles of Davidson et al.). Small frontiers are not cut: what they repeat is cheap.

The step is max weight / (4 * mean list) at first: a vertex has a quarter of an edge that is shorter, so that near ones
hardly improve each other. It grows by half as often as some are held back in a row, which bounds the supersteps.
Simulated on RMAT 22 (weights 1 to 255, 8 sources): 1.04 of all edges looked at and 12 supersteps (all at once: 1.1 to
1.8, and 11 to 13); with pages that are copied sending whole, and others read in place, 0.4 of the link's time.
"""

from __future__ import annotations

import numpy as np

from gstream.devices.job import Step
from gstream.engine.demand import Demand
from gstream.engine.direction import Frontier
from gstream.engine.superstep import Supersteps
from gstream.planning.plan import Plan

CUT_FROM = 16  # frontiers of at least 1/16 of all edges are cut
# None of fewer edges than that is: a cut makes a superstep more, which takes cores 0.3 ms, as pushing along 100,000
# edges does, and saves a third of the frontier's edges at best. Both are shorter on a GPU.
FEWEST_EDGES = 300_000
GROWTH = 1.5


def first_step(plan: Plan) -> float:
    """How far above the least value vertices may send at first."""
    table = plan.graph.tables.get("out") or plan.table("pull")  # lists are about as long the other way round
    mean = plan.graph.edges / max(1, int(table.records[: table.small_pages].sum()))
    return plan.graph.max_weight / (4 * max(1.0, mean))


class DeltaStepping:
    """Supersteps that push from the near vertices of a frontier (gstream.engine.run_state.FastPath)."""

    def __init__(self, run: Supersteps) -> None:
        self._run, self._first = run, first_step(run.plan)
        self._least_edges = max(run.plan.graph.edges // CUT_FROM, FEWEST_EDGES)
        if run.cut is not None:  # a checkpoint's
            self._hold_back(run.cut)
        run.cut = self._first if run.cut is None else run.cut

    @classmethod
    def applies(cls, run: Supersteps) -> bool:
        return run.plan.device.held_bits

    def step(self, frontier: Frontier) -> Frontier:
        run = self._run
        began = run.open()
        step, demand, in_place = run.chooser.next_pages(frontier)
        if frontier.held:
            self._readmit(step, demand, in_place)
        run.nested_loop(step, demand, in_place)
        run.advance()
        assert run.cut is not None
        self._hold_back(run.cut * GROWTH if frontier.held else self._first)
        return run.close(step, frontier, *began)

    def cancel(self) -> None:
        """Nothing is begun."""

    def _hold_back(self, step: float) -> None:
        """Cut the next frontier."""
        self._run.cut = step
        self._run.exchange.hold_back(step, self._least_edges)

    def _readmit(self, step: Step, demand: Demand, in_place: np.ndarray) -> None:
        """All of a page that is copied sends: held back, it would have the page copied once more."""
        run, table = self._run, demand.table
        if not run.plan.copies and run.plan.sources[table.name].resident:
            return
        apart = run.plan.copies or run.plan.graph.own is not None
        if apart and run.exchange.ranks is not None:  # others don't know which pages are copied, or read, here
            return
        whole = np.setdiff1d(run.chooser.missing(demand).numbers, in_place, assume_unique=True)
        whole = whole[whole < table.small_pages]
        if len(whole):
            step.listed = None  # there are more now
            run.exchange.each(lambda device, _: device.state.readmit(table, whole))
