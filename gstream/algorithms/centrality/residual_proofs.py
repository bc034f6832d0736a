"""Certificates of centralities: one more iteration, by code of its own, and what it moves.

An iteration enlarges a difference by a known factor at most. So the residual must be what the run's last change
promises, beside rounding.
* Katz: the factor is alpha * D in L1, D the greatest out-degree, by weights of a weighted run. x is within residual /
  (1 - alpha * D) of the fixed point, if that is positive.
* Eigenvectors: (A^T + I) x is lambda x but for the residual, in L2 by that matrix's norm.
* HITS: hubs are the sums of authorities, and authorities move by the residual.
* PageRank: the factor is alpha; x is within residual / (1 - alpha) of the fixed point in L1.
Eigenvectors and HITS have no negative value, and are of the greatest eigenvalue, as far as `_check_leading` can tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.algorithms.centrality.centralities import length_of, restarts
from gstream.algorithms.centrality.pagerank import preference_of
from gstream.algorithms.support.part_sweeps import own_part, sweep_part
from gstream.algorithms.support.refusal import refuse
from gstream.algorithms.support.session import Session
from gstream.devices.host.rank_values import RankValues
from gstream.engine.part_arrays import PartArrays
from gstream.hostcode.generate import BLOCK
from gstream.hostcode.intrinsics import atomic_add
from gstream.records import record_kernel
from gstream.records.held import on_host
from gstream.results.column import Column

EPSILON = float(np.finfo(np.float64).eps)
SMALL = 0.5  # of a value of the vector that an iteration starts from, all of whose values are equal
LEADING = 1 + 1e-9  # what rounding may take from a growth, relative
MOST_STEPS = 32  # of the search for a greater eigenvalue; of most graphs the first shows that there is none
ROUNDINGS = 16.0  # of each value in an iteration, and of what it is summed from
RANK_ROUNDINGS = 4.0  # of a rank: its last multiplication and addition, and what is read


def certify_katz(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Bound the L1 error of Katz centralities. Raises CertificateError when the run promised less."""
    alpha, beta, tol = (options.get(name, usual) for name, usual in (("alpha", 0.1), ("beta", 1.0), ("tol", 1e-6)))
    x, rounding = _finite(columns[0].values), relative_rounding(session)
    weighted = options.get("weighted", False)
    normalized = options.get("normalized", True)
    if alpha >= 0 and beta >= 0 and not (weighted and session.meta.min_weight < 0) and (x < 0).any():
        raise refuse("a value is negative")
    _check_length(x, 1.0 if normalized and x.any() else found["length"], rounding)
    check_change(found, tol)
    if normalized:
        x = x * found["length"]
    residual = float(np.abs(beta + alpha * spread(session, x, weighted=weighted) - x).sum())
    growth = abs(alpha) * _most_out(session, weighted)
    rounding *= (1 + growth) * (float(np.abs(x).sum()) + abs(beta) * len(x))
    _check(residual, growth * found["l1_change"] + rounding if found["supersteps"] else math.inf)
    proof = f"one more iteration changes the sums by {residual:.3g} in L1"
    if growth < 1:
        proof = f"the L1 error of the sums, before they are scaled, is at most {residual / (1 - growth):.3g}"
    return {"holds": True, "proves": proof, "residual": residual}


