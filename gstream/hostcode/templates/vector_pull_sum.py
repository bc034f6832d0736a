"""Pull for SUM of programs of vectors, as pull_sum.py's: each vertex's list is summed by its one owner; no atomics.

Sums are taken on the thread's stack, in the order of the list, so that any number of threads or devices gives the same
bits; parts of large pages leave theirs in `carry` rows.
"""

from __future__ import annotations

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import scratch
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, vertex_of
from gstream.hostcode.templates.methods import ELEMENTS, GOT, LENGTH, context, degree_of, gathered, weight_of
from gstream.hostcode.templates.vector_push import numbers_of

# kernels


@helper
def add_up(sums, words, weights, row, begin, count, stride, source, source_first, degree, ctx):
    """sums: those of the messages along `count` words of page `row`, `stride` apart from `begin` on."""
    for i in range(ELEMENTS):
        sums[i] = GOT(0)
    for k in range(count):
        word = begin + k * stride
        u = u64(words[row, word])
        at = u - source_first
        sender, out, weight = source[at], degree_of(degree, at), weight_of(weights, row, word)
        for i in range(numbers_of(sender)):
            sums[i] += GOT(gathered(sender, u, out, weight, i64(i), ctx))


@kernel
def pull_kernel(
    words, weights, parts, counter, source, source_first, degree, active_bits, dst, dst_first, dst_last, next_bits,
    open_bits, carry, ints, floats,
):  # fmt: skip
    """dst[v] += sum over the in-edges of the parts; large pages into carry[part]. Returns the edges looked at."""
    ctx = context(ints, floats)
    origin, low, span = u64(source_first), u64(dst_first), u64(dst_last) - u64(dst_first)
    edges, sums = u64(0), scratch(GOT, LENGTH)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        if large:
            add_up(sums, words, weights, row, begin, end - begin, u64(1), source, origin, degree, ctx)
            for i in range(ELEMENTS):
                carry[part, i] = sums[i]
            edges += end - begin
            continue
        for slot in range(begin, end):
            at = vertex_of(words, row, slot) - low
            if at < span:
                first, count = list_of(words, row, slot, begin, end, large, stride)
                add_up(sums, words, weights, row, first, count, stride, source, origin, degree, ctx)
                for i in range(ELEMENTS):
                    dst[at, i] += sums[i]
                edges += count
