"""Buckets of keys in memory: blocks of one mapping, which pieces of keys are copied to by compiled code.

A piece has keys for hundreds of buckets. Its places are found in one call, under a lock, and filled in another one,
without the interpreter: step by step, 16 threads would wait for the interpreter more than half of the time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from pagestore.convert.buckets import Block, FileBuckets, Scattered, load
from pagestore.errors import ResourceError
from pagestore.io import HUGE_BYTES, aligned_empty, give_back
from pagestore.jit import compiled

BLOCK_BYTES = 1 << 18  # of keys
LARGE_BUCKETS = 3  # blocks are huge pages from this many a bucket on: half of one is empty at the end


@compiled
def _reserve(starts, block_keys, tails, rooms, owners, used, segments):
    """Find places for the keys [starts[b], starts[b + 1]) of each bucket b; (rows of segments, blocks used by now).

    segments i8[rows, 4]: first key, its place, how many, the bucket. tails, rooms i8[buckets]: where each bucket's last
    block goes on, and for how many keys. owners u4[blocks]: bucket of each block used. Rows are -1 where blocks run
    out.
    """
    rows = 0
    for bucket in range(starts.size - 1):
        first, end = starts[bucket], starts[bucket + 1]
        while first < end:
            if rooms[bucket] == 0:
                if used == owners.size:
                    return -1, used
                owners[used] = bucket
                tails[bucket], rooms[bucket] = used * block_keys, block_keys
                used += 1
            count = min(end - first, rooms[bucket])
            segments[rows, 0], segments[rows, 1], segments[rows, 2] = first, tails[bucket], count
            segments[rows, 3] = bucket
            rows += 1
            first += count
            tails[bucket] += count
            rooms[bucket] -= count
    return rows, used


@compiled
def _copy(keys, weights, segments, to_keys, to_weights):
    for row in range(segments.shape[0]):
        first, place = np.uint64(segments[row, 0]), np.uint64(segments[row, 1])
        for i in range(np.uint64(segments[row, 2])):
            to_keys[place + i] = keys[first + i]
        if weights is not None:
            for i in range(np.uint64(segments[row, 2])):
                to_weights[place + i] = weights[first + i]


class MemoryBuckets:
    """Buckets in memory, in blocks that go back to the system when their bucket is freed.

    `keys`: how many there are in all, at most. `in_order`: a bucket's keys come as the numbers of their pieces ascend.
    """

    def __init__(self, count: int, weight_dtype: np.dtype | None, keys: int, in_order: bool = False):
        self.sizes = np.zeros(count, np.int64)
        self.weight_dtype = weight_dtype
        large = keys * 8 >= LARGE_BUCKETS * count * HUGE_BYTES
        self.block_keys = (HUGE_BYTES if large else BLOCK_BYTES) // 8
        blocks = keys // self.block_keys + count
        self._keys = aligned_empty(blocks * self.block_keys * 8, reserve=False).view(np.uint64)
        self._weights = None
        if weight_dtype is not None:
            nbytes = blocks * self.block_keys * weight_dtype.itemsize
            self._weights = aligned_empty(nbytes, reserve=False).view(weight_dtype)
        self._tails, self._rooms = np.zeros((2, count), np.int64)
        self._owners, self._used = np.zeros(blocks, np.uint32), 0
        self._lock = threading.Lock()
        self.in_order, self._pieces = in_order, dict[int, np.ndarray]()
        self._segments = np.empty((0, 4), np.int64)

    def append(self, piece: Scattered, number: int) -> None:
        """Add each bucket's part of the piece; thread-safe. number: of this piece alone."""
        segments = np.empty((2 * len(self.sizes) + len(piece.keys) // self.block_keys, 4), np.int64)
        with self._lock:
            rows, used = _reserve(
                piece.starts, self.block_keys, self._tails, self._rooms, self._owners, self._used, segments
            )
            if rows < 0:
                raise ResourceError("the input has more edges than when they were counted. Run again once it is whole.")
            self._used = int(used)
            self.sizes += np.diff(piece.starts)
            if self.in_order:
                self._pieces[number] = segments[:rows].copy()
        _copy(piece.keys, piece.weights, segments[:rows], self._keys, self._weights)

    def blocks(self, bucket: int) -> Iterator[Block]:
        """A bucket, block by block."""
        if self.in_order:
            for _, place, count, _ in self._ordered(bucket).tolist():
                part = slice(place, place + count)
                yield self._keys[part], None if self._weights is None else self._weights[part]
            return
        left = int(self.sizes[bucket])
        for block in self._places(bucket):
            part = slice(block.start, min(block.stop, block.start + left))
            yield self._keys[part], None if self._weights is None else self._weights[part]
            left -= self.block_keys

    def load(self, bucket: int, keys: np.ndarray, weights: np.ndarray | None) -> None:
        """Copy all of a bucket, in the order of `blocks`, to arrays of its size."""
        if not self.in_order:
            load(self.blocks(bucket), keys, weights)
            return
        segments = self._ordered(bucket).copy()
        segments[:, 0], segments[:, 1] = segments[:, 1], np.cumsum(segments[:, 2]) - segments[:, 2]
        _copy(self._keys, self._weights, segments, keys, weights)

    def _ordered(self, bucket: int) -> np.ndarray:
        """Rows of `segments` of a bucket whose order counts; all pieces are there."""
        with self._lock:
            if self._pieces:
                segments = np.concatenate([self._pieces[number] for number in sorted(self._pieces)])
                self._segments = segments[np.argsort(segments[:, 3], kind="stable")]
                self._pieces = {}
        first, end = np.searchsorted(self._segments[:, 3], (bucket, bucket + 1)).tolist()
        return self._segments[first:end]

    def _places(self, bucket: int) -> list[slice]:
        numbers = np.flatnonzero(self._owners[: self._used] == bucket) * self.block_keys
        return [slice(first, first + self.block_keys) for first in numbers.tolist()]

    def free(self, bucket: int) -> None:
        """The bucket is no longer needed."""
        for block in self._places(bucket):
            for array in (self._keys, self._weights):
                if array is not None:
                    give_back(array[block])


BucketStore = MemoryBuckets | FileBuckets  # where the keys of each bucket wait; `sizes` int64[buckets]: keys in each
