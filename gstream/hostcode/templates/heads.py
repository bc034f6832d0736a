"""The bottom-up step over heads: most open vertices settle by their first four neighbours, without any page.

Threads claim 4,096 vertices; the words of the bitmaps are theirs alone, so nothing is atomic but the claim. Reads 16 or
32 bytes for each open vertex in order and up to four bits of the frontier, which fits in cache (128 KiB a million).
"""

from __future__ import annotations

from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import atomic_add, trailing_zeros
from gstream.hostcode.jit import kernel
from gstream.hostcode.templates.methods import (
    better,
    context,
    degree_of,
    done,
    empty,
    merged,
    send,
)

# kernels


@kernel
def pull_heads_kernel(
    heads, head_skip, open_bits, remain_bits, value, degree, active_bits, next_bits, first, last, ints, floats, counter
):
    """Settle open vertices of [first, last) from their heads; remain_bits: open still, with a list beyond the heads.

    Returns the edges looked at. `value` and `degree` are of all vertices.
    """
    ctx = context(ints, floats)
    stop, skip, one = u64(last), u64(head_skip), u64(1)
    none = ~u64(0) >> u64(64 - 8 * heads.itemsize)  # all bits set in the width of an ID
    edges = u64(0)
    while True:
        begin = u64(first) + u64(atomic_add(counter, 0, 1)) * u64(4096)
        if begin >= stop:
            return edges
        for base in range(begin, min(begin + u64(4096), stop), u64(64)):
            index = base >> u64(6)
            todo, settled, remain, fresh = open_bits[index], u64(0), u64(0), u64(0)
            if base + u64(64) > stop:
                todo &= (one << (stop - base)) - one
            while todo != u64(0):
                bit = todo & (~todo + one)
                v = base + trailing_zeros(todo)
                todo ^= bit
                row = v - skip
                best = value[v]
                old = best
                finished = False
                for k in range(u64(4)):
                    u = u64(heads[row, k])
                    if u == none:
                        if k == u64(0):
                            settled |= bit  # no in-edges: nothing will ever come
                        finished = True
                        break
                    edges += one
                    if is_set(active_bits, u) and not empty(value[u]):
                        new = send(i64(u), value[u], degree_of(degree, u), 0, ctx)
                        if better(new, best):
                            best = merged(best, new)
                            if done(i64(v), best, ctx):
                                settled |= bit
                                finished = True
                                break
                if best != old:
                    value[v] = best
                    fresh |= bit
                if not finished:
                    remain |= bit
            open_bits[index] &= ~settled
            remain_bits[index] = remain
            next_bits[index] |= fresh
