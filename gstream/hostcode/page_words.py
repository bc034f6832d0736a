"""Where the words of a page lead (pagestore/layout.py), for all kernels of the host.

Slot s of a page is a pair of words at its end: a vertex, and where the vertex's list begins (its head). The head holds
the number of neighbours. Neighbour k stands at head + stride * (k + 1). A small page has many slots, a large page one.
Work over a batch is claimed by parts (gstream.hostcode.parts): slots of a small page, words of a large one.
Indices are unsigned: signed ones keep Python's negative-index test in the inner loop.
"""

from __future__ import annotations

from typing import Any

from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper
from gstream.hostcode.search import lower_bound
from pagestore.layout import HEADER_BYTES

__all__ = [
    "before", "claim", "head_of", "is_large", "list_of", "note_end", "page_of", "part_of", "place_in_list",
    "records_of", "slots_of", "stride_of", "vertex_of",
]  # fmt: skip


@helper
def is_large(words: Any, row: Any) -> Any:
    """Whether page `row` holds a stretch of one long list."""
    return u64(words[row, 0]) & u64(0xFFFFFFFF) == u64(1)


@helper
def records_of(words: Any, row: Any) -> Any:
    """How many slots page `row` has."""
    return u64(words[row, 0]) >> u64(32) if words.itemsize == 8 else u64(words[row, 1])


@helper
def stride_of(words: Any, row: Any) -> Any:
    """Words from one neighbour of a list to the next in page `row`: 1, or what the header of a column page says."""
    return max((u64(words[row, 0]) >> u64(16)) & u64(0xFFFF), u64(1))


@helper
def place_in_list(words: Any, row: Any) -> Any:
    """How many neighbours of the list come before those of large page `row`."""
    return u64(words[row, 3]) if words.itemsize == 8 else u64(words[row, 6]) | u64(words[row, 7]) << u64(32)


@helper
def vertex_of(words: Any, row: Any, slot: Any) -> Any:
    """The vertex of a slot."""
    return u64(words[row, u64(words.shape[1]) - u64(2) * slot - u64(2)])


@helper
def head_of(words: Any, row: Any, slot: Any) -> Any:
    """The word before the list of a slot, which holds how many neighbours the page has of it."""
    return u64(words[row, u64(words.shape[1]) - u64(2) * slot - u64(1)])


@helper
def claim(counter: Any) -> Any:
    """The next number of a shared counter (int64[1])."""
    return u64(atomic_add(counter, 0, 1))


@helper
def part_of(words: Any, parts: Any, part: Any) -> Any:
    """(row, begin, end, large, stride) of a part: slots of a small page, words of a large one."""
    row = u64(parts[part, 0])
    return row, u64(parts[part, 1]), u64(parts[part, 2]), is_large(words, row), stride_of(words, row)


@helper
def slots_of(begin: Any, end: Any, large: Any) -> Any:
    """(first, end) of the slots of a part: a large page's part is one stretch of its only list."""
    return (u64(0), u64(1)) if large else (begin, end)


@helper
def list_of(words: Any, row: Any, slot: Any, begin: Any, end: Any, large: Any, stride: Any) -> Any:
    """(first word, count) of the neighbours that a slot of the part leads to, `stride` words apart."""
    if large:
        return begin, end - begin
    head = head_of(words, row, slot)
    return head + stride, u64(words[row, head])


@helper
def _large_page(words: Any, row: Any, hubs: Any) -> Any:
    """Which of the large pages row `row` is: the first of its hub, and as many on as full pages come before it."""
    full = u64(words.shape[1]) - u64(HEADER_BYTES // words.itemsize) - u64(3)
    place = place_in_list(words, row) // full
    return lower_bound(hubs, u64(0), u64(len(hubs)), vertex_of(words, row, u64(0))), place


@helper
def before(words: Any, row: Any, begin: Any, large: Any, hubs: Any, ends: Any) -> Any:
    """The neighbour before the first one of a part, all bits set where there is none."""
    none = ~u64(0)
    if not large or len(ends) == 0:
        return none
    if begin > head_of(words, row, u64(0)) + u64(1):
        return u64(words[row, begin - u64(1)])
    first, full = _large_page(words, row, hubs)
    return none if full == u64(0) else u64(ends[first + full - u64(1)])


@helper
def note_end(words: Any, row: Any, end: Any, large: Any, hubs: Any, ends: Any) -> Any:
    """ends: the last neighbour of a large page, noted by who has the page's last part."""
    head = head_of(words, row, u64(0))
    if large and end == head + u64(1) + u64(words[row, head]):
        first, full = _large_page(words, row, hubs)
        ends[first + full] = words[row, end - u64(1)]


@helper
def page_of(words: Any, row: Any, large: Any, first_vertex: Any, small_pages: Any) -> Any:
    """The number of the page in a row: small pages and large ones come in ascending order of vertices."""
    if large:
        first, full = _large_page(words, row, first_vertex[small_pages:])
        return u64(small_pages) + first + full
    return lower_bound(first_vertex, u64(0), u64(small_pages), vertex_of(words, row, u64(0)))
