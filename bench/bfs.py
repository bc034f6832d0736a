"""Direction-optimising BFS on the undirected store, several random sources, against networkit, igraph and GAP's record.

Both vertex orders; distances alone and with predecessors. All distances must equal networkit's, and every predecessor
must be a neighbour one step nearer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench import ours, peers, stores
from bench.context import Context
from bench.figures import Figure, Samples, check, timed_each
from bench.graphs import Csr

SOURCES = 16
IGRAPH_SOURCES = 3
GAP_MILLISECONDS = 16.0
GAP_GRAPH = "rmat-20"
GAP_RECORD = "GAP suite `bfs`, kron scale 20, 31.4 M directed edges, 2 cores of another machine; the issue's figure"


def edges_exist(csr: Csr, source: np.ndarray, target: np.ndarray) -> bool:
    """Is every (source, target) an edge? Binary search in the ascending lists, all at once."""
    low, high = csr.indptr[source].astype(np.int64), csr.indptr[source + 1].astype(np.int64)
    end = high.copy()
    while True:
        open_ones = low < high
        if not open_ones.any():
            break
        middle = (low + high) // 2
        less = np.zeros(len(low), dtype=bool)
        less[open_ones] = csr.indices[middle[open_ones]] < target[open_ones]
        low = np.where(open_ones & less, middle + 1, low)
        high = np.where(open_ones & ~less, middle, high)
    return bool((low < end).all() and (csr.indices[low] == target).all())


def check_predecessors(csr: Csr, source: int, distance: np.ndarray, predecessor: np.ndarray) -> None:
    """Every reached vertex but the source hangs on a neighbour one step nearer; no other vertex has a predecessor."""
    reached = np.flatnonzero(distance > 0)
    parents = predecessor[reached]
    check(bool((parents >= 0).all()), f"BFS from {source}: a reached vertex has no predecessor")
    check(bool((distance[parents] == distance[reached] - 1).all()), f"BFS from {source}: a predecessor is not nearer")
    check(edges_exist(csr, parents, reached), f"BFS from {source}: a predecessor is no neighbour")
    rest = np.delete(predecessor, reached)
    check(bool((rest < 0).sum() >= len(rest) - 1), f"BFS from {source}: an unreached vertex has a predecessor")


def networkit_times(csr: Csr, sources: list[int], threads: int) -> tuple[Samples, Samples, list[np.ndarray]]:
    """(distances alone, with paths, distances i8[V] of each source); only `run()` is timed."""
    from networkit import distance

    graph = peers.networkit_graph(csr, threads)
    alone = [peers.networkit_distances(graph, source, weighted=False) for source in sources]
    samples, _ = timed_each(alone, lambda algorithm: algorithm.run())
    answers = [peers.finite(algorithm.getDistances()).astype(np.int64) for algorithm in alone]
    del alone
    few = sources[: max(1, len(sources) // 4)]
    paths, _ = timed_each(few, lambda source: distance.BFS(graph, source, storePaths=True).run())
    return samples, paths, answers


def igraph_times(csr: Csr, sources: list[int]) -> Samples:
    graph, _ = peers.igraph_graph(csr)
    samples, _ = timed_each(sources, lambda source: graph.distances(source=source))
    return samples


def measure_order(
    context: Context, order: str, sources: list[int], expected: list[np.ndarray]
) -> list[tuple[Samples, str]]:
    """(seconds, the work in words) of distances alone and with predecessors, on one order's store; answers checked."""
    csr = context.graph.kron
    found = []
    with ours.opened(stores.kron(context.graph, order)) as session:
        for with_predecessors in (False, True):
            session.bfs(sources[0], with_predecessors)  # warm-up: compiles, and brings the pages into memory
            samples, answers = timed_each(sources, lambda source, p=with_predecessors: session.bfs(source, p))
            found.append((samples, ours.work_of([ours.Account.of(answer) for answer in answers], samples.mean)))
            for source, reference, answer in zip(sources, expected, answers, strict=True):
                distance = session.distances(answer)
                check(np.array_equal(distance, reference), f"BFS from {source}, {order} order: distances differ")
                if with_predecessors:
                    check_predecessors(csr, source, distance, session.predecessors(answer))
            del answers
    return found


def measure(context: Context) -> list[Figure]:
    csr = context.graph.kron
    sources = context.graph.sources(4 if context.quick else SOURCES)
    networkit, with_paths, expected = networkit_times(csr, sources, context.threads)
    igraph = igraph_times(csr, sources[:IGRAPH_SOURCES])
    figures = []
    for order in stores.ORDERS:
        (alone, work), (with_predecessors, whole_work) = measure_order(context, order, sources, expected)
        distances = Figure(
            what="BFS, distances",
            graph=f"{context.graph_name} undirected, {order} order",
            value=alone.median * 1e3,
            unit="ms",
            spread=alone.spread(1e3),
            checked="distances equal networkit's for every source",
            note=f"{len(sources)} random sources, seed {context.graph.seed}; {work}",
        )
        faster = (1.0, "faster than networkit and igraph")
        figures.append(distances.versus("networkit BFS", networkit.median * 1e3, *faster))
        figures.append(distances.versus("igraph distances", igraph.median * 1e3, *faster))
        if context.graph_name == GAP_GRAPH:
            gap = distances.versus("GAP bfs", GAP_MILLISECONDS, recorded=GAP_RECORD)
            figures.append(replace(gap, need=1.0, target="as fast as GAP") if order == "degree" else gap)
        whole = replace(
            distances,
            what="BFS, distances and predecessors",
            value=with_predecessors.median * 1e3,
            spread=with_predecessors.spread(1e3),
            checked="distances equal networkit's; every predecessor is a neighbour one step nearer",
            note=f"{len(sources)} random sources, seed {context.graph.seed}; {whole_work}",
        )
        figures.append(whole.versus("networkit BFS, storePaths", with_paths.median * 1e3))
    return figures
