"""Kernels of strongly connected components: trimming, colouring forwards, collecting backwards; and their certificate.

label: id[V], the root of v's component, all bits set while v has none. part: id[V], vertices of different parts are in
different components. color: id[V]. Edges go from a page's vertex to the neighbours in its list; of a store that has
in-pages only all edges are seen the other way round, and components are the same.
"""

from __future__ import annotations

from gstream.algorithms.independent import mixed
from gstream.algorithms.nearest import BLOCK
from gstream.algorithms.records import claim, part_of, record, slots_end, u64
from gstream.algorithms.shared import is_set, set_bit
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import helper, kernel


@helper
def is_inner(label, part, v, u):
    """Whether the edge v -> u may lie in a component that is not known yet; v has no label."""
    return u != v and label[u] == ~label.dtype.type(0) and part[u] == part[v]


@kernel
def mark_ends(words, parts, counter, label, part, leads, met):
    """leads, met: bits of vertices without a label that an inner edge leaves, or leads to."""
    edges, none = u64(0), ~label.dtype.type(0)
    while True:
        claimed = claim(counter)
        if claimed >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, claimed)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            if label[v] != none:
                continue
            edges += count
            for k in range(count):
                u = u64(words[row, first + k * stride])
                if is_inner(label, part, v, u):
                    set_bit(leads, v)
                    set_bit(met, u)


@kernel
def trim(label, leads, met, counter):
    """A vertex that no inner edge leaves, or none leads to, is a component. Returns how many there were."""
    found, none = u64(0), ~label.dtype.type(0)
    while True:
        begin = claim(counter) * u64(BLOCK)
        if begin >= u64(len(label)):
            return found
        for v in range(begin, min(begin + u64(BLOCK), u64(len(label)))):
            if label[v] == none and not (is_set(leads, v) and is_set(met, v)):
                label[v] = v
                found += u64(1)


@kernel
def start_round(label, color, part, first, open_bits, counter):
    """open_bits: vertices without a label; these get their old color for part (not `first`), and themselves for color.

    Returns how many there are.
    """
    left, none = u64(0), ~label.dtype.type(0)
    while True:
        begin = claim(counter) * u64(BLOCK // 64)
        if begin >= u64(len(open_bits)):
            return left
        for index in range(begin, min(begin + u64(BLOCK // 64), u64(len(open_bits)))):
            word, base = u64(0), index * u64(64)
            for v in range(base, min(base + u64(64), u64(len(label)))):
                if label[v] == none:
                    word |= u64(1) << (v & u64(63))
                    left += u64(1)
                    if not first:
                        part[v] = color[v]
                    color[v] = v
            open_bits[index] = word


@kernel
def spread_colors(words, parts, counter, label, part, here, color, following):
    """Over inner edges from vertices of `here`: u takes v's color where its hash is higher; following: who did."""
    edges = u64(0)
    while True:
        claimed = claim(counter)
        if claimed >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, claimed)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            if not is_set(here, v):
                continue
            mine = color[v]
            rank = mixed(u64(mine))
            edges += count
            for k in range(count):
                u = u64(words[row, first + k * stride])
                if not is_inner(label, part, v, u):
                    continue
                seen = color[u]
                while mixed(u64(seen)) < rank:
                    written, seen = compare_and_swap(color, u, seen, mine)
                    if written:
                        set_bit(following, u)
                        break


@kernel
def name_roots(label, color, counter):
    """Who kept its own color is the root of a component."""
    none = ~label.dtype.type(0)
    while True:
        begin = claim(counter) * u64(BLOCK)
        if begin >= u64(len(label)):
            return u64(0)
        for v in range(begin, min(begin + u64(BLOCK), u64(len(label)))):
            if label[v] == none and u64(color[v]) == v:
                label[v] = v


@kernel
def collect(words, parts, counter, label, color, changed):
    """Who has an edge to a vertex of the component that its color names is in it: color reaches v, v reaches color."""
    edges, none = u64(0), ~label.dtype.type(0)
    while True:
        claimed = claim(counter)
        if claimed >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, claimed)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            if label[v] != none:
                continue
            for k in range(count):
                edges += u64(1)
                if label[u64(words[row, first + k * stride])] == color[v]:
                    label[v] = color[v]
                    atomic_add(changed, 0, 1)
                    break


@kernel
def check_reach(words, parts, counter, label, ahead, back, changed):
    """One round within components: ahead (u1[V]): 1 where the root reaches v; back: where v reaches the root."""
    edges = u64(0)
    while True:
        claimed = claim(counter)
        if claimed >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, claimed)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            edges += count
            for k in range(count):
                u = u64(words[row, first + k * stride])
                if label[u] != label[v]:
                    continue
                if ahead[v] > ahead[u]:
                    ahead[u] = 1
                    atomic_add(changed, 0, 1)
                if back[u] > back[v]:
                    back[v] = 1
                    atomic_add(changed, 0, 1)


@kernel
def count_entries(words, parts, counter, label, entries, due, step):
    """entries (i8[V], by label) += step for each edge that leads into the component from another; from due vertices."""
    edges = u64(0)
    while True:
        claimed = claim(counter)
        if claimed >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, claimed)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            if not is_set(due, v):
                continue
            edges += count
            for k in range(count):
                u = u64(words[row, first + k * stride])
                if label[u] != label[v]:
                    atomic_add(entries, u64(label[u]), step)
