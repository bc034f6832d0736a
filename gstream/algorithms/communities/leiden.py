"""Communities of large modularity: Louvain (Blondel et al. 2008) and Leiden (Traag, Waltman, van Eck 2019).

    Q = sum over communities c of inside(c) / 2m - resolution * (strength(c) / 2m)^2

Vertices move to the neighbouring community of largest gain, by rounds, until nearly none moves. Leiden then parts each
community into connected parts. The parts, or Louvain's communities, are the vertices of the next, smaller graph.
Vertices of a slice choose at the same time (levels.py); among equal gains the least community wins. Slices are by a
hash of the seed, and many: neighbours that move at once may change places for ever. Two slices a round lose 3 % of the
modularity of RMAT graphs, and take twice as many rounds. A GPU does the slices of large levels (gpu_slices.py), with
the same answer. Stores of other orders have other answers, as good. Leiden draws parts at random, and here each vertex
takes the best one. At the end Leiden's communities are split into what is connected, and a second pass begins with
them. Answers for small graphs differ most from seed to seed: of several the best one is taken.

Certificate: the modularity is summed again from the store's edges, and of Leiden each community is one component.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from gstream.algorithms.communities import gpu_slices, moving
from gstream.algorithms.communities.coarser import Level, coarser
from gstream.algorithms.communities.gpu_slices import MOST_SLICES, GpuSlices
from gstream.algorithms.communities.labels import mixed, numbered, quality, salted
from gstream.algorithms.communities.levels import ALONE, Lists, Stored, Tables, lists_room
from gstream.algorithms.components.forest import compress
from gstream.algorithms.declaration import NOT_NEGATIVE, RESOLUTION, SEED, WEIGHTED, WHOLE, Algorithm, Option, Work
from gstream.algorithms.support.arguments import check_resolution
from gstream.algorithms.support.session import Session
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError

ALGORITHMS = (
    Algorithm(
        "leiden", "communities, each connected (Leiden)",
        "A community is named by its least vertex. Summary: communities, modularity, levels.",
        definition="edges count in either direction, repeated ones each; a self-loop counts twice at its vertex",
        columns=("vertex", "community"), groups=True,
        options=(
            WEIGHTED, RESOLUTION, SEED,
            Option("max_levels", WHOLE, 32, "end after N levels"),
        ),
        proof=".community_proofs:certify_leiden", proof_bytes=200,
        certificate="modularity summed again, communities connected",
        check="check_leiden", weights=NOT_NEGATIVE,
        holds="82; 35 an edge each way, lists and smaller graphs; less where they do not fit",
        units=(
            "..labelling.cdlp:gather_labels", ".moving:gather_weighted gather_visited gather_weighted_visited",
            ".gpu_moves:sum_strengths begin_visits count_visits list_visits leave_visits empty_tables fill_tables",
            ".gpu_moves:weigh_moves take_moves wake_ends go",
            ".gpu_merges:sum_inside pass_over weigh_merges take_merges weigh_links join_parts end_visits",
            ".gpu_groups:size_groups list_members fill_groups count_groups pack_groups",
        ),
        work=Work(edges=370.0, gpu_edges=60.0, spread=2.5, tries=(4, 1 << 21)),
    ),
    Algorithm(
        "louvain", "communities (Louvain)",
        "A community is named by its least vertex. Summary: communities, modularity, levels.",
        definition="edges count in either direction, repeated ones each; a self-loop counts twice at its vertex",
        columns=("vertex", "community"), groups=True,
        options=(
            WEIGHTED, RESOLUTION, SEED,
            Option("max_levels", WHOLE, 32, "end after N levels"),
        ),
        proof=".community_proofs:certify_louvain", proof_bytes=200, certificate="modularity summed again",
        check="check_louvain", weights=NOT_NEGATIVE,
        holds="48; 13 an edge each way, lists and smaller graphs; weighted 22 an edge each way more; less where they "
        "do not fit",
        units=(
            "..labelling.cdlp:gather_labels", ".moving:gather_weighted gather_visited gather_weighted_visited",
            ".gpu_moves:sum_strengths begin_visits count_visits list_visits leave_visits empty_tables fill_tables",
            ".gpu_moves:weigh_moves take_moves wake_ends go",
            ".gpu_groups:size_groups list_members fill_groups count_groups pack_groups",
        ),
        work=Work(edges=120.0, gpu_edges=60.0, spread=2.5, tries=(8, 1 << 23)),
    ),
)  # fmt: skip

MOST_ROUNDS = 64
FEW = 1000  # a round in which at most one in so many vertices moves is the last, where more than one moves at once
VERTEX_BYTES = 128  # arrays of all vertices, the lists' beginnings and sizes among them
# A vertex, and an edge's end, of RMAT graphs, lists and smaller graphs: by whether they are refined, and weighted
MOST_BYTES = {(True, False): (82, 35), (True, True): (82, 35), (False, False): (48, 13), (False, True): (48, 35)}
TABLE_BYTES = 64  # of a thread's table, for each vertex that may be in it
LIST_BYTES = 128  # of a list of a smaller graph, for each vertex that may be in it: a quarter of memory has room
SLICE = 512  # vertices of a slice, up to MOST_SLICES slices
MERGE_SLICES = 8  # of Leiden's refinement, one round
PASSES = 2  # of Leiden: the second begins with the first one's communities, as igraph and leidenalg do


def run_leiden(session: Session, weighted: bool, resolution: float, seed: int, max_levels: int) -> Answer:
    """Column community. Summary: communities, modularity, levels. Raises UsageError, ResourceError."""
    return _run(session, True, weighted, resolution, seed, max_levels)


def run_louvain(session: Session, weighted: bool, resolution: float, seed: int, max_levels: int) -> Answer:
    """Column community. Summary: communities, modularity, levels. Raises UsageError, ResourceError."""
    return _run(session, False, weighted, resolution, seed, max_levels)


def _run(session: Session, refined: bool, weighted: bool, resolution: float, seed: int, max_levels: int) -> Answer:
    check_resolution(resolution)
    if max_levels < 1:
        raise UsageError(f"--max-levels {max_levels}: must be at least 1. Or leave it out.")
    later = _check_memory(session, refined, weighted)
    where = np.arange(session.meta.vertices, dtype=session.id_dtype)
    session.reserve(where, where, where)
    stored = Stored(session, weighted, where, later)
    side, found, rounds = where, dict[str, Any](), 0
    # Louvain's answers differ more from try to try, so that it makes more of them
    for attempt in range(ALGORITHMS[not refined].work.tried(stored.entries)):
        salt = salted(seed % 2**64, attempt)
        other, new, more = _try(stored, where, refined, resolution, salt, max_levels)
        rounds += more
        if not found or new["modularity"] > found["modularity"]:
            side, found = other, new
    return [Column("community", _named(session, side), holds="natural")], found | session.finish(rounds, True)


def _try(
    stored: Stored, where: np.ndarray, refined: bool, resolution: float, salt: int, max_levels: int
) -> tuple[np.ndarray, dict[str, Any], int]:
    """(id[V], numbers of communities; summary; rounds). where: id[V], ascending numbers."""
    side, rounds, levels, found = None, 0, 0, dict[str, Any]()
    alone = stored.alone
    for number in range(PASSES if refined else 1):
        state, place = Partition(stored.session, stored, resolution, salted(salt, number), side=side), where
        for level in range(1, max_levels + 1):
            rounds += state.move()
            if level == max_levels or state.communities() == state.level.vertices:
                break
            first = place is where
            groups, count = numbered(state.refine() if refined else state.side, alone if first else alone[:0])
            if count == state.level.vertices - first * len(alone):
                break
            state, place = state.coarser(groups, count, refined), groups if first else groups[place]
        if refined:
            state.split()
        side, levels = state.side[place], max(levels, level)
        found = {"communities": state.communities(), "modularity": state.modularity(), "levels": levels}
        if place is not where and len(alone):
            side[alone] = np.arange(state.level.vertices, state.level.vertices + len(alone), dtype=side.dtype)
            found["communities"] += len(alone)
        state.free()
        side = numbered(side)[0]
    assert side is not None
    return side, found, rounds


def check_leiden(session: Session, weighted: bool = False, **_: Any) -> None:
    """Too little memory is said before any work."""
    _check_memory(session, True, weighted)


def check_louvain(session: Session, weighted: bool = False, **_: Any) -> None:
    """Too little memory is said before any work."""
    _check_memory(session, False, weighted)


def _check_memory(session: Session, refined: bool, weighted: bool) -> int:
    """Bytes of all arrays of vertices. Raises ResourceError where memory has no room for these and some lists. What the
    error names has room for a list of all vertices, and for a table of that, as smaller graphs may have."""
    meta, wide = session.meta, session.id_dtype.itemsize // 4
    swept = VERTEX_BYTES * wide * meta.vertices
    least = swept + lists_room(session, weighted)
    longest = (TABLE_BYTES + LIST_BYTES) * wide * max(meta.vertices, 8)
    pages = session.least_pages(weighted)
    a_vertex, an_end = MOST_BYTES[refined, weighted]
    most = a_vertex * meta.vertices + an_end * (1 + meta.directed) * meta.edges
    session.check_memory(least, weights=weighted, enough=lambda: least + 2 * (longest + pages), most=most)
    return swept


class Partition:
    """Communities of a level's vertices."""

    def __init__(
        self, session: Session, level: Level, resolution: float, salt: int, strength: np.ndarray | None = None,
        side: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """salt: of the order of visits. strength, side: where they are known; else each vertex is a community."""
        self.session, self.level, self.resolution, self.salt = session, level, resolution, salt
        vertices, kind = level.vertices, session.id_dtype
        self.side = np.arange(vertices, dtype=kind) if side is None else side
        self.to, self.order, self.due = np.empty(vertices, kind), np.empty(vertices, kind), np.empty(vertices, np.uint8)
        self.strength = np.zeros(vertices) if strength is None else strength
        session.reserve(self.side, self.to, self.order, self.due, self.strength, self.strength)
        self.at_once = level.entries <= ALONE
        if strength is None:
            on_gpu = self._lists_on_gpu()
            if on_gpu is None or not gpu_slices.sum_strengths(session, on_gpu, level.own, self.strength):
                for lists in level.parts():
                    session.look(moving.sum_lists, *lists.arrays, level.own, self.side[:0], self.strength)
        self.total = np.bincount(self.side, self.strength, vertices)
        self.twice = float(self.strength.sum())  # exact, as all sums of weights are
        self.factor = resolution / self.twice if self.twice else 0.0
        self._tables: Tables | None = None
        self._rounds = session.keep()  # of nothing: its boundaries tell of progress

    @property
    def tables(self) -> Tables:
        """Of the host's threads, made when these choose."""
        if self._tables is None:
            self._tables = Tables(self.session, max(1, min(self.level.longest, self.level.vertices)))
        return self._tables

    def _free_tables(self) -> None:
        if self._tables is not None:
            self._tables.free()
            self._tables = None

    def communities(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(np.bincount(self.side, minlength=1))) if len(self.side) else 0

    def _visits(self, turn: int, slices: int) -> Iterator[tuple[Lists, np.ndarray, int, int, np.ndarray]]:
        """(lists, order, begin, end, slice): order[begin:end] are to choose, by their lists, and then the slice moves,
        which has no element where others of it have not chosen. All that are due come, and none is due any more."""
        salt = salted(self.salt, turn)
        if self.at_once:
            visited = np.flatnonzero(self.due)
            hashed = mixed(visited.astype(np.uint64) ^ np.uint64(salt))
            order, bounds = visited[np.argsort(hashed, kind="stable")].astype(self.order.dtype), [0, len(visited)]
        else:
            placed = np.zeros(slices + 2, np.int64)
            self.session.each(moving.list_due, self.due, np.uint64(salt), self.order, placed, items=0)
            bounds = placed[:-1].tolist()
            order = self.order[: bounds[-1]]
        begun = 0
        for lists, first, last in self.level.among(order):
            for begin, end in pairwise(sorted({first, last, *(bound for bound in bounds if first < bound < last)})):
                ends = end in bounds
                yield lists.since(begin - first), order, begin, end, order[begun:end] if ends else order[:0]
                begun = end if ends else begun

    def move(self) -> int:
        """Move vertices by rounds; returns these."""
        session, moved, rounds = self.session, np.zeros(1, np.int64), 0
        few = 0 if self.at_once else self.level.vertices // FEW
        known = self.side, self.total, self.strength
        np.greater(self.strength, 0, out=self.due.view(np.bool_))
        if (gpu := self._on_gpu()) is not None:
            rounds, over = self._move_on_gpu(gpu)
            if over:
                return rounds
        while rounds < MOST_ROUNDS and self.twice:
            moved[0] = 0
            for lists, order, begin, end, chosen in self._visits(rounds, slices_of(self.level.vertices)):
                session.look(
                    moving.choose_moves, *lists.for_visits, order, begin, end, *known, self.due, self.factor,
                    self.at_once, self.to, moved, *self.tables.arrays, items=self._items(end - begin),
                )  # fmt: skip
                if not self.at_once and len(chosen):
                    session.each(moving.make_moves, chosen, *known, self.to, items=4 * len(chosen))
            rounds += 1
            self._rounds.boundary()
            if moved[0] <= few:
                break
        return rounds

    def _lists_on_gpu(self) -> Lists | None:
        """The level's lists on a GPU, if one is to do its work."""
        small = self.at_once or self.level.entries < gpu_slices.ON_GPU
        return None if small or not self.session.on_one_gpu else self.level.on_gpu()

    def _on_gpu(self) -> GpuSlices | None:
        """What a GPU is to hold, if it does the slices."""
        lists = self._lists_on_gpu() if self.twice else None
        short = self.level.longest <= gpu_slices.MOST_SLOTS // 2
        return GpuSlices(self.session, lists) if lists is not None and short else None

    def _move_on_gpu(self, gpu: GpuSlices) -> tuple[int, bool]:
        """(rounds of `move` by a GPU, as many as it has room for; whether that is all of them)."""
        known, rounds, over = (self.side, self.total, self.strength), 0, False
        with gpu.resident(*known, self.due, self.to) as resident:
            while resident.on_gpu and rounds < MOST_ROUNDS and not over:
                salt, slices = salted(self.salt, rounds), slices_of(self.level.vertices)
                moved = gpu.move(resident, known, self.due, self.to, self.factor, salt, slices)
                if moved is None:
                    break
                rounds += 1
                self._rounds.boundary()
                over = moved <= self.level.vertices // FEW
            gpu.end(resident, self.strength, self.to, *([self.due] if over else []))
        return rounds, over or rounds == MOST_ROUNDS

    def _items(self, visits: int) -> int | None:
        """What so many visits come to, for `session.each`."""
        found = visits * (8 + 4 * self.level.entries // max(self.level.vertices, 1))
        return self.tables.items(0 if self.at_once else found)

    def refine(self) -> np.ndarray:
        """id[V]: connected parts of the communities, each named by a vertex that is in it."""
        session, vertices = self.session, self.level.vertices
        part, mixed_in = np.arange(vertices, dtype=session.id_dtype), np.zeros(vertices, np.uint8)
        inner, cut, linked, bulk = np.zeros(vertices), np.zeros(vertices), np.zeros(vertices), self.strength.copy()
        session.reserve(part, mixed_in, inner, cut, linked, bulk)
        merging = part, bulk, cut, inner
        np.greater(self.strength, 0, out=self.due.view(np.bool_))
        gpu = self._on_gpu()
        if gpu is None or not self._refine_on_gpu(gpu, *merging, mixed_in):
            self._refine_on_cores(merging, mixed_in, linked)
        session.release(part, mixed_in, inner, cut, linked, bulk)
        return part

    def _refine_on_gpu(self, gpu: GpuSlices, *parts: np.ndarray) -> bool:
        """Whether a GPU had room, and did it."""
        known, done = (self.side, self.total, self.strength), False
        self.to.fill(self.session.none)
        with gpu.resident(*known, *parts, self.due, self.to) as resident:
            if resident.on_gpu:
                salt = salted(self.salt, MOST_ROUNDS)
                done = gpu.merge(resident, known, parts, self.due, self.to, self.factor, salt, MERGE_SLICES)
                gpu.end(resident, *parts[1:], self.to, *([self.due] if done else []))
        return done

    def _refine_on_cores(self, merging: tuple[np.ndarray, ...], mixed_in: np.ndarray, linked: np.ndarray) -> None:
        session, (_, _, cut, inner) = self.session, merging
        for lists in self.level.parts():
            session.look(moving.sum_lists, *lists.arrays, 0.0, self.side, inner)
        cut[:] = inner
        self.to[:] = merging[0]
        for lists, order, begin, end, chosen in self._visits(MOST_ROUNDS, MERGE_SLICES):
            session.look(
                moving.choose_merges, *lists.for_visits, order, begin, end, self.side, self.total, self.strength,
                *merging, mixed_in, self.factor, self.at_once, self.to, linked, *self.tables.arrays,
                items=self._items(end - begin),
            )  # fmt: skip
            if not self.at_once and len(chosen):
                session.each(moving.make_merges, chosen, *merging, self.strength, mixed_in, self.to, linked)
                self.to[chosen] = chosen

    def coarser(self, place: np.ndarray, groups: int, refined: bool) -> Partition:
        """The partition of the graph of groups; each is a community, or with `refined` in that of its vertices."""
        side = None
        if refined:
            first, known = np.zeros(self.level.vertices, self.session.id_dtype), self.side
            first[known[::-1]] = place[::-1]  # the least group of each community: of several, the last is kept
            side = np.empty(groups, first.dtype)
            given = self.level.with_lists
            side[place[given]] = first[known[given]]
        strength = np.bincount(place, self.strength, groups)
        self._free_tables()
        level = coarser(self.session, self.level, place, groups)
        self.free()
        return Partition(self.session, level, self.resolution, salted(self.salt, MOST_ROUNDS + 1), strength, side)

    def free(self) -> None:
        """Give the memory back, but that of the store's lists."""
        self._free_tables()
        if not isinstance(self.level, Stored):
            self.level.free()
        self.session.release(self.side, self.to, self.order, self.due, self.strength, self.strength)

    def split(self) -> None:
        """Part the communities into their components."""
        parent = np.arange(self.level.vertices, dtype=self.session.id_dtype)
        for lists in self.level.parts():
            given = (lists.starts, lists.ids, lists.first, self.side, parent)
            self.session.each(moving.link_inside, *given)
        self.session.each(compress, parent)
        self.side = parent

    def modularity(self) -> float:
        """Of the partition; nan of a graph without weight."""
        inner = np.zeros(self.level.vertices)
        for lists in self.level.parts():
            self.session.look(moving.sum_lists, *lists.arrays, self.level.own, self.side, inner)
        return quality(inner, self.strength, self.side, self.resolution)


def slices_of(vertices: int) -> int:
    """The slices of a round over so many vertices, a power of two."""
    return min(MOST_SLICES, 1 << max(vertices // SLICE, 2).bit_length() - 1)


def _named(session: Session, side: np.ndarray) -> np.ndarray:
    """id[V]: the natural index of the least vertex of each vertex's community."""
    least = np.empty(len(side), session.id_dtype)
    stored = slice(None) if session.meta.order == "natural" else session.store_ids()
    least[side[stored][::-1]] = np.arange(len(side), dtype=session.id_dtype)[::-1]
    return least[side]
