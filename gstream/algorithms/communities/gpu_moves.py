"""Item kernels of Louvain and Leiden for GPUs: a slice of vertices chooses, by tables in GPU memory.

The same choices as on the host's cores (moving.py), by the same sums and comparisons. Vertex v has the slots 2 *
starts[v] to 2 * starts[v + 1] of one table: as many as twice its neighbours. A launch is a step for all vertices of a
slice: empty their slots, add up weights by communities, find the largest gain, find the least community of that gain.

* visit: u4[V], the slice of each vertex and 1, or 0. order: id[V + E / PIECE], the vertices of the slice, once for each
  PIECE of their lists. A warp takes a piece: a hub's whole list would take longer than the rest of the slice. pieces:
  u4[V + E / PIECE], which piece. held: uint64[slices], how many these are. items: how many a launch takes at once.
* keys: id[2 E]; sums: float64[2 E]; gain: float64[V], the largest gain, or NO_GAIN; to: where the vertex goes, or all
  bits set. Other arrays as in moving.py.
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
PIECE_BITS = 11
PIECE = 1 << PIECE_BITS  # entries of a list
LISTED = {"order": "id[]", "pieces": "uint32[]", "turn": "uint64"}
VISITED = {**LISTED, "items": "uint64"}
NO_GAIN = f64(-1.7e308)
MARGIN = f64(1e-9)  # as in moving.py


@item_kernel(due="uint8[] own", visit="uint32[] own", held="own", moved="int64[] own", salt="uint64", last="uint64")
def begin_visits(item, due, visit, held, moved, salt, last):
    """visit: the slices of the vertices that are due, of which none is due any more. last: slices, less one."""
    if item.number == u64(0):
        moved[0] = 0
        for k in range(len(held)):
            held[k] = u64(0)
    begin, end = item.share(u64(SHARE), len(due))
    for v in range(begin, end):
        if due[v] != 0:
            visit[v] = u64(1) + (mixed(u64(v) ^ u64(salt)) & last)
            due[v] = 0
        else:
            visit[v] = 0


@helper
def pieces_of(starts, v):
    """Of a vertex's list: one at least."""
    return max(u64(1), (starts[v + u64(1)] - starts[v] + u64(PIECE - 1)) >> u64(PIECE_BITS))


@helper
def piece_begin(starts, v, piece):
    """The first entry of a piece of a vertex's list."""
    return starts[v] + u64(piece) * u64(PIECE)


@helper
def piece_end(starts, v, piece):
    """The entry behind it."""
    return min(starts[v] + (u64(piece) + u64(1)) * u64(PIECE), starts[v + u64(1)])


@item_kernel(visit="uint32[]", order="id[] own", pieces="uint32[] own", held="own", turn="uint64")
def list_visits(item, starts, visit, order, pieces, held, turn):
    """Put the vertices of slice `turn` into `order`, with the pieces of their lists."""
    begin, end = item.share(u64(SHARE), len(visit))
    found = u64(0)
    for v in range(begin, end):
        if u64(visit[v]) == turn + u64(1):
            found += pieces_of(starts, v)
    if found == u64(0):
        return
    place = atomic_add(held, turn, found)
    for v in range(begin, end):
        if u64(visit[v]) == turn + u64(1):
            for piece in range(pieces_of(starts, v)):
                order[place] = v
                pieces[place] = piece
                place += u64(1)


@item_kernel(
    visit="uint32[]", side="id[]", total="float64[]", strength="float64[]", inner="float64[]", mixed_in="uint8[]",
    factor="float64", order="id[] own", pieces="uint32[] own", held="own", turn="uint64",
)  # fmt: skip
def list_merges(item, starts, visit, side, total, strength, inner, mixed_in, factor, order, pieces, held, turn):
    """As list_visits, of vertices that are alone in their parts and well connected to their communities."""
    begin, end = item.share(u64(SHARE), len(visit))
    for v in range(begin, end):
        if u64(visit[v]) == turn + u64(1) and mixed_in[v] == 0:
            mine = strength[v]
            if inner[v] >= factor * mine * (total[side[v]] - mine):
                count = pieces_of(starts, v)
                place = atomic_add(held, turn, count)
                for piece in range(count):
                    order[place] = v
                    pieces[place] = piece
                    place += u64(1)


@item_kernel(**VISITED, keys="id[] own", sums="float64[] own", gain="float64[] own", to="id[] own")
def empty_tables(item, starts, order, pieces, held, turn, items, keys, sums, gain, to):
    """Empty the slots of the visited vertices, which go nowhere yet."""
    index = item.number
    while index < held[turn]:
        v, piece = u64(order[index]), pieces[index]
        gain[v] = NO_GAIN
        to[v] = ~to.dtype.type(0)
        begin, end = item.part(u64(2) * piece_begin(starts, v, piece), u64(2) * piece_end(starts, v, piece))
        for slot in range(begin, end):
            keys[slot] = ~keys.dtype.type(0)
            sums[slot] = f64(0)
        index += items


