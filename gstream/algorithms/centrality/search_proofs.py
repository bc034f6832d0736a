"""Certificates of closeness and harmonic: the answers of some vertices, searched for once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.algorithms.centrality.reach import drawn
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.watched import ROUNDING, _compare, _counted, watched
from gstream.programs.bfs import BFSBack
from gstream.results.column import Column

SEARCHES = 16
MOST_SEARCHES = 256  # of a small graph: 1 ms each


def certify_closeness(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the closeness of 16 vertices or more. Raises CertificateError."""

    def closeness(hops: np.ndarray, others: int) -> float:
        share = len(hops) / others if options.get("wf_improved", True) and others else 1.0
        return len(hops) / float(hops.sum()) * share if len(hops) else 0.0

    return _by_searches(session, columns[0].values, options, found, closeness, 1.0)


def certify_harmonic(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the harmonic centrality of 16 vertices or more. Raises CertificateError."""
    vertices = session.meta.vertices

    def harmonic(hops: np.ndarray, others: int) -> float:
        scale = (vertices - 1) / others if others and found["sources"] < vertices else 1.0
        return float((1 / hops).sum()) * scale

    return _by_searches(session, columns[0].values, options, found, harmonic, vertices - 1.0)


def _by_searches(
    session: Session, values: np.ndarray, options: dict[str, Any], found: dict[str, Any],
    of: Callable[[np.ndarray, int], float], greatest: float,
) -> dict:  # fmt: skip
    """of(distances of the sources that reach a vertex, how many others there are) is the value of each watched one."""
    sources = drawn(session, options.get("k"), options.get("seed", 0)).astype(np.int64)
    check_said(found, sources=len(sources))
    if not np.all((values >= 0) & (values <= greatest * (1 + ROUNDING))):
        raise refuse(f"a centrality is not from 0 to {greatest:.17g}")
    edges = session.meta.edges + session.meta.vertices
    at, wanted = watched(session, values, SEARCHES, MOST_SEARCHES, edges), []
    for vertex in at:
        outcome = session.run(BFSBack(source=session.user_ids([vertex])[0]))
        hops = outcome.value[sources[sources != vertex]]
        wanted.append(of(hops[hops != np.iinfo(hops.dtype).max].astype(np.float64), len(hops)))
    _compare(session, at, values[at], np.array(wanted), ROUNDING)
    return {"holds": True, "proves": f"centralities of {_counted(session, at)}, by searches from each"}
