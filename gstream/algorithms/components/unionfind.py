"""Union-find that many threads work on at once: parent[v] <= v always, so links never make a cycle.

parent: id[V], store IDs; a root is its own parent. Linking hooks the higher root under the lower one by
compare-and-swap (Afforest: Sutton, Ben-Nun, Barak 2018); a lost race looks again from where the winner left off.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.shared import BLOCK, blocks, lower
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.templates.walk import claim, part_of, record, slots_end


@helper
def link(parent, a, b):
    """Put a and b into one tree."""
    one, other = parent[a], parent[b]
    while one != other:
        high, low = max(one, other), min(one, other)
        above = parent[high]
        if above == low:
            return
        if above == high:
            written, above = compare_and_swap(parent, u64(high), parent.dtype.type(high), parent.dtype.type(low))
            if written:
                return
        one, other = parent[parent[high]], parent[low]


@kernel
def link_heads(parent, heads, first, column, end, giant, use_giant, counter):
    """Link the vertices first..first+len(heads)-1 with their neighbours [column, end), but for tree `giant`. heads:
    id[n, 4], all bits set where there is no such neighbour. Returns the edges looked at."""
    none, edges = ~heads.dtype.type(0), u64(0)
    for low, high in blocks(counter, len(heads)):
        for row in range(low, high):
            v = u64(first) + row
            if use_giant and parent[v] == giant:
                continue
            for place in range(u64(column), u64(end)):
                neighbour = heads[row, place]
                if neighbour == none:
                    break
                link(parent, v, u64(neighbour))
                edges += u64(1)
    return edges


@kernel
def compress(parent, counter):
    """Let every vertex point to its root."""
    for begin, end in blocks(counter, len(parent)):
        for v in range(begin, end):
            root = parent[v]
            while parent[root] != root:
                root = parent[root]
            parent[v] = root
    return u64(0)


@kernel
def mark_outside(parent, giant, degree, least, bits, counter):
    """bits (u64[ceil(V / 64)], written whole): vertices outside tree `giant` with `least` edges or more; how many there
    are. Trees must be compressed."""
    found = u64(0)
    for begin, end in blocks(counter, len(bits), BLOCK // 64):
        for index in range(begin, end):
            word = u64(0)
            first = index * u64(64)
            for v in range(first, min(first + u64(64), u64(len(parent)))):
                if parent[v] != giant and u64(degree[v]) >= u64(least):
                    word |= u64(1) << (v & u64(63))
                    found += u64(1)
            bits[index] = word
    return found


@kernel
def link_pages(words, parts, counter, parent, giant, use_giant, lower_only):
    """Link every record's vertex with its neighbours, but for vertices in tree `giant`. lower_only: neighbours above
    the vertex are left to their own lists (undirected, all lists are read). Lists ascend, so half of each is not even
    read. Returns the edges looked at."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            if use_giant and parent[v] == giant:
                continue
            for k in range(count):
                word = first + k * stride
                neighbour = u64(words[row, word])
                if lower_only and neighbour >= v:
                    break
                edges += u64(1)
                if parent[neighbour] != parent[v]:
                    link(parent, v, neighbour)


@kernel
def least_natural(parent, natural, least, counter):
    """least[root] = the least natural index in its tree. natural: id[V]; least: id[V], all bits set at first. Trees
    must be compressed."""
    for begin, end in blocks(counter, len(parent)):
        for v in range(begin, end):
            lower(least, u64(parent[v]), natural[v])
    return u64(0)


@kernel
def relabel(parent, least, labels, counter):
    """labels[v] = least[parent[v]]."""
    for begin, end in blocks(counter, len(parent)):
        for v in range(begin, end):
            labels[v] = least[parent[v]]
    return u64(0)


@kernel
def count_roots(parent):
    """How many trees there are."""
    count = u64(0)
    for v in range(u64(len(parent))):
        count += u64(parent[v] == parent.dtype.type(v))
    return count


def most_frequent(parent: np.ndarray, vertices: int, samples: int) -> int:
    """The most frequent root among evenly spaced ones of parent[:vertices] (compressed); vertices > 0."""
    labels, counts = np.unique(parent[:vertices][:: max(1, vertices // samples)], return_counts=True)
    return int(labels[counts.argmax()])
