"""Certificates of triangles: those of some vertices are counted again in another way.

Watched are the vertices of most edges, and as many drawn ones: all of a small graph, 64 of a large one. Which ones does
not depend on the answer. Others may be wrong unnoticed, so the proof says how many were looked at.

64 vertices are counted at a time: bit i of near[u] says that u is a neighbour of the i-th. One sweep sets the bits.
Another counts, for each bit, the edges whose ends both have it. No list is joined with a list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.components.msf import total_of
from gstream.algorithms.support.refusal import refuse
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.simple import simple_lists
from gstream.algorithms.support.watched import _compare, _counted, watched
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add, atomic_or, trailing_zeros
from gstream.records import record_kernel
from gstream.results.column import Column

AT_ONCE = 64  # bits of `near`


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


@record_kernel(between="uint64[] sum")
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


def certify_triangles(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the triangles of 64 vertices or more, and that all add up. Raises CertificateError."""
    values = columns[0].values
    at, between, _ = near_watched(session, values)
    most = session.meta.vertices**2 // 2  # of a vertex
    if len(values) and (int(values.min()) < 0 or int(values.max()) > most):
        raise refuse(f"a vertex has more than {most} triangles, or fewer than 0")
    if total_of(values) != 3 * found["triangles"]:
        raise refuse(f"the vertices' triangles are not 3 times {found['triangles']}")
    _compare(session, at, values[at].astype(np.float64), between / 2, 0.0)
    return {"holds": True, "proves": f"triangles of {_counted(session, at)}, and their sum"}


def near_watched(session: Session, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(watched vertices; edges between the neighbours of each, undirected ones in both directions; its neighbours): the
    last two float64[n]."""
    at = watched(session, values, AT_ONCE, len(values), -(-2 * session.meta.edges // AT_ONCE))
    own, near = np.zeros(session.meta.vertices, np.uint64), np.zeros(session.meta.vertices, np.uint64)
    session.reserve(own, near)
    between, degree = np.zeros(len(at)), np.zeros(len(at))
    name = session.meta.topologies[0]
    lists = simple_lists(session, name)
    for first in range(0, len(at), AT_ONCE):
        some, found = at[first : first + AT_ONCE], np.zeros(AT_ONCE, np.uint64)
        bit = np.uint64(1) << np.arange(len(some), dtype=np.uint64)
        own[:] = near[:] = 0
        own[some] = bit
        session.sweep(name, mark_near, (own, near))
        session.sweep(name, count_between, (lists.hubs, lists.ends, near, found))
        between[first : first + AT_ONCE] = found[: len(some)]
        degree[first : first + AT_ONCE] = [np.count_nonzero(near & one) for one in bit]
    return at, between, degree
