"""Certificates of clustering coefficients: those of some vertices are counted again, as triangle_proofs.py does.

By weights two vertices are counted again at a time: near[2 u + i] is how strongly u is tied to the i-th. A sweep sums
near[u] near[v] * the cube root of the weight over all edges. No list is sorted or joined, and nothing is rounded to
float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.density.clustering import shared_out
from gstream.algorithms.density.triangle_proofs import near_watched
from gstream.algorithms.density.weighted_joins import mark_strengths, sum_strengths
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.watched import ROUNDING, _compare, _counted, watched
from gstream.results.column import Column

WATCHED, AT_ONCE = 16, 2  # vertices, by weights
ROUNDED = 1e-6  # relative: s is rounded to float32 three times for each triangle
NOBODY = (1 << 64) - 1  # an ID that no vertex has


def certify_lcc(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the coefficients of 64 vertices or more (16 by weights), that all are within [0, 1], and the mean.
    CertificateError."""
    values, weighted = columns[0].values, bool(options.get("weighted"))
    if not np.all((values >= 0) & (values <= 1 + weighted * ROUNDED)):
        raise refuse("a clustering coefficient is not from 0 to 1")
    check_said(found, ROUNDING, mean_lcc=float(values.mean()) if len(values) else 0.0)
    if weighted:
        at = watched(session, values, WATCHED, WATCHED, -(-2 * session.meta.edges // AT_ONCE))
        _compare(session, at, values[at], _again(session, at), ROUNDED)
    else:
        at, between, degree = near_watched(session, values)
        pairs = degree * (degree - 1)
        _compare(session, at, values[at], np.divide(between, pairs, out=np.zeros(len(at)), where=pairs > 0), ROUNDING)
    return {"holds": True, "proves": f"coefficients of {_counted(session, at)}"}


def _again(session: Session, at: np.ndarray) -> np.ndarray:
    """float64[n]: coefficients by weights of the watched vertices."""
    meta, name = session.meta, session.meta.topologies[0]
    met, near = np.zeros(meta.vertices, np.uint64), np.zeros(AT_ONCE * meta.vertices)
    session.reserve(met, near)
    way = 3 if not meta.directed else 1 if name == "out" else 2
    sums, degree, mutual = (np.zeros(len(at)) for _ in range(3))
    for first in range(0, len(at), AT_ONCE):
        chosen, found = np.full(AT_ONCE, NOBODY, np.uint64), np.zeros(AT_ONCE)
        some = at[first : first + AT_ONCE]
        chosen[: len(some)] = some
        met[:], near[:] = 0, 0
        session.sweep(name, mark_strengths, (way, chosen, met, near))
        session.sweep(name, sum_strengths, (near, found))
        for place in range(len(some)):
            ways = (met >> np.uint64(2 * place)) & np.uint64(3)
            mutual[first + place] = np.count_nonzero(ways == 3)
            degree[first + place] = np.count_nonzero(ways) + mutual[first + place]
            sums[first + place] = found[place]
    sums *= (1 if meta.directed else 4) / (meta.max_weight or 1)  # an undirected edge was met twice
    return shared_out(sums, degree, mutual)
