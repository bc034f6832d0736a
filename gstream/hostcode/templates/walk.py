"""How threads walk a batch of pages: parts are claimed from a counter, slots lead to records (pagestore/layout.py).

`walk` is the frame of every record kernel (gstream.records), `walk_listed` the same for chosen lists; the kernel's own
text takes the place of `visit`, and its arrays follow the counter; names that begin with record_ are the walks'.
As a generator the walk takes a
fifth more time (RMAT 20, one thread: 136 instead of 113 ms), and a kernel made from a function that is handed in is
compiled anew by each process, for Numba keeps none that encloses another.
"""

from __future__ import annotations

from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, is_large, list_of, part_of, slots_of, vertex_of


@helper
def visit(vertex, first, count, shared):
    """What a kernel does at a record."""


# kernels

LISTS_A_CLAIM = 16


@kernel
def walk(words, parts, counter):
    """One kernel over a batch, by every thread at the same time; returns the edges it looked at."""
    record_edges = u64(0)
    while True:
        record_part = claim(counter)
        if record_part >= u64(len(parts)):
            return record_edges
        record_row, record_begin, record_end, record_large, record_stride = part_of(words, parts, record_part)
        record_from, record_to = slots_of(record_begin, record_end, record_large)
        for record_slot in range(record_from, record_to):
            record_vertex, record_shared = vertex_of(words, record_row, record_slot), record_large
            record_first, record_count = list_of(
                words, record_row, record_slot, record_begin, record_end, record_large, record_stride
            )
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
            record_large = is_large(words, record_row)
            record_begin, record_shared = record_first, record_large  # noqa: F841
            visit(record_vertex, record_first, record_count, record_shared)
