"""Supersteps on one GPU that are queued before it is known what they find (cuda/ahead.cu): it never waits for Python.

A few supersteps are queued at a time; what each of them was is read from pinned memory once it is over, while others go
on. Those that were queued in vain, after the last one or after one that needs a page which is not cached, return at
once.
"""

from __future__ import annotations

import numpy as np

from gstream.devices.ahead import DIRECTIONS, NO_WAY, TOLD, Made, Rules
from gstream.devices.base import Device, Step
from gstream.devices.cuda import suspects
from gstream.devices.gpupool import AT_ONCE, GpuTable, PagePool
from gstream.devices.gpuqueue import Launch
from gstream.devices.gpustate import GpuState
from gstream.devices.gpuwork import ProgramWork

PULLS, REOPENS, STALE, PAGES, FRONTIER, WAYS = 1, 2, 3, 7, 8, 10  # words of struct Ahead, and of what follows it
WAY_WORDS = 8  # of struct Way


def run(
    device: Device, state: GpuState, pool: PagePool, work: ProgramWork, rules: Rules, first: int, limit: int | None
) -> Made | None:  # fmt: skip
    """What Device.run_ahead says; `device`: whose figures count."""
    if "decide_kernel" not in state.kernels:
        return None
    made = Ahead(state, pool, work, rules).go(first, limit)
    pages = sum(told["pages"] for told in made.told[1:])
    device.stats.pages += pages
    device.stats.cache_hits += pages
    device.stats.edges += sum(told["looked"] for told in made.told[1:])
    state.queued.clear()
    return made


class Ahead:
    """The supersteps of one job, whose values are all on the GPU and combined in place."""

    def __init__(self, state: GpuState, pool: PagePool, work: ProgramWork, rules: Rules) -> None:
        self.state, self.pool, self.work, self.gpu, self.rules = state, pool, work, state.gpu, rules
        self._tables = [None if table is None else pool.tables[table.name] for table in rules.tables]
        self._launches = [
            None if known is None else self._launch_of(known, number) for number, known in enumerate(self._tables)
        ]
        self._most_pages = max(known.table.pages for known in self._tables if known is not None)
        self._numbers = state.buffer("ahead", WAYS + 2 * WAY_WORDS, np.uint64)
        self._told, self._over = pool.told, pool.over

    def _launch_of(self, known: GpuTable, number: int) -> Launch:
        where = self.pool.pages.address, self.pool.weights.address, known.claims(number)
        return Launch(*where, known, known.table.all_pages(), known.chosen.address, known.table.pages, None)

    def go(self, first: int, limit: int | None) -> Made:
        """Make supersteps from number `first` on, up to number `limit`, as far as they need nobody else; the rules are
        carried on. The bitmap of the following frontier must be clear."""
        self._begin()
        state, queued, only, made = self.state, first, False, Made()
        bitmaps = [(state.active, state.next)]
        while True:
            only = limit is not None and queued > limit
            self._queue(queued, only)
            bitmaps.append((state.active, state.next))
            queued += 1
            while queued - (first + len(made.told)) > (0 if only else AT_ONCE):
                told = self._wait(first + len(made.told))
                made.told.append(told)
                if told["way"] == NO_WAY or told["blocked"]:
                    state.active, state.next = bitmaps[made.count]
                    self.rules.take(told)
                    made.blocked = DIRECTIONS[told["way"]] if told["blocked"] else None
                    return made

    def _begin(self) -> None:
        """Queue the copy of what the GPU goes by: it is pinned, and what was queued before does not read it."""
        rules, numbers, state = self.rules, np.zeros(WAYS + 2 * WAY_WORDS, np.uint64), self.state
        numbers[STALE:PAGES] = rules.stale, rules.unexplored, rules.pulled, rules.last_vertices
        numbers[FRONTIER:WAYS] = rules.vertices, rules.edges
        for number, known in enumerate(self._tables):
            if known is not None:
                known.locate(self.pool.ring)
                at = WAYS + number * WAY_WORDS
                numbers[at : at + WAY_WORDS] = known.way(number)
        staging = self._told[len(self._over) :].reshape(-1)
        staging[: len(numbers)] = numbers
        state.copy_words(staging.ctypes.data, self._numbers.address, len(numbers))
        state.copy_words(self._numbers.at(FRONTIER), state.answers.address, WAYS - FRONTIER)

    def _queue(self, number: int, only: bool) -> None:
        """Queue a superstep, or only what would be its frontier."""
        state, rules, at = self.state, self.rules, self._numbers.at
        told = self._told[number % len(self._over)].ctypes.data
        state.code.set_superstep(number)
        state.launch(
            "decide_kernel", 1, at(0), state.answers.address, at(PAGES), rules.ways, rules.all_edges, rules.few,
            rules.alpha, int(only), told,
        )  # fmt: skip
        if not only:
            self._look_at_heads()
            bits = state.remain if rules.heads else state.open
            blocks = state.blocks(self._most_pages, 8)
            state.launch("count_ahead_kernel", blocks, at(0), at(WAYS), state.active.address, bits.address)
            state.launch("select_pages_kernel", 1, at(0), at(WAYS), at(PAGES), told)
            for direction, launch in zip(DIRECTIONS, self._launches, strict=True):
                if launch is not None:
                    remain = direction == "pull" and rules.heads > 0
                    self.work.begin(Step(direction, launch.table.table, remain=remain))
                    self.work.launch(launch, state.stream)
            state.active, state.next = state.next, state.active
            state.launch(
                "advance_kernel", state.blocks(2 * state.words, 256), at(0), state.active.address, state.next.address,
                state.words, state.degree.address, int(rules.ways == 3), state.answers.address,
            )  # fmt: skip
        self._over[number % len(self._over)].record(state.stream)

    def _look_at_heads(self) -> None:
        pulled, rules = self.rules.tables[1], self.rules
        if pulled is None:
            return
        self.state.reopen(due=self._numbers.at(REOPENS))
        if rules.heads:
            self.state.heads(Step("pull", pulled), (0, rules.heads), due=self._numbers.at(PULLS))

    def _wait(self, number: int) -> dict[str, int]:
        """What is told of a superstep, once it is over."""
        row = number % len(self._over)
        try:
            self._over[row].synchronize()
        except self.gpu.cuda.Error as error:
            raise self.gpu.failure(suspects(list(dict.fromkeys(self.state.queued))), error) from error
        return dict(zip(TOLD, self._told[row].tolist(), strict=True))
