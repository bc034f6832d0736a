"""From edges to packed keys in buckets, which wait for their sort in memory or in one file a bucket.

A bucket is a range of consecutive vertices. `bins` cut the user IDs into equal ranges of 2^shift IDs and say which
bucket each belongs to, so finding a bucket is one lookup in a table that stays in cache. A key is
`(near - first near of the bucket) << target_bits | far` in one uint64: near is the source in the out-topology and the
target in the in-topology, far the other end, both dense IDs.

A bucket file is a sequence of blocks: count u8, keys u8[count], weights[count] (when weighted). Several threads append
blocks in any order; the sort that follows makes their order irrelevant.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pagestore.convert.presence import rank
from pagestore.convert.storage import TempFile, disk_errors
from pagestore.io import Buffers
from pagestore.jit import compiled

OUT, IN, BOTH = 0, 1, 2  # near = source; near = target; undirected: both directions, a self-loop once
BINS = 1 << 16
HEADER_BYTES = 8  # of a block in a file: its count
U1 = np.uint64(1)

Block = tuple[np.ndarray, np.ndarray | None]  # keys u8[n], weights[n]


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

    def save(self, path: Path) -> None:
        """Keep the bounds for --resume: another run's budget would draw them elsewhere."""
        shape = np.array([self.shift, self.base, self.target_bits, self.direction], np.int64)
        with disk_errors(path, self.of_bin.nbytes + self.firsts.nbytes):
            np.savez(path, of_bin=self.of_bin, firsts=self.firsts, shape=shape)

    @classmethod
    def load(cls, path: Path, table: np.ndarray | None) -> Buckets:
        """The buckets that `save` kept."""
        with np.load(path) as saved:
            shift, base, target_bits, direction = saved["shape"].tolist()
            return cls(saved["of_bin"], shift, base, table, saved["firsts"], target_bits, direction)


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


def greedy_groups(counts: np.ndarray, aim: int, most: int) -> np.ndarray:
    """Group of each of some ranges, u4: consecutive ones together, up to `aim` elements and `most` ranges."""
    sums = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    groups, first = [], 0
    while first < len(counts):
        begun = int(np.searchsorted(sums, sums[first], "right"))  # behind its first range that is not empty
        full = int(np.searchsorted(sums, sums[first] + aim, "right")) - 1
        end = min(max(begun, full), first + most, len(counts))
        groups.append(end - first)
        first = end
    return np.repeat(np.arange(len(groups), dtype=np.uint32), groups)


def load(blocks: Iterable[Block], keys: np.ndarray, weights: np.ndarray | None) -> None:
    """Copy the blocks one after the other into `keys` (and `weights`)."""
    at = 0
    for block, block_weights in blocks:
        keys[at : at + len(block)] = block
        if weights is not None:
            weights[at : at + len(block)] = block_weights
        at += len(block)


class FileBuckets:
    """Buckets in files PREFIX-00000.bucket, ...; `sizes` given: they are there already (resumed)."""

    def __init__(self, folder: Path, prefix: str, count: int, weight_dtype: np.dtype | None, sizes: list | None = None):
        self.folder, self.prefix, self.weight_dtype = folder, prefix, weight_dtype
        self.sizes = np.zeros(count, np.int64) if sizes is None else np.array(sizes, np.int64)
        self._lock, self._resumed = threading.Lock(), sizes is not None
        self._files: dict[int, TempFile] = {}
        self._ends = np.zeros(count, np.int64)

    def path(self, bucket: int) -> Path:
        """File of a bucket."""
        return self.folder / f"{self.prefix}-{bucket:05}.bucket"

    def _file(self, bucket: int) -> TempFile:
        if bucket not in self._files:
            self._files[bucket] = TempFile(self.path(bucket), self._resumed)
        return self._files[bucket]

    in_order = False  # a bucket's blocks come in any order

    def append(self, piece: Scattered, number: int = 0) -> None:
        """Add each bucket's part of the piece, as a block; thread-safe. `number` is not used."""
        sizes = np.diff(piece.starts)
        width = 8 + (0 if self.weight_dtype is None else self.weight_dtype.itemsize)
        filled = np.flatnonzero(sizes)
        with self._lock:
            for bucket in filled.tolist():
                self._file(bucket)
            places = self._ends[filled]
            self._ends[filled] += HEADER_BYTES + sizes[filled] * width
            self.sizes += sizes
        for bucket, place in zip(filled.tolist(), places.tolist(), strict=True):
            part = slice(piece.starts[bucket], piece.starts[bucket + 1])
            block = [np.array([sizes[bucket]], np.uint64).view(np.uint8), piece.keys[part].view(np.uint8)]
            if piece.weights is not None:
                block.append(piece.weights[part].view(np.uint8))
            self._files[bucket].write(place, np.concatenate(block))

    def close_files(self) -> None:
        """Partition is over: nothing will be appended."""
        for file in self._files.values():
            file.close()

    def blocks(self, bucket: int) -> Iterator[Block]:
        """A bucket, block by block."""
        left, at = int(self.sizes[bucket]), 0
        while left:
            file = self._file(bucket)
            count = int(file.read(at, np.empty(1, np.uint64))[0])
            keys = file.read(at + HEADER_BYTES, np.empty(count, np.uint64))
            at += HEADER_BYTES + keys.nbytes
            weights = None
            if self.weight_dtype is not None:
                weights = file.read(at, np.empty(count, self.weight_dtype))
                at += weights.nbytes
            yield keys, weights
            left -= count

    def load(self, bucket: int, keys: np.ndarray, weights: np.ndarray | None) -> None:
        """Copy all of a bucket to arrays of its size."""
        load(self.blocks(bucket), keys, weights)

    def free(self, bucket: int) -> None:
        """The bucket is no longer needed."""
        if (file := self._files.pop(bucket, None)) is not None:
            file.close()
        self.path(bucket).unlink(missing_ok=True)
