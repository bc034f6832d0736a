"""Lists of pages as flat arrays, and their merge with sorted changes (compiled, releases the GIL)."""

from __future__ import annotations

import numpy as np

from pagestore.jit import compiled

DUPLICATES, LOOPS, LAST, STARTED = range(4)  # of `state` i8[4]; LAST: neighbour of STARTED - 1
NONE, MIN, MAX, SUM, FIRST = range(5)  # what becomes of equal edges: all are kept, or one with this weight
U0, U1 = np.uint64(0), np.uint64(1)


@compiled
def flatten(words, weights, records, strides, low, high, vertex, size, targets, kept_weights):
    """Lists of the vertices [low, high) in pages `words` [pages, W]: owners, lengths and neighbours, one after another.

    records, strides: of each page. weights f8[pages, W] or None. Returns (lists, neighbours).
    """
    lists, at = 0, 0
    last = words.shape[1]
    for page in range(words.shape[0]):
        for slot in range(records[page]):
            owner = np.int64(words[page, last - 2 * (slot + 1)])
            if owner < low or owner >= high:
                continue
            start = np.int64(words[page, last - 2 * (slot + 1) + 1])
            length = np.int64(words[page, start])
            stride = strides[page]
            vertex[lists], size[lists] = owner, length
            lists += 1
            for k in range(length):
                targets[at + k] = words[page, start + stride * (k + 1)]
            if weights is not None:
                for k in range(length):
                    kept_weights[at + k] = weights[page, start + stride * (k + 1)]
            at += length  # type: ignore[assignment]
    return lists, at


@compiled
def shift(ids, points, blocks, bits):
    """Store IDs i become i + (points up to i), in place. blocks[b]: points below b << bits."""
    for i in range(ids.size):
        at = np.int64(ids[i])
        low, high = blocks[at >> bits], blocks[(at >> bits) + 1]
        while low < high:
            middle = (low + high) >> 1
            if points[middle] <= at:
                low = middle + 1
            else:
                high = middle
        ids[i] = at + low


@compiled
def merge(
    low, vertex, size, old, old_weights, add_degrees, added, added_weights, remove_degrees, removed, hits,
    keep, mirrored, out, out_weights, degrees, state,
):  # fmt: skip
    """The lists of len(degrees) vertices from `low` on: those of `vertex`, less removals, merged with additions.

    vertex i8[lists], size: owners and lengths of the lists `old`. A removal takes all edges of its ends and sets its
    place in `hits`. keep: see above. degrees are added to. Returns the edges written.
    """
    at, kept, a, r, number = 0, 0, 0, 0, 0
    for v in range(degrees.size):
        near = low + v
        end = at
        if number < vertex.size and vertex[number] == near:
            end += size[number]
            number += 1
        a_end, r_end = a + np.int64(add_degrees[v]), r + np.int64(remove_degrees[v])
        begin = kept
        while at < end or a < a_end:
            use_old = a == a_end
            if at < end and a < a_end:
                if old[at] == added[a]:
                    use_old = keep != NONE or old_weights is None or old_weights[at] <= added_weights[a]
                else:
                    use_old = old[at] < added[a]
            weight = 0.0
            if use_old:
                far = np.int64(old[at])
                while r < r_end and np.int64(removed[r]) < far:
                    r += 1
                if r < r_end and np.int64(removed[r]) == far:
                    hits[r] = 1
                    at += 1
                    continue
                if old_weights is not None:
                    weight = old_weights[at]
                at += 1
            else:
                far = np.int64(added[a])
                if old_weights is not None:
                    weight = added_weights[a]
                a += 1
            same = (kept > begin and np.int64(out[kept - 1]) == far) or (
                kept == begin and state[STARTED] == near + 1 and state[LAST] == far
            )
            if same:
                if not mirrored or near <= far:
                    state[DUPLICATES] += 1
                if keep != NONE and kept > begin:
                    if out_weights is not None:
                        before = out_weights[kept - 1]
                        if keep == MIN:
                            out_weights[kept - 1] = min(before, weight)
                        elif keep == MAX:
                            out_weights[kept - 1] = max(before, weight)
                        elif keep == SUM:
                            out_weights[kept - 1] = before + weight
                    continue
            out[kept] = far
            if out_weights is not None:
                out_weights[kept] = weight
            state[LOOPS] += near == far
            kept += 1
        r = r_end  # type: ignore[assignment]
        if kept > begin:
            state[LAST], state[STARTED] = np.int64(out[kept - 1]), near + 1
        degrees[v] += kept - begin
    return kept
