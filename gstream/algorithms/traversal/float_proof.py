"""A bound of how far distances that were summed in floats are from the exact least sums of the stored weights.

An answer that is least in its own arithmetic may be far off: float32 sums of 200,000 weights are, and a longer path may
come out shorter. So the exact least sum T(v) is held between two numbers.
* Not more: a path of h edges, whose rounded sum is d, is at most d * (1 + u)^h long, nearly d * e^(h u). u: 2^-24 of
  float32, 2^-53 of float64.
* Not less: let p be 0 at the sources, and no edge u -> v have p(v) > p(u) + weight in float64; then T >= p but for
  2^-53 an edge. The distances of a float64 answer are such numbers. For a float32 answer a run in float64 finds others,
  and one more sweep checks them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gstream.algorithms.support.refusal import check_edges, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import note, onward
from gstream.algorithms.traversal.float_sums import DEEP, is_deep
from gstream.programs.sssp import SSSP64
from gstream.records import record_kernel

ROUNDING = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}  # of one addition, relative


@record_kernel(failure="note")
def check_lengths(record, score, pull, failure):
    """No edge u -> v has score[v] > score[u] + weight; score: float64[V], inf where there is no path."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        if onward(score, u, record.weight()) < score[v]:
            note(failure, u, v)


def distance_error(
    session: Session, distance: np.ndarray, predecessor: np.ndarray, sources: np.ndarray, limit: Any
) -> float:
    """The most that a finite distance may be off, as a part of the exact one. Raises CertificateError.

    distance: float32[V] or float64[V], proven to be least in that arithmetic; predecessor: id[V], proven to be on such
    paths; sources: store IDs; limit: of distances, None where there is none.
    """
    reached = np.isfinite(distance)
    edges, kind = max(0, int(np.count_nonzero(reached)) - 1), distance.dtype  # that a path has at most
    double = math.expm1(edges * ROUNDING[np.dtype(np.float64)])
    if kind == np.float64:
        return double
    wide = _float64_distances(session, sources)
    if limit is None or np.isinf(limit):
        said = "vertex {} is at {}, and summed in float64 at {}"
        refuse_vertices(session, np.isfinite(wide) != reached, said, distance, wide)
    off = np.zeros(len(wide))
    np.subtract(distance, wide, out=off, where=reached)
    np.divide(np.abs(off), wide, out=off, where=off != 0)  # inf where the exact sum is 0
    longest = edges if is_deep(session, predecessor) else min(edges, DEEP)
    return max(float(off.max(initial=0.0)), math.expm1(longest * ROUNDING[kind])) + double


def _float64_distances(session: Session, sources: np.ndarray) -> np.ndarray:
    """float64[V]: distances that no edge makes shorter, inf where there is no path."""
    wide = session.run(SSSP64(source=tuple(session.user_ids(sources))), kept=False).value
    if np.isnan(wide).any() or wide[sources].any():
        raise refuse("a source is not at distance 0 where sums are in float64")
    name, pull = session.gathers()
    session.reserve(wide)
    said = "vertex {v} is at {at_v} in float64, but there is an edge from {u}"
    check_edges(session, name, check_lengths, (wide, pull), said, wide)
    return wide
