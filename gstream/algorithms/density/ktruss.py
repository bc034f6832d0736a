"""k-truss: the largest subgraph whose edges are each in k - 2 of its triangles or more. An edge's truss number is its
last k.

As networkx.k_truss (Cohen 2005; numbers as Wang, Cheng 2012). The triangles of each edge are counted once, by joining
lists with lists, block by block (triangles.py). Then edges in too few triangles are taken off by rounds. A round looks
only for triangles that lose an edge: in pairs of blocks that both have edges left, one of which loses some. A graph of
one block is not read again for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from gstream.algorithms.declaration import EDGE, WHOLE, Algorithm, Option, Work
from gstream.algorithms.density import truss
from gstream.algorithms.density.edge_layout import BITS, firsts_of, move_bits, move_edges
from gstream.algorithms.density.joined import is_left, note_joined, nothing_joined
from gstream.algorithms.density.triangles import (
    Lists,
    entries_dtype,
    higher_lists,
    joined_ways,
    most_entries,
    most_higher,
)
from gstream.algorithms.support.blocks import (
    ROOM_SHARE,
    OnGpu,
    block_bytes,
    check_block_memory,
    degrees_bytes,
    head_of,
    least_room,
    neighbours,
    neighbours_dtype,
)
from gstream.algorithms.support.blocks import VERTEX_BYTES as BLOCK_VERTEX_BYTES
from gstream.algorithms.support.edgerows import edge_columns
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.engine.sweep_state import SweepState
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, count_bits
from gstream.results.column import Answer, Column
from pagestore.errors import UsageError

ALGORITHM = Algorithm(
    "ktruss", "truss number of every edge, or with k the edges of the k-truss",
    "As in networkx.k_truss. With k there is no column truss.",
    definition="edges in k - 2 triangles of the k-truss or more, as NetworkX; simple graph",
    columns=("source", "target", "truss"), rows=EDGE, best="largest",
    options=(Option("k", WHOLE, None, "the edges of the N-truss; default: all truss numbers"),),
    proof=".truss_proof:certify_ktruss", proof_bytes=41, certificate="by its definition, whole lists",
    check="check_ktruss", directed=False,
    otherwise="trusses are those of undirected graphs. Convert with --undirected.",
    kept="4.4 an edge: triangles that are left, or truss numbers",
    holds="12; 4.4 an edge, of the answer 28 more; blocks",
    units=(
        ".joins:count_higher gather_higher",
        ".truss:count_supports mark_dying mark_next list_dying lose_triangles take_dying",
    ),
    proof_units=("..support.simple:note_ends count_simple", ".truss_proof:copy_lists"),
    work=Work(edges=29.0, gpu_edges=170.0, joins=True, moved=(2.0, 8.0), spread=2.5, answer=0),
)  # fmt: skip

SHARES = 4  # of memory: two blocks, and as much again for edges that are taken off
VERTEX_BYTES = 24  # of a block: where a vertex's entries start and end, and where its dying edges end
Room = tuple[np.ndarray, np.ndarray]  # of the dying edges of a block: where each vertex's end, and their places


def run_ktruss(session: Session, k: int | None = None) -> Answer:
    """Columns source, target (the lesser end first) and truss, a row an edge; with k the first two, of the k-truss.

    Summary: truss_edges, or largest_truss (2 where there is no triangle, 0 where there is no edge).
    Raises UsageError (a directed store; a negative k), ResourceError.
    """
    if k is not None and k < 0:
        raise UsageError(f"--k {k}: must be at least 0, as k - 2 counts triangles. Or leave it out.")
    edges = Edges(session, k is None)
    if k is not None:
        wanted = min(k, session.meta.vertices + 2) - 2  # past what any edge can have; numbers of any size are asked for
        rounds = edges.peel(wanted, further=False) if wanted > 0 else 0
        columns, _ = edges.rows(edges.alive, numbers=False)
        return columns, {"truss_edges": len(columns[0].values)} | session.finish(rounds, True)
    rounds = edges.peel(1, further=True)
    columns, number = edges.rows(edges.kept.present, numbers=True)
    columns.append(Column("truss", number))
    return columns, {"largest_truss": int(number.max(initial=0))} | session.finish(rounds, True)


@dataclass(frozen=True)
class Part:
    """What is known of a block's edges; the element of an edge is its place in the block's entries."""

    alive: np.ndarray
    dying: np.ndarray
    support: np.ndarray


@dataclass(frozen=True)
class Dying:
    """Lists of a block with those of the edges that a round takes off."""

    lists: Lists
    after: np.ndarray
    places: np.ndarray
    part: Part

    @property
    def arrays(self) -> tuple[Any, ...]:
        return *self.lists.arrays, self.after, self.places, self.part.alive, self.part.dying, self.part.support


class Edges:
    """The edges of a graph as a simple one, by blocks: bits of those that are there, and their triangles. A block's
    edges begin at a word of bits of its own, so that a GPU gets those of the blocks that it joins."""

    def __init__(self, session: Session, numbers: bool) -> None:
        """numbers: whether the answer will have the edges' truss numbers. Raises ResourceError."""
        check_ktruss(session, None if numbers else 0)
        later, support = _bytes_of_edges(session, numbers)[0], support_dtype(session)
        self.session, size = session, neighbours(session)
        session.reserve(size)
        entry_bytes = 2 * entries_dtype(session).itemsize + support.itemsize + 2 / 8
        saved = session.saved("bounds", [])
        cuts = {*saved, *session.saved("ends", []), *session.saved("beyond", [])} - {0}
        on_gpu = OnGpu(size.nbytes, entry_bytes, VERTEX_BYTES)
        self.lists = higher_lists(session, size, on_gpu, beside=1, later=later, cuts=cuts)
        self.kept = self._keep(saved or self.lists.blocks.bounds, support, numbers)
        bounds = firsts_of(self.lists.blocks.before, self.lists.blocks.bounds)
        self.firsts = [np.uint64(first) for first in bounds]  # edge of each block
        self.alive, self.support, self.dying = self.kept.alive, self.kept.support, bitmap(bounds[-1])
        self.parts = [self._part(*ends) for ends in pairwise(bounds)]
        session.reserve(self.alive, self.dying, self.support, self.kept.present)
        for first, second in self.lists.pairs(is_left(self.kept, self.lists.blocks)):
            if first is second:
                alive = self.parts[first.number].alive
                session.each(truss.open_edges, first.block.starts, first.after, alive)
            for one, two in joined_ways(first, second):
                of_one, of_two = self.parts[one.number].support, self.parts[two.number].support
                session.join(truss.count_supports, len(one.after), *one.arrays[1:], of_one, *two.arrays, of_two)
            note_joined(self.kept, self.lists.blocks, first.number, second.number)
            self.kept.boundary()

    def _keep(self, bounds: list[int], support: np.dtype, numbers: bool) -> SweepState:
        """What is kept of the edges. bounds: of the blocks by which it was written, if it was."""
        blocks = self.lists.blocks
        edges = firsts_of(blocks.before, bounds)[-1]
        kept = self.session.keep(
            alive=bitmap(edges), support=np.zeros(edges, support), present=bitmap(edges if numbers else 0),
            last=np.zeros(2, np.uint64), level=np.zeros(2, np.uint64), bounds=list(bounds), peels=False,
            **nothing_joined(self.session.meta.vertices),
        )  # fmt: skip
        if bounds != blocks.bounds:
            given = blocks.before, bounds, blocks.bounds
            kept.alive, kept.support = move_bits(kept.alive, *given), move_edges(kept.support, *given)
            kept.present = move_bits(kept.present, *given) if numbers else kept.present
            kept.bounds = list(blocks.bounds)
        return kept

    def _part(self, first: int, end: int) -> Part:
        """Of the edges [first, end); of all of them the arrays themselves, as a GPU knows them by their identity."""
        if (first, end) == (0, len(self.support)):
            return Part(self.alive, self.dying, self.support)
        words = slice(first // BITS, end // BITS)
        return Part(self.alive[words], self.dying[words], self.support[first:end])

    def peel(self, wanted: int, further: bool) -> int:
        """Take off the edges that are in fewer than `wanted` triangles; with `further`, in one more, and so on, until
        none is left. Returns the rounds. The `support` of an edge that goes becomes its truss number."""
        session, kept = self.session, self.kept
        last, level = kept.last, kept.level
        if not kept.peels:
            kept.peels, level[:] = True, (wanted, truss.NONE)
            if further:
                kept.present[:] = self.alive
        rooms = [self._room() for _ in range(self.lists.rooms)]
        session.reserve(*chain(*rooms))
        items, edges = -(-len(self.alive) // truss.WORDS), len(self.support)
        marks = (self.alive, self.support, self.dying, last, level)
        with Resident(session, *self._kept(rooms, marks)) as resident:
            for number in resident.rounds(last, kept=kept):
                resident.each(truss.mark_dying, items, number, *marks, items=edges)
                if further:
                    resident.each(truss.mark_next, items, number, *marks, items=edges)
                self._lose(resident, rooms)
                resident.each(truss.take_dying, items, self.alive, self.dying, self.support, level, items=edges)
            resident.forget(self.dying)
        session.release(*chain(*rooms))
        kept.end()
        return int(last.max())

    def _lose(self, resident: Resident, rooms: list[Room]) -> None:
        """Take the triangles off that lose an edge of those that die in this round."""
        one_block = len(self.parts) == 1  # not read back: the GPU may have rounds queued
        there = [one_block or bool(part.alive.any()) for part in self.parts]
        fewer = [one_block or bool(part.dying.any()) for part in self.parts]
        listed = dict[int, Dying]()  # by room
        # All edges of a triangle are there, in two blocks at most, and one of them dies.
        for pair in self.lists.pairs(lambda a, b: there[a] and there[b] and (fewer[a] or fewer[b])):
            for lists in pair:
                if lists.room not in listed or listed[lists.room].lists is not lists:
                    listed[lists.room] = self._dying(resident, lists, rooms[lists.room])
            for one, two in joined_ways(*(listed[lists.room] for lists in pair)):
                resident.join(truss.lose_triangles, len(one.lists.after), *one.arrays[1:], *two.arrays)

    def _room(self) -> Room:
        """Room for the dying edges of a block."""
        blocks = self.lists.blocks
        return np.empty(blocks.most_vertices, np.uint64), np.empty(blocks.most_entries, blocks.dtype)

    def _kept(self, rooms: list[Room], marks: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """What a GPU may keep, where there is one block; several would have to be gathered anew in every round."""
        if len(self.parts) != 1:
            return ()
        lists = self.lists.lists(0)
        return *marks, lists.block.starts, lists.after, lists.entries, *rooms[0]

    def _dying(self, resident: Resident, lists: Lists, room: Room) -> Dying:
        """A block's lists with those of its dying edges."""
        part, count = self.parts[lists.number], len(lists.after)
        after, places = head_of(room[0], count), head_of(room[1], len(lists.entries))
        resident.each(
            truss.list_dying, -(-count // truss.LANES), lists.block.starts, lists.after, part.dying, after, places
        )
        return Dying(lists, after, places, part)

    def rows(self, bits: np.ndarray, numbers: bool) -> tuple[list[Column], np.ndarray]:
        """(columns source and target, numbers) of the edges whose bit is set, rows ascending. Without `numbers` these
        are of no element."""
        session, count = self.session, int(count_bits(bits))
        source, target = np.empty(count, session.id_dtype), np.empty(count, session.id_dtype)
        number, filled = np.zeros(count if numbers else 0, self.support.dtype), np.zeros(1, np.uint64)
        session.reserve(source, target, number)
        for block in range(len(self.parts)):
            lists, first = self.lists.lists(block), self.firsts[block]
            session.each(truss.list_edges, *lists.arrays, first, bits, self.support, filled, source, target, number)
        columns, order = edge_columns(session, source, target)
        return columns, number[order] if numbers else number


def support_dtype(session: Session) -> np.dtype:
    """Of the triangles of an edge."""
    return np.dtype(np.uint32 if session.meta.vertices < 1 << 32 else np.uint64)


def check_ktruss(session: Session, k: int | None = None) -> None:
    """Too little memory for all edges and the answer is said before any work."""
    meta, sizes = session.meta, neighbours_dtype(session).itemsize
    entries, dtype = most_entries(session), entries_dtype(session)
    if session.proof_bytes:
        session.proof_bytes += _most_rows(session) * (4 * session.id_dtype.itemsize + 24)
    later, of_edges = _bytes_of_edges(session, numbers=k is None)
    held = 2 * sizes * meta.vertices + 8 * (meta.vertices + 1) + later
    read = degrees_bytes(session) + sizes * meta.vertices
    most = read + block_bytes(session, entries, dtype) + of_edges
    check_block_memory(session, held, most_higher, dtype, SHARES, read, most)


def _most_rows(session: Session) -> int:
    """Edges apart; self-loops may be duplicates, too."""
    return most_entries(session) - max(0, session.meta.duplicates - session.meta.self_loops)


def _bytes_of_edges(session: Session, numbers: bool) -> tuple[int, int]:
    """(bytes of all edges and of the answer at most, however small blocks are; the same with one block, and with the
    places of edges that are taken off, where these are more than the answer)."""
    vertices, ids, support = session.meta.vertices, session.id_dtype.itemsize, support_dtype(session).itemsize
    entries, dtype = most_entries(session), entries_dtype(session)
    block = least_room(session, 0, dtype, SHARES) // (ROOM_SHARE * SHARES)  # bytes, of which two in a row have more
    blocks = 2 * (entries * dtype.itemsize + vertices * BLOCK_VERTEX_BYTES) // block + 1
    answer = _most_rows(session) * (3 * ids + 16 + support * numbers)
    taken_off = entries * dtype.itemsize + 8 * vertices

    def kept(edges: int) -> int:
        return edges * support + (2 + numbers) * bitmap_bytes(edges)

    return kept(entries + BITS * blocks) + answer, kept(entries) + max(taken_off, answer)
