"""k-core: the largest subgraph in which every vertex has k neighbours or more. A vertex's core number is its last k.

core(v) = the greatest k such that v is in the k-core (Seidman 1983), as networkx.core_number. Each sweep reads the
pages of vertices that the last one took off. A GPU that has all pages reads all of them, because choosing takes longer.
If few vertices fall at a time, as along chains, one host thread goes on from each to the next
(gstream.algorithms.support.lists); after many rounds it does so instead of a GPU.

Certificate, with c the answer: (1) every vertex v has c(v) neighbours u with c(u) >= c(v), so core(v) >= c(v). (2)
Within each layer {c = k} the vertices can be taken off one by one, each with at most k neighbours left in {c >= k}. So
no subgraph of minimum degree k + 1 has any of them, and core(v) <= c(v).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import WHOLE, Algorithm, Option, Work
from gstream.algorithms.density import peeling
from gstream.algorithms.support.blocks import degrees_bytes
from gstream.algorithms.support.lists import OneThread, lists_bytes
from gstream.algorithms.support.refusal import check_said, refuse, refuse_vertices
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.simple import Simple, both_ways, simple_degrees, simple_dtype
from gstream.engine.sweep_state import SweepState
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, bits_where
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError

ALGORITHM = Algorithm(
    "kcore", "core number of every vertex, or with k the vertices of the k-core",
    "As networkx.core_number. With k the column is in_core: 1 or 0.",
    definition="in- and out-neighbours added up; simple graph: no self-loops, repeated edges once",
    columns=("vertex", "core"), best="largest",
    options=(Option("k", WHOLE, None, "the vertices of the N-core; default: all core numbers"),),
    kept="5: degrees that are left",
    check="check_kcore", proof="certify_kcore", proof_bytes=25, certificate="by its definition", topology="both",
    holds="5",
    units=("..support.simple:note_ends count_simple", ".peeling:settle find_next open_next peel"),
    proof_units=(".peeling:count_not_below take_layers",),
    work=Work(edges=9.0, gpu_edges=120.0, moved=(10.0, 60.0), spread=2.0, answer=4),
)  # fmt: skip

LISTED_ROUNDS = 16  # in which few lists are looked up one by one


def run_kcore(session: Session, k: int | None = None) -> Answer:
    """Column core: core numbers; with k, column in_core: 1 in the k-core, else 0. Raises UsageError."""
    if k is not None and k < 0:
        raise UsageError(f"--k {k}: is negative; it counts neighbours. Pass 0 or more, or leave it out.")
    check_kcore(session)
    lists = both_ways(session)
    degree = np.zeros(session.meta.vertices, simple_dtype(session, len(lists)))
    if session.resumes("count"):
        session.reserve(degree)
    else:
        degree = simple_degrees(session, lists)
    session.degrees_done()
    if k is not None:
        k = min(k, 2 * session.meta.vertices + 1)  # past all degrees; numbers of any size are asked for
        off = Peeling(session, lists, degree, due=degree < k)
        off.level[peeling.LEVEL] = min(max(k - 1, 0), np.iinfo(degree.dtype).max)
        rounds = off.take_off()
        inside = (degree >= k).astype(np.uint8)
        found = {"core_vertices": int(np.count_nonzero(inside))}
        return [Column("in_core", inside)], found | session.finish(rounds, True)
    rounds = Peeling(session, lists, degree).take_off(levels=True)
    return [Column("core", degree)], {"largest_core": int(degree.max(initial=0))} | session.finish(rounds, True)


def check_kcore(session: Session, k: int | None = None) -> None:
    """Raise ResourceError where memory lacks room for degrees and bitmaps beside pages."""
    vertices, ways = session.meta.vertices, 1 + session.meta.directed
    held = vertices * simple_dtype(session, ways).itemsize + (3 + ways) * bitmap_bytes(vertices)
    counted = session.meta.duplicates or session.meta.self_loops
    names, queue = ("out", "in")[:ways], vertices * session.id_dtype.itemsize
    most = held + (0 if counted else degrees_bytes(session)) + sum(lists_bytes(session, name) for name in names) + queue
    session.check_memory(held, most=most)


class Peeling:
    """Vertices that are taken off by rounds, whose lists are looked at then, and those that fall by it."""

    def __init__(
        self, session: Session, lists: list[Simple], count: np.ndarray, core: np.ndarray | None = None,
        due: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """count: degrees, or with `core` (core numbers) what each vertex has left in its layer. due: bool[V],
        vertices that are taken off at first; None: none yet."""
        vertices = session.meta.vertices
        self.session, self.lists, self.count, self.core = session, lists, count, core
        first = bitmap(vertices) if due is None else bits_where(due)
        self.mine, self.now = [first, *(first.copy() for _ in lists[1:])], [bitmap(vertices) for _ in lists]
        # Not `mine` once more: who falls would be due anew after another thread has just looked at its list.
        self.others = self.mine[::-1] if len(lists) > 1 else [bitmap(vertices)]
        self.there = bits_where(np.ones(vertices, np.bool_))
        session.reserve(*self.mine, *self.now, *(self.others if len(lists) == 1 else ()), self.there)
        self.last, self.level = np.zeros(2, np.uint64), np.array([0, peeling.NONE], np.uint64)

    def take_off(self, levels: bool = False) -> int:
        """Take off the vertices that are due, and those that fall by it; with `levels` open the next level then, until
        every degree has become the core number. Returns the rounds."""
        counted = (self.count,) if self.core is None else (self.count, self.core)
        known = [array for each in self.lists for array in (each.hubs, each.ends)]
        arrays = (*counted, *self.mine, *self.now, *self.others, self.there, *known, self.last, self.level)
        beside, names = len(self.count) * self.session.id_dtype.itemsize, [each.name for each in self.lists]
        bits: dict[str, Any] = {f"mine_{name}": mine for name, mine in zip(names, self.mine, strict=True)}
        bits |= {f"now_{name}": now for name, now in zip(names, self.now, strict=True)}
        if len(names) == 1:
            bits["others"] = self.others[0]
        kept = self.session.keep(count=self.count, there=self.there, last=self.last, level=self.level, **bits)
        with OneThread(self.session, names, beside) as alone:
            rounds = alone.first_on_gpu(lambda *turn: self._rounds(alone, levels, kept, *turn), arrays, self.last)
        kept.end()
        return rounds

    def _rounds(self, alone: OneThread, levels: bool, kept: SweepState, resident: Resident, most: int | None) -> int:
        last, level, items = self.last, self.level, -(-len(self.there) // peeling.WORDS)
        bits = list(zip(self.mine, self.now, strict=True))
        for number in resident.rounds(last, most, kept):
            for both in bits:
                resident.each(peeling.settle, items, number, *both, last, level, items=len(self.there))
            if levels:
                opened = (number, self.count, self.there)
                resident.each(peeling.find_next, items, *opened, last, level, items=len(self.count))
                for both in bits:
                    resident.each(peeling.open_next, items, *opened, *both, last, level, items=len(self.there))
            self._sweep(resident, number)
            if not resident.on_gpu:
                self._go_on_alone(alone)
        return int(last.max())

    def _go_on_alone(self, alone: OneThread) -> None:
        """Take off what falls by the last sweep, and so on, by one thread as long as few vertices are due."""
        for mine, now in zip(self.mine, self.now, strict=True):
            mine &= ~now  # those lists have been looked at
        due = alone.take(np.bitwise_or.reduce(self.mine))
        if due is not None:
            core = self.count[:0] if self.core is None else self.core
            arrays = (self.mine[0], self.others[0], self.count, core, int(self.level[peeling.LEVEL]))
            alone.go_on(peeling.peel_alone, due, alone.of_both, arrays)

    def _sweep(self, resident: Resident, number: int) -> None:
        """Sweep the lists of the vertices `now`; after some rounds sweep whole pages.

        A vertex that becomes due farther on in a page then falls in the same sweep, and so do chains."""
        listed = number - int(self.last[peeling.OPENED]) <= LISTED_ROUNDS
        kernel = peeling.peel if self.core is None else peeling.take_layers
        counted = (self.count, self.level) if self.core is None else (self.core, self.count)
        for each, mine, other, now in zip(self.lists, self.mine, self.others, self.now, strict=True):
            given = (mine, other, now, each.hubs, each.ends, *counted)
            resident.sweep(each.name, kernel, given, now, listed, join=_join_falls)


def _join_falls(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
    """What copies of GPUs or ranks come to; each lowered counts by its own pages, so who fell may be seen in none of
    them. Lists that a rank has looked at are not due any more."""
    layers = "left" in arrays
    name = "left" if layers else "degree"
    count, mine = arrays[name], arrays["mine"]
    floor = arrays["core"] if layers else count.dtype.type(arrays["level"][peeling.LEVEL])
    lost = sum((count - copy[name]).astype(np.int64) for copy in copies)
    if not layers:  # a degree never falls below the level
        lost = np.minimum(lost, np.maximum(count, floor) - floor)
    before, looked = count > floor, np.zeros_like(mine)
    for copy in copies:
        looked |= (mine | bits_where(before & (copy[name] <= floor))) & ~copy["mine"]
    count -= lost.astype(count.dtype)
    fallen = bits_where(before & (count <= floor))
    mine |= fallen
    mine &= ~looked
    arrays["other"] |= fallen


def certify_kcore(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove core numbers, or membership in one core. Raises CertificateError."""
    k, given = options.get("k"), columns[0].values
    k = None if k is None else min(k, 2 * session.meta.vertices + 1)
    core = given.astype(np.int64)
    if k is not None:
        if not np.all((given == 0) | (given == 1)):
            raise refuse("membership is neither 0 nor 1")
        core += k - 1  # two layers: members, and all others
    if np.any(core < (0 if k is None else k - 1)):
        raise refuse("a core number is negative")
    lists, left = both_ways(session), np.zeros(len(core), np.int64)
    session.reserve(core, left)
    for each in lists:
        session.sweep(each.name, peeling.count_not_below, (each.hubs, each.ends, core, left))
    few = left < core if k is None else (left < k) & (given == 1)
    refuse_vertices(session, few, "vertex {} has {} neighbours in the {}-core", left, core)
    Peeling(session, lists, left, core, left <= core).take_off()
    stuck = left > core if k is None else (left > core) & (given == 0)
    refuse_vertices(session, stuck, "vertex {} is in a core of more than {}", core)
    check_said(found, largest_core=int(given.max(initial=0)), core_vertices=int(np.count_nonzero(given)))
    what = "every core number" if k is None else f"membership in the {k}-core"
    return {"holds": True, "proves": f"{what} by its definition"}
