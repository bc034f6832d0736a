"""Page kernels of gstream.algorithms.levels: peeling (Kahn 1962), longest paths, and a way back along a cycle.

They walk out-pages: the owner of a list is the source of its edges.
"""

from __future__ import annotations

from gstream.algorithms.shared import is_set, raise_to, set_bit
from gstream.hostcode.intrinsics import atomic_add
from gstream.records import record_kernel


@record_kernel(left="own", following="own")
def peel(record, bits, left, following):
    """Take the vertices of `bits` away: left[v] of each edge's target falls by 1, and at 0 it is in `following`."""
    if not is_set(bits, record.vertex):
        return
    for v in record.neighbours():
        if atomic_add(left, v, left.dtype.type(-1)) == 1:
            set_bit(following, v)


@record_kernel(distance="max")
def reach_out(record, bits, distance):
    """distance[v] of each edge's target, float64[V], grows to distance[u] + weight; for u in `bits`."""
    u = record.vertex
    if not is_set(bits, u):
        return
    for v in record.neighbours():
        raise_to(distance, v, distance[u] + record.weight())


@record_kernel(above="one")
def find_above(record, left, above):
    """above[v] = some u -> v, of vertices that peeling left over."""
    u = record.vertex
    if left[u] == 0:
        return
    for v in record.neighbours():
        if left[v] != 0:
            above[v] = u


@record_kernel(again="max")
def levels_again(record, level, again):
    """again[v] (int64[V], 0 at first) = the greatest level[u] + 1 over u -> v, of all edges."""
    for v in record.neighbours():
        raise_to(again, v, level[record.vertex] + 1)


@record_kernel(again="max")
def distances_again(record, distance, again):
    """again[v] (float64[V], 0 at first) = the greatest distance[u] + weight over u -> v, of all edges."""
    for v in record.neighbours():
        raise_to(again, v, distance[record.vertex] + record.weight())
