"""Triangles of every vertex, by joining lists with lists.

triangles(v) = pairs of v's neighbours that are neighbours themselves; their sum over 3 is GAP's triangle count.

An edge is in one list, that of its lower end (joins.py). Lists are gathered by blocks, each a range of vertices. Blocks
are both operands of a nested-loop join: one stays while the others are gathered from the pages. So the lists may take
more than memory, or than a GPU's. Two blocks meet once, and are joined both ways. If all lists fit, each page is moved
twice: once to size the lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gstream.algorithms.declaration import Algorithm, Work
from gstream.algorithms.density import joins, weighted_joins
from gstream.algorithms.density.joined import cuts_of, is_left, note_joined, nothing_joined
from gstream.algorithms.support.blocks import (
    VERTEX_BYTES,
    Blocks,
    OnGpu,
    Range,
    block_bytes,
    check_block_memory,
    degrees_bytes,
    gather,
    head_of,
    neighbours,
    neighbours_dtype,
)
from gstream.algorithms.support.session import Session
from gstream.results.column import Answer, Column

ALGORITHM = Algorithm(
    "triangles", "triangles of every vertex",
    "As networkx.triangles. Summary: triangles, all of them.",
    definition="simple graph: no self-loops, repeated edges once",
    columns=("vertex", "triangles"), best="largest",
    proof=".triangle_proofs:certify_triangles", proof_bytes=37, certificate="64 vertices, counted again; the sum",
    check="check_join_memory", directed=False,
    otherwise="triangles are counted in undirected graphs. Convert with --undirected, or run lcc.",
    kept="8: edges between neighbours",
    holds="24, degrees, 2 bits a thread; blocks",
    units=(".joins:count_higher gather_higher close_triangles",),
    proof_units=(
        ".triangle_proofs:mark_near", "..support.simple:note_ends", ".triangle_proofs:count_between",
    ),
    work=Work(edges=1.8, gpu_edges=5.6, joins=True, moved=(2.0, 6.0), spread=2.5),
)  # fmt: skip


DEGREES = 1 << 20  # vertices whose degrees are read at a time, to bound lists


@dataclass(frozen=True)
class Lists:
    """A block's lists of higher neighbours: vertex first + k has entries[starts[k]:after[k]]. number: of the block;
    room: which of the rooms for blocks they are in."""

    block: Range
    after: np.ndarray
    entries: np.ndarray
    number: int
    room: int

    @property
    def arrays(self) -> tuple[Any, ...]:
        return np.uint64(self.block.first), self.block.starts, self.after, self.entries


def run_triangles(session: Session) -> Answer:
    """Column triangles. Raises UsageError (a directed store), ResourceError."""
    arcs, _, rounds = join_all(session, degrees=False)
    arcs >>= np.uint64(1)  # each edge between neighbours stood for two
    found = {"triangles": int(arcs.sum()) // 3}
    return [Column("triangles", arcs)], found | session.finish(rounds, True)


def join_all(session: Session, degrees: bool, mutual: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, int]:
    """(edges between neighbours u8[V], neighbours u4[V], rounds of the outer loop).

    mutual: int64[1], takes the pairs of vertices with edges both ways; all edges count as both ways then.
    """
    check_join_memory(session, degrees)
    vertices, size = session.meta.vertices, neighbours(session)
    arcs, degree = np.zeros(vertices, np.uint64), np.zeros(vertices if degrees else 0, np.uint32)
    kept = session.keep(arcs=arcs, degree=degree, **nothing_joined(vertices))
    marks = np.zeros((0 if session.on_gpus else session.engine.workers.threads, -(-vertices // 32)), np.uint64)
    session.reserve(size, arcs, degree, marks)
    dtype = entries_dtype(session)
    on_gpu = OnGpu(max(arcs.nbytes, size.nbytes), dtype.itemsize, VERTEX_BYTES)
    lists = higher_lists(session, size, on_gpu, cuts=cuts_of(kept), mutual=mutual)
    for first, second in lists.pairs(is_left(kept, lists.blocks)):
        if degrees and first.number == second.number:
            session.each(joins.count_ends, *first.arrays, degree, long=True)
        for one, two in joined_ways(first, second):
            if session.on_gpus:
                session.join(joins.close_triangles, len(one.after), *one.arrays, *two.arrays, arcs)
            else:
                seats = np.zeros(1, np.int64)
                session.look(joins.close_marked, *one.arrays, *two.arrays, arcs, marks, seats, long=True)
        note_joined(kept, lists.blocks, first.number, second.number)
        kept.boundary()
    kept.end()
    return arcs, degree, len(lists.blocks)


def check_join_memory(session: Session, degrees: bool = False) -> None:
    """Too little memory is said before any work, and what all of a call takes with it."""
    vertices, sizes = session.meta.vertices, neighbours_dtype(session).itemsize
    threads = 0 if session.on_gpus else session.engine.workers.threads
    arcs, before = 8 * vertices, 8 * (vertices + 1)
    kept = sizes * vertices + arcs + 4 * vertices * degrees + 8 * threads * -(-vertices // 32)
    held = kept + sizes * vertices + before
    answer = arcs + vertices * (4 + 2 * 8 + 1) if degrees else arcs
    read = degrees_bytes(session)
    alone = max(answer, read + sizes * vertices)
    dtype = entries_dtype(session)
    most = read + kept + block_bytes(session, most_entries(session), dtype)
    check_block_memory(session, held, most_higher, dtype, 2, alone, most)


def most_entries(session: Session) -> int:
    """Of all lists of higher neighbours, repeated ones too: an edge is in one of them."""
    return (session.meta.edges - session.meta.self_loops) // (1 if session.meta.directed else 2)


def most_higher(session: Session) -> int:
    """A bound of the entries of a list of higher neighbours, known by degrees before these are counted.

    If a list has e entries of d distinct neighbours, these d have e entries or more each, and so has its own vertex.
    And e <= c * d + repeated; c = 2 if edges have two directions. So e is at most the size of vertex d + 1 in the order
    of sizes, and d * e at most all entries.
    """
    meta, ways = session.meta, 1 + session.meta.directed
    most = math.isqrt(ways * meta.edges) + 2  # past as many distinct neighbours, e is less than one of fewer
    sizes = np.zeros(0, np.int64)  # the greatest so far
    for first in range(0, meta.vertices, DEGREES):
        end = min(first + DEGREES, meta.vertices)
        part = session.store.out_degree(first, end).astype(np.int64)
        if meta.directed:
            part += session.store.in_degree(first, end).astype(np.int64)
        sizes = np.sort(np.concatenate([sizes, part]))[-most:]
    distinct = np.arange(1, len(sizes))
    return int(np.minimum(sizes[::-1][1:], ways * distinct + meta.duplicates).max(initial=0))


def joined_ways(first: Any, second: Any) -> list[tuple[Any, Any]]:
    """(one, two) of the joins of two blocks, v in block `one`, u in block `two`; one join where they are the same."""
    return [(first, second)] if first is second else [(first, second), (second, first)]


def entries_dtype(session: Session) -> np.dtype:
    """Of an entry of a list: a vertex and 2 bits."""
    return np.dtype(np.uint32 if session.meta.vertices <= 1 << 30 else np.uint64)


def higher_lists(
    session: Session, size: np.ndarray, on_gpu: OnGpu, beside: int = 0, later: int = 0, cuts: Iterable[int] = (),
    mutual: np.ndarray | None = None,
    weights: bool = False,
) -> HigherLists:  # fmt: skip
    """Lists of higher neighbours by blocks. size: entries of each vertex's lists, which order vertices.

    on_gpu: what a GPU that joins two blocks holds of one. beside: arrays as large as a block's entries that go with
    each. later: bytes that the call will hold beside them. cuts: as of Blocks. mutual: as of join_all. weights: entries
    are those of weighted_joins.py.
    """
    cuts = tuple(cuts)
    higher = _count_higher(session, size)
    dtype = np.dtype(np.uint64) if weights else entries_dtype(session)
    blocks = Blocks(session, higher, dtype, 1 + beside, on_gpu, later, cuts)
    if len(blocks) > 1:
        session.release(blocks.before)
        blocks = Blocks(session, higher, dtype, 2 * (1 + beside), replace(on_gpu, blocks=2), later, cuts)
    session.release(higher)
    return HigherLists(session, blocks, size, mutual, weights)


def _count_higher(session: Session, size: np.ndarray) -> np.ndarray:
    """Entries that each vertex's list may have, of the type of `size`."""
    higher = np.zeros_like(size)
    session.reserve(higher)
    both = session.meta.directed and len(session.meta.topologies) == 1
    for name in session.meta.topologies:
        session.sweep(name, joins.count_higher, (both, size, higher))
    return higher


