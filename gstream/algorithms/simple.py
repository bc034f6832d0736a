"""Lists as those of a simple graph: self-loops and repeated neighbours are passed over (both kept by the converter).

Lists ascend, so an edge that is there several times stands beside itself:

    last = before(words, row, begin, large, hubs, ends)
    for k in range(count):
        other = words[row, first + k * stride]
        if other == last or other == v: continue
        last = other

A hub's list goes on from large page to large page: `ends` keeps the last neighbour of each, where there are duplicates.
hubs: uint64[large pages], the vertex of each; ends: id[large pages], or of none where no edge is there twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.algorithms.records import claim, part_of, record, slots_end, u64
from gstream.algorithms.session import Session, SharedKernel
from gstream.hostcode.intrinsics import atomic_add
from gstream.hostcode.jit import helper, kernel
from pagestore.layout import HEADER_BYTES


@dataclass(frozen=True)
class Simple:
    """What kernels need to know of one topology: its name, `hubs` and `ends`."""

    name: str
    hubs: np.ndarray
    ends: np.ndarray


@helper
def large_page(words, row, hubs):
    """Which of the large pages row `row` is: the first of its hub, and as many on as full pages come before it."""
    width = u64(words.shape[1])
    v, wide = u64(words[row, width - u64(2)]), words.itemsize == 8
    place = u64(words[row, 3]) if wide else u64(words[row, 6]) | u64(words[row, 7]) << u64(32)
    full = width - u64(HEADER_BYTES // words.itemsize) - u64(3)
    low, high = u64(0), u64(len(hubs))
    while low < high:
        middle = (low + high) >> u64(1)
        if u64(hubs[middle]) < v:
            low = middle + u64(1)
        else:
            high = middle
    return low, place // full


@helper
def before(words, row, begin, large, hubs, ends):
    """The neighbour before the first one of a part, all bits set where there is none."""
    none = ~u64(0)
    if not large or len(ends) == 0:
        return none
    if begin > u64(words[row, u64(words.shape[1]) - u64(1)]) + u64(1):
        return u64(words[row, begin - u64(1)])
    first, full = large_page(words, row, hubs)
    return none if full == u64(0) else u64(ends[first + full - u64(1)])


@kernel
def note_ends(words, parts, counter, hubs, ends):
    """ends: the last neighbour of every large page."""
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return u64(0)
        row, begin, end, large, stride = part_of(words, parts, part)
        start = u64(words[row, u64(words.shape[1]) - u64(1)])
        if large and end == start + u64(1) + u64(words[row, start]):
            first, full = large_page(words, row, hubs)
            ends[first + full] = words[row, end - u64(1)]


@kernel
def count_simple(words, parts, counter, degree, hubs, ends):
    """degree[v] += neighbours of v, each once and v not among them."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        for slot in range(begin, slots_end(begin, end, large)):
            v, first, count = record(words, row, slot, begin, end, large, stride)
            last, found = before(words, row, begin, large, hubs, ends), u64(0)
            edges += count
            for k in range(count):
                other = u64(words[row, first + k * stride])
                if other != last and other != v:
                    found += u64(1)
                last = other
            atomic_add(degree, v, degree.dtype.type(found))


def simple_lists(session: Session, name: str) -> Simple:
    """`Simple` of a topology; sweeps its large pages once where the store has duplicates."""
    table = session.engine.graph.tables[name]
    hubs = table.first_vertex[table.small_pages :]
    ends = np.empty(len(hubs) if session.meta.duplicates else 0, session.id_dtype)
    if len(ends):
        wanted = np.arange(table.pages) >= table.small_pages
        session.sweep(name, SharedKernel(note_ends, (hubs, ends)), wanted)
    return Simple(name, hubs, ends)


def both_ways(session: Session) -> list[Simple]:
    """The topologies that together lead from a vertex to all its neighbours, whichever way edges point.

    Raises UsageError, with the converter's option, where a directed store has one of them only.
    """
    for name in ("out", "in"):
        session.store.topology(name)
    return [simple_lists(session, name) for name in (("out", "in") if session.meta.directed else ("out",))]


def simple_degrees(session: Session, lists: list[Simple]) -> np.ndarray:
    """u4[V] (u8 past 2^32 edges): neighbours each once; on directed graphs out- and in-neighbours are added."""
    dtype: Any = np.uint32 if len(lists) * session.meta.edges < 1 << 32 else np.uint64
    degree = np.zeros(session.meta.vertices, dtype)
    session.hold(degree)
    for each in lists:
        if session.meta.duplicates or session.meta.self_loops:
            session.sweep(each.name, SharedKernel(count_simple, (degree, each.hubs, each.ends)))
        else:
            degree += session.degree(each.name).astype(dtype, copy=False)
    return degree
