"""Certificates of what is counted for each vertex apart: some vertices, watched, are counted again in another way.

Watched are those of the most edges, and as many that are drawn among the vertices with edges: which, does not depend on
the answer. Others may be wrong and not be noticed, so the proof says how many were looked at.

As many are watched as cost few edges: all of a small graph, 64 or 16 of a large one.

Triangles and clustering coefficients, 64 vertices at a time: bit i of near[u] says that u is a neighbour of the i-th of
them. One sweep sets the bits, another counts for each bit the edges whose ends both have it; no list is joined with a
list. Closeness and harmonic centrality: a breadth-first search against the edges from each finds the distances of all
paths that lead to it; the run searched along edges, from the other ends. Holds 20 bytes a vertex, or as bfs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.algorithms.blocks import neighbours
from gstream.algorithms.msf import total_of
from gstream.algorithms.reach import drawn
from gstream.algorithms.records import u64
from gstream.algorithms.refusal import check_said, refuse
from gstream.algorithms.session import Session, SharedKernel
from gstream.algorithms.simple import simple_lists
from gstream.hostcode.intrinsics import atomic_add, atomic_or, trailing_zeros
from gstream.programs.bfs import BFSBack
from gstream.records import record_kernel
from gstream.results import Column
from pagestore.sizes import show_things

AT_ONCE = 64  # bits of `near`
SEARCHES = 16
MOST_SEARCHES = 256  # of a small graph: 1 ms each
EDGES = 1 << 22  # that may be looked at to watch more vertices
ROUNDING = 1e-9  # of sums of doubles, relative


@record_kernel(near="or")
def mark_near(record, own, near):
    """near[u] |= own[v] and near[v] |= own[u] (uint64[V]) over each edge between u and v, self-loops apart."""
    v = record.vertex
    mine, met = own[v], u64(0)
    for u in record.neighbours():
        if u != v:
            met |= own[u]
            if mine & ~near[u] != u64(0):
                atomic_or(near, u, mine)
    if met & ~near[v] != u64(0):
        atomic_or(near, v, met)


@record_kernel(between="sum")
def count_between(record, hubs, ends, near, between):
    """between[i] (uint64[64]) += edges whose ends both have bit i, each once, self-loops apart."""
    v = record.vertex
    mine = near[v]
    if mine == u64(0):
        return
    for u in record.distinct(hubs, ends):
        common = near[u] & mine
        if u == v:
            common = u64(0)
        while common != u64(0):
            atomic_add(between, trailing_zeros(common), u64(1))
            common &= common - u64(1)


def watched(session: Session, values: np.ndarray, least: int, most: int, edges: int) -> np.ndarray:
    """int64[n]: store IDs, ascending, of `least` vertices or as many as EDGES allow, `most` at most; half of the most
    edges, half drawn. edges: that one takes. Raises CertificateError where a vertex without edges has a value but 0."""
    size = neighbours(session)
    session.hold(size)
    linked, odd = np.flatnonzero(size), np.flatnonzero((size == 0) & (values != 0))
    if len(odd):
        raise refuse(f"vertex {session.user_ids(odd[:1])[0]} has {values[odd[0]]:.17g} and no edges")
    count = min(max(least, EDGES // max(1, edges)), most, len(linked))
    large = linked[np.argsort(size[linked], kind="stable")[::-1][: count // 2]]
    rest = np.setdiff1d(linked, large, assume_unique=True)
    others = np.random.default_rng(len(linked)).choice(rest, count - len(large), replace=False)
    session.let_go(size)
    return np.sort(np.concatenate([large, others]))


def certify_triangles(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the triangles of 64 vertices or more, and that all add up. Raises CertificateError."""
    values = columns[0].values
    at, between, _ = _near(session, values)
    most = session.meta.vertices**2 // 2  # of a vertex
    if len(values) and (int(values.min()) < 0 or int(values.max()) > most):
        raise refuse(f"a vertex has more than {most} triangles, or fewer than 0")
    if total_of(values) != 3 * found["triangles"]:
        raise refuse(f"the vertices' triangles are not 3 times {found['triangles']}")
    _compare(session, at, values[at].astype(np.float64), between / 2, 0.0)
    return {"holds": True, "proves": f"triangles of {_counted(session, at)}, and their sum"}


