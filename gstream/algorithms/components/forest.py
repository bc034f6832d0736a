"""Union-find in host memory, that all threads and devices work on at once. For GPUs see gpu_forest.py.

parent: id[V], store IDs; a root is its own parent, and parent[v] <= v always, so links never make a cycle. Linking
hooks the higher root under the lower one by compare-and-swap (Afforest: Sutton, Ben-Nun, Barak 2018); a lost race looks
again from where the winner left off.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import BLOCK, blocks, lower
from gstream.devices.ranks import Ranks
from gstream.hostcode.bitmaps import bitmap_bytes
from gstream.hostcode.casts import u64
from gstream.hostcode.intrinsics import compare_and_swap
from gstream.hostcode.jit import helper, kernel
from gstream.hostcode.page_words import claim, list_of, part_of, slots_of, vertex_of
from pagestore.layout import HEAD_NEIGHBOURS

LEAST_EDGES = 2  # a row of heads: then heads pay


@helper
def link(parent, a, b):
    """Put a and b into one tree."""
    one, other = parent[a], parent[b]
    while one != other:
        high, low = max(one, other), min(one, other)
        above = parent[high]
        if above == low:
            return
        if above == high:
            written, above = compare_and_swap(parent, u64(high), parent.dtype.type(high), parent.dtype.type(low))
            if written:
                return
        one, other = parent[parent[high]], parent[low]


@kernel
def link_heads(parent, heads, first, column, end, giant, use_giant, counter):
    """Link the vertices first..first+len(heads)-1 with their neighbours [column, end), but for tree `giant`. heads:
    id[n, 4], all bits set where there is no such neighbour. Returns the edges looked at."""
    none, edges = ~heads.dtype.type(0), u64(0)
    for low, high in blocks(counter, len(heads)):
        for row in range(low, high):
            v = u64(first) + row
            if use_giant and parent[v] == giant:
                continue
            for place in range(u64(column), u64(end)):
                neighbour = heads[row, place]
                if neighbour == none:
                    break
                link(parent, v, u64(neighbour))
                edges += u64(1)
    return edges


@kernel
def link_trees(parent, other, counter):
    """Link what another forest of the same vertices, id[V], has linked."""
    for begin, end in blocks(counter, len(parent)):
        for v in range(begin, end):
            link(parent, u64(v), u64(other[v]))
    return u64(0)


@kernel
def compress(parent, counter):
    """Let every vertex point to its root."""
    for begin, end in blocks(counter, len(parent)):
        for v in range(begin, end):
            root = parent[v]
            while parent[root] != root:
                root = parent[root]
            parent[v] = root
    return u64(0)


@kernel
def mark_outside(parent, giant, degree, least, bits, counter):
    """bits (u64[ceil(V / 64)], written whole): vertices outside tree `giant` with `least` edges or more; how many there
    are. Trees must be compressed."""
    found = u64(0)
    for begin, end in blocks(counter, len(bits), BLOCK // 64):
        for index in range(begin, end):
            word = u64(0)
            first = index * u64(64)
            for v in range(first, min(first + u64(64), u64(len(parent)))):
                if parent[v] != giant and u64(degree[v]) >= u64(least):
                    word |= u64(1) << (v & u64(63))
                    found += u64(1)
            bits[index] = word
    return found


@kernel
def link_pages(words, parts, counter, parent, giant, use_giant, lower_only):
    """Link every record's vertex with its neighbours, but for vertices in tree `giant`. lower_only: neighbours above
    the vertex are left to their own lists (undirected, all lists are read). Lists ascend, so half of each is not even
    read. Returns the edges looked at."""
    edges = u64(0)
    while True:
        part = claim(counter)
        if part >= u64(len(parts)):
            return edges
        row, begin, end, large, stride = part_of(words, parts, part)
        first_slot, end_slot = slots_of(begin, end, large)
        for slot in range(first_slot, end_slot):
            v = vertex_of(words, row, slot)
            first, count = list_of(words, row, slot, begin, end, large, stride)
            if use_giant and parent[v] == giant:
                continue
            for k in range(count):
                word = first + k * stride
                neighbour = u64(words[row, word])
                if lower_only and neighbour >= v:
                    break
                edges += u64(1)
                if parent[neighbour] != parent[v]:
                    link(parent, v, neighbour)


@kernel
def least_natural(parent, natural, least, counter):
    """least[root] = the least natural index in its tree. natural: id[V]; least: id[V], all bits set at first. Trees
    must be compressed."""
    for begin, end in blocks(counter, len(parent)):
        for v in range(begin, end):
            lower(least, u64(parent[v]), natural[v])
    return u64(0)


@kernel
def relabel(parent, least, labels, counter):
    """labels[v] = least[parent[v]]."""
    for begin, end in blocks(counter, len(parent)):
        for v in range(begin, end):
            labels[v] = least[parent[v]]
    return u64(0)


@kernel
def count_roots(parent):
    """How many trees there are."""
    count = u64(0)
    for v in range(u64(len(parent))):
        count += u64(parent[v] == parent.dtype.type(v))
    return count


def join_trees(session: Session, parent: np.ndarray, ranks: Ranks) -> None:
    """A forest comes to have the links of all ranks' forests."""
    for other in ranks.others(parent):
        session.each(link_trees, parent, other)


