"""One superstep: the attribute-major nested-loop join over pages. Lines are those of Figure 6 of the GStream thesis.

What memory decides is fixed by gstream.planning.plan before the run; what the frontier decides is chosen in every
superstep (gstream.engine.direction): push or pull, and the set of next pages, so that only pages that hold a frontier
vertex (push) or an open one (pull) move. Answers do not depend on devices, chunks or batches: minima have no order,
sums of hubs are added in page order, totals in order of blocks of BLOCK vertices. (But for the last bits of sums, in
the values' own width: a GPU that takes lists by tiles adds up in another order, gstream.devices.gpu.tiles.)
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gstream.devices.base import Device, Exchange, Feeding
from gstream.devices.job import Range, Step
from gstream.engine.demand import Demand
from gstream.engine.direction import Frontier
from gstream.engine.dispatcher import Dispatcher, feed_others, read_in_place
from gstream.engine.run_state import Counts, Kept, Parts, RunState
from gstream.paging.page_source import PageSource
from gstream.paging.page_table import NO_PAGES
from gstream.paging.source_pool import Sources
from gstream.telemetry.stats import StepStats


class Supersteps(RunState):
    """Supersteps of one program, one at a time. dispatcher: of a plan in which cores stand beside the devices."""

    def __init__(self, engine: Parts, *given: Any) -> None:
        super().__init__(engine, *given)
        self.dispatcher: Dispatcher | None = None
        if self.plan.cores is not None:
            assert engine.cores is not None
            self.dispatcher = Dispatcher(self, engine.cores, engine.serve)

    def step(self, frontier: Frontier) -> Frontier:
        """One superstep, which any run may make: the next frontier."""
        began = self.open()
        if self.kept is not Kept.NOTHING:
            self.forget()
        step, demand, in_place = self.whole or self.chooser.next_pages(frontier)
        self.nested_loop(step, demand, in_place)
        self.advance()
        return self.close(step, frontier, *began)

    def nested_loop(self, step: Step, demand: Demand, in_place: np.ndarray = NO_PAGES) -> None:
        """Lines 11 to 30: every chunk of WA with the pages of `demand` that matter to it.

        in_place: int64[k], pages that devices read in host memory, if it holds them.
        """
        if self.dispatcher is not None:
            self.dispatcher.begin(step, demand, in_place)
        self.refresh(step)
        if self.sources.work is not None:
            times = 1 if step.direction == "pull" else len(self.slices)
            self.sources.work.begin(self.supersteps + 1, times * own_share(self.exchange, demand))
        for chunk, slices in self.slices:
            if not self.resident:
                self.load(chunk)
            wanted = demand
            if len(self.slices) > 1 and step.direction == "pull":
                wanted = demand.among(step.table.pages_of_range(*chunk))
            self.join(step, wanted, chunk, in_place)
            self.merge(step, chunk, slices)

    def pull_whole(self, number: int) -> None:
        """Messages and pages of superstep `number`, a pull of sums whose values are all on the devices."""
        assert self.whole is not None
        step, demand, _ = self.whole
        before = self.code.superstep
        self.code.set_superstep(number)
        self.refresh(step)
        self.join(step, demand, self.slices[0][0])
        self.code.set_superstep(before)

    def load(self, chunk: Range) -> None:
        """Line 12: WA to the devices."""
        self.exchange.queue(lambda device, _: device.state.load(chunk, values=True))

    def refresh(self, step: Step) -> None:
        """RA of a pull: what every vertex sends, from WA. Every device makes all of it, unless `apply` sent it."""
        if step.direction == "pull" and self.copies_source and not self.exchange.sent:
            for chunk, _ in self.slices:
                if not self.resident:
                    self.load(chunk)
                self.exchange.queue(lambda device, _, chunk=chunk: device.state.refresh(chunk))

    def join(self, step: Step, demand: Demand, chunk: Range, in_place: np.ndarray = NO_PAGES) -> None:
        """Lines 13 to 27: pages to their owners, side by side, or to the device that is free."""
        again = self.whole is not None and not self.last and len(demand.numbers) == step.table.pages
        if self.dispatcher is not None and self.dispatcher.joined and step.direction != "notify":
            self.dispatcher.join(step, demand, in_place, again, chunk)
            return
        self.exchange.begin(step)
        if len(demand.numbers):
            weights = self.plan.weights and (step.direction != "notify" or self.plan.copies)
            stream(self.exchange, self.sources, demand, weights, again, in_place)

    def merge(self, step: Step, chunk: Range, slices: list[Range]) -> None:
        """Line 28: slices of all copies are combined and applied; then handed round, or stored."""
        began, code, sent = time.perf_counter(), self.code, self.exchange.bytes_exchanged

        def apply(device: Device, number: int) -> None:
            part = slices[number]
            if code.in_place or part[0] >= part[1]:
                return
            if step.keep:
                device.state.apply_again(part, step.everybody)
            else:
                device.state.apply(part)

        summed = self.whole is not None and step.direction == "pull"
        if self.dispatcher is not None:
            self.dispatcher.hand_in(slices)
        self.exchange.reduce(slices, step.table if summed else None, apply)
        self.hand_round(slices)
        if self.trace is not None:
            sent = self.exchange.bytes_exchanged - sent
            told = "" if self.exchange.ranks is None else f", {sent} bytes to other ranks"
            what = f"vertices {chunk[0]} to {chunk[1]}{told}"
            self.trace.span("driver", "merges", what, began, time.perf_counter())

    def hand_round(self, slices: list[Range]) -> None:
        """Bits, and values that stay on devices, to all devices. Line 29: other values to host memory. And partials."""
        self.exchange.gather(slices, self.resident)
        if not self.resident:
            self.exchange.store(slices)
        if self.code.totals:
            self.late.extend(self.exchange.partials(slices))

    def advance(self) -> None:
        """What was marked becomes the frontier, and new values those that are read."""
        if self.plan.double_buffer:
            host = self.host
            host.value, host.next_value = host.next_value, host.value
        for device in self.devices:
            device.state.advance()
        if self.dispatcher is not None:
            self.dispatcher.hand_ahead()

    def measure(self) -> Frontier:
        """Lines 31 and 32: the frontier, and totals from partials. Devices have nothing queued then but pages ahead."""
        frontier = self.look()
        self.sum_totals()
        return frontier

    def open(self) -> tuple[float, Counts]:
        """A superstep begins: when, by what was tried in vain earlier, and the counts so far."""
        began, self.vain_seconds = time.perf_counter() - self.vain_seconds, 0.0
        number = self.supersteps + 1
        self.last, self.order = number == self.limit, None
        self.code.set_superstep(number)
        return began, self.counts()

    def close(self, step: Step, frontier: Frontier, began: float, before: Counts) -> Frontier:
        """A superstep from `frontier` ends: it is measured and noted; the next frontier."""
        following = self.measure()
        ended, after = time.perf_counter(), self.counts()
        compiled = after[4] - before[4]
        if self.trace is not None:
            self.trace.span("driver", "supersteps", f"{step.direction}, {frontier.vertices} active", began, ended)
        self.note(
            StepStats(
                direction=step.direction, frontier=frontier.vertices, pages=after[0] - before[0],
                bytes_moved=after[1] - before[1], edges_visited=after[2] - before[2],
                bytes_read=after[3] - before[3], held=frontier.held,
                seconds=max(0.0, ended - began - compiled), compile_seconds=compiled,
            )
        )  # fmt: skip
        return following

    def values(self, stay: bool = False) -> Any:
        """value[V] in store order. stay: where they are, on the device or, of slices alone, in the memory of ranks."""
        stay &= self.exchange.ranks is None or self.plan.graph.own is not None
        if self.resident:
            return self.exchange.values(stay)
        assert self.host.value is not None
        return self.host.value


def stream(
    exchange: Exchange, sources: Sources, demand: Demand, weights: bool, again: bool = False,
    in_place: np.ndarray = NO_PAGES,
) -> None:  # fmt: skip
    """Lines 13 to 27: every page to the device that owns it, small pages first. Devices are in order afterwards.

    again: the next call is for the same pages. in_place: as for Supersteps.nested_loop.
    """
    given, feedings = sources.by_name[demand.table.name], []
    alone = len(exchange.partition.weights) == 1
    shares = [demand] if alone else demand.shares(exchange.partition, exchange.first)
    for device, source, share in zip(exchange.devices, given, shares, strict=False):  # cores' and later ranks' are last
        feedings.append(feed(device, source, share, weights, again, in_place))
    exchange.feed(feedings)


def own_share(exchange: Exchange, demand: Demand) -> int:
    """How many of the pages this process's devices have, about."""
    return len(demand.numbers) * len(exchange.devices) // exchange.partition.devices


def feed(
    device: Device, source: PageSource, demand: Demand, weights: bool, again: bool, in_place: np.ndarray
) -> Feeding:
    """Submit pages to a device, a batch a step: first those that its cache holds (lines 14 and 22), then the others.

    Does not wait for the last ones. again: as of feed_others.
    """
    others = device.run_cached_pages(demand.table, demand.numbers)
    if len(in_place) and len(others):
        others = read_in_place(device, source, demand, weights, others, in_place)
    if source.work is not None:
        source.work.count(len(demand.numbers) - len(others))
    yield  # other devices may begin
    if len(others):
        yield from feed_others(device, source, others, weights, again)
