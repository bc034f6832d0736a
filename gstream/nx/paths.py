"""Trees and paths of searches. Where several are as short, the least natural indices choose, not NetworkX's order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import networkx as nx
import numpy as np

from gstream.nx.declare import PATHS, function
from gstream.nx.distances import NO_NODE, NO_SOURCE, lengths
from gstream.nx.node_graph import NodeGraph, column

NOT_IN = "The node {} is not in the graph."


def tree(graph: NodeGraph, source: Any, depth_limit: int | None = None) -> list[tuple[Any, Any]]:
    """(node, the node before it on a shortest path from the source), nearest first."""
    result = graph.graph.bfs(source=source, depth_limit=depth_limit)
    distance, before = column(result, "distance"), column(result, "predecessor")
    rows = np.flatnonzero(distance > 0)
    rows = rows[np.lexsort((before[rows], distance[rows]))]
    return list(zip(graph.nodes_of(rows), [graph.node(at) for at in before[rows].tolist()], strict=True))


def _forward(given: dict[str, Any]) -> bool | str:
    if given.get("reverse") and given["G"].is_directed():
        return "gstream searches along out-edges"
    if given.get("sort_neighbors") is not None:
        return "the order of neighbours is the store's"
    limit = given.get("depth_limit")
    return limit is None or limit >= 0 or "depth_limit is below 0"


@function(multigraph=True, ours=PATHS, rule=_forward)
def bfs_edges(
    G: NodeGraph, source: Any, reverse: bool = False, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    found = tree(G, G.vertex(source, nx.NetworkXError, NOT_IN), depth_limit)
    return ((before, node) for node, before in found)


@function(multigraph=True, ours=PATHS, rule=_forward)
def bfs_predecessors(
    G: NodeGraph, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    return iter(tree(G, G.vertex(source, nx.NetworkXError, NOT_IN), depth_limit))


@function(multigraph=True, ours=PATHS, rule=_forward)
def bfs_successors(
    G: NodeGraph, source: Any, depth_limit: Any = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    found = tree(G, G.vertex(source, nx.NetworkXError, NOT_IN), depth_limit)
    return ((before, [node for node, _ in nodes]) for before, nodes in groupby(found, lambda pair: pair[1]))


@function(multigraph=True, ours=PATHS, rule=_forward)
def bfs_tree(
    G: NodeGraph, source: Any, reverse: bool = False, depth_limit: Any = None, sort_neighbors: Any = None
) -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_node(source)
    found = tree(G, G.vertex(source, nx.NetworkXError, NOT_IN), depth_limit)
    made.add_edges_from((before, node) for node, before in found)
    return made


def paths(found: list[tuple[Any, Any]], source: Any) -> dict[Any, list[Any]]:
    """{node: the path to it} of a tree, nearest first."""
    made = {source: [source]}
    for node, before in found:
        made[node] = [*made[before], node]
    return made


@function(multigraph=True, ours=PATHS)
def single_source_shortest_path(G: NodeGraph, source: Any, cutoff: Any = None) -> dict[Any, list[Any]]:
    return paths(tree(G, G.vertex(source, text=NO_SOURCE), cutoff), source)


@function(multigraph=True, ours=PATHS)
def all_pairs_shortest_path(G: NodeGraph, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    return ((node, paths(tree(G, G.vertex(node), cutoff), node)) for node in G)


def path_to(graph: NodeGraph, source: Any, target: Any, weight: str | None) -> list[Any]:
    """A shortest path. Raises nx.NetworkXNoPath where there is none."""
    start = graph.vertex(source, text="Source {} is not in G")
    graph.vertex(target, text="Target {} is not in G")
    weighted = graph.weighs(weight)
    result = graph.graph.sssp(source=start, float64=True) if weighted else graph.graph.bfs(source=start)
    before = dict(zip(graph.nodes, column(result, "predecessor").tolist(), strict=True))
    path = [target]
    while path[-1] != source:
        step = before[path[-1]]
        if step == -1 or step == "":
            raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
        path.append(graph.node(step))
    return path[::-1]


def _one_pair(given: dict[str, Any]) -> bool | str:
    if given["method"] not in ("dijkstra", "bellman-ford"):
        return "an unknown method"
    return (given["source"] is not None and given["target"] is not None) or "paths of one pair alone"


@function(multigraph=True, ours=PATHS, weight="weight", reads=True, rule=_one_pair)
def shortest_path(
    G: NodeGraph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> list[Any]:
    return path_to(G, source, target, weight)


@function(multigraph=True, ours=PATHS)
def bidirectional_shortest_path(G: NodeGraph, source: Any, target: Any) -> list[Any]:
    return path_to(G, source, target, None)


@function(multigraph=True, ours=PATHS, weight="weight", reads=True)
def dijkstra_path(G: NodeGraph, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    if target not in G:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return path_to(G, source, target, weight)


@function(multigraph=True, ours=PATHS, weight="weight", reads=True)
def bidirectional_dijkstra(G: NodeGraph, source: Any, target: Any, weight: Any = "weight") -> tuple[Any, list[Any]]:
    path = path_to(G, source, target, weight)
    far = lengths(G, G.vertex(source, text=NO_NODE), weight)
    value = dict(zip(G.nodes, far.tolist(), strict=True))[target]
    return (int(value) if G.whole or G.weight != weight else value), path
