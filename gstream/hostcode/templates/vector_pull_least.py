"""Pull along a list for MIN, MAX and OR, of programs of vectors.

What a vertex gets is combined on the thread's stack, and written once a list. Lists of small pages have one owner;
stretches of large pages and records settle element by element.
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import scratch
from gstream.hostcode.jit import helper, inlined
from gstream.hostcode.templates.methods import (
    ELEMENTS,
    GOT,
    IDENTITY,
    LENGTH,
    better,
    degree_of,
    gathered,
    merged,
    weight_of,
)
from gstream.hostcode.templates.vector_push import numbers_of, settle_row

# kernels


@helper
def take_in(best, words, weights, row, begin, count, stride, source, source_first, degree, active_bits, ctx):
    """`best` combined with the messages of active sources in `count` words, `stride` apart from `begin` on."""
    for k in range(count):
        word = begin + k * stride
        u = u64(words[row, word])
        if is_set(active_bits, u):
            at = u - source_first
            sender, out, weight = source[at], degree_of(degree, at), weight_of(weights, row, word)
            for i in range(numbers_of(sender)):
                new, old = gathered(sender, u, out, weight, i64(i), ctx), best[i]
                best[i] = merged(old, new) if sender[i] != IDENTITY and better(new, old) else old


@inlined
def pull_own(words, weights, row, begin, count, stride, v, source, source_first, degree, active_bits, dst, at, ctx):
    """A whole list, whose vertex no other thread writes. What improved is left to `apply`."""
    into, best = dst[at], scratch(GOT, LENGTH)
    for i in range(ELEMENTS):
        best[i] = into[i]
    take_in(best, words, weights, row, begin, count, stride, source, source_first, degree, active_bits, ctx)
    for i in range(ELEMENTS):
        into[i] = best[i]
    return False, count


@helper
def pull_stretch(
    words, weights, row, begin, count, stride, v, source, source_first, degree, active_bits, dst, at, next_bits, ctx
):
    """One stretch of a list that other threads may work on too; returns the edges looked at."""
    into, best = dst[at], scratch(GOT, LENGTH)
    for i in range(ELEMENTS):
        best[i] = into[i]
    take_in(best, words, weights, row, begin, count, stride, source, source_first, degree, active_bits, ctx)
    settle_row(into, best)
    return count
