"""Paths and what is made of them, from the definitions: plain Python and SciPy, nothing of gstream.

Vertices are 0..V-1; a graph is nasty.Graph. Distances that are not reached are inf.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from random import Random
from typing import Any

import numpy as np
from nasty import Graph
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

PHI, SHARE = 0.77351, 0.9  # of Flajolet and Martin; of what a vertex reaches within its effective radius


def hops(graph: Graph, sources: tuple[int, ...], either_way: bool = False) -> np.ndarray:
    """float64[V]: fewest edges from the nearest source."""
    return graph.known(("hops", sources, either_way), lambda: _hops(graph, sources, either_way))


def _hops(graph: Graph, sources: tuple[int, ...], either_way: bool) -> np.ndarray:
    found = np.full(graph.vertices, np.inf)
    found[list(sources)] = 0
    waiting = deque(sorted(set(sources)))
    while waiting:
        u = waiting.popleft()
        for v in graph.near[u] if either_way else [v for v, _ in graph.out[u]]:
            if found[v] == np.inf:
                found[v] = found[u] + 1
                waiting.append(v)
    return found


def distances(graph: Graph, sources: tuple[int, ...]) -> np.ndarray:
    """float64[V]: least total weight from the nearest source (Dijkstra), integer sums exact up to 2^53."""
    return graph.known(("distances", sources), lambda: _distances(graph, sources))


def _distances(graph: Graph, sources: tuple[int, ...]) -> np.ndarray:
    number: Any = int if graph.integers else float
    found: list[Any] = [math.inf] * graph.vertices
    waiting = [(number(0), u) for u in sorted(set(sources))]
    while waiting:
        length, u = heapq.heappop(waiting)
        if length >= found[u]:
            continue
        found[u] = length
        for v, w in graph.out[u]:
            if length + number(w) < found[v]:
                heapq.heappush(waiting, (length + number(w), v))
    return np.array(found, np.float64)


def widths(graph: Graph, sources: tuple[int, ...]) -> np.ndarray:
    """float64[V]: greatest least weight of a path from a source; inf at sources, -inf where there is none."""
    return graph.known(("widths", sources), lambda: _widths(graph, sources))


def _widths(graph: Graph, sources: tuple[int, ...]) -> np.ndarray:
    found = [-math.inf] * graph.vertices
    waiting = [(-math.inf, u) for u in sorted(set(sources))]
    while waiting:
        width, u = heapq.heappop(waiting)
        if -width <= found[u]:
            continue
        found[u] = -width
        for v, w in graph.out[u]:
            if min(-width, w) > found[v]:
                heapq.heappush(waiting, (-min(-width, w), v))
    return np.array(found)


def levels(graph: Graph) -> tuple[np.ndarray, np.ndarray] | None:
    """(most edges, greatest weight of at least 0) of a path that ends at each vertex; None where there is a cycle."""
    return graph.known("levels", lambda: _levels(graph))


def _levels(graph: Graph) -> tuple[np.ndarray, np.ndarray] | None:
    left = np.bincount(graph.edges[1], minlength=graph.vertices)
    level, weight = np.zeros(graph.vertices, np.int64), np.zeros(graph.vertices)
    ready, taken = [v for v in range(graph.vertices) if left[v] == 0], 0
    while ready:
        u = ready.pop()
        taken += 1
        for v, w in graph.out[u]:
            level[v], weight[v] = max(level[v], level[u] + 1), max(weight[v], weight[u] + w)
            left[v] -= 1
            if left[v] == 0:
                ready.append(v)
    return (level, weight) if taken == graph.vertices else None


def all_hops(graph: Graph) -> np.ndarray:
    """float64[V, V]: fewest edges from a row's vertex to a column's."""
    return graph.known("all hops", lambda: _all_hops(graph))


def _all_hops(graph: Graph) -> np.ndarray:
    source, target, _ = graph.arcs
    matrix = coo_array((np.ones(len(source)), (source, target)), shape=(graph.vertices, graph.vertices)).tocsr()
    return np.asarray(shortest_path(matrix, unweighted=True, method="D"))


def drawn(graph: Graph, k: int | None, seed: int) -> np.ndarray:
    """Sources of an estimate: k vertices of NumPy's generator of that seed."""
    if k is None or k == graph.vertices:
        return np.arange(graph.vertices)
    return np.random.default_rng(seed).choice(graph.vertices, k, replace=False)


