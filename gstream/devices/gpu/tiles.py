"""Lists of cached pages cut by tiles of sources, so that a pull of SUM reads most values from shared memory (tiles.cu).

What bounds a pull is how many values L2 can look up. Shared memory has no such bound, and holds some 45,000 values: a
tile. Where a list is long, enough of its neighbours lie in one tile for a piece of it to be worth a warp's while. What
comes behind a list's tiles is looked up in L2, which need not hold the values of all: it is cut by ranges that L2 does
hold, and all blocks read from the same one at a time. Cutting takes as long as some supersteps save, so it is done when
the same pages have been asked for several times, and kept for the next run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gstream.devices.attributes import message_dtype
from gstream.devices.gpu.arrays import Array
from gstream.devices.gpu.driver import DeviceMemoryError
from gstream.devices.gpu.memory import Memory
from gstream.devices.gpu.page_pool import Launch, PagePool
from gstream.devices.gpu.vertex_state import GpuState
from gstream.paging.page_table import PageTable
from pagestore.layout import ROW

MOST_TILES = 32  # a warp looks at all of them
PATIENCE = 2  # launches that come again before their lists are cut
PIECE_EDGES = 8  # a list has a tile that so many of its edges come from, as far as its length tells
RANGE_EDGES = 8  # the same of a range
PIECE_COST = 15  # edges whose time a piece takes beside its own (measured on an H200, RMAT 24)
L2_SHARE = 0.5  # values that fill less of L2, so that each of its halves has them all, are looked up fast
RANGE_SHARE = 0.25  # of L2, that the values of a range fill: each of its halves has them all
MOST_RANGES = 32
LEAST_GAIN = 0.02  # of all edges, that tiles must serve beside the first, which shared memory serves anyway
PREFIX_STRETCH = 4096  # counters, as cuda/prefix.cu has it
KEEP_SHARE = 0.25  # of the memory that a run leaves, which pieces may take until the next one
ROW_BYTES, PIECE_BYTES = 24, 16  # cuda/pieces.cuh
LONGEST = 1e30  # stands for the length of a list in large pages


@dataclass(frozen=True)
class Cut:
    """How lists are cut, from the directory alone.

    pages: int64[n], those whose lists are rows, longest first; rows: int64[n + 1], the first row of each; tile_rows:
    int64[tiles], how many rows each tile has, descending; range_rows: int64[ranges], the same of the rest, from all
    rows on; edges: float64[tiles + 1], estimated, of each tile and of the rest.
    """

    pages: np.ndarray
    rows: np.ndarray
    tile_rows: np.ndarray
    range_rows: np.ndarray
    edges: np.ndarray

    @property
    def base(self) -> np.ndarray:
        """uint64[tiles + ranges + 1]: the first cell of each tile and range, and where these end."""
        return np.append(0, np.cumsum(np.concatenate([self.tile_rows, self.range_rows]))).astype(np.uint64)


def cut_by_tiles(
    table: PageTable, numbers: np.ndarray, rows: np.ndarray, width: int, range_width: int, vertices: int
) -> Cut | None:
    """How to cut the lists of the pages `numbers` (int64[n], ascending) by tiles of `width` sources, what is left of
    them by ranges of `range_width`.

    rows: int64[n], rows that each page has. None where it is not worth it. How many edges come from a tile is reckoned
    from the lists of its vertices in this topology: in a directed graph, those that lead there.
    """
    share = _shares(table, width, min(MOST_TILES, -(-vertices // width)))
    least = _least_edges(share, PIECE_EDGES)
    if len(least) < 2:
        return None
    least[0] = least[1]
    large = numbers >= table.small_pages
    mean = np.where(large, LONGEST, table.edges[numbers] / np.maximum(table.records[numbers], 1))
    mean[~large & (table.page_layout[numbers] != ROW)] = 0
    order = np.concatenate([np.flatnonzero(large), np.flatnonzero(~large)])
    mean = np.minimum.accumulate(mean[order])
    counts = np.searchsorted(-mean, -np.maximum.accumulate(least), "right")  # pages of each tile
    counts = counts[: np.count_nonzero(counts)]
    pages = numbers[order][: counts[0] if len(counts) else 0]
    before = np.concatenate([[0], np.cumsum(table.edges[pages].astype(np.float64))])
    edges = before[counts] * share[: len(counts)]
    if edges[1:].sum() <= LEAST_GAIN * table.edges[numbers].sum():
        return None
    first = np.concatenate([[0], np.cumsum(rows[order][: len(pages)])])
    least = _least_edges(_shares(table, range_width, -(-vertices // range_width)), RANGE_EDGES)
    least[0] = 0
    in_range = np.searchsorted(-mean[: len(pages)], -np.maximum.accumulate(least), "right")
    in_range = in_range[: np.count_nonzero(in_range)]
    return Cut(pages, first, first[counts], first[in_range], np.append(edges, max(0.0, before[-1] - edges.sum())))


def _shares(table: PageTable, width: int, count: int) -> np.ndarray:
    """float64[count]: of all edges, those from each of the first `count` ranges of `width` sources."""
    bounds = np.arange(count + 1, dtype=np.float64) * width
    return np.diff(_edges_before(table, bounds)) / max(1, int(table.edges.sum()))


def _least_edges(share: np.ndarray, edges: float) -> np.ndarray:
    """float64[n]: the length of a list that has so many edges from where such a share of all edges comes from."""
    with np.errstate(divide="ignore"):
        return edges / share


def _edges_before(table: PageTable, vertices: np.ndarray) -> np.ndarray:
    """float64[n]: edges of the lists of all vertices before each of these, to within a page."""
    order = np.argsort(table.first_vertex, kind="stable")
    before = np.concatenate([[0], np.cumsum(table.edges[order].astype(np.float64))])
    first = np.append(table.first_vertex[order], table.last_vertex.max() + 1).astype(np.float64)
    return np.interp(vertices, first, before)


def room_for(state: GpuState, memory: Memory, held: int, count: int, dtype: Any) -> Array:
    """Room in `memory` for so many elements beside `held` bytes, out of what the run's plan leaves. Raises
    cuda.MemoryError, and DeviceMemoryError where the plan leaves too little."""
    if held + count * np.dtype(dtype).itemsize > state.plan.spare_bytes:
        raise DeviceMemoryError("no room for pieces of lists")
    return memory.take(count, dtype)


class Pieces(Memory):
    """The pieces that lists of a launch's pages are cut into. They stay with the pages where they take a small part of
    the memory that a run leaves, else until it ends.

    rows, base, firsts, pieces: as cuda/pieces.cuh has them; tiling: kernels' arguments from base to range_width.
    made_bytes: what they took with what the run that made them holds beside them.
    """

    def __init__(self, state: GpuState, pages: Launch, cut: Cut) -> None:
        super().__init__(state.gpu)
        self._of, self._widths, self.cut = pages, widths(state), cut
        self.made_bytes = 0

    def _take(self, state: GpuState, count: int, dtype: Any, memory: Memory | None = None) -> Array:
        """memory: of arrays that only the run itself needs."""
        array = room_for(state, self if memory is None else memory, self.made_bytes, count, dtype)
        self.made_bytes += array.nbytes
        return array

    def cut_lists(self, state: GpuState) -> None:
        """Take memory and make them. Raises as `room_for`."""
        cut, launch, known = self.cut, self._of, self._of.table
        pages = np.zeros((len(cut.pages) + 1, 4), np.uint32)
        pages[:-1, 0] = launch.rows[np.searchsorted(launch.numbers, cut.pages)]
        pages[:, 1], pages[:-1, 2], pages[:-1, 3] = cut.rows, known.part_of[cut.pages], known.carries[cut.pages]
        base, rows, cells = cut.base, int(cut.rows[-1]), int(cut.base[-1])
        listed = self._take(state, pages.size, pages.dtype, state)
        self.gpu.write(listed.address, pages)
        self.rows = self._take(state, rows * ROW_BYTES, np.uint8)
        self.base = self._take(state, base.size, base.dtype)
        self.gpu.write(self.base.address, base)
        self.firsts = self._take(state, cells + 1, np.uint64)
        cuts = self._take(state, cells, np.uint32, state)
        stretches = -(-(cells + 1) // PREFIX_STRETCH)
        sums = self._take(state, stretches, np.uint64, state)
        words, page_words = launch.words, known.page_words
        width, range_width, _ = self._widths
        self.tiling = (self.base.address, len(cut.tile_rows), width, len(cut.range_rows), range_width)
        state.launch(
            "list_rows_kernel", state.blocks(rows, 256), words, page_words, known.parts.address,
            known.place_of.address, listed.address, len(cut.pages), state.job.vertices, self.rows.address,
        )  # fmt: skip
        state.launch(
            "cut_rows_kernel", state.blocks(cells, 256), words, self.rows.address, *self.tiling, cuts.address
        )  # fmt: skip
        given = (self.rows.address, *self.tiling, cuts.address, self.firsts.address)
        state.launch("count_pieces_kernel", state.blocks(cells + 1, 256), *given)
        state.launch("sum_stretches_kernel", stretches, self.firsts.address, cells + 1, sums.address)
        state.launch("prefix_kernel", stretches, self.firsts.address, cells + 1, sums.address)
        self.count = int(state.get(self.firsts, cells, 1)[0])
        self.pieces = self._take(state, self.count * PIECE_BYTES, np.uint8)
        state.launch("make_pieces_kernel", state.blocks(cells, 256), *given, self.pieces.address)

    def are_of(self, state: GpuState, pages: Launch) -> bool:
        """Whether they are those of this launch's pages, where these are, for a program's values."""
        same = self._of.table is pages.table and self._widths == widths(state)
        return same and np.array_equal(self._of.numbers, pages.numbers) and np.array_equal(self._of.rows, pages.rows)


class Tiles:
    """What sums up pieces of lists in one run.

    rest: the launch over its other pages; None: there are none.
    """

    def __init__(self, state: GpuState, pages: Launch, pieces: Pieces, held: int) -> None:
        """held: bytes of pieces, and of what was made with them. Raises as `room_for`."""
        self._state, self._of, self._cut, self._held = state, pieces, pieces.cut, held
        self._sums = self._empty(pieces.count, state.code.got_dtype)
        self._claims = self._empty(len(self._cut.edges), np.uint64)
        kernel = state.kernels["pull_tiles_kernel"]
        self._blocks, self._shared = kernel.blocks(-(-pieces.count // 32)), state.hot[1]
        starts = first_tiles(self._cut.edges[:-1] + PIECE_COST * self._cut.tile_rows, self._blocks)
        self._starts = self._empty(starts.size, starts.dtype)
        state.gpu.write(self._starts.address, starts)
        self.take(pages)

    def take(self, pages: Launch) -> None:
        """Sum up this launch's pages from now on; they are those of the pieces."""
        self._pages, self.rest = pages, self._launch_of_rest(pages)

    def are_of(self, pages: Launch) -> bool:
        """Whether the pieces are those of this launch's pages."""
        return self._of.are_of(self._state, pages)

    def _empty(self, count: int, dtype: Any) -> Array:
        array = room_for(self._state, self._state, self._held, count, dtype)
        self._held += array.nbytes
        return array

    def _launch_of_rest(self, pages: Launch) -> Launch | None:
        table = pages.table
        others = np.flatnonzero(~np.isin(pages.numbers, self._cut.pages))
        if len(others) == 0:
            return None
        numbers, rows = pages.numbers[others], pages.rows[others]
        entries, base = table.where(numbers, rows, self._state.stream)
        return replace(pages, numbers=numbers, rows=rows, entries=entries, base=base)

    @property
    def claims(self) -> tuple[int, int]:
        """Address and number of what blocks count their claims in."""
        return self._claims.address, self._claims.count

    def launch(self) -> None:
        """Queue what sums the rows up, on the stream of cached pages."""
        self._state.queued += [
            f"{name} of {self._state.unit.program}" for name in ("pull_tiles_kernel", "add_pieces_kernel")
        ]
        state, firsts, tiling = self._state, self._of.firsts.address, self._of.tiling
        name = self._pages.table.table.name
        source = (state.value if state.source is None else state.source).address
        state.gpu.fill(self._claims, 0, state.stream)
        kernel, pages = state.kernels["pull_tiles_kernel"], self._pages
        kernel(
            state.stream, self._blocks, pages.words, pages.weights, self._of.pieces.address, firsts, *tiling,
            self._claims.address, self._starts.address, state.plan.senders, source, state.degree.address,
            state.active.address, self._sums.address, state.counter, state.context, shared=self._shared,
        )  # fmt: skip
        add = state.kernels["add_pieces_kernel"]
        add(
            state.stream, state.blocks(4 * int(self._cut.rows[-1]), 256), self._of.rows.address, firsts, *tiling,
            self._sums.address, state.carry[name].address, state.got.address, *state.slices,
        )  # fmt: skip


