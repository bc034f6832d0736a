"""Sums along a list, of programs of vectors.

Sums are taken on the thread's stack, in the order of the list, so that any number of threads or devices gives the same
bits; parts of large pages leave theirs in `carry` rows.
"""

from __future__ import annotations

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import scratch
from gstream.hostcode.jit import helper, inlined
from gstream.hostcode.templates.methods import ELEMENTS, GOT, LENGTH, degree_of, gathered, weight_of
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


@inlined
def add_sum(words, weights, row, begin, count, stride, source, source_first, degree, out, at, ctx):
    """out[at] += the sums along a list."""
    sums, into = scratch(GOT, LENGTH), out[at]
    add_up(sums, words, weights, row, begin, count, stride, source, source_first, degree, ctx)
    for i in range(ELEMENTS):
        into[i] += sums[i]


@inlined
def put_sum(words, weights, row, begin, count, stride, source, source_first, degree, out, at, ctx):
    """out[at] = the sums along a list."""
    sums, into = scratch(GOT, LENGTH), out[at]
    add_up(sums, words, weights, row, begin, count, stride, source, source_first, degree, ctx)
    for i in range(ELEMENTS):
        into[i] = sums[i]
