"""A maximal independent set: that of a greedy walk over the vertices, small degrees first, which gives a large set.

No two vertices of the set are neighbours, and every other vertex has a neighbour in it (networkx draws such a set).
Ties of degree go by a hash of the natural index: equal degrees then make no long chains, and the set does not depend on
the store's order.

In each round a vertex joins when no undecided neighbour is ahead of it; then its neighbours are out (Luby 1986). That
gives the walk's set, in O(log^2 V) rounds if the order is random (Blelloch, Fineman, Shun 2012). A round takes two
sweeps over undecided vertices.

state: u1[V]. size: degrees. natural: id[V], natural indices, or of no element if store IDs are natural indices. An
undirected edge stands in the lists of both ends, and each list tells its own vertex. With `single` an edge stands in
one list, which tells both ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import Algorithm, Work
from gstream.algorithms.support.blocks import degrees_bytes, neighbours, neighbours_dtype
from gstream.algorithms.support.caps import count_one_topology
from gstream.algorithms.support.edgerows import natural_bytes, natural_names
from gstream.algorithms.support.refusal import check_edges, check_said, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import BLOCK, blocks, is_ahead, note
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, is_set, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.jit import kernel
from gstream.records import record_kernel
from gstream.results.column import Answer, Column

ALGORITHM = Algorithm(
    "mis", "a maximal independent set",
    "The set, whose vertices have in_set 1 and others 0, is the same in any order of the store.",
    definition="greedy, small degrees as stored first, ties by a hash; neighbours either way, self-loops don't "
    "count",
    columns=("vertex", "in_set"), best="largest",
    proof="certify_mis", proof_bytes=6, certificate="by its definition",
    kept="1: whether in the set, out or open",
    check="check_mis", holds="5 and degrees, reordered 4 more",
    units=("block push_out",), proof_units=("check_set",),
    work=Work(edges=1.9, gpu_edges=30.0, moved=(2.0, 5.0), spread=1.8, answer=1),
)  # fmt: skip

u8: Any = np.uint8
UNDECIDED, INSIDE, OUT, JOINING = u8(0), u8(1), u8(2), u8(3)


@record_kernel(blocked="or")
def block(record, single, state, size, natural, blocked):
    """blocked: bits of undecided vertices that have an undecided neighbour ahead of them."""
    v = record.vertex
    if state[v] != UNDECIDED:
        return
    behind = False
    for u in record.neighbours():
        if u == v or state[u] != UNDECIDED:
            continue
        if is_ahead(size, natural, False, u, v):
            behind = True
            if not single:
                break
        elif single:
            set_bit(blocked, u)
    if behind:
        set_bit(blocked, v)


@kernel
def join(state, blocked, counter):
    """Undecided vertices that are not blocked are joining; blocked is cleared."""
    for begin, end in blocks(counter, len(state)):
        for v in range(begin, end):
            if state[v] == UNDECIDED and not is_set(blocked, v):
                state[v] = JOINING
            if v & u64(63) == u64(63):
                blocked[v >> u64(6)] = u64(0)
    return u64(0)


@record_kernel(state="max")
def push_out(record, single, state):
    """Undecided neighbours of joining vertices are out."""
    v = record.vertex
    joining = state[v] == JOINING
    if state[v] != UNDECIDED and not (joining and single):
        return
    for u in record.neighbours():
        if joining:
            if state[u] == UNDECIDED:
                state[u] = OUT
        elif state[u] == JOINING:
            state[v] = OUT
            break


@kernel
def settle(state, undecided, counter):
    """Who was joining is inside; undecided: bits of the vertices that are. Returns how many there are."""
    left = u64(0)
    for begin, end in blocks(counter, len(undecided), BLOCK // 64):
        for index in range(begin, end):
            word, first = u64(0), index * u64(64)
            for v in range(first, min(first + u64(64), u64(len(state)))):
                if state[v] == JOINING:
                    state[v] = INSIDE
                if state[v] == UNDECIDED:
                    word |= u64(1) << (v & u64(63))
                    left += u64(1)
            undecided[index] = word
    return left


@record_kernel(failure="note", covered="max")
def check_set(record, inside, covered, failure):
    """failure: edges inside the set; covered (u1[V]): 1 for neighbours of its vertices."""
    v = record.vertex
    for u in record.neighbours():
        if u == v:
            continue
        if inside[u] and inside[v]:
            note(failure, v, u)
        elif inside[u]:
            covered[v] = 1
        elif inside[v]:
            covered[u] = 1


def check_mis(session: Session) -> None:
    """Too little memory is said before any work."""
    vertices = session.meta.vertices
    narrow = vertices * (1 + neighbours_dtype(session).itemsize) + 2 * bitmap_bytes(vertices)
    held, read = narrow + natural_bytes(session), degrees_bytes(session)
    count_one_topology(session)
    session.check_memory(held, max(read, held), most=held + read + vertices)


def run_mis(session: Session) -> Answer:
    """Column in_set: 1 for vertices of the set, else 0."""
    vertices, name, single = session.meta.vertices, session.meta.topologies[0], session.meta.directed
    check_mis(session)
    state, size = np.zeros(vertices, np.uint8), neighbours(session)
    blocked, undecided = bitmap(vertices), bitmap(vertices)
    session.reserve(state, size, blocked, undecided)
    natural = natural_names(session)
    kept = session.keep(state=state, rounds=0)
    while session.each(settle, state, undecided, items=vertices):
        kept.rounds += 1
        blocked[:] = 0
        session.sweep_among(name, block, (single, state, size, natural, blocked), undecided)
        session.each(join, state, blocked, items=vertices)
        session.sweep_among(name, push_out, (single, state), undecided)
        kept.boundary()
    kept.end()
    inside = (state == INSIDE).astype(np.uint8)
    found = {"set_vertices": int(np.count_nonzero(inside))}
    return [Column("in_set", inside)], found | session.finish(kept.rounds, True)


def certify_mis(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove that no two vertices of the set are neighbours and that no other can join. Raises CertificateError."""
    inside = columns[0].values
    if np.any(inside > 1):
        raise refuse("membership is neither 0 nor 1")
    covered = np.zeros(len(inside), np.uint8)
    session.reserve(inside, covered)
    said = "vertices {u} and {v} are neighbours and both in the set"
    check_edges(session, session.meta.topologies[0], check_set, (inside, covered), said)
    lone = (inside == 0) & (covered == 0)
    refuse_vertices(session, lone, "vertex {} has no neighbour in the set and is not in it")
    check_said(found, set_vertices=int(np.count_nonzero(inside)))
    return {"holds": True, "proves": "no two vertices of the set are neighbours, and no other can join"}
