"""Predecessors of BFS and SSSP where each rank has the distances of its own slice alone.

The predecessor of v is its in-neighbour of least (distance, natural index) on edges that are as long as the difference:
of all in-neighbours u that of least (distance + weight, distance, natural index). A program of one superstep finds it,
whose messages are these in one number. So a rank holds numbers of its slice and its mirrors, and no rank a column. That
takes whole numbers, and weights above 0, without which predecessors might go in circles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.session import Session
from gstream.language.program import INF, MIN, PerVertex, Program, u64
from gstream.planning.plan import Plan
from gstream.records.held import Held
from pagestore.errors import CapError

EXACT = 1 << 53  # parameters of vertices are doubles
MOST = 1 << 63  # messages, which are below INF
NONE = -1.0


class Nearest(Program):
    """The least key of v's in-neighbours; INF where none has one."""

    combine, value, of_slices = MIN, u64, True
    key: PerVertex  # distance * V + natural index; NONE where there is no path

    def start(self, v, g):
        return INF if v.key < 0 else v.key

    def send(self, u, e, g):
        return u.value

    def apply(self, v, got, g):
        return got


class NearestByWeight(Nearest):
    """The same with weights. levels: more than the greatest distance."""

    levels: int = 1

    def send(self, u, e, g):
        return (u.value // g.vertices + e.weight) * (self.levels * g.vertices) + u.value


def keep_slices(session: Session, weighted: bool) -> bool:
    """Whether ranks may keep distances by slices, and find predecessors so."""
    meta = session.meta
    whole_numbers = np.dtype(meta.weight_dtype).kind in "iu" if weighted and meta.weight_dtype else not weighted
    return bool(session.engine.own.splits) and whole_numbers and (not weighted or (meta.min_weight or 0) > 0)


def predecessors_of_slices(session: Session, distance: Any, weighted: bool) -> Held | None:
    """Natural indices of predecessors by rank, `session.none` for sources and vertices that are not reached; None where
    no rank has distances of its own slice alone, or it can't be done so.

    distance: u4[V] or i8[V], 0 at sources alone. All ranks make this call alike.
    """
    vertices, none = len(distance), unreached(distance.dtype)
    if not (isinstance(distance, Held) and distance.of_ranks and keep_slices(session, weighted)):
        return None
    farthest = max(distance.each(lambda own: int(own[own != none].max(initial=0))))
    keys, longest = (farthest + 1) * vertices, int(session.meta.max_weight or 0) if weighted else 0
    if keys > EXACT or (farthest + longest + 1) * keys > MOST:
        return None
    values: Any = distance
    (first, last), own = values.part, values.own
    key = np.zeros(vertices)  # of which the system gives memory for the slice
    key[first:last] = np.where(own != none, own * float(vertices) + values.naturals(session.store), NONE)
    program = NearestByWeight(key=key, levels=farthest + 1) if weighted else Nearest(key=key)
    if _plan(session, program) is None:
        return None
    least: Any = session.run(program, 1, stay=True, kept=False).value
    found = np.full(last - first, session.none, session.id_dtype)
    rooted = (own != none) & (own != 0)
    found[rooted] = least.own[rooted] % np.uint64(vertices)
    made: Held = values.alike(found)
    return made


def slices_bytes(session: Session, weighted: bool) -> int | None:
    """Bytes that `predecessors_of_slices` takes in all, with its pages; None: it has no room for slices."""
    kind = NearestByWeight if weighted else Nearest
    plan = _plan(session, kind(key=np.broadcast_to(NONE, session.meta.vertices)))
    return None if plan is None else sum(plan.host_bytes.values())


def _plan(session: Session, program: Program) -> Plan | None:
    """Of slices; None: memory is capped below what they take."""
    try:
        plan: Plan = session.engine.plan(program, stay=True)
    except CapError:
        return None
    return plan if plan.graph.of else None
