"""Supersteps of small frontiers on the host's cores: one thread pushes along the lists of some vertices.

A road network is searched in hundreds of supersteps of some thousand vertices, a history of commits in thousands, a
path in as many as it has vertices. The driver takes 0.2 to 0.4 ms for one: it looks at bitmaps, asks for pages, cuts
work into parts and wakes threads. One thread pushes along thousands of edges in that time, and goes on from superstep
to superstep in compiled code as long as frontiers stay small (hostcode/templates/onward.py). The values are the same,
and directions but where the driver estimates a frontier's edges from a part of it, of 4 Mi vertices and more.

A store that has in-lists alone is searched by pulls, which look at all lists of open vertices in every superstep. After
some of these, with few active vertices, the thread turns the lists round, where the plan leaves room, and pushes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.engine.delta_stepping import first_step
from gstream.engine.direction import ALPHA, Frontier
from gstream.engine.one_thread import NO_LIMIT, WORK, Arrays, OfHosts, hosts_of, note_told, room_to_tell
from gstream.engine.run_state import Order, RunState
from gstream.engine.whole_lists import WholeLists, stored_lists, turned_lists
from gstream.hostcode.bitmaps import count_pages, list_bits
from gstream.hostcode.parts import RECORD_STRETCH
from gstream.hostcode.small_frontier import list_active
from gstream.language.python_printer import FIXED_INTS
from gstream.telemetry.compiling import Stopwatch

MOST_EDGES = 16384  # of a frontier, where many threads share other ones: at 20 ns an edge the driver is through, too
MOST_WAITING = 1 << 20  # vertices, 8 bytes each
PULLS = 8  # in a row with small frontiers, before lists are turned round: that takes as long as some of them
# Widest paths do not get narrower with every edge, so that near ones improve each other on and on: on a grid of 500,000
# vertices 23 times the edges were looked at, and twice with so much finer steps.
FINER = 64


def most_edges(threads: int) -> int:
    """The most edges of a frontier that one thread pushes sooner than the driver does with `threads` threads.

    A list counts as two edges.
    """
    return MOST_EDGES * threads // (threads - 1) if threads > 1 else 4 * MOST_EDGES


def keys_of(value: np.ndarray, combine: str) -> np.ndarray:
    """What least values send first by, float64 (gstream.hostcode.templates.methods)."""
    if combine == "OR":
        return np.zeros(len(value))
    keys = value.astype(np.float64)
    return -keys if combine == "MAX" else keys


@dataclass
class Lists:
    """What the kernel writes (hostcode/templates/onward.py). most: edges of a frontier; most_waiting: vertices."""

    most: int
    most_waiting: int
    lists: np.ndarray
    waiting: np.ndarray
    sent: np.ndarray
    records: np.ndarray
    stamps: np.ndarray

    @classmethod
    def of(cls, run: RunState, most: int) -> Lists:
        """Not written yet, so that they take no memory."""
        vertices = run.plan.graph.vertices
        listed = min(most // 2, vertices)
        most_waiting = min(MOST_WAITING, vertices) if is_ordered(run.code) else 0
        return cls(
            most, most_waiting, lists=np.empty((2, listed), np.uint64),
            # A superstep may add an entry for each edge, beside stale ones.
            waiting=np.empty(most_waiting + most if most_waiting else 0, np.uint64),
            sent=np.empty(listed, run.code.value_dtype),
            records=np.empty((listed + most // RECORD_STRETCH + 1, 5), np.int64),
            stamps=np.zeros(1 if turns(run) else run.plan.table("push").pages, np.int64),
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.lists, self.waiting, self.sent, self.records, self.stamps))


def turns(run: RunState) -> bool:
    """Whether in-lists are there alone."""
    return "push" not in run.plan.directions


def pushes_on(run: RunState) -> bool:
    """Whether a superstep does no more than push, or may."""
    return (not turns(run) or run.engine.options.direction == "auto") and run.code.push_onward is not None


def is_ordered(code: Any) -> bool:
    """Whether least values send first, which others improve."""
    return bool(code.in_place and code.uses_edge and not code.has_done)


class SmallFrontier:
    """Those of one run, whose frontier stays a list of vertices (gstream.engine.run_state.FastPath)."""

    @classmethod
    def applies(cls, run: RunState) -> bool:
        """Host devices have all values and pages, a superstep does no more than push, and the plan leaves room for the
        lists."""
        most = most_edges(run.engine.options.host_threads)
        return bool(hosts_of(run)) and pushes_on(run) and Lists.of(run, most).nbytes <= run.plan.spare_bytes

    def __init__(self, run: RunState, arrays: Arrays | None = None, made: Lists | None = None) -> None:
        """arrays, made: those of the host devices, unless others are given."""
        self._run, self._arrays, self._degree = run, arrays or OfHosts(run, hosts_of(run)), run.host.degree
        self._made = made or Lists.of(run, most_edges(run.engine.options.host_threads))
        run.engine.note_peak(self._made.nbytes)
        self._turns = turns(run)
        self._table = run.plan.table("pull" if self._turns else "push")
        self._there: WholeLists | None = None if self._turns else stored_lists(run, self._table)
        self._pulls = 0  # in a row with small frontiers
        self._ahead = False  # other devices have older values
        self._listed, self._waiting, self._stamp = self._made.lists[0], self._made.waiting, 1
        step = first_step(run.plan) if is_ordered(run.code) else math.inf
        step /= FINER if run.code.program.combine.name == "MAX" else 1
        self._steps = np.array([step, step, math.inf])  # as the kernel has it
        self._frontier: Frontier | None = None  # which is listed:
        self._found = (0, 0, 0, 0)  # vertices that send and their edges; entries of those that wait, and vertices
        between = run.watch is not None or "halt" in type(run.code.program).methods
        self._at_once = 1 if between else NO_LIMIT

    def step(self, frontier: Frontier) -> Frontier | None:
        """Make supersteps while frontiers are small."""
        run, watch = self._run, Stopwatch()
        if run.order is not None and frontier is not self._frontier:
            self._take_up(frontier, run.order)
        lent = self._arrays.lent
        pulls = self._pulls_on(frontier) if self._turns else not lent and run.chooser.pulls(frontier)
        if frontier.held or frontier.vertices == 0 or pulls or not self._list(frontier):
            self._leave()
            return None
        (told, at_most), read = room_to_tell(run, self._at_once), 0
        made, looked = self._push(at_most, told)
        if made == 0 and (lent or self._made.most_waiting) and not self._turns and (read := self._read()):
            made, looked = self._push(at_most, told)
        if made == 0:
            self._leave()
            return None
        run.chooser.stale = self._ahead = True
        if self._turns:
            told[:, 1] = 0  # no page of the store
        pages = int(told[:, 1].sum())
        moved = 0 if lent else self._table.bytes_of(1, run.plan.weights)
        self._arrays.count(looked, pages, pages * moved)
        self._frontier = self._look()
        if self._made.most_waiting:
            run.order = float(self._steps[1]), float(self._steps[2])
        note_told(run, "push", told[:made], made, moved, read, watch)
        return self._frontier

    def cancel(self) -> None:
        """Nothing is begun."""

    def _leave(self) -> None:
        """The driver makes the next superstep."""
        if self._ahead:
            self._arrays.hand_over()
            self._ahead = False

    def _pulls_on(self, frontier: Frontier) -> bool:
        """Whether a superstep over in-lists is left to the driver: until lists were turned round, or for good."""
        if self._there is None and self._turns:
            self._pulls = self._pulls + 1 if frontier.vertices <= self._run.chooser.most_listed else 0
            if self._pulls > PULLS or self._arrays.lent:
                self._there = turned_lists(self._run, self._table)
                self._pulls = 0 if self._there is not None else -NO_LIMIT
        return self._there is None

    def _take_up(self, frontier: Frontier, order: Order) -> None:
        """Go on from a checkpoint of this order as if the run had not been kept; `frontier` is what it measured."""
        if not self._made.most_waiting:
            return
        arrays, run = self._arrays, self._run
        if self._turns:
            self._there = turned_lists(run, self._table)
        active = list_bits(arrays.active, 0, run.plan.graph.vertices)
        first = keys_of(arrays.value[active], run.code.program.combine.name) <= order[1]
        sending, waiting = active[first], active[~first]
        self._listed[: len(sending)] = sending[: len(self._listed)]
        self._waiting[: len(waiting)] = waiting[: len(self._waiting)]
        self._found = (len(sending), int(self._degree[sending].sum(dtype=np.int64)), len(waiting), len(waiting))
        self._steps[1:], self._frontier = order, frontier
        if self._has_room():
            frontier.edges = self._found[1]

    def _list(self, frontier: Frontier) -> bool:
        """Whether the frontier is listed: the last superstep here did, or it is small."""
        if frontier is not self._frontier:
            self._frontier = None
            if frontier.vertices > len(self._listed) or frontier.edges > self._made.most:
                return False
            vertices, edges = list_active(self._arrays.active, self._degree, self._listed)
            self._found, self._frontier, self._steps[2] = (int(vertices), int(edges), 0, 0), frontier, math.inf
            if vertices <= min(len(self._listed), self._made.most_waiting):  # all wait at first
                self._waiting[:vertices] = self._listed[:vertices]
                self._found, self._steps[1:] = (0, 0, int(vertices), int(vertices)), (self._steps[0], math.nan)
        return self._has_room() and self._found[1] <= self._largest()

    def _has_room(self) -> bool:
        """Whether all that send, and all that wait, are listed."""
        vertices, _, waiting, live = self._found
        return vertices <= len(self._listed) and live <= self._made.most_waiting and waiting <= len(self._waiting)

    def _push(self, most: int, told: np.ndarray) -> tuple[int, int]:
        """(supersteps made, edges looked at)."""
        run, there, arrays, made = self._run, self._there, self._arrays, self._made
        assert there is not None
        code, chooser, (vertices, edges, *waiting) = run.code, run.chooser, self._found
        share = ALPHA if chooser.has_done and chooser.chooses and not arrays.lent else 0
        numbers = np.array(
            [vertices, edges, chooser.unexplored, self._largest(), share, most, WORK, self._stamp, *waiting,
             made.most_waiting]
        )  # fmt: skip
        looked = code.push_onward(
            there.words, there.weights, *there.places[1:], there.read, self._degree, arrays.value, arrays.active,
            made.lists, made.waiting, made.sent, made.records, made.stamps, RECORD_STRETCH, self._steps, numbers, told,
            FIXED_INTS.index("superstep"), code.ints, code.floats,
        )  # fmt: skip
        steps = int(numbers[5])
        self._found = (int(numbers[0]), int(numbers[1]), int(numbers[8]), int(numbers[9]))
        self._stamp += steps + 1  # one may have begun
        if steps:
            chooser.pushed_on(int(numbers[2]), int(numbers[6]))
        return steps, int(looked)

    def _read(self) -> int:
        """Read the frontier's pages that are not in memory, if it waits for one; bytes. A superstep by the driver would
        send what waits, too: as many supersteps are made whatever was in memory."""
        sources, table = self._run.sources, self._table
        assert self._there is not None
        lists = np.zeros(table.pages, np.int64)
        count_pages(self._arrays.active, table.first_vertex, table.last_vertex, lists)
        wanted = np.flatnonzero(lists)
        before = sources.bytes_read
        sources.in_memory(table, self._run.plan.weights, wanted[~self._there.read[wanted]])
        return sources.bytes_read - before

    def _largest(self) -> int:
        """Edges of a frontier that one thread pushes along, as the driver would."""
        return min(self._made.most, self._run.chooser.most_pushed)

    def _look(self) -> Frontier:
        """The next frontier: as a list, or as bits alone."""
        if not self._has_room():
            return self._arrays.look()
        vertices, edges, _, live = self._found
        return Frontier(vertices + live, edges)
