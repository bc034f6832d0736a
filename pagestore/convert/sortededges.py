"""One topology's edges, sorted: degrees and, vertex after vertex, the ascending targets; and as a source again.

Part k holds the lists of the near vertices firsts[k]..firsts[k+1]-1, either as arrays or in files at its own place.

An `Expansion` gives the edges out again, for the other topology or a new order of vertices. A permutation, `place`
(store ID of each dense vertex), renames both ends on the way. Near ends ascend, so their places are read in passing.
Far ends are anywhere. When the permutation is larger than memory allows, a stage loads a window of it and yields only
the edges whose far end lies inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pagestore.convert.storage import TempFile, Vector
from pagestore.inputs.base import EdgeChunk
from pagestore.io import Buffers, aligned_empty
from pagestore.jit import compiled

U0, U1 = np.uint64(0), np.uint64(1)


class PartStore:
    """Element arrays of all parts (targets, or weights), with room for each part's most: in memory, or in one file.

    begins: int64[parts], each part's first place; what no part fills costs no memory.
    """

    def __init__(self, dtype: np.dtype, room: np.ndarray, path: Path | None, keep: bool = False):
        """`room` int64[parts]: most elements each part may get. With `keep` the file is there already."""
        self.dtype = np.dtype(dtype)
        self.begins = (np.cumsum(room) - room).astype(np.int64)
        self._file = None if path is None else TempFile(path, keep)
        size = int(room.sum()) * self.dtype.itemsize if path is None else 0
        self._array = aligned_empty(size, reserve=False).view(self.dtype)

    def space(self, part: int, first: int, count: int) -> np.ndarray | None:
        """Where elements [first, first + count) of a part may be written in place of `put`; None: they go to a file."""
        if self._file is not None:
            return None
        begin = int(self.begins[part]) + first
        return self._array[begin : begin + count]

    def put(self, part: int, first: int, values: np.ndarray) -> None:
        """Elements [first, first + len(values)) of a part."""
        if self._file is not None:
            self._file.write((int(self.begins[part]) + first) * self.dtype.itemsize, values)
        elif (space := self.space(part, first, len(values))) is not None:
            space[:] = values

    def get(self, part: int, first: int, last: int) -> np.ndarray:
        """Elements [first, last) of a part."""
        begin, end = int(self.begins[part]) + first, int(self.begins[part]) + last
        if self._file is None:
            return self._array[begin:end]
        return self._file.read(begin * self.dtype.itemsize, np.empty(last - first, self.dtype))

    def close(self) -> None:
        """Free the memory, or remove the file; safe to call twice."""
        self._array = np.empty(0, self.dtype)
        if self._file is not None:
            self._file.remove()


@dataclass
class SortedEdges:
    """Edges by (near, far). `counts` int64[parts]; edge number e is the e-th of all in that order.

    `hash`: a sum over edges (emit.py). `weight_range`: least and greatest weight.
    """

    vertices: int
    firsts: np.ndarray
    counts: np.ndarray
    degrees: Vector
    targets: PartStore
    weights: PartStore | None
    duplicates: int
    loops: int
    hash: int
    weight_range: tuple[float, float] | None

    def __post_init__(self) -> None:
        self.starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        self._full = np.array_equal(self.starts[:-1], self.targets.begins)  # no part has room left

    @property
    def edges(self) -> int:
        """Edges kept."""
        return int(self.starts[-1])

    def _read(self, store: PartStore, first: int, last: int) -> np.ndarray:
        if self._full and first < last:
            return store.get(0, first, last)
        pieces = []
        part = max(0, int(np.searchsorted(self.starts, first, "right")) - 1)
        while first < last:
            start, end = int(self.starts[part]), int(self.starts[part + 1])
            if end > first:
                pieces.append(store.get(part, first - start, min(last, end) - start))
                first = min(last, end)
            part += 1
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.empty(0, store.dtype)

    def read_targets(self, first: int, last: int) -> np.ndarray:
        """Far ends (u4 or u8) of the edges [first, last); may be a view."""
        return self._read(self.targets, first, last)

    def read_weights(self, first: int, last: int) -> np.ndarray | None:
        """Weights of the edges [first, last), None when there are none."""
        return None if self.weights is None else self._read(self.weights, first, last)

    def windows(self, size: int) -> Iterator[tuple[int, int]]:
        """Edge ranges of at most `size`."""
        for first in range(0, self.edges, size):
            yield first, min(first + size, self.edges)

    def close(self) -> None:
        """Free all of it."""
        self.degrees.close()
        self.targets.close()
        if self.weights is not None:
            self.weights.close()


@compiled
def _repeat(degrees, first, skip, place, out):
    """out = each near vertex once an edge, `skip` edges of the first one left out; renamed by `place` (or None)."""
    at = U0
    for i in range(degrees.size):
        here = np.uint64(degrees[i])
        if skip > U0:
            here -= skip
            skip = U0
        vertex = first + np.uint64(i) if place is None else np.uint64(place[np.uint64(i)])
        for _ in range(here):
            if at == out.size:
                return
            out[at] = vertex
            at += U1


@compiled
def _rename(near, far, weights, place, low, high, out_near, out_far, out_weights):
    """Keep the edges whose far end is in [low, high), renamed by `place` (of that window); returns how many."""
    kept = U0
    for i in range(far.size):
        vertex = np.uint64(far[i])
        if vertex >= low and vertex < high:
            out_near[kept], out_far[kept] = near[i], np.uint64(place[vertex - low])
            if weights is not None:
                out_weights[kept] = weights[i]
            kept += U1
    return kept


class Expansion:
    """Chunks of a SortedEdges, by number and from any thread. `place`: id[vertices] or None for the order as it is.

    `stages`: how many windows the permutation needs; `enter` loads one; then chunks 0..chunk_count-1 are its edges.
    """

    def __init__(self, edges: SortedEdges, place: Vector | None, chunk_edges: int, place_bytes: int):
        self.edges = edges
        self.place = place
        self.stages = 1
        self._window = edges.vertices
        if place is not None and place.array is None:
            self._window = max(1, place_bytes // place.dtype.itemsize)
            self.stages = max(1, -(-edges.vertices // self._window))
        self._low = 0
        self._places = np.empty(0, np.uint32)
        self._cuts = self._find_cuts(chunk_edges)
        self.chunk_count = len(self._cuts) - 1

    def _find_cuts(self, chunk_edges: int) -> np.ndarray:
        """(vertex, edges of it already taken, edge number) wherever a chunk starts, i8[chunks + 1, 3].

        Chunks end after `chunk_edges` edges, and where a window over the vertices does: most of these may have none.
        """
        cuts, edge = [], 0
        for first, degrees in self.edges.degrees.windows():
            ends = np.cumsum(degrees, dtype=np.int64)
            starts = np.arange(0, max(int(ends[-1]), 1), chunk_edges)
            vertices = np.searchsorted(ends, starts, "right") if ends[-1] else np.zeros(1, np.int64)
            taken = starts - (ends[vertices] - degrees[vertices].astype(np.int64))
            cuts.append(np.stack([first + vertices, taken, edge + starts], 1))
            edge += int(ends[-1])
        return np.concatenate([*cuts, [[self.edges.vertices, 0, edge]]])

    def enter(self, stage: int) -> None:
        """Load the window of the permutation that this stage needs."""
        if self.place is not None:
            self._low = stage * self._window
            self._places = np.empty(0, np.uint32)  # let go of the last window first
            self._places = self.place.read(self._low, min(self._low + self._window, self.edges.vertices))

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """Chunk `number` of this stage's window, near ends as sources, weights in the store's dtype.

        In `buffers`, when given, until the next call.
        """
        empty = (buffers or Buffers()).get
        (first, skip, begin), (last, taken, end) = self._cuts[number].tolist(), self._cuts[number + 1].tolist()
        last += 1 if taken else 0  # the chunk ends within a vertex
        degrees = self.edges.degrees.read(first, last)
        near, out_far = empty("source", end - begin, np.uint64), empty("target", end - begin, np.uint64)
        near_places = None if self.place is None else self.place.read(first, last)
        _repeat(degrees, np.uint64(first), np.uint64(skip), near_places, near)
        far = self.edges.read_targets(begin, end)
        weights = self.edges.read_weights(begin, end)
        if self.place is None:
            out_far[:] = far
            return EdgeChunk(near, out_far, weights)
        out_near = near if self.stages == 1 else empty("windowed source", len(near), np.uint64)
        out_weights = None if weights is None else np.empty_like(weights)
        low = np.uint64(self._low)
        high = np.uint64(self._low + len(self._places))
        kept = int(_rename(near, far, weights, self._places, low, high, out_near, out_far, out_weights))
        return EdgeChunk(out_near[:kept], out_far[:kept], None if out_weights is None else out_weights[:kept])
