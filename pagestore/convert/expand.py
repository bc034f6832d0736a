"""Sorted edges as a source again: for the other topology, and for a new order of vertices.

With a permutation, `place` (store ID of each dense vertex), both ends are renamed on the way. The near ends come in
ascending order, so their places are read in passing; the far ends are anywhere: when the permutation is larger than
memory allows, a stage holds a window of it and yields only the edges whose far end lies inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pagestore.convert.sortededges import SortedEdges
from pagestore.convert.storage import WINDOW, Vector
from pagestore.io import Buffers
from pagestore.jit import compiled

U0, U1 = np.uint64(0), np.uint64(1)


@dataclass(frozen=True)
class Edges:
    """A chunk: `source` (near) and `target` (far) uint64[n]; weight in the store's dtype, or None."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None

    def __len__(self) -> int:
        return len(self.source)


@compiled
def _cut(degrees, first, edges_before, chunk_edges, chunk_vertices, state, cuts):
    """Note (vertex, edges of it already taken, edge number) wherever a chunk starts; returns how many were noted.

    state u8[2]: edges and vertices in the open chunk.
    """
    count = U0
    edge = edges_before
    for i in range(degrees.size):
        left = np.uint64(degrees[i])
        taken = U0
        if state[1] >= chunk_vertices:
            cuts[count, 0], cuts[count, 1], cuts[count, 2] = first + np.uint64(i), U0, edge
            count += U1
            state[0], state[1] = U0, U0
        while state[0] + left > chunk_edges:
            part = chunk_edges - state[0]
            taken, left, edge = taken + part, left - part, edge + part
            cuts[count, 0], cuts[count, 1], cuts[count, 2] = first + np.uint64(i), taken, edge
            count += U1
            state[0], state[1] = U0, U0
        state[0] += left
        state[1] += U1
        edge += left
    return count


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
        state = np.zeros(2, np.uint64)
        cuts = [np.zeros((1, 3), np.uint64)]
        edge = 0
        for first, degrees in self.edges.degrees.windows():
            room = len(degrees) + int(degrees.sum(dtype=np.uint64)) // chunk_edges + 1
            found = np.empty((room, 3), np.uint64)
            limits = (np.uint64(chunk_edges), np.uint64(max(WINDOW, 4 * chunk_edges)))
            count = int(_cut(degrees, np.uint64(first), np.uint64(edge), *limits, state, found))
            cuts.append(found[:count].copy())
            edge += int(degrees.sum(dtype=np.uint64))
        cuts.append(np.array([[self.edges.vertices, 0, self.edges.edges]], np.uint64))
        return np.concatenate(cuts).astype(np.int64)

    def enter(self, stage: int) -> None:
        """Load the window of the permutation that this stage needs."""
        if self.place is not None:
            self._low = stage * self._window
            self._places = np.empty(0, np.uint32)  # let go of the last window first
            self._places = self.place.read(self._low, min(self._low + self._window, self.edges.vertices))

    def chunk(self, number: int, buffers: Buffers | None = None) -> Edges:
        """Edges of chunk `number`, of this stage's window; in `buffers`, when given, until the next call."""
        empty = (buffers or Buffers()).get
        (first, skip, begin), (last, taken, end) = self._cuts[number].tolist(), self._cuts[number + 1].tolist()
        last += 1 if taken else 0
        degrees = self.edges.degrees.read(first, last)
        near, out_far = empty("source", end - begin, np.uint64), empty("target", end - begin, np.uint64)
        near_places = None if self.place is None else self.place.read(first, last)
        _repeat(degrees, np.uint64(first), np.uint64(skip), near_places, near)
        far = self.edges.read_targets(begin, end)
        weights = self.edges.read_weights(begin, end)
        if self.place is None:
            out_far[:] = far
            return Edges(near, out_far, weights)
        out_near = near if self.stages == 1 else empty("windowed source", len(near), np.uint64)
        out_weights = None if weights is None else np.empty_like(weights)
        low = np.uint64(self._low)
        high = np.uint64(self._low + len(self._places))
        kept = int(_rename(near, far, weights, self._places, low, high, out_near, out_far, out_weights))
        return Edges(out_near[:kept], out_far[:kept], None if out_weights is None else out_weights[:kept])
