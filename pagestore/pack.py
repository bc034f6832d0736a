"""Packing sorted edges into slotted pages (layout: pagestore/layout.py; plan: pagestore/planning.py).

The functions fill pages of a plan from the *sorted* edges of a vertex range. They release the GIL and write disjoint
words, so many threads may pack different ranges at once, even into the same page:

    pack_small(plan, first, last, degrees, keys, mask, pages, ...)  small pages of vertices [first, last)
    pack_large(plan, vertex, position, keys, mask, pages, ...)      a part of one hub's list
    pack_heads(degrees, keys, mask, heads)                          first 4 neighbours of each vertex
    pack_range(plan, first, last, degrees, keys, ...)               all three for [first, last)

`keys`: u4 or u8[m], the edges of [first, last) by (source, target). Only `key & mask`, the target's store ID, is read.
So a key may be (source - base) << bits | target with mask (1 << bits) - 1, or a plain target with mask 2^64 - 1.
`degrees`: u4 or u8[last - first], with sum m. `pack_small` steps over the keys of hubs. `weights`: u1, i4, u4 or f4[m].

`pages`: u8[n, page_bytes]; bytes that no list covers must be zero beforehand (`new_pages`). Headers are written from
the plan. A page whose vertices belong to two ranges is complete once both have been packed into the same buffer, or
into two zeroed buffers that are added. For a range that starts inside a page pass `before`: the degrees of the vertices
from that page's first to `first`. Ranges of `PagePlan.split` share no page:

    plan = planner.finish()
    for part in plan.split(max_edges=1 << 22):                # PageRange(first, last, small, large, edges)
        degrees, keys = ...                                   # of vertices [part.first, part.last)
        packed = pack_range(plan, part.first, part.last, degrees, keys, mask)
        writer.write_pages("out", part.small[0], packed.small)
        writer.write_pages("out", part.large[0], packed.large)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pagestore.jit import compiled
from pagestore.layout import HEAD_NEIGHBOURS, HEADER, HEADER_BYTES, SLOT_WORDS, PageLayout
from pagestore.planning import PagePlan

ALL_BITS = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class PackedRange:
    """Pages of a vertex range: `small` u8[q-p, page_bytes] and `large` u8[m-l, page_bytes] with their weights.

    `heads` is id[last - first, 4], one row a vertex (all ones where a list is shorter).
    """

    small: np.ndarray
    large: np.ndarray
    small_weights: np.ndarray | None
    large_weights: np.ndarray | None
    heads: np.ndarray | None


def new_pages(plan: PagePlan, begin: int, end: int, weight_dtype: Any = None) -> np.ndarray:
    """Zeroed buffer for pages begin..end-1: u8[n, page_bytes], or u8[n, weight_page_bytes] for their weights."""
    layout = plan.layout
    width = layout.page_bytes if weight_dtype is None else layout.weight_page_bytes(np.dtype(weight_dtype).itemsize)
    return np.zeros((end - begin, width), np.uint8)


def pack_range(
    plan: PagePlan,
    first: int,
    last: int,
    degrees: np.ndarray,
    keys: np.ndarray,
    mask: int = ALL_BITS,
    weights: np.ndarray | None = None,
    heads: bool = True,
    before: np.ndarray | None = None,
) -> PackedRange:
    """Pack vertices [first, last) into new buffers: small pages, large pages of their hubs, weights, heads."""
    small, large = plan.small_range(first, last), plan.large_range(first, last)
    dtype = None if weights is None else weights.dtype
    small_pages, large_pages = new_pages(plan, *small), new_pages(plan, *large)
    small_weights = None if dtype is None else new_pages(plan, *small, dtype)
    large_weights = None if dtype is None else new_pages(plan, *large, dtype)
    pack_small(plan, first, last, degrees, keys, mask, small_pages, weights, small_weights, before)
    hubs = np.unique(plan.directory["first_vertex"][slice(*large)]).astype(np.int64)
    if len(hubs):
        ends = np.cumsum(degrees, dtype=np.int64)
        for vertex in hubs.tolist():
            end = int(ends[vertex - first])
            begin = end - int(degrees[vertex - first])
            part = None if weights is None else weights[begin:end]
            pack_large(plan, vertex, 0, keys[begin:end], mask, large_pages, large[0], part, large_weights)
    rows = None
    if heads:
        rows = np.empty((last - first, HEAD_NEIGHBOURS), plan.layout.id_dtype)
        pack_heads(degrees, keys, mask, rows)
    return PackedRange(small_pages, large_pages, small_weights, large_weights, rows)


def pack_small(
    plan: PagePlan,
    first: int,
    last: int,
    degrees: np.ndarray,
    keys: np.ndarray,
    mask: int,
    pages: np.ndarray,
    weights: np.ndarray | None = None,
    weight_pages: np.ndarray | None = None,
    before: np.ndarray | None = None,
) -> None:
    """Fill `pages` (u8[q-p, page_bytes] for plan.small_range(first, last) = (p, q)) from the edges of [first, last).

    `before`: degrees of the vertices [first_vertex of page p, first), when the range starts inside page p.
    Raises ValueError when degrees, keys and plan contradict each other (nothing is then to be written).
    """
    layout = plan.layout
    begin, end = plan.small_range(first, last)
    lengths = _lengths(degrees, last - first, keys)
    words = _words(pages, end - begin, layout).reshape(-1)
    source = target = None
    if weights is not None:
        source, target = _weight_words(weights, weight_pages, end - begin, layout)
        target = target.reshape(-1)
    rows = plan.directory[begin:end]
    inside = np.empty(0, np.uint64)  # lists that the first page holds ahead of those of [first, last)
    if before is not None and begin < end and rows["first_vertex"][0] < first:
        inside = before[(before > 0) & (before <= layout.longest_list)].astype(np.uint64)
    geometry = (np.uint64(layout.words), np.uint64(layout.header_words), np.uint64(layout.longest_list))
    told = [rows[name].astype(np.uint64) for name in ("first_vertex", "records", "layout")]
    if not _small(lengths, np.uint64(first), keys, np.uint64(mask), words, source, target, *geometry, inside, *told):
        raise ValueError(f"the degrees of vertices {first} to {last} are not those of the plan")
    _headers(plan, pages, begin, end)


def pack_large(
    plan: PagePlan,
    vertex: int,
    position: int,
    keys: np.ndarray,
    mask: int,
    pages: np.ndarray,
    page_first: int,
    weights: np.ndarray | None = None,
    weight_pages: np.ndarray | None = None,
) -> None:
    """Put list elements [position, position + len(keys)) of a hub into its large pages.

    `pages` u8[n, page_bytes] holds the pages from number `page_first` on and must cover all that the part touches.
    The header, record size and slot of every page touched are written, so parts may come in any order.
    """
    layout = plan.layout
    low, high = plan.large_range(vertex, vertex + 1)
    longest = layout.longest_list
    if low == high or position < 0 or len(keys) == 0:
        raise ValueError(f"vertex {vertex} has no large pages for elements {position} to {position + len(keys)}")
    begin, end = low + position // longest, low + -(-(position + len(keys)) // longest)
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
    _large(keys, np.uint64(mask), words.reshape(-1), *flat)
    if weights is not None:
        part = None if weight_pages is None else weight_pages[begin - page_first : end - page_first]
        source, target = _weight_words(weights, part, end - begin, layout)
        _large(source, np.uint64(ALL_BITS), target.reshape(-1), *flat)
    _headers(plan, view, begin, end)


def pack_heads(degrees: np.ndarray, keys: np.ndarray, mask: int, heads: np.ndarray) -> None:
    """Write the first 4 neighbours of len(heads) vertices to `heads` (id[n, 4]); missing ones become all ones."""
    lengths = _lengths(degrees, len(heads), keys)
    _heads(lengths, keys, np.uint64(mask), heads)


def _lengths(degrees: np.ndarray, count: int, keys: np.ndarray) -> np.ndarray:
    lengths = np.ascontiguousarray(degrees, np.uint64)
    if len(lengths) != count or int(lengths.sum()) != len(keys):
        raise ValueError(f"{len(lengths)} degrees with sum {lengths.sum()} for {count} vertices and {len(keys)} keys")
    return lengths


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
    lengths, first, keys, mask, words, weights, weight_words, page_words, header_words, longest, inside, starts,
    records, layouts,
):  # fmt: skip
    """Lay sizes, lists, slots and weights; False when the degrees don't fill the pages as the plan says.

    starts, records, layouts: u8[pages] of the directory. A list of `inside` only moves what comes after it. A page of
    rows is one of columns whose groups hold one list. Indices are unsigned: signed ones would bring wraparound code
    into the inner loop.
    """
    zero, one, two = np.uint64(0), np.uint64(1), np.uint64(SLOT_WORDS)
    page, pages, key, slot, due, columns = zero - page_words, zero, zero, zero, zero, one
    base, end = header_words, header_words  # first word of the open group, and the word after it
    for i in range(inside.size + lengths.size):
        degree = inside[i] if i < inside.size else lengths[i - inside.size]
        if degree == zero:
            continue
        if degree > longest:
            key += degree
            continue
        vertex = first + np.uint64(i) - np.uint64(inside.size)
        if slot == due:  # the page is full: open the next one
            if pages == starts.size or (i >= inside.size and starts[pages] != vertex):
                return False
            due, columns = records[pages], max(layouts[pages], one)
            page += page_words
            pages += one
            slot, base, end = zero, header_words, header_words
        rank = zero
        if columns == one:
            base, end = end, end + one + degree
        else:
            rank = slot & (columns - one)
            base = end if rank == zero else base
            end = max(end, base + columns * (one + degree))
        slot += one
        if end + two * slot > page_words:
            return False
        if i < inside.size:
            continue
        words[page + base + rank] = degree
        at = page + page_words - two * slot
        words[at], words[at + one] = vertex, base + rank
        at = page + base + rank + columns
        if columns == one:
            for j in range(degree):
                words[at + np.uint64(j)] = keys[key + np.uint64(j)] & mask
            if weights is not None:
                for j in range(degree):
                    weight_words[at + np.uint64(j)] = weights[key + np.uint64(j)]
        else:
            for j in range(degree):
                words[at + np.uint64(j) * columns] = keys[key + np.uint64(j)] & mask
                if weights is not None:
                    weight_words[at + np.uint64(j) * columns] = weights[key + np.uint64(j)]
        key += degree
    return pages == starts.size


@compiled
def _large(keys, mask, words, page_words, list_word, longest, offset):
    """Copy list elements into consecutive pages, `longest` a page, from element `offset` of the first page on."""
    key, page = np.uint64(0), np.uint64(0)
    while key < keys.size:
        count = min(longest - offset, np.uint64(keys.size) - key)
        base = page + list_word + offset
        for j in range(count):
            words[base + np.uint64(j)] = keys[key + np.uint64(j)] & mask
        key += count
        page += page_words
        offset = np.uint64(0)


@compiled
def _heads(lengths, keys, mask, heads):
    key = np.uint64(0)
    for i in range(lengths.size):
        taken = min(lengths[i], np.uint64(HEAD_NEIGHBOURS))
        for j in range(taken):
            heads[i, np.uint64(j)] = keys[key + np.uint64(j)] & mask
        for j in range(taken, np.uint64(HEAD_NEIGHBOURS)):
            heads[i, np.uint64(j)] = ~np.uint64(0)
        key += lengths[i]