def most_frequent(parent: np.ndarray, vertices: int, samples: int) -> int:
    """The most frequent root among evenly spaced ones of parent[:vertices] (compressed); vertices > 0."""
    labels, counts = np.unique(parent[:vertices][:: max(1, vertices // samples)], return_counts=True)
    return int(labels[counts.argmax()])


class HostForest:
    """parent: id[V], store IDs; a root is its own parent."""

    def __init__(self, session: Session) -> None:
        self.session = session
        check_forest_memory(session)
        self.parent = session.engine.devices[0].take(session.meta.vertices, session.id_dtype)
        for first in range(0, len(self.parent), BLOCK):
            part = self.parent[first : first + BLOCK]
            part[:] = np.arange(first, first + len(part))
        self.giant = self.parent.dtype.type(0)
        self.kept = self.parent  # what checkpoints hold of the forest
        session.reserve(self.parent)

    labelled = False  # whether the trees became labels before `label`

    def bring(self, *arrays: np.ndarray) -> None:
        """`kept` always is up to date."""

    def giant_root(self) -> int:
        """A vertex of the giant."""
        return int(self.giant)

    def take_up(self, giant: int) -> None:
        """Go on from the trees in `kept`; giant: as `giant_root` said of them."""
        self.giant = self.parent.dtype.type(giant)

    def heads_pay(self) -> bool:
        """Whether heads are worth a look."""
        return heads_pay(self.session)

    def link_heads(self, name: str, first_column: int, end_column: int, outside: bool = False) -> None:
        """Link all vertices, or those outside the giant, with columns of their heads of topology `name`."""
        columns = (first_column, end_column, self.giant, outside)
        for first, heads in self.session.heads(name):
            self.session.look(link_heads, self.parent, heads, first, *columns)

    def compress(self) -> None:
        """Let every vertex point to its root."""
        self.session.each(compress, self.parent)

    def find_giant(self, rows: int, samples: int) -> None:
        """Find the most frequent root among evenly spaced vertices below `rows` (> 0); trees must be compressed."""
        self.giant = self.parent.dtype.type(most_frequent(self.parent, rows, samples))

    def pages_outside(self, name: str, least: int, first: bool, last: bool) -> np.ndarray | None:
        """bool[pages] of topology `name`: pages of vertices outside the giant that have `least` edges or more; None if
        there is none. first: trees are not compressed yet. last: if there is none, all is linked."""
        if first:
            self.compress()
        self.giant = self.parent[self.giant]
        bits = np.empty((len(self.parent) + 63) >> 6, np.uint64)
        arguments = (self.parent, self.giant, self.session.degree(name), least, bits)
        return self.session.pages_of(name, bits) if self.session.each(mark_outside, *arguments) else None

    def link_pages(self, name: str, outside: bool, lower_only: bool, pages: np.ndarray | None = None) -> None:
        """Link what pages hold (bool[pages]; None: all); outside: lists of vertices in the giant are passed over."""
        arrays = (self.parent, self.giant, outside, lower_only)
        self.session.sweep(name, link_pages, arrays, pages, across=partial(join_trees, self.session, self.parent))

    def label(self) -> None:
        """`labels` does all there is to do."""

    def labels(self) -> tuple[np.ndarray, int]:
        """(id[V]: natural index of the least vertex of each vertex's tree, trees). Trees must be compressed."""
        return least_members(self.session, self.parent), int(count_roots(self.parent))

    def free(self) -> None:
        """Memory goes with the array."""


def check_forest_memory(session: Session) -> None:
    """Raise ResourceError where memory lacks room for trees and degrees beside pages, or for the names at the end."""
    session.swept_if = ", if heads do not do" if heads_pay(session) else ""
    session.check_memory(forest_bytes(session), names_bytes(session), most=most_forest_bytes(session))


def most_forest_bytes(session: Session) -> int:
    """What trees, degrees and heads take that stay, and names with them."""
    ids, heads = session.id_dtype.itemsize, 0
    if heads_pay(session):
        heads = sum(map(session.head_rows, session.meta.topologies)) * HEAD_NEIGHBOURS * ids
    return forest_bytes(session) + heads + max(0, names_bytes(session) - ids * session.meta.vertices)


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
    device = session.engine.devices[0]
    least = device.take(len(parent), parent.dtype, session.none)
    session.reserve(least, parent)  # the labels, too
    session.each(least_natural, parent, session.natural_ids(), least)
    labels = device.take(len(parent), parent.dtype)
    session.each(relabel, parent, least, labels)
    return labels