@helper
def first_slot(key, room):
    """Where a key is looked for first, of `room` slots."""
    return (((u64(key) * u64(0x9E3779B97F4A7C15)) >> u64(32)) * room) >> u64(32)


@helper
def added_of(keys, sums, low, room, key):
    """The sum of a key, 0 if it is not there."""
    none, slot, tried = ~keys.dtype.type(0), first_slot(key, room), u64(0)
    while tried < room and keys[low + slot] != key and keys[low + slot] != none:
        slot = slot + u64(1) if slot + u64(1) < room else u64(0)
        tried += u64(1)
    return sums[low + slot] if room > u64(0) and keys[low + slot] == key else f64(0)


@item_kernel(ids="id[]", weights="float64[]", **VISITED, label="id[]", keys="id[] own", sums="float64[] own")
def fill_tables(item, starts, ids, weights, order, pieces, held, turn, items, label, keys, sums):
    """Add up the weights of the visited vertices' lists, without self-loops, by the labels of their ends."""
    index = item.number
    while index < held[turn]:
        v, piece = u64(order[index]), pieces[index]
        low, room = u64(2) * starts[v], u64(2) * (starts[v + u64(1)] - starts[v])
        begin, end = item.part(piece_begin(starts, v, piece), piece_end(starts, v, piece))
        none = ~keys.dtype.type(0)
        for place in range(begin, end):
            item.step()
            u = u64(ids[place])
            if u == v:
                continue
            key = label[u]
            slot = first_slot(key, room)
            seen = keys[low + slot]
            while seen != key:
                if seen == none:
                    written, there = compare_and_swap(keys, low + slot, none, key)
                    seen = key if written else there
                else:
                    slot = slot + u64(1) if slot + u64(1) < room else u64(0)
                    seen = keys[low + slot]
            atomic_add(sums, low + slot, f64(1) if len(weights) == 0 else weights[place])
        index += items


@helper
def stay_of(starts, v, side, total, strength, factor, keys, sums):
    """The gain of staying, which another one must be more than."""
    low, room = u64(2) * starts[v], u64(2) * (starts[v + u64(1)] - starts[v])
    own, mine = side[v], strength[v]
    stay = added_of(keys, sums, low, room, own) - (factor * mine) * (total[own] - mine)
    return stay + MARGIN * mine


@item_kernel(
    **VISITED, side="id[]", total="float64[]", strength="float64[]", factor="float64", keys="id[]", sums="float64[]",
    gain="float64[] own",
)  # fmt: skip
def weigh_moves(item, starts, order, pieces, held, turn, items, side, total, strength, factor, keys, sums, gain):
    """gain: the largest one of another community, where that is more than that of the vertex's own."""
    index = item.number
    while index < held[turn]:
        v, piece = u64(order[index]), pieces[index]
        stay, scale = stay_of(starts, v, side, total, strength, factor, keys, sums), factor * strength[v]
        most, none = stay, ~keys.dtype.type(0)
        begin, end = item.part(u64(2) * piece_begin(starts, v, piece), u64(2) * piece_end(starts, v, piece))
        for slot in range(begin, end):
            other = keys[slot]
            if other != none and other != side[v]:
                most = max(most, sums[slot] - scale * total[other])
        if most > stay:
            raise_to(gain, v, most)
        index += items


@item_kernel(
    **VISITED, side="id[]", total="float64[]", strength="float64[]", factor="float64", keys="id[]", sums="float64[]",
    gain="float64[]", to="id[] own",
)  # fmt: skip
def take_moves(item, starts, order, pieces, held, turn, items, side, total, strength, factor, keys, sums, gain, to):
    """to: the least community of the largest gain."""
    index = item.number
    while index < held[turn]:
        v, piece = u64(order[index]), pieces[index]
        most = gain[v]
        if most != NO_GAIN:
            scale, none = factor * strength[v], ~keys.dtype.type(0)
            begin, end = item.part(u64(2) * piece_begin(starts, v, piece), u64(2) * piece_end(starts, v, piece))
            for slot in range(begin, end):
                other = keys[slot]
                if other != none and other != side[v] and sums[slot] - scale * total[other] == most:
                    lower(to, v, other)
        index += items


@item_kernel(ids="id[]", **VISITED, side="id[]", to="id[]", due="uint8[] own")
def wake_ends(item, starts, ids, order, pieces, held, turn, items, side, to, due):
    """Neighbours of vertices that go, outside of where these go, are due."""
    index = item.number
    while index < held[turn]:
        v, piece = u64(order[index]), pieces[index]
        goal = to[v]
        if goal != ~to.dtype.type(0):
            begin, end = item.part(piece_begin(starts, v, piece), piece_end(starts, v, piece))
            for place in range(begin, end):
                if side[ids[place]] != goal:
                    due[ids[place]] = 1
        index += items


