"""A maximal independent set: that of a greedy walk over the vertices, small degrees first, for a large one.

No two vertices of the set are neighbours, and every other vertex has a neighbour in it
(networkx.maximal_independent_set, which draws one). Neighbours are those in either direction; self-loops don't count.
Vertices of equal degree come by a hash of the natural index, so the set is the same whatever the order of the store.

A round takes two sweeps over undecided vertices.

Runs gstream.algorithms.labelling.independent; needs any topology; holds 5 bytes a vertex and 2 bits, reordered an ID
more;
certificate: by its definition, one sweep over all edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.components.msf import natural_bytes
from gstream.algorithms.labelling import independent
from gstream.algorithms.support.blocks import degrees_bytes, neighbours, neighbours_dtype
from gstream.algorithms.support.edgerows import natural_names
from gstream.algorithms.support.refusal import check_said, refuse, refuse_edge
from gstream.algorithms.support.session import Session, SharedKernel
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes
from gstream.results.column import Column


def run_mis(session: Session) -> tuple[list[Column], dict[str, Any]]:
    """Column in_set: 1 for vertices of the set, else 0."""
    vertices, name, single = session.meta.vertices, session.meta.topologies[0], session.meta.directed
    narrow = vertices * (1 + neighbours_dtype(session).itemsize) + 2 * bitmap_bytes(vertices)
    named = natural_bytes(session)
    session.foresee(narrow + named, max(degrees_bytes(session), narrow + named))
    state, size = np.zeros(vertices, np.uint8), neighbours(session)
    held, undecided, rounds = bitmap(vertices), bitmap(vertices), 0
    session.hold(state, size, held, undecided)
    natural = natural_names(session)
    while session.each(independent.settle, state, undecided, items=vertices):
        rounds += 1
        held[:] = 0
        session.sweep_among(name, SharedKernel(independent.hold_up, (single, state, size, natural, held)), undecided)
        session.each(independent.join, state, held, items=vertices)
        session.sweep_among(name, SharedKernel(independent.push_out, (single, state)), undecided)
    inside = (state == independent.INSIDE).astype(np.uint8)
    found = {"set_vertices": int(np.count_nonzero(inside))}
    return [Column("in_set", inside)], found | session.finish(rounds, True)


def certify_mis(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove that no two vertices of the set are neighbours and that no other can join. Raises CertificateError."""
    inside = columns[0].values
    if np.any(inside > 1):
        raise refuse("membership is neither 0 nor 1")
    covered, failure = np.zeros(len(inside), np.uint8), np.zeros(3, np.int64)
    session.hold(inside, covered)
    shared = SharedKernel(independent.check_set, (inside, failure, covered))
    session.sweep(session.meta.topologies[0], shared)
    refuse_edge(session, failure, "are neighbours and both in the set")
    lone = np.flatnonzero((inside == 0) & (covered == 0))
    if len(lone):
        raise refuse(f"vertex {session.user_ids(lone[:1])[0]} has no neighbour in the set and is not in it")
    check_said(found, set_vertices=int(np.count_nonzero(inside)))
    return {"holds": True, "proves": "no two vertices of the set are neighbours, and no other can join"}
