"""Kernels of reach.py and radius.py: over all vertices between supersteps of a program; and 64 searches by rounds.

front, fresh, seen: uint64[V], bit i: search i reached the vertex in the round before; in this one; ever.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import blocks
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.casts import f64, u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_or, population, trailing_zeros
from gstream.hostcode.jit import kernel
from gstream.records import item_kernel, record_kernel

RUN = 64  # vertices that are an item


@kernel
def count_new(value, seen, score, reached, amount, one, counter):
    """For every bit of value[v] that seen[v] has not: score[v] += amount, reached[v] += one. seen becomes value."""
    for begin, end in blocks(counter, len(value)):
        for v in range(begin, end):
            new = value[v] & ~seen[v]
            if new != u64(0):
                count = f64(population(new))
                score[v] += count * amount
                reached[v] += count * one
                seen[v] = value[v]
    return 0


@kernel
def add_lowest_zeros(value, sums, counter):
    """sums[v] (uint16) += positions of the lowest 0 in both halves of value[v]."""
    ones = u64(0xFFFFFFFF)
    for begin, end in blocks(counter, len(value)):
        for v in range(begin, end):
            low, high = ~value[v] & ones, ~(value[v] >> u64(32)) & ones
            sums[v] += sums.dtype.type(trailing_zeros(low) + trailing_zeros(high))
    return 0


@kernel
def search_alone(words, places, due, front, fresh, seen, score, reached, amounts, ends, most, counter):
    """Rounds by one thread over out-lists (gstream.hostcode.adjacency), as pass_on and count_fresh. Returns the edges
    looked at.

    due: id[2, V]; row ends[2] has the ends[0] vertices whose `front` is not 0. ends[1]: the round in which they were
    reached. Rounds go on while `most` vertices or fewer are due. amounts: float64[n], what an arrival counts, by the
    round.
    """
    count, number, row, edges = u64(ends[0]), ends[1], u64(ends[2]), u64(0)
    while count != 0 and count <= u64(most) and number + 1 < len(amounts) and not is_stopped(counter):
        found, after = u64(0), row ^ u64(1)
        for index in range(count):
            v, k = u64(due[row, index]), u64(0)
            mine, front[v] = front[v], u64(0)
            while True:
                page, word, more, stride = stretch(words, places, v, k)
                if more == u64(0):
                    break
                for step in range(more):
                    u = u64(words[page, word + step * stride])
                    new = mine & ~seen[u]
                    if new != u64(0):
                        if fresh[u] == u64(0):
                            due[after, found] = u
                            found += u64(1)
                        fresh[u] |= new
                k += more
            edges += k
        number += 1
        for index in range(found):
            u = u64(due[after, index])
            new, fresh[u] = fresh[u], u64(0)
            front[u] = new
            seen[u] |= new
            count_of = f64(population(new))
            score[u] += count_of * amounts[number]
            reached[u] += count_of
        count, row = found, after
    ends[0], ends[1], ends[2] = count, number, row
    return edges


@item_kernel(sources="uint64[]", fresh="own", seen="own")
def begin_searches(item, sources, first, searches, fresh, seen):
    """Search from sources[first:first + searches] next; fresh is zero before. An item is RUN vertices."""
    begin, end = item.share(RUN, len(seen))
    for v in range(begin, end):
        seen[v] = u64(0)
    if item.number == u64(0):
        low, high = item.part(first, first + searches)
        for index in range(low, high):
            fresh[sources[index]] = u64(1) << (index - first)


@item_kernel(front="own", fresh="own", seen="own", score="own", reached="float64[] own", last="own")
def count_fresh(item, number, front, fresh, seen, score, reached, amount, each, last):
    """For every bit of fresh[v]: score[v] += amount, reached[v] += each; fresh becomes front. last: uint64[1], the last
    round in which there were any. An item is RUN vertices."""
    begin, end = item.share(RUN, len(seen))
    for v in range(begin, end):
        here = fresh[v]
        front[v] = here
        if here != u64(0):
            fresh[v] = u64(0)
            seen[v] |= here
            arrived = f64(population(here))
            score[v] += arrived * amount
            reached[v] += arrived * each
            last[0] = u64(number)


@record_kernel(fresh="or")
def pass_on(record, number, pull, front, seen, fresh, last):
    """fresh |= what comes over an edge from `front`, if that is of this round, and is not seen yet. pull: in-lists."""
    v = record.vertex
    mine = ~seen[v] if pull else front[v]
    if mine == u64(0) or last[0] != u64(number):
        return
    met = u64(0)
    for u in record.neighbours():
        if pull:
            met |= front[u]
        else:
            here = mine & ~seen[u] & ~fresh[u]
            if here != u64(0):
                atomic_or(fresh, u, here)
    if pull and met & mine != u64(0):
        atomic_or(fresh, v, met & mine)
