"""Kernels of k-core: vertices are peeled off level by level, and only pages of those peeled are visited.

degree: u4 or u8[V]. A vertex is there while its degree is above the level; taking one off lowers each neighbour by one,
never below the level, so that degrees end as core numbers (Batagelj, Zaversnik 2003; by levels as Kabir, Madduri 2017).
todo: u64[ceil(V / 64)] for each topology, vertices taken off whose list in it has yet to be looked at. A list that
one thread has alone is looked at as soon as its bit is seen, so a chain that goes up in IDs falls in one sweep; lists
that are shared (a hub's, and all of them on GPUs) go by `now`, the bits as they were before the sweep, so that all of
a list is looked at in the same one.
"""

from __future__ import annotations

from gstream.algorithms.nearest import BLOCK
from gstream.algorithms.records import claim, i64, u64
from gstream.algorithms.shared import is_set, lower
from gstream.hostcode.intrinsics import atomic_add, atomic_or, compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.records import record_kernel


@helper
def bit(v):
    """The bit of v in its word."""
    return u64(1) << (v & u64(63))


@helper
def is_due(mine, now, v, shared):
    """Whether v's list is to be looked at; one that is not shared is then not due any more."""
    if shared:
        return is_set(now, v)
    if not is_set(mine, v):
        return False
    atomic_add(mine, v >> u64(6), ~bit(v) + u64(1))  # takes the bit away: nobody else does
    return True


@helper
def drop(degree, v, level):
    """Lower v's degree by one if it is above the level; whether that took it to the level."""
    seen = degree[v]
    while seen > level:
        fresh = degree.dtype.type(seen - degree.dtype.type(1))
        written, seen = compare_and_swap(degree, v, seen, fresh)
        if written:
            return fresh == level
    return False


@kernel
def least_above(degree, level, least, counter):
    """least (u8[1]): the least degree above the level."""
    while True:
        begin = claim(counter) * u64(BLOCK)
        if begin >= u64(len(degree)):
            return u64(0)
        found = ~u64(0)
        for v in range(begin, min(begin + u64(BLOCK), u64(len(degree)))):
            if degree[v] > level:
                found = min(found, u64(degree[v]))
        lower(least, u64(0), found)


@kernel
def open_level(degree, level, newly, todo, counter):
    """todo: vertices of degree `level` (newly), or at most that. Written whole; returns how many there are."""
    found = u64(0)
    while True:
        begin = claim(counter) * u64(BLOCK // 64)
        if begin >= u64(len(todo)):
            return found
        for index in range(begin, min(begin + u64(BLOCK // 64), u64(len(todo)))):
            word, first = u64(0), index * u64(64)
            for v in range(first, min(first + u64(64), u64(len(degree)))):
                if degree[v] == level or (degree[v] < level and not newly):
                    word |= bit(v)
                    found += u64(1)
            todo[index] = word


@record_kernel(mine="own", other="own", degree="own")
def peel(record, mine, other, now, hubs, ends, degree, level):
    """Take off the vertices that are due: mine, other: `todo` of this topology and of the other one, which are not the
    same array: between the two bits that make a vertex due another thread may look at its list."""
    v = record.vertex
    if not is_due(mine, now, v, record.shared):
        return
    for u in record.distinct(hubs, ends):
        if u != v and drop(degree, u, level):
            atomic_or(mine, u >> u64(6), bit(u))
            atomic_or(other, u >> u64(6), bit(u))


@record_kernel(left="sum")
def count_not_below(record, hubs, ends, core, left):
    """left[v] += neighbours of v whose core number is not below v's."""
    v, found = record.vertex, i64(0)
    for u in record.distinct(hubs, ends):
        if u != v and core[u] >= core[v]:
            found += 1
    atomic_add(left, v, found)


@kernel
def open_settled(core, left, todo, counter):
    """todo: vertices with no more neighbours left than their core number. Written whole."""
    while True:
        begin = claim(counter) * u64(BLOCK // 64)
        if begin >= u64(len(todo)):
            return u64(0)
        for index in range(begin, min(begin + u64(BLOCK // 64), u64(len(todo)))):
            word, first = u64(0), index * u64(64)
            for v in range(first, min(first + u64(64), u64(len(core)))):
                if left[v] <= core[v]:
                    word |= bit(v)
            todo[index] = word


@record_kernel(mine="own", other="own", left="own")
def take_layers(record, mine, other, now, hubs, ends, core, left):
    """Take off the vertices that are due, in all layers (vertices of one core number) at once: `left` (i8[V]) of their
    neighbours in the same layer goes down; who has no more left than its core number is due.
    """
    v = record.vertex
    if not is_due(mine, now, v, record.shared):
        return
    for u in record.distinct(hubs, ends):
        if u != v and core[u] == core[v] and atomic_add(left, u, i64(-1)) == core[u] + i64(1):
            atomic_or(mine, u >> u64(6), bit(u))
            atomic_or(other, u >> u64(6), bit(u))
