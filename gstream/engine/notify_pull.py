"""Notify-pull (Garaph 2.1, 4.2): supersteps of SUM in which few vertices change look at few edges.

Active vertices notify their out-neighbours, one bit over out-pages; only notified vertices gather again, over in-pages
and whole lists, so that a sum has the same bits as in a superstep that pulls all. What the others got is kept.

A share f of the lists is read to tell, a share f to gather again: it pays where 2 f < 1 (Garaph 4.2). Pages from disk
that are wanted alone come at 1/k of the rate of a sweep, so there it pays where 2 k f < 1; k is measured
(gstream.planning.calibration), and f counts pages. How many lists a share of active ones tells is learnt from the last
time. The first superstep tells, too, where a vertex of value 0 sends 0; a run that goes on from a checkpoint begins
with a sweep.
"""

from __future__ import annotations

from gstream.devices.job import Step
from gstream.engine.demand import Demand
from gstream.engine.direction import Frontier
from gstream.engine.run_state import Kept
from gstream.engine.superstep import Supersteps

# Of a sweep on a device that copies, the least. In a notify-pull the driver asks the device twice: 0.3 ms more
# than a sweep over cached pages does beside its kernels, 0.8 ms over streamed ones (H100, a grid of 4 M edges).
LEAST_SECONDS = 1e-3
MOST = 0.5  # of all vertices active: with more, nobody asks over which pages they would tell


class NotifyPull:
    """Those of one run (gstream.engine.run_state.FastPath)."""

    def __init__(self, run: Supersteps) -> None:
        self._run, plan = run, run.plan
        self._out, self._in = plan.table("push"), plan.table("pull")
        self._spread = 1.0  # share of lists told, of the share that told them, as the last time
        self._apart = plan.constants.disk / plan.constants.disk_apart if reads_disk(run) else 1.0
        names = type(run.code.program).totals
        self._read = [index for index, name in enumerate(names) if ("g", name) in run.code.emitter.reads("apply")]
        run.few = MOST * plan.graph.vertices
        if run.code.sends_zero and run.supersteps == 0:
            run.kept = Kept.ZERO

    @classmethod
    def applies(cls, run: Supersteps) -> bool:
        """Not on a GPU whose sweeps are as short as the driver's questions.

        Nor where cores beside a GPU have a fixed share of the lists: it would sum theirs in another order.
        """
        plan = run.plan
        if run.whole is None or not plan.notifies or plan.copies and plan.superstep_seconds() < LEAST_SECONDS:
            return False
        fixed = run.plan.cores is not None and run.engine.options.dispatch == "fixed"
        return run.exchange.notifies and not fixed

    def step(self, frontier: Frontier) -> Frontier | None:
        """A superstep where few vertices are active. The first of them sums all lists, and keeps what vertices got."""
        run = self._run
        if frontier.vertices > run.few or run.pages_ahead:
            return None
        telling = self._telling()
        if telling is None:
            run.few = frontier.vertices / 2  # asking takes a device some time
            return None
        assert run.whole is not None
        began = run.open()
        step, demand = Step("pull", self._in, keep=True), run.whole[1]
        if run.kept != Kept.NOTHING:
            demand = self._notify(step, telling)
        step.everybody = run.kept != Kept.SUMS or self._applies_anew()
        if step.told or run.kept == Kept.SUMS:
            slices = run.slices[0][1]
            run.exchange.queue(lambda device, number: device.state.forget(slices[number], step.told))
        run.kept, run.applied[:] = Kept.SUMS, run.code.floats[: len(run.applied)]
        run.nested_loop(step, demand)
        run.advance()
        step.direction = "notify-pull" if step.told else "pull"
        return run.close(step, frontier, *began)

    def cancel(self) -> None:
        """Nothing is begun."""

    def _telling(self) -> Demand | None:
        """The out-pages of active vertices, if notify-pull is worth it."""
        run = self._run
        telling = Demand.of(self._out, run.chooser.state.lists_of("active", self._out))
        edges, pages = self._edges(telling), self._pages(telling)
        share = max(edges, pages) + max(min(1.0, edges * self._spread), pages)
        return telling if self._apart * share < 1 else None

    def _edges(self, demand: Demand) -> float:
        """f: the share of all edges, about."""
        return float(demand.edges.sum()) / max(1, self._run.plan.graph.edges)

    def _pages(self, demand: Demand) -> float:
        """f: the share of all pages that has to come."""
        chooser = self._run.chooser
        return len(chooser.missing(demand).numbers) / max(1, demand.table.pages) if chooser.streamed else 0.0

    def _notify(self, step: Step, telling: Demand) -> Demand:
        """Have active vertices tell; the pages of the lists that `step` gathers again, or all of them."""
        run = self._run
        assert run.whole is not None
        run.join(Step("notify", self._out), telling, run.slices[0][0])
        run.exchange.share_told()
        told = Demand.of(self._in, run.chooser.state.lists_of("next", self._in))
        edges, pages = self._edges(told), self._apart * self._pages(told)
        self._spread = edges / max(self._edges(telling), 1e-9)
        step.told = edges < MOST or pages < 1
        return told if step.told and pages < 1 else run.whole[1]

    def _applies_anew(self) -> bool:
        """Whether what `apply` reads beside its vertex has changed."""
        code, run = self._run.code, self._run
        return code.applies_anew or any(code.floats[index] != run.applied[index] for index in self._read)


def reads_disk(run: Supersteps) -> bool:
    """Whether pages come from the store's file in every superstep."""
    return not all(source.resident for source in run.plan.sources.values())
