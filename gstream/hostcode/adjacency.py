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
from gstream.hostcode.strides import stride_of
from pagestore.layout import HEADER_BYTES

__all__ = ["find_places", "stretch"]

NOWHERE = u64(0xFFFFFFFFFFFFFFFF)
PAGES_A_CLAIM = 8


@helper
def _is_large(words: Any, row: Any) -> Any:
    return u64(words[row, 0]) & u64(0xFFFFFFFF) == u64(1)


@kernel
def find_places(words: Any, places: Any, counter: Any) -> Any:
    """places (all bits set at first) of all lists in `words` (id[pages, W])."""
    pages, width, wide = u64(words.shape[0]), u64(words.shape[1]), words.itemsize == 8
    while True:
        begin = u64(atomic_add(counter, 0, PAGES_A_CLAIM))
        if begin >= pages:
            return u64(0)
        for row in range(begin, min(begin + u64(PAGES_A_CLAIM), pages)):
            records = u64(words[row, 0]) >> u64(32) if wide else u64(words[row, 1])
            if _is_large(words, row):
                # word 6 (or 3 of 8 bytes) of a header: the stretch's place in its list
                place = u64(words[row, 3]) if wide else u64(words[row, 6]) | u64(words[row, 7]) << u64(32)
                records = u64(place == u64(0))
            for slot in range(records):
                v = u64(words[row, width - u64(2) * slot - u64(2)])
                places[v] = row << u64(32) | u64(words[row, width - u64(2) * slot - u64(1)])


@helper
def stretch(words: Any, places: Any, v: Any, k: Any) -> Any:
    """(row, first word, how many, words apart) of v's neighbours from number k on that lie together; 0 at the end."""
    place = places[v]
    if place == NOWHERE:
        return u64(0), u64(0), u64(0), u64(1)
    row, head = place >> u64(32), place & u64(0xFFFFFFFF)
    if _is_large(words, row):
        width = u64(words.shape[1])
        full = width - u64(HEADER_BYTES // words.itemsize) - u64(3)
        row += k // full  # all pages of a hub but the last one are full
        k %= full
        if row >= u64(words.shape[0]) or not _is_large(words, row) or u64(words[row, width - u64(2)]) != v:
            return u64(0), u64(0), u64(0), u64(1)
    count, stride = u64(words[row, head]), stride_of(words, row)
    if k >= count:
        return u64(0), u64(0), u64(0), u64(1)
    return row, head + (k + u64(1)) * stride, count - k, stride
