"""Notify, the first half of notify-pull (Garaph 2.1, 4.2): active vertices set the bits of their out-neighbours.

And how threads find the lists of vertices whose bit is set in a part of a page: slots ascend, so a vertex is at most as
many slots further on as its ID is greater; where no ID is missing it is there. Unset bits cost 1/64 of a step each.
"""

from __future__ import annotations

from typing import Any

from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, vertex_of

__all__ = ["next_set", "notify", "slot_from"]


@helper
def next_set(bits: Any, v: Any, last: Any) -> Any:
    """The first vertex from v on, up to `last`, whose bit is set; last + 1 where there is none."""
    index, end = v >> u64(6), last >> u64(6)
    word = bits[index] & (~u64(0) << (v & u64(63)))
    while word == u64(0):
        index += u64(1)
        if index > end:
            return last + u64(1)
        word = bits[index]
    return min((index << u64(6)) + trailing_zeros(word), last + u64(1))


@helper
def slot_from(words: Any, row: Any, slot: Any, last: Any, v: Any) -> Any:
    """The first slot from `slot` on whose vertex is v or a later one, where slot `last` has such a vertex."""
    here = vertex_of(words, row, slot)
    if here >= v:
        return slot
    low, high = slot + u64(1), min(slot + (v - here), last)
    if vertex_of(words, row, high) == v:
        return high
    while low < high:
        middle = (low + high) >> u64(1)
        if vertex_of(words, row, middle) < v:
            low = middle + u64(1)
        else:
            high = middle
    return low


@helper
def _tell(words: Any, row: Any, begin: Any, count: Any, stride: Any, told_bits: Any) -> Any:
    """Set the bits of `count` neighbours."""
    for k in range(count):
        set_bit(told_bits, u64(words[row, begin + k * stride]))


@kernel
def notify(words: Any, parts: Any, counter: Any, active_bits: Any, told_bits: Any) -> Any:
    """Set the bits of the neighbours of active vertices, over parts of out-pages (gstream.hostcode.parts.make_parts).

    Threads claim parts from counter (int64[1]). Returns the edges looked at.
    """
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        if large:
            if is_set(active_bits, vertex_of(words, row, u64(0))):
                _tell(words, row, begin, end - begin, stride, told_bits)
                edges += end - begin
            continue
        slot, last = begin, vertex_of(words, row, end - u64(1))
        u = next_set(active_bits, vertex_of(words, row, begin), last)
        while u <= last:
            slot = slot_from(words, row, slot, end - u64(1), u)
            if vertex_of(words, row, slot) == u:
                first, count = list_of(words, row, slot, begin, end, large, stride)
                _tell(words, row, first, count, stride, told_bits)
                edges += count
            if u == last:
                break
            u = next_set(active_bits, u + u64(1), last)
