"""Rounds over a batch while it is in memory (Garaph 2.2, asynchronous): what a push changes pushes on at once.

For programs of MIN, MAX and OR that relax in place. A vertex that improves in a superstep would send in the next, for
which its page is read again. If its page is in the batch at hand, it sends in this one (gstream.devices.host.device).
Neighbours that are close in the order of pages then cost no further reading: a road map takes a third of the pages.
"""

from __future__ import annotations

from dataclasses import replace

from gstream.engine.direction import Frontier
from gstream.engine.superstep import Supersteps

ROUNDS = 4  # further ones: sssp of a road map moves 0.50, 0.40, 0.36 and 0.35 of the bytes with 1, 2, 4 and all


class Rounds:
    """Supersteps of several rounds a batch (gstream.engine.run_state.FastPath), all of which push."""

    def __init__(self, run: Supersteps) -> None:
        self._run = run
        run.in_place = True  # for checkpoints: values come farther than an edge a superstep
        run.chooser.forced, run.stats.rounds = "push", run.asked.rounds

    @classmethod
    def applies(cls, run: Supersteps) -> bool:
        """Devices read pages in host memory, and have all values: what is sent on is the newest."""
        there = run.resident and all(device.in_place for device in run.devices) and run.engine.cores is None
        return run.asked.rounds > 0 and run.code.in_place and there and "push" in run.plan.directions

    def step(self, frontier: Frontier) -> Frontier:
        run = self._run
        began = run.open()
        step, demand, in_place = run.chooser.next_pages(frontier)
        step = replace(step, rounds=run.asked.rounds)
        run.nested_loop(step, demand, in_place)
        run.advance()
        return run.close(step, frontier, *began)

    def cancel(self) -> None:
        """Nothing is begun."""
