"""Kernels of the certificates: each looks at every edge once and shares no code with what it checks.

failure: int64[3], (violations, u, v of the first one counted), store IDs. u -> v is an edge; `pull`: pages hold
in-lists, so their vertex is v; otherwise u.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import note, onward, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper
from gstream.records import record_kernel


@helper
def check_step(distance, none, last, predecessor, proven, u, v, reach, failure):
    """An edge whose `reach` is v's distance or less: v must not be farther, but `reach` may be past `last`; if u is v's
    predecessor, that is proven."""
    if distance[u] == none:
        return
    if reach <= last and reach < distance[v]:
        note(failure, u, v)
    if u64(predecessor[v]) == u and reach == distance[v]:
        set_bit(proven, v)


@record_kernel(distance="length[]", none="length", last="length", proven="or", failure="note")
def check_paths(record, distance, none, last, predecessor, proven, pull, failure):
    """Distances in their own arithmetic. last: vertices farther away are not reached (a limit). proven: bits of
    vertices that have the distance of their predecessor and of the edge from there."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        reach = onward(distance, u, record.weight())
        if reach <= distance[v]:  # false for most edges, which then need no call: it costs 30 ns with seven arrays
            check_step(distance, none, last, predecessor, proven, u, v, reach, failure)


check_hops = check_paths.of_unit_weights("check_hops", distance="uint32[]", none="uint32", last="uint32")


@record_kernel(failure="note")
def check_lengths(record, score, pull, failure):
    """No edge u -> v has score[v] > score[u] + weight; score: float64[V], inf where there is no path."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        if onward(score, u, record.weight()) < score[v]:
            note(failure, u, v)
