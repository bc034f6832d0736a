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
import time

import numpy as np

from gstream.devices.host.device import HostDevice
from gstream.engine.delta_stepping import first_step
from gstream.engine.direction import ALPHA, Frontier
from gstream.engine.one_thread import NO_LIMIT, WORK, hand_over, hosts_of, note_told, room_to_tell
from gstream.engine.run_state import Order, RunState
from gstream.engine.whole_lists import WholeLists, stored_lists, turned_lists
from gstream.hostcode.bitmaps import list_bits
from gstream.hostcode.parts import RECORD_STRETCH
from gstream.hostcode.small_frontier import list_active
from gstream.language.python_printer import FIXED_INTS

MOST_EDGES = 16384  # of a frontier, where many threads share other ones: at 20 ns an edge the driver is through, too
MOST_WAITING = 1 << 20  # vertices, 8 bytes each
PULLS = 8  # in a row with small frontiers, before lists are turned round: that takes as long as some of them
# Widest paths do not get narrower with every edge, so that near ones improve each other on and on: on a grid of 500,000
# vertices 23 times the edges were looked at, and twice with so much finer steps.
FINER = 64


def most_edges(threads: int) -> int:
    """Up to how many edges, of half as many lists at most, one thread is sooner through than the driver with so many.

    It takes a list as two edges.
    """
    return MOST_EDGES * threads // (threads - 1) if threads > 1 else 4 * MOST_EDGES


def keys_of(value: np.ndarray, combine: str) -> np.ndarray:
    """What least values send first by, float64 (gstream.hostcode.templates.methods)."""
    if combine == "OR":
        return np.zeros(len(value))
    keys = value.astype(np.float64)
    return -keys if combine == "MAX" else keys


