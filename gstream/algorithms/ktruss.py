"""k-truss: the largest subgraph whose edges are each in k - 2 triangles of it or more; an edge's truss number is its
last k.

As networkx.k_truss (Cohen 2005; numbers as Wang, Cheng 2012), of undirected stores, taken as simple: self-loops don't
count, duplicate edges count once. Triangles of each edge are counted once, by lists that are joined with lists, block
by block (gstream.algorithms.triangles). Then edges in too few are taken off by rounds, each of which looks for the
triangles that lose an edge alone; where there is one block, no page is read again for it.

Holds 4 bytes a vertex for the order of vertices and 8 for the place of its edges (4 more past 2^32 edges); 4 bytes and
2 bits an edge, a third with numbers; of a block, as triangles, 4 bytes an edge (8 past 2^30 vertices) and 16 a vertex,
and nearly as much again for edges that are taken off; of the answer, sorted, 3 IDs and 24 bytes an edge meanwhile.

Runs gstream.algorithms.truss; needs an undirected store; holds 12 bytes a vertex and, as above, an edge; certificate:
gstream.algorithms.trussproof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.algorithms import truss
from gstream.algorithms.blocks import neighbours
from gstream.algorithms.edgerows import edge_columns
from gstream.algorithms.resident import Resident
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
        wanted = min(k, session.meta.vertices + 2) - 2  # past what any edge can have; numbers of any size are asked for
        rounds = edges.peel(wanted, further=False) if wanted > 0 else 0
        columns, _ = edges.rows(edges.alive, numbers=False)
        return columns, {"truss_edges": len(columns[0].values)} | session.finish(rounds, True)
    present = edges.alive.copy()
    session.hold(present)
    rounds = edges.peel(1, further=True)
    columns, number = edges.rows(present, numbers=True)
    columns.append(Column("truss", number))
    return columns, {"largest_truss": int(number.max(initial=0))} | session.finish(rounds, True)


@dataclass(frozen=True)
class Dying:
    """Lists of a block with those of the edges that a round takes off."""

    lists: Lists
    base: np.uint64
    after: np.ndarray
    places: np.ndarray

    @property
    def arrays(self) -> tuple[Any, ...]:
        return *self.lists.arrays, self.base, self.after, self.places


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

    def peel(self, wanted: int, further: bool) -> int:
        """Take off the edges that are not in `wanted` triangles; with `further`, in one more, and so on, until none is
        left. Rounds. The `support` of what goes becomes its truss number.
        """
        session, last, level = self.session, np.zeros(2, np.uint64), np.array([wanted, truss.NONE], np.uint64)
        room = [self._room() for _ in range(min(2, len(self.blocks)))]
        items, edges = -(-len(self.alive) // truss.WORDS), len(self.support)
        marks = (self.alive, self.support, self.dying, last, level)
        with session.resident(*self._kept(room, marks)) as resident:
            for number in resident.rounds(last):
                resident.each(truss.mark_dying, items, number, *marks, items=edges)
                if further:
                    resident.each(truss.mark_next, items, number, *marks, items=edges)
                for block in range(len(self.blocks)):
                    two = self._dying(resident, self.inner.lists(block), room[0])
                    for other in range(len(self.blocks)):
                        one = two if other == block else self._dying(resident, self.outer.lists(other), room[1])
                        arrays = (*one.arrays[1:], *two.arrays, self.alive, self.dying, self.support)
                        resident.join(truss.lose_triangles, len(one.lists.after), *arrays)
                resident.each(truss.take_dying, items, self.alive, self.dying, self.support, level, items=edges)
            resident.forget(self.dying)
        return int(last.max())

    def _room(self) -> tuple[np.ndarray, np.ndarray]:
        """Room for the dying edges of a block."""
        after, places = np.empty(self.blocks.most_vertices, np.uint64), np.empty_like(self.inner.entries)
        self.session.hold(after, places)
        return after, places

    def _kept(self, room: list[tuple[np.ndarray, np.ndarray]], marks: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """What a GPU may keep, where there is one block; several would have to be gathered anew in every round."""
        if len(self.blocks) != 1:
            return ()
        lists = self.inner.lists(0)
        return *marks, lists.block.starts, lists.after, lists.entries, *room[0]

    def _dying(self, resident: Resident, lists: Lists, room: tuple[np.ndarray, np.ndarray]) -> Dying:
        """A block's lists with those of its dying edges."""
        base, count = self._base(lists), len(lists.after)
        after, places = room[0] if len(room[0]) == count else room[0][:count], room[1]
        given = (lists.block.starts, lists.after, base, self.dying, after, places)
        resident.each(truss.list_dying, -(-count // truss.LANES), *given)
        return Dying(lists, base, after, places)

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
