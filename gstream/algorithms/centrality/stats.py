"""Figures of a graph in one call: degrees, strengths, reciprocity, assortativity, transitivity and distances.

* strength(v): the sum of the weights of v's edges; of directed graphs out and in apart.
* reciprocity: the share of edges whose opposite is there, of directed graphs, without self-loops and repeated edges
  (igraph's; networkx.overall_reciprocity counts self-loops among all edges).
* assortativity: Pearson's correlation, over all edges, of the degrees of their two ends; of directed graphs of the
  source's out-degree and the target's in-degree (Newman 2003; networkx.degree_assortativity_coefficient).
* transitivity: 3 triangles / paths of two edges, of the simple undirected graph (igraph's transitivity_undirected).
* distances: HyperBall's estimates (hyperball.py) over paths along out-edges, with the relative standard error of a
  counter.

The sum of the products of degrees over edges is one sweep: each vertex takes in the out-degrees of its in-neighbours.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.algorithms.centrality.degrees import BLOCK, certify_degrees, run_degrees
from gstream.algorithms.centrality.hyperball import program_of_hyperball, run_hyperball
from gstream.algorithms.centrality.residual_proofs import relative_rounding, spread
from gstream.algorithms.declaration import DEGREE, SEED, SWITCH, WHOLE, Algorithm, Option, Work
from gstream.algorithms.density.triangles import check_join_memory, join_all
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.session import Session
from gstream.language.program import Program
from gstream.results.column import Answer, Column
from pagestore.errors import CapError

ALGORITHM = Algorithm(
    "stats", "figures of a graph, from degrees to distances",
    """A row is a degree, as of `degrees`. Summary: degree and, with weights, strength (mean, deviation, least, median,
    p90, p99, greatest), reciprocity of directed graphs, assortativity, transitivity, triangles; and by HyperBall
    average_distance, effective_diameter, standard_error and distance_distribution.""",
    definition="reciprocity, transitivity: simple graph, triangles either way; assortativity: out- and in-degree",
    columns=("degree", "vertices"), rows=DEGREE,
    options=(
        Option("distances", SWITCH, True, "the figures of distances, which take most of the time"),
        Option("log2m", WHOLE, 7, "2^N registers a counter, a byte each, 4 to 12"), SEED,
    ),
    proof="certify_stats", proof_bytes=60, certificate="degrees and strengths again; assortativity the other way",
    check="check_stats", holds="288, with 128 registers; before that 28, degrees, 2 bits a thread and blocks",
    units=(
        "..density.joins:count_higher gather_higher close_triangles", "gstream.programs.balls:Balls",
        ".residual_proofs:spread_rank spread_weighed",
    ),
    work=Work(edges=4.9, gpu_edges=21.0, joins=True, moved=(3.0, 12.0), spread=2.5, answer=16),
)  # fmt: skip

QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
FROM_DISTANCES = ("average_distance", "effective_diameter", "standard_error", "distance_distribution")
WAYS = {"out": True, "in": False}  # strengths: whether edges are summed backward, at their sources


def run_stats(session: Session, distances: bool = True, log2m: int = 7, seed: int = 0) -> Answer:
    """The columns of `degrees`; the summary has the figures. Those that nothing defines are nan, as the assortativity
    of a graph whose degrees are equal. Raises UsageError, ResourceError."""
    check_stats(session, distances, log2m, seed)
    session.begin_again()
    columns, _ = run_degrees(session)
    found: dict[str, Any] = degree_figures(session, columns)
    if session.meta.weighted:
        for name, strength in strengths(session):
            found[name] = figures_of(strength)
    found["assortativity"] = assortativity(session)
    session.begin_again()
    mutual = np.zeros(1, np.int64)
    triads, degree, _ = join_all(session, True, mutual)
    triangles, neighbours = int(triads.sum()) // 6, degree.astype(np.float64)
    pairs, paths = int(degree.sum(dtype=np.uint64)) // 2, float((neighbours * (neighbours - 1)).sum()) / 2
    del triads, degree, neighbours
    if session.meta.directed:
        found["reciprocity"] = 2 * int(mutual[0]) / (pairs + int(mutual[0])) if pairs else math.nan
    found |= {"transitivity": 3 * triangles / paths if paths else 0.0, "triangles": triangles}
    supersteps, converged = 0, True
    session.begin_again()
    if distances:
        estimated = run_hyperball(session, log2m, None, seed)[1]
        found |= {name: estimated[name] for name in FROM_DISTANCES if name in estimated}
        supersteps, converged = estimated["supersteps"], estimated["converged"]
    return columns, found | session.finish(supersteps, converged)


def check_stats(session: Session, distances: bool = True, log2m: int = 7, seed: int = 0) -> Program | None:
    """Too little memory is said before any work. Returns the program that estimates distances, which holds most."""
    errors, estimated = [], None
    checks: list[Callable[[], None]] = [
        lambda: check_join_memory(session, True),
        lambda: session.check_memory(40 * session.meta.vertices, weights=session.meta.weighted),
    ]
    if distances:
        estimated = program_of_hyperball(session, log2m, None, seed)
        checks.append(lambda: check_run_memory(session, estimated))
    for check in checks:
        try:
            check()
        except CapError as error:
            errors.append(error)
    if errors:
        raise max(errors, key=lambda error: (error.option == errors[0].option, error.need))
    return estimated


def degree_figures(session: Session, columns: list[Column]) -> dict[str, Any]:
    """Figures of the degrees that columns of `degrees` count."""
    counts = {column.name: column.values for column in columns}
    degree = counts.pop("degree")
    names = {"vertices": "degree", "out": "out_degree", "in": "in_degree"}
    return {names[name]: figures_of(degree, vertices) for name, vertices in counts.items()}


def figures_of(values: np.ndarray, counts: np.ndarray | None = None) -> dict[str, Any]:
    """Mean, standard deviation, least, quantiles and greatest; a quantile is the least value that at least this share
    of the values is not greater than. {} of no values.

    counts: how often each of ascending values occurs; None: each once, and `values` is sorted in place."""
    if counts is None:
        values.sort()
        upto: Any = range(1, len(values) + 1)
        total = len(values)
    else:
        values, counts = values[counts > 0], counts[counts > 0]
        upto = np.cumsum(counts).tolist()
        total = upto[-1] if upto else 0
    if not total:
        return {}
    mean = float((values if counts is None else values * counts).sum()) / total
    squares = np.square(values - mean)
    deviation = math.sqrt(float((squares if counts is None else squares * counts).sum()) / total)
    inner = {name: values[bisect_left(upto, share * total)].item() for name, share in QUANTILES.items()}
    return {"mean": mean, "deviation": deviation, "least": values[0].item(), **inner, "greatest": values[-1].item()}


def strengths(session: Session) -> Any:
    """(name, float64[V]) of each kind of strength."""
    for way, backward in WAYS.items() if session.meta.directed else (("", False),):
        session.begin_again()
        found = spread(session, np.ones(session.meta.vertices), backward, weighted=True)
        yield f"{way}_strength".strip("_"), found


def assortativity(session: Session, backward: bool = False) -> float:
    """Pearson's correlation of the degrees of edges' ends; nan where one end has the same degree in all. backward: the
    products are summed at the sources."""
    meta, store = session.meta, session.store
    out: Callable[[int, int], np.ndarray] = store.out_degree
    into = store.in_degree if meta.directed else store.out_degree
    near, far = (out, into) if backward else (into, out)
    if not meta.edges:
        return math.nan
    session.begin_again()
    x = np.empty(meta.vertices)
    mean, spreading = {}, {}
    for end in (near, far):
        for first, degree in _by_blocks(meta.vertices, end):
            x[first : first + len(degree)] = degree
        mean[end] = float(np.square(x).sum()) / meta.edges
        spreading[end] = float((x * np.square(x - mean[end])).sum())
    if not (spreading[near] and spreading[far]):
        return math.nan
    met = spread(session, x, backward)  # at each vertex, the degrees of the other ends of its edges
    shared = 0.0
    for first, degree in _by_blocks(meta.vertices, near):
        others = met[first : first + len(degree)] - mean[far] * degree
        shared += float(((degree - mean[near]) * others).sum())
    return shared / math.sqrt(spreading[near] * spreading[far])


def _by_blocks(vertices: int, degrees: Callable[[int, int], np.ndarray]) -> Any:
    """(first vertex, float64 degrees) of consecutive ranges."""
    for first in range(0, vertices, BLOCK):
        yield first, degrees(first, min(first + BLOCK, vertices)).astype(np.float64)


def certify_stats(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Count degrees and strengths again, and sum the assortativity at the other ends. Raises CertificateError."""
    certify_degrees(session, columns, {}, {})
    for name, figures in degree_figures(session, columns).items():
        check_said(found[name], 1e-12, **figures)
    rounding = relative_rounding(session) * max(1, session.meta.edges) ** 0.5
    again = assortativity(session, backward=True)
    if not (math.isnan(again) and math.isnan(found["assortativity"])) and not (
        abs(again - found["assortativity"]) <= 1e-9 + rounding
    ):
        raise refuse(f"the summary's assortativity is {found['assortativity']:.12g}; summed again it is {again:.12g}")
    if session.meta.weighted:
        for name, strength in strengths(session):
            figures = figures_of(strength)
            check_said(found[name], 1e-9, mean=figures.get("mean", 0.0), greatest=figures.get("greatest", 0.0))
    return {"holds": True, "proves": "degrees counted in the pages; assortativity summed at the other ends of edges"}
