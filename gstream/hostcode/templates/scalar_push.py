"""Push along a list, of programs of one number a vertex.

Reads 4 or 8 bytes an edge in order, and the target's value at random, which is the bound.
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import set_bit
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import helper, inlined
from gstream.hostcode.templates.methods import GOT, IDEMPOTENT, IN_PLACE, USES_EDGE, better, merged, send, weight_of

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


@inlined
def spread_list(words, weights, row, begin, count, stride, u, u_value, u_degree, dst, dst_first, span, next_bits, ctx):
    """The one or the other."""
    if stride == u64(1):
        spread(words, weights, row, begin, count, u, u_value, u_degree, dst, dst_first, span, next_bits, ctx)
    else:
        spread_apart(
            words, weights, row, begin, count, stride, u, u_value, u_degree, dst, dst_first, span, next_bits, ctx
        )
