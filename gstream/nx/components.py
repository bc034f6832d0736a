"""Components and what follows from them: connectedness, trees, cycles, generations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from gstream.nx.declare import function
from gstream.nx.node_graph import NodeGraph, column
from pagestore.errors import GstreamError


def labels(graph: NodeGraph, algorithm: str = "wcc") -> np.ndarray:
    """int64[n]: the number of each row's component, which are numbered by their first rows."""
    result = getattr(graph.graph, algorithm)()
    _, first, numbers = np.unique(column(result, "component"), return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[numbers]


def groups(graph: NodeGraph, algorithm: str = "wcc") -> Iterator[set[Any]]:
    """The components as sets of nodes, by their first rows."""
    found = labels(graph, algorithm)
    rows = np.argsort(found, kind="stable")
    cuts = np.flatnonzero(np.diff(found[rows])) + 1
    return (set(graph.nodes_of(part)) for part in np.split(rows, cuts))


def count(graph: NodeGraph, algorithm: str = "wcc") -> int:
    """How many components there are."""
    return int(labels(graph, algorithm).max()) + 1


@function(directed=False, multigraph=True)
def connected_components(G: NodeGraph) -> Iterator[set[Any]]:
    return groups(G)


@function(directed=False, multigraph=True)
def number_connected_components(G: NodeGraph) -> int:
    return count(G)


@function(directed=False, multigraph=True)
def is_connected(G: NodeGraph) -> bool:
    return count(G) == 1


@function(directed=False, multigraph=True)
def node_connected_component(G: NodeGraph, n: Any) -> set[Any]:
    reached = column(G.graph.bfs(source=G.vertex(n, KeyError, "{}"), predecessors=False), "distance") >= 0
    return set(G.nodes_of(np.flatnonzero(reached)))


@function(directed=True, multigraph=True)
def weakly_connected_components(G: NodeGraph) -> Iterator[set[Any]]:
    return groups(G)


@function(directed=True, multigraph=True)
def number_weakly_connected_components(G: NodeGraph) -> int:
    return count(G)


@function(directed=True, multigraph=True)
def is_weakly_connected(G: NodeGraph) -> bool:
    return count(G) == 1


@function(directed=True, multigraph=True)
def strongly_connected_components(G: NodeGraph) -> Iterator[set[Any]]:
    return groups(G, "scc")


@function(directed=True, multigraph=True)
def number_strongly_connected_components(G: NodeGraph) -> int:
    return count(G, "scc")


@function(directed=True, multigraph=True)
def is_strongly_connected(G: NodeGraph) -> bool:
    return count(G, "scc") == 1


@function(multigraph=True)
def is_directed_acyclic_graph(G: NodeGraph) -> bool:
    return G.is_directed() and not G.self_loops and count(G, "scc") == len(G)


@function(multigraph=True, brief=True)
def is_tree(G: NodeGraph) -> bool:
    return G.number_of_edges() == len(G) - 1 and count(G) == 1


@function(multigraph=True, brief=True)
def is_forest(G: NodeGraph) -> bool:
    return G.number_of_edges() == len(G) - count(G)


@function(directed=True, multigraph=True, brief=True)
def is_arborescence(G: NodeGraph) -> bool:
    return bool(G.degrees("in").max() <= 1) and G.number_of_edges() == len(G) - 1 and count(G) == 1


@function(directed=True, multigraph=True, brief=True)
def is_branching(G: NodeGraph) -> bool:
    return bool(G.degrees("in").max() <= 1) and G.number_of_edges() == len(G) - count(G)


@function(directed=True, multigraph=True)
def topological_generations(G: NodeGraph) -> Iterator[list[Any]]:
    levels = column(_levels(G), "level")
    rows = np.argsort(levels, kind="stable")
    cuts = np.flatnonzero(np.diff(levels[rows])) + 1
    return (G.nodes_of(part) for part in np.split(rows, cuts))


@function(directed=True, weight="weight", reads=True, default_weight=1)
def dag_longest_path_length(G: NodeGraph, weight: str = "weight", default_weight: Any = 1) -> Any:
    weighted = G.weighs(weight)
    longest = column(_levels(G, weighted), "distance" if weighted else "level").max().item()
    return int(longest) if not weighted or G.whole else longest


def _levels(graph: NodeGraph, weighted: bool = False) -> Any:
    try:
        return graph.graph.levels(weighted=weighted)
    except GstreamError as error:  # it names a cycle
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration") from error
