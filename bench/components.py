"""Connected components of the undirected store against networkit's two algorithms and igraph.

The answer is compared, label by label, with scipy's components relabelled to their least vertex.
"""

from __future__ import annotations

import numpy as np

from bench import ours, peers, stores
from bench.context import Context
from bench.figures import Figure, Samples, check, timed
from bench.graphs import Csr

RUNS = 7
PEER_RUNS = 3
CHECKED = "labels equal scipy.sparse.csgraph's components, each named by its least vertex"


def least_labels(csr: Csr) -> np.ndarray:
    """i8[V]: least vertex of each vertex's component."""
    from scipy.sparse.csgraph import connected_components

    return named_by_least(connected_components(peers.scipy_matrix(csr, "float32"), directed=False)[1])


def named_by_least(label: np.ndarray) -> np.ndarray:
    """i8[V]: of components numbered 0, 1, ... each one's least vertex."""
    least = np.full(int(label.max(initial=-1)) + 1, len(label), dtype=np.int64)
    np.minimum.at(least, label, np.arange(len(label)))
    return least[label]


def peer_times(csr: Csr, context: Context) -> dict[str, Samples]:
    """Seconds of each peer; every one must find as many components as there are."""
    from networkit import components

    times = {}
    runs = context.times(PEER_RUNS)
    graph = peers.networkit_graph(csr, context.threads)
    for name in ("ParallelConnectedComponents", "ConnectedComponents"):
        algorithm = getattr(components, name)
        times[f"networkit {name}"], _ = timed(runs, lambda kind=algorithm, graph=graph: kind(graph).run())
    del graph
    igraph, _ = peers.igraph_graph(csr)
    times["igraph connected_components"], _ = timed(runs, igraph.connected_components)
    return times


def measure(context: Context) -> list[Figure]:
    csr = context.graph.kron
    expected = least_labels(csr)
    mine, work = {}, {}
    for order in stores.ORDERS:
        with ours.opened(stores.kron(context.graph, order)) as session:
            session.components()  # warm-up: compiles, and brings the pages into memory
            mine[order], answer = timed(context.times(RUNS), session.components)
            work[order] = ours.work_of([ours.Account.of(answer)], mine[order].median)
            check(np.array_equal(session.labels(answer), expected), f"components, {order} order: labels differ")
    theirs = peer_times(csr, context)
    figures = []
    for order, samples in mine.items():
        found = Figure(
            what="components",
            graph=f"{context.graph_name} undirected, {order} order",
            value=samples.median * 1e3,
            unit="ms",
            spread=samples.spread(1e3),
            checked=CHECKED,
            note=work[order],
        )
        for name, peer in theirs.items():
            named = (1.0, "faster than networkit") if "networkit" in name else (None, "")
            figures.append(found.versus(name, peer.median * 1e3, *named))
    return figures
