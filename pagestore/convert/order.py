"""Renumbering by degree: the approximate sort of the Edge-Vertex paper, section 4.1, hubs first.

Three steps, as there: a bucket for each vertex by a linear projection of its degree, a prefix sum over the buckets'
sizes, and a place for each vertex. Two things differ. The default is one bucket a degree up to MAX_ORDER_BUCKETS,
above which degrees share the last one: on power-law graphs few linear buckets sort almost nothing (1,000 buckets put
91 % of a scale-20 RMAT into one). And within a bucket vertices stay in their natural order, so that the result is
one, whatever runs it. Vertices without edges at all come last. Where all degrees are equal the sort is off, as there
(section 5.5): every vertex stays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.options import ProgressHook
from pagestore.convert.sortededges import SortedEdges
from pagestore.convert.storage import Vector
from pagestore.jit import atomic_add, compiled

MAX_ORDER_BUCKETS = 1 << 20  # 8 MiB of counters; at most edges / 2^20 vertices have a greater degree


@compiled
def _count(targets, low, high, counts):
    for i in range(targets.size):
        vertex = np.uint64(targets[i])
        if vertex >= low and vertex < high:
            atomic_add(counts, vertex - low, 1)


@compiled
def _mark(targets, low, high, marks):
    for i in range(targets.size):
        vertex = np.uint64(targets[i])
        if vertex >= low and vertex < high:
            marks[vertex - low] = 1  # all threads write the same


def count_far_ends(
    edges: SortedEdges, threads: int, piece: int, memory_bytes: int, path: Path | None, hook: ProgressHook | None,
    any_alone: bool = False,
) -> Vector:  # fmt: skip
    """How many edges each vertex is the far end of: the degree in the other direction.

    u4 or u8[vertices], in a file when `path` is given; counted in ranges of vertices that fit `memory_bytes`;
    `piece` edges are read at a time. any_alone: u1[vertices], whether it is of any, in a third of the time.
    """
    dtype = np.dtype(np.uint8) if any_alone else edges.degrees.dtype
    tally = _mark if any_alone else _count
    result = Vector(edges.vertices, dtype, path)
    window = max(1, edges.vertices if path is None else memory_bytes // dtype.itemsize)
    stages = -(-edges.vertices // window) if edges.vertices else 0
    ticker = Ticker(hook, "count degrees", stages * edges.edges, "edges")
    for low in range(0, edges.vertices, window):
        high = min(low + window, edges.vertices)
        counts = result.array if result.array is not None else np.zeros(high - low, dtype)

        def count(
            thread: int, piece: tuple[int, int], counts: np.ndarray = counts, low: int = low, high: int = high
        ) -> None:
            tally(edges.read_targets(*piece), np.uint64(low), np.uint64(high), counts)
            ticker.add(piece[1] - piece[0])

        run_crew(threads, edges.windows(piece), count)
        if result.array is None:
            result.write(low, counts)
    ticker.finish()
    return result


@compiled
def _bucket(degree, other, least, most, buckets):
    """Bucket of a degree, 0 for the greatest; `buckets` + 1 for vertices without any edge."""
    if degree == 0 and other == 0:
        return buckets + np.uint64(1)
    if most - least < buckets:
        return most - degree
    if buckets == np.uint64(MAX_ORDER_BUCKETS):
        return np.uint64(0) if degree >= buckets else buckets - degree
    return buckets - np.uint64(1) - np.uint64((degree - least) * (buckets - np.uint64(1)) // (most - least))


@compiled
def _tally(degrees, others, least, most, buckets, counts):
    for i in range(degrees.size):
        other = np.uint64(0) if others is None else np.uint64(others[i])
        counts[_bucket(np.uint64(degrees[i]), other, least, most, buckets)] += np.uint64(1)


@compiled
def _assign(degrees, others, least, most, buckets, nexts, out):
    for i in range(degrees.size):
        other = np.uint64(0) if others is None else np.uint64(others[i])
        bucket = _bucket(np.uint64(degrees[i]), other, least, most, buckets)
        out[i] = nexts[bucket]
        nexts[bucket] += np.uint64(1)


def extremes(degrees: Vector) -> tuple[int, int]:
    """(least, greatest) degree; equal ones switch the sort off. (0, 0) without vertices."""
    spans = [(int(window.min()), int(window.max())) for _, window in degrees.windows()]
    return min((low for low, _ in spans), default=0), max((high for _, high in spans), default=0)


def degree_order(
    degrees: Vector, others: Vector | None, span: tuple[int, int], buckets: int | None, dtype: np.dtype,
    path: Path | None,
) -> Vector:  # fmt: skip
    """Store ID of each dense vertex, id[vertices]: descending degree, stable, vertices without any edge last.

    `others`: degrees of the other direction, or 1 where there is any (None for undirected graphs); `span`: the extremes
    of `degrees`; `buckets`: None for one a degree. With equal extremes no vertex moves.
    """
    place = Vector(degrees.length, dtype, path)
    if span[0] == span[1]:
        for first, window in degrees.windows():
            place.write(first, np.arange(first, first + len(window), dtype=dtype))
        return place
    count = MAX_ORDER_BUCKETS if buckets is None else min(buckets, MAX_ORDER_BUCKETS - 1)
    count = min(count, span[1] - span[0] + 1)  # no counters for degrees that there are not: 15 ms of them at 2^20
    shape = (np.uint64(span[0]), np.uint64(span[1]), np.uint64(count))
    counts = np.zeros(count + 2, np.uint64)
    for first, window in degrees.windows():
        other = None if others is None else others.read(first, first + len(window))
        _tally(window, other, *shape, counts)
    nexts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts)[:-1]]).astype(np.uint64)
    for first, window in degrees.windows():
        other = None if others is None else others.read(first, first + len(window))
        out = np.empty(len(window), np.uint64)
        _assign(window, other, *shape, nexts, out)
        place.write(first, out.astype(dtype))
    return place
