"""What cliffs.py compares with: for each algorithm the calls of igraph, networkit and scipy that give the same answer.

Building a peer's graph is not timed, nor is making an array of its answer. Answers that another choice of the same
algorithm may change (colours, the order of a topological sort) are not compared, nor are those in other units.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bench import peers
from bench.cliff_graphs import Cliff
from bench.components import named_by_least

FORGET = "__invalidate_cache"  # of igraph's Graph; as a name in a class, Python would change it


class Theirs:
    """One graph as each peer holds it, built when first asked for."""

    def __init__(self, cliff: Cliff, threads: int) -> None:
        self.cliff, self.threads = cliff, threads
        self.source = cliff.made[3]

    @cached_property
    def networkit(self) -> Any:
        return peers.networkit_graph(self.cliff.csr, self.threads, directed=self.cliff.directed)

    @cached_property
    def networkit_weighted(self) -> Any:
        return peers.networkit_graph(self.cliff.csr, self.threads, weighted=True, directed=self.cliff.directed)

    @property
    def igraph(self) -> tuple[Any, Any]:
        """(graph, its weights). The graph forgets answers of calls before: whether it is connected, or has a cycle."""
        graph, weights = self._igraph
        getattr(graph, FORGET)()
        return graph, weights

    @cached_property
    def _igraph(self) -> tuple[Any, Any]:
        return peers.igraph_graph(self.cliff.csr, weighted=True, directed=self.cliff.directed)

    @cached_property
    def matrix(self) -> Any:
        return peers.scipy_matrix(self.cliff.csr, "float64")

    @cached_property
    def matrix_weighted(self) -> Any:
        return peers.scipy_matrix(self.cliff.csr, "float64", weighted=True)


Call = Callable[[Theirs], Any]


class Peer(NamedTuple):
    """call: what is timed; column: makes of what it gave the array that our column must equal (None: nothing does)."""

    call: Call
    column: Callable[[Any], np.ndarray] | None = None
    directed: bool = True  # whether it takes directed graphs, and means the same there


def _by_networkit(module: str, kind: str, *own: Any) -> Call:
    """A run of networkit's class `kind`; gives the object."""

    def call(theirs: Theirs) -> Any:
        import networkit

        return getattr(getattr(networkit, module), kind)(theirs.networkit, *own).run()

    return call


def _networkit_distances(weighted: bool) -> Peer:
    def call(theirs: Theirs) -> Any:
        graph = theirs.networkit_weighted if weighted else theirs.networkit
        return peers.networkit_distances(graph, theirs.source, weighted).run()

    return Peer(call, lambda made: peers.finite(made.getDistances()))


def _igraph_distances(weighted: bool) -> Peer:
    def call(theirs: Theirs) -> Any:
        graph, weights = theirs.igraph
        return graph.distances(theirs.source, weights=weights if weighted else None)

    return Peer(call, lambda rows: peers.finite(rows[0]))


def _scipy_dijkstra(theirs: Theirs) -> Any:
    from scipy.sparse.csgraph import dijkstra

    return dijkstra(theirs.matrix_weighted, indices=theirs.source)


def _scipy_components(connection: str) -> Peer:
    def call(theirs: Theirs) -> Any:
        from scipy.sparse.csgraph import connected_components

        return connected_components(theirs.matrix, connection=connection)

    return Peer(call, lambda found: named_by_least(found[1]))


def _igraph_components(mode: str) -> Peer:
    return Peer(
        lambda theirs: theirs.igraph[0].connected_components(mode=mode),
        lambda found: named_by_least(np.array(found.membership)),
    )


def _scipy_forest(theirs: Theirs) -> Any:
    from scipy.sparse.csgraph import minimum_spanning_tree

    return minimum_spanning_tree(theirs.matrix_weighted)


def _networkit_forest(theirs: Theirs) -> Any:
    import networkit

    return networkit.graph.KruskalMSF(theirs.networkit_weighted).run()


BFS = {"igraph": _igraph_distances(False), "networkit": _networkit_distances(False)}
COMPONENTS = {"igraph": _igraph_components("weak"), "scipy": _scipy_components("weak")}
CLUSTERING = {
    "igraph": Peer(lambda theirs: theirs.igraph[0].transitivity_local_undirected(mode="zero"), np.array, False),
    "networkit": Peer(
        _by_networkit("centrality", "LocalClusteringCoefficient", True), lambda made: made.scores(), False
    ),
}
PEERS: dict[str, dict[str, Peer]] = {
    "bfs": BFS,
    "bfs with a limit": BFS,
    "khop with a limit": BFS,
    "sssp": {
        "igraph": _igraph_distances(True),
        "networkit": _networkit_distances(True),
        "scipy": Peer(_scipy_dijkstra, peers.finite),
    },
    "wcc": COMPONENTS,
    "hcc": COMPONENTS,
    "scc": {"igraph": _igraph_components("strong"), "scipy": _scipy_components("strong")},
    "pagerank": {
        "igraph": Peer(lambda theirs: theirs.igraph[0].pagerank()),
        "networkit": Peer(lambda theirs: peers.networkit_pagerank(theirs.networkit, 0.85, 1e-6).run()),
    },
    "rwr": {"igraph": Peer(lambda theirs: theirs.igraph[0].personalized_pagerank(reset_vertices=[theirs.source]))},
    "kcore": {"igraph": Peer(lambda theirs: theirs.igraph[0].coreness(), np.array)},
    "triangles": {name: Peer(peer.call) for name, peer in CLUSTERING.items()},
    "lcc": CLUSTERING,
    "betweenness": {
        "igraph": Peer(lambda theirs: theirs.igraph[0].betweenness()),
        "networkit": Peer(_by_networkit("centrality", "Betweenness")),
    },
    "betweenness of a source": {
        "igraph": Peer(lambda theirs: theirs.igraph[0].betweenness(sources=[theirs.source]), np.array)
    },
    "closeness": {"igraph": Peer(lambda theirs: theirs.igraph[0].closeness(mode="in"))},
    "harmonic": {"igraph": Peer(lambda theirs: theirs.igraph[0].harmonic_centrality(mode="in"))},
    "coloring": {"igraph": Peer(lambda theirs: theirs.igraph[0].vertex_coloring_greedy())},
    "msf": {"scipy": Peer(_scipy_forest), "networkit": Peer(_networkit_forest)},
    "levels": {"igraph": Peer(lambda theirs: theirs.igraph[0].topological_sorting())},
}
