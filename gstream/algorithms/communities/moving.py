"""Kernels of Louvain and Leiden: vertices move between communities, and communities become the next level's vertices.

A level is a graph by lists: vertex first + k has the neighbours ids[starts[k]:starts[k + 1]] with as many `weights`,
or weights of 1 where that array has no element. Weights are multiples of a power of two whose sums are exact in
float64 (levels.py), so no sum depends on the order of threads.

* side: id[V], the community of each vertex. to: id[V], where it goes; elsewhere equal to `side`.
* strength: float64[V], weights at each vertex. total: float64[V], the sum of that over a community.
* due: u1[V], vertices that are to be looked at. factor: the resolution by the sum of all strengths.
* order: id[V], vertices as they are visited. A call visits order[begin:end]; where `listed`, with their lists alone.
  With `at_once` one thread moves a vertex before it looks at the next one.
* keys, sums, used: id, float64 and id[threads * slots], a hash table for each thread, empty (all bits set in keys)
  before and after. turn: int64[1], 0, from which threads take their tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.components.forest import link
from gstream.algorithms.support.shared import blocks, mixed
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel
from gstream.records import record_kernel

f64: Any = np.float64
RUN = 64  # vertices that one claim takes
MARGIN = f64(1e-9)  # of a vertex's strength: a gain that is less may be a rounding
EVERYWHERE = 0  # elements of `side` where all vertices are of one community


@record_kernel(cursor="own", entries="own", heavy="float64[] own")
def gather_weighted(record, first, end, cursor, way, both, entries, heavy, room):
    """entries, heavy: the neighbours of vertices [first, end) and the weights of the edges, each at its vertex's cursor
    (blocks.gather). room: how many entries degrees promise; longer lists of a damaged store end there."""
    v = record.vertex
    mine = v >= first and v < end
    if not mine and not both:
        return
    place = atomic_add(cursor, v - first, record.count) if mine else u64(0)
    for u in record.neighbours():
        if mine:
            if place < room:
                entries[place] = u
                heavy[place] = record.weight()
            place += u64(1)
        if both and u >= first and u < end:
            other = atomic_add(cursor, u - first, u64(1))
            if other < room:
                entries[other] = v
                heavy[other] = record.weight()


@record_kernel(slot="id[]", cursor="own", entries="own")
def gather_visited(record, first, end, cursor, way, both, slot, entries, room):
    """As cdlp.gather_labels with IDs for labels, of the vertices v with a slot[v]: whose cursor is theirs."""
    v, none = record.vertex, ~slot.dtype.type(0)
    mine = slot[v] != none
    if not mine and not both:
        return
    place = atomic_add(cursor, u64(slot[v]), record.count) if mine else u64(0)
    for u in record.neighbours():
        if mine:
            if place < room:
                entries[place] = u
            place += u64(1)
        if both and slot[u] != none:
            other = atomic_add(cursor, u64(slot[u]), u64(1))
            if other < room:
                entries[other] = v


@record_kernel(slot="id[]", cursor="own", entries="own", heavy="float64[] own")
def gather_weighted_visited(record, first, end, cursor, way, both, slot, entries, heavy, room):
    """As gather_weighted, of the vertices v with a slot[v]: whose cursor is theirs."""
    v, none = record.vertex, ~slot.dtype.type(0)
    mine = slot[v] != none
    if not mine and not both:
        return
    place = atomic_add(cursor, u64(slot[v]), record.count) if mine else u64(0)
    for u in record.neighbours():
        if mine:
            if place < room:
                entries[place] = u
                heavy[place] = record.weight()
            place += u64(1)
        if both and slot[u] != none:
            other = atomic_add(cursor, u64(slot[u]), u64(1))
            if other < room:
                entries[other] = v
                heavy[other] = record.weight()


@helper
def table_of(keys, turn, threads):
    """(where this thread's table begins, its slots)."""
    slots = u64(len(keys)) // u64(threads)
    return u64(atomic_add(turn, 0, 1)) * slots, slots


@helper
def mask_of(entries, slots):
    """The slots, less one, that so many entries use: a power of two, twice as many as entries where there are more."""
    size = u64(8)
    while size < u64(2) * entries and size < slots:
        size <<= u64(1)
    return size - u64(1)


@helper
def slot_of(keys, base, mask, key):
    """The slot of a key, or the empty one where it would stand."""
    none = ~keys.dtype.type(0)
    slot = ((u64(key) * u64(0x9E3779B97F4A7C15)) >> u64(24)) & mask
    while keys[base + slot] != key and keys[base + slot] != none:
        slot = (slot + u64(1)) & mask
    return base + slot


@helper
def add_up(ids, weights, low, high, v, own, side, keys, sums, used, base, mask, count):
    """Add the weights of a list by the sides of its ends to the table. own: what a self-loop counts. Returns how many
    slots are in use."""
    none, unit = ~keys.dtype.type(0), len(weights) == 0
    for place in range(low, high):
        u = u64(ids[place])
        weight = f64(1) if unit else weights[place]
        if u == v:
            weight *= own
        slot = slot_of(keys, base, mask, side[u])
        if keys[slot] == none:
            keys[slot], sums[slot] = side[u], f64(0)
            used[base + count] = slot - base
            count += u64(1)
        sums[slot] += weight
    return count


@helper
def clear(keys, used, base, count):
    """Empty the slots in use."""
    for index in range(count):
        keys[base + u64(used[base + index])] = ~keys.dtype.type(0)


@helper
def sum_of(keys, sums, base, mask, key):
    """The sum of a key in the table, 0 if it is not there."""
    slot = slot_of(keys, base, mask, key)
    return sums[slot] if keys[slot] == key else f64(0)


@helper
def wake(ids, low, high, side, new, due):
    """Neighbours outside the community `new` are to be looked at again."""
    for place in range(low, high):
        if side[ids[place]] != new:
            due[ids[place]] = 1


@helper
def move(v, side, total, strength, new):
    """Move v to the community `new`."""
    atomic_add(total, u64(side[v]), -strength[v])
    atomic_add(total, u64(new), strength[v])
    side[v] = new


@kernel
def list_due(due, salt, order, bounds, counter):
    """Put the vertices that are due into `order`, slice by slice and ascending, and set `due` to 0, by one thread.

    A hash of vertex and salt says the slice. bounds: int64[slices + 2], of a power of two of slices, zero; slice k is
    order[bounds[k]:bounds[k + 1]].
    """
    last = u64(len(bounds) - 3)
    for v in range(len(due)):
        if due[v] != 0:
            bounds[u64(2) + (mixed(u64(v) ^ u64(salt)) & last)] += 1
    for k in range(2, len(bounds)):
        bounds[k] += bounds[k - 1]
    for v in range(len(due)):
        if due[v] != 0:
            k = u64(1) + (mixed(u64(v) ^ u64(salt)) & last)
            order[bounds[k]] = v
            bounds[k] += 1
            due[v] = 0
    return u64(0)


@kernel
def choose_moves(
    starts, ids, weights, first, listed, order, begin, end, side, total, strength, due, factor, at_once, to, moved,
    keys, sums, used, turn, threads, counter,
):  # fmt: skip
    """to: the community of largest gain in modularity, the least of several; moved: int64[1], how many vertices change
    theirs. Neighbours of those that do are due. Returns the edges looked at."""
    base, slots = table_of(keys, turn, threads)
    edges, moves = u64(0), 0
    for early, late in blocks(counter, end - begin, RUN):
        for index in range(early, late):
            v = u64(order[u64(begin) + index])
            k = index if listed else v - u64(first)
            low, high = starts[k], starts[k + u64(1)]
            if at_once:
                due[v] = 0
            mask, own, mine = mask_of(high - low, slots), side[v], strength[v]
            found = add_up(ids, weights, low, high, v, f64(0), side, keys, sums, used, base, mask, u64(0))
            edges += high - low
            scale = factor * mine
            best, most = own, sum_of(keys, sums, base, mask, own) - scale * (total[own] - mine)
            most += MARGIN * mine
            for place in range(found):
                slot = base + u64(used[base + place])
                other = keys[slot]
                if other == own:
                    continue
                gain = sums[slot] - scale * total[other]
                if gain > most or (gain == most and best != own and other < best):
                    best, most = other, gain
            clear(keys, used, base, found)
            to[v] = best
            if best != own:
                moves += 1
                wake(ids, low, high, side, best, due)
                if at_once:
                    move(v, side, total, strength, best)
    atomic_add(moved, 0, moves)
    return edges


@kernel
def make_moves(order, side, total, strength, to, counter):
    """Move the visited vertices to where `to` says."""
    for early, late in blocks(counter, len(order), RUN):
        for index in range(early, late):
            v = u64(order[index])
            if to[v] != side[v]:
                move(v, side, total, strength, to[v])
    return u64(0)


@kernel
def sum_lists(starts, ids, weights, first, own, side, inner, counter):
    """inner: float64[V], the weights at each vertex that lead to its own side, or all of them where `side` has no
    element. own: what a self-loop counts. Returns the edges looked at."""
    unit, whole, edges = len(weights) == 0, len(side) == EVERYWHERE, u64(0)
    for early, late in blocks(counter, len(starts) - 1, RUN):
        for k in range(early, late):
            v, found = u64(first) + k, f64(0)
            for place in range(starts[k], starts[k + u64(1)]):
                u = u64(ids[place])
                if whole or side[u] == side[v]:
                    weight = f64(1) if unit else weights[place]
                    found += weight * own if u == v else weight
            inner[v] = found
            edges += starts[k + u64(1)] - starts[k]
    return edges


@helper
def merge(v, new, linked, part, bulk, cut, inner, strength, mixed_in):
    """Put v, which is alone in its part, into the part `new`."""
    part[v] = new
    atomic_add(bulk, u64(new), strength[v])
    atomic_add(cut, u64(new), inner[v] - f64(2) * linked)
    bulk[v], cut[v] = f64(0), f64(0)
    mixed_in[v], mixed_in[new] = 1, 1


@kernel
def choose_merges(
    starts, ids, weights, first, listed, order, begin, end, side, total, strength, part, bulk, cut, inner, mixed_in,
    factor, at_once, to, linked, keys, sums, used, turn, threads, counter,
):  # fmt: skip
    """Leiden's refinement (Traag, Waltman, van Eck 2019, algorithm A.2), with the largest gain in place of a drawn one.
    Each vertex that is alone in its part and well connected to its community finds a well connected part of that.

    part: id[V], parts of communities, each named by a vertex that is in it. bulk: float64[V], strengths of a part; cut:
    weights between it and the rest of its community; inner: those of a vertex alone. mixed_in: u1[V], whether a part
    has had two vertices. to: the part, v itself where it finds none; linked: float64[V], weights between the vertex and
    that. Returns the edges looked at.
    """
    base, slots = table_of(keys, turn, threads)
    edges = u64(0)
    for early, late in blocks(counter, end - begin, RUN):
        for index in range(early, late):
            v = u64(order[u64(begin) + index])
            k = index if listed else v - u64(first)
            low, high = starts[k], starts[k + u64(1)]
            mine, whole = strength[v], total[side[v]]
            if mixed_in[v] != 0 or inner[v] < factor * mine * (whole - mine):
                continue
            mask = mask_of(high - low, slots)
            found = add_up(ids, weights, low, high, v, f64(0), part, keys, sums, used, base, mask, u64(0))
            edges += high - low
            best, most = u64(v), MARGIN * mine
            for place in range(found):
                slot = base + u64(used[base + place])
                other = u64(keys[slot])
                if other == v or side[other] != side[v]:
                    continue
                if cut[other] < factor * bulk[other] * (whole - bulk[other]):
                    continue
                gain = sums[slot] - factor * mine * bulk[other]
                if gain > most or (gain == most and best != v and other < best):
                    best, most, linked[v] = other, gain, sums[slot]
            clear(keys, used, base, found)
            to[v] = best
            if at_once and best != v:
                merge(v, best, linked[v], part, bulk, cut, inner, strength, mixed_in)
    return edges


@kernel
def make_merges(order, part, bulk, cut, inner, strength, mixed_in, to, linked, counter):
    """Merge the visited vertices into the parts whose vertices stay; of two that want each other, the first by a hash
    goes. So parts stay connected. `to` is v itself for vertices that are not
    visited."""
    for early, late in blocks(counter, len(order), RUN):
        for index in range(early, late):
            v = u64(order[index])
            new = u64(to[v])
            if new != v and (to[new] == new or (to[new] == v and mixed(v) < mixed(new))):
                merge(v, new, linked[v], part, bulk, cut, inner, strength, mixed_in)
    return u64(0)


@kernel
def pick_lists(starts, from_ids, from_weights, first, slot, places, ids, weights, counter):
    """Copy lists of the vertices v with a slot[v] to places[slot[v]] of ids and weights."""
    none = ~slot.dtype.type(0)
    for early, late in blocks(counter, len(starts) - 1, RUN):
        for k in range(early, late):
            where = slot[u64(first) + k]
            if where != none:
                to = places[where] - starts[k]
                for place in range(starts[k], starts[k + u64(1)]):
                    ids[to + place], weights[to + place] = from_ids[place], from_weights[place]
    return u64(0)


@kernel
def link_inside(starts, ids, first, side, parent, counter):
    """Put the ends of each edge inside a community into one tree (gstream.algorithms.components.forest)."""
    for early, late in blocks(counter, len(starts) - 1, RUN):
        for k in range(early, late):
            v = u64(first) + k
            for place in range(starts[k], starts[k + u64(1)]):
                u = u64(ids[place])
                if u < v and side[u] == side[v]:
                    link(parent, u, v)
    return u64(0)
