"""Supersteps of SUM whose values have settled but for few, on the host's cores: one thread sums again what may differ.

A random walk that begins again at one end of a path changes two values in a superstep, and the driver sums all lists.
What a vertex gets is the same as before where no in-neighbour's message changed (Garaph 4.2). One thread goes on so
from superstep to superstep in compiled code as long as few vertices change (hostcode/templates/sum_onward.py); on a
graph so small that the driver takes longer for a superstep than one thread for all lists, whatever changes. Values have
the same bits as the driver's.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gstream.devices.host.device import HostDevice
from gstream.devices.job import Step
from gstream.engine.demand import Demand
from gstream.engine.direction import Frontier
from gstream.engine.one_thread import NO_LIMIT, WORK, hand_over, hosts_of, note_told, room_to_tell
from gstream.engine.run_state import RunState
from gstream.engine.small_frontier import most_edges
from gstream.engine.whole_lists import WholeLists, stored_lists, turned_lists
from gstream.language.python_printer import FIXED_INTS
from gstream.paging.page_table import NO_PAGES

# Supersteps in a row with small frontiers, before one thread goes on; out-lists cost as much to make as some of them.
PATIENCE = 8
TELL = 16  # one thread tells over a part of the edges, so that it is through before so many threads pull over all
APPLY_NS, EDGE_NS = 3, 8  # that a thread takes to apply a vertex, and to apply it and pull over an edge
A_VERTEX = 9  # edges of a list that one thread pulls over in the time of a vertex: 1.5 ns each
A_MOST = 8  # as many in the time that MOST_EDGES has for one of a push


class SettledSums:
    """Those of one run."""

    @classmethod
    def of(cls, state: RunState, pull: Callable[[Step, Demand], None], exactly: bool) -> SettledSums | None:
        """None where no host device has all values and pages.

        pull: the driver's, of all lists. exactly: the run goes on though nothing changes.
        """
        hosts = hosts_of(state)
        if not hosts or state.code.idempotent or state.plan.directions != ("pull",):
            return None
        return cls(state, hosts, pull, exactly)

    def __init__(
        self, state: RunState, hosts: list[HostDevice], pull: Callable[[Step, Demand], None], exactly: bool
    ) -> None:
        self._state, self._hosts, self._device = state, hosts, hosts[0]
        self._pull, self._exactly = pull, exactly
        graph, threads = state.plan.graph, state.engine.options.host_threads
        self._table = state.plan.table("pull")
        self._everything = Demand.whole(self._table)
        self._lists: WholeLists | None = None  # of in-neighbours, once they were read,
        self._out: WholeLists | None = None  # and of out-neighbours, once they were made
        self._has_room = not state.code.sends_anew  # for them, as far as is known
        self._small = A_VERTEX * graph.vertices + graph.edges <= A_MOST * most_edges(threads)
        self._most_told = graph.edges // (TELL if self._small else TELL * threads)
        work = EDGE_NS * (graph.edges + graph.vertices)
        self._applies_all = self._small or APPLY_NS * graph.vertices * threads <= work
        self._moved = np.ones(len(state.partials), np.uint8)
        self._applied = np.full(len(state.code.totals), np.nan)
        self._few, self._patience = 0, PATIENCE  # supersteps in a row with small frontiers, this one's included
        self._inside = False  # what all vertices got in the last superstep is there
        self._at_once = 1 if state.watch is not None else NO_LIMIT

    def step(self, frontier: Frontier, supersteps: int, limit: int | None) -> tuple[int, Frontier]:
        """Make supersteps while few vertices change, as gstream.engine.run_state.FastPath."""
        state, began = self._state, time.perf_counter()
        self._few = self._few + 1 if frontier.listed else 0
        telling = self._few > self._patience and self._tells()
        if not (self._inside or self._small or telling):
            return 0, frontier
        before, pulled = state.engine.counts(), not self._inside
        if pulled:
            self._begin(supersteps)
        after = state.engine.counts()
        told, most = room_to_tell(state, supersteps, limit, self._at_once)
        if self._small and self._out is None and self._has_room:
            most = min(most, PATIENCE)  # then it may tell
        made, active, stopped = self._onward(told, most, frontier, pulled)
        following = state.chooser.frontier_of(active, 0) if made else frontier
        if made:
            state.late.append((slice(None), self._device.state.partial_sums))
            state.sum_totals()
            told[0, 1:3] += after[0] - before[0], after[2] - before[2]
            self._few = self._few + made - 1 if following.listed else 0
            page_bytes = self._table.stored_bytes(1, state.plan.weights)
            note_told(state, "pull", told[: min(made, len(told))], made, page_bytes, after[3] - before[3], began)
        if stopped:
            self._leave()
        return made, following

    def _begin(self, supersteps: int) -> None:
        """Have the driver pull all that vertices get in the next superstep: so it is there to go on from."""
        state, device = self._state, self._device
        state.code.set_superstep(supersteps + 1)
        self._pull(Step("pull", self._table), self._everything)
        peers, whole = [host.state for host in self._hosts], (0, state.plan.graph.vertices)
        device.state.reduce(whole, peers)
        device.state.add_hubs(self._table, whole, peers)
        state.code.set_superstep(supersteps)
        device.state.partial_sums[:] = state.partials
        self._moved[:], self._applied[:], self._inside = 1, np.nan, True
        self._lists = stored_lists(state, self._table, NO_PAGES)

    def _leave(self) -> None:
        """The driver goes on, for twice as long as before."""
        for host in self._hosts:
            host.state.got[:] = self._state.code.identity
        hand_over(self._hosts)
        self._inside, self._few, self._patience = False, 0, 2 * self._patience

    def _tells(self) -> bool:
        """Whether there are out-lists: those of the store, or the in-lists turned round."""
        if self._out is None and self._has_room:
            undirected = self._state.plan.graph.tables.get("out") is self._table
            lists_of = stored_lists if undirected else turned_lists
            self._out = lists_of(self._state, self._table)
            self._has_room = self._out is not None
        return self._out is not None

    def _onward(self, told: np.ndarray, most: int, frontier: Frontier, pulled: bool) -> tuple[int, int, bool]:
        """(supersteps made, vertices active then, whether too many change to go on)."""
        state, held, host = self._state, self._device.state, self._state.job.host
        code = state.code
        assert self._lists is not None
        lists, out = self._lists, self._out or self._lists.nothing
        numbers = np.array([
            most, WORK, frontier.vertices, self._most_told, pulled, self._applies_all, self._small, self._exactly,
        ])  # fmt: skip
        looked = code.sum_onward(
            lists.words, lists.weights, *lists.places[1:], *out.places, lists.read, held.value,
            held.value if held.source is None else held.source, held.got, host.degree, host.in_degree, code.own,
            held.active, held.next, held.partial_sums, self._moved, self._applied, numbers, told,
            FIXED_INTS.index("superstep"), code.ints, code.floats,
        )  # fmt: skip
        made, pages = int(numbers[0]), int(told[:, 1].sum())
        self._device.count(int(looked), pages, pages * self._table.stored_bytes(1, state.plan.weights))
        return made, int(numbers[2]), bool(numbers[7])
