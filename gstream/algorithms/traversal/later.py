"""Distances from those of an earlier run on, after edges were added: relaxing what they shorten.

A former distance is the sum of a path that is still there, and so none is too small. The first round looks at all edges
once; each later one at the out-edges of vertices that came nearer in the round before. At the end no edge shortens a
distance, so these are the least ones: the same as a whole run finds, to the last bit, as sums along a path are rounded
alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.former_runs import check_former, former_distances
from gstream.algorithms.support.given_answers import GivenAnswer
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import lower, onward
from gstream.hostcode.bitmaps import bitmap, bits_where, count_bits, is_set, set_bit
from gstream.records import record_kernel

READ_BYTES = 16  # a vertex: rows of the answer that were read, and what is looked up


@record_kernel(distance="length[] min", changed="uint64[] or")
def relax(record, distance, bits, changed, pull):
    """Lower distances over edges from vertices whose bit is set; changed: those that came nearer."""
    owner = record.vertex
    if pull:
        for u in record.neighbours():
            if is_set(bits, u):
                far = onward(distance, u, record.weight())
                if far < distance[owner] and lower(distance, owner, far):
                    set_bit(changed, owner)
    elif is_set(bits, owner):
        for v in record.neighbours():
            far = onward(distance, owner, record.weight())
            if far < distance[v] and lower(distance, v, far):
                set_bit(changed, v)


step_on = relax.of_unit_weights("step_on", distance="uint32[]")


def go_on(
    session: Session, start: Any, algorithm: str, dtype: np.dtype, later: int = 0, **options: Any
) -> tuple[np.ndarray, int]:
    """(dtype[V]: distances, rounds). start: the earlier answer; options: those that it must have had; later: bytes of
    the call in all afterwards. Raises UsageError, InputError, ResourceError."""
    answer, vertices = GivenAnswer(start, "--from"), session.meta.vertices
    check_former(session, answer, algorithm, **options)
    weighted = algorithm == "sssp"
    held = vertices * (np.dtype(dtype).itemsize + READ_BYTES)
    session.check_memory(held, alone=later, weights=weighted)
    none = unreached(dtype)
    distance = former_distances(session, answer, np.dtype(dtype), none, weighted)
    push = session.store.has("out")
    name, kernel = "out" if push else "in", relax if weighted else step_on
    front, changed, rounds = bits_where(distance != none), bitmap(vertices), 0
    session.reserve(front, changed)
    while count_bits(front):
        changed[:] = 0
        among = front if push and rounds else None
        session.sweep_among(name, kernel, (distance, front, changed, not push), among)
        front, changed, rounds = changed, front, rounds + 1
    session.release(distance, front, changed)
    return distance, rounds
