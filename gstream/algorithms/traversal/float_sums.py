"""Whether float32 holds the sums of weights that shortest paths have, and how far off such sums are.

A float32 sum of h weights is off by at most h * 2^-24 of itself: 4e-6 up to DEEP edges, less than six digits show; 0.2
% over 200,000 edges of weight 0.1. A sum past 3.4e38 is inf, which stands for "no path". So distances in float32 are
kept if no path of their tree has more than DEEP edges, and no edge leads past the greatest float32. The tree is that of
predecessors, so the choice depends neither on devices nor on the order of work.

Float64 is not the first choice: values of twice the size halve the vertices that a device holds.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal import nearest, slice_predecessors
from gstream.algorithms.traversal.predecessors import find_predecessors
from gstream.devices.host.rank_values import RankValues
from gstream.records.held import Held

DEEP = 64  # edges of a path: a power of 2
FLOAT_MAX = float(np.finfo(np.float32).max)


def why_wider(
    session: Session, distance: np.ndarray | Held, sources: np.ndarray, predecessor: np.ndarray | None
) -> str:
    """Why distances (float32[V]) are to be summed in float64, "" where float32 does.

    predecessor: id[V]; None: they are looked for where the distances alone do not tell. sources: store IDs.
    """
    if may_overflow(session, distance):
        return f"float32 sums would pass {FLOAT_MAX:.2g}"
    if predecessor is None and not are_short(session, distance):
        predecessor = find_predecessors(session, distance, sources, weighted=True)[0]
    if predecessor is not None and is_deep(session, predecessor):
        return f"paths have more than {DEEP} edges, over which float32 sums drift"
    return ""


def are_short(session: Session, distance: np.ndarray | Held) -> bool:
    """Whether distances (float32[V]) alone show that no path has more than DEEP edges.

    Weights that rounding absorbs add nothing to a distance, but these are less than 2^-24 of it.
    """
    least, most = float(session.meta.min_weight or 0.0), greatest(distance)
    return len(distance) <= DEEP or most <= DEEP * least


def may_overflow(session: Session, distance: np.ndarray | Held) -> bool:
    """Whether some edge may lead from a distance (float32[V]) past the greatest float32."""
    return greatest(distance) + float(session.meta.max_weight or 0.0) > FLOAT_MAX


def greatest(distance: np.ndarray | Held) -> float:
    """The greatest finite distance, 0 where there is none."""
    if isinstance(distance, Held):
        return float(max(distance.each(greatest)))
    return float(np.max(distance, where=np.isfinite(distance), initial=0.0))


def is_deep(session: Session, predecessor: np.ndarray | Held) -> bool:
    """Whether a vertex has more than DEEP vertices above it. predecessor: as of `find_predecessors`; no cycles."""
    if len(predecessor) <= DEEP:
        return False
    if isinstance(predecessor, RankValues):
        return slice_predecessors.is_deep(session, predecessor, DEEP.bit_length() - 1)
    depth = np.zeros(len(predecessor), np.uint8)
    session.reserve(depth)
    deep = session.each(nearest.find_deep, predecessor, depth, DEEP, items=len(depth))
    session.release(depth)
    return bool(deep)
