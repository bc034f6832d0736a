"""Packing sorted lists into slotted pages (layout: pagestore/layout.py; plan: pagestore/planning.py).

    pack_small(plan, begin, end, lists, pages, weight_pages)                    small pages begin..end-1
    pack_large(plan, vertex, position, targets, pages, page_first, ...)         a part of one hub's list
    pack_heads(lists, first, heads)                                             first 4 neighbours of each vertex

`pages`: u8[n, page_bytes]; bytes that no list covers must be zero beforehand. Headers are written from the plan. All
three release the GIL. Ranges of `PagePlan.split` share no page, so a thread packs one and writes it out on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pagestore.jit import compiled
from pagestore.layout import HEADER, HEADER_BYTES, SLOT_WORDS, PageLayout
from pagestore.planning import PagePlan


@dataclass(frozen=True, eq=False)
class Lists:
    """Adjacency lists, one after the other.

    vertex: integers[n], ascending store IDs; size: integers[n], from 1. target: u4 or u8[sum of size], ascending within
    a list, and weight (u1, i4, u4 or f4) beside it, or None.
    """

    vertex: np.ndarray
    size: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None

    @cached_property
    def ends(self) -> np.ndarray:
        """i8[n]: where each list ends in `target`."""
        return np.cumsum(self.size, dtype=np.int64)


def pack_small(
    plan: PagePlan, begin: int, end: int, lists: Lists, pages: np.ndarray, weight_pages: np.ndarray | None = None
) -> None:
    """Fill small pages begin..end-1 (u8[end - begin, page_bytes]) with all their lists, and no others.

    Raises ValueError when lists and plan contradict each other (nothing is then to be written).
    """
    layout, rows = plan.layout, plan.directory[begin:end]
    words = _words(pages, end - begin, layout).reshape(-1)
    weights = weight_words = None
    if lists.weight is not None:
        weights, weight_words = _weight_words(lists.weight, weight_pages, end - begin, layout)
        weight_words = weight_words.reshape(-1)
    told = [rows[name].astype(np.uint64) for name in ("first_vertex", "records", "layout")]
    geometry = (np.uint64(layout.words), np.uint64(layout.header_words))
    if (lists.ends[-1] if len(lists.ends) else 0) != len(lists.target) or not _small(
        lists.vertex, lists.size, lists.target, words, weights, weight_words, *geometry, *told
    ):
        raise ValueError(f"the lists of pages {begin} to {end} are not those of the plan")
    _headers(plan, pages, begin, end)


def pack_large(
    plan: PagePlan, vertex: int, position: int, targets: np.ndarray, pages: np.ndarray, page_first: int,
    weights: np.ndarray | None = None, weight_pages: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Put list elements [position, position + len(targets)) of a hub into its large pages.

    `pages` u8[n, page_bytes] holds the pages from number `page_first` on and must cover all that the part touches.
    The header, record size and slot of every page touched are written, so parts may come in any order.
    """
    layout = plan.layout
    low, high = plan.large_range(vertex, vertex + 1)
    longest = layout.longest_list
    if low == high or position < 0 or len(targets) == 0:
        raise ValueError(f"vertex {vertex} has no large pages for elements {position} to {position + len(targets)}")
    begin, end = low + position // longest, low + -(-(position + len(targets)) // longest)
    if begin < page_first or end > min(high, page_first + len(pages)):
        raise ValueError(f"large pages {begin} to {end} of vertex {vertex} lie outside the buffer or the plan")
    view = pages[begin - page_first : end - page_first]
    words = _words(view, end - begin, layout)
    header = layout.header_words
    words[:, header] = plan.directory["edges"][begin:end]
    words[:, layout.words - SLOT_WORDS] = vertex
    words[:, layout.words - SLOT_WORDS + 1] = header
    offset = position - (begin - low) * longest
    flat = (np.uint64(layout.words), np.uint64(header + 1), np.uint64(longest), np.uint64(offset))
    _large(targets, words.reshape(-1), *flat)
    if weights is not None:
        part = None if weight_pages is None else weight_pages[begin - page_first : end - page_first]
        source, target = _weight_words(weights, part, end - begin, layout)
        _large(source, target.reshape(-1), *flat)
    _headers(plan, view, begin, end)


