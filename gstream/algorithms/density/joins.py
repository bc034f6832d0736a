"""Kernels that join lists with lists: triangles, by edges that point from the lower vertex to the higher one.

Vertices are ordered by (neighbours in both directions, store ID), so a hub's list of higher neighbours is short: at
most sqrt(2 E). An entry of a list is neighbour * 4 + arcs; arcs: 1 if v -> u is an edge, 2 if u -> v is, 3 if both.
Lists of a block (gstream.algorithms.support.blocks) are filled in any order, then sorted; repeated neighbours become
one.
"""

from __future__ import annotations

from gstream.algorithms.support.listsort import new_stack, sort_range
from gstream.algorithms.support.shared import blocks
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel, kernel_with_arrays
from gstream.records import item_kernel, record_kernel

RUN = 64  # vertices that one claim takes


@helper
def is_higher(size, u, v):
    """Whether u comes after v in the order of vertices."""
    return size[u] > size[v] or (size[u] == size[v] and u > v)


@helper
def arcs_of(entry):
    """How many edges an entry stands for: 1 or 2."""
    return (u64(entry) & u64(1)) + ((u64(entry) >> u64(1)) & u64(1))


@record_kernel(higher="sum")
def count_higher(record, both, size, higher):
    """higher[v] += entries in v's list of higher neighbours, with repeated ones. both: as in gather_higher."""
    v, found = record.vertex, u64(0)
    for u in record.neighbours():
        if is_higher(size, u, v):
            found += u64(1)
        elif both and u != v:
            atomic_add(higher, u, higher.dtype.type(1))
    atomic_add(higher, v, higher.dtype.type(found))


@record_kernel(cursor="own", entries="own")
def gather_higher(record, first, end, cursor, way, both, size, entries):
    """entries: the higher neighbours of vertices [first, end), each at its vertex's cursor (see blocks.gather)."""
    v = record.vertex
    mine = v >= first and v < end
    if not mine and not both:
        return
    back = u64(3) if way == 3 else u64(3 - way)
    for u in record.neighbours():
        if mine and is_higher(size, u, v):
            place = atomic_add(cursor, v - first, u64(1))
            entries[place] = entries.dtype.type((u << u64(2)) | u64(way))
        elif both and u >= first and u < end and is_higher(size, v, u):
            place = atomic_add(cursor, u - first, u64(1))
            entries[place] = entries.dtype.type((v << u64(2)) | back)


@kernel_with_arrays
def tidy(starts, entries, top, after, counter):
    """Sort each list and let a neighbour stand in it once, with all its arcs; after: uint64[n], where lists end."""
    stack = new_stack()
    for begin, end in blocks(counter, len(starts) - 1, RUN):
        for k in range(begin, end):
            low, high = starts[k], starts[k + u64(1)]
            sort_range(entries, low, high, u64(top), stack)
            place = low
            for index in range(low, high):
                if place > low and entries[place - u64(1)] >> 2 == entries[index] >> 2:
                    entries[place - u64(1)] |= entries[index]
                else:
                    entries[place] = entries[index]
                    place += u64(1)
            after[k] = place
    return u64(0)


@kernel
def turn_both_ways(starts, after, entries, counter):
    """Let every entry stand for edges both ways; after: uint64[n], where lists end. Returns those that did."""
    found = u64(0)
    for begin, end in blocks(counter, len(after), RUN):
        for k in range(begin, end):
            for index in range(starts[k], after[k]):
                found += arcs_of(entries[index]) >> u64(1)
                entries[index] |= entries.dtype.type(3)
    return found


@kernel
def count_ends(first, starts, after, entries, degree, counter):
    """degree[v] += neighbours of v, each once, by both ends of the entries."""
    for begin, end in blocks(counter, len(after), RUN):
        for k in range(begin, end):
            for index in range(starts[k], after[k]):
                atomic_add(degree, u64(entries[index]) >> u64(2), degree.dtype.type(1))
            atomic_add(degree, u64(first) + k, degree.dtype.type(after[k] - starts[k]))
    return u64(0)


@item_kernel(arcs="sum")
def close_triangles(item, one_first, one_starts, one_after, one, two_first, two_starts, two_after, two, arcs):
    """arcs[v] += edges between two neighbours of v, for triangles v < u < w with v in block `one`, u in block `two`. An
    item is a vertex of `one`. w is in both lists, which ascend: a merge finds it."""
    k, of_v = item.number, u64(0)
    low, high = one_starts[k], one_after[k]
    begin, end = item.part(low, high)
    for index in range(begin, end):
        u = u64(one[index]) >> u64(2)
        if u < two_first or u - two_first >= u64(len(two_after)):
            continue
        place, stop = two_starts[u - two_first], two_after[u - two_first]
        mine, of_u, vu = low, u64(0), arcs_of(one[index])
        while mine < high and place < stop:
            a, b = u64(one[mine]) >> u64(2), u64(two[place]) >> u64(2)
            if a == b:
                of_v += arcs_of(two[place])
                of_u += arcs_of(one[mine])
                atomic_add(arcs, a, vu)
            mine += u64(a <= b)
            place += u64(b <= a)
            item.step()
        if of_u:
            atomic_add(arcs, u, of_u)
    if of_v:
        atomic_add(arcs, u64(one_first) + k, of_v)


@kernel
def close_marked(
    one_first, one_starts, one_after, one, two_first, two_starts, two_after, two, arcs, marks, seats, counter
):
    """close_triangles for the host's cores: each marks the list of v, two bits a vertex, and looks up the lists of all
    u. A merge takes twice the time (RMAT 17). marks: uint64[threads, ceil(V / 32)], zero before and after; seats:
    int64[1], deals its rows out."""
    marked, edges = marks[u64(atomic_add(seats, 0, 1))], u64(0)
    for begin, end in blocks(counter, len(one_after), RUN):
        for k in range(begin, end):
            low, high, of_v = one_starts[k], one_after[k], u64(0)
            if is_stopped(counter):
                break
            if high - low < u64(2):
                continue
            for index in range(low, high):
                w = u64(one[index]) >> u64(2)
                marked[w >> u64(5)] |= (u64(one[index]) & u64(3)) << ((w & u64(31)) << u64(1))
            for index in range(low, high):
                u = u64(one[index]) >> u64(2)
                if u < two_first or u - two_first >= u64(len(two_after)):
                    continue
                of_u, vu = u64(0), arcs_of(one[index])
                first, last = two_starts[u - two_first], two_after[u - two_first]
                for place in range(first, last):
                    w = u64(two[place]) >> u64(2)
                    found = (marked[w >> u64(5)] >> ((w & u64(31)) << u64(1))) & u64(3)
                    if found != u64(0):
                        of_v += arcs_of(two[place])
                        of_u += arcs_of(found)
                        atomic_add(arcs, w, vu)
                edges += last - first
                if of_u:
                    atomic_add(arcs, u, of_u)
            if of_v:
                atomic_add(arcs, u64(one_first) + k, of_v)
            for index in range(low, high):
                marked[(u64(one[index]) >> u64(2)) >> u64(5)] = u64(0)
    return edges
