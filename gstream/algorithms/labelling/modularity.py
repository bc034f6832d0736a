"""The modularity of communities that are given, as NetworkX and igraph have it.

    Q = sum over communities c of inside(c) / m - resolution * out(c) * in(c) / m^2

m: the weight of all edges. inside: of those with both ends in c. out, in: the strengths of c's vertices (Leicht and
Newman 2008). Of undirected graphs both are half of the strength, to which a self-loop adds its weight twice (Newman and
Girvan 2004); so it is with `undirected`. Edges weigh 1 each where they are not weighted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gstream.algorithms.centrality.residual_proofs import spread
from gstream.algorithms.declaration import (
    ANSWER,
    COMMUNITY,
    EITHER_WAY,
    NOT_NEGATIVE,
    RESOLUTION,
    WEIGHTED,
    Algorithm,
    Option,
    Work,
)
from gstream.algorithms.support.arguments import check_resolution
from gstream.algorithms.support.edgerows import natural_names
from gstream.algorithms.support.given_answers import given_communities
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.session import Session
from gstream.hostcode.intrinsics import atomic_add
from gstream.records import record_kernel
from gstream.results.column import Answer, Column

ALGORITHM = Algorithm(
    "modularity", "modularity of given communities",
    "A row is a community, named by its least vertex: its vertices, the weight inside, its strength (the mean of out- "
    "and in-strength), and what it adds to the modularity. Summary: modularity, communities, coverage (the share of "
    "weight inside).",
    definition="directed: out- and in-strengths (Leicht, Newman); either way: strengths, self-loops count twice",
    columns=("community", "vertices", "inside", "strength", "modularity"), rows=COMMUNITY,
    options=(
        Option("partition", ANSWER, None, "columns `vertex` and `community`: .parquet .arrow .npy .csv .tsv"),
        WEIGHTED, RESOLUTION, EITHER_WAY,
    ),
    proof="certify_modularity", proof_bytes=100, certificate="weights between communities summed again, and strengths",
    check="check_modularity", weights=NOT_NEGATIVE, holds="64, reordered 4 more",
    units=("sum_inside sum_inside_weighed", "..centrality.residual_proofs:spread_rank spread_weighed"),
    proof_units=("sum_between sum_between_weighed",),
    work=Work(edges=11.0, gpu_edges=1.0, vertices=110, gpu_vertices=60, moved=(1.0, 3.0), spread=2.5, answer=16),
)  # fmt: skip

VERTEX_BYTES = 64  # while communities are read, and of sums
ROUNDING = 1e-9  # relative, of sums in another order


@record_kernel(side="id[]", inside="float64[] sum", loops="float64[] sum")
def sum_inside_weighed(record, side, inside, loops):
    """inside[v] += weights of v's edges to its own community; loops[v] += those of its self-loops."""
    v = record.vertex
    mine, found, own = side[v], 0.0, 0.0
    for u in record.neighbours():
        weight = record.weight()
        if side[u] == mine:
            found += weight
        if u == v:
            own += weight
    if found != 0.0:
        atomic_add(inside, v, found)
    if own != 0.0:
        atomic_add(loops, v, own)


@record_kernel(side="id[]", between="float64[] sum")
def sum_between_weighed(record, side, between):
    """between[v] += weights of v's edges to other communities."""
    v = record.vertex
    mine, found = side[v], 0.0
    for u in record.neighbours():
        weight = record.weight()
        if side[u] != mine:
            found += weight
    if found != 0.0:
        atomic_add(between, v, found)


sum_inside = sum_inside_weighed.of_unit_weights("sum_inside")
sum_between = sum_between_weighed.of_unit_weights("sum_between")


def check_modularity(session: Session, weighted: bool = False, **_: Any) -> None:
    """Too little memory is said before any work."""
    session.check_memory(VERTEX_BYTES * session.meta.vertices, weights=weighted)


