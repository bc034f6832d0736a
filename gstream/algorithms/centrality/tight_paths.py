"""Kernels of weighted betweenness: count shortest paths along the edges that they take, and the way back.

An edge v -> u is *tight* if length[v] + weight == length[u], exactly as NetworkX compares sums. Tight edges make no
cycle, as lengths grow along them. A vertex is ready once all tight edges into it are counted; its level is the round in
which it is (Kahn 1962), so tight edges lead to later levels alone. Of repeated edges the first one of a list counts,
which is the lightest: the converter sorts them by weight.

length: f8[V], inf where there is no path. left: u4[V], tight edges into a vertex that are not counted yet. distance:
u4[V], levels, FAR where not ready yet. paths, depends, here: as of paths.py. Pages hold out-lists.
"""

from __future__ import annotations

from gstream.algorithms.centrality.paths import WORDS, weight_of
from gstream.algorithms.support.shared import FAR, u32
from gstream.hostcode.bitmaps import is_set
from gstream.hostcode.casts import f64, u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper
from gstream.records import item_kernel, record_kernel


@helper
def is_tight(length, v, u, weight):
    """Whether a shortest path goes on from v to u. False where v is not reached, and where rounding absorbs the
    weight."""
    return length[v] < length[u] and length[v] + f64(weight) == length[u]


@record_kernel(length="float64[]", left="sum")
def count_tight(record, hubs, ends, length, left):
    """left[u] += 1 over tight edges v -> u."""
    v = record.vertex
    for u in record.distinct(hubs, ends):
        if is_tight(length, v, u, record.weight()):
            atomic_add(left, u, u32(1))


@item_kernel(length="float64[]", distance="own", here="own", last="own")
def find_ready(item, number, length, left, distance, here, last):
    """here: the vertices that are ready in round `number`, whose level is number - 1. last: uint64[1], the last round
    that had any. An item is WORDS words of bits."""
    begin, end = item.share(WORDS, len(here))
    for index in range(begin, end):
        word, first = u64(0), index << u64(6)
        for v in range(first, min(first + u64(64), u64(len(distance)))):
            if distance[v] == FAR and left[v] == u32(0) and length[v] - length[v] == 0.0:  # inf - inf is NaN
                distance[v] = u32(number - 1)
                word |= u64(1) << (v & u64(63))
        here[index] = word
        if word != u64(0):
            last[0] = u64(number)


@record_kernel(length="float64[]", left="sum", paths="sum")
def pass_paths(record, hubs, ends, here, level, length, left, paths):
    """paths[u] += paths[v] over tight edges v -> u from the vertices of a level."""
    v = record.vertex
    if not is_set(here, v):
        return
    mine = paths[v]
    for u in record.distinct(hubs, ends):
        if is_tight(length, v, u, record.weight()):
            atomic_add(paths, u, mine)
            atomic_add(left, u, ~left.dtype.type(0))


@record_kernel(
    length="float64[]", left="sum", paths="sum", first="float64[] sum", second="float64[] sum", seeds="uint64[]"
)
def pass_weights(record, hubs, ends, here, level, length, left, paths, first, second, seeds):
    """pass_paths, with what the vertices between a path's ends weigh (path_weighing.py)."""
    v = record.vertex
    if not is_set(here, v):
        return
    mine, one, two = paths[v], first[v], second[v]
    if level != 0:
        one += mine * weight_of(v, seeds[0])
        two += mine * weight_of(v, seeds[1])
    for u in record.distinct(hubs, ends):
        if is_tight(length, v, u, record.weight()):
            atomic_add(paths, u, mine)
            atomic_add(first, u, one)
            atomic_add(second, u, two)
            atomic_add(left, u, ~left.dtype.type(0))


@record_kernel(length="float64[]", depends="sum")
def pass_back(record, hubs, ends, here, length, paths, depends):
    """depends[v] += paths[v] / paths[u] * (1 + depends[u]) over tight edges v -> u from the vertices of a level."""
    v = record.vertex
    if not is_set(here, v):
        return
    found = f64(0)
    for u in record.distinct(hubs, ends):
        if is_tight(length, v, u, record.weight()):
            found += (1.0 + depends[u]) / paths[u]
    if found != 0.0:
        atomic_add(depends, v, found * paths[v])