def certify_eigenvector(
    session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]
) -> dict:
    """Measure (A^T + I) x - lambda x in L2. Raises CertificateError if the run promised less, or, of an undirected
    graph, if another eigenvalue is greater."""
    x, tol, weighted = _not_negative(columns[0]), options.get("tol", 1e-6), options.get("weighted", False)
    following = x + spread(session, x, weighted=weighted)
    eigenvalue = float(x @ following)
    residual = float(np.linalg.norm(following - eigenvalue * x))
    if len(x):
        _check_length(x, 1.0, relative_rounding(session) * len(x))
    check_change(found, tol)
    # Of the vector before, z of length 1, |x - z| <= 2 l1_change, as lengths differ by no more than vectors do. And
    # (A^T + I) x less some multiple of x is (A^T + I) (x - z); of all multiples Rayleigh's leaves the least.
    growth = _norm(session, weighted)
    allowed = growth * (2 * found["l1_change"] + relative_rounding(session) * math.sqrt(len(x)))
    if found["supersteps"]:
        _check(residual, allowed, "L2")
        if not abs(found["eigenvalue"] - (eigenvalue - 1)) <= allowed:
            raise refuse(
                f"the summary's eigenvalue is {found['eigenvalue']:.17g}, and Rayleigh's {eigenvalue - 1:.17g}"
            )
    if not session.meta.directed:
        grown = float(np.linalg.norm(following))
        _check_leading(x, grown, lambda y: y + _spread_once(session, y, weighted=weighted))
    proof = f"an eigenvector but for {residual:.3g} in L2, of eigenvalue {eigenvalue - 1:.6g}"
    return {"holds": True, "proves": proof, "residual": residual}


