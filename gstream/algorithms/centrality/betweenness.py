"""Betweenness centrality: how many shortest paths lead through a vertex (Brandes 2001), by edges or by weights.

between(v) = sum over s, t other than v of paths(s, t through v) / paths(s, t), scaled as NetworkX scales it: if
normalized, by the pairs (n - 1)(n - 2), else halved on undirected graphs. With `endpoints` s and t count as on their
paths, and pairs are n (n - 1).
* Every vertex is a source (networkx.betweenness_centrality),
* or k drawn ones are: an estimate, scaled up as networkx 3.6 does. Sources are scaled by k - 1, as they see themselves
  k - 1 times; with k = 1 that is NaN, and a note says so.
* Or named ones are: their sums alone (networkx.betweenness_centrality_subset with all vertices as targets).

Each source takes two sweeps a level, of the pages of that level's vertices; one GPU keeps the attributes meanwhile. If
levels are small, as along long paths, one host thread goes on from level to level. Sums over the pages of a hub are
added by atomics on doubles, so the last digits may differ from run to run.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from typing import Any

import numpy as np

from gstream.algorithms.centrality import paths, tight_paths
from gstream.algorithms.centrality.lengths import program_of_lengths
from gstream.algorithms.centrality.path_search import PathSearch
from gstream.algorithms.centrality.weighted_search import WeightedSearch, check_positive
from gstream.algorithms.declaration import (
    DRAWN,
    NOT_NEGATIVE,
    SOURCE,
    SWITCH,
    WEIGHTED,
    WHOLE,
    Algorithm,
    Option,
    Work,
)
from gstream.algorithms.support.arguments import source_ids
from gstream.algorithms.support.lists import lists_bytes
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.simple import Simple, simple_lists
from gstream.devices.ranks import of_first
from gstream.hostcode.bitmaps import bitmap_bytes
from gstream.language.program import Program
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError

WEIGHTED_BYTES = 33  # a vertex: levels, edges left, paths, two sums, bits
ALGORITHM = Algorithm(
    "betweenness", "betweenness centrality, as in NetworkX",
    """Without k and source every vertex is a source: two sweeps a level of each. With source, shortest paths from there
    alone count.""",
    definition="paths by edges, or weights if weighted; ends count if endpoints; / (n-1)(n-2), with "
    "ends n(n-1)",
    columns=("vertex", "betweenness"), best="largest",
    options=(
        DRAWN, Option("normalized", SWITCH, True, "scaled by the pairs of vertices"),
        Option("seed", WHOLE, None, "of what is drawn; default: new each time"), SOURCE,
        Option("endpoints", SWITCH, False, "a path's ends count as on it"),
        WEIGHTED,
    ),
    proof=".betweenness_proof:certify_betweenness", proof_bytes=61,
    kept="28, weighted 8: sums; distances, paths and dependencies of one source", weights=NOT_NEGATIVE,
    certificate="all values, but for a bound and a chance of 10^-6", topology="out",
    check="check_betweenness", holds="32, weighted 56",
    units=(
        "..support.simple:note_ends",
        ".paths:begin_source step_on count_paths find_level add_dependencies close_source",
        ".tight_paths:count_tight find_ready pass_paths pass_back", "gstream.programs.sssp:SSSP64",
    ),
    proof_units=(".path_weighing:weigh_paths close_weighing", ".tight_paths:pass_weights"),
    work=Work(edges=7.5, gpu_edges=8.0, per="k", sources=1, moved=(3.0, 12.0), spread=1.6),
)  # fmt: skip


def run_betweenness(
    session: Session, k: int | None = None, normalized: bool = True, seed: int | None = None, source: Any = None,
    endpoints: bool = False, weighted: bool = False,
) -> Answer:  # fmt: skip
    """Column betweenness, float64.

    Raises UsageError (k out of range, k and source, a source that is no vertex, more paths than a double counts, sums
    of weights that doubles don't tell apart), InputError (a weight of 0).
    """
    sources = drawn_sources(session, k, seed, source)
    vertices = session.meta.vertices
    walk: _Dependencies | _WeightedDependencies
    if weighted:
        check_positive(session)
        walk = _WeightedDependencies(session, float(endpoints))
    else:
        check_betweenness(session, k)
        walk = _Dependencies(session, simple_lists(session, "out"), float(endpoints))
    levels = walk.from_sources(sources, drawn=k is not None)
    if np.isnan(walk.between).any():
        raise UsageError(
            "betweenness: more than 1.8e308 shortest paths join two vertices, as in wide grids, which no number here "
            "counts. Take a part of the graph: gstream run subgraph or egonet."
        )
    sampled = k is not None and k < vertices
    rest, own = scales_of(session.meta, normalized, endpoints, len(sources) if sampled else None)
    drawn = walk.between[sources.astype(np.int64)] * own
    walk.between *= rest
    found: dict[str, Any] = {"sources": len(sources)}
    if sampled:
        walk.between[sources.astype(np.int64)] = drawn
        found["sampled"] = session.user_ids(sources)
        found["definition"] = "an estimate: sums over k drawn sources, times " + (
            "n / k" if endpoints else "(n-1) / k, a source's own (n-1) / (k-1)"
        )
    elif source is not None:
        found["definition"] = "of paths from the named sources alone, not scaled up"
    note = ""
    if sampled and len(sources) == 1 and np.isnan(drawn).any():
        note = (
            f"vertex {found['sampled'][0]} has no betweenness (NaN): it is the only source, and paths from a vertex "
            "say nothing about the vertex itself. Draw 2 or more (--k 2)"
        )
    return [Column("betweenness", walk.between)], found | session.finish(levels, True, note)


def check_betweenness(
    session: Session, k: int | None = None, weighted: bool = False, source: Any = None, **_: Any
) -> Program | None:
    """Too little memory is said before any work; by weights, with the program that searches."""
    vertices = session.meta.vertices
    if weighted:
        session.foresee(beside=vertices * WEIGHTED_BYTES)
        return program_of_lengths(session)
    held = vertices * (28 + session.id_dtype.itemsize) + 2 * bitmap_bytes(vertices)
    numbers = vertices * (16 if k is None and source is None else 8)  # of a level's vertices, and of all sources
    session.check_memory(held, most=held + lists_bytes(session, "out", numbers))
    return None


def drawn_sources(session: Session, k: int | None, seed: int | None, source: Any) -> np.ndarray:
    """Store IDs, uint64[n]."""
    vertices = session.meta.vertices
    if source is not None and k is not None:
        raise UsageError("--k and --source contradict each other: one draws sources, the other names them. Drop one.")
    if seed is not None and k is None:
        raise UsageError("--seed: is for sources that --k draws. Pass --k too, or leave it out.")
    if source is not None:
        return np.unique(session.store.lookup(source_ids(source, "betweenness"))).astype(np.uint64)
    if k is None:
        return np.arange(vertices, dtype=np.uint64)
    if not 1 <= k <= vertices:
        raise UsageError(f"--k {k}: out of range; 1 to {vertices} sources can be drawn. Leave it out for all.")
    chosen = of_first(session.ranks, sorted(random.Random(seed).sample(range(vertices), k)))
    drawn = np.array(chosen, np.uint64)
    if session.meta.order == "natural":
        return drawn
    return np.array([int(session.store.store_ids(int(n), int(n) + 1)[0]) for n in drawn], np.uint64)


def scales_of(meta: Any, normalized: bool, endpoints: bool, drawn: int | None) -> tuple[float, float]:
    """What sums of dependencies are multiplied by, of all vertices and of sources that were drawn (None: none were)."""
    ends = meta.vertices - (not endpoints)  # vertices that may be at the other end of a path through one
    if ends < 2:
        return 1.0, 1.0
    pairs = 1 if meta.directed else 2  # an undirected pair was met from both its ends
    count = ends if drawn is None else drawn
    scale = 1 / (ends - 1) if normalized else ends / pairs
    if drawn is None or endpoints:
        return scale / count, scale / count
    return scale / count, scale / (count - 1) if count > 1 else np.nan


class _Dependencies(PathSearch):
    """Searches forth, and dependencies on their sources the way back; `between` adds them up over all sources.

    ends: what each end of a path adds, 1 or 0.
    """

    onward, alone = paths.count_paths, staticmethod(paths.count_alone)

    def __init__(self, session: Session, lists: Simple, ends: float) -> None:
        vertices = session.meta.vertices
        self.depends, self.between, self.ends = np.zeros(vertices), np.zeros(vertices), ends
        super().__init__(session, lists, (np.zeros(vertices),), (self.depends, self.between), (self.between,))

    def named(self) -> dict[str, Any]:
        return {"paths": self.paths, "depends": self.depends, "between": self.between}

    def close(self, resident: Resident, source: int) -> None:
        arrays, vertices = (self.distance, self.paths, self.depends, self.between), len(self.between)
        resident.each(paths.close_source, -(-vertices // paths.RUN), source, self.ends, *arrays, items=vertices)

    def go_back_by_rounds(self, resident: Resident, levels: int) -> None:
        words, vertices = -(-len(self.here) // paths.WORDS), len(self.distance)
        for level in range(levels - 2, 0, -1):  # no vertex follows the last level; the source's value is not used
            resident.each(paths.find_level, words, level, self.distance, self.here, items=vertices)
            self.sweep(resident, paths.add_dependencies, level, self.paths, self.depends)
            self.kept.back = level
            self.kept.boundary(resident)

    def go_back_by_order(self, resident: Resident, levels: int, count: int) -> None:
        at = np.array([self._begin_of(levels - 1 if self.kept.back < 0 else self.kept.back, count)])
        while at[0] > 1:
            if not self.by_thread(paths.depend_alone, 1, self.paths, self.depends, at):
                end = int(at[0])
                level = int(self.distance[self.order[end - 1]])
                at[0] = self._begin_of(level, end)
                self.choose(int(at[0]), end)
                self.sweep(resident, paths.add_dependencies, level, self.paths, self.depends)
            self.kept.back = int(self.distance[self.order[at[0]]])
            self.kept.boundary()

    def _begin_of(self, level: int, end: int) -> int:
        """Where a level begins in the order's first `end` vertices."""
        return bisect_left(range(end), level, key=lambda index: int(self.distance[self.order[index]]))


class _WeightedDependencies(WeightedSearch):
    """The same by weights."""

    onward = tight_paths.pass_paths

    def __init__(self, session: Session, ends: float) -> None:
        vertices = session.meta.vertices
        self.depends, self.between, self.ends = np.zeros(vertices), np.zeros(vertices), ends
        super().__init__(session, (np.zeros(vertices),), (self.depends, self.between), self.between)

    def close(self, resident: Resident, source: int, levels: int) -> None:
        words, vertices = -(-len(self.here) // paths.WORDS), len(self.distance)
        for level in range(levels - 2, 0, -1):  # no tight edge leaves the last level; the source's value is not used
            resident.each(paths.find_level, words, level, self.distance, self.here, items=vertices)
            self.sweep(resident, tight_paths.pass_back, self.length, self.paths, self.depends)
        arrays = (self.distance, self.paths, self.depends, self.between)
        resident.each(paths.close_source, -(-vertices // paths.RUN), source, self.ends, *arrays, items=vertices)
