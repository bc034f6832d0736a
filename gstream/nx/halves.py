"""Bipartite graphs: two colours by the parity of distances from a vertex of each component."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from gstream.nx.components import count, labels
from gstream.nx.declare import function
from gstream.nx.node_graph import NodeGraph, column


def _colours(graph: NodeGraph) -> np.ndarray | None:
    """int64[n]: 1 for the first node of each component, 0 for its neighbours, and so on; isolated nodes have 0. None if
    an edge joins two nodes of one colour."""
    _, first = np.unique(labels(graph), return_index=True)
    sources = [graph.vertex(node) for node in graph.nodes_of(first)]
    colours = 1 - column(graph.graph.bfs(source=sources, predecessors=False), "distance") % 2
    if any((colours[source] == colours[target]).any() for source, target in graph.edge_rows()):
        return None
    return np.where(graph.degrees("out") == 0, 0, colours)


def _coloured(graph: NodeGraph) -> np.ndarray:
    colours = _colours(graph)
    if colours is None:
        raise nx.NetworkXError("Graph is not bipartite.")
    return colours


@function(directed=False, multigraph=True)
def is_bipartite(G: NodeGraph) -> bool:
    return _colours(G) is not None


@function(directed=False, multigraph=True)
def color(G: NodeGraph) -> dict[Any, int]:
    return G.by_node(_coloured(G))


@function(directed=False, multigraph=True, top_nodes=None)
def sets(G: NodeGraph, top_nodes: Any = None) -> tuple[set[Any], set[Any]]:
    if count(G) != 1:
        raise nx.AmbiguousSolution("Disconnected graph: Ambiguous solution for bipartite sets.")
    colours = _coloured(G)
    return set(G.nodes_of(np.flatnonzero(colours))), set(G.nodes_of(np.flatnonzero(colours == 0)))
