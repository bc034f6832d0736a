"""How threads walk a batch of pages: parts are claimed from a counter, slots lead to records (pagestore/layout.py).

`walk` is the frame of every record kernel (gstream.records), `walk_listed` the same for chosen lists; the kernel's own
text takes the place of `visit`, and its arrays follow the counter; names that begin with record_ are the walks'.
Indices are unsigned: signed ones keep Python's negative-index test in the inner loop. As a generator the walk takes a
fifth more time (RMAT 20, one thread: 136 instead of 113 ms), and a kernel made from a function that is handed in is
compiled anew by each process, for Numba keeps none that encloses another.
"""

from __future__ import annotations

from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.search import lower_bound
from gstream.hostcode.strides import stride_of
from pagestore.layout import HEADER_BYTES


@helper
def visit(vertex, first, count, shared):
    """What a kernel does at a record."""


# kernels

LISTS_A_CLAIM = 16


@helper
def claim(counter):
    """The next number of a shared counter (int64[1])."""
    return u64(atomic_add(counter, 0, 1))


@helper
def part_of(words, parts, part):
    """(row, begin, end, large, stride) of a part: slots of a small page, words of a large one."""
    row = u64(parts[part, 0])
    large = (u64(words[row, 0]) & u64(0xFFFFFFFF)) == u64(1)
    return row, u64(parts[part, 1]), u64(parts[part, 2]), large, stride_of(words, row)


@helper
def slots_end(begin, end, large):
    """Where a loop over the slots of a part ends: a large page's part is one stretch of its only record."""
    return begin + u64(1) if large else end


@helper
def record(words, row, slot, begin, end, large, stride):
    """(vertex, first word, count) of the neighbours that a slot of the part leads to, `stride` words apart."""
    place = u64(words.shape[1]) - u64(2)
    if large:
        return u64(words[row, place]), begin, end - begin
    place -= slot * u64(2)
    start = u64(words[row, place + u64(1)])
    return u64(words[row, place]), start + stride, u64(words[row, start])


@helper
def large_page(words, row, hubs):
    """Which of the large pages row `row` is: the first of its hub, and as many on as full pages come before it."""
    width = u64(words.shape[1])
    v, wide = u64(words[row, width - u64(2)]), words.itemsize == 8
    place = u64(words[row, 3]) if wide else u64(words[row, 6]) | u64(words[row, 7]) << u64(32)
    full = width - u64(HEADER_BYTES // words.itemsize) - u64(3)
    return lower_bound(hubs, u64(0), u64(len(hubs)), v), place // full


@helper
def before(words, row, begin, large, hubs, ends):
    """The neighbour before the first one of a part, all bits set where there is none."""
    none = ~u64(0)
    if not large or len(ends) == 0:
        return none
    if begin > u64(words[row, u64(words.shape[1]) - u64(1)]) + u64(1):
        return u64(words[row, begin - u64(1)])
    first, full = large_page(words, row, hubs)
    return none if full == u64(0) else u64(ends[first + full - u64(1)])


@helper
def note_end(words, row, end, large, hubs, ends):
    """ends: the last neighbour of a large page, noted by who has the page's last part."""
    start = u64(words[row, u64(words.shape[1]) - u64(1)])
    if large and end == start + u64(1) + u64(words[row, start]):
        first, full = large_page(words, row, hubs)
        ends[first + full] = words[row, end - u64(1)]


@helper
def page_of(words, row, large, first_vertex, small_pages):
    """The number of the page in a row: small pages and large ones come in ascending order of vertices."""
    if large:
        first, full = large_page(words, row, first_vertex[small_pages:])
        return u64(small_pages) + first + full
    v = u64(words[row, u64(words.shape[1]) - u64(2)])
    return lower_bound(first_vertex, u64(0), u64(small_pages), v)


@kernel
def walk(words, parts, counter):
    """One kernel over a batch, by every thread at the same time; returns the edges it looked at."""
    record_edges = u64(0)
    while True:
        record_part = claim(counter)
        if record_part >= u64(len(parts)):
            return record_edges
        record_row, record_begin, record_end, record_large, record_stride = part_of(words, parts, record_part)
        for record_slot in range(record_begin, slots_end(record_begin, record_end, record_large)):
            record_vertex, record_first, record_count = record(
                words, record_row, record_slot, record_begin, record_end, record_large, record_stride
            )
            record_shared = record_large
            visit(record_vertex, record_first, record_count, record_shared)


@kernel
def walk_listed(words, parts, counter):
    """One kernel over chosen lists: those of a small page whole, of a large one its stretch (find_records)."""
    record_edges, record_total = u64(0), u64(len(parts))
    while True:
        record_part = u64(atomic_add(counter, 0, LISTS_A_CLAIM))
        if record_part >= record_total:
            return record_edges
        for record_index in range(record_part, min(record_part + u64(LISTS_A_CLAIM), record_total)):
            record_row, record_first = u64(parts[record_index, 0]), u64(parts[record_index, 1])
            record_count, record_vertex = u64(parts[record_index, 2]), u64(parts[record_index, 3])
            record_stride, record_end = u64(parts[record_index, 4]), record_first + record_count  # noqa: F841
            record_large = (u64(words[record_row, 0]) & u64(0xFFFFFFFF)) == u64(1)
            record_begin, record_shared = record_first, record_large  # noqa: F841
            visit(record_vertex, record_first, record_count, record_shared)
