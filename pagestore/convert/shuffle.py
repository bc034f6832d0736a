"""Partition and sort: from edges in any order to SortedEdges, with whatever memory there is.

Partition packs edges into keys and deals them to buckets; sort takes a bucket at a time per thread. Both phases'
results survive a kill when they are in files: the manifest says which buckets are sorted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import reduce
from typing import Any

import numpy as np

from pagestore.convert.buckets import (
    BINS,
    BOTH,
    Buckets,
    FileBuckets,
    greedy_groups,
    scatter,
)
from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.elsewhere import SorterKeys
from pagestore.convert.emit import Emitter, Tail, code_dtype, decode, encode, merged_range
from pagestore.convert.memorybuckets import BucketStore, MemoryBuckets
from pagestore.convert.options import ProgressHook
from pagestore.convert.presence import ranks
from pagestore.convert.sortededges import PartStore, SortedEdges
from pagestore.convert.sorting import Scratch, sorted_parts
from pagestore.convert.storage import Vector
from pagestore.convert.workfolder import WorkFolder
from pagestore.inputs.base import EdgeChunk
from pagestore.io import Buffers

MAX_BUCKETS = 256  # more would make the pieces written to each bucket's file shorter than a disk likes


@dataclass(frozen=True)
class Shuffle:
    """What to do with the edges.

    `name` prefixes files and the manifest's entries; `vertices`: dense vertices; `piece`: edges packed at a time;
    `sort_limit`: keys a thread may sort in memory; `keys_in_memory`, `result_in_memory`: else in files; `round_bits`:
    significant bits that weights keep, None: all. `told`: the result's sums and range of weights are wanted. `turning`:
    the edges come by ascending far ends, and equal ones by their weights.
    """

    name: str
    vertices: int
    buckets: Buckets
    weight_dtype: np.dtype | None
    dedupe: bool
    drop_loops: bool
    threads: int
    piece: int
    sort_limit: int
    keys_in_memory: bool
    result_in_memory: bool
    round_bits: int | None = None
    told: bool = True
    turning: bool = False

    @property
    def code_dtype(self) -> np.dtype | None:
        """Dtype of the weights' codes, which keys are sorted with."""
        return code_dtype(self.weight_dtype)

    @property
    def target_dtype(self) -> np.dtype:
        """u4 as long as every dense ID fits."""
        return np.dtype(np.uint32 if self.vertices <= 1 << 32 else np.uint64)


