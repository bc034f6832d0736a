"""Kernels of betweenness: count shortest paths level by level, then add up dependencies the way back (Brandes 2001).

distance: u4[V], FAR where not reached yet; paths: f8[V], shortest paths from the source (exact up to 2^53); depends:
f8[V]. here: u64[ceil(V / 64)], the vertices of one level; only their lists are looked at. Pages hold out-lists.
"""

from __future__ import annotations

from gstream.algorithms.nearest import BLOCK, FAR, u32
from gstream.algorithms.records import claim, u64
from gstream.algorithms.shared import is_set, set_bit
from gstream.hostcode.casts import f64
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import kernel
from gstream.records import record_kernel


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


@kernel
def close_source(source, ends, distance, paths, depends, between, counter):
    """between += depends (+ ends where reached), but for the source's own; the others are made ready for the next."""
    while True:
        begin = claim(counter) * u64(BLOCK)
        if begin >= u64(len(distance)):
            return u64(0)
        for v in range(begin, min(begin + u64(BLOCK), u64(len(distance)))):
            if v != u64(source) and distance[v] != FAR:
                between[v] += depends[v] + ends
            distance[v], paths[v], depends[v] = FAR, 0.0, 0.0
