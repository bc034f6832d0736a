"""Lists of pages, merged with sorted changes where they lie (compiled, releases the GIL)."""

from __future__ import annotations

import numpy as np

from pagestore.convert.presence import rank
from pagestore.jit import compiled

# Of `state` u8[10]. GONE: edges removed; VERTEX: reached, from the first one on, and OPEN: whether its list may go on;
# ADDED, REMOVED: places of the next changes, and _END: of those behind the vertex's own; LAST: its neighbour written
# last, or MOST.
DUPLICATES, LOOPS, GONE, VERTEX, OPEN, ADDED, REMOVED, ADDED_END, REMOVED_END, LAST = range(10)
NONE, MIN, MAX, SUM, FIRST = range(5)  # what becomes of equal edges: all are kept, or one with this weight
U0, U1, U2, U6, U63 = (np.uint64(number) for number in (0, 1, 2, 6, 63))
MOST = np.uint64((1 << 64) - 1)


@compiled(inline="always")
def _moved(old, table, further):
    """The new store ID of an old one. further: empty where all stay."""
    return old if further.size == 0 else old + further[rank(table, old + U1)]


@compiled
def move(ids, table, further, out):
    """out[i] = the new store ID of old ID ids[i], u8[n]."""
    for i in range(ids.size):
        out[i] = _moved(np.uint64(ids[i]), table, further)


@compiled
def find(ids, table, out):
    """out[i] = rank of ids[i] in a rank table, i8[n]; -1 where it does not occur."""
    end = np.uint64(table.shape[0]) << U6
    for i in range(ids.size):
        out[i] = -1
        if ids[i] < end and (table[ids[i] >> U6, 0] >> (ids[i] & U63)) & U1:
            out[i] = rank(table, ids[i])


@compiled
def find_lists(words, records, strides, low, high, table, further, owner, begin, size, stride):
    """Lists of the old vertices [low, high) in pages `words` [pages, W], u8 all: owners by new store ID, places of
    the first neighbours in `words` as one array, lengths, and words from one neighbour to the next. Returns how many.
    """
    lists = U0
    width = np.uint64(words.shape[1])
    for page in range(words.shape[0]):
        start = np.uint64(page) * width
        for slot in range(records[page]):
            at = width - U2 * (np.uint64(slot) + U1)
            vertex = np.uint64(words[page, at])
            if vertex < low or vertex >= high:
                continue
            offset = np.uint64(words[page, at + U1])
            owner[lists] = _moved(vertex, table, further)
            size[lists], stride[lists] = words[page, offset], strides[page]
            begin[lists] = start + offset + strides[page]
            lists += U1
    return lists


@compiled
def _put(far, weights, at, near, first, keep, mirrored, out, out_weights, kept, state):
    """Write one more edge of `near`, or drop it where it equals the last one and one is kept; returns edges written.

    weights[at]: its own, if there are any. first: of the edges of `near` in `out`; a list goes on behind it after an
    earlier call, whose last edge equals none.
    """
    if far == state[LAST]:
        if not mirrored or near <= far:
            state[DUPLICATES] += U1
        if keep != NONE:
            if out_weights is not None and kept > first:
                before, weight = out_weights[kept - U1], weights[at]
                if keep == MIN:
                    out_weights[kept - U1] = min(before, weight)
                elif keep == MAX:
                    out_weights[kept - U1] = max(before, weight)
                elif keep == SUM:
                    out_weights[kept - U1] = np.float64(before) + np.float64(weight)
            return kept
    out[kept] = far
    if out_weights is not None:
        out_weights[kept] = weights[at]
    if near == far:
        state[LOOPS] += U1
    state[LAST] = far
    return kept + U1


@compiled
def _is_ahead(add, far, added_weights, a, weights, at, keep):
    """Whether an addition comes before the next edge of the list; of equal edges that are all kept the lighter one."""
    if weights is not None:
        if add == far and keep == NONE:
            return added_weights[a] < weights[at]
    return add < far


@compiled
def merge(
    words, weights, owner, begin, size, stride, low, table, further, added_degrees, added, added_weights,
    removed_degrees, removed, hits, keep, mirrored, final, out, out_weights, degrees, state,
):  # fmt: skip
    """Go on with the lists of len(degrees) vertices from new store ID `low` on: less removals, with additions.

    words [n] with weights or None, owner, begin, size, stride: find_lists. `added`, `removed`: neighbours of the
    vertices, one after another, as many as their degrees. A removal takes all edges of its ends and sets its place in
    `hits`. keep: see above. final: no list follows; else one of the last vertex here may. degrees are added to.
    Returns the edges written.
    """
    kept, piece, pieces = U0, U0, np.uint64(owner.size)
    v, a, r = state[VERTEX], state[ADDED], state[REMOVED]
    a_end, r_end = state[ADDED_END], state[REMOVED_END]
    vertices = np.uint64(degrees.size)
    while v < vertices:
        near = low + v
        if not state[OPEN]:
            a_end, r_end = a + np.uint64(added_degrees[v]), r + np.uint64(removed_degrees[v])
            state[LAST], state[OPEN] = MOST, U1
        first = kept
        while piece < pieces and owner[piece] == near:
            at, end, step = begin[piece], begin[piece] + stride[piece] * size[piece], stride[piece]
            piece += U1
            while at < end:
                add = np.uint64(added[a]) if a < a_end else MOST
                remove = np.uint64(removed[r]) if r < r_end else MOST
                stop, last = min(add, remove), state[LAST]
                while at < end:  # up to the next change, or to an edge that is there again
                    far = _moved(np.uint64(words[at]), table, further)
                    if far >= stop or far == last:
                        break
                    out[kept] = far
                    if weights is not None:
                        out_weights[kept] = weights[at]
                    if far == near:
                        state[LOOPS] += U1
                    kept += U1
                    last = far
                    at += step
                state[LAST] = last
                if at >= end:
                    break
                far = _moved(np.uint64(words[at]), table, further)
                if remove < far:
                    r += U1
                    continue
                if remove == far:
                    hits[r] = 1
                    state[GONE] += np.uint64(not mirrored or near <= far)
                    at += step
                    continue
                if _is_ahead(add, far, added_weights, a, weights, at, keep):
                    kept = _put(add, added_weights, a, near, first, keep, mirrored, out, out_weights, kept, state)
                    a += U1
                else:
                    kept = _put(far, weights, at, near, first, keep, mirrored, out, out_weights, kept, state)
                    at += step
        whole = final or piece < pieces
        while a < a_end and (whole or (keep != NONE and np.uint64(added[a]) == state[LAST])):
            far = np.uint64(added[a])
            kept = _put(far, added_weights, a, near, first, keep, mirrored, out, out_weights, kept, state)
            a += U1
        degrees[v] += kept - first
        if not whole:
            break
        r, state[OPEN] = r_end, U0
        v += U1
    state[VERTEX], state[ADDED], state[REMOVED], state[ADDED_END], state[REMOVED_END] = v, a, r, a_end, r_end
    return kept