@item_kernel(**LISTED, to="id[]", side="id[] own", total="float64[] own", strength="float64[]", moved="int64[] own")
def go(item, order, pieces, held, turn, to, side, total, strength, moved):
    """Move the visited vertices to where `to` says; moved: int64[1], how many."""
    begin, end = item.share(u64(SHARE), held[turn])
    moves = 0
    for index in range(begin, end):
        v = u64(order[index])
        goal = to[v]
        if pieces[index] == 0 and goal != ~to.dtype.type(0):
            atomic_add(total, u64(side[v]), -strength[v])
            atomic_add(total, u64(goal), strength[v])
            side[v] = goal
            moves += 1
    if moves > 0:
        atomic_add(moved, u64(0), moves)


@helper
def merge_gain(v, other, side, total, strength, bulk, cut, factor, sum_of):
    """The gain of v's merging into a part; NO_GAIN if that is of another community, or ill connected to its own."""
    whole = total[side[v]]
    if u64(other) == v or side[other] != side[v] or cut[other] < factor * bulk[other] * (whole - bulk[other]):
        return NO_GAIN
    return sum_of - factor * strength[v] * bulk[other]


@item_kernel(
    **VISITED, side="id[]", total="float64[]", strength="float64[]", bulk="float64[]", cut="float64[]",
    factor="float64", keys="id[]", sums="float64[]", gain="float64[] own",
)  # fmt: skip
def weigh_merges(
    item, starts, order, pieces, held, turn, items, side, total, strength, bulk, cut, factor, keys, sums, gain
):
    """gain: the largest one of a part, where there is any (moving.choose_merges)."""
    index = item.number
    while index < held[turn]:
        v, piece = u64(order[index]), pieces[index]
        least, none = MARGIN * strength[v], ~keys.dtype.type(0)
        most = least
        begin, end = item.part(u64(2) * piece_begin(starts, v, piece), u64(2) * piece_end(starts, v, piece))
        for slot in range(begin, end):
            other = keys[slot]
            if other != none:
                most = max(most, merge_gain(v, other, side, total, strength, bulk, cut, factor, sums[slot]))
        if most > least:
            raise_to(gain, v, most)
        index += items


@item_kernel(
    **VISITED, side="id[]", total="float64[]", strength="float64[]", bulk="float64[]", cut="float64[]",
    factor="float64", keys="id[]", sums="float64[]", gain="float64[]", to="id[] own",
)  # fmt: skip
def take_merges(
    item, starts, order, pieces, held, turn, items, side, total, strength, bulk, cut, factor, keys, sums, gain, to
):
    """to: the least part of the largest gain."""
    index = item.number
    while index < held[turn]:
        v, piece = u64(order[index]), pieces[index]
        most, none = gain[v], ~keys.dtype.type(0)
        if most != NO_GAIN:
            begin, end = item.part(u64(2) * piece_begin(starts, v, piece), u64(2) * piece_end(starts, v, piece))
            for slot in range(begin, end):
                other = keys[slot]
                if other != none:
                    if merge_gain(v, other, side, total, strength, bulk, cut, factor, sums[slot]) == most:
                        lower(to, v, other)
        index += items


@item_kernel(
    **LISTED, to="id[]", keys="id[]", sums="float64[]", inner="float64[]", strength="float64[]", part="id[] own",
    bulk="float64[] own", cut="float64[] own", mixed_in="uint8[] own",
)  # fmt: skip
def join_parts(item, starts, order, pieces, held, turn, to, keys, sums, inner, strength, part, bulk, cut, mixed_in):
    """Merge the visited vertices into parts whose vertices stay (moving.make_merges)."""
    begin, end = item.share(u64(SHARE), held[turn])
    none = ~to.dtype.type(0)
    for index in range(begin, end):
        v = u64(order[index])
        if pieces[index] == 0 and to[v] != none:
            goal = u64(to[v])
            if to[goal] == none or (u64(to[goal]) == v and mixed(v) < mixed(goal)):
                room = u64(2) * (starts[v + u64(1)] - starts[v])
                linked = added_of(keys, sums, u64(2) * starts[v], room, to[v])
                part[v] = goal
                atomic_add(bulk, goal, strength[v])
                atomic_add(cut, goal, inner[v] - f64(2) * linked)
                bulk[v] = f64(0)
                cut[v] = f64(0)
                mixed_in[v] = 1
                mixed_in[goal] = 1


@item_kernel(order="id[]", turn="uint64", to="id[] own")
def end_visits(item, order, held, turn, to):
    """The visited vertices go nowhere any more."""
    begin, end = item.share(u64(SHARE), held[turn])
    for index in range(begin, end):
        to[order[index]] = ~to.dtype.type(0)
