"""Kernels of strongly connected components: trimming, colouring forwards, collecting backwards; and their certificate.

label: id[V], the root of v's component, all bits set while v has none. part: id[V], vertices of different parts are in
different components. color: id[V]. Edges go from a page's vertex to its neighbours. In-pages alone show all edges
turned round, which leaves components the same.
"""

from __future__ import annotations

from gstream.algorithms.support.shared import BLOCK, blocks, mixed
from gstream.hostcode.bitmaps import is_set, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add, compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.records import record_kernel


@helper
def is_inner(label, part, v, u):
    """Whether the edge v -> u may lie in a component that is not known yet; v has no label."""
    return u != v and label[u] == ~label.dtype.type(0) and part[u] == part[v]


@record_kernel(leads="or", met="or")
def mark_ends(record, label, part, leads, met):
    """leads, met: bits of vertices without a label that an inner edge leaves, or leads to."""
    v = record.vertex
    if label[v] != ~label.dtype.type(0):
        return
    for u in record.neighbours():
        if is_inner(label, part, v, u):
            set_bit(leads, v)
            set_bit(met, u)


@kernel
def trim(label, leads, met, counter):
    """A vertex that no inner edge leaves, or none leads to, is a component. Returns how many there were."""
    found, none = u64(0), ~label.dtype.type(0)
    for begin, end in blocks(counter, len(label)):
        for v in range(begin, end):
            if label[v] == none and not (is_set(leads, v) and is_set(met, v)):
                label[v] = v
                found += u64(1)
    return found


@kernel
def start_round(label, color, part, first, open_bits, counter):
    """open_bits: vertices without a label. Their part becomes their old color (not in the `first` round), their color
    themselves. Returns how many there are."""
    left, none = u64(0), ~label.dtype.type(0)
    for begin, end in blocks(counter, len(open_bits), BLOCK // 64):
        for index in range(begin, end):
            word, base = u64(0), index * u64(64)
            for v in range(base, min(base + u64(64), u64(len(label)))):
                if label[v] == none:
                    word |= u64(1) << (v & u64(63))
                    left += u64(1)
                    if not first:
                        part[v] = color[v]
                    color[v] = v
            open_bits[index] = word
    return left


@record_kernel(color="own", following="or")
def spread_colors(record, label, part, here, color, following):
    """Over inner edges from vertices of `here`: u takes v's color where its hash is higher; following: who did."""
    v = record.vertex
    if not is_set(here, v):
        return
    mine = color[v]
    rank = mixed(u64(mine))
    for u in record.neighbours():
        if not is_inner(label, part, v, u):
            continue
        seen = color[u]
        while mixed(u64(seen)) < rank:
            written, seen = compare_and_swap(color, u, seen, mine)
            if written:
                set_bit(following, u)
                break


@kernel
def take_brighter(color, other, counter):
    """Of two copies of `color` the one whose hash is higher."""
    for begin, end in blocks(counter, len(color)):
        for v in range(begin, end):
            if mixed(u64(other[v])) > mixed(u64(color[v])):
                color[v] = other[v]
    return u64(0)


@kernel
def name_roots(label, color, counter):
    """Who kept its own color is the root of a component."""
    none = ~label.dtype.type(0)
    for begin, end in blocks(counter, len(label)):
        for v in range(begin, end):
            if label[v] == none and u64(color[v]) == v:
                label[v] = v
    return u64(0)


@record_kernel(label="min", changed="sum")
def collect(record, label, color, changed):
    """Who has an edge to a vertex of the component that its color names is in it: color reaches v, v reaches color."""
    v = record.vertex
    if label[v] != ~label.dtype.type(0):
        return
    for u in record.neighbours():
        if label[u] == color[v]:
            label[v] = color[v]
            atomic_add(changed, 0, 1)
            break


@record_kernel(forth="max", back="max", changed="sum")
def check_reach(record, label, forth, back, changed):
    """One round within components: forth (u1[V]): 1 where the root reaches v; back: where v reaches the root."""
    v = record.vertex
    for u in record.neighbours():
        if label[u] != label[v]:
            continue
        if forth[v] > forth[u]:
            forth[u] = 1
            atomic_add(changed, 0, 1)
        if back[u] > back[v]:
            back[v] = 1
            atomic_add(changed, 0, 1)


@record_kernel(entries="int64[] sum")
def count_entries(record, label, entries):
    """entries (i8[V], by label) += 1 for each edge that leads into the component from another."""
    v = record.vertex
    for u in record.neighbours():
        if label[u] != label[v]:
            atomic_add(entries, u64(label[u]), entries.dtype.type(1))


@record_kernel(left="int64[] own", following="own")
def take_off(record, label, due, left, following):
    """Take the vertices of `due`, whole components, off: left (entries) falls in components that their edges lead into.
    At 0 the label is in `following`."""
    v = record.vertex
    if not is_set(due, v):
        return
    for u in record.neighbours():
        if label[u] != label[v] and atomic_add(left, u64(label[u]), left.dtype.type(-1)) == 1:
            set_bit(following, u64(label[u]))
