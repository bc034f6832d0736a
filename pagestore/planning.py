"""Which page holds which vertex: a greedy plan made from degrees alone (GStream thesis 3.1).

Vertices come in store-ID order. A list of at most `layout.longest_list` neighbours goes whole into the open small
page, or opens the next one when it doesn't fit; a longer list is cut into stretches of `longest_list` in large pages;
a vertex without edges has no slot. The plan depends on degrees and layout only, never on threads, chunks or memory.

With `columns` > 1 a page is first filled as a column page (pagestore/layout.py): a list joins the open group, which is
padded to its longest one, or opens the next. When a list doesn't fit, or is longer than COLUMN_LONGEST, the page is
closed as it is if at most 1/COLUMN_WASTE of its words are padding or free; else its lists are laid in rows, and it is
filled further. A last page that nothing closed is one of columns if its padding is at most as much.
What grows with the graph is one directory row a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pagestore.jit import compiled
from pagestore.layout import COLUMN_WIDTHS, DIRECTORY, LARGE, ROW, SLOT_WORDS, SMALL, PageLayout
from pagestore.simd import SIZES, WARP_LANES, add_record, best_size, close_page

CHUNK_VERTICES = 1 << 16  # vertices planned by one call of the kernel: bounds its output arrays
COLUMN_LONGEST = 128  # edges: longer lists occupy 32 lanes each by four fifths or more, and so give more warps work
COLUMN_WASTE = 32  # of a column page's words one in so many may be padding or free
# Of the open page's state u8[11]. _WORDS: end of its records in rows; _COLUMN: 1 while columns are possible, and then
# _END: end of the last group, _BASE: its first word, _RANK: its records, _MOST: its longest list.
_OPEN, _FIRST, _LAST, _RECORDS, _EDGES, _WORDS, _COLUMN, _END, _BASE, _RANK, _MOST = range(11)
_ROW_FIELDS = ("first_vertex", "last_vertex", "records", "edges", "group", "layout")  # of what _close writes


@dataclass(frozen=True)
class PageRange:
    """Vertices [first, last) with the pages that their lists fill.

    `small` = (p, q): small pages p..q-1; `large` = (l, m): large pages l..m-1 (page numbers, both may be empty);
    `edges`: sum of their degrees. A cut made by `PagePlan.split` shares no page with its neighbours.
    """

    first: int
    last: int
    small: tuple[int, int]
    large: tuple[int, int]
    edges: int


@dataclass(frozen=True, eq=False)
class PagePlan:
    """The pages of one topology. `directory`: DIRECTORY[pages], complete but for the CRCs (zero).

    padding_words: words of column pages' groups that hold neither a size nor a neighbour.
    """

    layout: PageLayout
    vertices: int
    edges: int
    small_pages: int
    directory: np.ndarray
    max_degree: int
    last_with_edges: int  # greatest vertex that has edges, -1 when there is none
    padding_words: int = 0

    @property
    def pages(self) -> int:
        return len(self.directory)

    def small_range(self, first: int, last: int) -> tuple[int, int]:
        """Small pages that hold a list of a vertex in [first, last), as (p, q): q is past the end."""
        rows = self.directory[: self.small_pages]
        begin = int(np.searchsorted(rows["last_vertex"], np.uint64(first), "left"))
        end = int(np.searchsorted(rows["first_vertex"], np.uint64(last), "left"))
        return (begin, end) if begin < end else (begin, begin)

    def large_range(self, first: int, last: int) -> tuple[int, int]:
        """Large pages of the hubs in [first, last), as page numbers (l, m): m is past the end."""
        vertices = self.directory["first_vertex"][self.small_pages :]
        begin, end = np.searchsorted(vertices, np.array([first, max(first, last)], np.uint64), "left")
        return self.small_pages + int(begin), self.small_pages + int(end)

    def split(self, max_edges: int, first: int = 0, last: int | None = None) -> Iterator[PageRange]:
        """Cut [first, last) where small pages start into ranges of at most `max_edges` edges each.

        Ranges are in vertex order, share no pages and cover every vertex. One small page together with the hubs
        between its vertices is never cut, nor is a hub, so a range may exceed `max_edges` when one of these alone does.
        `first` and `last` must lie on page starts themselves (0, the number of vertices, or an earlier cut).
        """
        last = self.vertices if last is None else last
        rows = self.directory[slice(*self.small_range(first, last))]
        large = self.directory[slice(*self.large_range(first, last))]
        hubs = np.unique(large["first_vertex"])
        page = np.searchsorted(rows["first_vertex"], hubs, "right") - 1
        loose = hubs[(page < 0) | (hubs > np.append(rows["last_vertex"], np.uint64(0))[page])]
        ends = np.array([first, last], np.uint64)
        cuts = np.unique(np.concatenate([ends, rows["first_vertex"][1:], loose, loose + np.uint64(1)]))
        edges = np.zeros(max(1, len(cuts) - 1), np.int64)
        for part in (rows, large):
            np.add.at(edges, np.searchsorted(cuts, part["first_vertex"], "right") - 1, part["edges"].astype(np.int64))
        sums = np.concatenate([[0], np.cumsum(edges)])
        at = 0
        while at < len(cuts) - 1:
            to = max(at + 1, int(np.searchsorted(sums, sums[at] + max_edges, "right")) - 1)
            a, b = int(cuts[at]), int(cuts[to])
            yield PageRange(a, b, self.small_range(a, b), self.large_range(a, b), int(sums[to] - sums[at]))
            at = to


class PagePlanner:
    """Feed degrees in store-ID order with `add`, in chunks of any size; `finish` gives the same plan for any chunks.

    columns: slots of a column page's group (Per_Group_Num), 1 = no column pages.
    """

    waste = COLUMN_WASTE

    def __init__(self, layout: PageLayout, columns: int = 1):
        if columns not in (1, *COLUMN_WIDTHS):
            raise ValueError(f"columns is {columns}; it must be 1 or one of {COLUMN_WIDTHS}")
        self.layout, self.columns, self.slack = layout, columns, layout.words // self.waste
        self.vertices = 0
        self.edges = 0
        self.max_degree = 0
        self.last_with_edges = -1
        self.padding_words = 0
        self._state = np.zeros(11, np.uint64)
        self._longest = np.zeros(SIZES, np.uint64)
        self._lanes = np.zeros(SIZES, np.uint64)
        self._small: list[np.ndarray] = []
        self._hubs: list[np.ndarray] = []

    def add(self, degrees: np.ndarray) -> None:
        """Plan the next len(degrees) vertices; `degrees` is u4 or u8 (or any non-negative integers)."""
        for begin in range(0, len(degrees), CHUNK_VERTICES):
            chunk = degrees[begin : begin + CHUNK_VERTICES].astype(np.uint64)
            rows = np.empty((len(chunk) + 1, len(_ROW_FIELDS)), np.uint64)
            hubs = np.empty((len(chunk), 2), np.uint64)
            layout = self.layout
            count, hub_count, padding = _plan(
                chunk, np.uint64(self.vertices), np.uint64(layout.words), np.uint64(layout.header_words),
                np.uint64(layout.longest_list), np.uint64(self.columns), np.uint64(self.slack), self._state,
                self._longest, self._lanes, rows, hubs,
            )  # fmt: skip
            self.padding_words += int(padding)
            if count:
                self._small.append(_small_rows(rows[:count]))
            if hub_count:
                self._hubs.append(hubs[:hub_count].copy())
            self.edges += int(chunk.sum())
            self.max_degree = max(self.max_degree, int(chunk.max()))
            used = np.flatnonzero(chunk)
            if used.size:
                self.last_with_edges = self.vertices + int(used[-1])
            self.vertices += len(chunk)

    def finish(self) -> PagePlan:
        """Close the last page and return the plan; the planner must not be used afterwards."""
        if self._state[_OPEN]:
            rows = np.empty((1, len(_ROW_FIELDS)), np.uint64)
            padding = _padding(self._state, np.uint64(self.layout.header_words))
            in_columns = bool(self._state[_COLUMN]) and int(padding) <= self.slack
            self.padding_words += int(padding) if in_columns else 0
            _close(self._state, self._longest, self._lanes, rows, 0, np.uint64(self.columns if in_columns else ROW))
            self._small.append(_small_rows(rows))
        hubs = np.concatenate(self._hubs) if self._hubs else np.empty((0, 2), np.uint64)
        parts = [*self._small, _large_rows(hubs, self.layout.longest_list)]
        directory = np.concatenate(parts)
        directory["edges_before"][1:] = np.cumsum(directory["edges"])[:-1]
        small_pages = sum(len(part) for part in self._small)
        return PagePlan(
            self.layout, self.vertices, self.edges, small_pages, directory, self.max_degree, self.last_with_edges,
            self.padding_words,
        )  # fmt: skip


def plan_pages(layout: PageLayout, degrees: np.ndarray, columns: int = 1) -> PagePlan:
    """The plan of a graph whose degrees are at hand (store-ID order)."""
    planner = PagePlanner(layout, columns)
    planner.add(degrees)
    return planner.finish()


def _small_rows(rows: np.ndarray) -> np.ndarray:
    part = np.zeros(len(rows), DIRECTORY)
    part["kind"] = SMALL
    for column, name in enumerate(_ROW_FIELDS):
        part[name] = rows[:, column]
    return part


def _large_rows(hubs: np.ndarray, longest: int) -> np.ndarray:
    vertices, degrees = hubs[:, 0], hubs[:, 1].astype(np.int64)
    stretches = -(-degrees // longest)
    part = np.zeros(int(stretches.sum()), DIRECTORY)
    part["kind"], part["layout"], part["group"], part["records"] = LARGE, ROW, WARP_LANES, 1
    part["first_vertex"] = part["last_vertex"] = np.repeat(vertices, stretches)
    number = np.arange(len(part)) - np.repeat(np.cumsum(stretches) - stretches, stretches)
    part["position"] = number * longest
    part["edges"] = np.minimum(np.repeat(degrees, stretches) - number * longest, longest)
    return part


@compiled
def _close(state, longest, lanes, rows, row, layout):
    """Write the open page's row; a lane of its own for each record of a column page (FORMAT.md, `group`)."""
    close_page(longest, lanes)
    rows[row, 0] = state[_FIRST]
    rows[row, 1] = state[_LAST]
    rows[row, 2] = state[_RECORDS]
    rows[row, 3] = state[_EDGES]
    rows[row, 4] = np.uint64(best_size(lanes)) if layout == ROW else np.uint64(1)
    rows[row, 5] = layout
    lanes[:] = 0
    state[:] = 0


