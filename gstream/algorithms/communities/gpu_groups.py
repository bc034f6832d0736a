"""Item kernels that make the next level of Louvain and Leiden on a GPU: lists of groups of vertices, by hash tables.

Each group has a table, which begins at slot lows[group], of those of a batch of groups after the batch's first one; all
tables of a batch stand one after the other. So what is packed, table by table, are the groups' lists.

* place: id[V], the group of each vertex; nothing of vertices without lists. sizes: uint64[G], entries of all lists of
  a group. lows: uint64[G + 1]. found: uint64[G], entries of the group's own list; then at: uint64[G], where the next
  one goes.
* order, pieces, keys, sums: as in gpu_moves.py, of a batch.
"""

from __future__ import annotations

from gstream.algorithms.communities.gpu_moves import (
    SHARE,
    claimed_slot,
    f64,
    length_of,
    piece_begin,
    piece_end,
    pieces_of,
)
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper
from gstream.records import item_kernel


@item_kernel(place="id[]", sizes="own")
def size_groups(item, starts, place, sizes):
    """Add up the entries of each group's vertices."""
    begin, end = item.share(u64(SHARE), len(place))
    for v in range(begin, end):
        if length_of(starts, v) > u64(0):
            atomic_add(sizes, u64(place[v]), length_of(starts, v))


@item_kernel(place="id[]", first="uint64", last="uint64", order="id[] own", pieces="uint32[] own", held="own")
def list_members(item, starts, place, first, last, order, pieces, held):
    """Put the vertices of groups [first, last) into `order`, with the pieces of their lists. held: uint64[1]."""
    begin, end = item.share(u64(SHARE), len(place))
    found = u64(0)
    for v in range(begin, end):
        if place[v] >= first and place[v] < last and length_of(starts, v) > u64(0):
            found += pieces_of(starts, v)
    if found == u64(0):
        return
    at = atomic_add(held, u64(0), found)
    for v in range(begin, end):
        if place[v] >= first and place[v] < last and length_of(starts, v) > u64(0):
            for piece in range(pieces_of(starts, v)):
                order[at] = v
                pieces[at] = piece
                at += u64(1)


@item_kernel(
    ids="id[]", weights="float64[]", order="id[]", pieces="uint32[]", place="id[]", first="uint64", own="float64",
    keys="id[] own", sums="float64[] own",
)  # fmt: skip
def fill_groups(item, starts, ids, weights, order, pieces, place, lows, first, own, keys, sums):
    """Add up the weights of the listed vertices' lists by the groups of both ends. own: what a self-loop counts."""
    v = u64(order[item.number])
    group = u64(place[v])
    low, room = lows[group] - lows[first], lows[group + u64(1)] - lows[group]
    begin, end = item.part(piece_begin(starts, v, pieces[item.number]), piece_end(starts, v, pieces[item.number]))
    for index in range(begin, end):
        item.step()
        u = u64(ids[index])
        weight = f64(1) if len(weights) == 0 else weights[index]
        slot = claimed_slot(keys, low, room, place[u])
        atomic_add(sums, slot, weight * own if u == v else weight)


@helper
def group_at(lows, first, last, slot):
    """The group in [first, last) whose table has a slot of the batch."""
    low, high = u64(first), u64(last)
    while high - low > u64(1):
        middle = (low + high) >> u64(1)
        if lows[middle] - lows[first] <= slot:
            low = middle
        else:
            high = middle
    return low


@item_kernel(first="uint64", last="uint64", many="uint64", keys="id[]", found="own")
def count_groups(item, lows, first, last, many, keys, found):
    """Add up the entries of each group in [first, last), in the first `many` slots."""
    begin, end = item.share(u64(SHARE), many)
    if begin >= end:
        return
    group, there = group_at(lows, first, last, begin), u64(0)
    for slot in range(begin, end):
        while lows[group + u64(1)] - lows[first] <= slot:
            if there > u64(0):
                atomic_add(found, group, there)
            group, there = group + u64(1), u64(0)
        if keys[slot] != ~keys.dtype.type(0):
            there += u64(1)
    if there > u64(0):
        atomic_add(found, group, there)


@item_kernel(
    first="uint64", last="uint64", many="uint64", keys="id[]", sums="float64[]", at="own", ends="id[] own",
    heavy="float64[] own",
)  # fmt: skip
def pack_groups(item, lows, first, last, many, keys, sums, at, ends, heavy):
    """ends, heavy: the lists of the groups in [first, last), of the first `many` slots."""
    begin, end = item.share(u64(SHARE), many)
    if begin >= end:
        return
    group = group_at(lows, first, last, begin)
    for slot in range(begin, end):
        while lows[group + u64(1)] - lows[first] <= slot:
            group += u64(1)
        if keys[slot] != ~keys.dtype.type(0):
            where = atomic_add(at, group, u64(1))
            ends[where] = keys[slot]
            heavy[where] = sums[slot]
