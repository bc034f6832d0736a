"""From edges to packed keys in bucket order (compiled, releases the GIL).

A bucket is a range of consecutive vertices. `bins` cut the user IDs into equal ranges of 2^shift IDs and say which
bucket each belongs to, so that finding a bucket is one lookup in a table that stays in cache. A key is
`(near - first near of the bucket) << target_bits | far` in one uint64: near is the source in the out-topology and the
target in the in-topology, far the other end, both dense IDs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pagestore.convert.buffers import Buffers
from pagestore.convert.presence import rank
from pagestore.jit import compiled

OUT, IN, BOTH = 0, 1, 2  # near = source; near = target; undirected: both directions, a self-loop once
BINS = 1 << 16
U1 = np.uint64(1)


@dataclass(frozen=True)
class Buckets:
    """Where an edge goes: bucket k holds the dense near vertices firsts[k]..firsts[k+1]-1.

    `of_bin` uint32[bins]: bucket of the user IDs (b << shift)..((b+1) << shift)-1;
    `table`: rank table that makes user IDs dense, None when dense = user ID - base;
    `firsts` uint64[buckets + 1]; `target_bits`: bits of the greatest dense ID; `direction`: OUT, IN or BOTH.
    """

    of_bin: np.ndarray
    shift: int
    base: int
    table: np.ndarray | None
    firsts: np.ndarray
    target_bits: int
    direction: int

    @property
    def count(self) -> int:
        return len(self.firsts) - 1


@dataclass
class Scattered:
    """Keys of a piece in bucket order: bucket k is keys[starts[k]:starts[k+1]], weights alongside."""

    keys: np.ndarray
    weights: np.ndarray | None
    starts: np.ndarray
    loops: int  # self-loops met


@compiled
def _count(source, target, of_bin, shift, direction, drop_loops, counts):
    loops = 0
    for i in range(source.size):
        s, t = source[i], target[i]
        if s == t:
            loops += 1
            if drop_loops:
                continue
        if direction != IN:
            counts[of_bin[s >> shift]] += U1
        if direction == IN or (direction == BOTH and s != t):
            counts[of_bin[t >> shift]] += U1
    return loops


@compiled(inline="always")
def _put(near_id, near, far, weight, of_bin, shift, firsts, bits, places, keys, weights):
    bucket = of_bin[near_id >> shift]
    place = places[bucket]
    places[bucket] = place + U1
    keys[place] = ((near - firsts[bucket]) << bits) | far
    if weights is not None:
        weights[place] = weight


@compiled
def _fill(
    source, target, weight, of_bin, shift, base, table, firsts, bits, direction, drop_loops, places, keys, weights
):  # fmt: skip
    for i in range(source.size):
        s, t = source[i], target[i]
        if drop_loops and s == t:
            continue
        if table is None:
            dense_s, dense_t = s - base, t - base
        else:
            dense_s, dense_t = rank(table, s), rank(table, t)
        w = weight[i] if weight is not None else 0
        if direction != IN:
            _put(s, dense_s, dense_t, w, of_bin, shift, firsts, bits, places, keys, weights)
        if direction == IN or (direction == BOTH and s != t):
            _put(t, dense_t, dense_s, w, of_bin, shift, firsts, bits, places, keys, weights)


def scatter(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, buckets: Buckets, drop_loops: bool,
    buffers: Buffers,
) -> Scattered:  # fmt: skip
    """Pack the edges (uint64[n] user IDs; codes of weights, or None) into keys, bucket by bucket, in `buffers`."""
    counts = np.zeros(buckets.count, np.uint64)
    shift, base = np.uint64(buckets.shift), np.uint64(buckets.base)
    loops = _count(source, target, buckets.of_bin, shift, buckets.direction, drop_loops, counts)
    starts = np.zeros(buckets.count + 1, np.uint64)
    np.cumsum(counts, out=starts[1:])
    keys = buffers.get("keys", int(starts[-1]), np.uint64)
    weights = None if weight is None else buffers.get("weights", len(keys), weight.dtype)
    _fill(
        source, target, weight, buckets.of_bin, shift, base, buckets.table, buckets.firsts,
        np.uint64(buckets.target_bits), buckets.direction, drop_loops, starts[:-1].copy(), keys, weights,
    )  # fmt: skip
    return Scattered(keys, weights, starts.astype(np.int64), int(loops))
