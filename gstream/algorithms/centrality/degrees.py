"""Degree distribution: how many vertices have each degree (GStream thesis, chapter 2), without reading a page.

As networkx.degree_histogram: out- and in-edges of a directed graph together. A self-loop of a directed graph counts
once as an out-edge and once as an in-edge, of an undirected one once (NetworkX: twice).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import DEGREE, Algorithm, Work
from gstream.algorithms.support.session import Session
from gstream.results.column import Answer, Column

ALGORITHM = Algorithm(
    "degrees", "degree distribution: vertices of each degree",
    """A row is a degree. Directed graphs have columns out and in, too: vertices of that out-degree and in-degree. No
    page is read.""",
    definition="in- and out-edges together, repeated ones each; an undirected self-loop counts once (NetworkX: "
    "twice)",
    columns=("degree", "vertices"), rows=DEGREE,
    proof="certify_degrees", proof_bytes=43, certificate="every list counted",
    check="check_degrees", holds="0", proof_units=(".residual_proofs:spread_rank",),
    work=Work(edges=0.0, gpu_edges=0.0, vertices=3, gpu_vertices=3, moved=(0.0, 0.0), spread=1.6,
              read=(0, 0, 0), answer=16),
)  # fmt: skip

BLOCK, BLOCK_BYTES = 1 << 20, 13  # vertices whose degrees are in memory at once, and bytes of each, one way


def check_degrees(session: Session) -> None:
    """Nothing that grows past a block's degrees is held."""
    session.sweeps = False
    session.check_memory(0, most=BLOCK_BYTES * (1 + session.meta.directed) * min(BLOCK, session.meta.vertices))


def run_degrees(session: Session) -> Answer:
    """Columns degree and vertices, of directed graphs also out and in: vertices of that degree, out-degree and
    in-degree. A row for each degree that occurs. Summary: the mean and the greatest degree."""
    store, meta = session.store, session.meta
    counts: dict[str, dict[int, int]] = {name: {} for name in ("vertices", "out", "in")[: 3 if meta.directed else 1]}
    for first in range(0, meta.vertices, BLOCK):
        last = min(first + BLOCK, meta.vertices)
        out = store.out_degree(first, last)
        if meta.directed:
            into = store.in_degree(first, last)
            _count(counts["out"], out)
            _count(counts["in"], into)
            out = out.astype(np.uint64) + into
        _count(counts["vertices"], out)
    degrees = np.array(sorted(set().union(*counts.values())), np.int64)
    columns = [Column("degree", degrees)]
    for name, found in counts.items():
        columns.append(Column(name, np.array([found.get(degree, 0) for degree in degrees.tolist()], np.int64)))
    ends = 2 if meta.directed else 1
    mean = ends * meta.edges / meta.vertices if meta.vertices else 0.0
    most = int(degrees[columns[1].values > 0].max(initial=0))
    return columns, {"mean_degree": mean, "greatest_degree": most} | session.finish(0, True)


def _count(into: dict[int, int], degrees: np.ndarray) -> None:
    for degree, vertices in zip(*(part.tolist() for part in np.unique(degrees, return_counts=True)), strict=True):
        into[degree] = into.get(degree, 0) + vertices


def certify_degrees(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Count each vertex's edges in the pages, both ways, and the vertices of each degree from that; `run_degrees` reads
    no page. Raises CertificateError for a row that is wrong, too many or missing; ResourceError."""
    from gstream.algorithms.centrality.residual_proofs import spread
    from gstream.algorithms.support.refusal import check_said, refuse

    session.check_memory(16 * (1 + session.meta.directed) * session.meta.vertices)
    ones = np.ones(session.meta.vertices)  # float64 counts exactly up to 2^53
    into = spread(session, ones)
    counted = [into]
    if session.meta.directed:
        out = spread(session, ones, backward=True)
        counted = [out + into, out, into]
    rows = columns[0].values
    expected = np.unique(np.concatenate([np.unique(degrees) for degrees in counted])).astype(np.int64)
    if not np.array_equal(rows, expected):
        raise refuse("column degree does not hold each degree that occurs once, ascending")
    for column, degrees in zip(columns[1:], counted, strict=True):
        degree, vertices = np.unique(degrees, return_counts=True)
        right = np.zeros(len(rows), np.int64)
        right[np.searchsorted(rows, degree.astype(np.int64))] = vertices
        wrong = np.flatnonzero(right != column.values)
        if len(wrong):
            raise refuse(
                f"column {column.name} has {column.values[wrong[0]]} vertices of degree {rows[wrong[0]]}; the pages "
                f"have {right[wrong[0]]}"
            )
    vertices, ends = session.meta.vertices, 2 if session.meta.directed else 1
    mean = ends * float(into.sum()) / vertices if vertices else 0.0
    check_said(found, greatest_degree=int(counted[0].max(initial=0)))
    check_said(found, 1e-12, mean_degree=mean)
    return {"holds": True, "proves": "edges counted in the pages give each vertex the degree that is counted"}
