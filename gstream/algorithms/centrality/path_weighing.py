"""Kernels of the certificate of betweenness: searches forth that weigh what lies between the ends of shortest paths.

A weight r(v) is a number in [1, 2) that a hash of v and of a seed gives, in units of 2^-40: what a path's vertices
weigh is less than 1 then, so that no sum of weights overflows before the number of paths does.

distance: u4[V], FAR where not reached yet; paths: f8[V], shortest paths from the source; first, second: f8[V], the
weights of the vertices between the ends of a path, added up over all of these paths, by the first and by the second of
the seeds (uint64[2]).
"""

from __future__ import annotations

from gstream.algorithms.centrality.paths import RUN, go_on_alone, weight_of
from gstream.algorithms.support.shared import FAR, u32
from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import f64, u64
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import kernel
from gstream.hostcode.page_words import claim
from gstream.records import item_kernel, record_kernel

UNIT = 2.0**-40  # of weights
BLOCK = 1024  # vertices whose values are added up one after the other


@record_kernel(
    distance="min", paths="sum", first="float64[] sum", second="float64[] sum", seeds="uint64[]", following="or"
)
def weigh_paths(record, hubs, ends, here, level, distance, paths, first, second, seeds, following):
    """From level `level` to the next one, whose bits go to `following`: paths[u] += paths[v] over edges v -> u, and of
    each path the weights so far go on with that of v, which is no end."""
    v = record.vertex
    if not is_set(here, v):
        return
    mine, one, two, onward = paths[v], first[v], second[v], u32(level + 1)
    if level != 0:
        one += mine * weight_of(v, seeds[0])
        two += mine * weight_of(v, seeds[1])
    for u in record.distinct(hubs, ends):
        if distance[u] == FAR and compare_and_swap(distance, u, FAR, onward)[0]:
            set_bit(following, u)
        if distance[u] == onward:
            atomic_add(paths, u, mine)
            atomic_add(first, u, one)
            atomic_add(second, u, two)


@item_kernel(
    distance="own", paths="own", first="float64[] own", second="float64[] own", seeds="uint64[]", sums="float64[] own"
)
def close_weighing(item, root, each, distance, paths, first, second, seeds, sums):
    """sums (f8[items, 2], flat) += the mean weight of a path to each vertex but the root, and of its ends `each` times;
    the others are made ready for the next source. An item is RUN vertices."""
    begin, end = item.share(RUN, len(distance))
    one, two = f64(0), f64(0)
    for v in range(begin, end):
        if v != u64(root) and distance[v] != FAR:
            one += first[v] / paths[v] + each * (weight_of(v, seeds[0]) + weight_of(root, seeds[0]))
            two += second[v] / paths[v] + each * (weight_of(v, seeds[1]) + weight_of(root, seeds[1]))
        distance[v] = FAR
        paths[v] = 0.0
        first[v] = 0.0
        second[v] = 0.0
    if one != 0.0:
        atomic_add(sums, u64(2) * item.number, one)
        atomic_add(sums, u64(2) * item.number + u64(1), two)


@kernel
def weigh_values(values, seeds, sums, counter):
    """sums (f8[n, 2]): the values of BLOCK vertices, each times its weight, added up."""
    while True:
        block = claim(counter)
        if block >= u64(len(sums)):
            return 0
        one, two = f64(0), f64(0)
        for v in range(block * u64(BLOCK), min((block + u64(1)) * u64(BLOCK), u64(len(values)))):
            one += values[v] * weight_of(v, seeds[0])
            two += values[v] * weight_of(v, seeds[1])
        sums[block, 0], sums[block, 1] = one, two


@kernel
def weigh_alone(words, places, distance, paths, first, second, seeds, order, ends, most, counter):
    """weigh_paths for whole levels; order, ends: as of go_on_alone. Returns the edges looked at."""
    return go_on_alone(words, places, distance, paths, first, second, seeds, order, ends, most, counter)
