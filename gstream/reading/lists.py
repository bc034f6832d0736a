"""The list of one vertex, from the page that holds it; a hub's from its pages. Nothing is kept.

The directory, which is in memory, says which page: small pages ascend by their first and last vertex, large pages by
their hub. In a page the slots are searched, which ascend by vertex.

    page: header | size, neighbours | size, neighbours | ...          ... | vertex, start | vertex, start
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pagestore.layout import ROW, SLOT_WORDS

if TYPE_CHECKING:
    from pagestore.reader import PageReader
    from pagestore.store import Store
    from pagestore.topology import Topology


def pages_of(topology: Topology, vertex: int) -> tuple[int, int]:
    """(first page, end) of a vertex's list: one small page that may hold it, or all pages of a hub; (0, 0): none."""
    rows, small = topology.directory, topology.small_pages
    hubs = rows["first_vertex"][small:]
    first, end = np.searchsorted(hubs, np.array([vertex, vertex + 1], np.uint64), "left").tolist()
    if first < end:
        return small + first, small + end
    page = int(np.searchsorted(rows["last_vertex"][:small], np.uint64(vertex), "left"))
    return (page, page + 1) if page < small and int(rows["first_vertex"][page]) <= vertex else (0, 0)


def list_of(store: Store, name: str, vertex: int) -> tuple[np.ndarray, np.ndarray | None]:
    """(neighbours id[n], ascending, their weights or None) of a store ID in topology `name`.

    Raises StoreError for a damaged page.
    """
    topology = store.topology(name)
    first, end = pages_of(topology, vertex)
    found = [np.empty(0, topology.layout.id_dtype)]
    weights = [np.empty(0, topology.weight_dtype)]
    with topology.reader() as reader:
        for page in range(first, end):
            words = reader.read(page, 1)[0].view(topology.layout.id_dtype)
            place = _places(topology, page, words, vertex)
            found.append(words[place])
            if topology.weight_dtype is not None and len(place):
                weights.append(reader.read_weights(page, 1)[0].view(topology.weight_dtype)[place])
    return np.concatenate(found), None if topology.weight_dtype is None else np.concatenate(weights)


def records_of(topology: Topology, page: int) -> tuple[int, int]:
    """(words from a neighbour to the next one of its list, lists) of a page."""
    row = topology.directory[page]
    return 1 if row["layout"] == ROW else int(row["layout"]), int(row["records"])


def _places(topology: Topology, page: int, words: np.ndarray, vertex: int) -> np.ndarray:
    """int64[n]: the words of a page that are a vertex's neighbours; none where it has no list there."""
    stride, records = records_of(topology, page)
    slots = words[len(words) - SLOT_WORDS * records :].reshape(records, SLOT_WORDS)[::-1]  # from the end backward
    at = int(np.searchsorted(slots[:, 0], np.array(vertex, slots.dtype)))
    if at == records or int(slots[at, 0]) != vertex:
        return np.empty(0, np.int64)
    start = int(slots[at, 1])
    return start + stride * np.arange(1, 1 + int(words[start]))


def has_edge(store: Store, source: int, target: int) -> bool:
    """Whether there is an edge between two store IDs; of the two lists that may say so, the shorter is looked at.

    One page is read, of a hub as many as halve its pages down to one.
    """
    name, near, far = "out", source, target
    if store.has("in") and not store.has("out"):
        name, near, far = "in", target, source
    elif store.has("in") and _degree(store, "in", target) < _degree(store, "out", source):
        name, near, far = "in", target, source
    return _edges_between(store.topology(name), near, far) > 0


def _edges_between(topology: Topology, near: int, far: int) -> int:
    """How often a vertex's list names `far`. Pages are halved, and read back as far as they begin with it."""
    first, end = begin, last = pages_of(topology, near)
    count = 0
    with topology.reader() as reader:
        while end - first > 1:  # of a hub, whose neighbours ascend from page to page
            middle = (first + end) // 2
            if int(_in_page(topology, reader, middle, near)[0]) <= far:
                first = middle
            else:
                end = middle
        for page in range(first, begin - 1, -1) if last > begin else ():
            found = _in_page(topology, reader, page, near)
            wanted = np.array(far, found.dtype)
            at, past = (int(np.searchsorted(found, wanted, side)) for side in ("left", "right"))
            count += past - at
            if at > 0 or past == 0:  # pages before end with lesser ones
                break
    return count


def _in_page(topology: Topology, reader: PageReader, page: int, vertex: int) -> np.ndarray:
    words = reader.read(page, 1)[0].view(topology.layout.id_dtype)
    return words[_places(topology, page, words, vertex)]


def _degree(store: Store, name: str, vertex: int) -> int:
    read = store.in_degree if name == "in" else store.out_degree
    return int(read(vertex, vertex + 1)[0])


def degree_of(store: Store, vertex: int, direction: str) -> int:
    """Edges at a store ID: "out", "in", or "both" ways. Of an undirected graph all are alike, and self-loops, stored
    once, count twice, as everywhere that degrees sum up to twice the edges."""
    if not store.meta.directed:
        loops = 0
        if store.meta.self_loops:
            loops = _edges_between(store.topology("out"), vertex, vertex)
        return _degree(store, "out", vertex) + loops
    return sum(_degree(store, name, vertex) for name in ("out", "in") if direction in (name, "both"))
