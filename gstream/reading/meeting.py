"""The shortest path between two vertices: searches from both ends that end where they meet.

Each side has distances and predecessors of what it has seen, and the vertices that are due. A step takes the nearest
half of the side with fewer due, reads the pages that hold their lists, and lowers their neighbours' distances. A
neighbour that the other side has seen, too, closes a path. No path is shorter than the best one once the nearest due
distances of both sides add up to as much (Pohl 1971; Nicholson 1966). So pages are read around both ends alone.

Of equally good predecessors and meeting vertices, the one of least natural index is taken. A step uses the distances
that its vertices had at its beginning. So the path does not depend on the order of the store, but where edges of weight
0 make ties.

A store with one topology is searched from one end. Arrays take 12 to 16 bytes a vertex and side, of which the system
gives what the search touches.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.reading.lists import records_of
from pagestore.errors import InputError, UsageError
from pagestore.jit import compiled

if TYPE_CHECKING:
    from pagestore.store import Store

KEPT_BYTES = 64 << 20  # pages that a side keeps
FEW_DUE = 32  # vertices that are taken at once


@dataclass(frozen=True)
class Path:
    """length: edges, or the sum of weights in float64. vertices: int64[n] store IDs from the source to the target."""

    length: float
    vertices: np.ndarray


def search_bytes(store: Store) -> int:
    """Bytes of the arrays of both sides, where the search touches them all."""
    return 2 * store.meta.vertices * (8 + store.layout.id_dtype.itemsize)


def find_path(store: Store, sources: np.ndarray, target: int, weighted: bool) -> Path | None:
    """The shortest path from the nearest of some store IDs to another; None: there is none.

    Raises UsageError for weighted paths of a store without weights, InputError for a negative one, StoreError for a
    damaged page.
    """
    meta = store.meta
    if weighted and not meta.weighted:
        raise UsageError(f"{store.path}: has no edge weights. Leave --weighted out.")
    if weighted and meta.edges and not (meta.min_weight is not None and meta.min_weight >= 0):
        raise InputError(f"{store.path}: has negative weights; shortest paths need weights of 0 and more.")
    ends = np.asarray(sources, np.int64), np.array([target], np.int64)
    sides = [_Side(store, name, first, weighted) for name, first in zip(("out", "in"), ends, strict=True)]
    try:
        return _meet(sides, set(ends[0].tolist()), target)
    finally:
        for side in sides:
            side.close()


def _meet(sides: list[_Side], sources: set[int], target: int) -> Path | None:
    best, middle = (0.0, target) if target in sources else (np.inf, -1)
    while sum(side.nearest for side in sides) < best:
        forward = _turn(sides)
        side, other = sides[forward], sides[1 - forward]
        found, meeting = side.step(other, best)
        if found < best:
            best, middle = found, meeting
    if middle < 0:
        return None
    ahead, back = (side.way(middle) for side in sides)
    return Path(float(best), np.array([*reversed(ahead), *back[1:]], np.int64))


def _turn(sides: list[_Side]) -> int:
    """The side that makes the next step: with fewer vertices due, of those that have pages."""
    return min((0, 1), key=lambda at: (sides[at].topology is None, len(sides[at].due), at))


class _Side:
    """One end's search. `due`: int64 store IDs, whose lists have not been looked at since they came nearer."""

    def __init__(self, store: Store, name: str, first: np.ndarray, weighted: bool) -> None:
        self.topology: Any = store.topology(name) if store.has(name) else None  # a Topology
        self.weighted, vertices = weighted, store.meta.vertices
        self.names = store.natural_ids() if store.meta.order != "natural" else np.empty(0, store.layout.id_dtype)
        self.distance = np.zeros(vertices)
        self.before = np.zeros(vertices, store.layout.id_dtype)  # 1 + predecessor, 0: not seen; ends: 1 + themselves
        self.before[first] = first + 1
        self.due = first
        self._reader = None if self.topology is None else self.topology.reader()
        self._pages: OrderedDict[int, tuple[np.ndarray, np.ndarray | None]] = OrderedDict()

    def close(self) -> None:
        """Give the descriptor back."""
        if self._reader is not None:
            self._reader.close()

    @property
    def nearest(self) -> float:
        """The least distance that is due; inf: none is."""
        return float(self.distance[self.due].min()) if len(self.due) else np.inf

    def step(self, other: _Side, shortest: float) -> tuple[float, int]:
        """(length of the best path through a vertex that both have seen, that vertex), of those that this step met and
        that are shorter than the best one so far. Vertices from where no path could be shorter are left out."""
        bound = shortest - other.nearest
        far = self.distance[self.due]
        limit = far.min() if not self.weighted else np.partition(far, len(far) // 2)[len(far) // 2]
        now = far <= limit if self.weighted is False or len(far) > FEW_DUE else np.ones(len(far), bool)
        taken, left = np.sort(self.due[now]), self.due[~now]
        start = self.distance[taken]
        best, meeting, came = shortest, -1, [left]
        for page, listed in self._by_page(taken):
            words, weights = self._page(page)
            stride, records = records_of(self.topology, page)
            count = int(self.topology.directory["edges"][page])
            nearer = np.empty(count, np.int64)
            arrays = (self.distance, self.before, other.distance, other.before, self.names)
            begun = start[np.searchsorted(taken, listed)]
            limits = (shortest, bound, best, meeting)
            found, meeting, best = _relax(words, weights, records, stride, listed, begun, *arrays, *limits, nearer)
            came.append(nearer[: int(found)])
        self.due = np.unique(np.concatenate(came))
        return float(best), int(meeting)

    def _by_page(self, vertices: np.ndarray) -> Any:
        """(page, vertices with a list in it) for all pages that have lists of ascending vertices; a hub has several."""
        rows, small = self.topology.directory, self.topology.small_pages
        if small:
            page = np.searchsorted(rows["last_vertex"][:small], vertices.astype(np.uint64), "left")
            inside = page < small
            inside[inside] &= rows["first_vertex"][:small][page[inside]] <= vertices[inside].astype(np.uint64)
            cuts = np.flatnonzero(np.diff(page[inside])) + 1
            for part in np.split(vertices[inside], cuts) if inside.any() else []:
                yield int(np.searchsorted(rows["last_vertex"][:small], np.uint64(part[0]), "left")), part
        hubs = rows["first_vertex"][small:]
        for at in np.flatnonzero(np.isin(hubs, vertices.astype(np.uint64))).tolist():
            yield small + at, hubs[at : at + 1].astype(np.int64)

    def _page(self, page: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Words and weights of a page."""
        found = self._pages.get(page)
        topology, reader = self.topology, self._reader
        if found is None and topology is not None and reader is not None:
            words, weights = reader.read(page, 1)[0].view(topology.layout.id_dtype), None
            if self.weighted:
                weights = reader.read_weights(page, 1)[0].view(topology.weight_dtype)
            found = self._pages[page] = (words, weights)
            while len(self._pages) > max(1, KEPT_BYTES // topology.layout.page_bytes):
                self._pages.popitem(last=False)
        assert found is not None
        self._pages.move_to_end(page)
        return found

    def way(self, vertex: int) -> list[int]:
        """Vertices from one that was seen back to this side's end."""
        found = [vertex]
        while (before := int(self.before[found[-1]]) - 1) != found[-1]:
            found.append(before)
        return found


@compiled
def _named(names, v):
    """The natural index of v."""
    return np.int64(v) if names.size == 0 else np.int64(names[v])


@compiled
def _relax(
    words, weights, records, stride, listed, begun, distance, before, other_distance, other_before, names, shortest,
    bound, best, meeting, nearer,
):  # fmt: skip
    """Lower distances below `bound` over the lists of some vertices in a page: (how many came nearer, vertex at which a
    path shorter than `shortest` meets the other side or -1, its length). begun: distances of the vertices listed; best,
    meeting: of the pages before."""
    count = 0
    for index in range(listed.size):
        v = listed[index]
        low, high = 0, records
        while low < high:  # slots ascend by vertex from the end of the page
            middle = (low + high) // 2
            if np.int64(words[words.size - 2 * middle - 2]) < v:
                low = middle + 1
            else:
                high = middle
        if low == records or np.int64(words[words.size - 2 * low - 2]) != v:
            continue
        start = np.int64(words[words.size - 2 * low - 1])
        for k in range(np.int64(words[start])):
            place = start + stride * (k + 1)
            w = np.int64(words[place])
            far = begun[index] + (1.0 if weights is None else np.float64(weights[place]))
            if before[w] != 0 and far >= distance[w]:
                if far == distance[w] and far > begun[index] and _named(names, v) < _named(names, before[w] - 1):
                    before[w] = v + 1
                continue
            length = far + other_distance[w]
            meets = other_before[w] != 0 and length < shortest
            if meets and (length < best or (length == best and _named(names, w) < _named(names, meeting))):
                best, meeting = length, w
            if meets or far < bound:
                distance[w] = far
                before[w] = v + 1
                nearer[count] = w
                count += 1
    return count, meeting, best
