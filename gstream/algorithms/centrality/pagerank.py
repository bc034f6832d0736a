"""PageRank as a user calls it: NetworkX's meaning of alpha, personalization and dangling vertices.

An edge carries on as much rank as its weight has of its source's weights, if `weighted`; else all edges carry as much
(NetworkX with weight=None; its default reads weights). Weighted runs hold rank / strength, strength being the sum of a
vertex's out-weights, in double precision; where that is 0, the vertex is dangling.
The rank of vertices without out-edges is spread uniformly, or, with a personalization, by that. `tol` is the absolute
L1 change at which the iteration ends (NetworkX multiplies it by the number of vertices).
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from gstream.algorithms.centrality.async_ranks import relax
from gstream.algorithms.declaration import (
    ALPHA,
    EXECUTION,
    FLOAT64,
    NOT_NEGATIVE,
    NUMBER,
    NUMBERS,
    START,
    WEIGHTED,
    Algorithm,
    Option,
    Work,
    at_most,
    exactly,
    tolerance,
)
from gstream.algorithms.support.arguments import check_tolerance, unread_weights
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.former_runs import former_ranks
from gstream.algorithms.support.part_sweeps import prove_by_slices
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.vertex_files import find_numbers
from gstream.programs.inflow import Outflow
from gstream.programs.pagerank import (
    ActivePageRank,
    ActivePageRank64,
    ActivePersonalizedPageRank,
    ActivePersonalizedPageRank64,
    ActiveWeightedPageRank,
    LaterActivePageRank,
    LaterActivePageRank64,
    LaterActiveWeightedPageRank,
    LaterPageRank,
    LaterPageRank64,
    LaterWeightedPageRank,
    PageRank,
    PageRank64,
    PersonalizedPageRank,
    PersonalizedPageRank64,
    WeightedPageRank,
)
from gstream.results.column import Answer, Column
from pagestore.errors import InputError, UsageError
from pagestore.sizes import show_things

AT_ONCE = 1 << 16  # ranks that stay in a core's cache

ALGORITHM = Algorithm(
    "pagerank", "PageRank, NetworkX's definition",
    "The sum over all vertices is 1. Vertices without a given weight have personalization 0.",
    definition="dangling vertices give to all, or by personalization; repeated edges count, by weights if "
    "weighted",
    columns=("vertex", "pagerank"), best="largest",
    options=(
        ALPHA, tolerance(1e-6), at_most(100), exactly(None),
        Option(
            "personalization", NUMBERS, None,
            'lines of `vertex weight`, parted by a tab, comma or blanks; "a, b" 1',
        ),
        WEIGHTED, FLOAT64,
        Option("active_above", NUMBER, None, "leave out changes of a rank that are no greater; default: none"),
        EXECUTION, START,
    ),
    plan="program_of_pagerank", proof=".residual_proofs:certify_pagerank", proof_bytes=36,
    kept="4, float64 8, weighted 16: ranks, strengths",
    certificate="a bound of the error", weights=NOT_NEGATIVE,
    holds="20, float64 28, personalised 8 more, weighted 44; from a former answer 16 more",
    program="gstream.programs.pagerank:PageRank",
    units=(
        "gstream.programs.pagerank:PersonalizedPageRank WeightedPageRank LaterPageRank LaterWeightedPageRank",
        "gstream.programs.inflow:Outflow",
    ),
    proof_units=(".residual_proofs:spread_rank spread_weighed",),
    work=Work(times=(8, 16, 60), per="iterations", spread=1.2, answer=4,
              switched=(("weighted", 1.4), ("float64", 1.05))),
)  # fmt: skip


def run_pagerank(
    session: Session,
    alpha: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 100,
    iterations: int | None = None,
    personalization: Any = None,
    weighted: bool = False,
    float64: bool = False,
    active_above: float | None = None,
    execution: str = "sync",
    start: Any = None,
) -> Answer:
    """Column pagerank (sums to 1), and the summary.

    iterations: exactly so many; otherwise until the L1 change is below `tol`, max_iter at most. personalization: a
    mapping from user IDs to weights >= 0, or the path of a file with lines `vertex weight`; others have weight 0.
    weighted: the column is float64, whatever `float64` says.
    active_above: a rank that would change by so much or less keeps its value, and its out-neighbours are not told; the
    L1 error grows by up to as much a vertex / (1 - alpha).
    execution: "async": without supersteps, on the host's cores (gstream.algorithms.centrality.async_ranks).
    start: ranks of an earlier run (a Result, table or file) to begin with, of this graph or of one like it.
    Raises UsageError on numbers outside their limits, InputError on a bad personalization.
    """
    given = personalization, weighted, float64, active_above, execution, start
    program = program_of_pagerank(session, alpha, tol, max_iter, iterations, *given)
    fixed, unread = iterations is not None, unread_weights(session, weighted)
    if execution == "async":
        preference: Any = program.preference if isinstance(program, PersonalizedPageRank) else None
        rank, sweeps, converged, change = relax(
            session, alpha, tol, max_iter, iterations, preference, np.float64 if float64 else np.float32
        )
        return [Column("pagerank", rank)], session.finish(sweeps, converged or fixed, unread) | {"l1_change": change}
    if isinstance(program, WeightedPageRank):
        program.strength = _strengths(session)  # type: ignore[assignment]
    most = iterations if fixed else max_iter
    outcome = session.run(program, max_supersteps=most, stay=session.stays, exactly=fixed)
    if isinstance(program, WeightedPageRank):
        strength: Any = program.strength
        np.multiply(outcome.value, strength, out=outcome.value, where=strength > 0)
    elif isinstance(program, PersonalizedPageRank):
        unread = "; ".join(filter(None, (unread, _vanished(session, outcome.value, alpha))))
    found = session.finish(outcome.supersteps, outcome.converged or fixed, unread)
    found["l1_change"] = outcome.totals.get("moved", 0.0)
    return [Column("pagerank", outcome.value)], found


def _strengths(session: Session) -> np.ndarray:
    """float64[V]: sums of the weights of out-edges, which the call keeps."""
    resumes, vertices = session.resumes("strength"), session.meta.vertices
    strength = np.zeros(vertices) if resumes else session.run(Outflow(), max_supersteps=1, kept=False).value
    session.keep(strength=strength, final=True)
    return strength


def _vanished(session: Session, rank: np.ndarray, alpha: float) -> str:
    """A note where an edge may lead from the least rank to one that is 0 in the ranks' type alone."""
    parts = [rank[first : first + AT_ONCE] for first in range(0, len(rank), AT_ONCE)]
    zeros = sum(len(part) - int(np.count_nonzero(part)) for part in parts)
    least = min((float(part[part > 0].min(initial=1.0)) for part in parts), default=1.0)
    tiny = float(np.finfo(rank.dtype).smallest_subnormal)
    if not zeros or least * alpha / max(session.meta.max_out_degree, 1) >= tiny:
        return ""
    wider = "" if rank.dtype.itemsize == 8 else ". Pass --float64 for ranks down to 5e-324"
    return f"{show_things(zeros, 'vertex')} have 0, as ranks below {tiny:.2g} do: walks may reach some of them{wider}"


