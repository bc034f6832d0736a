"""Vertices within some edges of a source, whichever way the edges of a directed graph point.

distance: uint32[V], FAR where not reached. A round looks at all edges with an end at its level: at the lists of these
vertices, or, of a store with one topology, at all lists, by both ends of their edges.

Certificate (distance_proofs.py): sources alone are at 0; no edge joins a vertex to one more than an edge farther,
within the limit; each other vertex that is reached has a neighbour one edge nearer.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import FAR, lower, note, u32
from gstream.hostcode.bitmaps import bits_where, set_bit
from gstream.records import record_kernel


@record_kernel(distance="min")
def step_both(record, single, level, distance):
    """Neighbours of vertices at `level` are one edge farther at most; single: either end of an edge may be that."""
    v, onward = record.vertex, u32(level + 1)
    if distance[v] == u32(level):
        for u in record.neighbours():
            lower(distance, u, onward)
    elif single and distance[v] > onward:
        for u in record.neighbours():
            if distance[u] == u32(level):
                lower(distance, v, onward)
                break


@record_kernel(failure="note", nearer="or")
def check_both(record, limit, distance, nearer, failure):
    """No edge within the limit spans more than 1; nearer: bits of vertices with a neighbour one edge nearer."""
    v = record.vertex
    for u in record.neighbours():
        near, far = (u, v) if distance[u] < distance[v] else (v, u)
        if distance[near] < distance[far] and distance[near] != FAR:
            if distance[far] - distance[near] == u32(1):
                set_bit(nearer, far)
            elif distance[near] < u32(limit):
                note(failure, near, far)


def near_both(session: Session, sources: np.ndarray, radius: int) -> tuple[np.ndarray, int]:
    """(uint32[V]: edges to the nearest source, FAR past the radius; rounds)."""
    distance, names = np.full(session.meta.vertices, FAR), session.meta.topologies
    session.reserve(distance)
    distance[sources.astype(np.int64)] = 0
    single = len(names) == 1
    kept = session.keep(distance=distance, level=0)
    kept.check_limit(kept.level, radius)
    for level in range(kept.level, min(radius, session.meta.vertices)):
        here = distance == level
        if not here.any():
            break
        bits = None if single else bits_where(here)
        for name in names:
            session.sweep_among(name, step_both, (single, level, distance), bits)
        kept.level = level + 1
        kept.boundary()
    kept.end()
    return distance, kept.level
