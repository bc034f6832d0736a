"""Sums along a list, of programs of one number a vertex, in registers.

Reads 4 or 8 bytes an edge in order and one source value an edge at random, which is the bound.
"""

from __future__ import annotations

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper, inlined
from gstream.hostcode.templates.methods import GOT, gathered

# kernels


@helper
def summed(words, weights, row, begin, count, source, source_first, degree, ctx):
    """Sum of the messages along `count` words of page `row` from `begin` on; four sums, so that additions overlap."""
    end = begin + count
    a, b, c, d = GOT(0), GOT(0), GOT(0), GOT(0)
    word = begin
    while word + u64(4) <= end:
        p, q = u64(words[row, word]), u64(words[row, word + u64(1)])
        r, s = u64(words[row, word + u64(2)]), u64(words[row, word + u64(3)])
        a += GOT(gathered(source, p - source_first, p, degree, weights, row, word, ctx))
        b += GOT(gathered(source, q - source_first, q, degree, weights, row, word + u64(1), ctx))
        c += GOT(gathered(source, r - source_first, r, degree, weights, row, word + u64(2), ctx))
        d += GOT(gathered(source, s - source_first, s, degree, weights, row, word + u64(3), ctx))
        word += u64(4)
    while word < end:
        p = u64(words[row, word])
        a += GOT(gathered(source, p - source_first, p, degree, weights, row, word, ctx))
        word += u64(1)
    return (a + b) + (c + d)


@helper
def summed_apart(words, weights, row, begin, count, stride, source, source_first, degree, ctx):
    """The same, with the same bits, where neighbours are `stride` words apart (column pages)."""
    a, b, c, d = GOT(0), GOT(0), GOT(0), GOT(0)
    word, end = begin, begin + count * stride
    while word + u64(3) * stride < end:
        p, q = u64(words[row, word]), u64(words[row, word + stride])
        r, s = u64(words[row, word + u64(2) * stride]), u64(words[row, word + u64(3) * stride])
        a += GOT(gathered(source, p - source_first, p, degree, weights, row, word, ctx))
        b += GOT(gathered(source, q - source_first, q, degree, weights, row, word + stride, ctx))
        c += GOT(gathered(source, r - source_first, r, degree, weights, row, word + u64(2) * stride, ctx))
        d += GOT(gathered(source, s - source_first, s, degree, weights, row, word + u64(3) * stride, ctx))
        word += u64(4) * stride
    while word < end:
        p = u64(words[row, word])
        a += GOT(gathered(source, p - source_first, p, degree, weights, row, word, ctx))
        word += stride
    return (a + b) + (c + d)


@inlined
def add_sum(words, weights, row, begin, count, stride, source, source_first, degree, out, at, ctx):
    """out[at] += the sum along a list."""
    if stride == u64(1):  # a loop of its own, which takes no multiplications
        out[at] += summed(words, weights, row, begin, count, source, source_first, degree, ctx)
    else:
        out[at] += summed_apart(words, weights, row, begin, count, stride, source, source_first, degree, ctx)


@inlined
def put_sum(words, weights, row, begin, count, stride, source, source_first, degree, out, at, ctx):
    """out[at] = the sum along a list of a large page, whose neighbours stand side by side."""
    out[at] = summed(words, weights, row, begin, count, source, source_first, degree, ctx)
