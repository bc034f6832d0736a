"""Kernels of k-truss: triangles of every edge, and edges that are in too few of them taken off.

An edge is an entry in the list of its lower end (gstream.algorithms.joins); lists are gathered by blocks, sorted, each
neighbour once, so an entry always has the same number: base, of its block, and its place in the block's `entries`.
alive: u64[ceil(entries / 64)], bits of edges that are there. touched: u64[ceil(V / 64)], vertices that lost an edge:
only edges at one of them can have lost a triangle. support: u4[entries of a block], triangles of each edge.
"""

from __future__ import annotations

from gstream.algorithms.joins import RUN
from gstream.algorithms.peeling import bit
from gstream.algorithms.records import claim, u64
from gstream.algorithms.shared import is_set, lower, set_bit
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel


@kernel
def open_edges(starts, after, base, alive, counter):
    """Set the bits of all entries of a block; returns how many there are."""
    found = u64(0)
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= u64(len(after)):
            return found
        for k in range(begin, min(begin + u64(RUN), u64(len(after)))):
            for index in range(starts[k], after[k]):
                set_bit(alive, base + index)
                found += u64(1)


@kernel
def count_touched(first, starts, after, entries, base, alive, touched, counter):
    """How many edges of a block are there, at a touched vertex."""
    found = u64(0)
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= u64(len(after)):
            return found
        for k in range(begin, min(begin + u64(RUN), u64(len(after)))):
            mine = is_set(touched, u64(first) + k)
            for index in range(starts[k], after[k]):
                if (mine or is_set(touched, u64(entries[index]) >> u64(2))) and is_set(alive, base + index):
                    found += u64(1)


@helper
def is_near(v, low, high, entries, base, alive, touched):
    """Whether an edge of v, or the one between two of its higher neighbours, is at a touched vertex."""
    if is_set(touched, v):
        return True
    for index in range(low, high):
        if is_set(touched, u64(entries[index]) >> u64(2)) and is_set(alive, base + index):
            return True
    return False


@kernel
def count_supports(
    one_first, one_starts, one_after, one, one_base, two_first, two_starts, two_after, two, two_base,
    alive, touched, of_one, of_two, support, counter,
):  # fmt: skip
    """support += triangles v < u < w near touched vertices, v in block `one`, u in block `two`.

    of_one: `support` is that of block one's edges, v - u and v - w; of_two: of block two's, u - w.
    """
    steps, unit = u64(0), support.dtype.type(1)
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= u64(len(one_after)):
            return steps
        for k in range(begin, min(begin + u64(RUN), u64(len(one_after)))):
            low, high = one_starts[k], one_after[k]
            if not is_near(u64(one_first) + k, low, high, one, one_base, alive, touched):
                continue
            for index in range(low, high):
                u = u64(one[index]) >> u64(2)
                if u < two_first or u - two_first >= u64(len(two_after)) or not is_set(alive, one_base + index):
                    continue
                place, stop = two_starts[u - two_first], two_after[u - two_first]
                mine, closed = low, u64(0)
                while mine < high and place < stop:
                    a, b = u64(one[mine]) >> u64(2), u64(two[place]) >> u64(2)
                    if a == b and is_set(alive, one_base + mine) and is_set(alive, two_base + place):
                        closed += u64(1)
                        if of_one:
                            atomic_add(support, mine, unit)
                        if of_two:
                            atomic_add(support, place, unit)
                    mine += u64(a <= b)
                    place += u64(b <= a)
                    steps += u64(1)
                if of_one and closed:
                    atomic_add(support, index, support.dtype.type(closed))


@kernel
def take_edges(
    first, starts, after, entries, base, alive, touched, support, wanted, number, numbers, following, least, counter
):
    """Take off edges at touched vertices that are in fewer than `wanted` triangles; returns how many.

    following: bits of their ends. numbers: u4[entries of all blocks], given `number`, or of none. least (u8[1]): the
    fewest triangles of an edge that was looked at and stays.
    """
    taken, fewest = u64(0), ~u64(0)
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= u64(len(after)):
            lower(least, u64(0), fewest)
            return taken
        for k in range(begin, min(begin + u64(RUN), u64(len(after)))):
            v = u64(first) + k
            for index in range(starts[k], after[k]):
                edge, u = base + index, u64(entries[index]) >> u64(2)
                if not is_set(alive, edge) or not (is_set(touched, v) or is_set(touched, u)):
                    continue
                if u64(support[index]) >= wanted:
                    fewest = min(fewest, u64(support[index]))
                    continue
                atomic_add(alive, edge >> u64(6), ~bit(edge) + u64(1))  # takes the bit away: nobody else does
                set_bit(following, v)
                set_bit(following, u)
                if len(numbers):
                    numbers[edge] = number
                taken += u64(1)


@kernel
def list_edges(first, starts, after, entries, base, alive, numbers, filled, source, target, number, counter):
    """source, target: both ends of the edges that are there, number: theirs of `numbers`; filled (u8[1]): how many."""
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= u64(len(after)):
            return u64(0)
        for k in range(begin, min(begin + u64(RUN), u64(len(after)))):
            found = u64(0)
            for index in range(starts[k], after[k]):
                found += u64(is_set(alive, base + index))
            place = atomic_add(filled, 0, found)
            for index in range(starts[k], after[k]):
                if is_set(alive, base + index):
                    source[place], target[place] = u64(first) + k, u64(entries[index]) >> u64(2)
                    if len(numbers):
                        number[place] = numbers[base + index]
                    place += u64(1)
