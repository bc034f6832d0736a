"""One topology of a store, merged with sorted changes: its pages are read once, a few at a time on every thread.

The lists are cut into segments: runs of small pages, between them each hub alone. A hub's list is merged a few large
pages at a time, each time with the additions up to the last neighbour read. Memory: a few times 16 MiB a thread, and
the changes of one hub.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pagestore.convert.crew import Ticker, run_crew
from pagestore.convert.emit import merged_range
from pagestore.convert.options import ProgressHook
from pagestore.convert.sortededges import PartStore, SortedEdges
from pagestore.convert.storage import Vector
from pagestore.topology import Topology
from pagestore.update import kernels
from pagestore.update.kernels import DUPLICATES, LOOPS, NONE

BATCH_BYTES = 16 << 20  # pages of a segment
BLOCK_BITS = 10  # of the table that finds how far an ID moves
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
    """What a merge is told: sorted changes by new store IDs, and what becomes of equal edges. points: Vertices.shifts.

    keep: as in ConvertOptions, None: all equal edges are kept. folder: of results, None: memory.
    """

    added: SortedEdges
    removed: SortedEdges
    points: np.ndarray
    vertices: int
    keep: str | None
    mirrored: bool
    weight_dtype: np.dtype | None
    threads: int
    folder: Path | None
    hook: ProgressHook | None

    def __post_init__(self) -> None:
        blocks = (self.vertices >> BLOCK_BITS) + 2
        self.blocks = np.searchsorted(self.points, np.arange(blocks, dtype=np.int64) << BLOCK_BITS)

    def run(self, topology: Topology, name: str) -> tuple[SortedEdges, list[tuple[int, int]]]:
        """The merged edges, and removals that found none, by new store IDs (near, far)."""
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
        self.sums = np.zeros(4, np.int64)
        self.range: tuple[float, float] | None = None
        self.missing: list[tuple[int, int]] = []
        self.lock = threading.Lock()

    def run(self) -> tuple[SortedEdges, list[tuple[int, int]]]:
        job = self.job
        ticker = Ticker(job.hook, f"merge {self.topology.name}", sum(one.room for one in self.segments), "edges")

        def work(thread: int, number: int) -> None:
            self._segment(number)
            ticker.add(self.segments[number].room)

        run_crew(job.threads, iter(range(len(self.segments))), work)
        ticker.finish()
        firsts = np.array([*(one.low for one in self.segments), job.vertices], np.uint64)
        merged = SortedEdges(
            job.vertices, firsts, self.counts, self.degrees, self.targets, self.weights, int(self.sums[DUPLICATES]),
            int(self.sums[LOOPS]), 0, self.range,
        )  # fmt: skip
        return merged, sorted(self.missing)

    def _moved(self, old: int) -> int:
        """An old store ID as a new one."""
        return old + int(np.searchsorted(self.job.points, old, "right"))

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
        topology, small = self.topology, self.topology.small_pages
        step = max(1, BATCH_BYTES // topology.layout.page_bytes)
        first, last = (topology.directory[name].astype(np.int64) for name in ("first_vertex", "last_vertex"))
        hubs, starts = np.unique(first[small:], return_index=True)
        ends = np.append(starts, len(first) - small)[1:] + small
        runs = [0, *first[step:small:step].tolist()]
        large = {int(hub): (small + int(begin), int(end)) for hub, begin, end in zip(hubs, starts, ends, strict=True)}
        begins = sorted({*runs, *large, *(hub + 1 for hub in large if hub + 1 < topology.vertices)})
        found = []
        if 0 in large and self._moved(0):  # new vertices ahead of the first hub
            found.append((0, 0, 0, 0))
        for at, begin in enumerate(begins):
            end = begins[at + 1] if at + 1 < len(begins) else topology.vertices
            if begin in large:
                found.append((self._moved(begin), begin, *large[begin]))
            else:
                low, high = int(np.searchsorted(last[:small], begin)), int(np.searchsorted(first[:small], end))
                found.append((self._moved(begin - 1) + 1, begin, low, max(low, high)))
        return found

    def _segment(self, number: int) -> None:
        """Merge one segment and put its results where they belong."""
        job, segment = self.job, self.segments[number]
        add_degrees = job.added.degrees.read(segment.low, segment.high).astype(np.int64)
        remove_degrees = job.removed.degrees.read(segment.low, segment.high).astype(np.int64)
        a, r = segment.begin
        added = job.added.read_targets(a, a + int(add_degrees.sum()))
        weights = job.added.read_weights(a, a + len(added))
        added_weights = None if job.weight_dtype is None or weights is None else weights.astype(np.float64)
        removed = job.removed.read_targets(r, r + int(remove_degrees.sum()))
        hits = np.zeros(len(removed), np.uint8)
        degrees = np.zeros(segment.high - segment.low, self.degrees.dtype)
        state = np.zeros(4, np.int64)
        taken, at = 0, 0
        for last, (vertex, size, old, old_weights) in self._lists(segment):
            if last:
                most, lengths = len(added), add_degrees.copy()
                if segment.hub:
                    lengths[0] -= taken
            else:  # a hub's next pages have greater neighbours
                most = self._upto(added[: int(add_degrees[0])], added_weights, old, old_weights)
                lengths = np.zeros_like(add_degrees)
                lengths[0] = most - taken
            count = len(old) + most - taken
            out = np.empty(count, self.targets.dtype)
            out_weights = None if job.weight_dtype is None else np.empty(count, np.float64)
            part = None if added_weights is None else added_weights[taken:most]
            kept = kernels.merge(
                segment.low, vertex, size, old, old_weights, lengths, added[taken:most], part, remove_degrees, removed,
                hits, NONE if job.keep is None else KEEPS[job.keep], job.mirrored, out, out_weights, degrees, state,
            )  # fmt: skip
            taken = most
            self.targets.put(number, at, out[:kept])
            if self.weights is not None and out_weights is not None:
                stored = out_weights[:kept].astype(self.weights.dtype)
                self.weights.put(number, at, stored)
                if kept:
                    with self.lock:
                        self.range = merged_range(self.range, (float(stored.min()), float(stored.max())))
            at += kept
        self.degrees.write(segment.low, degrees)
        self.counts[number] = at
        self._tell(segment, state, removed, hits, remove_degrees)

    def _upto(
        self, added: np.ndarray, weights: np.ndarray | None, old: np.ndarray, old_weights: np.ndarray | None
    ) -> int:
        """Additions of a hub that come before what follows the list `old`."""
        most = int(np.searchsorted(added, old[-1], "right"))
        if self.job.keep is None and weights is not None and old_weights is not None:
            least = int(np.searchsorted(added, old[-1], "left"))
            most = least + int(np.searchsorted(weights[least:most], old_weights[-1], "right"))
        return most

    def _tell(
        self, segment: Segment, state: np.ndarray, removed: np.ndarray, hits: np.ndarray, degrees: np.ndarray
    ) -> None:
        with self.lock:
            self.sums += state  # of LAST and STARTED it is not read
            if hits.all():
                return
            near = np.repeat(segment.low + np.arange(len(degrees)), degrees)
            again = np.append(False, (near[1:] == near[:-1]) & (removed[1:] == removed[:-1]))
            lost = np.flatnonzero((hits == 0) & ~again)
            self.missing += zip(near[lost].tolist(), removed[lost].tolist(), strict=True)

    def _lists(self, segment: Segment) -> Iterator[tuple[bool, tuple]]:
        """(whether these are the last, (owners, lengths, neighbours, weights)) of a segment, in new store IDs."""
        topology, job = self.topology, self.job
        step = max(1, BATCH_BYTES // topology.layout.page_bytes) if segment.hub else max(1, segment.end - segment.first)
        with topology.reader() as reader:
            for first in range(segment.first, max(segment.end, segment.first + 1), step):
                count = min(step, segment.end - first)
                rows = topology.directory[first : first + count]
                edges, records = int(rows["edges"].sum()), int(rows["records"].sum())
                words = reader.read(first, count).view(topology.layout.id_dtype)
                weights = kept = None
                if job.weight_dtype is not None:
                    dtype = topology.weight_dtype or job.weight_dtype
                    weights = reader.read_weights(first, count).view(dtype).astype(np.float64)
                    kept = np.empty(edges, np.float64)
                vertex, size = np.empty(records, np.int64), np.empty(records, np.int64)
                targets = np.empty(edges, self.targets.dtype)
                strides = np.maximum(rows["layout"].astype(np.int64), 1)
                lists, filled = kernels.flatten(
                    words, weights, rows["records"].astype(np.int64), strides, segment.old_low, segment.old_high,
                    vertex, size, targets, kept,
                )  # fmt: skip
                vertex, size, targets = vertex[:lists], size[:lists], targets[:filled]
                if segment.hub:  # its pages are one list
                    vertex, size = vertex[:1], np.array([filled], np.int64)
                if len(job.points):
                    kernels.shift(vertex, job.points, self.job.blocks, BLOCK_BITS)
                    kernels.shift(targets, job.points, self.job.blocks, BLOCK_BITS)
                last = first + count >= segment.end
                yield last, (vertex, size, targets, None if kept is None else kept[:filled])
