"""Pull for MIN, MAX and OR: each vertex looks at its active sources, and stops early once it is `done`.

Small pages have one owner a vertex; stretches of large pages and records settle by compare-and-swap, so that a hub can
be cut into many parts. Programs with `done` look only at vertices whose open bit is set. Heads (the first neighbours
of each list, biggest ones first in degree order) settle most vertices of a bottom-up step before any page is read.
What is done along a list is scalar_pull_least.py's, or vector_pull_least.py's.
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add, atomic_or
from gstream.hostcode.jit import kernel
from gstream.hostcode.page_words import claim, list_of, part_of, vertex_of
from gstream.hostcode.templates.methods import HAS_DONE, IN_PLACE, context
from gstream.hostcode.templates.scalar_pull_least import pull_own, pull_stretch

# kernels


@kernel
def pull_kernel(
    words, weights, parts, counter, source, source_first, degree, active_bits, dst, dst_first, dst_last, next_bits,
    open_bits, carry, ints, floats,
):  # fmt: skip
    """Combine the messages of active sources into the parts' own vertices; returns the edges looked at."""
    ctx = context(ints, floats)
    origin, low, span = u64(source_first), u64(dst_first), u64(dst_last) - u64(dst_first)
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        if large:
            v = vertex_of(words, row, u64(0))
            if v - low < span and (not HAS_DONE or is_set(open_bits, v)):
                edges += pull_stretch(
                    words, weights, row, begin, end - begin, u64(1), v, source, origin, degree, active_bits, dst,
                    v - low, next_bits, ctx,
                )  # fmt: skip
            continue
        pending, pending_word = u64(0), u64(0)  # bits of next_bits[pending_word]: one atomic for 64 vertices
        for slot in range(begin, end):
            v = vertex_of(words, row, slot)
            at = v - low
            if at >= span or (HAS_DONE and not is_set(open_bits, v)):
                continue
            first, count = list_of(words, row, slot, begin, end, large, stride)
            improved, looked = pull_own(
                words, weights, row, first, count, stride, v, source, origin, degree, active_bits, dst, at, ctx
            )
            edges += looked
            if improved:
                if v >> u64(6) != pending_word:
                    if IN_PLACE and pending != u64(0):
                        atomic_or(next_bits, pending_word, pending)
                    pending, pending_word = u64(0), v >> u64(6)
                pending |= u64(1) << (v & u64(63))
        if IN_PLACE and pending != u64(0):
            atomic_or(next_bits, pending_word, pending)


@kernel
def pull_records_kernel(
    words, weights, records, counter, source, source_first, degree, active_bits, dst, dst_first, dst_last, next_bits,
    open_bits, ints, floats,
):  # fmt: skip
    """Pull along the given stretches of lists (few open vertices); returns the edges looked at."""
    ctx = context(ints, floats)
    origin, low, span = u64(source_first), u64(dst_first), u64(dst_last) - u64(dst_first)
    edges, count = u64(0), u64(len(records))
    while True:
        claimed = u64(atomic_add(counter, 0, 16))
        if claimed >= count:
            return edges
        for index in range(claimed, min(claimed + u64(16), count)):
            row, begin, length = u64(records[index, 0]), u64(records[index, 1]), u64(records[index, 2])
            v, stride = u64(records[index, 3]), u64(records[index, 4])
            if v - low < span:
                edges += pull_stretch(
                    words, weights, row, begin, length, stride, v, source, origin, degree, active_bits, dst, v - low,
                    next_bits, ctx,
                )  # fmt: skip