def plan_buckets(
    counts: np.ndarray, shift: int, ids: tuple[int, np.ndarray | None], vertices: int, direction: int, aim: int,
    most_vertices: int,
) -> Buckets:  # fmt: skip
    """Cut the user IDs into buckets of about `aim` keys and at most about `most_vertices` IDs each.

    `counts` u8[bins]: keys by near ID in ranges of 2^shift; `ids`: first user ID and rank table of Buckets.
    """
    base, table = ids
    target_bits = max(1, (max(vertices, 1) - 1).bit_length())
    most_bins = max(1, min(1 << min(62, 64 - target_bits), most_vertices) >> shift)
    aim = max(aim, -(-int(counts.sum()) // MAX_BUCKETS))
    of_bin = greedy_groups(counts, aim, most_bins)
    edges = np.flatnonzero(np.append(1, np.diff(of_bin))).astype(np.uint64) << np.uint64(shift)
    if table is None:
        firsts = np.clip(edges.astype(np.int64) - base, 0, vertices).astype(np.uint64)
    else:
        firsts = np.empty(len(edges), np.uint64)
        ranks(table, edges, firsts)
    return Buckets(
        of_bin, shift, base, table, np.append(firsts, np.uint64(vertices)), target_bits, direction
    )  # fmt: skip


def shift_for(limit: int) -> int:
    """Width (as a power of two) of the BINS equal ranges that cover the IDs below `limit`."""
    return max(0, (max(limit, 1) - 1).bit_length() - (BINS.bit_length() - 1))


class Shuffler:
    """Runs one Shuffle; `run` returns its SortedEdges. `dropped_loops` counts the self-loops left out."""

    def __init__(self, job: Shuffle, work: WorkFolder, hook: ProgressHook | None, label: str):
        self.job, self.work, self.hook, self.label = job, work, hook, label
        self.dropped_loops = 0
        self.entry: dict[str, Any] = work.manifest.setdefault("shuffles", {}).setdefault(job.name, {})
        self._lock = threading.Lock()

    def run(self, source: Any, total: int | None) -> SortedEdges:
        """Partition `source` (chunks by number or one after the other), then sort."""
        return self.sort(self.partition(source, total))

    def partition(self, source: Any, total: int | None) -> BucketStore:
        """Deal all edges to buckets; nothing to do when the manifest says that their files are there."""
        job = self.job
        if "sizes" in self.entry:
            self.dropped_loops = self.entry["dropped_loops"]
            return FileBuckets(
                self.work.path, job.name, job.buckets.count, job.code_dtype, self.entry["sizes"]
            )  # fmt: skip
        store: MemoryBuckets | FileBuckets
        if job.keys_in_memory:
            expected = (total or 0) * (2 if job.buckets.direction == BOTH else 1)
            store = MemoryBuckets(job.buckets.count, job.code_dtype, expected, job.turning)
        else:
            store = FileBuckets(self.work.path, job.name, job.buckets.count, job.code_dtype)
        self.deal(source, total, store)
        if isinstance(store, FileBuckets):
            store.close_files()
            self.entry.update(sizes=store.sizes.tolist(), dropped_loops=self.dropped_loops, sorted={})
            self.work.save()
        return store

    def deal(self, source: Any, total: int | None, store: BucketStore | SorterKeys) -> None:
        """Pack all edges, on all threads, and add them to `store`."""
        job = self.job
        ticker = Ticker(self.hook, f"partition {self.label}", total, "edges")
        buffers: dict[int, Buffers] = {}

        def deal(thread: int, item: Any) -> None:
            own = buffers.setdefault(thread, Buffers())
            chunk: EdgeChunk = source.chunk(item, own) if isinstance(item, int) else item
            for first in range(0, len(chunk), job.piece):
                part = slice(first, first + job.piece)
                weight = None
                if job.weight_dtype is not None and chunk.weight is not None:
                    weight = encode(chunk.weight[part], job.weight_dtype, job.round_bits)
                piece = scatter(chunk.source[part], chunk.target[part], weight, job.buckets, job.drop_loops, own)
                store.append(piece, item << 32 | first if isinstance(item, int) else 0)
                if job.drop_loops:
                    with self._lock:
                        self.dropped_loops += piece.loops
            ticker.add(len(chunk))

        for items in stages_of(source):
            run_crew(job.threads, items, deal)
        ticker.finish()

    def sort(self, store: BucketStore) -> SortedEdges:
        """Sort every bucket that the manifest doesn't list as sorted."""
        job, buckets = self.job, self.job.buckets
        done: dict[str, Any] = self.entry.setdefault("sorted", {})
        journal = "sizes" in self.entry
        folder = None if job.result_in_memory else self.work.path
        wide = int(store.sizes.sum()) >= 1 << 32
        degrees = Vector(
            job.vertices, np.uint64 if wide else np.uint32,
            None if folder is None else folder / f"{job.name}.degrees", keep=journal,
        )  # fmt: skip
        targets = PartStore(
            job.target_dtype, store.sizes, None if folder is None else folder / f"{job.name}.targets", keep=journal
        )
        weights = None
        if job.weight_dtype is not None:
            path = None if folder is None else folder / f"{job.name}.weights"
            weights = PartStore(job.weight_dtype, store.sizes, path, keep=journal)
        ticker = Ticker(self.hook, f"sort {self.label}", int(store.sizes.sum()), "edges")
        scratches: dict[int, Scratch] = {}
        tails: list[Tail | None] = [None] * buckets.count
        for bucket in range(buckets.count):
            if journal and str(bucket) in done:
                count, repeated, loops, edges_hash, least_most = done[str(bucket)]
                tails[bucket] = Tail(count, repeated, loops, edges_hash, tuple(least_most) if least_most else None)
                store.free(bucket)
                ticker.add(int(store.sizes[bucket]))

        def sort_bucket(thread: int, bucket: int) -> None:
            scratch = scratches.setdefault(thread, Scratch(job.code_dtype))
            tail = self._sort_bucket(bucket, store, scratch, degrees, targets, weights)
            tails[bucket] = tail
            if journal:
                with self._lock:
                    done[str(bucket)] = astuple(tail)
                    self.work.save()
            store.free(bucket)
            ticker.add(int(store.sizes[bucket]))

        todo = [bucket for bucket in np.argsort(-store.sizes, kind="stable").tolist() if tails[bucket] is None]
        run_crew(job.threads, iter(todo), sort_bucket)
        ticker.finish()
        ends = [tail for tail in tails if tail is not None]
        return SortedEdges(
            job.vertices, buckets.firsts, np.array([tail.kept for tail in ends], np.int64), degrees, targets, weights,
            sum(tail.duplicates for tail in ends), sum(tail.loops for tail in ends),
            sum(tail.hash for tail in ends) & ((1 << 64) - 1),
            reduce(merged_range, (tail.weights for tail in ends), None),
        )  # fmt: skip

    def _sort_bucket(
        self, bucket: int, store: BucketStore, scratch: Scratch, degrees: Vector, targets: PartStore,
        weights: PartStore | None,
    ) -> Tail:  # fmt: skip
        job = self.job
        first, last = int(job.buckets.firsts[bucket]), int(job.buckets.firsts[bucket + 1])
        bits = job.buckets.target_bits
        near_bits = max(0, last - first - 1).bit_length()
        mirrored, lengths = job.buckets.direction == BOTH, np.zeros(last - first, degrees.dtype)
        emitter = Emitter(bits, first, lengths, job.dedupe, mirrored, job.told)
        at = 0
        parts = sorted_parts(
            store, bucket, bits + near_bits, job.sort_limit, scratch, self.work.path, f"{job.name}-{bucket:05}",
            bits if store.in_order else 0,
        )  # fmt: skip
        for keys, part_weights in parts:
            space, codes = targets.space(bucket, at, len(keys)), None
            kept = scratch.buffers.get("kept", len(keys), job.target_dtype) if space is None else space
            if part_weights is not None:
                codes = scratch.buffers.get("kept weights", len(keys), part_weights.dtype)
            count = emitter.emit(keys, part_weights, kept, codes)
            if space is None:
                targets.put(bucket, at, kept[:count])
            if weights is not None and codes is not None:
                decoded = decode(codes[:count], weights.dtype)
                weights.put(bucket, at, decoded)
                emitter.note_weights(decoded)
            at += count
        degrees.write(first, emitter.degrees)
        return emitter.tail()


def stages_of(source: Any) -> Iterator[Iterator[Any]]:
    """Work items of a source, stage by stage: numbers of chunks if it has any, else the chunks."""
    if not hasattr(source, "chunk_count"):
        yield source.chunks()
        return
    for stage in range(getattr(source, "stages", 1)):
        if hasattr(source, "enter"):
            source.enter(stage)
        yield iter(range(source.chunk_count))
