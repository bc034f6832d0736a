"""Kernels of strongly connected components for one thread, over lists in host memory; and of their certificate.

Depth-first search that keeps the least number that a vertex leads back to (Tarjan 1972, in the space and by the single
number of Pearce 2016). Every list is walked once. words, places: gstream.hostcode.adjacency.
"""

from __future__ import annotations

from gstream.hostcode.adjacency import stretch
from gstream.hostcode.casts import u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import is_large

OLDER = u64(1) << u64(63)  # in `next`: the vertex leads to one that was met before it
LAST = u64(1) << u64(62)  # the neighbour is the last one, so the way back need not look at the list again
PLACE = LAST - u64(1)


@helper
def is_last(words, row, index, more):
    """Whether a list ends with the neighbour `index` of a stretch. False for large pages, as another may follow."""
    return index + u64(1) == more and not is_large(words, row)


@kernel
def find_strong(words, places, label, number, stack, lows, next, counter):
    """label (id[V]): every vertex that has none gets that of the vertex of its component that was met first.

    number: id[V], all bits set for vertices with a label, else 0; then the order in which vertices are met, of those
    that were left again lowered to the least one that they lead to. stack: id[V]; from its beginning the way to the
    vertex that is looked at, from its end the vertices whose component is not known yet. next: uint64[V], the neighbour
    to look at of vertices on the way; lows: id[V], the least number that they lead to so far. The way back reads these
    in order, and lists again only where more neighbours follow: a long way would miss every cache once more.
    Returns the edges looked at.
    """
    none, met, edges = ~label.dtype.type(0), u64(0), u64(0)
    vertices, waiting = u64(len(label)), u64(len(label))
    for start in range(vertices):
        if number[start] != 0:
            continue
        met += u64(1)
        number[start], lows[0], stack[0], next[0] = met, met, start, u64(0)
        depth = u64(1)
        while depth != u64(0):
            if is_stopped(counter):
                return edges
            top = depth - u64(1)
            v, k, least, below = u64(stack[top]), next[top] & PLACE, lows[top], none
            older, last = next[top] & OLDER, next[top] & LAST
            while below == none and last == u64(0):
                row, word, more, stride = stretch(words, places, v, k)
                if more == u64(0):
                    break
                for index in range(more):
                    u = words[row, word + index * stride]
                    seen = number[u]
                    k += u64(1)
                    edges += u64(1)
                    if seen == 0:  # go there
                        below = u
                        last = LAST if is_last(words, row, index, more) else u64(0)
                        break
                    if seen < least:
                        least, older = seen, OLDER
            if below != none:
                next[top], lows[top] = k | older | last, least
                met += u64(1)
                number[below], lows[depth], stack[depth], next[depth] = met, met, below, u64(0)
                depth += u64(1)
                continue
            depth = top
            if older != u64(0):  # so there is a vertex before it
                waiting -= u64(1)
                stack[waiting], number[v] = v, least
                if least < lows[top - u64(1)]:
                    lows[top - u64(1)] = least
                    next[top - u64(1)] |= OLDER
                continue
            label[v], number[v] = v, none
            while waiting < vertices and number[stack[waiting]] >= least:
                member = u64(stack[waiting])
                label[member], number[member] = v, none
                waiting += u64(1)
    return edges


@kernel
def prove_strong(words, places, label, natural, number, stack, lows, next, counter):
    """The first vertex found from which no edge of its component leads back; V if there is none.

    label, natural: id[V], the natural index of the component's name, and of the vertex. The walk begins at each vertex
    that names its component, along edges within it. number (id[V], 0 at first): the order in which vertices are met;
    0 if no way leads there. Each vertex but the first must lead to one that was met before it: then it leads to the
    first. stack, lows, next: as of find_strong.
    """
    none, met = ~label.dtype.type(0), u64(0)
    for start in range(u64(len(label))):
        if label[start] != natural[start]:
            continue
        met += u64(1)
        number[start], lows[0], stack[0], next[0] = met, met, start, u64(0)
        depth = u64(1)
        while depth != u64(0):
            if is_stopped(counter):
                return u64(0)
            top = depth - u64(1)
            v, k, least, below = u64(stack[top]), next[top] & PLACE, lows[top], none
            older, last = next[top] & OLDER, next[top] & LAST
            while below == none and last == u64(0):
                row, word, more, stride = stretch(words, places, v, k)
                if more == u64(0):
                    break
                for index in range(more):
                    u = words[row, word + index * stride]
                    k += u64(1)
                    if label[u] == label[v]:
                        if number[u] == 0:
                            below = u
                            last = LAST if is_last(words, row, index, more) else u64(0)
                            break
                        if number[u] < least:
                            least, older = number[u], OLDER
            if below != none:
                next[top], lows[top] = k | older | last, least
                met += u64(1)
                number[below], lows[depth], stack[depth], next[depth] = met, met, below, u64(0)
                depth += u64(1)
                continue
            depth = top
            if depth != u64(0):
                if older == u64(0):
                    return v
                number[v] = least
                if least < lows[top - u64(1)]:
                    lows[top - u64(1)] = least
                    next[top - u64(1)] |= OLDER
    return u64(len(label))


@kernel
def take_all_off(words, places, label, left, starts, members, queue, free, counter):
    """Take off whole components that no edge from another leads into, until there are none.

    left: int64[V], by label: edges from other components. members[starts[c]:starts[c + 1]]: vertices of label c. queue:
    uint64[V], whose first `free` labels are free.
    """
    done, end = u64(0), u64(free)
    while done != end:
        if is_stopped(counter):
            return u64(0)
        mine = queue[done]
        done += u64(1)
        for place in range(u64(starts[mine]), u64(starts[mine + u64(1)])):
            v, k = u64(members[place]), u64(0)
            while True:
                row, word, more, stride = stretch(words, places, v, k)
                if more == u64(0):
                    break
                for index in range(more):
                    other = u64(label[words[row, word + index * stride]])
                    if other != mine:
                        left[other] -= 1
                        if left[other] == 0:
                            queue[end] = other
                            end += u64(1)
                k += more
    return u64(0)
