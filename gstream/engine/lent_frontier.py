"""Long rows of tiny frontiers, which devices leave to one of the host's threads.

A superstep takes a GPU 20 us where it goes on by itself (gstream.engine.autonomous) and 0.25 ms by the driver, however
few vertices are active; a thread of the host takes 0.1 us for a vertex with two edges. So once some supersteps in a row
were tiny, values and active bits are copied to host memory, the thread goes on there (gstream.engine.small_frontier),
and all devices get them back when the frontier has grown or the run is over. Each time, more tiny supersteps must have
come before, so that copies that were in vain cost less than what was made between them.
"""

from __future__ import annotations

import time

import numpy as np

from gstream.engine.direction import Frontier
from gstream.engine.one_thread import NO_LIMIT, hosts_of
from gstream.engine.run_state import RunState
from gstream.engine.small_frontier import Lists, SmallFrontier, pushes_on
from gstream.hostcode.bitmaps import bitmap_bytes

FEW_EDGES = 1024  # of a tiny frontier, and half as many vertices: a thread takes 20 us for them
MOST = 4  # times as many a frontier may grow to before it goes back
FIRST_ROUNDS = 16  # tiny supersteps before the first copy
COPIED = 1 << 14  # vertices whose values are copied both ways in the time of a superstep
LOOK_EVERY = 128  # supersteps that a device makes by itself, between two looks at what they were
KEPT_S = 0.25  # a run that is kept, or may be stopped, goes back at least so often


class Lent:
    """Values and active bits of all devices, in host memory while `here` (gstream.engine.one_thread.Arrays)."""

    lent = True

    def __init__(self, run: RunState) -> None:
        self._run, self.here = run, False
        self.value, self.active = np.zeros(0, run.code.value_dtype), np.zeros(0, np.uint64)

    def take(self) -> None:
        """Copy them from the first device."""
        first = self._run.devices[0].state
        self.value, self.active, self.here = first.read_values(), first.read_bits("active"), True

    def count(self, edges: int, pages: int, nbytes: int) -> None:
        stats = self._run.devices[0].stats
        stats.edges += edges
        stats.pages += pages

    def hand_over(self) -> None:
        """`look` does."""

    def look(self) -> Frontier:
        """Give them back to all devices, and measure the frontier there."""
        run = self._run
        run.exchange.each(lambda device, _: device.state.restore(self.value, self.active))
        self.drop()
        run.chooser.stale, run.order = True, None
        return run.look()

    def drop(self) -> None:
        """Devices have the newest ones."""
        self.value, self.active, self.here = self.value[:0], self.active[:0], False


class LentFrontier:
    """Of one run (gstream.engine.run_state.FastPath)."""

    @classmethod
    def applies(cls, run: RunState) -> bool:
        """Nobody looks on between supersteps, devices have all values and are not the host's cores, host memory has all
        pages, and the plan leaves room for the lists."""
        plan = run.plan
        seen = run.watch is not None or "halt" in type(run.code.program).methods
        if seen or not plan.device.resident or hosts_of(run) or not pushes_on(run):
            return False
        here = all(source.readable for source in plan.sources.values()) and plan.devices == len(run.devices)
        bits = bitmap_bytes(plan.graph.vertices)
        return here and Lists.of(run, MOST * FEW_EDGES).nbytes + bits <= plan.spare_bytes

    def __init__(self, run: RunState) -> None:
        self._run, run.look_every = run, LOOK_EVERY
        self._arrays = Lent(run)
        self._small: SmallFrontier | None = None
        self._needed = FIRST_ROUNDS + run.plan.graph.vertices // COPIED
        self._tiny, self._seen = 0, 0  # supersteps in a row up to the last one; figures that were looked at

    def step(self, frontier: Frontier) -> Frontier | None:
        """Make supersteps from a copy, if tiny ones have come for long."""
        run, began = self._run, time.monotonic()
        if not self._is_due(frontier) or (end := self._end()) - run.supersteps < FIRST_ROUNDS:
            return None
        if self._small is None:
            self._small = SmallFrontier(run, self._arrays, Lists.of(run, MOST * FEW_EDGES))
        self._arrays.take()
        run.code.set_superstep(run.supersteps)
        following: Frontier | None = None
        found: Frontier | None = frontier
        while found is not None and self._arrays.here and run.supersteps < end and not self._stops(began):
            found = self._small.step(following or frontier)
            following = found or following
        self._seen = len(run.stats.per_superstep)
        if not self._arrays.here or found is None:  # it has grown, or is over
            self._tiny, self._needed = 0, 2 * self._needed
        if following is not None and self._arrays.here:
            following = self._arrays.look()
        self._arrays.drop()
        return following

    def cancel(self) -> None:
        """Nothing is begun."""

    def _stops(self, began: float) -> bool:
        """Whether a checkpoint may be due in a run that is kept, or the run was asked to stop."""
        keeper = self._run.keeper
        if keeper is None:
            return False
        return time.monotonic() - began > KEPT_S or keeper.stop is not None and keeper.stop.asked

    def _is_due(self, frontier: Frontier) -> bool:
        """Whether this frontier and enough of those before it are tiny."""
        steps = self._run.stats.per_superstep
        for step in steps[self._seen :]:
            few = step.direction == "pull" or step.edges_visited <= FEW_EDGES  # a pull looks at those of others
            tiny = few and step.frontier <= FEW_EDGES // 2
            self._tiny = self._tiny + step.supersteps if tiny else 0
        self._seen = len(steps)
        if frontier.held or not 0 < frontier.vertices <= FEW_EDGES // 2 or frontier.edges > FEW_EDGES:
            return False
        return self._tiny >= self._needed

    def _end(self) -> int:
        """The superstep after which others have to look."""
        run = self._run
        kept = None if run.keeper is None else run.keeper.supersteps_left(run.supersteps)
        ends = [NO_LIMIT if run.limit is None else run.limit, NO_LIMIT if kept is None else run.supersteps + kept]
        return min(ends)
