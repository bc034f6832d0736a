"""Pull along a list for MIN, MAX and OR, of programs of one number a vertex."""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.jit import helper, inlined
from gstream.hostcode.templates.methods import IN_PLACE, STOPS_EARLY, better, done, empty, gathered, merged
from gstream.hostcode.templates.scalar_push import settle

# kernels


@helper
def best_of(words, weights, row, begin, count, v, best, source, source_first, degree, active_bits, ctx):
    """`best` combined with the messages of active sources in `count` words from `begin` on; how many edges that took.

    `best_apart` repeats it for column pages, as `spread_apart` does in scalar_push.py, and why.
    """
    for word in range(begin, begin + count):
        u = u64(words[row, word])
        if is_set(active_bits, u):
            at = u - source_first
            if not empty(source[at]):
                new = gathered(source, at, u, degree, weights, row, word, ctx)
                if better(new, best):
                    best = merged(best, new)
                    if STOPS_EARLY and done(v, best, ctx):
                        return best, word - begin + u64(1)
    return best, count


@helper
def best_apart(words, weights, row, begin, count, stride, v, best, source, source_first, degree, active_bits, ctx):
    """The same where neighbours are `stride` words apart (column pages)."""
    for k in range(count):
        word = begin + k * stride
        u = u64(words[row, word])
        if is_set(active_bits, u):
            at = u - source_first
            if not empty(source[at]):
                new = gathered(source, at, u, degree, weights, row, word, ctx)
                if better(new, best):
                    best = merged(best, new)
                    if STOPS_EARLY and done(v, best, ctx):
                        return best, k + u64(1)
    return best, count


@inlined
def best_in(words, weights, row, begin, count, stride, v, best, source, source_first, degree, active_bits, ctx):
    """The one or the other."""
    if stride == u64(1):
        best, edges = best_of(
            words, weights, row, begin, count, v, best, source, source_first, degree, active_bits, ctx
        )
    else:
        best, edges = best_apart(
            words, weights, row, begin, count, stride, v, best, source, source_first, degree, active_bits, ctx
        )
    return best, edges


@inlined
def pull_own(words, weights, row, begin, count, stride, v, source, source_first, degree, active_bits, dst, at, ctx):
    """A whole list, whose vertex no other thread writes; whether it has another value then, and the edges looked at."""
    old = dst[at]
    best, edges = best_in(
        words, weights, row, begin, count, stride, i64(v), old, source, source_first, degree, active_bits, ctx
    )
    improved = better(best, old)
    if improved:
        dst[at] = best
    return improved, edges


@helper
def pull_stretch(
    words, weights, row, begin, count, stride, v, source, source_first, degree, active_bits, dst, at, next_bits, ctx
):
    """One stretch of a list that other threads may work on too; returns the edges looked at."""
    old = dst[at]
    if STOPS_EARLY and done(i64(v), old, ctx):
        return u64(0)
    best, edges = best_in(
        words, weights, row, begin, count, stride, i64(v), old, source, source_first, degree, active_bits, ctx
    )
    if better(best, old) and settle(dst, at, best) and IN_PLACE:
        set_bit(next_bits, v)
    return edges
