"""Kernels of k-core: vertices are peeled off level by level (Batagelj, Zaversnik 2003; by levels as Kabir, Madduri
2017).

degree: u4 or u8[V]. A vertex is there while its degree is above the level. Taking one off lowers each neighbour by one,
never below the level, so degrees end as core numbers. there: bits of vertices that may be above the level.
* mine, now: u64[ceil(V / 64)] for each topology: vertices taken off whose list in it is to be looked at, and those of
  them that were due when the round began.
* A list that one thread has alone is looked at as soon as its bit is in `mine`, so a chain that goes up in IDs falls in
  one sweep. Lists that are shared (a hub's, and all on GPUs) go by `now`, so that all of a list is looked at in one
  sweep.
* level: u64[2], the level, and the next one or NONE. last: u64[2], the last rounds in which a vertex was due, and in
  which a level was opened.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import lower
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import i64, u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_add, atomic_or, compare_and_swap, trailing_zeros
from gstream.hostcode.jit import helper, kernel
from gstream.records import item_kernel, record_kernel

WORDS = 32  # of a bitmap, that are an item: one for each lane
DUE, OPENED = 0, 1  # of `last`
LEVEL, NEXT = 0, 1  # of `level`
NONE = u64(0xFFFFFFFFFFFFFFFF)


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
    atomic_add(mine, v >> u64(6), ~bit(v) + u64(1))  # takes the bit away; no other thread does
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


@item_kernel(mine="own", now="own", last="own", level="uint64[] own")
def settle(item, number, mine, now, last, level):
    """Start a round: `now` are the vertices that are still `mine`, as all lists of the last round were looked at.
    last[DUE]: the round, if there is any. An item is WORDS words of bits."""
    begin, end = item.share(WORDS, len(mine))
    for index in range(begin, end):
        left = mine[index] & ~now[index]
        mine[index] = left
        now[index] = left
        if left != u64(0):
            last[DUE] = u64(number)
        if index == u64(0):
            level[NEXT] = NONE


@item_kernel(there="own", level="uint64[] own")
def find_next(item, number, degree, there, last, level):
    """If no vertex is due in this round, level[NEXT] is the least degree above the level. there: vertices above it."""
    if last[DUE] == u64(number):
        return
    begin, end = item.share(WORDS, len(there))
    least, below = NONE, level[LEVEL]
    for index in range(begin, end):
        word, stays = there[index], u64(0)
        while word != u64(0):
            place = trailing_zeros(word)
            word &= word - u64(1)
            found = u64(degree[(index << u64(6)) + place])
            if found > below:
                stays |= u64(1) << place
                least = min(least, found)
        there[index] = stays
    lower(level, u64(NEXT), least)


@item_kernel(mine="own", now="own", last="own", level="uint64[] own")
def open_next(item, number, degree, there, mine, now, last, level):
    """If no vertex is due in this round, open the next level, if there is one: vertices that are not above it are due.
    last[OPENED]: the round."""
    upto = level[NEXT]
    if last[DUE] == u64(number) or upto == NONE:
        return
    begin, end = item.share(WORDS, len(mine))
    for index in range(begin, end):
        word, due = there[index], u64(0)
        while word != u64(0):
            place = trailing_zeros(word)
            word &= word - u64(1)
            if u64(degree[(index << u64(6)) + place]) <= upto:
                due |= u64(1) << place
        mine[index] = due
        now[index] = due
        if due != u64(0):
            last[OPENED] = u64(number)
        if index == u64(0):
            level[LEVEL] = upto


@record_kernel(mine="own", other="own", degree="own", level="uint64[]")
def peel(record, mine, other, now, hubs, ends, degree, level):
    """Take off the vertices that are due. mine, other: vertices to take off in this topology and in the other one. They
    are two arrays: between the two bits that make a vertex due another thread may look at its list."""
    v = record.vertex
    if not is_due(mine, now, v, record.shared):
        return
    floor = degree.dtype.type(level[LEVEL])
    for u in record.distinct(hubs, ends):
        if u != v and drop(degree, u, floor):
            atomic_or(mine, u >> u64(6), bit(u))
            atomic_or(other, u >> u64(6), bit(u))


@record_kernel(left="int64[] sum")
def count_not_below(record, hubs, ends, core, left):
    """left[v] += neighbours of v whose core number is not below v's."""
    v, found = record.vertex, i64(0)
    for u in record.distinct(hubs, ends):
        if u != v and core[u] >= core[v]:
            found += 1
    atomic_add(left, v, found)


@record_kernel(mine="own", other="own", left="int64[] own")
def take_layers(record, mine, other, now, hubs, ends, core, left):
    """Take off the vertices that are due, in all layers (vertices of one core number) at once. `left` (i8[V]) of their
    neighbours in the same layer falls; a vertex with no more left than its core number is due."""
    v = record.vertex
    if not is_due(mine, now, v, record.shared):
        return
    for u in record.distinct(hubs, ends):
        if u != v and core[u] == core[v] and atomic_add(left, u, i64(-1)) == core[u] + i64(1):
            atomic_or(mine, u >> u64(6), bit(u))
            atomic_or(other, u >> u64(6), bit(u))


@helper
def look_alone(words, places, mine, other, v, count, core, level, queue, end):
    """Take v off along one topology, by one thread, if its list there was not looked at. Returns the end of the queue,
    to which vertices that fall are added, and the edges looked at."""
    if not is_set(mine, v):
        return end, u64(0)
    mine[v >> u64(6)] &= ~bit(v)
    layered, k, before = len(core) > 0, u64(0), v
    floor = count.dtype.type(core[v]) if layered else count.dtype.type(level)
    while True:
        row, word, more, stride = stretch(words, places, v, k)
        if more == u64(0):
            return end, k
        for step in range(more):
            u = u64(words[row, word + step * stride])
            if u == v or u == before:  # lists ascend: an edge that is there twice stands beside itself
                continue
            before = u
            if layered and core[u] != core[v]:
                continue
            if count[u] > floor:
                count[u] -= count.dtype.type(1)
                if count[u] == floor:
                    mine[u >> u64(6)] |= bit(u)
                    other[u >> u64(6)] |= bit(u)
                    queue[end] = u
                    end += u64(1)
        k += more


@kernel
def peel_alone(words, places, words_in, places_in, ways, mine, other, count, core, level, queue, ends, most, counter):
    """Take off the queued vertices, and those that fall by it, by one thread (OneThread.go_on). Returns the edges
    looked at.

    words, places: of `ways` topologies. mine, other: bits of vertices whose list is to be looked at in each. count:
    `degree`; or `left`, if core (int64[V]) has elements: then all layers at once.
    """
    begin, end, edges = u64(ends[0]), u64(ends[1]), u64(0)
    while begin != end and end - begin <= u64(most) and not is_stopped(counter):
        v = u64(queue[begin])
        begin += u64(1)
        end, looked = look_alone(words, places, mine, other, v, count, core, level, queue, end)
        edges += looked
        if ways > 1:
            end, looked = look_alone(words_in, places_in, other, mine, v, count, core, level, queue, end)
            edges += looked
    ends[0], ends[1] = begin, end
    return edges
