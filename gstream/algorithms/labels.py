"""Kernels of community detection by label propagation: gather the labels of all neighbours, take the most frequent."""

from __future__ import annotations

from gstream.algorithms.listsort import new_stack, sort_range
from gstream.algorithms.records import claim, u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel
from gstream.records import record_kernel

RUN = 64  # vertices that one claim takes


@record_kernel(cursor="own", entries="own")
def gather_labels(record, first, end, cursor, way, both, label, entries):
    """entries: labels of the neighbours of vertices [first, end), each at its vertex's cursor (see blocks.gather)."""
    v = record.vertex
    mine = v >= first and v < end
    if not mine and not both:
        return
    place = atomic_add(cursor, v - first, record.count) if mine else u64(0)
    for u in record.neighbours():
        if mine:
            entries[place] = label[u]
            place += u64(1)
        if both and u >= first and u < end:
            entries[atomic_add(cursor, u - first, u64(1))] = label[v]


@kernel
def take_modes(starts, entries, first, top, label, fresh, changed, counter):
    """fresh[first + k] = the most frequent of entries[starts[k]:starts[k + 1]], the least of several; without entries
    the label stays. changed: int64[1], labels that are new. Sorts the entries, whose bits are `top` at most.
    """
    stack, vertices, moved = new_stack(), u64(len(starts)) - u64(1), 0
    while True:
        begin = claim(counter) * u64(RUN)
        if begin >= vertices:
            atomic_add(changed, 0, moved)
            return u64(0)
        for k in range(begin, min(begin + u64(RUN), vertices)):
            low, high, v = starts[k], starts[k + u64(1)], u64(first) + k
            fresh[v] = label[v]
            if low == high:
                continue
            sort_range(entries, low, high, u64(top), stack)
            best, most, index = entries[low], u64(0), low
            while index < high:
                same = index + u64(1)
                while same < high and entries[same] == entries[index]:
                    same += u64(1)
                if same - index > most:
                    best, most = entries[index], same - index
                index = same
            fresh[v] = best
            moved += best != label[v]
