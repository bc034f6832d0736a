"""Sorting a bucket that is larger than memory allows: cut it by key into smaller ones, on disk, until they fit.

One hub may own more edges than a worker may hold, so the cut is by the whole key, source and target; when all keys of
a part are equal (one edge repeated) it goes by weight; when those are equal too there is nothing left to sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from pagestore.convert.bucketstore import Block, FileBuckets, load
from pagestore.convert.buffers import Buffers
from pagestore.convert.radix import sort_keys
from pagestore.convert.scatter import Scattered
from pagestore.jit import compiled

PARTS = 128  # parts a bucket is cut into at most, each a file
FINE = 1 << 12  # ranges counted to balance the parts
U1 = np.uint64(1)


class Scratch:
    """A thread's sort buffers: two of keys and two of weights (weights.py's codes), grown to the largest bucket met."""

    def __init__(self, weight_dtype: np.dtype | None):
        self.weight_dtype = weight_dtype
        self.buffers = Buffers()

    def sorted_keys(self, blocks: Iterator[Block], size: int, bits: int) -> Block:
        """Load `size` keys (all below 2^bits) and sort them; the views hold until the next call."""
        get = self.buffers.get
        keys, other = get("keys", size, np.uint64), get("other keys", size, np.uint64)
        weights, other_weights = None, None
        if self.weight_dtype is not None:
            weights = get("weights", size, self.weight_dtype)
            other_weights = get("other weights", size, self.weight_dtype)
        load(blocks, keys, weights)
        sort_keys(keys, weights, other, other_weights, size, bits)
        return keys, weights


@compiled
def _count(codes, least, shift, counts):
    for i in range(codes.size):
        counts[(codes[i] - least) >> shift] += 1


@compiled
def _fill(codes, keys, weights, least, shift, part_of, places, out_keys, out_weights):
    for i in range(codes.size):
        part = part_of[(codes[i] - least) >> shift]
        place = places[part]
        places[part] = place + 1
        out_keys[place] = keys[i]
        if weights is not None:
            out_weights[place] = weights[i]


def sorted_parts(
    read: Callable[[], Iterator[Block]], size: int, bits: int, limit: int, scratch: Scratch, folder: Path, name: str
) -> Iterator[Block]:
    """Yield a bucket's keys in ascending order (of weights among equals), at most about `limit` at a time.

    `read` returns a fresh iterator over the bucket's blocks; temporary files are folder/NAME-*.
    """
    if size <= limit:
        if size:
            yield scratch.sorted_keys(read(), size, bits)
        return
    code = _keys_of
    least, most = _range(read(), code)
    if least == most and scratch.weight_dtype is not None:
        code = _weights_of
        least, most = _range(read(), code)
    if least == most:
        yield from read()
        return
    shift = max(0, (most - least).bit_length() - (FINE.bit_length() - 1))
    counts = np.zeros(FINE, np.int64)
    for block in read():
        _count(code(block), np.uint64(least), np.uint64(shift), counts)
    part_of = _group(counts, max(limit, -(-size // PARTS)))
    parts = FileBuckets(folder, name, int(part_of[-1]) + 1, scratch.weight_dtype)
    try:
        for block in read():
            parts.append(_cut(block, code(block), least, shift, part_of, len(parts.sizes)))
        parts.close_files()
        for part in range(len(parts.sizes)):
            part_size = int(parts.sizes[part])
            read_part = partial(parts.blocks, part)
            yield from sorted_parts(read_part, part_size, bits, limit, scratch, folder, f"{name}-{part}")
            parts.free(part)
    finally:
        parts.close_files()
        for part in range(len(parts.sizes)):
            parts.free(part)


def _keys_of(block: Block) -> np.ndarray:
    return block[0]


def _weights_of(block: Block) -> np.ndarray:
    assert block[1] is not None
    return block[1].astype(np.uint64)


def _range(blocks: Iterator[Block], code: Callable[[Block], np.ndarray]) -> tuple[int, int]:
    least, most = (1 << 64) - 1, 0
    for block in blocks:
        codes = code(block)
        least, most = min(least, int(codes.min())), max(most, int(codes.max()))
    return least, most


def _group(counts: np.ndarray, limit: int) -> np.ndarray:
    """Part of each fine range: consecutive ranges together as long as they hold at most `limit` keys."""
    part_of = np.zeros(len(counts), np.int64)
    part, held = 0, 0
    for fine, count in enumerate(counts.tolist()):
        if held and held + count > limit:
            part, held = part + 1, 0
        held += count
        part_of[fine] = part
    return part_of


def _cut(block: Block, codes: np.ndarray, least: int, shift: int, part_of: np.ndarray, parts: int) -> Scattered:
    keys, weights = block
    fine = np.zeros(len(part_of), np.int64)
    _count(codes, np.uint64(least), np.uint64(shift), fine)
    starts = np.zeros(parts + 1, np.int64)
    np.cumsum(np.bincount(part_of, fine, parts).astype(np.int64), out=starts[1:])
    out_keys = np.empty_like(keys)
    out_weights = None if weights is None else np.empty_like(weights)
    _fill(codes, keys, weights, np.uint64(least), np.uint64(shift), part_of, starts[:-1].copy(), out_keys, out_weights)
    return Scattered(out_keys, out_weights, starts, 0)