def run_modularity(
    session: Session, partition: Any = None, weighted: bool = False, resolution: float = 1.0, undirected: bool = False
) -> Answer:
    """Columns of communities; the summary: modularity (nan without weight), communities, coverage.

    partition: a Result with a column community or component, a table, a mapping, groups of vertices, or a file.
    Raises UsageError, InputError (a vertex in no community, or in two)."""
    check_resolution(resolution)
    vertices = session.meta.vertices
    check_modularity(session, weighted)
    side = given_communities(session, partition)
    inside, loops = np.zeros(vertices), np.zeros(vertices)
    session.reserve(side, inside, loops)
    name = session.meta.topologies[0]
    session.sweep(name, sum_inside_weighed if weighted else sum_inside, (side, inside, loops))
    out, into = strengths(session, weighted, undirected, loops)
    if not session.meta.directed:  # an edge stands in two lists, and a self-loop in one
        inside += loops
        inside /= 2
    count = int(side.max()) + 1 if vertices else 0
    sums = [np.bincount(side, each, count) for each in (inside, out, into)]
    total = float(sums[1].sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        adds = sums[0] / total - resolution * (sums[1] / total) * (sums[2] / total)
    least = np.full(count, session.none, session.id_dtype)
    names = natural_names(session)
    np.minimum.at(least, side, names if len(names) else np.arange(vertices, dtype=session.id_dtype))
    order = np.argsort(least, kind="stable")
    columns = [
        Column("community", least[order], holds="natural"),
        Column("vertices", np.bincount(side, minlength=count)[order]), Column("inside", sums[0][order]),
        Column("strength", ((sums[1] + sums[2]) / 2)[order]), Column("modularity", adds[order]),
    ]  # fmt: skip
    coverage = float(sums[0].sum()) / total if total else math.nan
    found = {"modularity": float(adds.sum()) if total else math.nan, "communities": count, "coverage": coverage}
    return columns, found | session.finish(0, True)


def strengths(session: Session, weighted: bool, undirected: bool, loops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(out-strength, in-strength), float64[V] each; of edges either way the mean of both, twice."""
    ones = np.ones(session.meta.vertices)
    into = spread(session, ones, weighted=weighted)
    if not session.meta.directed:
        into = (into + loops) / 2
        return into, into
    out = spread(session, ones, backward=True, weighted=weighted)
    if undirected:
        out = (out + into) / 2
        return out, out
    return out, into


def certify_modularity(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Sum the weights between communities, over the other topology where there is one; with those inside they are all
    weights. Sum the modularity again from the rows. Raises CertificateError."""
    weighted, vertices = options["weighted"], session.meta.vertices
    side = given_communities(session, options["partition"])
    between, inside, loops = np.zeros(vertices), np.zeros(vertices), np.zeros(vertices)
    session.reserve(side, between, inside, loops)
    last = session.meta.topologies[-1]
    session.sweep(last, sum_between_weighed if weighted else sum_between, (side, between))
    session.sweep(last, sum_inside_weighed if weighted else sum_inside, (side, inside, loops))
    out, into = strengths(session, weighted, options["undirected"], loops)
    rows = {column.name: column.values for column in columns}
    total = float(out.sum())
    cut = float(between.sum()) / (1 if session.meta.directed else 2)
    if not abs(float(rows["inside"].sum()) + cut - total) <= ROUNDING * max(total, 1.0):
        raise refuse(f"weights inside communities and between them are not all {total:.12g}")
    check_said(found, communities=len(np.unique(side)))
    if int(rows["vertices"].sum()) != vertices:
        raise refuse(f"the communities have {int(rows['vertices'].sum())} vertices, and the graph {vertices}")
    if not total:
        return {"holds": True, "proves": "no edge has weight, so there is no modularity"}
    count = len(rows["inside"])
    squares = float((np.bincount(side, out, count) / total * (np.bincount(side, into, count) / total)).sum())
    again = 1 - cut / total - options["resolution"] * squares
    if not abs(again - found["modularity"]) <= ROUNDING * (1 + options["resolution"]):
        raise refuse(f"the summary says {found['modularity']:.12g} for modularity, and summed again it is {again:.12g}")
    return {"holds": True, "proves": f"modularity {again:.6g}, by the weights between communities"}