def certify_lcc(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the coefficients of 64 vertices or more, that all are from 0 to 1, and their mean. Raises
    CertificateError."""
    values = columns[0].values
    if not np.all((values >= 0) & (values <= 1)):
        raise refuse("a clustering coefficient is not from 0 to 1")
    check_said(found, ROUNDING, mean_lcc=float(values.mean()) if len(values) else 0.0)
    at, between, degree = _near(session, values)
    pairs = degree * (degree - 1)
    _compare(session, at, values[at], np.divide(between, pairs, out=np.zeros(len(at)), where=pairs > 0), ROUNDING)
    return {"holds": True, "proves": f"coefficients of {_counted(session, at)}"}


def _near(session: Session, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(watched vertices; float64[n]: edges between neighbours of each, undirected ones in both directions; float64[n]:
    its neighbours)."""
    at = watched(session, values, AT_ONCE, len(values), -(-2 * session.meta.edges // AT_ONCE))
    own, near = np.zeros(session.meta.vertices, np.uint64), np.zeros(session.meta.vertices, np.uint64)
    session.hold(own, near)
    between, degree = np.zeros(len(at)), np.zeros(len(at))
    name = session.meta.topologies[0]
    lists = simple_lists(session, name)
    for first in range(0, len(at), AT_ONCE):
        some, found = at[first : first + AT_ONCE], np.zeros(AT_ONCE, np.uint64)
        bit = np.uint64(1) << np.arange(len(some), dtype=np.uint64)
        own[:] = near[:] = 0
        own[some] = bit
        session.sweep(name, SharedKernel(mark_near, (own, near)))
        session.sweep(name, SharedKernel(count_between, (lists.hubs, lists.ends, near, found)))
        between[first : first + AT_ONCE] = found[: len(some)]
        degree[first : first + AT_ONCE] = [np.count_nonzero(near & one) for one in bit]
    return at, between, degree


def certify_closeness(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the closeness of 16 vertices or more. Raises CertificateError."""

    def closeness(hops: np.ndarray, others: int) -> float:
        share = len(hops) / others if options.get("wf_improved", True) and others else 1.0
        return len(hops) / float(hops.sum()) * share if len(hops) else 0.0

    return _by_searches(session, columns[0].values, options, found, closeness, 1.0)


def certify_harmonic(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the harmonic centrality of 16 vertices or more. Raises CertificateError."""
    vertices = session.meta.vertices

    def harmonic(hops: np.ndarray, others: int) -> float:
        scale = (vertices - 1) / others if others and found["sources"] < vertices else 1.0
        return float((1 / hops).sum()) * scale

    return _by_searches(session, columns[0].values, options, found, harmonic, vertices - 1.0)


def _by_searches(
    session: Session, values: np.ndarray, options: dict[str, Any], found: dict[str, Any],
    of: Callable[[np.ndarray, int], float], greatest: float,
) -> dict:  # fmt: skip
    """of(distances of the sources that reach a vertex, how many others there are) is the value of each watched one."""
    sources = drawn(session, options.get("k"), options.get("seed", 0)).astype(np.int64)
    check_said(found, sources=len(sources))
    if not np.all((values >= 0) & (values <= greatest * (1 + ROUNDING))):
        raise refuse(f"a centrality is not from 0 to {greatest:.17g}")
    edges = session.meta.edges + session.meta.vertices
    at, wanted = watched(session, values, SEARCHES, MOST_SEARCHES, edges), []
    for vertex in at:
        outcome = session.run(BFSBack(source=session.user_ids([vertex])[0]))
        hops = outcome.value[sources[sources != vertex]]
        wanted.append(of(hops[hops != np.iinfo(hops.dtype).max].astype(np.float64), len(hops)))
    _compare(session, at, values[at], np.array(wanted), ROUNDING)
    return {"holds": True, "proves": f"centralities of {_counted(session, at)}, by searches from each"}


def _compare(session: Session, at: np.ndarray, values: np.ndarray, wanted: np.ndarray, rounding: float) -> None:
    """Raise CertificateError for a value of the vertices `at` that is not the wanted one."""
    odd = np.flatnonzero(~(np.abs(values - wanted) <= rounding * np.abs(wanted)))
    if len(odd):
        name = session.user_ids(at[odd[:1]])[0]
        raise refuse(f"vertex {name} has {values[odd[0]]:.17g}, and counted again {wanted[odd[0]]:.17g}")


def _counted(session: Session, at: np.ndarray) -> str:
    return f"{len(at)} of {show_things(session.meta.vertices, 'vertex')}"
