"""Kernels of betweenness: count shortest paths level by level, then add up dependencies the way back (Brandes 2001).

Those whose names end in `alone` are for one thread that walks from list to list (gstream.algorithms.support.lists).

distance: u4[V], FAR where not reached yet; paths: f8[V], shortest paths from the source (exact up to 2^53); depends:
f8[V]. here: u64[ceil(V / 64)], the vertices of one level; only their lists are looked at. Pages hold out-lists.
"""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.shared import FAR, mixed, u32
from gstream.hostcode.adjacency import stretch
from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import f64, u64
from gstream.hostcode.claims import is_stopped
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.records import item_kernel, record_kernel

WORDS = 32  # of a bitmap, that are an item: one for each lane
RUN = 64  # vertices that are an item
NO_SEEDS = np.zeros(0, np.uint64)


@helper
def weight_of(v, seed):
    """The weight of v by a seed (gstream.algorithms.centrality.path_weighing), times 2^-40: 52 bits of a hash behind a
    leading one."""
    return f64(mixed(u64(v) ^ seed) >> u64(12) | u64(1) << u64(52)) / 4951760157141521099596496896.0  # 2^92


@record_kernel(distance="min", paths="sum", following="or")
def count_paths(record, hubs, ends, here, level, distance, paths, following):
    """From level `level` to the next one, whose bits go to `following`: paths[u] += paths[v] over edges v -> u."""
    v = record.vertex
    if not is_set(here, v):
        return
    mine, onward = paths[v], u32(level + 1)
    for u in record.distinct(hubs, ends):
        if distance[u] == FAR and compare_and_swap(distance, u, FAR, onward)[0]:
            set_bit(following, u)
        if distance[u] == onward:
            atomic_add(paths, u, mine)


@record_kernel(depends="sum")
def add_dependencies(record, hubs, ends, here, level, distance, paths, depends):
    """depends[v] += paths[v] / paths[u] * (1 + depends[u]) over edges from v in `level` to u one level on."""
    v = record.vertex
    if not is_set(here, v):
        return
    found, onward = f64(0), u32(level + 1)
    for u in record.distinct(hubs, ends):
        if distance[u] == onward:
            found += (1.0 + depends[u]) / paths[u]
    if found != 0.0:
        atomic_add(depends, v, found * paths[v])


@item_kernel(distance="own", paths="own", following="own")
def begin_source(item, root, distance, paths, following):
    """The search begins at `root`, the only item; nobody is reached, and `following` is empty."""
    begin, end = item.part(u64(root), u64(root) + u64(1))
    for v in range(begin, end):
        distance[v] = u32(0)
        paths[v] = 1.0
        following[v >> u64(6)] = u64(1) << (v & u64(63))


@item_kernel(here="own", following="own", last="own")
def step_on(item, number, here, following, last):
    """`following` becomes `here`. last: uint64[1], the last round in which there was anybody. An item is WORDS words of
    bits."""
    begin, end = item.share(WORDS, len(here))
    for index in range(begin, end):
        word = following[index]
        here[index] = word
        following[index] = u64(0)
        if word != u64(0):
            last[0] = u64(number)


@item_kernel(here="own")
def find_level(item, level, distance, here):
    """here: the vertices of a level. An item is WORDS words of bits."""
    begin, end = item.share(WORDS, len(here))
    for index in range(begin, end):
        word, first = u64(0), index << u64(6)
        for v in range(first, min(first + u64(64), u64(len(distance)))):
            if distance[v] == u32(level):
                word |= u64(1) << (v & u64(63))
        here[index] = word