class HigherLists:
    """Room for the lists of two blocks at a time, of one where there is one."""

    def __init__(
        self, session: Session, blocks: Blocks, size: np.ndarray, mutual: np.ndarray | None, weights: bool
    ) -> None:  # fmt: skip
        self.session, self.blocks, self.size, self.mutual, self.weights = session, blocks, size, mutual, weights
        self._counted: set[int] = set()  # blocks whose pairs are in `mutual`
        self.rooms = min(2, len(blocks))
        self._entries = [np.empty(blocks.most_entries, blocks.dtype) for _ in range(self.rooms)]
        self._after = [np.empty(blocks.most_vertices, np.uint64) for _ in range(self.rooms)]
        session.reserve(*self._entries, *self._after, *self._after)
        self.top = session.meta.vertices.bit_length() + (weighted_joins.NEIGHBOUR if weights else 2)
        self._there: list[Lists | None] = [None] * self.rooms

    def pairs(self, wanted: Callable[[int, int], bool] = lambda number, other: True) -> Iterator[tuple[Lists, Lists]]:
        """The lists of every two blocks, the lower one first, and last of each block with itself; valid until the next
        ones. wanted(number, other): whether two blocks are wanted.

        The last block that one meets is the one after it, which then stays: n blocks are gathered n * (n - 1) / 2 + 1
        times, not n * n.
        """
        for number in range(len(self.blocks)):
            for other in range(len(self.blocks) - 1, number, -1):
                if wanted(number, other):
                    yield self.lists(number, other), self.lists(other, number)
            if wanted(number, number):
                lists = self.lists(number, number + 1)
                yield lists, lists

    def lists(self, number: int, beside: int = -1) -> Lists:
        """The lists of a block; only those of block `beside` stay there for sure."""
        for there in self._there:
            if there is not None and there.number == number:
                return there
        taken = [there.room for there in self._there if there is not None and there.number == beside]
        room = next(room for room in range(self.rooms) if room not in taken)
        self._there[room] = None  # should it fail
        self._there[room] = lists = self._gather(number, room)
        return lists

    def _gather(self, number: int, room: int) -> Lists:
        block = self.blocks.range(number)
        after = head_of(self._after[room], block.end - block.first)
        entries = head_of(self._entries[room], block.entries)  # GPUs copy no more than that
        higher, tidy = (weighted_joins.gather_weights, weighted_joins.tidy_weights) if self.weights else (
            joins.gather_higher, joins.tidy
        )  # fmt: skip
        gather(self.session, block, higher, (self.size, entries), after)
        self.session.each(tidy, block.starts, entries, self.top, after, long=True)
        if self.mutual is not None:
            found = self.session.each(joins.turn_both_ways, block.starts, after, entries, long=True)
            self.mutual += 0 if number in self._counted else found
            self._counted.add(number)
        return Lists(block, after, entries, number, room)
