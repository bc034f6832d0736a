"""Certificates of closeness and harmonic: the answers of some vertices, searched for once more.

A run searches from 64 sources at a time, and counts. A certificate searches from one vertex after the other, the other
way, and keeps all distances. It takes SEARCHES searches, of small graphs up to MOST_SEARCHES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gstream.algorithms.centrality.lengths import lengths_from
from gstream.algorithms.centrality.reach import drawn
from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.lists import lists_of
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import FAR, u32
from gstream.algorithms.support.watched import EDGES, ROUNDING, _compare, _counted, watched
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.jit import kernel
from gstream.programs.bfs import BFSBack
from gstream.results.column import Column

SEARCHES = 16
MOST_SEARCHES = 256


def certify_closeness(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the closeness of 16 vertices or more. Raises CertificateError."""

    def closeness(hops: np.ndarray, others: int) -> float:
        share = len(hops) / others if options.get("wf_improved", True) and others else 1.0
        total = float(hops.sum())
        return len(hops) / total * share if total else 0.0

    return _by_searches(session, columns[0].values, options, found, closeness, 1.0)


def certify_harmonic(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the harmonic centrality of 16 vertices or more. Raises CertificateError."""
    vertices = session.meta.vertices

    def harmonic(hops: np.ndarray, others: int) -> float:
        scale = (vertices - 1) / others if others and found["sources"] < vertices else 1.0
        return float((1 / hops[hops > 0]).sum()) * scale

    return _by_searches(session, columns[0].values, options, found, harmonic, vertices - 1.0)


def _by_searches(
    session: Session, values: np.ndarray, options: dict[str, Any], found: dict[str, Any],
    of: Callable[[np.ndarray, int], float], greatest: float,
) -> dict:  # fmt: skip
    """of(distances of the sources that reach a vertex, how many others there are) is the value of each watched one."""
    sources = drawn(session, options.get("k"), options.get("seed", 0)).astype(np.int64)
    check_said(found, sources=len(sources))
    weighted = options.get("weighted", False)
    greatest = np.finfo(np.float64).max if weighted else greatest * (1 + ROUNDING)
    if not np.all((values >= 0) & (values <= greatest)):
        raise refuse(f"a centrality is not from 0 to {greatest:.17g}")
    edges = session.meta.edges + session.meta.vertices
    at, wanted = watched(session, values, SEARCHES, MOST_SEARCHES, edges), []
    with _searches(session, edges, weighted) as far_from:
        for vertex in at:
            far = far_from(int(vertex))[sources[sources != vertex]]
            wanted.append(of(far[far != unreached(far.dtype)].astype(np.float64), len(far)))
    _compare(session, at, values[at], np.array(wanted), ROUNDING)
    return {"holds": True, "proves": f"centralities of {_counted(session, at)}, by searches from each"}


@contextmanager
def _searches(session: Session, edges: int, weighted: bool) -> Iterator[Callable[[int], np.ndarray]]:
    """A function of a store ID: uint32[V], the fewest edges from each vertex to it, FAR where there is no path; or
    float64[V], lengths by weight.

    edges: that a search looks at. Of a small graph one thread walks the lists: a run of a program takes 2 to 5 ms to
    begin and to note its supersteps, however small the graph is.
    """
    vertices, name = session.meta.vertices, "in" if session.meta.directed else "out"
    if weighted:
        yield lambda vertex: lengths_from(session, vertex, back=True)[0]
        return
    if edges <= EDGES:
        with lists_of(session, name, vertices * (4 + session.id_dtype.itemsize)) as lists:
            if lists is not None:
                hops, queue = np.empty(vertices, np.uint32), np.empty(vertices, session.id_dtype)
                session.reserve(hops, queue)

                def walk(vertex: int) -> np.ndarray:
                    hops[:] = FAR
                    session.look(walk_back, lists.words, lists.places, vertex, hops, queue, items=0, long=True)
                    return hops

                yield walk
                session.release(hops, queue)
                return
    yield lambda vertex: session.run(BFSBack(source=session.user_ids([vertex])[0])).value


@kernel
def walk_back(words, places, root, hops, queue, counter):
    """hops[u] (FAR at first): edges from `root` along the lists to u. queue: id[V], vertices by their hops. Returns the
    edges looked at."""
    begin, end, edges = u64(0), u64(1), u64(0)
    queue[0], hops[root] = root, u32(0)
    while begin != end and not is_stopped(counter):
        v, k = u64(queue[begin]), u64(0)
        onward = u32(hops[v] + u32(1))
        while True:
            row, word, more, stride = stretch(words, places, v, k)
            if more == u64(0):
                break
            for step in range(more):
                u = u64(words[row, word + step * stride])
                if hops[u] == FAR:
                    hops[u], queue[end] = onward, u
                    end += u64(1)
            k += more
        edges += k
        begin += u64(1)
    return edges
