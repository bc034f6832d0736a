"""Pull for SUM: each vertex's list is summed by its one owner; no atomics.

Parts of large pages leave their sums in `carry` rows (Garaph 4.1: replicas at the boundaries of edge-balanced parts),
which the driver adds in page order, so that any number of threads or devices gives the same bits. How a list is summed
is scalar_pull_sum.py's, or vector_pull_sum.py's.
"""

from __future__ import annotations

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import kernel
from gstream.hostcode.page_words import claim, list_of, part_of, vertex_of
from gstream.hostcode.templates.methods import context
from gstream.hostcode.templates.scalar_pull_sum import add_sum, put_sum

# kernels


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
            put_sum(words, weights, row, begin, end - begin, u64(1), source, origin, degree, carry, part, ctx)
            edges += end - begin
            continue
        for slot in range(begin, end):
            at = vertex_of(words, row, slot) - low
            if at < span:
                first, count = list_of(words, row, slot, begin, end, large, stride)
                add_sum(words, weights, row, first, count, stride, source, origin, degree, dst, at, ctx)
                edges += count
