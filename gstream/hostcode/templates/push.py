"""Push: a source's message goes to all its targets, which any thread may write: atomics on dst and next_bits.

Work is claimed by parts of about 16,384 edges (dense) or by 16 records (sparse). What is done along a list is
scalar_push.py's, or vector_push.py's.
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel
from gstream.hostcode.page_words import claim, list_of, part_of, slots_of, vertex_of
from gstream.hostcode.templates.methods import IDEMPOTENT, context, degree_of, empty
from gstream.hostcode.templates.scalar_push import spread_list

# kernels


@kernel
def push_kernel(
    words, weights, parts, counter, value, value_first, degree, active_bits, dst, dst_first, dst_last, next_bits, ints,
    floats,
):  # fmt: skip
    """Push from every active vertex of the parts; returns the edges looked at."""
    ctx = context(ints, floats)
    origin, low, span = u64(value_first), u64(dst_first), u64(dst_last) - u64(dst_first)
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        first_slot, end_slot = slots_of(begin, end, large)
        for slot in range(first_slot, end_slot):
            u = vertex_of(words, row, slot)
            if IDEMPOTENT and not is_set(active_bits, u):
                continue
            at = u - origin
            u_value = value[at]
            if IDEMPOTENT and empty(u_value):
                continue
            first, count = list_of(words, row, slot, begin, end, large, stride)
            out = degree_of(degree, at)
            spread_list(words, weights, row, first, count, stride, u, u_value, out, dst, low, span, next_bits, ctx)
            edges += count


@kernel
def push_records_kernel(
    words, weights, records, counter, value, value_first, degree, active_bits, dst, dst_first, dst_last, next_bits,
    ints, floats,
):  # fmt: skip
    """Push along the given stretches of lists (sparse frontiers); returns the edges looked at."""
    ctx = context(ints, floats)
    origin, low, span = u64(value_first), u64(dst_first), u64(dst_last) - u64(dst_first)
    edges, count = u64(0), u64(len(records))
    while True:
        claimed = u64(atomic_add(counter, 0, 16))
        if claimed >= count:
            return edges
        for index in range(claimed, min(claimed + u64(16), count)):
            row, begin, length = u64(records[index, 0]), u64(records[index, 1]), u64(records[index, 2])
            u, stride = u64(records[index, 3]), u64(records[index, 4])
            u_value = value[u - origin]
            if IDEMPOTENT and empty(u_value):
                continue
            out = degree_of(degree, u - origin)
            spread_list(words, weights, row, begin, length, stride, u, u_value, out, dst, low, span, next_bits, ctx)
            edges += length
