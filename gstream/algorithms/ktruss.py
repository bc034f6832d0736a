"""k-truss: the largest subgraph whose edges are each in k - 2 triangles of it or more; an edge's truss number is its
last k.

As networkx.k_truss (Cohen 2005; numbers as Wang, Cheng 2012), of undirected stores, taken as simple: self-loops don't
count, duplicate edges count once. Edges below are taken off by rounds. Lists of higher neighbours are joined with lists
block by block (gstream.algorithms.triangles); after the first round only triangles near vertices that lost an edge are
counted again, and blocks without any are left out.

Holds 8 bytes a vertex for the order of vertices and the place of its edges (12 past 2^32 edges), 2 bits; a bit an edge,
with numbers 4 bytes more; of a block, as triangles, 4 bytes an edge (8 past 2^30 vertices) and 16 a vertex, and 4 bytes
an edge for its triangles; of the answer, sorted, 3 IDs and 16 bytes an edge meanwhile.

Certificate: gstream.algorithms.trussproof.
"""

from __future__ import annotations

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
        raise UsageError(f"--k {k}: is negative; k - 2 counts triangles. Pass 0 or more, or leave it out.")
    edges = Edges(session, numbers=k is None)
    if k is not None:
        level = min(k, session.meta.vertices + 2)  # past what any edge can reach; numbers of any size are asked for
        rounds = edges.peel(level)[0] if level > 2 else 0
        columns, _ = edges.rows(edges.alive)
        return columns, {"truss_edges": len(columns[0].values)} | session.finish(rounds, True)
    present, rounds, level = edges.alive.copy(), 0, 3
    session.hold(present)
    while edges.alive.any():
        more, least = edges.peel(level)
        rounds += more
        level = level + 1 if more > 1 else least + 3
    columns, number = edges.rows(present)
    columns.append(Column("truss", number))
    return columns, {"largest_truss": int(number.max(initial=0))} | session.finish(rounds, True)


class Edges:
    """The edges of a graph as a simple one, by blocks, those that are there as bits."""

    def __init__(self, session: Session, numbers: bool) -> None:
        self.session, size = session, neighbours(session)
        session.hold(size)
        self.blocks, self.inner, self.outer = higher_lists(session, size, beside=1)
        entries = int(self.blocks.before[-1])
        self.alive = bitmap(entries)
        self.numbers = np.zeros(entries if numbers else 0, np.uint32)
        self.support = np.zeros(self.blocks.most_entries, np.uint32 if len(size) < 1 << 32 else np.uint64)
        session.hold(self.alive, self.numbers, self.support)
        for number in range(len(self.blocks)):
            lists = self.inner.lists(number)
            session.each(truss.open_edges, lists.block.starts, lists.after, self._base(lists), self.alive)

    def _base(self, lists: Lists) -> np.uint64:
        return np.uint64(self.blocks.before[lists.block.first])

    def peel(self, level: int) -> tuple[int, int]:
        """(rounds, fewest triangles of an edge in the first of them) of taking off what is not in the `level`-truss.

        What goes gets the number level - 1. One round: there was nothing to take.
        """
        session, rounds = self.session, 0
        touched, following = ~bitmap(session.meta.vertices), bitmap(session.meta.vertices)
        fewest, least = 0, np.empty(1, np.uint64)
        session.hold(touched, following)
        while touched.any():
            following[:], least[0], taken = 0, ~np.uint64(0), 0
            for number in range(len(self.blocks)):
                taken += self._take(number, level, touched, following, least)
            touched, following, rounds = following, touched, rounds + 1
            fewest = int(least[0]) if rounds == 1 else fewest
        session.let_go(touched, following)
        return rounds, fewest

    def _take(self, number: int, level: int, touched: np.ndarray, following: np.ndarray, least: np.ndarray) -> int:
        """One round over the edges of one block; how many went."""
        session, pivot = self.session, self.inner.lists(number)
        if not session.each(truss.count_touched, *pivot.arrays, self._base(pivot), self.alive, touched):
            return 0
        self.support[:] = 0
        for other in range(len(self.blocks)):
            same = other == number
            lists = pivot if same else self.outer.lists(other)
            one, two = (*pivot.arrays, self._base(pivot)), (*lists.arrays, self._base(lists))
            bits = (self.alive, touched)
            session.look(truss.count_supports, *one, *two, *bits, True, same, self.support)
            if not same:
                session.look(truss.count_supports, *two, *one, *bits, False, True, self.support)
        taken: int = session.each(
            truss.take_edges, *pivot.arrays, self._base(pivot), self.alive, touched, self.support,
            np.uint64(level - 2), np.uint32(level - 1), self.numbers, following, least,
        )  # fmt: skip
        return taken

    def rows(self, bits: np.ndarray) -> tuple[list[Column], np.ndarray]:
        """(columns source and target, numbers u4) of the edges whose bit is set, rows ascending."""
        session, count = self.session, int(count_bits(bits))
        source, target = np.empty(count, session.id_dtype), np.empty(count, session.id_dtype)
        number, filled = np.zeros(count if len(self.numbers) else 0, np.uint32), np.zeros(1, np.uint64)
        session.hold(source, target, number, number)
        for block in range(len(self.blocks)):
            lists = self.inner.lists(block)
            given = (*lists.arrays, self._base(lists), bits, self.numbers, filled, source, target, number)
            session.each(truss.list_edges, *given)
        columns, order = edge_columns(session, source, target)
        return columns, number[order] if len(number) else number
