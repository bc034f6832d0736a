"""Garaph's dispatcher (5.1): devices with memory of their own, and the host's cores beside them, share a superstep.

A device runs what its page cache holds first. The pages that must come to it wait in stretches: the device takes them
from the end, a batch at a time, and the cores from the beginning, whoever is free. In degree order the first pages hold
few vertices with long lists, so that the cores give back few sums.

Equation (3) decides each superstep whether the cores take part, by times measured before: with both, n
pages take (n + r_cores * out) / (r_devices + r_cores) + in, alone n / r_devices. r are pages a second; out, in are the
times of handing attributes to the cores and taking in what they got. The cores wait for the first, all for the second.

Fixed shares (RunOptions.dispatch) give the cores the first pages of a sweep, as many in every superstep. Sums of floats
repeat bit by bit then; with shares that depend on who is free they agree but for rounding.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.devices.base import Call, Device, Feeding
from gstream.devices.host.beside import BesideDevice, needed_bytes
from gstream.devices.job import Range, Step
from gstream.engine.demand import Demand
from gstream.engine.run_state import RunState
from gstream.paging.ownership import cut_batches
from gstream.paging.page_source import PageSource, nothing
from gstream.paging.page_table import NO_PAGES, PageTable

# Batches that a device may have queued before it takes the next: what is queued can't go to the cores. More of them, a
# fourth of those that are left, keep the link busy where threads that wake up hold the other thread back; no more than
# the link takes QUEUE_S for. So long, too, it copies ahead for the next superstep: while others merge. The last batches
# are smaller, as far as the link takes BATCH_S for one, so that all are through at once.
IN_FLIGHT, QUEUED, QUEUE_S, BATCH_S = 2, 4, 4e-3, 0.3e-3
AT_ONCE = 0.75  # of their share of what is left, that the cores take; waking their threads delays the other thread, too
LEAST_PAGES = 8  # worth it
WORTH = 0.97  # of the time without the cores: what it must fall to
WEIGHT = 0.5  # of the last superstep in a measured rate
PATIENCE = 2  # supersteps in a row that the cores made longer, before they are left out for the rest of a run,
MOST_RUNS = 64  # and for 1, 2, 4, ... runs more, each time that one more try was in vain


class Stretches:
    """Pages that must come to one device, as batches (int64[n] each, ascending): taken from both ends."""

    def __init__(self, batches: Sequence[np.ndarray]) -> None:
        self.batches = list(batches)
        self._low, self._high = 0, len(self.batches)  # batches of which pages are left
        self._cut = 0  # pages of the lowest batch that are taken,
        self._end = 0  # and of the highest, from its end
        self.left = sum(map(len, self.batches))
        self._lock = threading.Lock()

    @property
    def batches_left(self) -> int:
        return self._high - self._low

    def take_last(self, most: int) -> np.ndarray:
        """Up to `most` of the last pages, of one batch; int64[0]: all are taken."""
        with self._lock:
            if self._low >= self._high:
                return NO_PAGES
            taken = self._of(self._high - 1)[-most:]
            self._end += len(taken)
            self._took(self._high - 1, taken)
            return taken

    def take_first(self, most: int) -> np.ndarray:
        """Up to `most` of the first pages."""
        found: list[np.ndarray] = []
        with self._lock:
            while most > 0 and self._low < self._high:
                found.append(self._of(self._low)[:most])
                most -= len(found[-1])
                self._cut += len(found[-1])
                self._took(self._low, found[-1])
        return np.concatenate(found) if found else NO_PAGES

    def _of(self, number: int) -> np.ndarray:
        """What is left of the lowest or highest batch."""
        batch = self.batches[number]
        first = self._cut if number == self._low else 0
        return batch[first : len(batch) - (self._end if number == self._high - 1 else 0)]

    def _took(self, number: int, taken: np.ndarray) -> None:
        """Count pages, and go on to the next batch where none is left of this one."""
        self.left -= len(taken)
        if len(self._of(number)) == 0:
            if number == self._low:
                self._low, self._cut = number + 1, 0
            if number == self._high - 1:
                self._high, self._end = number, 0

    def close(self) -> None:
        """Nobody takes any more."""
        with self._lock:
            self._low, self.left = self._high, 0


@dataclass
class Learnt:
    """Of a program's steps over a topology: pages a second of the devices, and of the cores; supersteps in a row that
    the cores made longer; runs that are still to pass without another try, and how many they were at first."""

    devices: float
    cores: float
    worse: int = 0
    measured: bool = False
    rest: int = 0
    runs: int = 0

    def begin_run(self) -> None:
        """Cores that made supersteps longer have one more try, once enough runs have passed without them."""
        if self.worse < PATIENCE:
            return
        if self.rest > 0:
            self.rest -= 1
        else:
            self.worse = PATIENCE - 1

    def compare(self, longer: bool) -> None:
        """A superstep of both has ended; longer: than it would have been without the cores."""
        self.worse = self.worse + 1 if longer else 0
        if self.worse >= PATIENCE:
            self.rest = self.runs = min(MOST_RUNS, max(1, 2 * self.runs))
        elif not longer:
            self.runs = 0

    def measure(self, devices: tuple[int, float], cores: tuple[int, float]) -> None:
        """Pages and seconds of both in a superstep."""
        for name, (pages, seconds) in (("devices", devices), ("cores", cores)):
            if pages and seconds > 0:
                last, rate = getattr(self, name), pages / seconds
                setattr(self, name, (1 - WEIGHT) * last + WEIGHT * rate if self.measured else rate)
        self.measured = True


class Dispatcher:
    """Shares out the pages of one run's supersteps; `serve` runs a call in a thread of its own.

    joined: the cores take part in the superstep that goes on.
    """

    def __init__(self, run: RunState, cores: BesideDevice, serve: Callable[..., Future[Any]]) -> None:
        self._run, self._cores, self._serve = run, cores, serve
        self.joined = False
        self._fixed = run.engine.options.dispatch == "fixed"
        self._told = 0, 0.0  # pages that the cores have taken, seconds they took
        self._there: Call | None = None  # waits for attributes that are on their way to the next superstep
        self._fed = 0.0  # when the devices had finished theirs
        self._begun = False  # whether the cores have taken part before
        for learnt in cores.learnt.values():
            learnt.begin_run()

    # Equation (3)

    def begin(self, step: Step, demand: Demand, in_place: np.ndarray) -> None:
        """A superstep begins: whether the cores take part. They leave steps that keep sums to the devices."""
        may = len(demand.numbers) > 0 and not step.keep
        self.joined = may and (self._fixed or self._pays(step, demand, in_place))
        if not self.joined:
            self._there = None

    def _pays(self, step: Step, demand: Demand, in_place: np.ndarray) -> bool:
        source = self._run.sources.by_name[demand.table.name][0]
        few = IN_FLIGHT * source.plan.batch_pages
        if len(demand.numbers) - len(in_place) <= few or not source.plan.resident or source.unread:
            return False
        learnt = self._learnt(step, demand.table)
        missing = self._run.chooser.missing(demand).numbers
        pages = len(missing) - len(in_place)
        if pages <= few or learnt.worse >= PATIENCE:
            return False
        devices, cores = learnt.devices, learnt.cores
        out, back = self._exchange_seconds(step, missing[: int(pages * cores / (devices + cores)) + 1], demand.table)
        both = (pages + cores * out) / (devices + cores) + back
        return both < WORTH * self._alone(step, demand.table, pages)

    def _learnt(self, step: Step, table: PageTable) -> Learnt:
        """Rates of earlier supersteps and runs, or as the plan's constants say."""
        key = type(self._run.code.program), table.name, step.direction
        if key not in self._cores.learnt:
            self._cores.learnt[key] = Learnt(*self._run.plan.page_rates(table, step.direction))
        known: Learnt = self._cores.learnt[key]
        return known

    def _alone(self, step: Step, table: PageTable, pages: int) -> float:
        """Seconds that the devices take for so many pages without the cores."""
        return pages / self._run.plan.page_rates(table, step.direction)[0]

    def _exchange_seconds(self, step: Step, pages: np.ndarray, table: PageTable) -> tuple[float, float]:
        """Times of handing attributes to the cores, and of taking in what they got from pages (int64[n])."""
        plan, code = self._run.plan, self._run.code
        assert plan.cores is not None
        out = needed_bytes(code, plan.cores, step, plan.graph.vertices)
        vertices = plan.device.chunk
        if step.direction == "pull":
            vertices = int(table.last_vertex[pages].max()) - int(table.first_vertex[pages].min())
        size = (code.value_dtype if code.in_place else code.got_dtype).itemsize
        return out / plan.constants.c1, vertices * size / plan.constants.c1

    # Pages

    def join(self, step: Step, demand: Demand, in_place: np.ndarray, again: bool, chunk: Range) -> None:
        """The pages of a superstep, or of a chunk of it, to devices and cores. Devices are in order afterwards."""
        run, cores, table = self._run, self._cores, demand.table
        exchange, sources = run.exchange, run.sources.by_name[table.name]
        cores.begin(step)  # takes memory, the first time
        began = time.perf_counter()
        exchange.with_cores = True
        exchange.begin(step)
        exchange.with_cores = False
        slices = next(slices for known, slices in run.slices if known == chunk)
        there, self._there = self._there or exchange.hand_out(slices, cores.state, cores.state.needed(step)), None
        shares = demand.shares(exchange.partition)
        if self._fixed:
            devices, rate = run.plan.page_rates(table, step.direction)
            cuts = [int(len(share.numbers) * rate / (devices + rate)) for share in shares]
            first = [share.numbers[:cut] for share, cut in zip(shares, cuts, strict=True)]
            shares = [share.among(share.numbers[cut:]) for share, cut in zip(shares, cuts, strict=True)]
            pools = [Stretches(cut_batches(part, table.stretch, table.stretch, table.small_pages)) for part in first]
        feedings, waiting = [], list[Stretches]()
        for device, source, share in zip(run.devices, sources, shares, strict=False):
            others = device.run_cached_pages(table, share.numbers)
            if len(in_place) and len(others):
                others = read_in_place(device, source, share, run.plan.weights, others, in_place)
            if source.work is not None:
                source.work.count(len(share.numbers) - len(others))
            if self._fixed:
                feedings.append(feed_others(device, source, others, run.plan.weights, again))
                continue
            batches = cut_batches(others, table.stretch, source.plan.batch_pages, table.small_pages)
            waiting.append(Stretches(batches))
            feedings.append(self._feed(device, source, waiting[-1], again, self._learnt(step, table)))
        pools, pages = (pools, 0) if self._fixed else (waiting, sum(one.left for one in waiting))
        self._side_by_side(self._work(step, there, pools, sources[-1], chunk), feedings, pools)
        if pages:
            self._compare(step, table, pages, began)

    def _compare(self, step: Step, table: PageTable, pages: int, began: float) -> None:
        """Learn from a superstep in which so many pages were shared out; not from the first, in which kernels may be
        compiled."""
        first, self._begun = not self._begun, True
        if first:
            return
        learnt = self._learnt(step, table)
        learnt.measure((pages - self._told[0], self._fed - began), self._told)
        learnt.compare(time.perf_counter() - began > self._alone(step, table, pages))

    def _side_by_side(self, work: Feeding, feedings: list[Feeding], pools: list[Stretches]) -> None:
        """The cores work in another thread while this one feeds the devices."""
        future = self._serve(lambda: deque(work, maxlen=0))
        try:
            self._run.exchange.feed(feedings)
            self._fed = time.perf_counter()
        except BaseException:
            for pool in pools:
                pool.close()
            raise
        finally:
            try:
                wait([future])
            except BaseException:  # a signal
                for pool in pools:
                    pool.close()
                wait([future])
                raise
        future.result()

    def _work(
        self, step: Step, there: Callable[..., Any], pools: list[Stretches], source: PageSource, chunk: Range
    ) -> Feeding:  # fmt: skip
        """The cores' part: pages of any pool, first of that which has most left."""
        run, cores = self._run, self._cores
        there()
        self._load(step, chunk)
        began, taken = time.perf_counter(), 0
        try:
            while len(numbers := self._next(step, pools)):
                for batch in source.batches(numbers, True, nothing, run.plan.weights):
                    cores.submit(batch)
                    yield
                taken += len(numbers)
            cores.finish(step)
        except BaseException:
            for pool in pools:
                pool.close()  # devices end soon, and the error is raised
            raise
        self._told = taken, time.perf_counter() - began

    def _next(self, step: Step, pools: list[Stretches]) -> np.ndarray:
        """Most of the cores' share of what is left: less and less, so that all are through at once."""
        pool = max(pools, key=lambda pool: pool.left)
        if self._fixed:
            return pool.take_first(pool.left)
        learnt = self._learnt(step, self._cores.step.table)
        fair = sum(pool.left for pool in pools) * learnt.cores / (learnt.devices + learnt.cores)
        return pool.take_first(max(LEAST_PAGES, int(AT_ONCE * fair))) if fair >= LEAST_PAGES else NO_PAGES

    def _load(self, step: Step, chunk: Range) -> None:
        """Attributes that lie in host memory, where they come to devices by chunks."""
        run, state = self._run, self._cores.state
        if run.resident:
            return
        if step.direction == "pull" and run.copies_source and chunk == run.slices[0][0]:
            for every, _ in run.slices:  # old values: none of this superstep's is there yet
                state.load(every, values=True)
                state.refresh(every)
        state.load(chunk, values=True)

    def _feed(self, device: Device, source: PageSource, waiting: Stretches, again: bool, learnt: Learnt) -> Feeding:
        """A device's part of the pages. again: some of the first are copied for the next superstep."""
        weights, rate = self._run.plan.weights, learnt.devices / len(self._run.devices)
        most = max(IN_FLIGHT, int(rate * QUEUE_S / source.plan.batch_pages))
        least, share = max(LEAST_PAGES // 2, int(rate * BATCH_S)), learnt.devices / (learnt.devices + learnt.cores)
        while True:
            while device.behind >= max(IN_FLIGHT, min(most, waiting.batches_left // QUEUED)):
                device.wait_for_room()
            if len(numbers := waiting.take_last(max(least, int(share * waiting.left / QUEUED)))) == 0:
                break
            for batch in source.batches(numbers, False, device.wait_for_room, weights):
                device.submit(batch)
            yield
        for numbers in waiting.batches[: -most - 1 : -1] if again else ():
            for batch in source.first_again(numbers, weights):
                if not device.submit_ahead(batch):
                    return
                yield

    def hand_ahead(self) -> None:
        """A superstep is over: what the next one needs goes to the cores while the driver looks at it, where that is
        the same step, and `apply` has made its messages."""
        run = self._run
        if self.joined and run.whole is not None and run.exchange.sent and not run.last:
            state = self._cores.state
            self._there = run.exchange.hand_out(run.slices[0][1], state, state.needed(run.whole[0]))

    def hand_in(self, slices: list[Range]) -> None:
        """What the cores got to the devices, where they took part."""
        if self.joined:
            self._run.exchange.take_in(slices, self._cores.state)


def feed_others(device: Device, source: PageSource, others: np.ndarray, weights: bool, again: bool) -> Feeding:
    """Submit pages (int64[n]) that a device does not hold, a batch a step.

    Does not wait for the last ones. again: reading and copying go on for the next call meanwhile.
    """
    if len(others) == 0:
        return
    table = source.table
    pieces = min(device.pieces, len(others)) if source.plan.resident else 1
    for pages in np.array_split(others, pieces):
        with closing(source.batches(pages, device.in_place, device.wait_for_room, weights, again)) as batches:
            for batch in batches:
                device.submit(batch)
                yield
    for batch in source.first_again(device.absent(table, others), weights) if again and not device.in_place else ():
        if not device.submit_ahead(batch):
            break
        yield


def read_in_place(
    device: Device, source: PageSource, demand: Demand, weights: bool, others: np.ndarray, in_place: np.ndarray
) -> np.ndarray:
    """Submit those of the pages `others` (int64[n]) that are to be read in host memory; returns the rest."""
    sparse = source.lying(others[np.isin(others, in_place, assume_unique=True)], weights)
    if len(sparse.numbers) == 0:
        return others
    device.stats.bytes_moved += int(demand.among(sparse.numbers).bytes_in_place(weights).sum())
    device.stats.pages_in_place += len(sparse.numbers)
    device.submit_in_place(sparse)
    return others[np.isin(others, sparse.numbers, assume_unique=True, invert=True)]
