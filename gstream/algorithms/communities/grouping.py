"""Kernels that make the next level of Louvain and Leiden on the host's cores: lists of groups of vertices.

Arrays as in moving.py.
"""

from __future__ import annotations

from gstream.algorithms.communities.moving import RUN, add_up, clear, mask_of, table_of
from gstream.algorithms.support.shared import blocks
from gstream.hostcode.casts import u64
from gstream.hostcode.jit import kernel


@kernel
def list_members(place, bounds, members, counter):
    """members: id[V], the vertices by their groups and ascending, by one thread. place: id[V]. bounds: int64[groups +
    2], zero; group g is members[bounds[g]:bounds[g + 1]]."""
    for v in range(len(place)):
        bounds[u64(2) + u64(place[v])] += 1
    for g in range(2, len(bounds)):
        bounds[g] += bounds[g - 1]
    for v in range(len(place)):
        g = u64(1) + u64(place[v])
        members[bounds[g]] = v
        bounds[g] += 1
    return u64(0)


@kernel
def add_lists(
    starts, ids, weights, first, listed, own, members, bounds, side, places, found_ids, found_weights, found, keys,
    sums, used, turn, threads, counter,
):  # fmt: skip
    """Lists of groups of vertices: found_ids[places[g]:][:found[g]] the sides that group g's lists lead to, with the
    sum of weights to each. Group g has the vertices members[bounds[g]:bounds[g + 1]]. Returns the edges looked at."""
    base, slots = table_of(keys, turn, threads)
    edges = u64(0)
    for early, late in blocks(counter, len(bounds) - 1, RUN):
        for g in range(early, late):
            room, count = u64(0), u64(0)
            for index in range(bounds[g], bounds[g + u64(1)]):
                k = u64(index) if listed else u64(members[index]) - u64(first)
                room += starts[k + u64(1)] - starts[k]
            mask = mask_of(room, slots)
            for index in range(bounds[g], bounds[g + u64(1)]):
                v = u64(members[index])
                k = u64(index) if listed else v - u64(first)
                low, high = starts[k], starts[k + u64(1)]
                count = add_up(ids, weights, low, high, v, own, side, keys, sums, used, base, mask, count)
            for index in range(count):
                slot = base + u64(used[base + index])
                found_ids[places[g] + index] = keys[slot]
                found_weights[places[g] + index] = sums[slot]
            found[g] = count
            clear(keys, used, base, count)
            edges += room
    return edges


@kernel
def pack_lists(places, found, starts, found_ids, found_weights, ids, weights, counter):
    """ids, weights: lists of add_lists without the gaps between them; list g begins at starts[g]."""
    for early, late in blocks(counter, len(found), RUN):
        for g in range(early, late):
            for index in range(found[g]):
                ids[starts[g] + index] = found_ids[places[g] + index]
                weights[starts[g] + index] = found_weights[places[g] + index]
    return u64(0)
