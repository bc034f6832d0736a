"""Katz, eigenvector and HITS centralities, and random walks with restart, each an iteration of a program.

All follow edges as NetworkX does: Katz and eigenvector centrality of a vertex come over its in-edges. A self-loop of an
undirected graph counts once. `tol` is the absolute L1 change (NetworkX multiplies it by V for Katz and eigenvectors).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gstream.algorithms.centrality.pagerank import program_of_pagerank, run_pagerank
from gstream.algorithms.declaration import (
    ALPHA,
    ANY,
    EXECUTION,
    FLOAT64,
    NOT_NEGATIVE,
    NUMBER,
    SOURCE,
    SWITCH,
    WEIGHTED,
    Algorithm,
    Option,
    Work,
    at_most,
    tolerance,
)
from gstream.algorithms.support.arguments import check_tolerance, source_ids, unread_weights
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.session import Session
from gstream.programs.eigenvector import Eigenvector, WeightedEigenvector
from gstream.programs.hits import Authorities, Hubs, WeightedAuthorities, WeightedHubs
from gstream.programs.katz import Katz, WeightedKatz
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError

LARGE = 1e9  # a beta by which sums may end past all numbers whatever alpha is
LEAST = 1e-290  # a beta whose sums are rounded to 16 digits, as others are
ALGORITHMS = (
    Algorithm(
        "rwr", "random walks with restart: PageRank personalised to sources",
        "With out-pages alone, every superstep looks at all of them; with in-pages, too, at those of few vertices.",
        definition="PageRank from sources, dangling vertices lead there; repeated edges count, by weights if "
        "weighted",
        columns=("vertex", "proximity"), best="largest",
        options=(SOURCE, ALPHA, tolerance(1e-6), at_most(100), WEIGHTED, FLOAT64, EXECUTION),
        plan="program_of_rwr", proof=".residual_proofs:certify_rwr", proof_bytes=45,
        kept="4, float64 8, weighted 16: ranks, strengths",
        certificate="a bound of the error", weights=NOT_NEGATIVE, holds="28, float64 36, weighted 44",
        program="gstream.programs.pagerank:PersonalizedPageRank",
        units=("gstream.programs.pagerank:WeightedPageRank", "gstream.programs.inflow:Outflow"),
        proof_units=(".residual_proofs:spread_rank spread_weighed",),
        work=Work(edges=1.1, times=(8, 14, 60), spread=1.2, answer=4, switched=(("weighted", 1.4), ("float64", 1.05))),
    ),
    Algorithm(
        "katz", "Katz centrality, as in NetworkX",
        definition="along in-edges, L2 length 1 if normalized; repeated edges count, by weights if weighted",
        columns=("vertex", "katz"), best="largest",
        options=(
            Option("alpha", NUMBER, 0.1, "share of a value that each edge carries on"),
            Option("beta", NUMBER, 1.0, "what each vertex has by itself"),
            at_most(1000), tolerance(1e-6), Option("normalized", SWITCH, True, "values of length 1", True),
            WEIGHTED,
        ),
        plan="program_of_katz", proof=".residual_proofs:certify_katz", proof_bytes=33, certificate="residual",
        kept="8: centralities",
        weights=ANY, holds="24",
        program="gstream.programs.katz:Katz", units=("gstream.programs.katz:WeightedKatz",),
        proof_units=(".residual_proofs:spread_rank spread_weighed",),
        work=Work(gpu_edges=2.5, times=(4, 7, 40), spread=1.3),
    ),
    Algorithm(
        "eigenvector", "eigenvector centrality by in-edges, as in NetworkX",
        definition="along in-edges, of A^T + I, L2 length 1; repeated edges count, by weights if weighted",
        columns=("vertex", "eigenvector"), best="largest", options=(at_most(100), tolerance(1e-6), WEIGHTED),
        plan="program_of_eigenvector", proof=".residual_proofs:certify_eigenvector", proof_bytes=49,
        kept="8: centralities",
        certificate="residual", weights=NOT_NEGATIVE, holds="24",
        program="gstream.programs.eigenvector:Eigenvector",
        units=("gstream.programs.eigenvector:WeightedEigenvector",),
        proof_units=(".residual_proofs:spread_rank spread_weighed",),
        work=Work(edges=1.35, gpu_edges=2.0, times=(10, 18, 100), spread=1.3),
    ),
    Algorithm(
        "hits", "hubs and authorities, as in NetworkX",
        definition="hubs and authorities of sum 1 if normalized; repeated edges count, by weights if weighted",
        columns=("vertex", "hub", "authority"), best="largest",
        options=(
            at_most(100), tolerance(1e-8), Option("normalized", SWITCH, True, "hubs and authorities of sum 1"),
            WEIGHTED,
        ),
        plan="program_of_hits", proof=".residual_proofs:certify_hits", proof_bytes=89, certificate="residual",
        kept="16: hubs, authorities", sweeps=2,
        weights=NOT_NEGATIVE, holds="56",
        program="gstream.programs.hits:Authorities",
        units=("gstream.programs.hits:Hubs WeightedAuthorities WeightedHubs",),
        proof_units=(".residual_proofs:spread_rank spread_weighed",),
        work=Work(edges=1.6, gpu_edges=6.0, times=(6, 18, 100), spread=1.4, answer=16),
    ),
)  # fmt: skip


def run_katz(
    session: Session, alpha: float = 0.1, beta: float = 1.0, max_iter: int = 1000, tol: float = 1e-6,
    normalized: bool = True, weighted: bool = False,
) -> Answer:  # fmt: skip
    """Column katz, of length 1 where `normalized` (L2, as NetworkX), and the summary: `length` it had before.

    Raises UsageError on numbers outside their limits, and where `alpha` is so large that the sums have no end.
    """
    program = program_of_katz(session, alpha, beta, max_iter, tol, normalized, weighted)
    outcome = session.run(program, max_supersteps=max_iter)
    value, length = outcome.value, length_of(outcome.value)
    moved = outcome.totals.get("moved", 0.0)
    if not (math.isfinite(length) and math.isfinite(moved)):
        raise UsageError(
            f"--alpha {alpha}: sums over walks grow without end on this graph; alpha must be below 1 divided by the "
            f"greatest eigenvalue. Pass less{', or a smaller --beta' if abs(beta) > LARGE else ''}."
        )
    if normalized and length:
        value /= length
    found = session.finish(outcome.supersteps, outcome.converged) | {"l1_change": moved}
    return [Column("katz", value)], found | {"length": length}


def program_of_katz(
    session: Session, alpha: float, beta: float, max_iter: int, tol: float, normalized: bool, weighted: bool
) -> Katz:
    """The program of these options. Raises UsageError on numbers that mean nothing."""
    for name, number in (("alpha", alpha), ("beta", beta)):
        if not math.isfinite(number):
            raise UsageError(f"--{name} {number}: must be a number. The default is {0.1 if name == 'alpha' else 1.0}.")
    if 0 < abs(beta) < LEAST:
        raise UsageError(f"--beta {beta}: must be 0 or at least {LEAST:g}; doubles have fewer digits below. Pass more.")
    check_tolerance(tol, max_iter)
    return (WeightedKatz if weighted else Katz)(alpha=alpha, beta=beta, tolerance=tol)


def run_eigenvector(session: Session, max_iter: int = 100, tol: float = 1e-6, weighted: bool = False) -> Answer:
    """Column eigenvector (length 1: L2), and the summary: `eigenvalue` (Rayleigh's), l1_change. Raises UsageError."""
    outcome = session.run(program_of_eigenvector(session, max_iter, tol, weighted), max_supersteps=max_iter)
    value, length = outcome.value, length_of(outcome.value)
    found = session.finish(outcome.supersteps, outcome.converged)
    moved, squares = outcome.totals.get("moved", 0.0), outcome.totals.get("squares", 0.0)
    found["l1_change"] = moved / math.sqrt(squares) if squares else 0.0  # as `halt` compares it
    found["eigenvalue"] = length - 1 if outcome.supersteps else 0.0
    if length:
        value /= length
    return [Column("eigenvector", value)], found


def program_of_eigenvector(session: Session, max_iter: int, tol: float, weighted: bool) -> Eigenvector:
    """The program of these options. Raises UsageError on numbers that mean nothing."""
    check_tolerance(tol, max_iter)
    return (WeightedEigenvector if weighted else Eigenvector)(tolerance=tol)


def run_hits(
    session: Session, max_iter: int = 100, tol: float = 1e-8, normalized: bool = True, weighted: bool = False
) -> Answer:
    """Columns hub and authority, each of sum 1, and the summary.

    Not normalized: authorities of length 1 (L2) and hubs that are the sums of them. An iteration, of two supersteps,
    counts as one of max_iter; `tol` is the L1 change of hubs of sum 1. Without edges all are 0.
    """
    program_of_hits(session, max_iter, tol, normalized, weighted)
    along, against = _turns(weighted)
    hub = np.full(session.meta.vertices, 1 / max(1, session.meta.vertices))
    kept = session.keep(hub=hub, authority=np.zeros_like(hub), change=math.inf, rounds=0)
    kept.check_limit(kept.rounds, max_iter)
    while kept.rounds < max_iter and kept.change >= tol:
        last, authority = kept.hub, _shares(session.run(along(score=kept.hub), 1, kept=False).value)
        hub = _shares(session.run(against(score=authority), 1, kept=False).value)
        moved = hub - last
        kept.change = float(np.abs(moved, out=moved).sum()) if hub.any() else 0.0
        kept.hub, kept.authority, kept.rounds = hub, authority, kept.rounds + 1
        kept.boundary(rounds=2)
    kept.end()
    hub, authority = kept.hub, kept.authority
    if not normalized:
        authority = authority / (length_of(authority) or 1.0)
        hub = session.run(against(score=authority), 1, kept=False).value
    unread = unread_weights(session, weighted)
    found = session.finish(2 * kept.rounds, kept.change < tol, unread) | {
        "l1_change": kept.change if kept.rounds else 0.0
    }
    return [Column("hub", hub), Column("authority", authority)], found


def _turns(weighted: bool) -> tuple[type[Authorities], type[Authorities]]:
    """The programs that run in turns: along and against edges."""
    return (WeightedAuthorities, WeightedHubs) if weighted else (Authorities, Hubs)


def program_of_hits(session: Session, max_iter: int, tol: float, normalized: bool, weighted: bool) -> Authorities:
    """The first of the two programs. Raises UsageError on numbers that mean nothing, CapError as either does."""
    check_tolerance(tol, max_iter)
    zeros = session.zeros()
    session.foresee(beside=2 * zeros.nbytes)  # hubs and authorities
    along, against = _turns(weighted)
    first = along(score=zeros)
    check_run_memory(session, first, against(score=zeros))
    return first


def run_rwr(
    session: Session, source: Any, alpha: float = 0.85, tol: float = 1e-6, max_iter: int = 100, weighted: bool = False,
    float64: bool = False, execution: str = "sync",
) -> Answer:  # fmt: skip
    """Column proximity (sum 1): where a walk is found that follows an edge with probability `alpha`, and else, or where
    no edge leaves, begins again at a source (GStream thesis, chapter 2). Raises UsageError (no or unknown source; wrong
    numbers)."""
    columns, found = run_pagerank(
        session, alpha, tol, max_iter, None, restarts(session, source), weighted, float64, execution=execution,
    )  # fmt: skip
    return [Column("proximity", columns[0].values)], found


def program_of_rwr(
    session: Session, source: Any, alpha: float, tol: float, max_iter: int, weighted: bool, float64: bool,
    execution: str = "sync",
) -> Any:  # fmt: skip
    """The program of these options. Raises as run_rwr does."""
    own = restarts(session, source)
    return program_of_pagerank(session, alpha, tol, max_iter, None, own, weighted, float64, execution=execution)


def restarts(session: Session, source: Any) -> dict[Any, float]:
    """The personalization of a walk that begins again at each of the sources as often."""
    ids = source_ids(source, "rwr")
    session.store.lookup(ids)  # in the words of a source
    return dict.fromkeys(ids, 1.0)


def length_of(values: np.ndarray) -> float:
    """L2 norm; inf where a value is not finite."""
    with np.errstate(all="ignore"):
        most = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
        if not math.isfinite(most) or not most:
            return math.inf if most else 0.0
        scaled = values / most
        return most * float(np.sqrt(np.square(scaled, out=scaled).sum()))


def _shares(values: np.ndarray) -> np.ndarray:
    """The values, divided by their sum; zeros stay."""
    if total := float(values.sum()):
        values /= total
    return values
