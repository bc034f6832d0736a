"""Pull for MIN, MAX and OR of programs of vectors, as pull_least.py's: each vertex looks at its active sources.

What a vertex gets is combined on the thread's stack, and written once a list. Lists of small pages have one owner;
stretches of large pages and records settle element by element.
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import atomic_add, scratch
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, vertex_of
from gstream.hostcode.templates.methods import (
    ELEMENTS,
    GOT,
    IDENTITY,
    LENGTH,
    better,
    context,
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


@helper
def pull_stretch(words, weights, row, begin, count, stride, source, source_first, degree, active_bits, dst, ctx):
    """One stretch of a list that other threads may work on too. dst: the vertex's row."""
    best = scratch(GOT, LENGTH)
    for i in range(ELEMENTS):
        best[i] = dst[i]
    take_in(best, words, weights, row, begin, count, stride, source, source_first, degree, active_bits, ctx)
    settle_row(dst, best)


@kernel
def pull_kernel(
    words, weights, parts, counter, source, source_first, degree, active_bits, dst, dst_first, dst_last, next_bits,
    open_bits, carry, ints, floats,
):  # fmt: skip
    """Combine the messages of active sources into the parts' own vertices; returns the edges looked at."""
    ctx = context(ints, floats)
    origin, low, span = u64(source_first), u64(dst_first), u64(dst_last) - u64(dst_first)
    edges, best = u64(0), scratch(GOT, LENGTH)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        if large:
            at = vertex_of(words, row, u64(0)) - low
            if at < span:
                pull_stretch(
                    words, weights, row, begin, end - begin, u64(1), source, origin, degree, active_bits, dst[at], ctx
                )
                edges += end - begin
            continue
        for slot in range(begin, end):
            at = vertex_of(words, row, slot) - low
            if at < span:
                first, count = list_of(words, row, slot, begin, end, large, stride)
                into = dst[at]
                for i in range(ELEMENTS):
                    best[i] = into[i]
                take_in(best, words, weights, row, first, count, stride, source, origin, degree, active_bits, ctx)
                for i in range(ELEMENTS):
                    into[i] = best[i]
                edges += count


@kernel
def pull_records_kernel(
    words, weights, records, counter, source, source_first, degree, active_bits, dst, dst_first, dst_last, next_bits,
    open_bits, ints, floats,
):  # fmt: skip
    """Pull along the given stretches of lists; returns the edges looked at."""
    ctx = context(ints, floats)
    origin, low, span = u64(source_first), u64(dst_first), u64(dst_last) - u64(dst_first)
    edges, count = u64(0), u64(len(records))
    while True:
        claimed = u64(atomic_add(counter, 0, 16))
        if claimed >= count:
            return edges
        for index in range(claimed, min(claimed + u64(16), count)):
            row, begin, length = u64(records[index, 0]), u64(records[index, 1]), u64(records[index, 2])
            at, stride = u64(records[index, 3]) - low, u64(records[index, 4])
            if at < span:
                pull_stretch(
                    words, weights, row, begin, length, stride, source, origin, degree, active_bits, dst[at], ctx
                )
                edges += length
