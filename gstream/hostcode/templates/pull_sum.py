"""Pull for SUM: each vertex's list is summed in registers by its one owner; no atomics.

Parts of large pages leave their sums in `carry` rows (Garaph 4.1: replicas at the boundaries of edge-balanced parts),
which the driver adds in page order, so that any number of threads or devices gives the same bits. Reads 4 or 8 bytes an
edge in order and one source value an edge at random, which is the bound.
"""

from __future__ import annotations

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, vertex_of
from gstream.hostcode.templates.methods import GOT, context, gathered

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


@kernel
def pull_kernel(
    words, weights, parts, counter, source, source_first, degree, active_bits, dst, dst_first, dst_last, next_bits,
    open_bits, carry, ints, floats,
):  # fmt: skip
    """dst[v] += sum over the in-edges of the parts; large pages into carry[part]. Returns the edges looked at."""
    ctx = context(ints, floats)
    origin, low, span = u64(source_first), u64(dst_first), u64(dst_last) - u64(dst_first)
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        if large:
            carry[part] = summed(words, weights, row, begin, end - begin, source, origin, degree, ctx)
            edges += end - begin
            continue
        for slot in range(begin, end):
            at = vertex_of(words, row, slot) - low
            if at < span:
                first, count = list_of(words, row, slot, begin, end, large, stride)
                if stride == u64(1):  # a loop of its own, as it was before there were columns
                    dst[at] += summed(words, weights, row, first, count, source, origin, degree, ctx)
                else:
                    dst[at] += summed_apart(words, weights, row, first, count, stride, source, origin, degree, ctx)
                edges += count
