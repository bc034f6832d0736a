"""One topology of a store, merged with sorted changes: its pages are read once, a few at a time on every thread.

The lists are cut into segments: runs of small pages, between them each hub alone. A segment is merged a batch of pages
at a time, so small that its lists are still in the core's cache. Memory: a few times 16 MiB a thread, and the changes
of one hub.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.emit import merged_range
from pagestore.convert.options import ProgressHook
from pagestore.convert.sortededges import PartStore, SortedEdges
from pagestore.convert.storage import Vector
from pagestore.io import Buffers
from pagestore.reader import PageReader
from pagestore.topology import Topology
from pagestore.update import kernels
from pagestore.update.kernels import ADDED, DUPLICATES, GONE, LAST, LOOPS, NONE
from pagestore.update.vertices import Moves

SEGMENT_BYTES = 16 << 20  # of small pages
BATCH_BYTES = 2 << 20  # of pages read at a time
KEEPS = {"min": kernels.MIN, "max": kernels.MAX, "sum": kernels.SUM, "count": kernels.SUM, "first": kernels.FIRST}


@dataclass(frozen=True)
class Segment:
    """New store IDs [low, high): the lists of old IDs [old_low, old_high) in pages [first, end). room: edges at most;
    begin: numbers of its first addition and its first removal."""

    low: int
    high: int
    old_low: int
    old_high: int
    first: int
    end: int
    hub: bool
    room: int = 0
    begin: tuple[int, int] = (0, 0)


@dataclass
class Merging:
    """What a merge is told: sorted changes by new store IDs, and what becomes of equal edges. moves: of old store IDs.

    keep: as in ConvertOptions, None: all equal edges are kept. folder: of results, None: memory.
    """

    added: SortedEdges
    removed: SortedEdges
    moves: Moves
    vertices: int
    keep: str | None
    mirrored: bool
    weight_dtype: np.dtype | None
    threads: int
    folder: Path | None
    hook: ProgressHook | None

    def run(self, topology: Topology, name: str) -> tuple[SortedEdges, int, list[tuple[int, int]]]:
        """The merged edges, the edges removed, and removals that found none, by new store IDs (near, far)."""
        return _Merge(self, topology, name).run()


class _Merge:
    def __init__(self, job: Merging, topology: Topology, name: str) -> None:
        self.job, self.topology = job, topology
        self.segments = list(self._segments())
        room = np.array([segment.room for segment in self.segments], np.int64)
        wide = int(room.sum()) >= 1 << 32
        place = (lambda what: None) if job.folder is None else (lambda what: Path(job.folder) / f"{name}.{what}")
        self.degrees = Vector(job.vertices, np.uint64 if wide else np.uint32, place("degrees"))
        self.targets = PartStore(np.dtype(np.uint32 if job.vertices <= 1 << 32 else np.uint64), room, place("targets"))
        self.weights = None if job.weight_dtype is None else PartStore(job.weight_dtype, room, place("weights"))
        self.counts = np.zeros(len(self.segments), np.int64)
        self.duplicates = self.loops = self.gone = 0
        self.range: tuple[float, float] | None = None
        self.missing: list[tuple[int, int]] = []
        self.lock = threading.Lock()

    def run(self) -> tuple[SortedEdges, int, list[tuple[int, int]]]:
        job = self.job
        ticker = Ticker(job.hook, f"merge {self.topology.name}", sum(one.room for one in self.segments), "edges")
        buffers: dict[int, Buffers] = {}

        def work(thread: int, number: int) -> None:
            self._segment(number, buffers.setdefault(thread, Buffers()))
            ticker.add(self.segments[number].room)

        run_crew(job.threads, iter(range(len(self.segments))), work)
        ticker.finish()
        firsts = np.array([*(one.low for one in self.segments), job.vertices], np.uint64)
        merged = SortedEdges(
            job.vertices, firsts, self.counts, self.degrees, self.targets, self.weights, self.duplicates, self.loops,
            0, self.range,
        )  # fmt: skip
        return merged, self.gone, sorted(self.missing)

    def _segments(self) -> Iterator[Segment]:
        """All of them in order; each new store ID is in one."""
        job, topology = self.job, self.topology
        cuts = self._cuts()
        added = removed = 0
        for at, (low, old_low, first, end) in enumerate(cuts):
            high = cuts[at + 1][0] if at + 1 < len(cuts) else job.vertices
            old_high = cuts[at + 1][1] if at + 1 < len(cuts) else topology.vertices
            hub = first >= topology.small_pages and end > first
            room = int(topology.directory["edges"][first:end].sum())
            more, less = (int(edges.degrees.read(low, high).sum()) for edges in (job.added, job.removed))
            yield Segment(low, high, old_low, old_high, first, end, hub, room + more, (added, removed))
            added, removed = added + more, removed + less

    def _cuts(self) -> list[tuple[int, int, int, int]]:
        """(first new ID, first old ID, first page, end) of each segment. A hub's begins with the hub, others with the
        new vertices ahead of their first one."""
        topology, small, moved = self.topology, self.topology.small_pages, self.job.moves.one
        step = max(1, SEGMENT_BYTES // topology.layout.page_bytes)
        first, last = (topology.directory[name].astype(np.int64) for name in ("first_vertex", "last_vertex"))
        hubs, starts = np.unique(first[small:], return_index=True)
        ends = np.append(starts, len(first) - small)[1:] + small
        runs = [0, *first[step:small:step].tolist()]
        large = {int(hub): (small + int(begin), int(end)) for hub, begin, end in zip(hubs, starts, ends, strict=True)}
        begins = sorted({*runs, *large, *(hub + 1 for hub in large if hub + 1 < topology.vertices)})
        found = []
        if 0 in large and moved(0):  # new vertices ahead of the first hub
            found.append((0, 0, 0, 0))
        for at, begin in enumerate(begins):
            end = begins[at + 1] if at + 1 < len(begins) else topology.vertices
            if begin in large:
                found.append((moved(begin), begin, *large[begin]))
            else:
                low, high = int(np.searchsorted(last[:small], begin)), int(np.searchsorted(first[:small], end))
                found.append((moved(begin - 1) + 1, begin, low, max(low, high)))
        return found

    def _segment(self, number: int, buffers: Buffers) -> None:
        """Merge one segment and put its results where they belong."""
        job, segment = self.job, self.segments[number]
        added_degrees, removed_degrees = (
            edges.degrees.read(segment.low, segment.high) for edges in (job.added, job.removed)
        )
        a, r = segment.begin
        added = job.added.read_targets(a, a + int(added_degrees.sum()))
        added_weights = job.added.read_weights(a, a + len(added))
        removed = job.removed.read_targets(r, r + int(removed_degrees.sum()))
        hits = np.zeros(len(removed), np.uint8)
        degrees = np.zeros(segment.high - segment.low, self.degrees.dtype)
        state = np.zeros(LAST + 1, np.uint64)
        keep = NONE if job.keep is None else KEEPS[job.keep]
        output = _Output(self, number, buffers)
        for final, edges, words, weights, lists in self._batches(segment, buffers):
            out, out_weights = output.room(edges + len(added) - int(state[ADDED]))
            kept = kernels.merge(
                words, weights, *lists, np.uint64(segment.low), *job.moves, added_degrees, added, added_weights,
                removed_degrees, removed, hits, keep, job.mirrored, final, out, out_weights, degrees, state,
            )  # fmt: skip
            output.take(int(kept))
        self.degrees.write(segment.low, degrees)
        self.counts[number] = output.finish()
        with self.lock:
            self.duplicates += int(state[DUPLICATES])
            self.loops += int(state[LOOPS])
            self.gone += int(state[GONE])
            self.range = merged_range(self.range, output.range)
        self._tell(segment, removed, hits, removed_degrees)

    def _tell(self, segment: Segment, removed: np.ndarray, hits: np.ndarray, degrees: np.ndarray) -> None:
        """Note removals that found no edge."""
        if hits.all():
            return
        near = np.repeat(segment.low + np.arange(len(degrees)), degrees.astype(np.int64))
        again = np.append(False, (near[1:] == near[:-1]) & (removed[1:] == removed[:-1]))
        lost = np.flatnonzero((hits == 0) & ~again)
        with self.lock:
            self.missing += zip(near[lost].tolist(), removed[lost].tolist(), strict=True)

    def _batches(self, segment: Segment, buffers: Buffers) -> Iterator[tuple[bool, int, Any, Any, list[np.ndarray]]]:
        """(whether it is the last, edges, words, weights, lists) of a segment's batches of pages, in buffers; lists as
        kernels.find_lists. A segment without pages is a batch without lists."""
        topology = self.topology
        step = max(1, BATCH_BYTES // topology.layout.page_bytes)
        with topology.reader() as reader:
            for first in range(segment.first, max(segment.end, segment.first + 1), step):
                count = min(step, segment.end - first)
                rows = topology.directory[first : first + count]
                words, weights = self._read(reader, first, count, buffers)
                records = int(rows["records"].sum())
                lists = [buffers.get(f"lists {at}", records, np.uint64) for at in range(4)]
                found = kernels.find_lists(
                    words, rows["records"].astype(np.int64), np.maximum(rows["layout"], 1).astype(np.uint64),
                    np.uint64(segment.old_low), np.uint64(segment.old_high), *self.job.moves, *lists,
                )  # fmt: skip
                lists = [part[: int(found)] for part in lists]
                yield first + count >= segment.end, int(rows["edges"].sum()), words.reshape(-1), weights, lists

    def _read(
        self, reader: PageReader, first: int, count: int, buffers: Buffers
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Pages as words [count, W], and their weights as words in a row, in buffers."""
        topology = self.topology

        def room(name: str, width: int) -> np.ndarray:
            return buffers.get(name, count * width, np.uint8).reshape(count, width)

        pages = reader.read(first, count, room("old pages", topology.layout.page_bytes))
        words = pages.view(topology.layout.id_dtype)
        if topology.weight_dtype is None:
            return words, None
        weights = reader.read_weights(first, count, room("old weights", topology.weight_page_bytes))
        return words, weights.view(topology.weight_dtype).reshape(-1)


