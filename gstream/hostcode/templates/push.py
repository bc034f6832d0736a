"""Push: a source's message goes to all its targets, which any thread may write: atomics on dst and next_bits.

Work is claimed by parts of about 16,384 edges (dense) or by 16 records (sparse). Reads 4 or 8 bytes an edge in order,
and the target's value at random, which is the bound.
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, slots_of, vertex_of
from gstream.hostcode.templates.methods import (
    GOT,
    IDEMPOTENT,
    IN_PLACE,
    USES_EDGE,
    better,
    context,
    degree_of,
    empty,
    merged,
    send,
    weight_of,
)

# kernels


@helper
def settle(dst, at, new):
    """Combine `new` into dst[at], which other threads write too; True when that changed it."""
    if not IDEMPOTENT:
        atomic_add(dst, at, GOT(new))
        return True
    old = dst[at]
    while better(new, old):
        written, old = compare_and_swap(dst, at, old, merged(old, new))
        if written:
            return True
    return False


@helper
def spread(words, weights, row, begin, count, u, u_value, u_degree, dst, dst_first, span, next_bits, ctx):
    """Send along the edges in `count` words of page `row` from `begin` on to targets in [dst_first, dst_first + span).

    `spread_apart` repeats it for column pages: with both loops in one function, or a body that both call, it is not
    inlined, and short lists took 49 ns instead of 33.
    """
    message = send(i64(u), u_value, u_degree, weight_of(weights, row, begin), ctx)
    for word in range(begin, begin + count):
        target = u64(words[row, word])
        at = target - dst_first
        if at < span:
            if USES_EDGE:
                message = send(i64(u), u_value, u_degree, weight_of(weights, row, word), ctx)
            if settle(dst, at, message) and IN_PLACE:
                set_bit(next_bits, target)


@helper
def spread_apart(words, weights, row, begin, count, stride, u, u_value, u_degree, dst, dst_first, span, next_bits, ctx):
    """The same where neighbours are `stride` words apart (column pages)."""
    message = send(i64(u), u_value, u_degree, weight_of(weights, row, begin), ctx)
    for k in range(count):
        word = begin + k * stride
        target = u64(words[row, word])
        at = target - dst_first
        if at < span:
            if USES_EDGE:
                message = send(i64(u), u_value, u_degree, weight_of(weights, row, word), ctx)
            if settle(dst, at, message) and IN_PLACE:
                set_bit(next_bits, target)


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
            if stride == u64(1):
                spread(words, weights, row, first, count, u, u_value, out, dst, low, span, next_bits, ctx)
            else:
                spread_apart(words, weights, row, first, count, stride, u, u_value, out, dst, low, span, next_bits, ctx)
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
            if stride == u64(1):
                spread(words, weights, row, begin, length, u, u_value, out, dst, low, span, next_bits, ctx)
            else:
                spread_apart(
                    words, weights, row, begin, length, stride, u, u_value, out, dst, low, span, next_bits, ctx
                )
            edges += length
