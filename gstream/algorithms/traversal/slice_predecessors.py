"""Predecessors of breadth-first search where each rank has the distances of its own slice alone.

The predecessor of v is its in-neighbour of least (distance, natural index): a program of one superstep finds it, whose
messages are both in one number. So a rank holds that number of its slice and its mirrors, and no rank holds a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.session import Session
from gstream.language.program import INF, MIN, PerVertex, Program, u64
from gstream.records.held import Held

EXACT = 1 << 53  # parameters of vertices are doubles
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


def predecessors_of_slices(session: Session, distance: Any, sources: np.ndarray) -> Held | None:
    """Natural indices of predecessors by rank, `session.none` for sources and vertices that are not reached; None where
    no rank has distances of its own slice alone, or it can't be done so.

    distance: u4[V], as breadth-first search left it; sources: uint64[k] store IDs. All ranks make this call alike.
    """
    vertices, none = len(distance), unreached(np.dtype(np.uint32))
    if not (isinstance(distance, Held) and distance.of_ranks):
        return None
    farthest = max(distance.each(lambda own: int(own[own != none].max(initial=0))))
    if (farthest + 1) * vertices > EXACT:
        return None
    values: Any = distance
    (first, last), own = values.part, values.own
    key = np.zeros(vertices)  # of which the system gives memory for the slice
    key[first:last] = np.where(own != none, own * float(vertices) + values.naturals(session.store), NONE)
    program = Nearest(key=key)
    if session.engine.plan(program, stay=True).graph.own is None:
        return None
    least: Any = session.run(program, 1, stay=True, kept=False).value
    found = np.full(last - first, session.none, session.id_dtype)
    rooted = (own != none) & (own != 0)
    found[rooted] = least.own[rooted] % np.uint64(vertices)
    made: Held = values.alike(found)
    return made


def slices_bytes(session: Session) -> int:
    """Bytes that `predecessors_of_slices` takes in all, with its pages."""
    plan = session.engine.plan(Nearest(key=np.broadcast_to(NONE, session.meta.vertices)), stay=True)
    return sum(plan.host_bytes.values())
