"""A pull of sums that devices begin before the driver has read what the superstep before it came to.

Where all pages stay on the devices, a superstep of PageRank takes 2 ms, and the driver rested the devices for 0.15 ms
between two: it waited for the totals, summed them, and queued again. But what is sent depends on values alone, which
are there, and a pull changes no value: only `apply` needs the totals. So messages, which `apply` may have sent itself,
and pull are queued behind what tells the totals. Where these say that the run is over, the pull was in vain, and is
cut short.
"""

from __future__ import annotations

from gstream.devices.job import Repeat
from gstream.engine.direction import Frontier
from gstream.engine.run_state import Kept
from gstream.engine.superstep import Supersteps


class EarlyPull:
    """Supersteps of sums, each of which queues the pull of the next (gstream.engine.run_state.FastPath)."""

    def __init__(self, run: Supersteps) -> None:
        self._run = run
        self._begun: list[Repeat] = []

    @classmethod
    def applies(cls, run: Supersteps) -> bool:
        """Devices queue pulls, of which one is a whole superstep, and no message needs a total."""
        plan = run.plan
        pulls = run.whole is not None and plan.directions == ("pull",) and plan.device.resident
        free = not ({("g", name) for name in run.code.totals} & run.code.emitter.reads("send"))
        return pulls and free and len(plan.chunks) == 1 and not any(device.in_place for device in run.devices)

    def step(self, frontier: Frontier) -> Frontier:
        run = self._run
        assert run.whole is not None
        began = run.open()
        if self._begun:
            self._begun, run.pages_ahead = [], 0
            run.merge(run.whole[0], *run.slices[0])
        else:
            if run.kept is not Kept.NOTHING:
                run.forget()
            run.nested_loop(*run.whole)
        run.advance()
        if not run.last and frontier.vertices > run.few:
            self._begin()
        return run.close(run.whole[0], frontier, *began)

    def cancel(self) -> None:
        for repeat in self._begun:
            repeat.retract()

    def _begin(self) -> None:
        """Queue messages and pull of the superstep that follows, if the devices have all its pages."""
        run = self._run
        assert run.whole is not None
        step, demand, _ = run.whole
        begun: list[Repeat] = []
        for device, share in zip(run.devices, demand.shares(run.exchange.partition, run.exchange.first), strict=False):
            repeat = device.repeat(step.table, share.numbers)
            if repeat is None:
                return
            begun.append(repeat)
        for number, repeat in enumerate(begun):
            repeat.ask(number == 0)
        before = run.counts()[0]
        run.pull_whole(run.supersteps + 2)
        self._begun, run.pages_ahead = begun, run.counts()[0] - before
