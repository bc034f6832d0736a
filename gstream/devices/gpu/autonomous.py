"""Supersteps on one GPU that are queued before it is known what they find (cuda/ahead.cu): it never waits for Python.

A few supersteps are queued at a time; what each of them was is read from pinned memory once it is over, while others go
on. Those that were queued in vain, after the last one or after one that needs a page which is not cached, return at
once. Queueing takes Python longer than a small frontier takes the GPU, so there is as little of it as can be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.devices.base import Device
from gstream.devices.gpu.page_pool import AT_ONCE, COURSE_WORDS, TOLD, WAY_WORDS, WAYS, PagePool
from gstream.devices.gpu.vertex_state import GpuState
from gstream.devices.job import DIRECTIONS, Made, Rules

NO_WAY = 2  # in place of a direction: there is no superstep
PULLS, REOPENS, STALE, WANTED, RULES = 1, 2, 3, 7, 10  # where things are in struct Course, as WAYS
FRONTIER = WAYS + 2 * WAY_WORDS + 2


def run(device: Device, state: GpuState, pool: PagePool, rules: Rules, first: int, limit: int | None) -> Made | None:
    """What Device.run_ahead says; `device`: whose figures count."""
    if "decide_kernel" not in state.kernels:
        return None
    made = Ahead(state, pool, rules).go(first, limit)
    pages = sum(told["pages"] for told in made.told[1:])
    device.stats.pages += pages
    device.stats.cache_hits += pages
    device.stats.edges += sum(told["looked"] for told in made.told[1:])
    return made


class Ahead:
    """The supersteps of one job, whose values are all on the GPU and combined in place."""

    def __init__(self, state: GpuState, pool: PagePool, rules: Rules) -> None:
        self.state, self.rules, self.gpu = state, rules, state.gpu
        self.pool, self._told = pool, pool.told  # events are the pool's alone: an error's traceback keeps this
        self._ways = [None if table is None else pool.tables[table.name] for table in rules.tables]
        course = np.zeros(COURSE_WORDS, np.uint64)
        course[STALE:WANTED] = rules.stale, rules.unexplored, rules.pulled, rules.last_vertices
        course[RULES:WAYS] = rules.ways, rules.all_edges, rules.few, rules.alpha
        course[FRONTIER : FRONTIER + 2] = rules.vertices, rules.edges
        for number, way in enumerate(self._ways):
            if way is not None:
                way.locate(pool.ring)
                course[WAYS + number * WAY_WORDS : WAYS + (number + 1) * WAY_WORDS] = way.way()
        pool.course[:] = course
        self._course = state.buffer("course", COURSE_WORDS, np.uint64)
        state.copy_words(pool.course.ctypes.data, self._course.address, COURSE_WORDS)
        state.copy_words(self._course.at(FRONTIER), state.answers.address, 2)
        self._prepare(pool)

    def _prepare(self, pool: PagePool) -> None:
        """What is the same in every superstep: launchers, blocks, arguments."""
        state, at, kernels = self.state, self._course.at, self.state.kernels
        pages = max(way.table.pages for way in self._ways if way is not None)
        parts = max(int(way.part_of[-1]) for way in self._ways if way is not None)
        table = next(way.table for way in self._ways if way is not None)
        bits = (state.remain if self.rules.heads else state.open).address
        self._heads: tuple[Any, ...] | None = None
        if self._ways[1] is not None and self.rules.heads:
            heads, skip = state.heads_of[self._ways[1].table.name]
            self._heads = (
                at(PULLS), at(REOPENS), heads.address, skip, state.open.address, state.remain.address,
                state.value.address, state.degree.address,
            )  # fmt: skip
        self._reopens = self._ways[1] is not None and not self.rules.heads and state.code.has_done
        self._select = kernels["select_pages_kernel"], state.blocks(pages, 32)
        traverse = kernels["traverse_kernel"]
        self._traverse = traverse, traverse.blocks(parts)
        self._pages = (
            at(0), pool.pages.address, pool.weights.address, table.layout.words, state.value.address,
            state.job.vertices, state.degree.address,
        )  # fmt: skip
        self._bits = bits
        self._advance = kernels["advance_kernel"], state.blocks(2 * state.words, 256)
        state.queued.extend(f"{name} of {state.unit.program}" for name in ("pull_heads_kernel", "traverse_kernel"))

    def go(self, first: int, limit: int | None) -> Made:
        """Make supersteps from number `first` on, up to number `limit`, as far as they need no host; the rules are
        carried on. The bitmap of the following frontier must be clear."""
        state, number, queued, made = self.state, first, first, Made()
        state.kernels["decide_kernel"](state.stream, 1, self._course.address, state.answers.address, self._row(first))
        bitmaps = [(state.active, state.next)]
        while True:
            while queued - number < AT_ONCE and (limit is None or queued <= limit):
                self._queue(queued, queued == limit)
                bitmaps.append((state.active, state.next))
                queued += 1
            self._wait(number)
            here = self._read(number)
            made.told[-1:] = [here]  # it may be blocked, which was not known before
            if here["blocked"] or here["way"] == NO_WAY:
                made.blocked = DIRECTIONS[here["way"]] if here["blocked"] else None
                break
            number += 1
            made.told.append(self._read(number))
            if made.told[-1]["way"] == NO_WAY:
                break
        state.active, state.next = bitmaps[made.count]
        state.queued.clear()
        self.rules.take(made.told[-1])
        return made

    def _queue(self, number: int, last: bool) -> None:
        """Queue a superstep; last: none follows it."""
        state, stream = self.state, self.state.stream
        state.code.set_superstep(number)
        context, active, following = state.context, state.active.address, state.next.address
        edges = state.counter
        if self._heads is not None:
            kernel, rows = state.kernels["pull_heads_kernel"], self.rules.heads
            given = (*self._heads, active, following, 0, rows, edges, context)
            kernel(stream, state.blocks(rows, 256), *given)
        elif self._reopens:
            state.reopen(due=self._course.at(REOPENS))
        kernel, blocks = self._select
        kernel(stream, blocks, self._course.address, active, self._bits, self._row(number))
        kernel, blocks = self._traverse
        kernel(stream, blocks, *self._pages, active, self._bits, following, edges, context)
        state.active, state.next = state.next, state.active
        kernel, blocks = self._advance
        kernel(
            stream, blocks, self._course.address, following, active, state.words, state.degree.address,
            state.answers.address, int(last), self._row(number + 1),
        )  # fmt: skip
        self.pool.over[number % len(self.pool.over)].record(stream)

    def _row(self, number: int) -> int:
        """Address of the figures of a superstep."""
        return int(self._told.ctypes.data + number % len(self._told) * self._told.strides[0])

    def _read(self, number: int) -> dict[str, int]:
        return dict(zip(TOLD, self._told[number % len(self._told)].tolist(), strict=True))

    def _wait(self, number: int) -> None:
        """Return when a superstep is over."""
        with self.gpu.suspecting(self.state.queued):
            self.pool.over[number % len(self.pool.over)].synchronize()
