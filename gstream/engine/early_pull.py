"""A pull of sums that devices begin before the driver has read what the superstep before it came to.

Where all pages stay on the devices, a superstep of PageRank takes 2 ms, and the driver rested the devices for 0.15 ms
between two: it waited for the totals, summed them, and queued again. But what is sent depends on values alone, which
are there, and a pull changes no value: only `apply` needs the totals. So messages, which `apply` may have made itself
(gstream.engine.message_exchange), and pull are queued behind what tells the totals. Where these say that the run is
over, the pull was in vain, and is cut short.
"""

from __future__ import annotations

from collections.abc import Callable

from gstream.devices.job import Repeat, Step
from gstream.engine.demand import Demand
from gstream.engine.run_state import RunState


class Overlap:
    """The pulls of one run that are begun so."""

    def __init__(self, state: RunState, pull: Callable[[Step, Demand], None]) -> None:
        """pull: queues messages and pages of a superstep whose values are all on the devices."""
        code, plan = state.code, state.plan
        early = not ({("g", name) for name in code.totals} & code.emitter.reads("send"))
        self._state, self._pull = state, pull
        self._may = early and not code.idempotent and plan.device.resident and len(plan.chunks) == 1
        self._last: tuple[Step, Demand] | None = None
        self._begun: list[Repeat] = []
        self._before = (0, 0, 0, 0)

    def note(self, step: Step, demand: Demand) -> None:
        """What the driver has joined."""
        self._last = (step, demand) if step.direction == "pull" else None

    def begin(self) -> None:
        """Queue messages and pull of the superstep that follows, if one does that devices have all pages of."""
        state = self._state
        if not self._may or state.last or self._last is None:
            return
        (step, demand), devices = self._last, state.devices
        shares = demand.shares(state.exchange.partition)
        repeats = [device.repeat(demand.table, part.numbers) for device, part in zip(devices, shares, strict=True)]
        begun = [repeat for repeat in repeats if repeat is not None]
        if len(begun) < len(devices):
            return
        for number, repeat in enumerate(begun):
            repeat.ask(number == 0)
        self._before, self._begun = state.engine.counts(), begun
        state.code.set_superstep(state.code.superstep + 1)
        self._pull(step, demand)
        state.code.set_superstep(state.code.superstep - 1)

    def counts(self) -> tuple[int, int, int, int]:
        """What the engine counted, without the pages of a pull that was begun for the superstep that follows."""
        counts = self._state.engine.counts()
        return (self._before[0], *counts[1:]) if self._begun else counts

    def take(self) -> tuple[Step, Demand] | None:
        """The superstep begins: what was begun for it, if anything."""
        begun, self._begun = self._begun, []
        return self._last if begun else None

    def retract(self) -> None:
        """The run is over: what was begun is of no use."""
        begun, self._begun = self._begun, []
        for repeat in begun:
            repeat.retract()
