"""Supersteps of SUM whose values have settled but for few, on the host's cores: one thread sums again what may differ.

A random walk that begins again at one end of a path changes two values in a superstep, and the driver sums all lists.
What a vertex gets is the same as before where no in-neighbour's message changed (Garaph 4.2). One thread goes on so
from superstep to superstep in compiled code as long as few vertices change (hostcode/templates/sum_onward.py); on a
graph so small that the driver takes longer for a superstep than one thread for all lists, whatever changes. Values have
the same bits as the driver's.
"""

from __future__ import annotations

import numpy as np

from gstream.engine.direction import Frontier
from gstream.engine.one_thread import NO_LIMIT, WORK, hand_over, hosts_of, note_told, room_to_tell
from gstream.engine.run_state import Kept
from gstream.engine.small_frontier import most_edges
from gstream.engine.superstep import Supersteps
from gstream.engine.whole_lists import WholeLists, stored_lists, turned_lists
from gstream.language.python_printer import FIXED_INTS
from gstream.paging.page_table import NO_PAGES
from gstream.telemetry.compiling import Stopwatch

# Supersteps in a row with small frontiers, before one thread goes on; out-lists cost as much to make as some of them.
PATIENCE = 8
TELL = 16  # one thread tells over a part of the edges, so that it is through before so many threads pull over all
APPLY_NS, EDGE_NS = 3, 8  # that a thread takes to apply a vertex, and to apply it and pull over an edge
A_VERTEX = 9  # edges of a list that one thread pulls over in the time of a vertex: 1.5 ns each
A_MOST = 8  # as many in the time that MOST_EDGES has for one of a push


class SettledSums:
    """Those of one run (gstream.engine.run_state.FastPath)."""

    @classmethod
    def applies(cls, run: Supersteps) -> bool:
        """Host devices have all values and pages of a pull of sums."""
        pulls = run.whole is not None and run.plan.directions == ("pull",)
        return pulls and bool(hosts_of(run)) and not run.code.vector

    def __init__(self, run: Supersteps) -> None:
        self._run, self._hosts = run, hosts_of(run)
        graph, threads = run.plan.graph, run.engine.options.host_threads
        self._device, self._table = self._hosts[0], run.plan.table("pull")
        self._lists: WholeLists | None = None  # of in-neighbours, once they were read,
        self._out: WholeLists | None = None  # and of out-neighbours, once they were made
        self._has_room = not run.code.sends_anew  # for them, as far as is known
        self._small = A_VERTEX * graph.vertices + graph.edges <= A_MOST * most_edges(threads)
        self._most_told = graph.edges // (TELL if self._small else TELL * threads)
        work = EDGE_NS * (graph.edges + graph.vertices)
        self._applies_all = self._small or APPLY_NS * graph.vertices * threads <= work
        self._few, self._patience = 0, PATIENCE  # supersteps in a row with small frontiers, this one's included
        self._inside = False  # what all vertices got in the last superstep is there
        self._at_once = 1 if run.watch is not None else NO_LIMIT

    def step(self, frontier: Frontier) -> Frontier | None:
        """Make supersteps while few vertices change."""
        run, watch = self._run, Stopwatch()
        few = run.chooser.most_listed
        self._few = self._few + 1 if frontier.vertices <= few else 0
        telling = self._few > self._patience and self._tells()
        if not (self._inside or self._small or telling):
            return None
        before, pulled = run.counts(), not (self._inside or self._goes_on())
        if pulled:
            self._begin()
        self._inside = True
        after = run.counts()
        told, most = room_to_tell(run, self._at_once)
        if self._small and self._out is None and self._has_room:
            most = min(most, PATIENCE)  # then it may tell
        made, active, stopped = self._onward(told, most, frontier, pulled)
        following = Frontier(active, 0) if made else None
        if made:
            run.late.append((slice(None), self._device.state.partial_sums))
            run.sum_totals()
            told[0, 1:3] += after[0] - before[0], after[2] - before[2]
            self._few = self._few + made - 1 if active <= few else 0
            page_bytes = self._table.bytes_of(1, run.plan.weights)
            note_told(run, "pull", told[: min(made, len(told))], made, page_bytes, after[3] - before[3], watch)
        if stopped:
            self._leave()
        return following

    def cancel(self) -> None:
        """Nothing is begun."""

    def _begin(self) -> None:
        """Have the driver pull all that vertices get in the next superstep: so it is there to go on from."""
        run, state = self._run, self._device.state
        run.forget()
        run.pull_whole(run.supersteps + 1)
        peers, whole = [host.state for host in self._hosts], (0, run.plan.graph.vertices)
        state.reduce(whole, peers)
        state.add_hubs(self._table, whole, peers)
        state.partial_sums[:] = run.partials
        run.applied[:] = np.nan
        self._lists = stored_lists(run, self._table, NO_PAGES)

    def _goes_on(self) -> bool:
        """Whether what vertices got in the superstep before is there (gstream.engine.notify_pull)."""
        there = self._run.kept == Kept.SUMS and len(self._hosts) == 1
        if there:
            self._lists = stored_lists(self._run, self._table, self._table.all_pages())
        return there

    def _leave(self) -> None:
        """The driver goes on, for twice as long as before."""
        alone = len(self._hosts) == 1
        for host in () if alone else self._hosts:
            host.state.got[:] = self._run.code.identity
        self._run.kept = Kept.SUMS if alone else Kept.NOTHING
        self._run.exchange.sent = False  # messages of vertices that changed last are old
        hand_over(self._hosts)
        self._inside, self._few, self._patience = False, 0, 2 * self._patience

    def _tells(self) -> bool:
        """Whether there are out-lists: those of the store, or the in-lists turned round."""
        if self._out is None and self._has_room:
            run, out = self._run, self._run.plan.graph.tables.get("out")
            stored = out is not None and out.name in run.plan.sources
            self._out = stored_lists(run, out, out.all_pages()) if stored and out else turned_lists(run, self._table)
            self._has_room = self._out is not None
        return self._out is not None

    def _onward(self, told: np.ndarray, most: int, frontier: Frontier, pulled: bool) -> tuple[int, int, bool]:
        """(supersteps made, vertices active then, whether too many change to go on)."""
        run, held, host, code = self._run, self._device.state, self._run.host, self._run.code
        assert self._lists is not None
        lists, out = self._lists, self._out or self._lists.nothing
        numbers = np.array([
            most, WORK, frontier.vertices, self._most_told, pulled, self._applies_all, self._small, run.asked.exactly,
        ])  # fmt: skip
        looked = code.sum_onward(
            lists.words, lists.weights, *lists.places[1:], *out.places, lists.read, held.value,
            held.value if held.source is None else held.source, held.got, host.degree, host.in_degree, code.own,
            held.active, held.next, held.partial_sums, held.no_messages, run.applied, numbers, told,
            FIXED_INTS.index("superstep"), code.ints, code.floats,
        )  # fmt: skip
        made, pages = int(numbers[0]), int(told[:, 1].sum())
        self._device.count(int(looked), pages, pages * self._table.bytes_of(1, run.plan.weights))
        return made, int(numbers[2]), bool(numbers[7])
