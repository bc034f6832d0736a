"""Lists of single vertices in host memory, for what one thread does: work in proportion to the lists that it looks at.

A sweep costs 50 to 300 us however little there is to do, and a chain of n vertices has n of them. Where host memory has
room for a topology's pages whole, and for 8 bytes a vertex that say where each list is, one thread walks from list to
list instead: depth-first search, or peeling by a queue, in a time that is linear in the edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from gstream.algorithms.records import claim, u64
from gstream.algorithms.session import Session, SharedKernel
from gstream.hostcode.adjacency import find_places
from gstream.hostcode.jit import kernel


@dataclass(frozen=True)
class Lists:
    """What kernels read of a topology (gstream.hostcode.adjacency): words id[pages, W], weights of them or None,
    places uint64[V]."""

    words: np.ndarray
    weights: np.ndarray | None
    places: np.ndarray


@kernel
def pass_over(words, parts, counter):
    """Nothing: pages are read, and counted."""
    claim(counter)
    return u64(0)


@contextmanager
def lists_of(session: Session, name: str, beside: int, weights: bool = False) -> Iterator[Lists | None]:
    """The lists of topology `name`; None where host memory has no room for them and `beside` bytes more."""
    engine = session.engine
    table, vertices = engine.graph.tables[name], session.meta.vertices
    needed = table.bytes_of(table.pages, weights) + 8 * vertices + beside
    if needed > engine.host_memory - engine.beside_bytes - engine.arrays.nbytes:
        yield None
        return
    places = np.full(vertices, ~np.uint64(0))
    session.hold(places)
    try:
        yield _read(session, name, weights, places)
    finally:
        session.let_go(places)


def _read(session: Session, name: str, weights: bool, places: np.ndarray) -> Lists | None:
    """The lists, once all pages have been read; None where these come and go, by what was planned before."""
    engine, table = session.engine, session.engine.graph.tables[name]
    engine.sweep(name, SharedKernel(pass_over, (), weights))
    if not engine.holds(name):
        return None
    there = engine.in_memory(table, weights)
    session.each(find_places, there.words, places, items=8 * table.pages)
    return Lists(there.words, there.weights, places)
