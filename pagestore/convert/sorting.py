"""Sorting packed edge keys with their weights: in memory by radix, and buckets that memory does not hold in parts.

A key is `(near - first near of the bucket) << target_bits | far` in one uint64. Only its significant bits are sorted:
one pass on the top digit cuts the keys into runs that fit a core's cache, then each run is sorted there from the lowest
digit up. Equal keys are put in the order of their weights, so the result depends on nothing but the multiset of edges.
Measured on RMAT keys of 41 bits: 11 ns a key on one core (numpy: 47 ns). Keys whose far ends ascend as they come, those
of turned lists, are sorted by their near ends alone: half of that.

A bucket larger than memory allows is cut by key into smaller ones, on disk, until they fit. One hub may own more edges
than a worker may hold, so the cut is by the whole key, near and far end. When all keys of a part are equal (one edge
repeated) it goes by weight; when those are equal too there is nothing left to sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from pagestore.convert.buckets import Block, FileBuckets, Scattered, greedy_groups
from pagestore.convert.memorybuckets import BucketStore
from pagestore.io import Buffers
from pagestore.jit import compiled

RUN_KEYS = 1 << 12  # aimed length of a run: keys and scratch take 64 KiB (2^14 and 2^10 are a tenth slower)
TOP_BITS = 10  # at most 1,024 write streams in the first pass: beyond that the TLB is what bounds it
COUNTS = (1 << 11) + (1 << TOP_BITS)  # of a run's digits, and of the top digits
SHORT_RUN = 48  # runs up to this length are sorted by insertion
PARTS = 128  # parts a bucket is cut into at most, each a file
FINE = 1 << 12  # ranges counted to balance the parts
U0, U1 = np.uint64(0), np.uint64(1)


@compiled
def insertion_sort(keys, weights, first, last):
    """Sort keys[first:last] in place, weights alongside (weights may be None)."""
    for i in range(first + U1, last):
        key = keys[i]
        if weights is not None:
            weight = weights[i]
        j = i
        while j > first and keys[j - U1] > key:
            keys[j] = keys[j - U1]
            if weights is not None:
                weights[j] = weights[j - U1]
            j -= U1  # type: ignore[assignment]
        keys[j] = key
        if weights is not None:
            weights[j] = weight


@compiled
def _spread(keys, weights, to_keys, to_weights, first, last, shift, mask, counts):
    """One stable counting pass over keys[first:last] into to_keys[first:last]; counts becomes the end of each digit.

    Returns False, and moves nothing, when all keys share the digit.
    """
    counts[: mask + U1] = U0
    for i in range(first, last):
        counts[(keys[i] >> shift) & mask] += U1
    if counts[(keys[first] >> shift) & mask] == last - first:
        return False
    total = first
    for digit in range(mask + U1):
        here = counts[digit]
        counts[digit] = total
        total += here
    for i in range(first, last):
        key = keys[i]
        digit = (key >> shift) & mask
        place = counts[digit]
        counts[digit] = place + U1
        to_keys[place] = key
        if weights is not None:
            to_weights[place] = weights[i]
    return True


@compiled
def _sort_run(keys, weights, other_keys, other_weights, first, last, base, bits, in_other, counts):
    """Sort a run by its bits base..bits-1; it starts in other_keys if `in_other`, and ends in keys."""
    length = last - first
    if length <= np.uint64(SHORT_RUN):
        if in_other:
            for i in range(first, last):
                keys[i] = other_keys[i]
                if weights is not None:
                    weights[i] = other_weights[i]
        insertion_sort(keys, weights, first, last)
        return
    widest = np.uint64(8) if length < np.uint64(1 << 12) else np.uint64(11)
    passes = (bits - base + widest - U1) // widest
    width = (bits - base + passes - U1) // passes if passes > U0 else U0
    mask = (U1 << width) - U1
    for p in range(passes):
        shift = base + p * width
        if in_other:
            moved = _spread(other_keys, other_weights, keys, weights, first, last, shift, mask, counts)
        else:
            moved = _spread(keys, weights, other_keys, other_weights, first, last, shift, mask, counts)
        if moved:
            in_other = not in_other
    if in_other:
        for i in range(first, last):
            keys[i] = other_keys[i]
            if weights is not None:
                weights[i] = other_weights[i]


@compiled
def _order_equal_keys(keys, weights, count):
    """Put the weights of equal keys in ascending order."""
    first = U0
    while first < count:
        last = first + U1
        while last < count and keys[last] == keys[first]:
            last += U1
        if last - first > U1:
            weights[first:last].sort()
        first = last


@compiled
def sort_keys(keys, weights, other_keys, other_weights, count, bits, base, counts):
    """Sort keys[:count] (uint64, all below 2^bits) ascending in place, and weights[:count] by (key, weight).

    `other_keys`, `other_weights` are scratch of the same dtypes and at least `count` long; weights may be None. `base`:
    keys that differ in their lower `base` bits alone are in order already; 0: none need be. counts: scratch u8[COUNTS];
    a kernel that makes arrays has Numba load what it makes them by, for 25 ms.
    """
    n = np.uint64(count)
    base, low = np.uint64(base), np.uint64(bits)
    top = U0
    while top < np.uint64(TOP_BITS) and top < low - base and (n >> top) > np.uint64(RUN_KEYS):
        top += U1
    # A first digit that most keys share (the bucket is one hub, say) cuts nothing: the passes below still sort it.
    low -= top
    moved = False
    if top > U0:
        ends = counts[1 << 11 :]
        moved = _spread(keys, weights, other_keys, other_weights, U0, n, low, (U1 << top) - U1, ends)
    if moved:
        first = U0
        for digit in range(U1 << top):
            last = ends[digit]
            if last > first:
                _sort_run(keys, weights, other_keys, other_weights, first, last, base, low, True, counts)
            first = last
    else:
        _sort_run(keys, weights, other_keys, other_weights, U0, n, base, low, False, counts)
    if weights is not None:
        _order_equal_keys(keys, weights, n)


class Scratch:
    """A thread's sort buffers: two of keys and two of weights (emit.py's codes), grown to the largest bucket met."""

    def __init__(self, weight_dtype: np.dtype | None):
        self.weight_dtype = weight_dtype
        self.buffers = Buffers()
        self.counts = np.empty(COUNTS, np.uint64)

    def sorted_keys(self, store: BucketStore, bucket: int, bits: int, base: int) -> Block:
        """Load a bucket and sort it; `bits`, `base` as of sort_keys. The views hold until the next call."""
        get, size = self.buffers.get, int(store.sizes[bucket])
        keys, other = get("keys", size, np.uint64), get("other keys", size, np.uint64)
        weights, other_weights = None, None
        if self.weight_dtype is not None:
            weights = get("weights", size, self.weight_dtype)
            other_weights = get("other weights", size, self.weight_dtype)
        store.load(bucket, keys, weights)
        sort_keys(keys, weights, other, other_weights, size, bits, base, self.counts)
        return keys, weights


def sorted_parts(
    store: BucketStore, bucket: int, bits: int, limit: int, scratch: Scratch, folder: Path, name: str, base: int = 0
) -> Iterator[Block]:
    """Yield a bucket's keys in ascending order (of weights among equals), at most about `limit` at a time.

    Temporary files are folder/NAME-*. `bits`, `base` as of sort_keys.
    """
    size, read = int(store.sizes[bucket]), partial(store.blocks, bucket)
    if size <= limit:
        if size:
            yield scratch.sorted_keys(store, bucket, bits, base)
        return
    column = 0
    least, most = _range(read(), column)
    if least == most and scratch.weight_dtype is not None:
        column = 1
        least, most = _range(read(), column)
    if least == most:
        yield from read()
        return
    shift = np.uint64(max(0, (most - least).bit_length() - (FINE.bit_length() - 1)))

    def fine(block: Block) -> np.ndarray:
        return (np.asarray(block[column], np.uint64) - np.uint64(least) >> shift).view(np.int64)

    counts = np.zeros(FINE, np.int64)
    for block in read():
        counts += np.bincount(fine(block), minlength=FINE)
    part_of = greedy_groups(counts, max(limit, -(-size // PARTS)), FINE).astype(np.uint16)
    parts = FileBuckets(folder, name, int(part_of[-1]) + 1, scratch.weight_dtype)
    try:
        for keys, weights in read():
            part = part_of[fine((keys, weights))]
            order = np.argsort(part, kind="stable")  # a radix sort for uint16
            starts = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=len(parts.sizes)))])
            parts.append(Scattered(keys[order], None if weights is None else weights[order], starts, 0))
        parts.close_files()
        for part in range(len(parts.sizes)):
            yield from sorted_parts(parts, part, bits, limit, scratch, folder, f"{name}-{part}")
            parts.free(part)
    finally:
        parts.close_files()
        for part in range(len(parts.sizes)):
            parts.free(part)


def _range(blocks: Iterator[Block], column: int) -> tuple[int, int]:
    """The least and the greatest key (column 0) or weight (1)."""
    spans = [(int(np.min(block[column])), int(np.max(block[column]))) for block in blocks]  # type: ignore[arg-type]
    return min(least for least, _ in spans), max(most for _, most in spans)
