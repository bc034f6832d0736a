"""Kernels of community detection by label propagation: gather the labels of all neighbours, take the most frequent."""

from __future__ import annotations

import numpy as np

from gstream.algorithms.support.listsort import new_stack, sort_range
from gstream.algorithms.support.shared import blocks
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel_with_arrays
from gstream.records import record_kernel

RUN = 64  # vertices that one claim takes
SLOTS = 8192  # of a thread's table of labels
DISTINCT = 4096  # labels that it takes: more of them are sorted


@record_kernel(cursor="own", entries="own")
def gather_labels(record, first, end, cursor, way, both, label, entries, room):
    """entries: labels of the neighbours of vertices [first, end), each at its vertex's cursor (see blocks.gather).

    room: how many they are, as degrees say; lists that say otherwise, in a store that somebody made so, end there.
    """
    v = record.vertex
    mine = v >= first and v < end
    if not mine and not both:
        return
    place = atomic_add(cursor, v - first, record.count) if mine else u64(0)
    for u in record.neighbours():
        if mine:
            if place < room:
                entries[place] = label[u]
            place += u64(1)
        if both and u >= first and u < end:
            other = atomic_add(cursor, u - first, u64(1))
            if other < room:
                entries[other] = label[v]


@helper
def count_labels(entries, low, high, keys, counts, slots):
    """(whether there was room, the most frequent of entries[low:high], the least of several), by counting in a table.

    keys: id[SLOTS]; counts: uint64[SLOTS], zero before and after; slots: uint64[DISTINCT], for those in use.
    """
    best, most, used, room = entries[low], u64(0), u64(0), True
    for index in range(low, high):
        key = entries[index]
        slot = (u64(key) * u64(0x9E3779B97F4A7C15)) >> u64(51)
        while counts[slot] != u64(0) and keys[slot] != key:
            slot = (slot + u64(1)) & u64(SLOTS - 1)
        if counts[slot] == u64(0):
            if used == u64(DISTINCT):
                room = False
                break
            keys[slot], slots[used] = key, slot
            used += u64(1)
        counts[slot] += u64(1)
        if counts[slot] > most or (counts[slot] == most and key < best):
            best, most = key, counts[slot]
    for index in range(used):
        counts[slots[index]] = u64(0)
    return room, best


@helper
def mode_of_sorted(entries, low, high):
    """The most frequent of entries[low:high], which ascend; the least of several."""
    best, most, index = entries[low], u64(0), low
    while index < high:
        same = index + u64(1)
        while same < high and entries[same] == entries[index]:
            same += u64(1)
        if same - index > most:
            best, most = entries[index], same - index
        index = same
    return best


@kernel_with_arrays
def take_modes(starts, entries, first, top, label, fresh, changed, counter):
    """fresh[first + k] = the most frequent of entries[starts[k]:starts[k + 1]], the least of several; without entries
    the label stays. changed: int64[1], labels that are new. Entries, whose bits are `top` at most, may be sorted.
    """
    stack, moved = new_stack(), 0
    keys, counts, slots = np.empty(SLOTS, label.dtype), np.zeros(SLOTS, np.uint64), np.empty(DISTINCT, np.uint64)
    for begin, end in blocks(counter, len(starts) - 1, RUN):
        for k in range(begin, end):
            low, high, v = starts[k], starts[k + u64(1)], u64(first) + k
            fresh[v] = label[v]
            if low == high:
                continue
            counted, best = count_labels(entries, low, high, keys, counts, slots)
            if not counted:
                sort_range(entries, low, high, u64(top), stack)
                best = mode_of_sorted(entries, low, high)
            fresh[v] = best
            moved += best != label[v]
    atomic_add(changed, 0, moved)
    return u64(0)
