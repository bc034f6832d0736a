"""Item kernels of Louvain and Leiden for GPUs: a slice of vertices chooses, by tables in GPU memory.

The same choices as on the host's cores (moving.py), by the same sums and comparisons. A launch is a step for all pieces
of lists of a bin: empty the tables, add up weights by communities, find the largest gain, find the least community of
that gain. A slice has one bin, or several whose tables take turns in the same memory: all choose before any moves.

* visit: u4[V], the bin of each vertex and 1, or 0. held, slots: uint64[bins], how many pieces and slots a bin has, and
  then where the next vertex puts its own.
* order: id[V + E / PIECE], the vertices, bin by bin, once for each PIECE of their lists. A warp takes a piece: a hub's
  whole list would take longer than the rest of the slice, and a lane's share of a piece is one sector of memory.
  pieces: u4[V + E / PIECE], which piece, or SKIPPED. A launch begins at order[begin].
* table: u4[V], where a vertex's table begins, which has twice as many slots as its list has entries. keys: id[slots];
  sums: float64[slots]; gain: float64[V], the largest gain, or NO_GAIN; to: where the vertex goes, or all bits set.
  Other arrays as in moving.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.shared import lower, mixed, raise_to
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import helper
from gstream.records import item_kernel

f64: Any = np.float64
SHARE = 1024  # vertices of an item that looks at all of them: 32 a lane
PIECE_BITS = 8
PIECE = 1 << PIECE_BITS  # entries of a list
SKIPPED = np.uint32(0xFFFFFFFF)
LISTED = {"order": "id[]", "pieces": "uint32[]", "begin": "uint64"}
VISITED = {**LISTED, "table": "uint32[]"}
NO_GAIN = f64(-1.7e308)
MARGIN = f64(1e-9)  # as in moving.py


@item_kernel(ids="id[]", weights="float64[]", own="float64", strength="float64[] own")
def sum_strengths(item, starts, ids, weights, own, strength):
    """Add to `strength` the weights at each vertex. own: what a self-loop counts."""
    v, found = item.number, f64(0)
    begin, end = item.part(starts[v], starts[v + u64(1)])
    for place in range(begin, end):
        item.step()
        weight = f64(1) if len(weights) == 0 else weights[place]
        found += weight * own if u64(ids[place]) == v else weight
    if found != f64(0):
        atomic_add(strength, v, found)


@item_kernel(
    due="uint8[] own", visit="uint32[] own", held="own", slots="own", moved="int64[] own", salt="uint64",
    last="uint64", parts="uint64", again="bool",
)  # fmt: skip
def begin_visits(item, due, visit, held, slots, moved, salt, last, parts, again):
    """visit: the bins of the vertices that are due, of which none is due any more. last: slices, less one. parts: bins
    of a slice. again: those that are visited have other bins than they had."""
    if item.number == u64(0):
        moved[0] = 0
        for k in range(len(held)):
            held[k] = u64(0)
            slots[k] = u64(0)
    begin, end = item.share(u64(SHARE), len(due))
    for v in range(begin, end):
        if due[v] != 0 or (again and visit[v] != 0):
            hashed = mixed(u64(v) ^ u64(salt))
            visit[v] = u64(1) + (hashed & last) * parts + ((hashed >> u64(32)) & (parts - u64(1)))
            due[v] = 0
        else:
            visit[v] = 0


@item_kernel(visit="uint32[]", due="uint8[] own")
def leave_visits(item, visit, due):
    """What is visited is due."""
    begin, end = item.share(u64(SHARE), len(visit))
    for v in range(begin, end):
        if visit[v] != 0:
            due[v] = 1


@helper
def length_of(starts, v):
    """Entries of a vertex's list."""
    return starts[v + u64(1)] - starts[v]


@helper
def pieces_of(starts, v):
    """Of a vertex's list: one at least."""
    return max(u64(1), (length_of(starts, v) + u64(PIECE - 1)) >> u64(PIECE_BITS))


