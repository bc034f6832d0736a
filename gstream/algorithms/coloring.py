"""Greedy colouring and a maximal independent set, each that of a greedy walk over the vertices in a fixed order.

mis: no two vertices of the set are neighbours, and every other vertex has a neighbour in it
(networkx.maximal_independent_set, which draws one). Here vertices of small degree come first, which makes large sets.
coloring: a vertex gets the least colour, from 0, that no neighbour before it has (networkx.greedy_color with its
strategy `largest_first`); a colour's vertices are an independent set of those left, so the colours come one by one.
Ties go by a hash of the store ID. Neighbours are those in either direction; self-loops don't count.

Any store will do. Hold 1 byte, a degree and 2 bits a vertex; coloring 4 bytes more. A round takes two sweeps of the
pages that have undecided vertices.
Certificate: one sweep over all edges, by the definitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms import independent
from gstream.algorithms.blocks import neighbours
from gstream.algorithms.refusal import refuse
from gstream.algorithms.session import Session, SharedKernel
from gstream.hostcode.bitmaps import bitmap
from gstream.results import Column

NO_COLOR = np.uint32(0xFFFFFFFF)


class _Rounds:
    """The state of all vertices and the rounds that decide them."""

    def __init__(self, session: Session, descending: bool) -> None:
        self.session, self.descending, vertices = session, descending, session.meta.vertices
        self.state = np.zeros(vertices, np.uint8)
        self.size = neighbours(session)
        self.held, self.undecided = bitmap(vertices), bitmap(vertices)
        session.hold(self.state, self.size, self.held, self.undecided)
        self.name, self.single = session.meta.topologies[0], session.meta.directed
        self.count = 0

    def decide(self) -> None:
        """Rounds until each vertex is inside or out."""
        session = self.session
        while session.each(independent.settle, self.state, self.undecided):
            self.count += 1
            self.held[:] = 0
            pages = session.pages_of(self.name, self.undecided)
            arrays = (self.single, self.state, self.size, self.descending, self.held)
            session.sweep(self.name, SharedKernel(independent.hold_up, arrays), pages)
            session.each(independent.join, self.state, self.held)
            session.sweep(self.name, SharedKernel(independent.push_out, (self.single, self.state)), pages)


def run_mis(session: Session) -> tuple[list[Column], dict[str, Any]]:
    """Column in_set: 1 for vertices of the set, else 0."""
    rounds = _Rounds(session, descending=False)
    rounds.decide()
    inside = (rounds.state == independent.INSIDE).astype(np.uint8)
    found = {"set_vertices": int(np.count_nonzero(inside))}
    return [Column("in_set", inside)], found | session.finish(rounds.count, True)


def run_coloring(session: Session) -> tuple[list[Column], dict[str, Any]]:
    """Column color, from 0."""
    color, number = np.full(session.meta.vertices, NO_COLOR), 0
    session.hold(color)
    rounds, left = _Rounds(session, descending=True), session.meta.vertices
    while left:
        rounds.decide()
        left = session.each(independent.give_color, rounds.state, color, np.uint32(number))
        number += 1
    return [Column("color", color)], {"colors": number} | session.finish(rounds.count, True)


def certify_mis(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove that no two vertices of the set are neighbours and that no other can join. Raises CertificateError."""
    inside = columns[0].values
    if np.any(inside > 1):
        raise refuse("membership is neither 0 nor 1")
    covered, failure = np.zeros(len(inside), np.uint8), np.zeros(3, np.int64)
    session.hold(inside, covered)
    shared = SharedKernel(independent.check_set, (inside, failure, covered))
    session.sweep(session.meta.topologies[0], shared)
    _check_edges(session, failure, "are neighbours and both in the set")
    lone = np.flatnonzero((inside == 0) & (covered == 0))
    if len(lone):
        raise refuse(f"vertex {session.user_ids(lone[:1])[0]} has no neighbour in the set and is not in it")
    return {"holds": True, "proves": "no two vertices of the set are neighbours, and no other can join"}


def certify_coloring(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove that neighbours have different colours. Raises CertificateError."""
    color, failure = columns[0].values, np.zeros(3, np.int64)
    if np.any(color >= found["colors"]):
        raise refuse("there are more colours than were said")
    session.hold(color)
    session.sweep(session.meta.topologies[0], SharedKernel(independent.check_colors, (color, failure)))
    _check_edges(session, failure, "are neighbours and have one colour")
    return {"holds": True, "proves": f"{found['colors']} colours, and no edge joins two vertices of one"}


def _check_edges(session: Session, failure: np.ndarray, what: str) -> None:
    if failure[0]:
        u, v = session.user_ids(failure[1:])
        raise refuse(f"vertices {u} and {v} {what}")
