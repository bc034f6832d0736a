"""Work lists over pages: parts of about equal numbers of edges (Garaph 4.1), and the records of chosen vertices.

A small page is cut between slots, a large page between words; a part never crosses a page. Neighbour k of a record is
at its first word + stride * (k + 1): stride is 1, or the width of a column page's groups (pagestore/layout.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import head_of, is_large, place_in_list, records_of, stride_of, vertex_of
from gstream.hostcode.search import lower_bound

__all__ = [
    "EDGES_A_PART", "RECORD_STRETCH", "UNREAD", "add_stretches", "find_lists", "find_records", "make_parts", "place_of",
]  # fmt: skip

EDGES_A_PART = 16384  # 64 KiB of neighbours: 10 us or more a claim, and enough parts to share out a small graph
UNREAD = u64(2**64 - 1)  # instead of a page's number, or of a count
RECORD_STRETCH = 4096  # edges of one record that one claim takes: a hub is no tail


@kernel
def _cut(words: Any, rows: Any, edges_a_part: Any, parts: Any) -> Any:
    """Write the parts of `rows` (only counts them when `parts` has no rows); returns how many there are."""
    count, wanted = u64(0), u64(edges_a_part)
    for index in range(u64(len(rows))):
        row = u64(rows[index])
        large, begin, end = is_large(words, row), u64(0), records_of(words, row)
        if large:
            head = head_of(words, row, u64(0))
            begin, end = head + u64(1), head + u64(1) + u64(words[row, head])
        while begin < end:
            after = min(begin + wanted, end)
            if not large:
                after = _slot_past(words, row, begin, end, wanted)
            if count < u64(len(parts)):
                parts[count, 0], parts[count, 1], parts[count, 2] = row, begin, after
            count += u64(1)
            begin = after
    return count


@helper
def _slot_past(words: Any, row: Any, begin: Any, end: Any, wanted: Any) -> Any:
    """The first slot whose record starts `wanted` words after that of `begin` or later; `end` if there is none."""
    goal = head_of(words, row, begin) + wanted
    low, high = begin + u64(1), end
    while low < high:
        middle = (low + high) >> u64(1)
        if head_of(words, row, middle) < goal:
            low = middle + u64(1)
        else:
            high = middle
    return low


def make_parts(words: np.ndarray, rows: np.ndarray, edges_a_part: int = EDGES_A_PART) -> np.ndarray:
    """Parts of the pages `rows` (int64[k]) of `words` (id[pages, W]): int64[m, 3], (row, first, end) each."""
    none = np.empty((0, 3), np.int64)
    parts = np.empty((int(_cut(words, rows, edges_a_part, none)), 3), np.int64)
    _cut(words, rows, edges_a_part, parts)
    return parts


@helper
def _slot_of(words: Any, row: Any, records: Any, first: Any, last: Any, v: Any) -> Any:
    """The slot of v in a small page, or `records` where it has none: interpolation, then bisection.

    The guess is a bound as well: slots ascend, so slot i holds at least first + i and at most last - (records - 1 - i).
    """
    high = min(v - first, records - u64(1))
    behind = last - v
    low = records - u64(1) - behind if behind < records else u64(0)
    while low < high:
        middle = (low + high) >> u64(1)
        if vertex_of(words, row, middle) < v:
            low = middle + u64(1)
        else:
            high = middle
    return low if vertex_of(words, row, low) == v else records


@helper
def place_of(
    words: Any, rows: Any, first_vertex: Any, last_vertex: Any, small_rows: Any, read: Any, v: Any, hint: Any
) -> Any:
    """(page, slot) where the list of v begins: a small page, or the first of v's large ones, of which slot is 0.

    The page's number is len(rows) or that of another vertex's page where v has none, and UNREAD where one that has to
    be looked at was not read (read: bool[pages], or empty: all were). hint: a small page to look at first.
    """
    index, small, pages = u64(hint), u64(small_rows), u64(len(rows))
    if not (index < small and u64(first_vertex[index]) <= v and v <= u64(last_vertex[index])):
        index = lower_bound(last_vertex, u64(0), small, v)
    if index < small and u64(first_vertex[index]) <= v:
        if len(read) > 0 and not read[index]:
            return UNREAD, u64(0)
        row = u64(rows[index])
        records = records_of(words, row)
        slot = _slot_of(words, row, records, u64(first_vertex[index]), u64(last_vertex[index]), v)
        if slot < records:
            return index, slot
    return lower_bound(last_vertex, small, pages, v), u64(0)


@helper
def add_stretches(
    words: Any, rows: Any, first_vertex: Any, small_rows: Any, read: Any, v: Any, index: Any, slot: Any, skip: Any,
    step: Any, name: Any, count: Any, out: Any,
) -> Any:  # fmt: skip
    """Add the stretches of a list that begins at `place_of` to the first `count` rows of out, as far as there is room.

    name: what stands for v in them. Returns how many there are then, or UNREAD.
    """
    small, pages = u64(small_rows), u64(len(rows))
    while index < pages and u64(first_vertex[index]) <= v:
        if len(read) > 0 and not read[index]:
            return UNREAD
        row = u64(rows[index])
        head, stride = head_of(words, row, slot), stride_of(words, row)
        length = u64(words[row, head])
        begin = min(u64(skip), length) if place_in_list(words, row) == u64(0) else u64(0)  # heads are at place 0
        while begin < length:
            taken = min(step, length - begin)
            if count < u64(len(out)):
                out[count, 0], out[count, 1], out[count, 2] = row, head + (begin + u64(1)) * stride, taken
                out[count, 3], out[count, 4] = name, stride
            count += u64(1)
            begin += taken
        if index < small:
            break
        index += u64(1)
    return count


@kernel
def find_lists(
    words: Any, rows: Any, first_vertex: Any, last_vertex: Any, small_rows: Any, vertices: Any, skip: Any, stretch: Any,
    out: Any,
) -> Any:  # fmt: skip
    """What find_records does, as far as `out` has room; returns how many stretches there are."""
    count, hint, read = u64(0), u64(0), first_vertex[:0]
    for v in vertices:
        index, slot = place_of(words, rows, first_vertex, last_vertex, small_rows, read, v, hint)
        if index < u64(small_rows):
            hint = index
        count = add_stretches(
            words, rows, first_vertex, small_rows, read, v, index, slot, skip, u64(stretch), v, count, out
        )
    return count


def find_records(
    words: np.ndarray, rows: np.ndarray, first_vertex: np.ndarray, last_vertex: np.ndarray, small_rows: int,
    vertices: np.ndarray, skip: int = 0, stretch: int = RECORD_STRETCH,
) -> np.ndarray:  # fmt: skip
    """The lists of `vertices` (uint64[k]) in the pages `rows` (int64[n]) of `words`, cut into stretches: int64[m, 5].

    A stretch is (row, first, count, vertex, stride): neighbours at words first + k * stride, k below count. The first
    `small_rows` of the pages are small ones, the others large, both ascending, of vertices first_vertex to last_vertex
    (uint64[n]). The first `skip` neighbours of a list are left out.
    """
    out = np.empty((len(vertices) + len(vertices) // 4 + 64, 5), np.int64)
    count = int(find_lists(words, rows, first_vertex, last_vertex, small_rows, vertices, skip, stretch, out))
    if count > len(out):  # hubs were cut into more stretches than there was room for
        out = np.empty((count, 5), np.int64)
        find_lists(words, rows, first_vertex, last_vertex, small_rows, vertices, skip, stretch, out)
    return out[:count]
