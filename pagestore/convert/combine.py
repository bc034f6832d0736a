"""`--dedupe --keep max|sum|count|first`: equal edges become one ahead of the conversion, in the order of the input.

    edges in order --by hash of both ends--> parts on disk --sort, combine--> edges that all differ, on disk

A part that memory does not hold is cut further; of one edge repeated without end, stretches are combined one after the
other. Each edge's weights are taken in the order of the input, so sums are the same for any memory and threads.
`--keep min` needs none of this: keys are sorted with their weights anyway (sorting.py).
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.convert.crew import Ticker
from pagestore.convert.edgefile import EdgeFile
from pagestore.convert.options import ConvertOptions, ProgressHook
from pagestore.errors import InputError, UsageError
from pagestore.inputs.base import EdgeChunk, EdgeSource

PART_BITS, MOST_LEVELS = 6, 5  # 64 parts, cut again four times at most: 2^30 parts
BYTES_AN_EDGE = 120  # of a part while it is sorted: three columns, their order, copies
MEMORY_SHARE = 2
LEAST_EDGES = 1 << 12


class CombinedSource(EdgeSource):
    """The edges of `origin` without equal ones, from a file. dropped: how many edges were combined into others."""

    replayable = True

    def __init__(self, origin: EdgeSource, edges: EdgeFile, keep: str, dropped: int) -> None:
        super().__init__()
        for name in ("name", "directed", "vertices", "id_base", "total_bytes", "ids", "names", "closed", "skipped",
                     "opening_seconds", "assumptions", "doubts", "promised"):  # fmt: skip
            setattr(self, name, getattr(origin, name))
        self.provenance = getattr(origin, "provenance", {})
        self.weighted, self.dropped = edges.weighted, dropped
        self.fingerprint = None if origin.fingerprint is None else {"of": origin.fingerprint, "keep": keep}
        self._origin, self._edges = origin, edges

    def chunks(self) -> Iterator[EdgeChunk]:
        """See EdgeSource."""
        return self._edges.read()

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        """The original source's."""
        return self._origin.vertex_ids()

    def position(self) -> int:
        """See EdgeSource: of the original input."""
        return (self.total_bytes or 0) * self._edges.read_bytes // max(self._edges.nbytes, 1)


