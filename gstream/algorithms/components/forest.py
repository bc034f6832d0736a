"""The forest of union-find in host memory, shared by all threads and devices. For GPUs see gpu_forest.py."""

from __future__ import annotations

import numpy as np

from gstream.algorithms.components import unionfind
from gstream.algorithms.support.session import Session
from gstream.hostcode.bitmaps import bitmap_bytes

LEAST_EDGES = 2  # a row of heads: then heads pay


class HostForest:
    """parent: id[V], store IDs; a root is its own parent."""

    def __init__(self, session: Session) -> None:
        self.session = session
        check_forest_memory(session)
        self.parent = np.arange(session.meta.vertices, dtype=session.id_dtype)
        self.giant = self.parent.dtype.type(0)
        session.reserve(self.parent)

    def heads_pay(self) -> bool:
        """Whether heads are worth a look."""
        return heads_pay(self.session)

    def link_heads(self, name: str, first_column: int, end_column: int, outside: bool = False) -> None:
        """Link all vertices, or those outside the giant, with columns of their heads of topology `name`."""
        columns = (first_column, end_column, self.giant, outside)
        for first, heads in self.session.heads(name):
            self.session.look(unionfind.link_heads, self.parent, heads, first, *columns)

    def compress(self) -> None:
        """Let every vertex point to its root."""
        self.session.each(unionfind.compress, self.parent)

    def find_giant(self, rows: int, samples: int) -> None:
        """Find the most frequent root among evenly spaced vertices below `rows` (> 0); trees must be compressed."""
        self.giant = self.parent.dtype.type(unionfind.most_frequent(self.parent, rows, samples))

    def pages_outside(self, name: str, least: int, first: bool, last: bool) -> np.ndarray | None:
        """bool[pages] of topology `name`: pages of vertices outside the giant that have `least` edges or more; None if
        there is none. first: trees are not compressed yet. last: if there is none, all is linked."""
        if first:
            self.compress()
        self.giant = self.parent[self.giant]
        bits = np.empty((len(self.parent) + 63) >> 6, np.uint64)
        arguments = (self.parent, self.giant, self.session.degree(name), least, bits)
        return self.session.pages_of(name, bits) if self.session.each(unionfind.mark_outside, *arguments) else None

    def link_pages(self, name: str, outside: bool, lower_only: bool, pages: np.ndarray | None = None) -> None:
        """Link what pages hold (bool[pages]; None: all); outside: lists of vertices in the giant are passed over."""
        arrays = (self.parent, self.giant, outside, lower_only)
        self.session.sweep(name, unionfind.link_pages, arrays, pages)

    def label(self) -> None:
        """`labels` does all there is to do."""

    def labels(self) -> tuple[np.ndarray, int]:
        """(id[V]: natural index of the least vertex of each vertex's tree, trees). Trees must be compressed."""
        return least_members(self.session, self.parent), int(unionfind.count_roots(self.parent))

    def free(self) -> None:
        """Memory goes with the array."""


def check_forest_memory(session: Session) -> None:
    """Raise ResourceError where memory lacks room for trees and degrees beside pages, or for the names at the end."""
    session.check_memory(forest_bytes(session), names_bytes(session))


def forest_bytes(session: Session) -> int:
    """What trees and degrees take, and bits of vertices whose pages are wanted."""
    vertices, ways = session.meta.vertices, 1 + session.meta.directed
    a_vertex = session.id_dtype.itemsize
    asked = heads_pay(session) and len(session.meta.topologies) == ways
    degrees = ways * session.engine.graph.degree_bytes if asked else 0
    return vertices * (a_vertex + degrees) + bitmap_bytes(vertices)


def heads_pay(session: Session) -> bool:
    """Whether there are heads, and cores are done sooner with them than by a sweep of one topology's lists.

    From 2 edges a row of heads on, heads took 0.1 to 0.9 of a sweep's time: on RMAT, uniform and local random graphs of
    2^16 to 2^21 vertices and on git's commits (1.3 on a web graph whose lists lead nearby). With fewer edges (roads:
    1.1) heads hold more neighbours than the lists, and take two to three times as long.
    """
    rows = sum(session.head_rows(name) for name in session.meta.topologies)
    edges = session.meta.edges if session.meta.directed else session.meta.edges // 2
    return 0 < LEAST_EDGES * rows <= edges


def names_bytes(session: Session) -> int:
    """What `least_members` holds at most."""
    return 0 if session.meta.order == "natural" else 4 * session.id_dtype.itemsize * session.meta.vertices


def least_members(session: Session, parent: np.ndarray) -> np.ndarray:
    """id[V] in store order: natural index of the least vertex of each vertex's tree. `parent` must be compressed."""
    if session.meta.order == "natural":
        return parent  # a root is the least store ID of its tree, and store IDs are natural indices
    session.degrees_done()
    least = np.full(len(parent), session.none, parent.dtype)
    session.reserve(least, parent)  # the labels, too
    session.each(unionfind.least_natural, parent, session.natural_ids(), least)
    labels = np.empty_like(parent)
    session.each(unionfind.relabel, parent, least, labels)
    return labels
