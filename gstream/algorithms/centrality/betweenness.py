"""Betweenness centrality: how many shortest paths lead through a vertex (Brandes 2001), by edges, not weights.

between(v) = sum over s, t other than v of paths(s, t through v) / paths(s, t), scaled as NetworkX scales it:
normalized, by the pairs (n - 1)(n - 2); else halved on undirected graphs. With `endpoints` s and t count as on their
paths, and pairs are n (n - 1). Self-loops don't count, duplicate edges count once.
* every vertex is a source (networkx.betweenness_centrality);
* k sources drawn at random: an estimate, scaled up as networkx 3.6 does (sources by k - 1: they see themselves k - 1
  times; with k = 1 that is NaN, and a note says so);
* named sources: their sums alone (networkx.betweenness_centrality_subset with all vertices as targets).

Each source takes two sweeps a level, of the pages of that level's vertices; one GPU keeps the attributes meanwhile.
Where levels are small, as along long paths, one of the host's threads goes on from level to level.
Sums over the pages of a hub are added by atomics on doubles, so the last digits may differ from run to run.

Certificate: a shortest path of d edges has d - 1 vertices between its ends (d + 1 with them), so the sum over all
vertices, before it is scaled, is that of d - 1 over all pairs of a source and what it reaches; distances are searched
for again, 64 sources at once, by the program of closeness. And no path leads through a vertex that no edge leads to, or
none leaves.

Runs gstream.algorithms.centrality.paths; needs out-pages; holds 32 bytes a vertex; certificate: all sum up to the
lengths of paths.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from typing import Any

import numpy as np

from gstream.algorithms.centrality import paths
from gstream.algorithms.centrality.reach import foresee_search, search
from gstream.algorithms.support.arguments import source_ids
from gstream.algorithms.support.lists import OneThread
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session, SharedKernel
from gstream.algorithms.support.shared import FAR
from gstream.algorithms.support.simple import Simple, simple_lists
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, list_bits, set_bits
from gstream.results.column import Column
from pagestore.errors import UsageError

ROUNDING = 1e-9  # of sums of doubles, relative: 10^7 roundings


def run_betweenness(
    session: Session, k: int | None = None, normalized: bool = True, seed: int | None = None, source: Any = None,
    endpoints: bool = False,
) -> tuple[list[Column], dict[str, Any]]:  # fmt: skip
    """Column betweenness, float64.

    Raises UsageError (k out of range, k and source, a source that is no vertex, more paths than a double counts).
    """
    session.store.topology("out")
    sources = _sources(session, k, seed, source)
    vertices = session.meta.vertices
    held = vertices * (28 + session.id_dtype.itemsize) + 2 * bitmap_bytes(vertices)
    foresee_search(session, held + session.least_pages())
    session.foresee(held)
    walk = _Walk(session, simple_lists(session, "out"))
    levels = walk.from_sources(sources, endpoints)
    if np.isnan(walk.between).any():
        raise UsageError(
            "betweenness: more than 1.8e308 shortest paths join two vertices, as in wide grids, which no number here "
            "counts. Take a part of the graph: gstream run subgraph or egonet."
        )
    sampled = k is not None and k < vertices
    rest, own = _scales(session, normalized, endpoints, len(sources) if sampled else None)
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
    column = Column("betweenness", walk.between, dtype=np.dtype(np.float64))
    found |= session.finish(levels, True)
    if sampled and len(sources) == 1 and np.isnan(drawn).any():
        said = (
            f"vertex {found['sampled'][0]} has no betweenness (NaN): it is the only source, and paths from a vertex "
            "say nothing about the vertex itself. Draw 2 or more (--k 2)"
        )
        found["note"] = f"{found['note']}; {said}" if "note" in found else said
    return [column], found


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


def _scales(session: Session, normalized: bool, endpoints: bool, drawn: int | None) -> tuple[float, float]:
    """What sums of dependencies are multiplied by, of all vertices and of sources that were drawn (None: none were)."""
    ends = session.meta.vertices - (not endpoints)  # vertices that may be at the other end of a path through one
    if ends < 2:
        return 1.0, 1.0
    pairs = 1 if session.meta.directed else 2  # an undirected pair was met from both its ends
    count = ends if drawn is None else drawn
    scale = 1 / (ends - 1) if normalized else ends / pairs
    if drawn is None or endpoints:
        return scale / count, scale / count
    return scale / count, scale / (count - 1) if count > 1 else np.nan


class _Walk:
    """The attributes of all vertices, used for one source after the other.

    One GPU that has them finds the vertices of a level by their distances, which takes it no time. Cores keep the order
    in which vertices were reached, and one of them alone goes on from level to level where these are small.
    """

    def __init__(self, session: Session, lists: Simple) -> None:
        self.session, self.lists, vertices = session, lists, session.meta.vertices
        self.distance = np.full(vertices, FAR, np.uint32)
        self.paths, self.depends, self.between = (np.zeros(vertices) for _ in range(3))
        self.order = np.empty(vertices, session.id_dtype)  # reached vertices, level by level
        self.here, self.following, self.last = bitmap(vertices), bitmap(vertices), np.zeros(1, np.uint64)
        session.hold(self.distance, self.paths, self.depends, self.between, self.order, self.here, self.following)
        self.alone = OneThread(session, [lists.name], 0)

    def from_sources(self, sources: np.ndarray, endpoints: bool) -> int:
        """Add the dependencies on each source (store IDs) to `between`, with those of the paths' ends; all levels."""
        kept = (self.distance, self.paths, self.depends, self.between, self.here, self.following, self.last)
        with self.alone:
            done, levels = self._go_on(sources, float(endpoints), *kept, self.lists.hubs, self.lists.ends)
            if done < len(sources):  # this one has too many levels for a GPU
                self.distance[:], self.paths[:], self.depends[:] = FAR, 0.0, 0.0
                levels += self._go_on(sources[done:], float(endpoints))[1]
        return levels

    def _go_on(self, sources: np.ndarray, ends: float, *kept: np.ndarray) -> tuple[int, int]:
        """(sources that are done, their levels); kept: arrays that a GPU has meanwhile."""
        arrays, levels, done = (self.distance, self.paths, self.depends, self.between), 0, 0
        count, vertices = -(-len(self.distance) // paths.RUN), len(self.distance)
        with Resident(self.session, *kept) as resident:
            most = self.alone.rounds_before() if resident.on_gpu else None
            for source in sources.tolist():
                made = self._by_rounds(resident, source, most) if resident.on_gpu else self._by_order(resident, source)
                if made == most:
                    return done, levels
                resident.each(paths.close_source, count, source, ends, *arrays, items=vertices)
                levels, done = levels + made, done + 1
            resident.forget(self.distance, self.paths, self.depends, self.here, self.following)
        return done, levels

    def _by_rounds(self, resident: Resident, source: int, most: int | None) -> int:
        """Find the dependencies on one source, by a GPU; levels. Where there are `most`, none is found."""
        words, vertices = -(-len(self.here) // paths.WORDS), len(self.distance)
        resident.each(paths.begin_source, 1, source, self.distance, self.paths, self.following, items=1)
        for number in resident.rounds(self.last, most):
            resident.each(paths.step_on, words, number, self.here, self.following, self.last, items=len(self.here))
            self._sweep(resident, paths.count_paths, number - 1, self.paths, self.following)
        levels = int(self.last[0])
        for level in range(levels - 2 if levels != most else 0, 0, -1):  # see _by_order
            resident.each(paths.find_level, words, level, self.distance, self.here, items=vertices)
            self._sweep(resident, paths.add_dependencies, level, self.paths, self.depends)
        return levels

    def _by_order(self, resident: Resident, source: int) -> int:
        """Find the dependencies on one source, by cores; levels."""
        self.order[0], self.distance[source], self.paths[source] = source, 0, 1.0
        at = np.array([0, 1, 0])  # where the last level begins in the order, where it ends, and its number
        while at[0] != at[1]:
            if not self._by_thread(paths.count_alone, at[1] - at[0], self.paths, at):
                begin, end, level = at.tolist()
                self._choose(begin, end)
                self.following[:] = 0
                self._sweep(resident, paths.count_paths, level, self.paths, self.following)
                reached = list_bits(self.following, 0, len(self.distance))
                at[:] = end, end + len(reached), level + 1
                self.order[at[0] : at[1]] = reached
        levels = int(at[2])
        at = np.array([self._begin_of(levels - 1, int(at[1]))])  # the last level has nobody behind it
        while at[0] > 1:  # the source is no matter
            if not self._by_thread(paths.depend_alone, 1, self.paths, self.depends, at):
                end = int(at[0])
                level = int(self.distance[self.order[end - 1]])
                at[0] = self._begin_of(level, end)
                self._choose(int(at[0]), end)
                self._sweep(resident, paths.add_dependencies, level, self.paths, self.depends)
        return levels

    def _by_thread(self, kernel: Any, due: int, *arrays: np.ndarray) -> bool:
        """Whether one thread went on from where the last of the arrays says, over levels that are small."""
        at = arrays[-1]
        if not self.alone.is_for(due):
            return False
        assert self.alone.lists
        (lists,), before = self.alone.lists, at.copy()
        given = (lists.words, lists.places, self.distance, *arrays[:-1], self.order, at, self.alone.most)
        self.session.look(kernel, *given, items=0, long=True)
        return not np.array_equal(at, before)

    def _begin_of(self, level: int, end: int) -> int:
        """Where a level begins in the order's first `end` vertices."""
        return bisect_left(range(end), level, key=lambda index: int(self.distance[self.order[index]]))

    def _choose(self, begin: int, end: int) -> None:
        """Set the bits of a stretch of the order in `here`, and no others."""
        self.here[:] = 0
        set_bits(self.here, self.order[begin:end].astype(np.uint64))

    def _sweep(self, resident: Resident, kernel: Any, level: int, *arrays: np.ndarray) -> None:
        """Sweep the lists of the vertices of a level."""
        given = (self.lists.hubs, self.lists.ends, self.here, level, self.distance, *arrays)
        resident.sweep(self.lists.name, SharedKernel(kernel, given), self.here)


def certify_betweenness(
    session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]
) -> dict:  # fmt: skip
    """Prove the sum over all vertices, and who is 0. Raises CertificateError."""
    between, k = columns[0].values.copy(), options.get("k")
    normalized, endpoints = options.get("normalized", True), options.get("endpoints", False)
    named = found["sampled"] if "sampled" in found else options.get("source")
    sources = _sources(session, None, None, named)
    rest, own = _scales(session, normalized, endpoints, k if "sampled" in found else None)
    at = sources.astype(np.int64)
    if np.isnan(own):
        if not np.isnan(between[at]).all():
            raise refuse("the only source that was drawn has a value")
        between[at] = 0.0
    drawn = between[at] / (1.0 if np.isnan(own) else own)
    between /= rest
    between[at] = drawn
    if not (np.isfinite(between).all() and np.all(between >= 0)):
        raise refuse("a betweenness is negative or no number")
    if not endpoints:
        dead = (session.degree("out") == 0) | (session.degree("in") == 0)
        odd = np.flatnonzero(dead & (between != 0))
        if len(odd):
            raise refuse(f"vertex {session.user_ids(odd[:1])[0]} is between others, but a dead end")
    distance, reached, _ = search(session, sources, float)
    wanted = float(distance.sum()) + (1 if endpoints else -1) * float(reached.sum())
    off = abs(float(between.sum()) - wanted)
    if not off <= ROUNDING * max(1.0, wanted):
        raise refuse(f"paths have {wanted:.17g} vertices, and the betweennesses add up to {between.sum():.17g}")
    check_said(found, sources=len(sources))
    return {"holds": True, "proves": f"they add up to the {wanted:,.0f} vertices on shortest paths but for {off:.3g}"}
