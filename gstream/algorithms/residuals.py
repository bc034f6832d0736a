"""Certificates of centralities: one more iteration, by code of its own (gstream.algorithms.proofs), and what it moves.

Katz: x is within residual / (1 - alpha * D) of the fixed point in L1, D the greatest out-degree, if that is positive;
where the run converged the residual is at most alpha * D * tol. Eigenvectors: (A^T + I) x is lambda x but for the
residual. HITS: hubs are the sums of authorities, and authorities move by the residual. Each residual must be what the
run promises, beside rounding; where it did not converge none is promised, and the residual is told.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gstream.algorithms import proofs
from gstream.algorithms.centralities import restarts
from gstream.algorithms.certify import certify_pagerank, refuse
from gstream.algorithms.session import Session, SharedKernel
from gstream.results import Column

EPSILON = float(np.finfo(np.float64).eps)
ROUNDINGS = 16.0  # of each value in an iteration, and of what it is summed from


def certify_katz(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Bound the L1 error of Katz centralities. Raises CertificateError when the run promised less."""
    alpha, beta, tol = (options.get(name, usual) for name, usual in (("alpha", 0.1), ("beta", 1.0), ("tol", 1e-6)))
    x = _finite(columns[0].values)
    if options.get("normalized", True):
        x = x * found["length"]
    residual = float(np.abs(beta + alpha * spread(session, x) - x).sum())
    growth = abs(alpha) * session.meta.max_out_degree
    rounding = relative_rounding(session) * (1 + growth) * (float(np.abs(x).sum()) + abs(beta) * len(x))
    _check(residual, growth * tol + rounding if found["converged"] else math.inf)
    proof = f"one more iteration changes the sums by {residual:.3g} in L1"
    if growth < 1:
        proof = f"the L1 error of the sums, before they are scaled, is at most {residual / (1 - growth):.3g}"
    return {"holds": True, "proves": proof, "residual": residual}


def certify_eigenvector(
    session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]
) -> dict:  # fmt: skip
    """Measure (A^T + I) x - lambda x in L1. Raises CertificateError when the run promised less."""
    x, tol = _finite(columns[0].values), options.get("tol", 1e-6)
    following = x + spread(session, x)
    eigenvalue = float(x @ following)
    residual = float(np.abs(following - eigenvalue * x).sum())
    length = float(np.sqrt(np.square(x).sum()))
    if len(x) and abs(length - 1) > relative_rounding(session) * len(x):
        raise refuse(f"the centralities have length {length:.17g}, not 1")
    # |x' - x| <= (1 + sqrt V) tol, as lengths differ by no more than vectors do; A^T + I makes it D + 1 times as large.
    growth = session.meta.max_out_degree + 1
    allowed = 2 * growth * (1 + math.sqrt(len(x))) * tol + relative_rounding(session) * growth * float(np.abs(x).sum())
    _check(residual, allowed if found["converged"] else math.inf)
    proof = f"an eigenvector but for {residual:.3g} in L1, of eigenvalue {eigenvalue - 1:.6g}"
    return {"holds": True, "proves": proof, "residual": residual}


def certify_hits(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove hubs from authorities, and measure how far authorities move. Raises CertificateError."""
    hub, authority = (_finite(column.values) for column in columns)
    sums = spread(session, authority, backward=True)
    if options.get("normalized", True):
        sums = sums / (sums.sum() or 1.0)
    off = float(np.abs(sums - hub).sum())
    rounding = relative_rounding(session) * max(1.0, float(np.abs(hub).sum()))
    if found["supersteps"] and not off <= rounding:
        raise refuse(f"hubs differ from the sums of authorities by {off:.3g} in L1")
    if found["supersteps"] and session.meta.edges and not (hub.any() and authority.any()):
        raise refuse("hubs or authorities are 0 in spite of edges")
    shares = hub / (hub.sum() or 1.0)
    raw, scale = spread(session, shares), authority.sum() or 1.0
    residual = float(np.abs(raw / (raw.sum() or 1.0) - authority / scale).sum())
    allowed = 2 * session.meta.max_out_degree * options.get("tol", 1e-8) / (float(raw.sum()) or 1.0) + rounding
    _check(residual, allowed if found["converged"] else math.inf)
    return {"holds": True, "proves": f"one more iteration moves authorities by {residual:.3g} in L1",
            "residual": residual}  # fmt: skip


def certify_rwr(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """PageRank's certificate, with restarts at the sources."""
    own = {name: value for name, value in options.items() if name != "source"}
    own["personalization"] = restarts(session, options.get("source"))
    return certify_pagerank(session, columns, own, found)


def spread(session: Session, x: np.ndarray, backward: bool = False) -> np.ndarray:
    """float64[V]: sum of x(u) over u -> v; backward: of x(v) over u -> v, for u."""
    received = np.zeros_like(x)
    name, pull = session.gathers()
    session.hold(x, received)
    session.sweep(name, SharedKernel(proofs.spread_rank, (x, received, pull != backward)))
    return received


def _finite(values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        raise refuse("a value is no number")
    return values.astype(np.float64)


def relative_rounding(session: Session) -> float:
    """Of a value, relative: of the iteration, and of a hub's sum of d terms, off by some sqrt(d) roundings."""
    most = max(session.meta.max_in_degree, session.meta.max_out_degree)
    return EPSILON * (ROUNDINGS + 4 * math.sqrt(most))


def _check(residual: float, allowed: float) -> None:
    if not residual <= allowed:
        raise refuse(f"one more iteration moves the values by {residual:.3g} in L1; {allowed:.3g} was promised")
