"""What supersteps by one thread do with lists and bitmaps, whatever the program (gstream/hostcode/templates).

Helpers of no program are compiled once a process; those in a template are compiled once a program.
"""

from __future__ import annotations

from typing import Any

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import trailing_zeros
from gstream.hostcode.jit import helper
from gstream.hostcode.page_words import head_of, stride_of
from gstream.hostcode.parts import UNREAD, add_stretches, place_of

__all__ = ["add_partials", "edges_of", "insert", "lists_of_all", "tell", "wait"]


@helper
def insert(lists: Any, row: Any, count: Any, vertex: Any) -> Any:
    """Append to a list as far as there is room; its new length."""
    if count < u64(lists.shape[1]):
        lists[row, count] = vertex
    return count + u64(1)


@helper
def wait(held: Any, count: Any, vertex: Any) -> Any:
    """Append to those that wait as far as there is room; their new number."""
    if count < u64(len(held)):
        held[count] = vertex
    return count + u64(1)


@helper
def edges_of(lists: Any, row: Any, count: Any, degree: Any) -> Any:
    """Sum of the degrees of a list's vertices."""
    edges = i64(0)
    for number in range(min(count, u64(lists.shape[1]))):
        edges += i64(degree[lists[row, number]])
    return edges


@helper
def lists_of_all(
    words: Any,
    rows: Any,
    first_vertex: Any,
    last_vertex: Any,
    small: Any,
    read: Any,
    lists: Any,
    side: Any,
    vertices: Any,
    stretch: Any,
    records: Any,
    stamps: Any,
    stamp: Any,
) -> Any:
    """(stretches, pages) of the first `vertices` of a list, in `records`; UNREAD stretches where a page was not read.

    records[i, 3] is a place in the list.
    """
    count, pages, hint = u64(0), i64(0), u64(0)
    for number in range(vertices):
        v = lists[side, number]
        index, slot = place_of(words, rows, first_vertex, last_vertex, small, read, v, hint)
        if index == UNREAD:
            return UNREAD, pages
        if index < u64(small):
            hint = index
        before = count
        count = add_stretches(
            words, rows, first_vertex, small, read, v, index, slot, u64(0), u64(stretch), number, count, records
        )
        if count == UNREAD:
            return UNREAD, pages
        for record in range(before, min(count, u64(len(records)))):
            row = records[record, 0]
            if stamps[row] != stamp:
                stamps[row] = stamp
                pages += i64(1)
    return count, pages


@helper
def tell(
    words: Any,
    rows: Any,
    first_vertex: Any,
    last_vertex: Any,
    small: Any,
    read: Any,
    active_bits: Any,
    told_bits: Any,
    most: Any,
) -> Any:
    """Set the bits of the out-neighbours of active vertices; the edges, or more than `most` where it gave up."""
    edges, hint, pages = u64(0), u64(0), u64(len(rows))
    for index in range(u64(len(active_bits))):
        word = active_bits[index]
        while word != u64(0):
            u = (index << u64(6)) + trailing_zeros(word)
            word &= word - u64(1)
            row, slot = place_of(words, rows, first_vertex, last_vertex, small, read, u, hint)
            hint = row if row < u64(small) else hint
            while row < pages and u64(first_vertex[row]) <= u <= u64(last_vertex[row]):
                head, stride = head_of(words, row, slot), stride_of(words, row)
                count = u64(words[row, head])
                edges += count
                if edges > u64(most):
                    return edges
                for k in range(count):
                    v = u64(words[row, head + (k + u64(1)) * stride])
                    told_bits[v >> u64(6)] |= u64(1) << (v & u64(63))
                if row < u64(small):
                    break
                row += u64(1)
    return edges


@helper
def add_partials(partials: Any, floats: Any) -> Any:
    """g.<total> of each column, block by block."""
    for total in range(u64(partials.shape[1])):
        whole = partials[0, total]
        for block in range(u64(1), u64(partials.shape[0])):
            whole += partials[block, total]
        floats[total] = whole
