"""Neighbour samples for graph neural networks (GraphSAGE: Hamilton et al., 2017, algorithm 2), layer by layer as PyG's
NeighborSampler has them, from the pages of a store.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.reading.hops import ALL, Drawer, Hop, Nodes, joined
from gstream.reading.kept_pages import KeptPages
from gstream.reading.names import ids_of
from pagestore.errors import UsageError, plain
from pagestore.sizes import parse_size

if TYPE_CHECKING:
    import pyarrow

    from pagestore.store import Store

PAGE_MEMORY = "256MiB"


@dataclass(frozen=True)
class Sample:
    """Sampled edges, as local numbers of the vertices that they meet; local number i is nodes[i].

    nodes: the user's vertex IDs, int64[n] or str objects[n], seeds first, then as they were met.
    index: int64[n], the vertices' rows in every result: place 0 has the least ID. Rows of feature arrays go by it.
    row, col: int64[m], source and target of the edges. edge: int64[m], an edge's place among all edges of the pages of
    its direction. weight: [m], or None.
    nodes_per_hop: int64[hops + 1], seeds first; edges_per_hop: int64[hops].
    """

    nodes: Any
    index: np.ndarray
    row: np.ndarray
    col: np.ndarray
    edge: np.ndarray
    weight: np.ndarray | None
    nodes_per_hop: np.ndarray
    edges_per_hop: np.ndarray

    def edges_to_arrow(self) -> pyarrow.Table:
        """Columns row, col, edge, hop (from 0) and, where weights were asked for, weight."""
        import pyarrow as pa

        hop = np.repeat(np.arange(len(self.edges_per_hop)), self.edges_per_hop)
        columns = {"row": self.row, "col": self.col, "edge": self.edge, "hop": hop}
        return pa.table(columns | ({} if self.weight is None else {"weight": self.weight}))

    def nodes_to_arrow(self) -> pyarrow.Table:
        """Columns vertex, index and hop: 0 for seeds, else 1 + the hop that met the vertex."""
        import pyarrow as pa

        hop = np.repeat(np.arange(len(self.nodes_per_hop)), self.nodes_per_hop)
        return pa.table({"vertex": self.nodes, "index": self.index, "hop": hop})


class Sampling:
    """Samples of one store, and the pages that stay between them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = RLock()
        self._kept: dict[tuple[str, bool], KeptPages] = {}
        self._bytes = 0

    def sample(
        self, store: Store, seeds: Any, fanouts: Any, seed: int, replace: bool, direction: str, weights: bool,
        page_memory: str | int,
    ) -> Sample:  # fmt: skip
        """What Graph.sample says."""
        if direction not in ("in", "out"):
            raise UsageError(f'direction {direction!r}: unknown; samples have "in" or "out".')
        if weights and not store.meta.weighted:
            raise UsageError(f"{store.path}: has no edge weights. Leave weights out.")
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"seed {seed}: must be 0 to 2^63 - 1. It is where the draw begins.")
        hops, first = checked_fanouts(fanouts), checked_seeds(store, seeds)
        most = parse_size(page_memory, "page_memory") or 0
        with self._lock:
            if most != self._bytes:
                self.close()
                self._bytes = most
            name = direction if store.meta.directed else "out"
            pages, beside = self._pages(name, False), self._pages(name, True) if weights else None
            return sample_from(store, first, hops, seed, replace, direction == "in", pages, beside)

    def _pages(self, name: str, weights: bool) -> KeptPages:
        """Pages of a direction or their weights: kinds that a store has take equal parts of the memory."""
        found = self._kept.get((name, weights))
        if found is None:
            kinds = len(self._store.meta.topologies) * (2 if self._store.meta.weighted else 1)
            found = self._kept[name, weights] = KeptPages(self._store.topology(name), self._bytes // kinds, weights)
        return found

    def close(self) -> None:
        """Give the pages back."""
        with self._lock:
            kept, self._kept = self._kept, {}
            for pages in kept.values():
                pages.close()


def sample_from(
    store: Store, seeds: np.ndarray, fanouts: list[int], seed: int, replace: bool, toward: bool, pages: KeptPages,
    weights: KeptPages | None,
) -> Sample:  # fmt: skip
    """Sample from store IDs `seeds`, int64[n], each once. toward: drawn neighbours are sources, frontiers targets.

    Memory holds the pages kept, and some 100 bytes an edge that is sampled. Raises StoreError for a damaged page.
    """
    drawer = Drawer(pages, weights, seed, replace)
    nodes = Nodes(seeds)
    found: list[Hop] = []
    ends: list[tuple[np.ndarray, np.ndarray]] = []
    for number, fanout in enumerate(fanouts):
        first = nodes.per_hop[:-1].sum() if nodes.per_hop.size else 0
        frontier = nodes.ids[first : nodes.known]
        hop = drawer.draw(frontier, fanout, number)
        found.append(hop)
        ends.append((nodes.meet(hop.far), hop.owner + first))
    near, far = joined([own for _, own in ends]), joined([other for other, _ in ends])
    row, col = (far, near) if toward else (near, far)
    kind = None if weights is None else weights.topology.weight_dtype
    ids, index = _names(store, nodes.ids[: nodes.known])
    return Sample(
        nodes=ids, index=index, row=row, col=col, edge=joined([hop.edge for hop in found]),
        weight=None if kind is None else joined([hop.weight for hop in found], kind),
        nodes_per_hop=nodes.per_hop, edges_per_hop=np.array([len(hop.far) for hop in found], np.int64),
    )  # fmt: skip


def _names(store: Store, vertices: np.ndarray) -> tuple[Any, np.ndarray]:
    """(user IDs, natural indices) of store IDs, in their order."""
    natural = store.natural_of(vertices).astype(np.int64)
    if store.meta.id_kind == "range":
        return ids_of(store, natural), natural
    order = np.argsort(natural)
    ids = ids_of(store, natural[order])
    named = np.empty(len(natural), np.int64 if isinstance(ids, np.ndarray) else object)
    named[order] = ids
    return named, natural


def checked_fanouts(given: Any) -> list[int]:
    """Fanouts as a list of int. Raises UsageError where one is no whole number from -1, or there is none."""
    try:
        fanouts = [int(one) for one in given]
        whole = all(one == number for one, number in zip(given, fanouts, strict=True))
    except (TypeError, ValueError):
        fanouts, whole = [], False
    if not whole or not fanouts or any(one < ALL for one in fanouts):
        raise UsageError(f"fanouts {given!r}: must be whole numbers, one a hop, as [10, 5]; -1 takes all neighbours.")
    return fanouts


def checked_seeds(store: Store, given: Any) -> np.ndarray:
    """int64[n]: store IDs of the user's vertices. Raises UsageError where one is no vertex, or is there twice."""
    seeds: Any = given
    if isinstance(given, np.ndarray):
        seeds = np.atleast_1d(given)
    elif isinstance(given, str | int):
        seeds = [given]
    found = store.lookup(seeds, "seed").astype(np.int64)
    ascending = np.sort(found)
    if len(again := ascending[1:][ascending[1:] == ascending[:-1]]):
        twice = ids_of(store, store.natural_of(again[:1]).astype(np.int64))[0]
        raise UsageError(f"seeds: {plain(twice)} is given twice. Pass each vertex once.")
    return found