def pack_heads(lists: Lists, first: int, heads: np.ndarray) -> None:
    """Write the first 4 neighbours of vertices first..first + len(heads) - 1 to `heads` (id[n, 4]), others all ones."""
    heads.fill(~heads.dtype.type(0))
    low, high = np.searchsorted(lists.vertex, [first, first + len(heads)])
    _heads(lists.vertex[low:high], lists.size[low:high], lists.ends[low:high], lists.target, first, heads)


def _words(pages: np.ndarray, count: int, layout: PageLayout) -> np.ndarray:
    if pages.shape != (count, layout.page_bytes) or not pages.flags.c_contiguous:
        raise ValueError(f"page buffer has shape {pages.shape}; {count} pages of {layout.page_bytes} bytes are needed")
    return pages.view(layout.id_dtype)


def _weight_words(
    weights: np.ndarray, pages: np.ndarray | None, count: int, layout: PageLayout
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and their pages as unsigned integers of the same width: the kernels only move them."""
    carrier = np.dtype(f"u{weights.dtype.itemsize}")
    if pages is None or pages.shape != (count, layout.weight_page_bytes(carrier.itemsize)):
        raise ValueError(f"weights need {count} pages of {layout.weight_page_bytes(carrier.itemsize)} bytes")
    return np.ascontiguousarray(weights).view(carrier), pages.view(carrier)


def _headers(plan: PagePlan, pages: np.ndarray, begin: int, end: int) -> None:
    rows = plan.directory[begin:end]
    headers = np.zeros(end - begin, HEADER)
    for name in HEADER.names or ():
        headers[name] = rows[name]
    pages[:, :HEADER_BYTES] = headers.view(np.uint8).reshape(-1, HEADER_BYTES)


@compiled
def _small(
    vertices, sizes, targets, words, weights, weight_words, page_words, header_words, starts, records, layouts
):  # fmt: skip
    """Lay sizes, lists, slots and weights; False when the lists don't fill the pages as the plan says.

    starts, records, layouts: u8[pages] of the directory. A page of rows is one of columns whose groups hold one list.
    Indices are unsigned: signed ones would bring wraparound code into the inner loop.
    """
    zero, one, two = np.uint64(0), np.uint64(1), np.uint64(SLOT_WORDS)
    page, pages, key, slot, due, columns = zero - page_words, zero, zero, zero, zero, one
    base, end = header_words, header_words  # first word of the open group, and the word after it
    for i in range(sizes.size):
        vertex, size = np.uint64(vertices[i]), np.uint64(sizes[i])
        if slot == due:  # the page is full: open the next one
            if pages == starts.size or starts[pages] != vertex:
                return False
            due, columns = records[pages], max(layouts[pages], one)
            page += page_words
            pages += one
            slot, base, end = zero, header_words, header_words
        rank = zero
        if columns == one:
            base, end = end, end + one + size
        else:
            rank = slot & (columns - one)
            base = end if rank == zero else base
            end = max(end, base + columns * (one + size))
        slot += one
        if end + two * slot > page_words:
            return False
        words[page + base + rank] = size
        at = page + page_words - two * slot
        words[at], words[at + one] = vertex, base + rank
        at = page + base + rank + columns
        if columns == one:
            for j in range(size):
                words[at + np.uint64(j)] = targets[key + np.uint64(j)]
            if weights is not None:
                for j in range(size):
                    weight_words[at + np.uint64(j)] = weights[key + np.uint64(j)]
        else:
            for j in range(size):
                words[at + np.uint64(j) * columns] = targets[key + np.uint64(j)]
                if weights is not None:
                    weight_words[at + np.uint64(j) * columns] = weights[key + np.uint64(j)]
        key += size
    return pages == starts.size and slot == due


@compiled
def _large(source, words, page_words, list_word, longest, offset):
    """Copy list elements into consecutive pages, `longest` a page, from element `offset` of the first page on."""
    key, page = np.uint64(0), np.uint64(0)
    while key < source.size:
        count = min(longest - offset, np.uint64(source.size) - key)
        base = page + list_word + offset
        for j in range(count):
            words[base + np.uint64(j)] = source[key + np.uint64(j)]
        key += count
        page += page_words
        offset = np.uint64(0)


@compiled
def _heads(vertices, sizes, ends, targets, first, heads):
    for i in range(sizes.size):
        row, begin = vertices[i] - first, np.uint64(ends[i]) - np.uint64(sizes[i])
        for j in range(min(np.uint64(sizes[i]), np.uint64(heads.shape[1]))):
            heads[row, j] = targets[begin + np.uint64(j)]
