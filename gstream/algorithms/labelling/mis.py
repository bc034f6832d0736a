"""A maximal independent set: that of a greedy walk over the vertices, small degrees first, which gives a large set.

No two vertices of the set are neighbours, and every other vertex has a neighbour in it (networkx draws such a set).
Ties of degree go by a hash of the natural index, so the set does not depend on the store's order. A round takes two
sweeps over undecided vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.components.msf import natural_bytes
from gstream.algorithms.declaration import Algorithm
from gstream.algorithms.labelling import independent
from gstream.algorithms.support.blocks import degrees_bytes, neighbours, neighbours_dtype
from gstream.algorithms.support.edgerows import natural_names
from gstream.algorithms.support.refusal import check_edges, check_said, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes
from gstream.results.column import Column

ALGORITHM = Algorithm(
    "mis", "a maximal independent set",
    "The set, whose vertices have in_set 1 and others 0, is the same in any order of the store.",
    definition="greedy, small degrees as stored first, ties by a hash; neighbours either way, self-loops don't "
    "count",
    columns=("vertex", "in_set"), best="largest",
    proof="certify_mis", proof_bytes=2, certificate="by its definition",
    needs="any topology", holds="5 and degrees, reordered 4 more",
    units=(".independent:block push_out",), proof_units=(".independent:check_set",),
)  # fmt: skip


def run_mis(session: Session) -> tuple[list[Column], dict[str, Any]]:
    """Column in_set: 1 for vertices of the set, else 0."""
    vertices, name, single = session.meta.vertices, session.meta.topologies[0], session.meta.directed
    narrow = vertices * (1 + neighbours_dtype(session).itemsize) + 2 * bitmap_bytes(vertices)
    named = natural_bytes(session)
    session.check_memory(narrow + named, max(degrees_bytes(session), narrow + named))
    state, size = np.zeros(vertices, np.uint8), neighbours(session)
    blocked, undecided, rounds = bitmap(vertices), bitmap(vertices), 0
    session.reserve(state, size, blocked, undecided)
    natural = natural_names(session)
    while session.each(independent.settle, state, undecided, items=vertices):
        rounds += 1
        blocked[:] = 0
        session.sweep_among(name, independent.block, (single, state, size, natural, blocked), undecided)
        session.each(independent.join, state, blocked, items=vertices)
        session.sweep_among(name, independent.push_out, (single, state), undecided)
    inside = (state == independent.INSIDE).astype(np.uint8)
    found = {"set_vertices": int(np.count_nonzero(inside))}
    return [Column("in_set", inside)], found | session.finish(rounds, True)


def certify_mis(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove that no two vertices of the set are neighbours and that no other can join. Raises CertificateError."""
    inside = columns[0].values
    if np.any(inside > 1):
        raise refuse("membership is neither 0 nor 1")
    covered = np.zeros(len(inside), np.uint8)
    session.reserve(inside, covered)
    said = "vertices {u} and {v} are neighbours and both in the set"
    check_edges(session, session.meta.topologies[0], independent.check_set, (inside, covered), said)
    lone = (inside == 0) & (covered == 0)
    refuse_vertices(session, lone, "vertex {} has no neighbour in the set and is not in it")
    check_said(found, set_vertices=int(np.count_nonzero(inside)))
    return {"holds": True, "proves": "no two vertices of the set are neighbours, and no other can join"}
