"""Compiled checks of one page, for scrub and readers: the rules R2 to R6 of pagestore/decode.py at some ns an edge.

The reference decoder is the authority; these kernels say quickly that a page is sound, and on any other answer the
decoder is asked for the words. They share no code with the packer. All indices are unsigned, and every index is
compared with its bound before it is used: the pages may hold anything.
"""

from __future__ import annotations

import numpy as np

from pagestore.jit import compiled
from pagestore.layout import HEAD_NEIGHBOURS

# Odd 64-bit constants of splitmix64 and of the golden ratio.
_FIRST, _SECOND, _WEIGHT, _LAST = (
    np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0xD6E8FEB86659FD93),
    np.uint64(0x94D049BB133111EB),
)  # fmt: skip


@compiled
def walk_records(words, header_words, vertices, columns, vertex, size, rest):
    """Follow slots and records of a page (id[W]); fills vertex, size (u8[records]); returns the broken rule or 0.

    columns: records of a group, 1 in a page of rows. len(vertex) records and their slots must fit W, which the
    directory's checks ensure. rest: look at words that belong to no list, too (R6).
    """
    if columns > 1:
        return _walk_columns(words, header_words, vertices, columns, vertex, size, rest)
    one, two = np.uint64(1), np.uint64(2)
    slots = np.uint64(words.size) - two * np.uint64(vertex.size)
    at = np.uint64(header_words)
    for i in range(vertex.size):
        slot = np.uint64(words.size) - two * (np.uint64(i) + one)
        owner, start = np.uint64(words[slot]), np.uint64(words[slot + one])
        if owner >= vertices or (i > 0 and owner <= vertex[i - 1]):
            return 2
        if start >= slots:
            return 3
        count = np.uint64(words[start])
        if start != at or count == 0:
            return 3
        if count >= slots - start:
            return 4
        vertex[i], size[i] = owner, count
        at += one + count
    if rest:
        for k in range(at, slots):
            if words[np.uint64(k)] != 0:
                return 6
    return 0


@compiled
def _walk_columns(words, header_words, vertices, columns, vertex, size, rest):
    """The same for a column page: a group's sizes side by side, then as many rows as its longest list."""
    one, two = np.uint64(1), np.uint64(2)
    slots = np.uint64(words.size) - two * np.uint64(vertex.size)
    at, end = np.uint64(header_words), np.uint64(header_words)
    for i in range(vertex.size):
        slot = np.uint64(words.size) - two * (np.uint64(i) + one)
        owner, start = np.uint64(words[slot]), np.uint64(words[slot + one])
        if owner >= vertices or (i > 0 and owner <= vertex[i - 1]):
            return 2
        rank = np.uint64(i) & (columns - one)
        at = end if rank == 0 else at + one
        if start != at or at >= slots:
            return 3
        count = np.uint64(words[at])
        if count == 0 or count >= slots:
            return 3 if count == 0 else 4
        end = max(end, at - rank + columns * (one + count))
        if end > slots:
            return 4
        vertex[i], size[i] = owner, count
    if not rest:
        return 0
    used = np.uint64(vertex.size)  # what is not zero: sizes and, but for vertex 0, neighbours
    for i in range(vertex.size):
        k = np.uint64(words[np.uint64(words.size) - two * (np.uint64(i) + one) + one])
        for _ in range(size[i]):
            k += columns
            used += np.uint64(words[k] != 0)
    for word in range(header_words, slots):
        used -= np.uint64(words[np.uint64(word)] != 0)
    return 6 if used != 0 else 0


@compiled
def scan_neighbours(words, weights, header_words, vertices, columns, vertex, size, heads, sums):
    """Neighbours of a page that `walk_records` passed; returns the broken rule or 0.

    weights: unsigned[W], or empty without weights. Fills heads id[records, 4] with each record's first neighbours, and
    sums u8[4]: mixes of the edges as (first, second) and as (second, first), first and last neighbour of the page.
    """
    one, two = np.uint64(1), np.uint64(2)
    at = np.uint64(header_words)
    forward, backward, beside, last = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    weighted = weights.size > 0
    bad = False
    for i in range(vertex.size):
        if columns == one:
            at += one
        else:
            at = np.uint64(words[np.uint64(words.size) - two * np.uint64(i) - one]) + columns
        owner = vertex[i]
        owner_first, owner_second = owner * _FIRST, owner * _SECOND
        last = np.uint64(0)
        for j in range(size[i]):
            k = at + np.uint64(j) * columns
            target = np.uint64(words[k])
            bad |= (target >= vertices) | (target < last)
            last = target
            a, b = owner_first ^ (target * _SECOND), (target * _FIRST) ^ owner_second
            if weighted:
                weight = np.uint64(weights[k])
                beside += np.uint64(weight != 0)
                a += weight * _WEIGHT
                b += weight * _WEIGHT
            forward += (a ^ (a >> np.uint64(32))) * _LAST >> np.uint64(7)
            backward += (b ^ (b >> np.uint64(32))) * _LAST >> np.uint64(7)
        for j in range(HEAD_NEIGHBOURS):
            if np.uint64(j) < size[i]:
                heads[i, j] = words[at + np.uint64(j) * columns]
            else:
                heads[i, j] = ~np.uint64(0)
        if columns == one:
            at += size[i]
    sums[0], sums[1] = forward, backward
    sums[2], sums[3] = np.uint64(words[np.uint64(header_words) + one]), last
    if bad:
        return 5
    if weighted:
        nonzero = np.uint64(0)
        for m in range(weights.size):
            nonzero += np.uint64(weights[np.uint64(m)] != 0)
        if nonzero != beside:
            return 6
    return 0
