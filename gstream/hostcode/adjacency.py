"""Lists of vertices by their number, over pages that lie in host memory whole: row p holds page p.

places: uint64[V], row << 32 | word of the count before a vertex's list, all bits set where it has none; of a hub in its
first large page. A kernel walks a list by the stretches that lie together, and may stop at any neighbour k to go on
from there later:

    k = u64(0)
    while True:
        row, word, more, stride = stretch(words, places, v, k)
        if more == u64(0): break
        for index in range(more):
            u = u64(words[row, word + index * stride])
        k += more
"""

from __future__ import annotations

from typing import Any

from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import head_of, is_large, place_in_list, records_of, stride_of, vertex_of
from pagestore.layout import HEADER_BYTES

__all__ = ["find_places", "stretch"]

NOWHERE = u64(0xFFFFFFFFFFFFFFFF)
PAGES_A_CLAIM = 8


@kernel
def find_places(words: Any, places: Any, counter: Any) -> Any:
    """places (all bits set at first) of all lists in `words` (id[pages, W])."""
    pages = u64(words.shape[0])
    while True:
        begin = u64(atomic_add(counter, 0, PAGES_A_CLAIM))
        if begin >= pages:
            return u64(0)
        for row in range(begin, min(begin + u64(PAGES_A_CLAIM), pages)):
            records = records_of(words, row)
            if is_large(words, row):
                records = u64(place_in_list(words, row) == u64(0))
            for slot in range(records):
                places[vertex_of(words, row, slot)] = row << u64(32) | head_of(words, row, slot)


@helper
def stretch(words: Any, places: Any, v: Any, k: Any) -> Any:
    """(row, first word, how many, words apart) of v's neighbours from number k on that lie together; 0 at the end."""
    place = places[v]
    if place == NOWHERE:
        return u64(0), u64(0), u64(0), u64(1)
    row, head = place >> u64(32), place & u64(0xFFFFFFFF)
    if is_large(words, row):
        full = u64(words.shape[1]) - u64(HEADER_BYTES // words.itemsize) - u64(3)
        row += k // full  # all pages of a hub but the last one are full
        k %= full
        if row >= u64(words.shape[0]) or not is_large(words, row) or vertex_of(words, row, u64(0)) != v:
            return u64(0), u64(0), u64(0), u64(1)
    count, stride = u64(words[row, head]), stride_of(words, row)
    if k >= count:
        return u64(0), u64(0), u64(0), u64(1)
    return row, head + (k + u64(1)) * stride, count - k, stride