@helper
def piece_begin(starts, v, piece):
    """The first entry of a piece of a vertex's list."""
    return starts[v] + u64(piece) * u64(PIECE)


@helper
def piece_end(starts, v, piece):
    """The entry behind it."""
    return min(starts[v] + (u64(piece) + u64(1)) * u64(PIECE), starts[v + u64(1)])


@helper
def slots_begin(starts, v, piece, low):
    """The first slot of a piece of a table that begins at `low`."""
    return u64(low) + u64(2) * (piece_begin(starts, v, piece) - starts[v])


@helper
def slots_end(starts, v, piece, low):
    """The slot behind it."""
    return u64(low) + u64(2) * (piece_end(starts, v, piece) - starts[v])


@item_kernel(visit="uint32[]", held="own", slots="own")
def count_visits(item, starts, visit, held, slots):
    """Add up what each bin has."""
    begin, end = item.share(u64(SHARE), len(visit))
    for v in range(begin, end):
        if visit[v] != 0:
            place = u64(visit[v]) - u64(1)
            atomic_add(held, place, pieces_of(starts, v))
            atomic_add(slots, place, u64(2) * length_of(starts, v))


@item_kernel(
    visit="uint32[]", held="own", slots="own", order="id[] own", pieces="uint32[] own", table="uint32[] own",
    gain="float64[] own", to="id[] own",
)  # fmt: skip
def list_visits(item, starts, visit, held, slots, order, pieces, table, gain, to):
    """Put the vertices that are visited into `order`, with the pieces of their lists; they go nowhere yet."""
    begin, end = item.share(u64(SHARE), len(visit))
    for v in range(begin, end):
        if visit[v] != 0:
            many = pieces_of(starts, v)
            place = atomic_add(held, u64(visit[v]) - u64(1), many)
            for piece in range(many):
                order[place] = v
                pieces[place] = piece
                place += u64(1)
            table[v] = atomic_add(slots, u64(visit[v]) - u64(1), u64(2) * length_of(starts, v))
            gain[v] = NO_GAIN
            to[v] = ~to.dtype.type(0)


@item_kernel(many="uint64", keys="id[] own", sums="float64[] own")
def empty_tables(item, many, keys, sums):
    """Empty the first `many` slots."""
    begin, end = item.share(u64(SHARE), many)
    for slot in range(begin, end):
        keys[slot] = ~keys.dtype.type(0)
        sums[slot] = f64(0)


@helper
def first_slot(key, room):
    """Where a key is looked for first, of `room` slots."""
    return (((u64(key) * u64(0x9E3779B97F4A7C15)) >> u64(32)) * room) >> u64(32)


@helper
def claimed_slot(keys, low, room, key):
    """The slot of a key, of `room` ones from `low` on; if none is the key's, it gets one."""
    none, slot = ~keys.dtype.type(0), first_slot(key, room)
    seen = keys[low + slot]
    while seen != key:
        if seen == none:
            written, there = compare_and_swap(keys, low + slot, none, key)
            seen = key if written else there
        else:
            slot = slot + u64(1) if slot + u64(1) < room else u64(0)
            seen = keys[low + slot]
    return low + slot


@helper
def added_of(keys, sums, low, room, key):
    """The sum of a key, 0 if it is not there."""
    none, slot, tried = ~keys.dtype.type(0), first_slot(key, room), u64(0)
    while tried < room and keys[low + slot] != key and keys[low + slot] != none:
        slot = slot + u64(1) if slot + u64(1) < room else u64(0)
        tried += u64(1)
    return sums[low + slot] if room > u64(0) and keys[low + slot] == key else f64(0)


