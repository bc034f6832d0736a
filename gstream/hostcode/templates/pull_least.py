"""Pull for MIN, MAX and OR: each vertex looks at its active sources, and stops early once it is `done`.

Small pages have one owner a vertex; stretches of large pages and records settle by compare-and-swap, so that a hub can
be cut into many parts. Programs with `done` look only at vertices whose open bit is set. Heads (the first neighbours
of each list, biggest ones first in degree order) settle most vertices of a bottom-up step before any page is read.
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import atomic_add, atomic_or
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, vertex_of
from gstream.hostcode.templates.methods import (
    HAS_DONE,
    IN_PLACE,
    STOPS_EARLY,
    better,
    context,
    done,
    empty,
    gathered,
    merged,
)
from gstream.hostcode.templates.push import settle

# kernels


@helper
def best_of(words, weights, row, begin, count, v, best, source, source_first, degree, active_bits, ctx):
    """`best` combined with the messages of active sources in `count` words from `begin` on; how many edges that took.

    `best_apart` repeats it for column pages, as `spread_apart` does in push.py, and why.
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


@helper
def pull_stretch(
    words, weights, row, begin, count, stride, v, source, source_first, degree, active_bits, dst, at, next_bits, ctx
):
    """One stretch of a list that other threads may work on too; returns the edges looked at."""
    old = dst[at]
    if STOPS_EARLY and done(i64(v), old, ctx):
        return u64(0)
    if stride == u64(1):
        best, edges = best_of(
            words, weights, row, begin, count, i64(v), old, source, source_first, degree, active_bits, ctx
        )
    else:
        best, edges = best_apart(
            words, weights, row, begin, count, stride, i64(v), old, source, source_first, degree, active_bits, ctx
        )
    if better(best, old) and settle(dst, at, best) and IN_PLACE:
        set_bit(next_bits, v)
    return edges


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
            old = dst[at]
            if stride == u64(1):
                best, looked = best_of(
                    words, weights, row, first, count, i64(v), old, source, origin, degree, active_bits, ctx
                )
            else:
                best, looked = best_apart(
                    words, weights, row, first, count, stride, i64(v), old, source, origin, degree, active_bits, ctx
                )
            edges += looked
            if better(best, old):
                dst[at] = best
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
