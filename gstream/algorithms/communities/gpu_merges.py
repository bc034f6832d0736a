"""Item kernels of Leiden's refinement for GPUs, by the tables and lists of gpu_moves.py.

The same choices as on the host's cores (moving.choose_merges, moving.make_merges); arrays as there.
"""

from __future__ import annotations

from gstream.algorithms.communities.gpu_moves import (
    LISTED,
    MARGIN,
    NO_GAIN,
    SHARE,
    SKIPPED,
    VISITED,
    added_of,
    f64,
    length_of,
    piece_begin,
    piece_end,
    slots_begin,
    slots_end,
)
from gstream.algorithms.support.shared import lower, mixed, raise_to
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper
from gstream.records import item_kernel


@item_kernel(
    ids="id[]", weights="float64[]", **LISTED, side="id[]", inner="float64[] own", cut="float64[] own"
)  # fmt: skip
def sum_inside(item, starts, ids, weights, order, pieces, begin, side, inner, cut):
    """Add to `inner` and `cut` the weights at the visited vertices that lead to their own sides, without self-loops."""
    index = begin + item.number
    v, piece, found = u64(order[index]), pieces[index], f64(0)
    first, end = item.part(piece_begin(starts, v, piece), piece_end(starts, v, piece))
    for place in range(first, end):
        u = u64(ids[place])
        if u != v and side[u] == side[v]:
            found += f64(1) if len(weights) == 0 else weights[place]
    if found != f64(0):
        atomic_add(inner, v, found)
        atomic_add(cut, v, found)


@item_kernel(
    order="id[]", pieces="uint32[] own", begin="uint64", many="uint64", side="id[]", total="float64[]",
    strength="float64[]", inner="float64[]", mixed_in="uint8[]", factor="float64",
)  # fmt: skip
def pass_over(item, order, pieces, begin, many, side, total, strength, inner, mixed_in, factor):
    """Skip vertices that are not alone in their parts, or not well connected to their communities."""
    first, end = item.share(u64(SHARE), many)
    for index in range(begin + first, begin + end):
        v = u64(order[index])
        mine = strength[v]
        if mixed_in[v] != 0 or inner[v] < factor * mine * (total[side[v]] - mine):
            pieces[index] = SKIPPED


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
def weigh_merges(item, starts, order, pieces, begin, table, side, total, strength, bulk, cut, factor, keys, sums, gain):
    """gain: the largest one of a part, where there is any (moving.choose_merges)."""
    index = begin + item.number
    v, piece = u64(order[index]), pieces[index]
    if piece == SKIPPED:
        return
    least, none = MARGIN * strength[v], ~keys.dtype.type(0)
    most = least
    first, end = item.part(slots_begin(starts, v, piece, table[v]), slots_end(starts, v, piece, table[v]))
    for slot in range(first, end):
        other = keys[slot]
        if other != none:
            most = max(most, merge_gain(v, other, side, total, strength, bulk, cut, factor, sums[slot]))
    if most > least:
        raise_to(gain, v, most)


@item_kernel(
    **VISITED, side="id[]", total="float64[]", strength="float64[]", bulk="float64[]", cut="float64[]",
    factor="float64", keys="id[]", sums="float64[]", gain="float64[]", to="id[] own",
)  # fmt: skip
def take_merges(
    item, starts, order, pieces, begin, table, side, total, strength, bulk, cut, factor, keys, sums, gain, to
):
    """to: the least part of the largest gain."""
    index = begin + item.number
    v, piece = u64(order[index]), pieces[index]
    most, none = gain[v], ~keys.dtype.type(0)
    if piece == SKIPPED or most == NO_GAIN:
        return
    first, end = item.part(slots_begin(starts, v, piece, table[v]), slots_end(starts, v, piece, table[v]))
    for slot in range(first, end):
        other = keys[slot]
        if other != none:
            if merge_gain(v, other, side, total, strength, bulk, cut, factor, sums[slot]) == most:
                lower(to, v, other)


@item_kernel(
    **VISITED, many="uint64", to="id[]", keys="id[]", sums="float64[]", gain="float64[] own",
)  # fmt: skip
def weigh_links(item, starts, order, pieces, begin, table, many, to, keys, sums, gain):
    """gain: the weights between a visited vertex, of `many` pieces, and the part where it wants to go."""
    first, end = item.share(u64(SHARE), many)
    for index in range(begin + first, begin + end):
        v = u64(order[index])
        if pieces[index] == 0 and to[v] != ~to.dtype.type(0):
            gain[v] = added_of(keys, sums, u64(table[v]), u64(2) * length_of(starts, v), to[v])


@item_kernel(
    **LISTED, many="uint64", to="id[]", gain="float64[]", inner="float64[]", strength="float64[]",
    part="id[] own", bulk="float64[] own", cut="float64[] own", mixed_in="uint8[] own",
)  # fmt: skip
def join_parts(item, order, pieces, begin, many, to, gain, inner, strength, part, bulk, cut, mixed_in):
    """Merge the visited vertices into parts whose vertices stay (moving.make_merges)."""
    first, end = item.share(u64(SHARE), many)
    none = ~to.dtype.type(0)
    for index in range(begin + first, begin + end):
        v = u64(order[index])
        if pieces[index] == 0 and to[v] != none:
            goal = u64(to[v])
            if to[goal] == none or (u64(to[goal]) == v and mixed(v) < mixed(goal)):
                part[v] = goal
                atomic_add(bulk, goal, strength[v])
                atomic_add(cut, goal, inner[v] - f64(2) * gain[v])
                bulk[v] = f64(0)
                cut[v] = f64(0)
                mixed_in[v] = 1
                mixed_in[goal] = 1


@item_kernel(order="id[]", begin="uint64", many="uint64", to="id[] own")
def end_visits(item, order, begin, many, to):
    """The visited vertices of `many` pieces go nowhere any more."""
    first, end = item.share(u64(SHARE), many)
    for index in range(begin + first, begin + end):
        to[order[index]] = ~to.dtype.type(0)