@item_kernel(ids="id[]", weights="float64[]", **VISITED, label="id[]", keys="id[] own", sums="float64[] own")
def fill_tables(item, starts, ids, weights, order, pieces, begin, table, label, keys, sums):
    """Add up the weights of the visited vertices' lists, without self-loops, by the labels of their ends."""
    index = begin + item.number
    v, piece = u64(order[index]), pieces[index]
    if piece == SKIPPED:
        return
    low, room = u64(table[v]), u64(2) * length_of(starts, v)
    first, end = item.part(piece_begin(starts, v, piece), piece_end(starts, v, piece))
    for place in range(first, end):
        item.step()
        u = u64(ids[place])
        if u == v:
            continue
        atomic_add(sums, claimed_slot(keys, low, room, label[u]), f64(1) if len(weights) == 0 else weights[place])


@helper
def stay_of(starts, v, side, total, strength, factor, table, keys, sums):
    """The gain of staying, which another one must be more than."""
    own, mine = side[v], strength[v]
    stay = added_of(keys, sums, u64(table[v]), u64(2) * length_of(starts, v), own)
    stay -= (factor * mine) * (total[own] - mine)
    return stay + MARGIN * mine


@item_kernel(
    **VISITED, side="id[]", total="float64[]", strength="float64[]", factor="float64", keys="id[]", sums="float64[]",
    gain="float64[] own",
)  # fmt: skip
def weigh_moves(item, starts, order, pieces, begin, table, side, total, strength, factor, keys, sums, gain):
    """gain: the largest one of another community, where that is more than that of the vertex's own."""
    index = begin + item.number
    v, piece = u64(order[index]), pieces[index]
    stay, scale = stay_of(starts, v, side, total, strength, factor, table, keys, sums), factor * strength[v]
    most, none = stay, ~keys.dtype.type(0)
    first, end = item.part(slots_begin(starts, v, piece, table[v]), slots_end(starts, v, piece, table[v]))
    for slot in range(first, end):
        other = keys[slot]
        if other != none and other != side[v]:
            most = max(most, sums[slot] - scale * total[other])
    if most > stay:
        raise_to(gain, v, most)


@item_kernel(
    **VISITED, side="id[]", total="float64[]", strength="float64[]", factor="float64", keys="id[]", sums="float64[]",
    gain="float64[]", to="id[] own",
)  # fmt: skip
def take_moves(item, starts, order, pieces, begin, table, side, total, strength, factor, keys, sums, gain, to):
    """to: the least community of the largest gain."""
    index = begin + item.number
    v, piece = u64(order[index]), pieces[index]
    most = gain[v]
    if most == NO_GAIN:
        return
    scale, none = factor * strength[v], ~keys.dtype.type(0)
    first, end = item.part(slots_begin(starts, v, piece, table[v]), slots_end(starts, v, piece, table[v]))
    for slot in range(first, end):
        other = keys[slot]
        if other != none and other != side[v] and sums[slot] - scale * total[other] == most:
            lower(to, v, other)


@item_kernel(ids="id[]", **LISTED, side="id[]", to="id[]", due="uint8[] own")
def wake_ends(item, starts, ids, order, pieces, begin, side, to, due):
    """Neighbours of vertices that go, outside of where these go, are due."""
    index = begin + item.number
    v, piece = u64(order[index]), pieces[index]
    goal = to[v]
    if goal == ~to.dtype.type(0):
        return
    first, end = item.part(piece_begin(starts, v, piece), piece_end(starts, v, piece))
    for place in range(first, end):
        if side[ids[place]] != goal:
            due[ids[place]] = 1


@item_kernel(
    **LISTED, many="uint64", to="id[]", side="id[] own", total="float64[] own", strength="float64[]",
    moved="int64[] own",
)  # fmt: skip
def go(item, order, pieces, begin, many, to, side, total, strength, moved):
    """Move the visited vertices of `many` pieces to where `to` says; moved: int64[1], how many."""
    first, end = item.share(u64(SHARE), many)
    moves = 0
    for index in range(begin + first, begin + end):
        v = u64(order[index])
        goal = to[v]
        if pieces[index] == 0 and goal != ~to.dtype.type(0):
            atomic_add(total, u64(side[v]), -strength[v])
            atomic_add(total, u64(goal), strength[v])
            side[v] = goal
            moves += 1
    if moves > 0:
        atomic_add(moved, u64(0), moves)
