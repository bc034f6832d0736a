"""Supersteps of small frontiers on the host's cores: one thread pushes along the lists of some vertices.

A road network is searched in hundreds of supersteps of some thousand vertices, a history of commits in thousands, and
the first and last ones of most graphs have few. The driver takes 0.2 to 0.4 ms for one: it looks at bitmaps, asks for
pages, cuts work into parts and wakes threads. One thread pushes along thousands of edges in that time. The values are
the same, and directions but where the driver estimates a frontier's edges from a part of it, of 4 Mi vertices and more.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from gstream.devices.host import HostDevice
from gstream.direction import Frontier
from gstream.hostcode.listed import are_read, list_active, list_following, pages_of
from gstream.hostcode.parts import RECORD_STRETCH, find_lists
from gstream.stats import StepStats

if TYPE_CHECKING:
    from gstream.superstep import Run

MOST_EDGES = 16384  # of a frontier, where many threads share other ones: at 20 ns an edge the driver is through, too


def small_steps(run: Run) -> SmallSteps | None:
    """None where not one host device alone has all values and pages, or a superstep does more than push."""
    device, code = run.devices[0], run.code
    here = len(run.devices) == 1 and run.plan.device.resident and not run.chooser.streamed
    simple = code.in_place and "push" in run.plan.directions
    return SmallSteps(run, device) if here and simple and isinstance(device, HostDevice) else None


def most_edges(threads: int) -> int:
    """Up to how many edges, of half as many lists at most, one thread is sooner through than the driver with so many.

    It takes a list as two edges.
    """
    return MOST_EDGES * threads // (threads - 1) if threads > 1 else 4 * MOST_EDGES


class SmallSteps:
    """Those of one run, whose frontier is a list of vertices from one to the next."""

    def __init__(self, run: Run, device: HostDevice) -> None:
        self._run, self._device, self._table = run, device, run.plan.table("push")
        self._there = run.engine.in_memory(self._table, run.plan.weights)
        self._rows, self._degree = self._table.all_pages(), run.job.host.degree
        self._most = most_edges(run.engine.options.host_threads)
        self._listed = np.empty(min(self._most // 2, run.plan.graph.vertices), np.uint64)
        self._records = np.empty((len(self._listed) + self._most // RECORD_STRETCH + 1, 5), np.int64)
        self._found = (0, 0)  # vertices and edges of the frontier that is listed
        self._frontier: Frontier | None = None

    def push(self, frontier: Frontier, began: float) -> Frontier | None:
        """Make a superstep that began then; the next frontier. None: the driver has to, and nothing was done."""
        if frontier.held or frontier.vertices > len(self._listed) or frontier.edges > self._most:
            return None
        state, run = self._device.state, self._run
        if frontier is not self._frontier:
            self._found = list_active(state.active, self._degree, self._listed)
        vertices, edges = self._found
        records = self._find(self._listed[:vertices]) if edges <= self._most else None
        if records is None:
            return None
        weights = state.code.no_weights if self._there.weights is None else self._there.weights
        state.counter[0] = 0
        looked = state.code.push_records(
            self._there.words, weights, records, state.counter, state.value, 0, self._degree, state.active,
            state.value, *state.chunk, state.next, state.code.ints, state.code.floats,
        )  # fmt: skip
        self._found = list_following(state.active, state.next, vertices, self._degree, self._listed)
        state.active, state.next, run.stale = state.next, state.active, True
        following, pages = self._look(), int(pages_of(records, self._table.small_pages))
        self._frontier = following
        moved = self._table.bytes_of(pages, self._there.weights is not None)
        self._device.count(int(looked), pages, moved)
        ended = time.perf_counter()
        if run.trace is not None:
            run.trace.span("driver", "supersteps", f"push by one thread, {vertices} active", began, ended)
        run.note(
            StepStats(
                direction="push", frontier=vertices, pages=pages, bytes_moved=moved, edges_visited=int(looked),
                seconds=ended - began,
            )
        )  # fmt: skip
        return following

    def _find(self, listed: np.ndarray) -> np.ndarray | None:
        """The lists (int64[n, 5]) of vertices; None where a page of them has not been read, or there is no room (as in
        a store whose degrees lie)."""
        table, there = self._table, self._there
        first, last, small = table.first_vertex, table.last_vertex, table.small_pages
        if not (there.read.all() or are_read(there.read, first, last, small, listed)):
            return None
        count = find_lists(there.words, self._rows, first, last, small, listed, 0, RECORD_STRETCH, self._records)
        return self._records[:count] if count <= len(self._records) else None

    def _look(self) -> Frontier:
        """The next frontier, cut where it is to be."""
        run, near, (vertices, edges) = self._run, self._run.near, self._found
        if near is None:
            return run.chooser.frontier_of(vertices, edges)
        if edges < near.least_edges:
            following = run.chooser.frontier_of(vertices, edges)
        else:
            self._device.hold_back(near.step, near.least_edges)
            following = run.look()
        near.note(following.held)
        return following