def tile_width(state: GpuState) -> int:
    """Sources of a tile: as many as shared memory holds, and a 0 behind them."""
    return state.hot[0] - 1


def range_width(state: GpuState) -> int:
    """Sources of a range of the rest."""
    width = int(RANGE_SHARE * state.gpu.l2_bytes) // message_dtype(state.code).itemsize
    return max(width, -(-state.plan.senders // MOST_RANGES), 1)


def first_tiles(work: np.ndarray, blocks: int) -> np.ndarray:
    """uint64[blocks]: the tile that each block begins with, by how much work they are (float64[tiles])."""
    ends = np.cumsum(work) / max(1.0, work.sum()) * blocks
    return np.minimum(np.searchsorted(ends, np.arange(blocks), "right"), len(work) - 1).astype(np.uint64)


def widths(state: GpuState) -> tuple[int, int, int]:
    """Sources of a tile, of a range, and of the graph."""
    return tile_width(state), range_width(state), state.plan.senders


def kept_tiles(state: GpuState, pool: PagePool, pages: Launch) -> Tiles | None:
    """Tiles of pieces that an earlier run has left with the pages; None: there are none of this launch's."""
    if not isinstance(pool.made, Pieces) or not pool.made.are_of(state, pages):
        return None
    try:
        return Tiles(state, pages, pool.made, pool.made.memory_bytes)
    except (DeviceMemoryError, state.gpu.cuda.MemoryError):
        return None


def tiles_of(state: GpuState, pool: PagePool, pages: Launch) -> Tiles | None:
    """Tiles for a launch over cached pages; None where they would be of little use, or have no room."""
    width, known = tile_width(state), pages.table
    value_bytes = state.plan.senders * message_dtype(state.code).itemsize
    if width <= 0 or not state.plan.resident or value_bytes < L2_SHARE * state.gpu.l2_bytes:
        return None
    parts = known.part_of[pages.numbers + 1] - known.part_of[pages.numbers]
    rows = np.where(known.carries[pages.numbers], parts, known.table.records[pages.numbers])
    cut = cut_by_tiles(known.table, pages.numbers, rows, width, range_width(state), state.plan.senders)
    if cut is None:
        return None
    pieces = Pieces(state, pages, cut)
    state.wait()  # for kernels that use pieces of other pages
    pool.keep_made(pieces)  # before they have memory: the pool gives it back, wherever this breaks off
    try:
        pieces.cut_lists(state)
        if KEEP_SHARE * state.plan.spare_bytes < pieces.memory_bytes:
            pool.made = None
            state.arrays += pieces.arrays
        return Tiles(state, pages, pieces, pieces.made_bytes)
    except (DeviceMemoryError, state.gpu.cuda.MemoryError):
        state.wait()  # for kernels that use the arrays
        pool.keep_made(None)
        return None
