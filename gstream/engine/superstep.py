"""Supersteps: the attribute-major nested-loop join over pages, superstep by superstep (GStream thesis 3.5, Figure 6).

What memory decides is fixed by gstream.planning.plan before the run; what the frontier decides is chosen here, in every
superstep: the direction, and the set of next pages, so that only pages that hold a frontier vertex (push) or an open
one (pull) move. Answers do not depend on devices, chunks or batches: minima have no order, sums of hubs are added in
page order, totals in order of blocks of BLOCK vertices. (But for the last bits of sums, in the values' own width: a
GPU that takes lists by tiles adds up in another order, gstream.devices.gpu.tiles.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.devices.base import Device
from gstream.devices.job import Job, Range, Step
from gstream.engine.autonomous import Autonomous
from gstream.engine.checkpoint import Keeper, State
from gstream.engine.demand import Demand
from gstream.engine.direction import LISTED, Frontier
from gstream.engine.early_pull import Overlap
from gstream.engine.message_exchange import Sending
from gstream.engine.run_state import FastPath, RunState, Streamer, Watch
from gstream.engine.settled_sums import SettledSums
from gstream.engine.small_frontier import SmallFrontier
from gstream.options.stopping import Asked
from gstream.paging.page_table import NO_PAGES, PageTable
from gstream.planning.memory_fit import BLOCK
from gstream.planning.plan import Plan
from gstream.telemetry.stats import StepStats


class Run(RunState):
    """The supersteps of one program."""

    def __init__(
        self, engine: Streamer, code: Any, plan: Plan, job: Job, watch: Watch | None = None,
        keeper: Keeper | None = None,
    ) -> None:  # fmt: skip
        super().__init__(engine, code, plan, job, watch, keeper)
        self.sending = Sending(code, plan, self.exchange)
        self.overlap = Overlap(self, self.pull)
        self._whole: dict[str, Demand] = {}
        self.in_place = not code.synchronous  # or a run was that this one goes on from

    def go(self, limit: int | None, asked: Asked) -> tuple[int, bool]:
        """Run to the end, or to the limit, or until the caller's patience is gone; (supersteps, converged)."""
        supersteps, frontier = self.begin()
        exactly, most, vertices = asked.exactly, asked.most_supersteps(limit), max(1, self.plan.graph.vertices)
        paths, frontier = fast_paths(self, self.pull, exactly, frontier)
        while True:
            if self.watch is not None:
                self.watch(supersteps, self.values())
            converged = bool(supersteps and self.code.halt()) or self.still(frontier, supersteps, exactly)
            ended = converged or supersteps == most or asked.gives_up(supersteps, frontier.vertices / vertices)
            if self.keeper is not None:
                self.keeper.between(self, supersteps, ended)
            if ended:
                self.overlap.retract()
                return supersteps, converged
            made = 0
            for path in paths:
                made, frontier = path.step(frontier, supersteps, most)
                if made:
                    break
            if made:
                supersteps += made
                continue
            supersteps += 1
            self.last = supersteps == most
            self.code.set_superstep(supersteps)
            frontier = self.superstep(frontier)

    def begin(self) -> tuple[int, Frontier]:
        """(supersteps made, frontier): those of a checkpoint, or first values."""
        saved = None if self.keeper is None else self.keeper.take()
        if saved is None:
            self.code.set_superstep(0)
            self.start()
        else:
            self.began_at = saved.superstep
            self.code.set_superstep(saved.superstep)
            self.restore(saved)
        frontier = self.look()
        if saved is not None and self.near is not None:
            self.near.note(frontier.held)
        if self.keeper is not None:
            self.keeper.begin(self.began_at)
        return self.began_at, frontier

    def state(self, supersteps: int) -> State:
        """What a checkpoint keeps, after so many supersteps; good until the next one."""
        values = self.values()  # and the bits of all
        active = self.devices[0].state.read_bits("active")
        if self.near is not None:
            active |= self.devices[0].state.read_bits("held")
        step, limit = self.order or (None, None)
        return State(
            superstep=supersteps, value=values, active=active, partials=self.partials,
            near_step=None if self.near is None else self.near.cut, unexplored=int(self.chooser.unexplored),
            pulled=bool(self.chooser.pulled), last_vertices=int(self.chooser.last_vertices),
            in_place=self.in_place, order_step=step, order_limit=limit,
        )  # fmt: skip

    def restore(self, saved: State) -> None:
        """Take up a checkpoint, of whichever devices; who is held back follows from the values again."""
        if not self.plan.device.resident:
            assert self.job.host.value is not None
            self.job.host.value[:] = saved.value
        self.exchange.each(lambda device, _: device.state.restore(saved.value, saved.active))
        if self.code.totals:
            self.partials[:] = saved.partials
        self.stale = True  # open bits are all set
        self.chooser.unexplored, self.chooser.pulled = saved.unexplored, saved.pulled
        self.chooser.last_vertices = saved.last_vertices
        self.in_place |= saved.in_place
        if saved.order_step is not None and saved.order_limit is not None:
            self.order = saved.order_step, saved.order_limit
        elif self.near is not None and saved.near_step is not None:
            self.near.step = saved.near_step
            for device in self.devices:
                device.state.hold_back(self.near.step, self.near.least_edges)

    def still(self, frontier: Frontier, supersteps: int, exactly: bool) -> bool:
        """Whether nothing is active. SUM sweeps every edge, so at its start all vertices are, whatever their value."""
        if exactly or not self.code.idempotent and supersteps == 0:
            return self.plan.graph.vertices == 0
        return frontier.vertices == 0

    def start(self) -> None:
        """First values of all vertices, chunk by chunk; the vertices that differ from the identity are active."""
        for chunk in self.plan.start_chunks:
            slices = self.plan.slices(chunk, BLOCK)
            self.exchange.each(lambda device, _, chunk=chunk: device.state.load(chunk, values=False))
            self.exchange.each(lambda device, d, slices=slices: device.state.start(slices[d]))
            self.hand_round(slices)
        if self.plan.double_buffer:
            self.swap_values()
        for device in self.devices:
            device.state.advance()

    def look(self) -> Frontier:
        """Measure the frontier; then nothing is queued on any device but what was begun for the superstep that follows,
        and the totals can be summed."""
        self.overlap.begin()
        frontier = self.chooser.look()
        self.sum_totals()
        return frontier

    def superstep(self, frontier: Frontier) -> Frontier:
        """One nested-loop join: every chunk of WA with the pages that matter to it. Returns the next frontier."""
        began, self.seconds_in_vain = time.perf_counter() - self.seconds_in_vain, 0.0
        self.order = None
        direction = self.chooser.choose(frontier, self.forced)
        before = self.overlap.counts()
        begun = self.overlap.take()
        step, demand = begun or self.demand(direction, frontier)
        if begun is not None:
            self.merge(step, self.plan.chunks[0])
        else:
            self.nested_loops(step, demand, frontier)
        if self.plan.double_buffer:
            self.swap_values()
        for device in self.devices:
            device.state.advance()
            if self.near is not None:
                device.state.hold_back(self.near.step, self.near.least_edges)
        following = self.look()
        if self.near is not None:
            self.near.note(following.held)
        after = self.overlap.counts()
        ended = time.perf_counter()
        if self.trace is not None:
            self.trace.span("driver", "supersteps", f"{step.direction}, {frontier.vertices} active", began, ended)
        self.note(
            StepStats(
                direction=step.direction, frontier=frontier.vertices, pages=after[0] - before[0],
                bytes_moved=after[1] - before[1], edges_visited=after[2] - before[2],
                bytes_read=after[3] - before[3], held=frontier.held, seconds=ended - began,
            )
        )  # fmt: skip
        return following

    def nested_loops(self, step: Step, demand: Demand, frontier: Frontier) -> None:
        """Every chunk of WA with its pages, and what they came to merged."""
        in_place = self.chooser.in_place(demand) if self.code.idempotent and not self.forced else NO_PAGES
        if frontier.held:
            self.readmit(step, demand, in_place)
        self.refresh(step)
        for chunk in self.plan.chunks:
            self.exchange.queue(lambda device, _, chunk=chunk: device.state.load(chunk, values=True))
            wanted = demand
            if len(self.plan.chunks) > 1 and step.direction == "pull":
                wanted = demand.among(step.table.pages_of_range(*chunk))
            self.join(step, wanted, in_place)
            self.merge(step, chunk)
        self.overlap.note(step, demand)

    def pull(self, step: Step, demand: Demand) -> None:
        """Messages and pages of a superstep whose values are all on the devices, and no more of it."""
        self.refresh(step)
        self.join(step, demand, NO_PAGES)

    def demand(self, direction: str, frontier: Frontier) -> tuple[Step, Demand]:
        """What the superstep does and the pages that it needs (the thesis's next pages)."""
        table, state = self.plan.table(direction), self.devices[0].state
        step = Step(direction, table)
        if not self.code.idempotent:
            return step, self.whole(table)
        if direction == "push":
            return self.push(frontier)
        if not self.code.has_done or not self.job.plan.resident:
            return step, self.whole(table)
        if self.stale:
            self.exchange.each(lambda device, _: device.state.reopen())
        which = "open"
        if self.plan.heads is not None:
            which, step.remain = "remain", True
            self.settle_by_heads(step)
        left = Demand.of(table, state.lists_of(which, table))
        if step.remain and not self.forced and self.chooser.finish_by_push(frontier, left):
            return self.push(frontier)
        if len(left.numbers):
            step.listed = state.list_vertices(which, self.plan.graph.vertices // LISTED)
            step.skip = 4 if step.remain and step.listed is not None else 0
        self.stale = len(left.numbers) > 0
        return step, left

    def whole(self, table: PageTable) -> Demand:
        """All pages, with who owns which: the same in every superstep."""
        if table.name not in self._whole:
            self._whole[table.name] = Demand.whole(table)
        return self._whole[table.name]

    def push(self, frontier: Frontier) -> tuple[Step, Demand]:
        """A push from the frontier and the pages that hold it."""
        self.stale = True
        listed = self.devices[0].state.list_vertices("active", frontier.vertices) if frontier.listed else None
        return Step("push", self.plan.table("push"), listed), self.chooser.pushed(frontier)

    def settle_by_heads(self, step: Step) -> None:
        """Let the resident heads settle what they can; what stays open has its remain bit set."""
        rows = self.plan.graph.head_rows[step.table.name]
        slices = [(first, min(last, rows)) for first, last in self.plan.slices((0, self.plan.graph.vertices), 64)]
        self.exchange.each(lambda device, d: device.state.heads(step, slices[d]) if slices[d][0] < slices[d][1] else 0)
        self.exchange.gather(slices, values=True)
        self.exchange.order()

    def refresh(self, step: Step) -> None:
        """RA of a pull: what every vertex sends, from WA. Every device makes all of it, unless it was sent."""
        if step.direction != "pull" or self.sending.sent or not (self.job.plan.message or self.job.plan.source_copy):
            return
        for chunk in self.plan.chunks:
            self.exchange.queue(lambda device, _, chunk=chunk: device.state.load(chunk, values=True))
            self.exchange.queue(lambda device, _, chunk=chunk: device.state.refresh(chunk))

    def readmit(self, step: Step, demand: Demand, in_place: np.ndarray) -> None:
        """All of a page that is copied sends: held back, it would have the page copied once more."""
        table = demand.table
        if not self.plan.copies and self.plan.sources[table.name].resident:
            return
        whole = np.setdiff1d(self.chooser.missing(demand).numbers, in_place, assume_unique=True)
        whole = whole[whole < table.small_pages]
        if len(whole):
            step.listed = None  # there are more now
            self.exchange.each(lambda device, _: device.state.readmit(table, whole))

    def join(self, step: Step, demand: Demand, in_place: np.ndarray) -> None:
        """Stream pages to their owners: the inner loop of Figure 6. Devices are fed side by side."""
        self.exchange.begin(step)
        if len(demand.numbers):
            again = not self.code.idempotent and not self.last and len(demand.numbers) == step.table.pages
            self.engine.stream(demand, self.plan.weights, again, in_place)

    def merge(self, step: Step, chunk: Range) -> None:
        """Step 3 and 4 of Figure 5: slices of all copies are combined, applied and handed round or stored."""
        began = time.perf_counter()
        slices = self.sending.slices(chunk)

        def apply(device: Device, number: int) -> None:
            part = slices[number]
            if not self.code.in_place and part[0] < part[1]:
                device.state.apply(part)

        summed = not self.code.idempotent and step.direction == "pull"
        self.exchange.reduce(slices, step.table if summed else None, apply)
        self.sending.sent = self.sending.on
        self.hand_round(slices)
        if self.trace is not None:
            self.trace.span("driver", "merges", f"vertices {chunk[0]} to {chunk[1]}", began, time.perf_counter())

    def hand_round(self, slices: list[Range]) -> None:
        """Slices of the new bits, and of values where they are resident, to all devices (unless messages were sent);
        values to host memory where they are not resident; and partials."""
        self.exchange.gather(slices, self.plan.device.resident and not self.sending.sent)
        if self.near is not None:  # holding back changes the bits that others take
            self.exchange.order()
        for device, part in zip(self.devices, slices, strict=True):
            device.state.store(part)
        if self.code.totals:
            self.late.extend(self.exchange.partials(slices))

    def swap_values(self) -> None:
        host = self.job.host
        host.value, host.next_value = host.next_value, host.value

    def values(self) -> np.ndarray:
        """value[V] in store order."""
        if self.plan.device.resident:
            self.sending.collect()
            return self.devices[0].state.read_values()
        assert self.job.host.value is not None
        return self.job.host.value


def fast_paths(
    state: RunState, pull: Callable[[Step, Demand], None], exactly: bool, frontier: Frontier
) -> tuple[list[FastPath], Frontier]:
    """Those that the run may take, and its first frontier, as the path has it that had it when it was kept.

    pull: messages and pages of a superstep. exactly: the run goes on though nothing changes any more, which devices
    don't.
    """
    device, small = None if exactly else Autonomous.of(state), SmallFrontier.of(state)
    order, state.order = state.order, None
    if small is not None and order is not None:
        frontier = small.take_up(frontier, order)
    return [path for path in (device, small, SettledSums.of(state, pull, exactly)) if path is not None], frontier