@compiled
def _joins(degree, columns, words, state):
    """Add a record to the groups of the open page where it fits; whether it does."""
    base, rank, most = state[_BASE], state[_RANK], state[_MOST]
    if rank == columns or state[_RECORDS] == 0:  # opens a group
        base, rank, most = state[_END], np.uint64(0), np.uint64(0)
    most = max(most, degree)
    end = base + columns * (np.uint64(1) + most)
    if degree > np.uint64(COLUMN_LONGEST) or end + np.uint64(SLOT_WORDS) * (state[_RECORDS] + np.uint64(1)) > words:
        return False
    state[_BASE], state[_RANK], state[_MOST], state[_END] = base, rank + np.uint64(1), most, end
    return True


@compiled
def _padding(state, header_words):
    """Words of the open page's groups that hold neither a size nor a neighbour."""
    return state[_END] - header_words - state[_RECORDS] - state[_EDGES]


@compiled
def _plan(degrees, first, words, header_words, longest_list, columns, slack, state, longest, lanes, rows, hubs):
    """Continue the plan; returns how many rows of closed pages and of hubs were written, and the padding of pages.

    While columns are possible the open page has room in rows, which take less. slack: words that columns may waste.
    """
    closed, hub_count, padding = 0, 0, np.uint64(0)
    for i in range(degrees.size):
        degree = degrees[i]
        if degree == 0:
            continue
        vertex = first + np.uint64(i)
        if degree > longest_list:
            hubs[hub_count, 0] = vertex
            hubs[hub_count, 1] = degree
            hub_count += 1
            continue
        if state[_COLUMN] and not _joins(degree, columns, words, state):
            state[_COLUMN] = 0
            if words - state[_WORDS] - np.uint64(SLOT_WORDS) * state[_RECORDS] <= slack:
                padding += _padding(state, header_words)
                _close(state, longest, lanes, rows, closed, columns)
                closed += 1
        need = np.uint64(1) + degree + np.uint64(SLOT_WORDS) * (state[_RECORDS] + np.uint64(1))
        if state[_OPEN] and state[_WORDS] + need > words:
            _close(state, longest, lanes, rows, closed, np.uint64(ROW))
            closed += 1
        if not state[_OPEN]:
            state[_OPEN] = 1
            state[_FIRST] = vertex
            state[_WORDS] = state[_END] = header_words
            state[_COLUMN] = np.uint64(columns > 1 and _joins(degree, columns, words, state))
        add_record(degree, np.int64(state[_RECORDS]), longest, lanes)
        state[_LAST] = vertex
        state[_RECORDS] += np.uint64(1)
        state[_EDGES] += degree
        state[_WORDS] += np.uint64(1) + degree
    return closed, hub_count, padding