def certify_hits(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove hubs from authorities, and measure how far authorities move. Raises CertificateError."""
    hub, authority = (_not_negative(column) for column in columns)
    check_change(found, options.get("tol", 1e-8))
    own = {"weighted": options.get("weighted", False)}
    sums = spread(session, authority, backward=True, **own)
    if options.get("normalized", True):
        sums = sums / (sums.sum() or 1.0)
    off = float(np.abs(sums - hub).sum())
    rounding = relative_rounding(session) * max(1.0, float(np.abs(hub).sum()))
    if found["supersteps"] and not off <= rounding:
        raise refuse(f"hubs differ from the sums of authorities by {off:.3g} in L1")
    some = session.meta.edges and not (own["weighted"] and session.meta.max_weight == 0)
    if found["supersteps"] and some and not (hub.any() and authority.any()):
        raise refuse("hubs or authorities are 0 in spite of edges")
    lengths = {"hubs": hub.sum(), "authorities": authority.sum()}
    if not options.get("normalized", True):
        lengths = {"authorities": np.linalg.norm(authority)}
    for name, length in lengths.items():
        allowed = relative_rounding(session) * (1 + len(hub))
        if found["supersteps"] and some and not abs(length - 1) <= allowed:
            raise refuse(f"{name} add up to {length:.17g}, or have that length, not 1")
    shares = hub / (hub.sum() or 1.0)
    raw, scale = spread(session, shares, **own), authority.sum() or 1.0
    residual = float(np.abs(raw / (raw.sum() or 1.0) - authority / scale).sum())
    allowed = 2 * _most_out(session, **own) * found["l1_change"] / (float(raw.sum()) or 1.0) + rounding
    _check(residual, allowed if found["supersteps"] else math.inf)
    grown = float(np.linalg.norm(spread(session, raw, backward=True, **own))) / (float(np.linalg.norm(shares)) or 1.0)
    _check_leading(shares, grown, lambda y: _spread_once(session, _spread_once(session, y, **own), True, **own))
    return {"holds": True, "proves": f"one more iteration moves authorities by {residual:.3g} in L1",
            "residual": residual}  # fmt: skip


def certify_rwr(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """PageRank's certificate, with restarts at the sources."""
    own = {name: value for name, value in options.items() if name != "source"}
    own["personalization"] = restarts(session, options.get("source"))
    return certify_pagerank(session, columns, own, found)


def spread(session: Session, x: np.ndarray, backward: bool = False, weighted: bool = False) -> np.ndarray:
    """float64[V]: sum of x(u) (times the weight) over u -> v; backward: of x(v) over u -> v, for u."""
    received = np.zeros_like(x)
    name, pull = session.gathers()
    session.reserve(x, received)
    session.sweep(name, spread_weighed if weighted else spread_rank, (x, received, pull != backward))
    return received


def _most_out(session: Session, weighted: bool) -> float:
    """At least the greatest sum of sizes of what x(u) is multiplied by, over the out-edges of a vertex u."""
    meta = session.meta
    if not weighted:
        return float(meta.max_out_degree)
    if not meta.edges or (least := meta.min_weight) is None or (most := meta.max_weight) is None:
        return 0.0
    if least < 0:
        return meta.max_out_degree * float(max(-least, most))
    return float(_strengths(session).max(initial=0.0))


def _strengths(session: Session) -> np.ndarray:
    """float64[V]: sums of the weights of out-edges."""
    return _spread_once(session, np.ones(session.meta.vertices), backward=True, weighted=True)


def _finite(values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        raise refuse("a value is no number")
    return values.astype(np.float64)


def _spread_once(session: Session, x: np.ndarray, backward: bool = False, weighted: bool = False) -> np.ndarray:
    """`spread` again and again: what it held is let go each time."""
    received = spread(session, x, backward, weighted)
    session.release(x, received)
    return received


def _not_negative(column: Column) -> np.ndarray:
    values = _finite(column.values)
    if (values < 0).any():  # sums of what is not negative can't be
        raise refuse(f"column {column.name} has a negative value")
    return values


def check_change(found: dict[str, Any], tol: float, ends: bool = True) -> None:
    """Raise CertificateError where the last change is not what a run that says it converged ends at. ends: at `tol`."""
    change = found["l1_change"]
    if not change >= 0 or (ends and found["converged"] and found["supersteps"] and not change <= tol):
        raise refuse(f"the summary says that the last change was {change:.3g}, and the run ends at {tol:.3g}")


def _check_leading(x: np.ndarray, growth: float, step: Callable[[np.ndarray], np.ndarray]) -> None:
    """Refuse x where another eigenvalue is greater. step: M y, M symmetric without negative entries; growth: |M x|/|x|.

    The iteration x(k) = M^k s starts from equal values s, and its growth never falls (|M^k s|^2 are moments). Let P be
    M among the vertices where x(k), of length 1, is below s, and u >= 0 P's leading eigenvector. If P's eigenvalue were
    above the growth, <u, x(k)> would never have fallen, so x(k) could not be below s in all of these vertices. So an
    iteration's x(k), converged or not, is never refused; SMALL leaves room for rounding. P's eigenvalue is at least
    |P y|/|y| and at most the greatest of (P y)(v)/y(v) (Collatz, Wielandt), for any y > 0.
    """
    small = x * math.sqrt(len(x)) < SMALL * float(np.linalg.norm(x))
    if not small.any():
        return
    y = small.astype(np.float64)
    for _ in range(MOST_STEPS):
        following = np.where(small, step(y), 0.0)
        there = y > 0
        if float((following[there] / y[there]).max()) <= growth * LEADING:
            return
        length = float(np.linalg.norm(following) / np.linalg.norm(y))
        if length > growth * LEADING:
            raise refuse(f"values grow by {growth:.9g} an iteration where they are large, by {length:.9g} elsewhere")
        y = following / float(np.linalg.norm(following))


def relative_rounding(session: Session) -> float:
    """Of a value, relative: of the iteration, and of a hub's sum of d terms, off by d roundings if they are equal."""
    most = max(session.meta.max_in_degree, session.meta.max_out_degree)
    return EPSILON * (ROUNDINGS + most)


def _norm(session: Session, weighted: bool) -> float:
    """At least the L2 norm of M = A^T + I: the root of the greatest row sum of M^T M."""
    once = np.ones(session.meta.vertices)
    once += _spread_once(session, once, weighted=weighted)
    once += _spread_once(session, once, True, weighted)
    return math.sqrt(float(once.max(initial=0.0)))


def _check(residual: float, allowed: float, norm: str = "L1") -> None:
    if not residual <= allowed or not math.isfinite(residual):
        raise refuse(f"one more iteration moves the values by {residual:.3g} in {norm}; {allowed:.3g} was promised")


def _check_length(x: np.ndarray, wanted: float, rounding: float) -> None:
    """Raise CertificateError where x has another L2 norm."""
    length = length_of(x)
    if not abs(length - wanted) <= rounding * wanted:
        raise refuse(f"the centralities have length {length:.17g}, not {wanted:.17g}")


def certify_pagerank(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Bound the L1 error of ranks; returns the bound. Raises CertificateError when the run promised less."""
    rank: Any = columns[0].held or columns[0].values
    alpha, tol = options.get("alpha", 0.85), options.get("tol", 1e-6)
    weighted, preference = options.get("weighted", False), preference_of(session, options.get("personalization"))
    residual = pagerank_residual(session, rank, alpha, preference, weighted)
    check_change(found, tol, options.get("iterations") is None)
    # A rank is rounded a few times; a hub's sum of d terms, in float64, is off by half a rounding a term, as these may
    # be equal (repeated edges); so is what vertices without edges give to all, which is summed by blocks.
    blocks, last = divmod(session.meta.vertices, BLOCK)
    terms = (session.meta.max_in_degree + blocks + (BLOCK if blocks else last)) / 2
    if weighted:
        terms += session.meta.max_out_degree + RANK_ROUNDINGS  # of strengths, which ranks are divided by
    rounding = RANK_ROUNDINGS * float(np.finfo(rank.dtype).eps) + terms * float(np.finfo(np.float64).eps)
    kept = (options.get("active_above") or 0.0) * session.meta.vertices  # changes that were not taken
    allowed = alpha * found["l1_change"] + kept + rounding if found["supersteps"] else 2.0
    bound = residual / (1 - alpha)
    if not residual <= allowed:
        raise refuse(f"one more iteration changes the ranks by {residual:.3g} in L1; {allowed:.3g} was promised")
    return {"holds": True, "proves": f"the ranks' L1 error is at most {bound:.3g}", "l1_error_bound": bound}


def _residual_by_slices(session: Session, part: PartArrays, x: np.ndarray, alpha: float) -> float:
    """The same where ranks have slices, each its own, of ranks of equal preference. x: float64[n], of the slice."""
    ranks = part.ranks
    if ranks.any(not np.isfinite(x).all()):
        return float("inf")
    (name, pull), degree = session.gathers(), session.store.out_degree(*part.ids.own)
    share = part.spread(np.divide(x, degree, out=np.zeros_like(x), where=degree != 0))
    received = np.zeros(part.count)
    session.reserve(x, share, received)
    sweep_part(session, part, name, spread_rank, (share, received, pull))
    part.mirrors.reduce(received, np.add)
    adrift, vertices = sum(ranks.everybody(float(x[degree == 0].sum()))), session.meta.vertices
    change = alpha * (received[part.own] + adrift / vertices) + (1 - alpha) / vertices - x
    return float(sum(ranks.everybody(float(np.abs(change).sum()))))


def pagerank_residual(
    session: Session, rank: Any, alpha: float, preference: np.ndarray | None, weighted: bool
) -> float:
    """L1 change, in float64, that one more iteration makes to `rank`; inf where a rank is no number."""
    name, pull = session.gathers()
    part = own_part(session, name) if preference is None and not weighted else None
    if part is not None and isinstance(rank, RankValues) and rank.of_ranks:
        return _residual_by_slices(session, part, rank.own.astype(np.float64), alpha)
    rank = on_host(rank)
    x = rank.astype(np.float64)
    if not np.isfinite(x).all():
        return float("inf")
    degree = _strengths(session) if weighted else session.degree("out")
    adrift = float(x[degree == 0].sum())
    share = np.divide(x, degree, out=np.zeros_like(x), where=degree != 0)
    received = np.zeros_like(x)
    session.reserve(rank, x, share, received)
    session.sweep(name, spread_weighed if weighted else spread_rank, (share, received, pull))
    spread = 1 / max(1, len(x)) if preference is None else preference
    received += adrift * spread
    received *= alpha
    received += (1 - alpha) * spread
    received -= x
    return float(np.abs(received).sum())


@record_kernel(received="sum")
def spread_weighed(record, share, received, pull):
    """received[v] += weight * share[u] over u -> v; both float64[V]."""
    owner = record.vertex
    if pull:
        total = 0.0
        for u in record.neighbours():
            total += record.weight() * share[u]
        atomic_add(received, owner, total)
    else:
        for v in record.neighbours():
            atomic_add(received, v, record.weight() * share[owner])


spread_rank = spread_weighed.of_unit_weights("spread_rank")  # sum of share[u]
