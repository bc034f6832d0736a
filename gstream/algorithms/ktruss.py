"""k-truss: the largest subgraph whose edges are each in k - 2 triangles of it or more; an edge's truss number is its
last k.

As networkx.k_truss (Cohen 2005; numbers as Wang, Cheng 2012), of undirected stores, taken as simple: self-loops don't
count, duplicate edges count once. Triangles of each edge are counted once, by lists that are joined with lists, block
by block (gstream.algorithms.triangles). Then edges in too few are taken off by rounds, each of which looks for the
triangles that lose an edge alone; where there is one block, no page is read again for it.

Holds 4 bytes a vertex for the order of vertices and 8 for the place of its edges (4 more past 2^32 edges); 4 bytes and
2 bits an edge, a third with numbers; of a block, as triangles, 4 bytes an edge (8 past 2^30 vertices) and 16 a vertex,
and as much again for edges that are taken off; of the answer, sorted, 3 IDs and 16 bytes an edge meanwhile.

Certificate: gstream.algorithms.trussproof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.algorithms import truss
from gstream.algorithms.blocks import neighbours
from gstream.algorithms.edgerows import edge_columns
from gstream.algorithms.session import Session
from gstream.algorithms.triangles import Lists, higher_lists
from gstream.hostcode.bitmaps import bitmap, count_bits
from gstream.results import Column
from pagestore.errors import UsageError


def run_ktruss(session: Session, k: int | None = None) -> tuple[list[Column], dict[str, Any]]:
    """Columns source, target (the lesser end first) and truss, a row an edge; with k the first two, of the k-truss.

    Summary: truss_edges, or largest_truss (2 where there is no triangle, 0 where there is no edge).
    Raises UsageError (a directed store; a negative k), ResourceError.
    """
    if session.meta.directed:
        raise UsageError(
            f"{session.store.path}: is directed, and trusses are those of undirected graphs. Convert with --undirected."
        )
    if k is not None and k < 0:
        raise UsageError(f"--k {k}: must be at least 0, as k - 2 counts triangles. Or leave it out.")
    edges = Edges(session)
    if k is not None:
        level = min(k, session.meta.vertices + 2)  # past what any edge can reach; numbers of any size are asked for
        rounds = edges.peel(level)[0] if level > 2 else 0
        columns, _ = edges.rows(edges.alive, numbers=False)
        return columns, {"truss_edges": len(columns[0].values)} | session.finish(rounds, True)
    present, rounds, level = edges.alive.copy(), 0, 3
    session.hold(present)
    while edges.alive.any():
        more, least = edges.peel(level)
        rounds, level = rounds + more, least + 3
    columns, number = edges.rows(present, numbers=True)
    columns.append(Column("truss", number))
    return columns, {"largest_truss": int(number.max(initial=0))} | session.finish(rounds, True)


@dataclass(frozen=True)
class Dying:
    """Lists of a block with those of the edges that a round takes off."""

    lists: Lists
    base: np.uint64
    starts: np.ndarray
    places: np.ndarray

    @property
    def arrays(self) -> tuple[Any, ...]:
        return *self.lists.arrays, self.base, self.starts, self.places


class Edges:
    """The edges of a graph as a simple one, by blocks: those that are there as bits, and their triangles."""

    def __init__(self, session: Session) -> None:
        self.session, size = session, neighbours(session)
        session.hold(size)
        self.blocks, self.inner, self.outer = higher_lists(session, size, beside=1)
        entries = int(self.blocks.before[-1])
        self.alive, self.dying = bitmap(entries), bitmap(entries)
        self.support = np.zeros(entries, np.uint32 if len(size) < 1 << 32 else np.uint64)
        session.hold(self.alive, self.dying, self.support)
        for number in range(len(self.blocks)):
            two = self.inner.lists(number)
            session.each(truss.open_edges, two.block.starts, two.after, self._base(two), self.alive)
            for other in range(len(self.blocks)):
                one = two if other == number else self.outer.lists(other)
                arrays = (*one.arrays[1:], self._base(one), *two.arrays, self._base(two))
                session.join(truss.count_supports, len(one.after), *arrays, self.support)

    def _base(self, lists: Lists) -> np.uint64:
        return np.uint64(self.blocks.before[lists.block.first])

    def peel(self, level: int) -> tuple[int, int]:
        """(rounds, fewest triangles of an edge that stays) of taking off what is not in the `level`-truss.

        The `support` of what goes becomes its truss number, level - 1.
        """
        session, rounds, least = self.session, 0, np.empty(1, np.uint64)
        kind = self.support.dtype.type
        while True:
            least[0] = ~np.uint64(0)
            if not session.each(truss.mark_dying, self.alive, self.support, np.uint64(level - 2), self.dying, least):
                return rounds, int(least[0])
            rounds += 1
            for number in range(len(self.blocks)):
                two = self._dying(self.inner.lists(number))
                for other in range(len(self.blocks)):
                    one = two if other == number else self._dying(self.outer.lists(other))
                    arrays = (*one.arrays[1:], *two.arrays, self.alive, self.dying, self.support)
                    session.join(truss.lose_triangles, len(one.lists.after), *arrays)
            session.each(truss.take_dying, self.alive, self.dying, self.support, kind(level - 1))

    def _dying(self, lists: Lists) -> Dying:
        """A block's lists with those of its dying edges."""
        base, starts = self._base(lists), np.zeros(len(lists.after) + 1, np.uint64)
        places = np.empty(0, lists.entries.dtype)
        for _ in range(2):  # count, then fill
            given = (lists.block.starts, lists.after, base, self.dying, starts, places)
            self.session.each(truss.list_dying, *given)
            if len(places) == 0:
                np.cumsum(starts, out=starts)
                places = np.empty(int(starts[-1]), lists.entries.dtype)
            if len(places) == 0:
                break
        return Dying(lists, base, starts, places)

    def rows(self, bits: np.ndarray, numbers: bool) -> tuple[list[Column], np.ndarray]:
        """(columns source and target, numbers) of the edges whose bit is set, rows ascending; numbers: of none if not
        wanted."""
        session, count = self.session, int(count_bits(bits))
        source, target = np.empty(count, session.id_dtype), np.empty(count, session.id_dtype)
        number, filled = np.zeros(count if numbers else 0, self.support.dtype), np.zeros(1, np.uint64)
        session.hold(source, target, number, number)
        for block in range(len(self.blocks)):
            lists = self.inner.lists(block)
            given = (*lists.arrays, self._base(lists), bits, self.support, filled, source, target, number)
            session.each(truss.list_edges, *given)
        columns, order = edge_columns(session, source, target)
        return columns, number[order] if numbers else number