@contextmanager
def combined(source: Any, path: Path, options: ConvertOptions, hook: ProgressHook | None) -> Iterator[Any]:
    """While the block lasts: `source` with equal edges combined, or itself where that is not asked for.

    Raises UsageError where there are no weights to combine.
    """
    keep = options.keep
    if keep in (None, "min") or (keep == "first" and not (source.weighted and options.weights)):
        yield source
        return
    if keep != "count" and not (source.weighted and options.weights):
        raise UsageError(f"--keep {keep}: {source.name} has no weights. Pass --keep count: their number is the weight.")
    parent = options.workdir or path.absolute().parent
    if not parent.is_dir():
        raise UsageError(f"{parent}: no such folder. Make it, or write the store elsewhere.")
    folder = parent / f"{path.name}.{os.getpid()}.equal.reading.partial.d"
    try:
        folder.mkdir(exist_ok=True)
        made = _Combining(source, folder, options, hook).run()
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Combining:
    def __init__(self, source: Any, folder: Path, options: ConvertOptions, hook: ProgressHook | None) -> None:
        self._source, self._folder, self._hook = source, folder, hook
        self._keep, self._loops_stay = str(options.keep), not options.drop_self_loops
        self._directed = options.is_directed(source.directed)
        self._most = max(options.memory_bytes // MEMORY_SHARE // BYTES_AN_EDGE, LEAST_EDGES)
        self._out = EdgeFile(folder / "edges", True)
        self._read = 0

    def run(self) -> CombinedSource:
        """All edges of the source, combined."""
        started = time.perf_counter()
        ticker = Ticker(self._hook, "combine equal edges", self._source.total_bytes, "bytes")
        parts = self._parts(self._edges(ticker), 0)
        ticker.finish()
        for part in parts:
            self._combine(part, 1)
        dropped = self._read - self._out.edges
        made = CombinedSource(self._source, self._out, self._keep, dropped)
        made.opening_seconds += time.perf_counter() - started
        return made

    def _edges(self, ticker: Ticker) -> Iterator[EdgeChunk]:
        """The source's edges with weights; of undirected ones the lesser end comes first."""
        for chunk in self._source.chunks():
            source, target = chunk.source, chunk.target
            weight = np.ones(len(chunk)) if self._keep == "count" else chunk.weight
            if not self._directed:
                source, target = np.minimum(source, target), np.maximum(source, target)
            self._read += len(chunk)
            if not self._loops_stay:  # they are dropped, and counted, later on
                loops = source == target
                self._out.append(source[loops], target[loops], weight[loops])
                source, target, weight = source[~loops], target[~loops], weight[~loops]
            yield EdgeChunk(source, target, weight)
            ticker.set(self._source.position())

    def _parts(self, chunks: Iterator[EdgeChunk], level: int) -> list[EdgeFile]:
        """Edges dealt to files, equal ones to one file, each in the order in which they come."""
        name = f"level-{level}"
        parts = [EdgeFile(self._folder / f"{name}-{number}", True) for number in range(1 << PART_BITS)]
        for chunk in chunks:
            of = (_hashes(chunk) >> np.uint64(64 - PART_BITS * (level + 1))) & np.uint64((1 << PART_BITS) - 1)
            order = np.argsort(of.astype(np.uint8), kind="stable")
            ends = np.cumsum(np.bincount(of.astype(np.int64), minlength=1 << PART_BITS))
            source, target, weight = (column[order] for column in chunk.arrays)
            for part, begin, end in zip(parts, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
                if end > begin:
                    part.append(source[begin:end], target[begin:end], weight[begin:end])
        return parts

    def _combine(self, part: EdgeFile, level: int) -> None:
        """Write a part's edges without equal ones, and remove its file."""
        if part.edges > self._most and level < MOST_LEVELS:
            for smaller in self._parts(part.read(), level):
                self._combine(smaller, level + 1)
        else:
            self._in_stretches(part)
        part.remove()

    def _in_stretches(self, part: EdgeFile) -> None:
        waiting: list[EdgeChunk] = []
        edges = 0
        for chunk in part.read():
            waiting.append(chunk)
            edges += len(chunk)
            if edges > self._most:
                waiting = [self._one_each(EdgeChunk.joined(waiting))]
                edges = len(waiting[0])
        if waiting:
            done = self._one_each(EdgeChunk.joined(waiting))
            self._out.append(done.source, done.target, done.weight)

    def _one_each(self, chunk: EdgeChunk) -> EdgeChunk:
        """The edges of a chunk without equal ones; weights are taken in its order."""
        order = np.lexsort((chunk.target, chunk.source))  # stable
        source, target, weight = (column[order] for column in chunk.arrays)
        new = np.append(True, (source[1:] != source[:-1]) | (target[1:] != target[:-1]))
        first = np.flatnonzero(new)
        if self._keep == "first":
            kept = weight[first]
        elif self._keep == "max":
            kept = np.maximum.reduceat(weight, first)
        else:  # bincount adds one after the other; reduceat would add in pairs
            kept = np.bincount(np.cumsum(new) - 1, weight)
        if not np.isfinite(kept).all():
            at = first[int(np.argmin(np.isfinite(kept)))]
            raise InputError(
                f"{self._source.name}: the weights of edge {self._called(source[at])} -> {self._called(target[at])} "
                f"add up past float64 (1.8e308). Scale them, or keep another one."
            )
        return EdgeChunk(source[first], target[first], kept)

    def _called(self, vertex: Any) -> str:
        """A vertex as the user calls it."""
        names = self._source.names if self._source.names is not None else self._source.ids
        return str(vertex if names is None else names[int(vertex)])


def _hashes(chunk: EdgeChunk) -> np.ndarray:
    """uint64[n] of both ends (splitmix64's finaliser)."""
    x = chunk.source * np.uint64(0x9E3779B97F4A7C15) + chunk.target
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
