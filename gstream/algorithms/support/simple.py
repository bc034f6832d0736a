"""Lists as those of a simple graph: self-loops and repeated neighbours are passed over (the converter keeps both).

Lists ascend, so a repeated edge stands beside itself: `record.distinct(hubs, ends)` takes it once (gstream.records). A
hub's list goes on from large page to large page: `ends` keeps the last neighbour of each, if there are duplicates.
hubs: uint64[large pages], the vertex of each; ends: id[large pages], or of no element if no edge is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import atomic_add
from gstream.records import record_kernel


@dataclass(frozen=True)
class Simple:
    """What kernels need to know of one topology: its name, `hubs` and `ends`."""

    name: str
    hubs: np.ndarray
    ends: np.ndarray


@record_kernel(ends="one")
def note_ends(record, hubs, ends):
    """ends: the last neighbour of every large page."""
    record.note_end(hubs, ends)


@record_kernel(degree="sum")
def count_simple(record, degree, hubs, ends):
    """degree[v] += neighbours of v, each once and v not among them."""
    v, found = record.vertex, u64(0)
    for u in record.distinct(hubs, ends):
        if u != v:
            found += u64(1)
    atomic_add(degree, v, degree.dtype.type(found))


def simple_lists(session: Session, name: str) -> Simple:
    """`Simple` of a topology; sweeps its large pages once where the store has duplicates."""
    table = session.engine.graph.tables[name]
    hubs = table.first_vertex[table.small_pages :]
    ends = np.empty(len(hubs) if session.meta.duplicates else 0, session.id_dtype)
    if len(ends):
        wanted = np.arange(table.pages) >= table.small_pages
        session.sweep(name, note_ends, (hubs, ends), wanted)
    return Simple(name, hubs, ends)


def both_ways(session: Session) -> list[Simple]:
    """The topologies that together lead from a vertex to all its neighbours, whichever way edges point."""
    return [simple_lists(session, name) for name in (("out", "in") if session.meta.directed else ("out",))]


def simple_dtype(session: Session, lists: int) -> np.dtype:
    """The dtype of `simple_degrees`, by the number of topologies."""
    return np.dtype(np.uint32 if lists * session.meta.edges < 1 << 32 else np.uint64)


def simple_degrees(session: Session, lists: list[Simple]) -> np.ndarray:
    """u4[V] (u8 past 2^32 edges): neighbours each once; on directed graphs out- and in-neighbours are added."""
    dtype = simple_dtype(session, len(lists))
    degree = np.zeros(session.meta.vertices, dtype)
    session.reserve(degree)
    for each in lists:
        if session.meta.duplicates or session.meta.self_loops:
            session.sweep(each.name, count_simple, (degree, each.hubs, each.ends))
        else:
            degree += session.degree(each.name).astype(dtype, copy=False)
    return degree