class _Output:
    """Where the edges of one segment go: one array where results are in memory, else a buffer and then a file."""

    def __init__(self, merge: _Merge, number: int, buffers: Buffers) -> None:
        self.merge, self.number, self.buffers = merge, number, buffers
        self.stores = [store for store in (merge.targets, merge.weights) if store is not None]
        room = merge.segments[number].room
        spaces = [store.space(number, 0, room) for store in self.stores]
        self.arrays = [space for space in spaces if space is not None]
        self.at = 0
        self.range: tuple[float, float] | None = None
        self._open: list[np.ndarray] = []

    def room(self, edges: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Arrays for the next batch of at most so many edges: targets, and weights or None."""
        if self.arrays:
            self._open = [array[self.at :] for array in self.arrays]
        else:
            self._open = [self.buffers.get(f"merged {at}", edges, one.dtype) for at, one in enumerate(self.stores)]
        return self._open[0], self._open[1] if len(self._open) > 1 else None

    def take(self, kept: int) -> None:
        """So many edges of the batch are there."""
        if len(self._open) > 1 and kept:
            weights = self._open[1][:kept]
            self.range = merged_range(self.range, (float(weights.min()), float(weights.max())))
        if not self.arrays:
            for store, batch in zip(self.stores, self._open, strict=True):
                store.put(self.number, self.at, batch[:kept])
        self.at += kept

    def finish(self) -> int:
        """All batches were taken; returns how many edges there are."""
        return self.at
