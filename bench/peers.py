"""The peers, each behind a few functions that take the same CSR arrays and hand back NumPy arrays.

Building a peer's graph is not timed. networkit's `run()` is timed without the copy of its result to Python; igraph and
scipy have no such seam, so their calls are timed as a user makes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.graphs import Csr

UNREACHED = -1


def networkit_graph(csr: Csr, threads: int, weighted: bool = False, directed: bool = False) -> Any:
    """networkit.Graph of the CSR, undirected (both directions are there) or directed; at most `threads` threads."""
    import networkit

    networkit.setNumberOfThreads(threads)
    source, target, weight = _once(csr, directed)
    pairs = (source.astype(np.uint64), target.astype(np.uint64))
    data = (weight.astype(np.float64), pairs) if weighted else pairs
    return networkit.GraphFromCoo(data, n=csr.vertices, weighted=weighted, directed=directed)


def _once(csr: Csr, directed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Source, target and weight of each edge; of an undirected graph once."""
    return (csr.sources(), csr.indices, csr.weights) if directed else csr.halves()


def networkit_pagerank(graph: Any, alpha: float, tolerance: float) -> Any:
    """A PageRank object, not yet run, with an L1 tolerance.

    networkit spreads the rank of sinks in directed graphs only; here the sinks are isolated vertices, so its ranks
    differ from ours by one factor, which `to_sum_one` takes out.
    """
    from networkit import centrality

    algorithm = centrality.PageRank(graph, alpha, tolerance)
    algorithm.norm = centrality.Norm.L1_NORM
    return algorithm


def to_sum_one(rank: Any) -> np.ndarray:
    """f8[V] scaled to sum 1."""
    array = np.array(rank, dtype=np.float64)
    return array / array.sum()


def networkit_distances(graph: Any, source: int, weighted: bool) -> Any:
    """A BFS or Dijkstra object, not yet run; distances only (paths are not stored)."""
    from networkit import distance

    kind = distance.Dijkstra if weighted else distance.BFS
    return kind(graph, source, storePaths=False)


def finite(distances: Any) -> np.ndarray:
    """f8[V] of distances, UNREACHED (-1) where the peer has its own "no path" (inf, or networkit's largest double)."""
    array = np.array(distances, dtype=np.float64)
    array[~(array < 1e300)] = UNREACHED
    return array


def igraph_graph(csr: Csr, weighted: bool = False, directed: bool = False) -> tuple[Any, np.ndarray | None]:
    """(igraph.Graph, undirected or directed, weights f8[edges] in its edge order or None)."""
    import igraph

    source, target, weight = _once(csr, directed)
    edges = np.stack((source, target), axis=1).astype(np.int64)
    graph = igraph.Graph(n=csr.vertices, edges=edges, directed=directed)
    return graph, weight.astype(np.float64) if weighted else None


def scipy_matrix(csr: Csr, dtype: str, weighted: bool = False) -> Any:
    """scipy.sparse.csr_array of ones (or weights), float32 or float64, in the vertex order of the arrays."""
    import scipy.sparse

    data = csr.weights.astype(dtype) if weighted else np.ones(csr.edges, dtype=dtype)
    small = csr.edges < 2**31  # 4-byte indices are scipy's faster case
    kind = np.int32 if small else np.int64
    parts = (data, csr.indices.astype(kind), csr.indptr.astype(kind))
    return scipy.sparse.csr_array(parts, shape=(csr.vertices, csr.vertices))


def power_iteration(matrix: Any, degree: np.ndarray, alpha: float, iterations: int) -> np.ndarray:
    """PageRank of a symmetric 0/1 matrix by plain power iteration in float64: the reference (f8[V], sum 1)."""
    vertices = len(degree)
    sinks = degree == 0
    inverse = np.where(sinks, 0.0, 1.0 / np.maximum(degree, 1))
    rank = np.full(vertices, 1.0 / vertices)
    for _ in range(iterations):
        adrift = rank[sinks].sum() / vertices
        rank = (1 - alpha) / vertices + alpha * (matrix @ (rank * inverse) + adrift)
    return rank
