"""Compiled parts of neighbour samples: lists found in pages, positions drawn, vertices numbered as they are met."""

from __future__ import annotations

import numpy as np

from pagestore.convert.emit import mix
from pagestore.jit import compiled

FEW = 256  # up to so many draws are kept sorted one by one; more of them take a look at every neighbour


@compiled
def find_lists(room, slot, records, columns, header_words, vertex, start, size, before):
    """Where vertices' lists are in held pages: start, the word of its size; size; before, edges before it in the page.

    slot, records, columns: of the page of each vertex (columns: 0 for rows). A vertex without a list has size 0.
    """
    words = room.shape[1]
    for i in range(vertex.size):
        page = room[slot[i]]
        low, high = 0, records[i]
        while low < high:  # slots ascend by vertex from the end of the page
            middle = (low + high) // 2
            if np.int64(page[words - 2 * middle - 2]) < vertex[i]:
                low = middle + 1
            else:
                high = middle
        size[i] = 0
        if low == records[i] or np.int64(page[words - 2 * low - 2]) != vertex[i]:
            continue
        start[i] = np.int64(page[words - 2 * low - 1])
        size[i] = np.int64(page[start[i]])
        if columns[i] == 0:  # records follow each other, a word of size before each
            before[i] = start[i] - header_words - low
            continue
        before[i] = 0
        for k in range(low):
            before[i] += np.int64(page[np.int64(page[words - 2 * k - 1])])


@compiled
def _below(state, bound):
    """(uniform in 0 to bound - 1, next state): numbers of as many bits as the bound has, until one is below it."""
    mask = np.uint64(bound - 1)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    while True:
        state += np.uint64(0x9E3779B97F4A7C15)
        drawn = np.int64(mix(state) & mask)
        if drawn < bound:
            return drawn, state


@compiled
def draw_positions(vertex, size, most, replace, seed, hop, ends, position):
    """Positions in the list of each vertex, ascending; most: how many, -1 for all. Every vertex has random numbers of
    its own, by seed, hop and its store ID. ends: int64[n + 1], where its positions lie in `position`.

    Without replacement every set of positions is as likely: by Floyd's algorithm for few (Bentley and Floyd 1987),
    else by selection sampling (Knuth, volume 2, 3.4.2, algorithm S).
    """
    key = mix(mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)) + np.uint64(hop))
    for i in range(vertex.size):
        at, count = ends[i], ends[i + 1] - ends[i]
        state = mix(key ^ mix(np.uint64(vertex[i]) + np.uint64(1)))
        if most < 0 or (count == size[i] and not replace):
            for k in range(count):
                position[at + k] = k
        elif replace:
            for k in range(count):
                position[at + k], state = _below(state, size[i])
            position[at : at + count].sort()
        elif count <= FEW:
            for k in range(count):
                last = size[i] - count + k
                drawn, state = _below(state, last + 1)
                place = np.searchsorted(position[at : at + k], drawn)
                if place < k and position[at + place] == drawn:  # then `last` itself, which is above all so far
                    drawn, place = last, k
                for later in range(k, place, -1):
                    position[at + later] = position[at + later - 1]
                position[at + place] = drawn
        else:
            taken = 0
            for k in range(size[i]):
                drawn, state = _below(state, size[i] - k)
                if drawn < count - taken:
                    position[at + taken] = k
                    taken += 1
                    if taken == count:
                        break


@compiled
def take_words(room, slot, word, taken):
    """taken[i] = word `word[i]` of the held page in slot[i]."""
    for i in range(word.size):
        taken[i] = room[slot[i], word[i]]


@compiled
def number_vertices(vertex, table, numbers, nodes, known, local):
    """local[i]: the number of vertex[i], new ones numbered from `known` on as they come; returns how many there are.

    table: int64[2^b], -1 where free, of vertices; numbers: theirs. At least half stay free. nodes[number]: the vertex.
    """
    mask = np.uint64(table.size - 1)
    for i in range(vertex.size):
        at = mix(np.uint64(vertex[i]) + np.uint64(1)) & mask
        while table[at] >= 0 and table[at] != vertex[i]:
            at = (at + np.uint64(1)) & mask
        if table[at] < 0:
            table[at], numbers[at], nodes[known] = vertex[i], known, vertex[i]
            known += 1
        local[i] = numbers[at]
    return known