def program_of_pagerank(
    session: Session, alpha: float, tol: float, max_iter: int, iterations: int | None, personalization: Any,
    weighted: bool, float64: bool, active_above: float | None = None, execution: str = "sync", start: Any = None,
) -> PageRank:  # fmt: skip
    """The program that these options of `run_pagerank` ask for. Raises as that does."""
    check_numbers(alpha, tol, max_iter, iterations)
    given: dict[str, Any] = {"damping": alpha, "tolerance": 0.0 if iterations is not None else tol}
    if active_above is not None and not 0 <= active_above < 1:
        raise UsageError(f"--active-above {active_above}: must be at least 0 and less than 1, as ranks are. Try 1e-9.")
    if active_above is not None and execution == "async":
        raise UsageError("--active-above: is for supersteps, and --execution async has none. Leave one of them out.")
    preference, some = preference_of(session, personalization), active_above is not None
    given |= {"active_above": active_above} if some else {}
    if start is not None:
        if execution == "async":
            raise UsageError("--from: is for supersteps, and --execution async has none. Leave one of them out.")
        given["former"] = session.zeros() if session.engine.plans_only else former_ranks(session, start)
    if weighted:
        return _weighted(session, preference, given, execution)
    if start is not None:
        later = (LaterActivePageRank, LaterActivePageRank64) if some else (LaterPageRank, LaterPageRank64)
        return later[float64](preference=_uniform(session) if preference is None else preference, **given)
    if preference is None:
        session.let_stay(proved=True)
        made = (ActivePageRank, ActivePageRank64) if some else (PageRank, PageRank64)
        program = made[float64](**given)
        prove_by_slices(session, program)
        return program
    own = (ActivePersonalizedPageRank, ActivePersonalizedPageRank64) if some else (
        PersonalizedPageRank, PersonalizedPageRank64
    )  # fmt: skip
    return own[float64](preference=preference, **given)


def _weighted(
    session: Session, preference: np.ndarray | None, given: dict[str, Any], execution: str
) -> WeightedPageRank:
    """The program by weights, whose strengths are found later. Raises UsageError, and CapError as either program."""
    if execution == "async":
        raise UsageError(
            "--weighted: is for supersteps, and --execution async reads no weights. Leave one of them out."
        )
    if preference is None:
        preference = _uniform(session)
    active, later = "active_above" in given, "former" in given
    kinds = (WeightedPageRank, ActiveWeightedPageRank), (LaterWeightedPageRank, LaterActiveWeightedPageRank)
    kind = kinds[later][active]
    program = kind(preference=preference, strength=session.zeros(), **given)
    check_run_memory(session, Outflow(), program)
    return program


def _uniform(session: Session) -> np.ndarray:
    """float64[V] of equal preferences; of a plan that nothing runs by, zeros."""
    vertices = session.meta.vertices
    return session.zeros() if session.engine.plans_only else np.full(vertices, 1 / max(1, vertices))


def check_numbers(alpha: float, tol: float, max_iter: int, iterations: int | None) -> None:
    """Raise UsageError for numbers that mean nothing."""
    if not 0 <= alpha < 1:
        raise UsageError(f"--alpha {alpha}: must be at least 0 and less than 1. Usual is 0.85.")
    check_tolerance(tol, max_iter, iterations)


def preference_of(session: Session, personalization: Any) -> np.ndarray | None:
    """float64[V] in store order, sum 1; None without a personalization."""
    if personalization is None:
        return None
    if session.engine.plans_only:
        return session.zeros()
    stored, values = find_numbers(session.store, personalization, "personalization", "weight", least=0.0)
    with np.errstate(over="ignore"):
        most = float(values.sum())
    if math.isinf(most):  # each is finite, so shares of the greatest are
        values = values / values.max()
        most = float(values.sum())
    if not most > 0:
        where = personalization if isinstance(personalization, (str, os.PathLike)) else "personalization"
        raise InputError(f"{where}: its weights sum to {most:g}; the sum must be positive. Give some weight.")
    preference = np.zeros(session.meta.vertices, np.float64)
    np.add.at(preference, stored, values / most)
    return preference
