"""A run: first values or a checkpoint, then supersteps until nothing changes, the program halts, or a limit is met."""

from __future__ import annotations

from typing import Any

from gstream.engine.autonomous import Autonomous
from gstream.engine.delta_stepping import DeltaStepping
from gstream.engine.early_pull import EarlyPull
from gstream.engine.lent_frontier import LentFrontier
from gstream.engine.notify_pull import NotifyPull
from gstream.engine.program_state import KeptValues, State
from gstream.engine.rounds import Rounds
from gstream.engine.run_state import FastPath
from gstream.engine.settled_sums import SettledSums
from gstream.engine.small_frontier import SmallFrontier
from gstream.engine.superstep import Supersteps
from gstream.hostcode.generate import BLOCK

# First those that make many supersteps.
FAST_PATHS: tuple[type[FastPath], ...] = (
    Rounds, LentFrontier, Autonomous, SmallFrontier, SettledSums, NotifyPull, DeltaStepping, EarlyPull,
)  # fmt: skip
# Of these, those by which all ranks do the same.
OVER_RANKS: tuple[type[FastPath], ...] = (DeltaStepping, EarlyPull)


class Run(Supersteps):
    """The supersteps of one program, from the first to the last."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.watched: int | None = None  # the superstep that was watched before the checkpoint was written

    def go(self) -> bool:
        """Run to the end, or to the limit, or until the caller's patience is gone; whether it converged."""
        self.begin()
        asked = self.asked
        ways = FAST_PATHS if self.exchange.ranks is None else OVER_RANKS
        paths = [path(self) for path in ways if path.applies(self)]
        frontier, vertices = self.measure(), self.plan.graph.whole
        while True:
            if self.watch is not None and self.supersteps != self.watched:
                self.watch(self.supersteps, self.values(), self.exchange.bits_of_all("active"))
            begun = self.supersteps > 0 or self.whole is None  # SUM sweeps every edge: at its start all are active
            still = begun and frontier.vertices == 0 and not asked.exactly or vertices == 0
            converged = still or self.supersteps > 0 and self.code.halt()
            ended = converged or self.supersteps == self.limit
            if asked.patience is not None and not ended:
                ended = asked.gives_up(self.supersteps, frontier.vertices / max(1, vertices))
            if self.keeper is not None:
                self.keeper.between(self, self.supersteps, ended)
            if ended:
                for path in paths:
                    path.cancel()
                return converged
            following = None
            for path in paths:
                if (following := path.step(frontier)) is not None:
                    break
            frontier = self.step(frontier) if following is None else following

    def begin(self) -> None:
        """Values and frontier of a checkpoint, or first ones."""
        saved = None if self.keeper is None else self.keeper.take()
        self.began_at = self.supersteps = 0 if saved is None else saved.superstep
        self.watched = None if saved is None else saved.superstep
        self.code.set_superstep(self.supersteps)
        if saved is None:
            self.start()
        else:
            self.restore(saved)
        if self.keeper is not None:
            self.keeper.begin(self.began_at)

    def start(self) -> None:
        """First values of all vertices, chunk by chunk; the vertices that differ from the identity are active."""
        for chunk in self.plan.start_chunks:
            slices = self.plan.slices(chunk, BLOCK)
            self.exchange.each(lambda device, _, chunk=chunk: device.state.load(chunk, values=False))
            self.exchange.each(lambda device, d, slices=slices: device.state.start(slices[d]))
            self.hand_round(slices)
        self.advance()

    def state(self, supersteps: int) -> State:
        """What a checkpoint keeps, after so many supersteps; good until the next one."""
        values = self.values(stay=self.plan.graph.own is not None)  # and the bits of all
        active = self.exchange.bits_of_all("active")
        if self.plan.device.held_bits:
            active |= self.exchange.bits_of_all("held")
        step, limit = self.order or (None, None)
        chooser = self.chooser
        return State(
            superstep=supersteps, value=values, active=active, partials=self.partials, near_step=self.cut,
            unexplored=int(chooser.unexplored), pulled=bool(chooser.pulled), last_vertices=int(chooser.last_vertices),
            in_place=self.in_place, order_step=step, order_limit=limit,
        )  # fmt: skip

    def restore(self, saved: State) -> None:
        """Take up a checkpoint, of whichever devices. Values say again which vertices are held back."""
        assert isinstance(saved.value, KeptValues), "it was read from a slot"
        values = saved.value if self.plan.graph.own is not None else saved.value.whole()
        if not self.plan.device.resident:
            assert self.host.value is not None
            self.host.value[:] = values
        self.exchange.restore(values, saved.active)
        del values
        if self.code.totals:
            self.partials[:] = saved.partials
        self.chooser.stale = True  # open bits are all set
        self.chooser.unexplored, self.chooser.pulled = saved.unexplored, saved.pulled
        self.chooser.last_vertices = saved.last_vertices
        self.in_place |= saved.in_place
        if saved.order_step is not None and saved.order_limit is not None:
            self.order = saved.order_step, saved.order_limit
        else:
            self.cut = saved.near_step
