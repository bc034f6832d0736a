"""SSSP with integer weights 1 to 255 on the undirected store against networkit's, igraph's and scipy's Dijkstra.

All three are Dijkstra's algorithm on one core. Distances are integers, so they must be equal, not close.
"""

from __future__ import annotations

import numpy as np

from bench import ours, peers, stores
from bench.context import Context
from bench.figures import Figure, Samples, check, timed_each
from bench.graphs import Csr

SOURCES = 4
PEER_SOURCES = 2  # a Dijkstra at scale 22 takes networkit half a minute
LARGEST_SCIPY_EDGES = 40_000_000  # scipy's Fibonacci heap takes minutes above


def networkit_times(csr: Csr, sources: list[int], threads: int) -> tuple[Samples, list[np.ndarray]]:
    graph = peers.networkit_graph(csr, threads, weighted=True)
    runs = [peers.networkit_distances(graph, source, weighted=True) for source in sources]
    samples, _ = timed_each(runs, lambda algorithm: algorithm.run())
    return samples, [peers.finite(algorithm.getDistances()) for algorithm in runs]


def igraph_times(csr: Csr, sources: list[int]) -> Samples:
    graph, weights = peers.igraph_graph(csr, weighted=True)
    samples, _ = timed_each(sources, lambda source: graph.distances(source=source, weights=weights))
    return samples


def scipy_times(csr: Csr, sources: list[int]) -> Samples:
    from scipy.sparse.csgraph import dijkstra

    matrix = peers.scipy_matrix(csr, "float64", weighted=True)
    samples, _ = timed_each(sources, lambda source: dijkstra(matrix, indices=source))
    return samples


def measure(context: Context) -> list[Figure]:
    csr = context.graph.kron
    sources = context.graph.sources(context.times(SOURCES))
    few = sources[: context.times(PEER_SOURCES)]
    networkit, expected = networkit_times(csr, few, context.threads)
    against = {"networkit Dijkstra": networkit, "igraph distances": igraph_times(csr, few)}
    if csr.edges <= LARGEST_SCIPY_EDGES:
        against["scipy dijkstra"] = scipy_times(csr, few[:1])
    figures = []
    for order in stores.ORDERS:
        with ours.opened(stores.kron(context.graph, order, weighted=True)) as session:
            session.sssp(sources[0])  # warm-up: compiles, and brings the pages into memory
            mine, answers = timed_each(sources, session.sssp)
            work = ours.work_of([ours.Account.of(answer) for answer in answers], mine.mean)
            for source, reference, answer in zip(few, expected, answers, strict=False):
                same = np.array_equal(session.distances(answer), reference)
                check(same, f"SSSP from {source}, {order} order: distances differ from networkit's")
        found = Figure(
            what="SSSP, distances",
            graph=f"{context.graph_name} undirected, weights 1..255, {order} order",
            value=mine.median * 1e3,
            unit="ms",
            spread=mine.spread(1e3),
            checked=f"distances equal networkit's for {len(few)} sources",
            note=work,
        )
        figures += [found.versus(name, samples.median * 1e3) for name, samples in against.items()]
    return figures
