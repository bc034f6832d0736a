"""PageRank with all pages in memory: one iteration, and whole runs to the same tolerance.

An iteration is the difference of a long and a short run over the iterations between them, so start-up, reading and the
result are left out. It stands against one scipy.sparse mat-vec of the same precision and against the same iteration
over plain CSR arrays in Numba on as many threads (the price of the pages), all in the same vertex order. Whole runs
stand against networkit (L1 tolerance 1e-6, both) and igraph (PRPACK, whose tolerance is fixed at 1e-10: so ours is
float64 to 1e-10). Ranks are compared with a power iteration by scipy in float64.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import numpy as np

from bench import ours, peers, stores
from bench.ceilings import CsrPageRank
from bench.context import Context
from bench.figures import Figure, Samples, check, timed
from bench.graphs import Csr

ALPHA = 0.85
SHORT, LONG = 2, 22  # iterations
RUNS = 5
TOLERANCE = 1e-6
PRPACK_TOLERANCE = 1e-10
LONGEST_RUN = 200  # iterations
RELATIVE = {"float32": 1e-5, "float64": 1e-11}


def iteration_seconds(session: ours.Session, runs: int, float64: bool) -> tuple[Samples, np.ndarray]:
    """(seconds of one iteration, from pairs of a long and a short run; ranks after LONG iterations)."""
    session.pagerank(ALPHA, iterations=SHORT, float64=float64)  # warm-up: compiles, and brings the pages into memory
    seconds = []
    for _ in range(runs):
        short, _ = timed(1, lambda: session.pagerank(ALPHA, iterations=SHORT, float64=float64))
        long, answer = timed(1, lambda: session.pagerank(ALPHA, iterations=LONG, float64=float64))
        seconds.append((long.median - short.median) / (LONG - SHORT))
    return Samples(tuple(seconds)), session.ranks(answer)


def matvec_seconds(csr: Csr, dtype: str, runs: int) -> Samples:
    """Seconds of one `matrix @ vector` by scipy.sparse."""
    matrix = peers.scipy_matrix(csr, dtype)
    vector = np.full(csr.vertices, 1 / csr.vertices, dtype=dtype)
    matrix @ vector
    return timed(2 * runs, lambda: matrix @ vector)[0]


def plain_seconds(csr: Csr, threads: int, runs: int) -> Samples:
    """Seconds of one iteration over plain arrays."""
    plain = CsrPageRank(csr, threads, ALPHA)
    plain.iterate()  # compiles
    return timed((LONG - SHORT) * runs, plain.iterate)[0]


def check_ranks(found: np.ndarray, reference: np.ndarray, relative: float, text: str) -> None:
    worst = float(np.max(np.abs(found - reference) / reference))
    check(worst <= relative, f"PageRank {text}: a rank is off by {worst:.2e} relative; {relative:.0e} is allowed")


def iterations(context: Context, order: str, reference: np.ndarray) -> list[Figure]:
    """One iteration in one vertex order, in both precisions."""
    csr = context.graph.kron if order == "natural" else context.graph.kron.by_degree()
    runs = context.times(RUNS)
    figures = []
    for dtype in ("float32", "float64"):
        with ours.opened(stores.kron(context.graph, order)) as session:
            mine, ranks = iteration_seconds(session, runs, dtype == "float64")
        check_ranks(ranks, reference, RELATIVE[dtype], f"{order} order, {dtype}")
        iteration = Figure(
            what=f"PageRank iteration, {dtype}",
            graph=f"{context.graph_name} undirected, {order} order",
            value=mine.median * 1e3,
            unit="ms",
            spread=mine.spread(1e3),
            checked=f"ranks within {RELATIVE[dtype]:.0e} relative of scipy's power iteration",
            note=f"{csr.edges} stored edges",
        )
        matvec = matvec_seconds(csr, dtype, runs).median * 1e3
        peer = f"scipy CSR mat-vec, {dtype}, 1 core"
        figures.append(iteration.versus(peer, matvec, 2.0, "2 times as fast as a mat-vec"))
        if dtype == "float32":
            plain = plain_seconds(csr, context.threads, runs).median
            peer = f"plain CSR in Numba, {context.threads} threads"
            figures.append(iteration.versus(peer, plain * 1e3, 0.8, "pages cost at most a fifth"))
            rate = replace(iteration, what="PageRank rate, float32", unit="G edges/s", spread=None)
            rate.value = csr.edges / mine.median / 1e9
            figures.append(rate.versus(peer, csr.edges / plain / 1e9))
    return figures


def whole_runs(context: Context, matrix: Any) -> list[Figure]:
    """Runs to a tolerance, in natural order, against networkit and igraph."""
    csr, runs = context.graph.kron, context.times(3)
    limit = peers.power_iteration(matrix, csr.degree, ALPHA, LONGEST_RUN)
    with ours.opened(stores.kron(context.graph, "natural")) as session:
        session.pagerank(ALPHA, tolerance=TOLERANCE)  # warm-up
        loose, loose_answer = timed(runs, lambda: session.pagerank(ALPHA, tolerance=TOLERANCE))
        session.pagerank(ALPHA, tolerance=PRPACK_TOLERANCE, float64=True)
        tight, tight_answer = timed(
            runs, lambda: session.pagerank(ALPHA, tolerance=PRPACK_TOLERANCE, float64=True, max_iterations=LONGEST_RUN)
        )
        off = float(np.abs(session.ranks(loose_answer) - limit).sum())
        check(off <= TOLERANCE / (1 - ALPHA), f"PageRank to {TOLERANCE}: L1 error {off:.2e}")
        off = float(np.abs(session.ranks(tight_answer) - limit).sum())
        check(off <= PRPACK_TOLERANCE / (1 - ALPHA), f"PageRank to {PRPACK_TOLERANCE}: L1 error {off:.2e}")
    graph = peers.networkit_graph(csr, context.threads)
    seconds = []
    for _ in range(runs):
        algorithm = peers.networkit_pagerank(graph, ALPHA, TOLERANCE)
        seconds.append(timed(1, algorithm.run)[0].median)
    off = float(np.abs(peers.to_sum_one(algorithm.scores()) - limit).sum())
    check(off <= 10 * TOLERANCE / (1 - ALPHA), f"networkit's PageRank means something else: L1 distance {off:.2e}")
    networkit = statistics.median(seconds)
    del graph, algorithm
    igraph, _ = peers.igraph_graph(csr)
    prpack, ranks = timed(1, lambda: igraph.pagerank(damping=ALPHA))
    off = float(np.abs(np.array(ranks) - limit).sum())
    check(off <= 1e-6, f"igraph's PageRank means something else: L1 distance {off:.2e}")
    graph_name = f"{context.graph_name} undirected, natural order"
    rows = (
        (f"PageRank to L1 change {TOLERANCE:.0e}, float32", loose, "networkit PageRank (float64)", networkit),
        (f"PageRank to L1 change {PRPACK_TOLERANCE:.0e}, float64", tight, "igraph PRPACK", prpack.median),
    )
    return [
        Figure(
            what=what,
            graph=graph_name,
            value=mine.median,
            unit="s",
            against=against,
            against_value=theirs,
            need=1.0,
            target="faster than networkit and igraph",
            spread=mine.spread(),
            checked="L1 distance to scipy's power iteration within tolerance / (1 - alpha); so are the peers' ranks",
        )
        for what, mine, against, theirs in rows
    ]


def measure(context: Context) -> list[Figure]:
    csr = context.graph.kron
    matrix = peers.scipy_matrix(csr, "float64")
    reference = peers.power_iteration(matrix, csr.degree, ALPHA, LONG)
    figures = [figure for order in stores.ORDERS for figure in iterations(context, order, reference)]
    return figures + whole_runs(context, matrix)