def closeness(graph: Graph, k: int | None, seed: int, wf_improved: bool) -> np.ndarray:
    """float64[V]: (reached - 1) / sum of distances from the sources, scaled by the part reached if wf_improved."""
    sources = drawn(graph, k, seed)
    rows = all_hops(graph)[sources]
    there = np.isfinite(rows)
    total = np.where(there, rows, 0).sum(axis=0)
    reached = there.sum(axis=0).astype(float)
    reached[sources] -= 1
    others = np.full(graph.vertices, float(len(sources)))
    others[sources] -= 1
    value = np.divide(reached, total, out=np.zeros(graph.vertices), where=total > 0)
    return value * np.divide(reached, others, out=np.zeros_like(value), where=others > 0) if wf_improved else value


def harmonic(graph: Graph, k: int | None, seed: int) -> np.ndarray:
    """float64[V]: sum of 1 / distance from the sources; of drawn ones times (V - 1) / those beside the vertex."""
    sources = drawn(graph, k, seed)
    rows = all_hops(graph)[sources]
    value = np.divide(1.0, rows, out=np.zeros_like(rows), where=(rows > 0) & np.isfinite(rows)).sum(axis=0)
    if len(sources) < graph.vertices:
        others = np.full(graph.vertices, float(len(sources)))
        others[sources] -= 1
        value *= np.divide(graph.vertices - 1, others, out=np.zeros_like(value), where=others > 0)
    return value


