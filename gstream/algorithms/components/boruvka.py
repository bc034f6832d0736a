"""Kernels of minimum spanning forests: each component's least edge out of it, and joining along those (Boruvka 1926).

comp: id[V], the root of v's component. due: u64[ceil(V / 64)], vertices whose least edge out of their component is to
be found. other: id[V], where that edge leads to, all bits set if there is none; least: weight[V], its weight. An edge
stays the least while it leads out, so only vertices whose edge came to lie inside look again. best: id[V], by root: the
vertex at whose `other` the component's least edge is.

Edges are ordered by (weight, lesser end, greater end), ends by natural index (natural: id[V], or of no element if store
IDs are natural indices). No two edges between different vertices are equal, so no cycle closes, and the forest is the
same in any order of work. Of one vertex's edges, that is the order of (weight, other end).
"""

from __future__ import annotations

from gstream.algorithms.support.shared import BLOCK, blocks, lower, named
from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.records import record_kernel

NONE = u64(0xFFFFFFFFFFFFFFFF)


@helper
def ends(natural, v, u):
    """Natural indices of an edge's ends, the lesser first."""
    a, b = named(natural, v), named(natural, u)
    return min(a, b), max(a, b)


@helper
def comes_before(natural, least, other, a, b):
    """Whether the edge that vertex a found comes before the one that b found."""
    if least[a] != least[b]:
        return least[a] < least[b]
    return ends(natural, a, other[a]) < ends(natural, b, other[b])


@record_kernel(least="min", other="id[] min")
def scan_lists(record, due, comp, natural, least, other):
    """least, other of vertices that are due; of lists that are shared only `least`: then settle_shared."""
    v = record.vertex
    if not is_set(due, v):
        return
    mine, found, low = comp[v], NONE, least[v]
    for u in record.neighbours():
        if comp[u] == mine:
            continue
        weight = record.weight()
        if found == NONE or weight < low:
            found, low = u, weight
        elif weight == low and named(natural, u) < named(natural, found):
            found = u
    if found == NONE:
        return
    if record.shared:
        lower(least, v, low)
    else:
        least[v], other[v] = low, found


@record_kernel(other="id[] own")
def settle_shared(record, due, comp, natural, least, other):
    """other of due vertices whose lists are shared: the least end of their edges out that weigh `least`."""
    v, found, none = record.vertex, NONE, ~other.dtype.type(0)
    if not is_set(due, v):
        return
    for u in record.neighbours():
        if record.weight() != least[v] or comp[u] == comp[v]:
            continue
        if found == NONE or named(natural, u) < named(natural, found):
            found = u
    seen = other[v]
    while found != NONE and (seen == none or named(natural, found) < named(natural, u64(seen))):
        written, seen = compare_and_swap(other, v, seen, other.dtype.type(found))
        if written:
            break


@kernel
def offer_edges(comp, natural, least, other, best, counter):
    """best: for every component the vertex with its first edge; all bits set at first."""
    none = ~best.dtype.type(0)
    for begin, end in blocks(counter, len(comp)):
        for v in range(begin, end):
            if other[v] == none:
                continue
            root = u64(comp[v])
            seen = best[root]
            while seen == none or comes_before(natural, least, other, v, u64(seen)):
                written, seen = compare_and_swap(best, root, seen, best.dtype.type(v))
                if written:
                    break
    return u64(0)


@kernel
def choose_edges(comp, least, other, best, hook, source, target, weight, counter):
    """hook[root]: the component that it joins, or itself. source, target, weight[root]: the edge for it. If two
    components chose the same edge, the one of the lesser root stays. Returns how many join."""
    joined, none = u64(0), ~best.dtype.type(0)
    for begin, end in blocks(counter, len(comp)):
        for root in range(begin, end):
            if comp[root] != root:
                continue
            hook[root] = root
            if best[root] == none:
                continue
            v = u64(best[root])
            u = u64(other[v])
            beyond = u64(comp[u])
            if root < beyond and best[beyond] == u and other[u] == v:
                continue
            hook[root], source[root], target[root], weight[root] = beyond, v, u, least[v]
            joined += u64(1)
    return joined


@kernel
def join(comp, hook, counter):
    """Let roots point to the component that they join."""
    for begin, end in blocks(counter, len(comp)):
        for v in range(begin, end):
            if comp[v] == v:
                comp[v] = hook[v]
    return u64(0)


@kernel
def shorten(comp, counter):
    """One step of pointer jumping, which halves every way to a root; returns how many pointers moved. Following each
    way to its end would take the square of its length where components join to a chain."""
    moved = u64(0)
    for begin, end in blocks(counter, len(comp)):
        for v in range(begin, end):
            above = comp[comp[v]]
            if comp[v] != above:
                comp[v] = above
                moved += u64(1)
    return moved


@kernel
def open_inner(comp, least, other, best, top, due, counter):
    """due (written whole): vertices whose edge came to lie inside their component. They forget it; top: more than any
    weight. best is emptied."""
    none = ~other.dtype.type(0)
    for begin, end in blocks(counter, len(due), BLOCK // 64):
        for index in range(begin, end):
            word, first = u64(0), index * u64(64)
            for v in range(first, min(first + u64(64), u64(len(comp)))):
                best[v] = none
                if other[v] != none and comp[other[v]] == comp[v]:
                    word |= u64(1) << (v & u64(63))
                    least[v], other[v] = top, none
            due[index] = word
    return u64(0)
