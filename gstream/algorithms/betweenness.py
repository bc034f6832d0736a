"""Betweenness centrality: how many shortest paths lead through a vertex (Brandes 2001), by edges, not weights.

between(v) = sum over s, t other than v of paths(s, t through v) / paths(s, t), scaled as NetworkX scales it:
normalized, by the pairs (n - 1)(n - 2); else halved on undirected graphs. Endpoints don't count, nor do self-loops;
duplicate edges count once.
* every vertex is a source (networkx.betweenness_centrality);
* k sources drawn at random: an estimate, scaled up as networkx 3.6 does (sources by k - 1: they see themselves k - 1
  times; with k = 1 that is NaN);
* named sources: their sums alone (networkx.betweenness_centrality_subset with all vertices as targets).

Each source takes two sweeps a level, of the pages of that level's vertices; one GPU keeps the attributes meanwhile.
Needs out-pages. Holds 28 bytes and an ID a vertex. Sums over the pages of a hub are added by atomics on doubles, so the
last digits may differ from run to run.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from gstream.algorithms import nearest, paths
from gstream.algorithms.bfs import source_ids
from gstream.algorithms.resident import Resident
from gstream.algorithms.session import Session, SharedKernel
from gstream.algorithms.simple import Simple, simple_lists
from gstream.hostcode.bitmaps import bitmap, list_bits, set_bits
from gstream.results import Column
from pagestore.errors import UsageError


def run_betweenness(
    session: Session, k: int | None = None, normalized: bool = True, seed: int | None = None, source: Any = None
) -> tuple[list[Column], dict[str, Any]]:
    """Column betweenness, float64. Raises UsageError (k out of range, k and source, a source that is no vertex)."""
    session.store.topology("out")
    sources = _sources(session, k, seed, source)
    search = _Search(session, simple_lists(session, "out"))
    levels = search.from_sources(sources)
    vertices = session.meta.vertices
    sampled = k is not None and k < vertices
    _scale(search.between, vertices, session.meta.directed, normalized, sources if sampled else None)
    found: dict[str, Any] = {"sources": len(sources)}
    if sampled:
        found["sampled"] = session.user_ids(sources)
    column = Column("betweenness", search.between, dtype=np.dtype(np.float64))
    return [column], found | session.finish(levels, True)


def _sources(session: Session, k: int | None, seed: int | None, source: Any) -> np.ndarray:
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
    drawn = np.array(sorted(random.Random(seed).sample(range(vertices), k)), np.uint64)
    if session.meta.order == "natural":
        return drawn
    return np.array([int(session.store.store_ids(int(n), int(n) + 1)[0]) for n in drawn], np.uint64)


def _scale(between: np.ndarray, vertices: int, directed: bool, normalized: bool, sampled: np.ndarray | None) -> None:
    """Scale sums of dependencies in place; sampled: sources that were drawn, None where the sums are what is wanted."""
    others = vertices - 1
    if others < 2:
        return
    pairs = 1 if directed else 2  # an undirected pair was met from both its ends
    if sampled is None:
        between *= 1 / (others * (others - 1)) if normalized else 1 / pairs
        return
    count, own = len(sampled), between[sampled.astype(np.int64)]
    scale = 1 / (others - 1) if normalized else others / pairs
    between *= scale / count
    between[sampled.astype(np.int64)] = own * scale / (count - 1) if count > 1 else np.nan


class _Search:
    """The attributes of all vertices, used for one source after the other.

    Where one GPU has them, it finds the vertices of a level by their distances, which takes it no time; cores keep the
    order in which vertices were reached.
    """

    def __init__(self, session: Session, lists: Simple) -> None:
        self.session, self.lists, vertices = session, lists, session.meta.vertices
        self.distance = np.full(vertices, nearest.FAR, np.uint32)
        self.paths, self.depends, self.between = (np.zeros(vertices) for _ in range(3))
        self.order = np.empty(vertices, session.id_dtype)  # reached vertices, level by level
        self.here, self.following, self.last = bitmap(vertices), bitmap(vertices), np.zeros(1, np.uint64)
        session.hold(self.distance, self.paths, self.depends, self.between, self.order, self.here, self.following)

    def from_sources(self, sources: np.ndarray) -> int:
        """Add the dependencies on each source (store IDs) to `between`; levels of all searches."""
        kept = (self.distance, self.paths, self.depends, self.between, self.here, self.following, self.last)
        with self.session.resident(*kept, self.lists.hubs, self.lists.ends) as resident:
            levels = sum(self._from_source(resident, int(source)) for source in sources)
            resident.forget(self.distance, self.paths, self.depends, self.here, self.following)
        return levels

    def _from_source(self, resident: Resident, source: int) -> int:
        """Those on one source; levels."""
        words, vertices = -(-len(self.here) // paths.WORDS), len(self.distance)
        bounds: list[int] | None = None if resident.on_gpu else [0]  # of levels in the order
        resident.each(paths.begin_source, 1, source, self.distance, self.paths, self.following, items=1)
        for number in resident.rounds(self.last):
            resident.each(paths.step_on, words, number, self.here, self.following, self.last, items=len(self.here))
            if bounds is not None:
                reached = list_bits(self.here, 0, vertices)
                bounds.append(bounds[-1] + len(reached))
                self.order[bounds[-2] : bounds[-1]] = reached
            self._sweep(resident, paths.count_paths, number - 1, self.paths, self.following)
        levels = int(self.last[0])
        for level in range(levels - 2, 0, -1):  # the last level has nobody behind it, the source is no matter
            if bounds is None:
                resident.each(paths.find_level, words, level, self.distance, self.here, items=vertices)
            else:
                self.here[:] = 0
                set_bits(self.here, self.order[bounds[level] : bounds[level + 1]].astype(np.uint64))
            self._sweep(resident, paths.add_dependencies, level, self.paths, self.depends)
        arrays = (self.distance, self.paths, self.depends, self.between)
        resident.each(paths.close_source, -(-vertices // paths.RUN), source, *arrays, items=vertices)
        return levels

    def _sweep(self, resident: Resident, kernel: Any, level: int, *arrays: np.ndarray) -> None:
        """Sweep the lists of the vertices of a level."""
        given = (self.lists.hubs, self.lists.ends, self.here, level, self.distance, *arrays)
        resident.sweep(self.lists.name, SharedKernel(kernel, given), self.here)
