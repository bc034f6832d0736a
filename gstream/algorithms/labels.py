"""Kernels of community detection by label propagation: gather the labels of all neighbours, take the most frequent."""

from __future__ import annotations

from gstream.algorithms.listsort import new_stack, sort_range
from gstream.algorithms.records import claim, part_of, record, slots_end, u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import kernel

RUN = 64  # vertices that one claim takes


@kernel
def gather_labels(words, parts, counter, first, end, cursor, way, both, label, entries):
    """entries: labels of the neighbours of vertices [first, end), each at its vertex's cursor (see blocks.gather)."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, stop, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, stop, large)):
            v, word, count = record(words, row, slot, begin, stop, large, stride)
            mine = v >= first and v < end
            if not mine and not both:
                continue
            edges += count
            place = atomic_add(cursor, v - first, count) if mine else u64(0)
            for k in range(count):
                u = u64(words[row, word + k * stride])
                if mine:
                    entries[place + k] = label[u]
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
