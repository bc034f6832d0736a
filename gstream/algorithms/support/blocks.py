"""Blocks of lists: all neighbours of a range of vertices in one array, as far as memory goes.

Algorithms that need a vertex's whole list at once (CDLP's mode), or two lists together (triangles), gather the lists of
one range of vertices after the other:

    for block in cut_blocks(...):       # ranges whose lists fit what memory there is
        sweep the pages that hold lists of the range; each neighbour goes to its vertex's place in `entries`
        work on `entries`

This is the thesis's nested-loop join with topology on both sides. In a store with one topology of a directed graph a
vertex's list is scattered over all pages: there every block sweeps them all, and takes edges by both ends. If GPUs run
the kernels, a block must also fit their memory beside pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.records import RecordKernel
from pagestore.errors import CapError

ROOM_SHARE = 4  # of what a run may still hold, a block takes so small a part: pages need room, too
VERTEX_BYTES = 16  # of a block: where a vertex's entries start, and how far they are filled
# Blocks to which a GPU's memory may lead: n of them move all pages n / 2 times. Where it takes more, the host's cores,
# whose blocks are larger, do the work.
MOST_ON_GPU = 64


@dataclass(frozen=True)
class Range:
    """Vertices [first, end); starts: uint64[end - first + 1], where the entries of each begin."""

    first: int
    end: int
    starts: np.ndarray

    @property
    def entries(self) -> int:
        return int(self.starts[-1])


@dataclass(frozen=True)
class OnGpu:
    """GPU memory of kernels that work on blocks: `beside` bytes for arrays of all vertices, and bytes for each entry
    and each vertex of each of `blocks` blocks."""

    beside: int
    entry_bytes: float
    vertex_bytes: int
    blocks: int = 1

    def bytes_of(self, entries: int, vertices: int) -> int:
        """Of one block. Its array of where entries start has one element more than vertices; bits come in words."""
        return int(entries * self.entry_bytes) + (vertices + 3) * self.vertex_bytes


class Blocks:
    """Ranges of vertices whose entries fit one array. sizes: integers[V], most entries of a vertex."""

    def __init__(
        self, session: Session, sizes: np.ndarray, dtype: Any, shares: int = 1, on_gpu: OnGpu | None = None,
        later: int = 0, cuts: Iterable[int] = (),
    ) -> None:  # fmt: skip
        """shares: blocks that are in memory at the same time. on_gpu: what GPUs hold, if they run the kernels. later:
        bytes that the call will hold beside them. cuts: vertices with which a block begins in any case.

        Holds 8 bytes a vertex. Raises ResourceError if the longest list does not fit host memory. A list that does not
        fit a GPU's is a block alone, for the host's cores.
        """
        self.session, self.dtype, self.shares = session, np.dtype(dtype), shares
        self.before = np.zeros(len(sizes) + 1, np.uint64)
        session.reserve(self.before)
        np.cumsum(sizes, out=self.before[1:])
        self.beside = session.engine.beside_bytes + later
        room = (session.engine.host_memory - self.beside) // (ROOM_SHARE * shares)
        self.on_gpu, gpu_room = on_gpu, None if on_gpu is None else session.gpu_room(on_gpu.beside)
        self.gpu_room = None if gpu_room is None or on_gpu is None else gpu_room // on_gpu.blocks
        self._cuts = sorted({*cuts, len(sizes)})
        self.bounds = self._cut(room)
        if self.gpu_room is not None and len(self) > MOST_ON_GPU:
            self.gpu_room = None
            self.bounds = self._cut(room)

    def _cut(self, room: int) -> list[int]:
        """First vertices of the ranges, and V at the end."""
        vertices, bounds = len(self.before) - 1, [0]
        while bounds[-1] < vertices:
            first = bounds[-1]
            low, high = first, next(cut for cut in self._cuts if cut > first)
            while low < high:
                middle = (low + high + 1) // 2
                if self._bytes(first, middle) <= room and self._fits_gpu(first, middle):
                    low = middle
                else:
                    high = middle - 1
            if low == first and self._bytes(first, first + 1) > room:
                raise self._too_little()
            bounds.append(max(low, first + 1))
            if self.gpu_room is not None and len(bounds) > MOST_ON_GPU + 1:
                return bounds  # too many already
        return bounds

    def _fits_gpu(self, first: int, end: int) -> bool:
        if self.gpu_room is None or self.on_gpu is None:
            return True
        entries = int(self.before[end]) - int(self.before[first])
        return self.on_gpu.bytes_of(entries, end - first) <= self.gpu_room

    def _too_little(self) -> CapError:
        """The longest list has no room, or pages beside it."""
        longest, beside = int(np.diff(self.before).max()), self.beside
        need = beside + least_room(self.session, longest, self.dtype, self.shares)
        return CapError(
            f"--host-memory {self.session.engine.host_memory} bytes: too little; {need} bytes are needed at least: one "
            f"list of {longest} neighbours must fit a quarter of what is left beside the attributes, which take "
            f"{beside} bytes. Raise --host-memory.",
            "--host-memory",
            need,
        )

    def _bytes(self, first: int, end: int) -> int:
        entries = int(self.before[end]) - int(self.before[first])
        return entries * self.dtype.itemsize + (end - first) * VERTEX_BYTES

    @property
    def most_entries(self) -> int:
        return max((int(self.before[b]) - int(self.before[a]) for a, b in self._pairs()), default=0)

    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.bounds, self.bounds[1:], strict=False))

    @property
    def most_vertices(self) -> int:
        return max((b - a for a, b in self._pairs()), default=0)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def range(self, number: int) -> Range:
        """The range with that number, below len(self)."""
        first, end = self.bounds[number], self.bounds[number + 1]
        return Range(first, end, self.before[first : end + 1] - self.before[first])


def head_of(array: np.ndarray, count: int) -> np.ndarray:
    """The first `count` elements; the array itself where it has no more, so that it is known by its identity."""
    return array if len(array) == count else array[:count]


def least_room(session: Session, longest: int, dtype: np.dtype, shares: int = 1) -> int:
    """Least bytes for blocks and pages, beside arrays of all vertices: a list of `longest` entries has room."""
    block = longest * dtype.itemsize + VERTEX_BYTES
    # The block with most entries need not be that with most vertices: there are arrays for both.
    pages = -(-session.least_pages() * ROOM_SHARE // (ROOM_SHARE - 2))
    return max(ROOM_SHARE * shares * block, pages)


def check_block_memory(
    session: Session, held: int, longest: Callable[[Session], int], dtype: np.dtype, shares: int = 1, alone: int = 0,
    most: int = 0,
) -> None:  # fmt: skip
    """`session.check_memory` of a call that works on blocks beside `held` bytes.

    longest: finds a bound of the entries of a list, as these are not counted yet. An error names bytes that do for such
    a list. None is raised for fewer bytes that may do. most: with a block of all lists.
    """
    swept = held + least_room(session, 0, dtype, shares) - session.least_pages()
    least = partial(least_room, session, dtype=dtype, shares=shares)
    session.check_memory(swept, alone, enough=lambda: held + least(longest(session)), most=most)


def block_bytes(session: Session, entries: int, dtype: np.dtype) -> int:
    """Of one block of all lists: its entries, where those of each vertex start, before which vertex, and a cursor."""
    return entries * dtype.itemsize + (8 + VERTEX_BYTES) * (session.meta.vertices + 1)


def gather(
    session: Session, block: Range, kernel: RecordKernel, arrays: tuple[Any, ...], cursor: np.ndarray,
    resident: Resident | None = None,
) -> None:  # fmt: skip
    """Fill a block: kernel(words, parts, counter, first, end, cursor, way, both, *arrays) over pages with its lists.

    cursor: uint64[end - first], where each vertex's next entry goes. way: 1 in out-pages, 2 in in-pages, 3 if edges
    have no direction. both: there is no other topology, so edges are taken by both ends. resident: keeps the cursor and
    some of the arrays on a GPU.
    """
    cursor[:] = block.starts[:-1]
    if resident is not None:
        resident.put(cursor)
    names, tables = session.meta.topologies, session.engine.graph.tables
    both = session.meta.directed and len(names) == 1
    for name in names:
        way = (1 if name == "out" else 2) if session.meta.directed else 3
        wanted = None
        if not both:
            wanted = np.zeros(tables[name].pages, np.bool_)
            wanted[tables[name].pages_of_range(block.first, block.end)] = True
        given = (np.uint64(block.first), np.uint64(block.end), cursor, way, both, *arrays)
        if resident is None:
            session.sweep(name, kernel, given, wanted, join_lists)
        else:
            resident.sweep(name, kernel, given, listed=False, join=join_lists)


def join_lists(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
    """Put what copies of `entries`, and of arrays beside it, have one after the other, each from where cursors stood
    before. No more than there is room for: cursors go on where lists are longer than degrees say."""
    cursor, entries = arrays["cursor"], arrays["entries"]
    beside = copies[0].keys() - {"cursor"}
    start = cursor.astype(np.int64)
    for copy in copies:
        count = np.minimum(copy["cursor"].astype(np.int64) - start, len(entries) - cursor.astype(np.int64))
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        to, place = np.repeat(cursor.astype(np.int64), count) + within, np.repeat(start, count) + within
        for name in beside:
            arrays[name][to] = copy[name][place]
        cursor += count.astype(np.uint64)


def neighbours(session: Session) -> np.ndarray:
    """u4[V] (u8 past 2^32 edges): entries of each vertex's lists, out and in added up on directed graphs."""
    sizes: np.ndarray = session.degree("out").astype(neighbours_dtype(session))
    if session.meta.directed:
        sizes += session.degree("in").astype(sizes.dtype, copy=False)
    session.degrees_done()
    return sizes


def neighbours_dtype(session: Session) -> np.dtype:
    """Of `neighbours`."""
    return np.dtype(np.uint32 if (1 + session.meta.directed) * session.meta.edges < 1 << 32 else np.uint64)


def most_neighbours(session: Session) -> int:
    """A bound of `neighbours`, known before they are."""
    return session.meta.max_out_degree + (session.meta.max_in_degree if session.meta.directed else 0)


def degrees_bytes(session: Session) -> int:
    """What all degrees take that `neighbours` reads."""
    itemsize = session.engine.graph.degree_bytes
    return (1 + session.meta.directed) * itemsize * session.meta.vertices
