"""Kernels of the certificate of minimum spanning forests: cuts and cycles, each edge of the graph looked at once.

Vertices go by natural index (natural: id[V], or of none where store IDs are natural indices). The forest's edges are
joined in ascending order, the smaller tree under the larger one, never shortened, so that ways up have at most log2(V)
steps: up: id[V], a root is its own; link: id[V], the place in the order of the edge that joined v to up[v], all bits
set at a root. Links ascend on the way up, so the greatest edge of the forest's path between two vertices is the last
one climbed until the ways from both meet.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import named, note, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.jit import kernel
from gstream.records import record_kernel


@kernel
def join_trees(source, target, up, link, size):
    """Join the forest's edges in their order, by one thread; returns how many came before the first that closes a
    cycle. size: id[V] of ones."""
    for place in range(u64(len(source))):
        a, b = u64(source[place]), u64(target[place])
        while up[a] != a:
            a = u64(up[a])
        while up[b] != b:
            b = u64(up[b])
        if a == b:
            return place
        if size[a] > size[b]:
            a, b = b, a
        up[a], link[a] = b, place
        size[b] += size[a]
    return u64(len(source))


@record_kernel(met="or", across="note", less="note")
def check_edges(record, natural, up, link, source, target, weight, met, across, less):
    """Hold every edge against the greatest one on the forest's path between its ends.

    across, less: failure as in proofs, of edges that join two trees, and of edges that come before that one in the
    order of (weight, lesser end, greater end). met: bits of the forest's edges that are there.
    """
    v, none = record.vertex, ~link.dtype.type(0)
    mine = named(natural, v)
    for u in record.neighbours():
        theirs, heavy = named(natural, u), record.weight()
        if theirs <= mine:  # the other end's list has it
            continue
        a, b, last = mine, theirs, none
        while a != b and (link[a] != none or link[b] != none):
            if link[a] < link[b]:
                last, a = link[a], u64(up[a])
            else:
                last, b = link[b], u64(up[b])
        if a != b:
            note(across, v, u)
            continue
        place = u64(last)
        if heavy != weight[place]:
            if heavy < weight[place]:
                note(less, v, u)
        elif (mine, theirs) < (u64(source[place]), u64(target[place])):
            note(less, v, u)
        elif mine == source[place] and theirs == target[place]:
            set_bit(met, place)
