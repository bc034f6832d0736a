"""Certificates that look at some vertices: which, and how their answers compare."""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.blocks import neighbours
from gstream.algorithms.support.refusal import refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from pagestore.sizes import show_things

EDGES = 1 << 22  # that may be looked at to watch more vertices


ROUNDING = 1e-9  # of sums of doubles, relative


def watched(session: Session, values: np.ndarray, least: int, most: int, edges: int) -> np.ndarray:
    """int64[n]: store IDs, ascending, of `least` vertices or as many as EDGES allow, `most` at most: half those of most
    edges, half drawn. edges: that one vertex takes. Raises CertificateError if a vertex without edges has a value but
    0."""
    size = neighbours(session)
    session.reserve(size)
    linked = np.flatnonzero(size)
    refuse_vertices(session, (size == 0) & (values != 0), "vertex {} has {:.17g} and no edges", values)
    count = min(max(least, EDGES // max(1, edges)), most, len(linked))
    large = linked[np.argsort(size[linked], kind="stable")[::-1][: count // 2]]
    rest = np.setdiff1d(linked, large, assume_unique=True)
    others = np.random.default_rng(len(linked)).choice(rest, count - len(large), replace=False)
    session.release(size)
    return np.sort(np.concatenate([large, others]))


def _compare(session: Session, at: np.ndarray, values: np.ndarray, wanted: np.ndarray, rounding: float) -> None:
    """Raise CertificateError for a value of the vertices `at` that is not the wanted one."""
    odd = np.flatnonzero(~(np.abs(values - wanted) <= rounding * np.abs(wanted)))
    if len(odd):
        name = session.user_ids(at[odd[:1]])[0]
        raise refuse(f"vertex {name} has {values[odd[0]]:.17g}, and counted again {wanted[odd[0]]:.17g}")


def _counted(session: Session, at: np.ndarray) -> str:
    return f"{len(at)} of {show_things(session.meta.vertices, 'vertex')}"
