"""Betweenness centrality: how many shortest paths lead through a vertex (Brandes 2001), by edges, not weights.

between(v) = sum over s, t other than v of paths(s, t through v) / paths(s, t), scaled as NetworkX scales it:
normalized, by the pairs (n - 1)(n - 2); else halved on undirected graphs. Endpoints don't count, nor do self-loops;
duplicate edges count once.
* every vertex is a source (networkx.betweenness_centrality);
* k sources drawn at random: an estimate, scaled up as networkx 3.6 does (sources by k - 1: they see themselves k - 1
  times; with k = 1 that is NaN);
* named sources: their sums alone (networkx.betweenness_centrality_subset with all vertices as targets).

Each source takes two sweeps a level, of the pages of that level's vertices. Needs out-pages. Holds 28 bytes and an ID a
vertex. Sums over the pages of a hub are added by atomics on doubles, so the last digits may differ from run to run.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from gstream.algorithms import nearest, paths
from gstream.algorithms.bfs import source_ids
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
    lists, search = simple_lists(session, "out"), _Search(session)
    levels = sum(search.from_source(lists, int(s)) for s in sources)
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
    """The attributes of all vertices, used for one source after the other."""

    def __init__(self, session: Session) -> None:
        self.session, vertices = session, session.meta.vertices
        self.distance = np.full(vertices, nearest.FAR, np.uint32)
        self.paths, self.depends, self.between = (np.zeros(vertices) for _ in range(3))
        self.order = np.empty(vertices, session.id_dtype)  # reached vertices, level by level
        self.here, self.following = bitmap(vertices), bitmap(vertices)
        session.hold(self.distance, self.paths, self.depends, self.between, self.order, self.here, self.following)

    def from_source(self, lists: Simple, source: int) -> int:
        """Add the dependencies on one source to `between`; levels."""
        self.distance[source], self.paths[source], self.order[0] = 0, 1.0, source
        bounds = [0, 1]
        while bounds[-1] > bounds[-2]:
            self.following[:] = 0
            self._sweep(lists, bounds, len(bounds) - 2, paths.count_paths, self.paths, self.following)
            reached = list_bits(self.following, 0, len(self.distance))
            self.order[bounds[-1] : bounds[-1] + len(reached)] = reached
            bounds.append(bounds[-1] + len(reached))
        for level in reversed(
            range(1, len(bounds) - 3)
        ):  # the last level has nobody behind it, the source is no matter
            self._sweep(lists, bounds, level, paths.add_dependencies, self.paths, self.depends)
        arrays = (self.distance, self.paths, self.depends, self.between)
        self.session.each(paths.close_source, source, *arrays)
        return len(bounds) - 2

    def _sweep(self, lists: Simple, bounds: list[int], level: int, kernel: Any, *arrays: np.ndarray) -> None:
        """Sweep the pages of the vertices of a level."""
        self.here[:] = 0
        set_bits(self.here, self.order[bounds[level] : bounds[level + 1]].astype(np.uint64))
        shared = SharedKernel(kernel, (lists.hubs, lists.ends, self.here, level, self.distance, *arrays))
        self.session.sweep_among(lists.name, shared, self.here)