def radii(graph: Graph, sketches: int, max_iter: int, seed: int) -> np.ndarray:
    """int64[V]: effective radii of HADI, two Flajolet-Martin sketches of 31 bits at a time."""
    source, target, _ = graph.arcs
    random, runs = np.random.default_rng(seed), []
    for _ in range(sketches // 2):
        bits = 1 << np.minimum(random.geometric(0.5, (2, graph.vertices)) - 1, 30).astype(np.int64)
        levels = [_lowest_zeros(bits)]
        for _ in range(max_iter):
            fresh = bits.copy()
            for half in range(2):
                np.bitwise_or.at(fresh[half], source, bits[half][target])
            if np.array_equal(fresh, bits):
                break
            bits = fresh
            levels.append(_lowest_zeros(bits))
        runs.append(levels)
    most = max((len(run) for run in runs), default=0)
    sums = [sum(run[min(h, len(run) - 1)] for run in runs) for h in range(most)]
    counts = [2.0 ** (each / sketches) for each in sums]
    return sum((count < SHARE * counts[-1]).astype(np.int64) for count in counts)


def _lowest_zeros(bits: np.ndarray) -> np.ndarray:
    """int64[V]: the positions of the lowest bit that is 0, of both rows added up."""
    return np.array(
        [sum((~int(word) & (int(word) + 1)).bit_length() - 1 for word in pair) for pair in bits.T], np.int64
    )


def hyperball(graph: Graph, log2m: int, max_distance: int | None, seed: int) -> dict[str, np.ndarray]:
    """harmonic, closeness and reachable, float64[V]: HyperLogLog counters of 2^log2m registers, round by round."""
    source, target, _ = graph.arcs
    m, mask = 1 << log2m, (1 << 64) - 1
    key = _split_mix(seed + 0x9E3779B97F4A7C15 & mask)
    registers = np.zeros((graph.vertices, m), np.int64)
    for v in range(graph.vertices):
        drawn = _split_mix(key ^ _split_mix(v + 1))
        rest = drawn >> log2m | 1 << (64 - log2m)
        registers[v, drawn % m] = (rest & -rest).bit_length()
    first = size = _counted(registers)
    harmonic, total, distance = np.zeros(graph.vertices), np.zeros(graph.vertices), 0
    while distance != max_distance:
        fresh, distance = registers.copy(), distance + 1
        np.maximum.at(fresh, target, registers[source])
        if np.array_equal(fresh, registers):
            break
        registers, later = fresh, np.maximum(_counted(fresh), size)
        harmonic, total, size = harmonic + (later - size) / distance, total + (later - size) * distance, later
    reached = size - first
    mean = np.divide(reached, total, out=np.zeros_like(total), where=total > 0)
    return {"harmonic": harmonic, "closeness": mean * reached / max(1, graph.vertices - 1), "reachable": reached}


def _counted(registers: np.ndarray) -> np.ndarray:
    """float64[V]: HyperLogLog's estimates, those of small sets by linear counting."""
    m = registers.shape[1]
    bias = {16: 0.673, 32: 0.697, 64: 0.709}.get(m, 0.7213 / (1 + 1.079 / m))
    found = bias * m * m / (0.5**registers).sum(axis=1)
    empty = (registers == 0).sum(axis=1)
    small = (found <= 2.5 * m) & (empty > 0)
    return np.where(small, m * np.log(m / np.maximum(empty, 1)), found)


def _split_mix(x: int) -> int:
    """SplitMix64's mixing of 64 bits."""
    mask = (1 << 64) - 1
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return x ^ x >> 31


def dependencies(graph: Graph, source: int) -> tuple[np.ndarray, float]:
    """(float64[V]: sum over targets of the part of shortest paths from `source` that lead through v; targets)."""
    return graph.known(("dependencies", source), lambda: _dependencies(graph, source))


def _dependencies(graph: Graph, source: int) -> tuple[np.ndarray, float]:
    following = graph.known("simple", lambda: [sorted({v for v, _ in out} - {u}) for u, out in enumerate(graph.out)])
    far = _hops(graph, (source,), False)
    order = [int(v) for v in np.argsort(far, kind="stable") if far[v] < np.inf]
    paths = [0] * graph.vertices  # exact
    paths[source] = 1
    for u in order:
        for v in following[u]:
            paths[v] += paths[u] * (far[v] == far[u] + 1)
    depends = np.zeros(graph.vertices)
    for u in reversed(order):
        for v in following[u]:
            if far[v] == far[u] + 1:
                depends[u] += paths[u] / paths[v] * (1 + depends[v])
    depends[source] = 0
    return depends, float(len(order) - 1)


def betweenness(
    graph: Graph, sources: np.ndarray, sampled: bool, normalized: bool, endpoints: bool
) -> np.ndarray:  # fmt: skip
    """float64[V] of these sources, scaled as NetworkX 3.6 does; sampled: they were drawn."""
    between, count = np.zeros(graph.vertices), len(sources)
    for source in sources.tolist():
        depends, reached = dependencies(graph, source)
        between += depends
        if endpoints:
            between += (_hops_of(graph, source) < np.inf).astype(float)
            between[source] += reached - 1
    ends = graph.vertices - (not endpoints)
    if ends < 2:
        return between
    count = count if sampled else ends
    scale = 1 / (ends - 1) if normalized else ends / (1 if graph.directed else 2)
    rest = np.full(graph.vertices, scale / count)
    if sampled and not endpoints:
        rest[sources] = scale / (count - 1) if count > 1 else np.nan
    return between * rest


def _hops_of(graph: Graph, source: int) -> np.ndarray:
    return hops(graph, (source,))


def sample(graph: Graph, k: int, seed: int) -> np.ndarray:
    """Sources of betweenness: k vertices of Python's generator of that seed, as NetworkX draws them."""
    return np.array(sorted(Random(seed).sample(range(graph.vertices), k)))