class SmallFrontier:
    """Those of one run, whose frontier is a list of vertices from one to the next."""

    @classmethod
    def of(cls, state: RunState) -> SmallFrontier | None:
        """None where no host device has all values and pages, a superstep does more than push, or the plan leaves no
        room for the lists."""
        hosts, code = hosts_of(state), state.code
        pushes = "push" in state.plan.directions or state.engine.options.direction == "auto"
        if not hosts or not pushes or code.push_onward is None:
            return None
        made = cls(state, hosts)
        lists = (made._lists, made._waiting, made._sent, made._records, made._stamps)
        taken = sum(array.nbytes for array in lists)  # not written yet
        if taken > state.plan.spare_bytes:
            return None
        state.engine.note_peak(taken)
        return made

    def __init__(self, state: RunState, hosts: list[HostDevice]) -> None:
        self._state, self._hosts, self._device, self._degree = state, hosts, hosts[0], state.job.host.degree
        self._turns = "push" not in state.plan.directions
        self._table = state.plan.table("pull" if self._turns else "push")
        self._there: WholeLists | None = None if self._turns else stored_lists(state, self._table)
        self._pulls = 0  # in a row with small frontiers
        self._ahead = False  # other devices have older values
        self._most = most_edges(state.engine.options.host_threads)
        vertices, code = state.plan.graph.vertices, state.code
        ordered = code.in_place and code.uses_edge and not code.has_done
        self._lists = np.empty((2, min(self._most // 2, vertices)), np.uint64)
        self._listed = self._lists[0]
        self._most_waiting = min(MOST_WAITING, vertices) if ordered else 0
        # A superstep may add an entry for each edge, beside stale ones.
        self._waiting = np.empty(self._most_waiting + self._most if self._most_waiting else 0, np.uint64)
        self._sent = np.empty(len(self._listed), state.code.value_dtype)
        self._records = np.empty((len(self._listed) + self._most // RECORD_STRETCH + 1, 5), np.int64)
        self._stamps, self._stamp = np.zeros(1 if self._turns else self._table.pages, np.int64), 1
        step = first_step(state.plan) if ordered else math.inf
        step /= FINER if state.code.program.combine.name == "MAX" else 1
        self._steps = np.array([step, step, math.inf])  # as the kernel has it
        self._frontier: Frontier | None = None  # which is listed:
        self._found = (0, 0, 0, 0)  # vertices that send and their edges; entries of those that wait, and vertices
        between = state.watch is not None or "halt" in type(state.code.program).methods
        self._at_once = 1 if between else NO_LIMIT

    def step(self, frontier: Frontier, supersteps: int, limit: int | None) -> tuple[int, Frontier]:
        """Make supersteps while frontiers are small, as gstream.engine.run_state.FastPath."""
        began = time.perf_counter()
        pulls = self._pulls_on(frontier) if self._turns else self._state.chooser.pulls(frontier)
        if frontier.held or frontier.vertices == 0 or pulls or not self._list(frontier):
            return self._leave(frontier)
        told, at_most = room_to_tell(self._state, supersteps, limit, self._at_once)
        read = 0
        made, looked = self._push(at_most, told)
        if made == 0 and self._most_waiting and not self._turns and (read := self._read()):
            made, looked = self._push(at_most, told)
        if made == 0:
            return self._leave(frontier)
        self._state.stale = self._ahead = True
        if self._turns:
            told[:, 1] = 0  # no page of the store
        pages = int(told[:, 1].sum())
        moved = self._table.stored_bytes(1, self._state.plan.weights)
        self._device.count(looked, pages, pages * moved)
        self._frontier = self._look()
        if self._most_waiting:
            self._state.order = float(self._steps[1]), float(self._steps[2])
        note_told(self._state, "push", told[:made], made, moved, read, began)
        return made, self._frontier

    def _leave(self, frontier: Frontier) -> tuple[int, Frontier]:
        """The driver makes the next superstep."""
        if self._ahead:
            hand_over(self._hosts)
            self._ahead = False
        return 0, frontier

    def _pulls_on(self, frontier: Frontier) -> bool:
        """Whether a superstep over in-lists is left to the driver: until lists were turned round, or for good."""
        if self._there is None and self._turns:
            self._pulls = self._pulls + 1 if frontier.listed else 0
            if self._pulls > PULLS:
                self._there = turned_lists(self._state, self._table)
                self._pulls = 0 if self._there is not None else -NO_LIMIT
        return self._there is None

    def take_up(self, frontier: Frontier, order: Order) -> Frontier:
        """The frontier that was kept with this order, of which `frontier` has the vertices; the run goes on from it as
        if it had not been kept."""
        if not self._most_waiting:
            return frontier
        if self._turns:
            self._there = turned_lists(self._state, self._table)
        active = list_bits(self._device.state.active, 0, self._state.plan.graph.vertices)
        first = keys_of(self._device.state.value[active], self._state.code.program.combine.name) <= order[1]
        sending, held = active[first], active[~first]
        self._listed[: len(sending)] = sending[: len(self._listed)]
        self._waiting[: len(held)] = held[: len(self._waiting)]
        self._found = (len(sending), int(self._degree[sending].sum(dtype=np.int64)), len(held), len(held))
        self._steps[1:], self._state.order = order, order
        self._frontier = self._look()
        return self._frontier

    def _list(self, frontier: Frontier) -> bool:
        """Whether the frontier is listed: the last superstep here did, or it is small."""
        if frontier is not self._frontier:
            self._frontier = None
            if frontier.vertices > len(self._listed) or frontier.edges > self._most:
                return False
            vertices, edges = list_active(self._device.state.active, self._degree, self._listed)
            self._found, self._frontier, self._steps[2] = (int(vertices), int(edges), 0, 0), frontier, math.inf
            if vertices <= min(len(self._listed), self._most_waiting):  # all wait at first
                self._waiting[:vertices] = self._listed[:vertices]
                self._found, self._steps[1:] = (0, 0, int(vertices), int(vertices)), (self._steps[0], math.nan)
        return self._has_room() and self._found[1] <= self._largest()

    def _has_room(self) -> bool:
        """Whether all that send, and all that wait, are listed."""
        vertices, _, waiting, live = self._found
        return vertices <= len(self._listed) and live <= self._most_waiting and waiting <= len(self._waiting)

    def _push(self, most: int, told: np.ndarray) -> tuple[int, int]:
        """(supersteps made, edges looked at)."""
        state, there, held = self._state, self._there, self._device.state
        assert there is not None
        code, chooser, (vertices, edges, *waiting) = state.code, state.chooser, self._found
        share = ALPHA if chooser.has_done and chooser.chooses else 0
        numbers = np.array(
            [
                vertices,
                edges,
                chooser.unexplored,
                self._largest(),
                share,
                most,
                WORK,
                self._stamp,
                *waiting,
                self._most_waiting,
            ]
        )
        looked = code.push_onward(
            there.words, there.weights, *there.places[1:], there.read,
            self._degree, held.value, held.active, self._lists, self._waiting, self._sent, self._records,
            self._stamps, RECORD_STRETCH, self._steps, numbers, told, FIXED_INTS.index("superstep"), code.ints,
            code.floats,
        )  # fmt: skip
        made = int(numbers[5])
        self._found = (int(numbers[0]), int(numbers[1]), int(numbers[8]), int(numbers[9]))
        self._stamp += made + 1  # one may have begun
        if made:
            chooser.pushed_on(int(numbers[2]), int(numbers[6]))
        return made, int(looked)

    def _read(self) -> int:
        """Read the frontier's pages that are not in memory, if it waits for one; bytes. A superstep by the driver would
        send what waits, too: as many supersteps are made whatever was in memory."""
        engine, table = self._state.engine, self._table
        assert self._there is not None
        wanted = np.flatnonzero(self._device.state.lists_of("active", table))
        before = engine.counts()[3]
        engine.in_memory(table, self._state.plan.weights, wanted[~self._there.read[wanted]])
        return engine.counts()[3] - before

    def _largest(self) -> int:
        """Edges of a frontier that one thread pushes along, as the driver would."""
        return min(self._most, self._state.chooser.most_pushed)

    def _look(self) -> Frontier:
        """The next frontier: it is listed, or only the bits say who is active."""
        if not self._has_room():
            return self._state.chooser.look()
        vertices, edges, _, live = self._found
        return self._state.chooser.frontier_of(vertices + live, edges)