@item_kernel(distance="own", paths="own", depends="own", between="float64[] own")
def close_source(item, root, each, distance, paths, depends, between):
    """between += depends (+ each where reached), and each for every one of them to the root's own; they are made
    ready for the next source. NaN where paths are inf. An item is RUN vertices."""
    begin, end = item.share(RUN, len(distance))
    others = u64(0)
    for v in range(begin, end):
        if v != u64(root) and distance[v] != FAR:
            beyond = paths[v] - paths[v]  # NaN where there are more paths than a double counts, else 0
            between[v] += depends[v] + each + beyond
            others += u64(1)
        distance[v] = FAR
        paths[v] = 0.0
        depends[v] = 0.0
    if each != 0.0 and others != u64(0):
        atomic_add(between, u64(root), each * f64(others))


@helper
def is_small(words, places, order, begin, end, most):
    """Whether so many vertices, and twice as many neighbours, are in a stretch of the order; of hubs the first page."""
    if end - begin > u64(most):
        return False
    edges = u64(0)
    for index in range(begin, end):
        edges += stretch(words, places, u64(order[index]), u64(0))[2]
    return edges <= u64(2) * u64(most)


@helper
def go_on_alone(words, places, distance, paths, first, second, seeds, order, ends, most, counter):
    """From level to level, one after the other, as long as they are small. seeds: of weights, or none (uint64[0]): then
    first and second are left alone.

    order: id[V], reached vertices level by level; ends: int64[3], where the last level begins in it, where it ends, and
    its number. Returns the edges looked at.
    """
    begin, end, level, edges, weighs = u64(ends[0]), u64(ends[1]), ends[2], u64(0), len(seeds) > 0
    while begin != end and is_small(words, places, order, begin, end, most) and not is_stopped(counter):
        after, onward = end, u32(level + 1)
        for index in range(begin, end):
            v, k, before, one, two = u64(order[index]), u64(0), u64(order[index]), f64(0), f64(0)
            mine = paths[v]
            if weighs:
                one, two = first[v], second[v]
                if level != 0:
                    one += mine * weight_of(v, seeds[0])
                    two += mine * weight_of(v, seeds[1])
            while True:
                row, word, more, stride = stretch(words, places, v, k)
                if more == u64(0):
                    break
                for step in range(more):
                    u = u64(words[row, word + step * stride])
                    if u == before:  # lists ascend: the same edge again
                        continue
                    before = u
                    if distance[u] == FAR:
                        distance[u], order[after] = onward, u
                        after += u64(1)
                    if distance[u] == onward:
                        paths[u] += mine
                        if weighs:
                            first[u] += one
                            second[u] += two
                k += more
            edges += k
        begin, end, level = end, after, level + 1
    ends[0], ends[1], ends[2] = begin, end, level
    return edges


@kernel
def count_alone(words, places, distance, paths, order, ends, most, counter):
    """count_paths for whole levels; order, ends: as of go_on_alone. Returns the edges looked at."""
    return go_on_alone(words, places, distance, paths, paths, paths, NO_SEEDS, order, ends, most, counter)


@kernel
def depend_alone(words, places, distance, paths, depends, order, ends, most, counter):
    """add_dependencies for whole levels, from the one that ends at order[ends[0]] back to level 1, as long as they are
    small. ends: int64[1]. Returns the edges looked at."""
    end, edges = u64(ends[0]), u64(0)
    while not is_stopped(counter):
        begin, onward = end, distance[order[end - u64(1)]] + u32(1)
        while begin != u64(0) and end - begin <= u64(most) and distance[order[begin - u64(1)]] + u32(1) == onward:
            begin -= u64(1)
        if begin == u64(0) or not is_small(words, places, order, begin, end, most):
            break
        for index in range(begin, end):
            v, k, before, found = u64(order[index]), u64(0), u64(order[index]), f64(0)
            while True:
                row, word, more, stride = stretch(words, places, v, k)
                if more == u64(0):
                    break
                for step in range(more):
                    u = u64(words[row, word + step * stride])
                    if distance[u] == onward and u != before:
                        found += (1.0 + depends[u]) / paths[u]
                    before = u
                k += more
            edges += k
            if found != 0.0:
                depends[v] += found * paths[v]
        end = begin
    ends[0] = end
    return edges
