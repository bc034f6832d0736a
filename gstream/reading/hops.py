"""One hop of a neighbour sample: edges drawn from the pages of the frontier's lists alone.

A hop draws up to `fanout` edges of every vertex that the hop before met first. Its vertices are sorted by page, so each
page is looked up once. Of a hub's pages only those are read that hold a drawn position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.reading import draws
from pagestore.layout import ROW

if TYPE_CHECKING:
    from gstream.reading.kept_pages import KeptPages

ALL = -1  # a fanout: every neighbour


@dataclass
class Hop:
    """Edges that a hop drew: owner, place of its vertex in the frontier; far, store ID of the other end."""

    owner: np.ndarray
    far: np.ndarray
    edge: np.ndarray
    weight: np.ndarray | None


def joined(parts: list[Any], kind: Any = np.int64) -> np.ndarray:
    return np.concatenate([np.empty(0, kind), *parts])


class Nodes:
    """Vertices met so far, numbered as they come. ids: int64 store IDs of the first `known`; per_hop: how many came."""

    def __init__(self, seeds: np.ndarray) -> None:
        self.ids, self.known = np.empty(0, np.int64), 0
        self.per_hop = np.empty(0, np.int64)
        self._table = self._numbers = np.empty(0, np.int64)
        self.meet(seeds)

    def meet(self, vertices: np.ndarray) -> np.ndarray:
        """int64[n]: their numbers."""
        most = self.known + len(vertices)
        if 2 * most > len(self._table):
            slots = 1 << (4 * most).bit_length()
            self._table, self._numbers = np.full(slots, -1, np.int64), np.empty(slots, np.int64)
            old, again = self.ids[: self.known], np.empty(self.known, np.int64)
            draws.number_vertices(old, self._table, self._numbers, old.copy(), 0, again)
        ids, local = np.empty(most, np.int64), np.empty(len(vertices), np.int64)
        ids[: self.known] = self.ids[: self.known]
        known = int(draws.number_vertices(vertices, self._table, self._numbers, ids, self.known, local))
        self.per_hop = np.append(self.per_hop, known - self.known)
        self.ids, self.known = ids, known
        return local


class Drawer:
    """Draws edges of vertices from the pages of one direction."""

    def __init__(self, pages: KeptPages, weights: KeptPages | None, seed: int, replace: bool) -> None:
        self.pages, self.weights, self.seed, self.replace = pages, weights, seed, replace
        self.rows, self.small = pages.topology.directory, pages.topology.small_pages

    def draw(self, frontier: np.ndarray, fanout: int, hop: int) -> Hop:
        """Up to `fanout` edges of each vertex; in the frontier's order, of one vertex in the order of its list."""
        order = np.argsort(frontier, kind="stable")
        ascending = frontier[order]
        hubs = np.isin(ascending, self.rows["first_vertex"][self.small :].astype(np.int64))
        small = np.searchsorted(self.rows["last_vertex"][: self.small], ascending.astype(np.uint64), "left")
        inside = ~hubs & (small < self.small)
        inside[inside] &= self.rows["first_vertex"][small[inside]] <= ascending[inside].astype(np.uint64)
        parts = [self._from_hubs(order[hubs], ascending[hubs], fanout, hop)] if hubs.any() else []
        order, ascending, page = order[inside], ascending[inside], small[inside]
        distinct, first = np.unique(page, return_index=True)
        first = np.append(first, len(page))
        at_once = min(self.pages.slots, self.weights.slots if self.weights else self.pages.slots)
        for begin in range(0, len(distinct), at_once):
            some = distinct[begin : begin + at_once]
            of = slice(first[begin], first[begin + len(some)])
            which = np.repeat(np.arange(len(some)), np.diff(first[begin : begin + len(some) + 1]))
            parts.append(self._from_small(order[of], ascending[of], some, which, fanout, hop))
        return self._in_order(parts)

    def _in_order(self, parts: list[Hop]) -> Hop:
        owner = joined([part.owner for part in parts])
        order = np.argsort(owner, kind="stable")
        weight = None
        if self.weights is not None:
            weight = joined([part.weight for part in parts], self.weights.topology.weight_dtype)[order]
        far, edge = (joined([getattr(part, name) for part in parts])[order] for name in ("far", "edge"))
        return Hop(owner[order], far, edge, weight)

    def _from_small(
        self, owner: np.ndarray, vertices: np.ndarray, pages: np.ndarray, which: np.ndarray, fanout: int, hop: int
    ) -> Hop:
        """Of vertices with lists in some small pages; which: the page of each, as index of `pages`."""
        slot, rows = self.pages.hold(pages)[which], self.rows[pages][which]
        columns = rows["layout"].astype(np.int64)
        columns[rows["layout"] == ROW] = 0
        start, size, before = np.zeros((3, len(vertices)), np.int64)
        given = (rows["records"].astype(np.int64), columns, self.pages.topology.layout.header_words, vertices)
        draws.find_lists(self.pages.room, slot, *given, start, size, before)
        ends, position = self._positions(vertices, size, fanout, hop)
        of = np.repeat(np.arange(len(vertices)), np.diff(ends))
        word = start[of] + np.maximum(columns, 1)[of] * (1 + position)
        edge = (rows["edges_before"].astype(np.int64) + before)[of] + position
        held = None if self.weights is None else self.weights.hold(pages)[which][of]
        return self._taken(owner[of], slot[of], word, edge, held)

    def _from_hubs(self, owner: np.ndarray, vertices: np.ndarray, fanout: int, hop: int) -> Hop:
        """Of vertices whose lists fill large pages, as many neighbours in each but the last."""
        rows, topology = self.rows[self.small :], self.pages.topology
        first, end = (
            np.searchsorted(rows["first_vertex"], vertices.astype(np.uint64), side) for side in ("left", "right")
        )
        begin = rows["edges_before"][first].astype(np.int64)
        size = (rows["edges_before"] + rows["edges"])[end - 1].astype(np.int64) - begin
        ends, position = self._positions(vertices, size, fanout, hop)
        of, longest = np.repeat(np.arange(len(vertices)), np.diff(ends)), topology.layout.longest_list
        page, word = self.small + first[of] + position // longest, topology.layout.header_words + 1 + position % longest
        distinct, which = np.unique(page, return_inverse=True)
        order = np.argsort(which, kind="stable")
        cuts = np.append(np.searchsorted(which[order], np.arange(len(distinct))), len(which))
        at_once = min(self.pages.slots, self.weights.slots if self.weights else self.pages.slots)
        edge, parts = begin[of] + position, []
        for one in range(0, len(distinct), at_once):
            some = distinct[one : one + at_once]
            these = order[cuts[one] : cuts[one + len(some)]]
            at = which[these] - one
            held = None if self.weights is None else self.weights.hold(some)[at]
            parts.append(self._taken(owner[of[these]], self.pages.hold(some)[at], word[these], edge[these], held))
        return self._in_order(parts)

    def _positions(
        self, vertices: np.ndarray, size: np.ndarray, fanout: int, hop: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(ends int64[n + 1], positions in the vertices' lists)."""
        count = size if fanout == ALL else np.minimum(size, fanout)
        if self.replace and fanout != ALL:
            count = np.where(size > 0, fanout, 0)
        ends = np.append(0, np.cumsum(count))
        position = np.empty(ends[-1], np.int64)
        draws.draw_positions(vertices, size, fanout, self.replace, np.uint64(self.seed), hop, ends, position)
        return ends, position

    def _taken(
        self, owner: np.ndarray, slot: np.ndarray, word: np.ndarray, edge: np.ndarray, held: np.ndarray | None
    ) -> Hop:
        far, weight = np.empty(len(word), np.int64), None
        draws.take_words(self.pages.room, slot, word, far)
        if self.weights is not None and held is not None:
            weight = np.empty(len(word), self.weights.topology.weight_dtype)
            draws.take_words(self.weights.room, held, word, weight)
        return Hop(owner, far, edge, weight)
