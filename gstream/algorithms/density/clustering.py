"""The local clustering coefficient (LCC) of every vertex, by joining lists with lists as triangles.py does.

lcc(v) = edges between v's neighbours / (d * (d - 1)), d = |N(v)|, and 0 if d < 2. N(v) are the out- and in-neighbours
of v, each once; an undirected edge counts in both directions (LDBC Graphalytics). Of undirected graphs that is
networkx.clustering; of directed ones networkx counts otherwise (Fagiolo 2007). By weights it is networkx.clustering's
of both (weighted_joins.py).
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.declaration import NOT_NEGATIVE, WEIGHTED, Algorithm, Work
from gstream.algorithms.density import weighted_joins
from gstream.algorithms.density.joined import cuts_of, is_left, note_joined, nothing_joined
from gstream.algorithms.density.triangles import (
    check_join_memory,
    higher_lists,
    join_all,
    joined_ways,
    most_entries,
    most_higher,
)
from gstream.algorithms.support.blocks import (
    VERTEX_BYTES,
    OnGpu,
    block_bytes,
    check_block_memory,
    degrees_bytes,
    neighbours,
    neighbours_dtype,
)
from gstream.algorithms.support.session import Session
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError
from pagestore.sizes import show_things

ALGORITHM = Algorithm(
    "lcc", "local clustering coefficient, LDBC's definition",
    """Of undirected graphs networkx.clustering's; by weights, of directed ones too. Weighted values have 7 digits, and
    each edge may be stored once only.""",
    definition="LDBC's: edges among neighbours either way / d(d - 1) (directed NetworkX: Fagiolo's); simple "
    "graph",
    columns=("vertex", "lcc"), best="largest",
    options=(WEIGHTED,), check="check_lcc",
    proof=".clustering_proofs:certify_lcc", proof_bytes=37,
    certificate="64 vertices, counted again; by weights 16", weights=NOT_NEGATIVE,
    kept="12, weighted 16: edges between neighbours, neighbours",
    holds="28, degrees, 2 bits a thread, weighted 32, degrees; blocks",
    units=(
        ".joins:count_higher gather_higher close_triangles", ".weighted_joins:gather_weights close_weighted",
    ),
    proof_units=(
        ".triangle_proofs:mark_near", "..support.simple:note_ends", ".triangle_proofs:count_between",
        ".weighted_joins:mark_strengths sum_strengths",
    ),
    work=Work(edges=2.25, gpu_edges=7.0, joins=True, moved=(2.0, 6.0), spread=2.5),
)  # fmt: skip


def run_lcc(session: Session, weighted: bool = False) -> Answer:
    """Column lcc, float64. Raises ResourceError; UsageError where weights are asked for and edges are repeated."""
    check_lcc(session, weighted)
    if weighted:
        lcc, rounds = _weighted(session)
    else:
        arcs, degree, rounds = join_all(session, degrees=True)
        lcc = degree.astype(np.float64)
        lcc *= lcc - 1
        np.divide(arcs, lcc, out=lcc, where=lcc > 0)
    found = {"mean_lcc": float(lcc.mean()) if len(lcc) else 0.0}
    return [Column("lcc", lcc)], found | session.finish(rounds, True)


def _weighted(session: Session) -> tuple[np.ndarray, int]:
    """(coefficients by weights f8[V], rounds of the outer loop)."""
    _check_simple(session)
    vertices, size = session.meta.vertices, neighbours(session)
    sums, degree, mutual = np.zeros(vertices), np.zeros(vertices, np.uint32), np.zeros(vertices, np.uint32)
    kept = session.keep(sums=sums, degree=degree, mutual=mutual, **nothing_joined(vertices))
    session.reserve(size, sums, degree, mutual)
    on_gpu = OnGpu(max(sums.nbytes, size.nbytes), 8, VERTEX_BYTES)
    lists = higher_lists(session, size, on_gpu, cuts=cuts_of(kept), weights=True)
    for first, second in lists.pairs(is_left(kept, lists.blocks)):
        if first.number == second.number:
            session.each(weighted_joins.count_arcs, *first.arrays, degree, mutual, long=True)
        for one, two in joined_ways(first, second):
            session.join(weighted_joins.close_weighted, len(one.after), *one.arrays, *two.arrays, sums)
        note_joined(kept, lists.blocks, first.number, second.number)
        kept.boundary()
    kept.end()
    sums *= (1 if session.meta.directed else 8) / (session.meta.max_weight or 1)  # each undirected s is two roots
    return shared_out(sums, degree, mutual), len(lists.blocks)


def shared_out(sums: np.ndarray, degree: np.ndarray, mutual: np.ndarray) -> np.ndarray:
    """f8[n]: sums / (d (d - 1) - 2 b), 0 where there are no pairs of neighbours; `sums` is overwritten."""
    pairs = degree.astype(np.float64)
    pairs *= pairs - 1
    pairs -= mutual
    pairs -= mutual
    np.divide(sums, pairs, out=sums, where=pairs > 0)
    sums[pairs <= 0] = 0
    return sums


def _check_simple(session: Session) -> None:
    """Raise UsageError for repeated edges, whose weights would count apart, and for too many vertices."""
    meta = session.meta
    if meta.duplicates:
        raise UsageError(
            f"{session.store.path}: has {show_things(meta.duplicates, 'repeated edge')}, and lcc --weighted needs each "
            "edge once. Convert again with --dedupe --keep sum (or min, max, first)."
        )
    if meta.vertices > weighted_joins.MOST:
        raise UsageError(
            f"{session.store.path}: has {meta.vertices} vertices, and lcc --weighted takes up to "
            f"{weighted_joins.MOST}. Run lcc without weights, or take a part of the graph: gstream run subgraph."
        )


def check_lcc(session: Session, weighted: bool = False) -> None:
    """As of triangles."""
    if not weighted:
        check_join_memory(session, degrees=True)
        return
    vertices, sizes = session.meta.vertices, neighbours_dtype(session).itemsize
    pages = session.least_pages(True) - session.least_pages()
    kept, dtype = (sizes + 8 + 8) * vertices, np.dtype(np.uint64)
    held = kept + sizes * vertices + 8 * (vertices + 1) + 8 * vertices + pages
    read = degrees_bytes(session)
    alone = max(vertices * (8 + 8 + 2 * 8 + 1), read + sizes * vertices)
    most = read + kept + block_bytes(session, most_entries(session), dtype)
    check_block_memory(session, held, most_higher, dtype, 2, alone, most)
