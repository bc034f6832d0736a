"""Distances: by edges with BFS, by weights with SSSP, and what is made of those from all nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from gstream.nx.declare import function, weightless
from gstream.nx.node_graph import NodeGraph, column

NO_SOURCE, NO_NODE = "Source {} is not in G", "Node {} not found in graph"


def hops(graph: NodeGraph, source: Any, cutoff: Any = None) -> np.ndarray:
    """int64[n]: edges from a source, -1 where there is no path (of at most `cutoff` edges)."""
    limit = None if cutoff is None or cutoff >= len(graph) else max(int(cutoff), 0)
    return column(graph.graph.bfs(source=source, depth_limit=limit, predecessors=False), "distance")


def lengths(graph: NodeGraph, sources: Any, weight: str | None, cutoff: Any = None) -> np.ndarray:
    """float64[n]: weights of shortest paths from the nearest source, inf where there is none within the cutoff."""
    if not graph.weighs(weight):
        found = column(graph.graph.bfs(source=sources, predecessors=False), "distance")
        far = np.where(found < 0, np.inf, found.astype(np.float64))
    else:
        far = column(graph.graph.sssp(source=sources, predecessors=False, float64=True, cutoff=cutoff), "distance")
    return far if cutoff is None else np.where(far > cutoff, np.inf, far)


def reached(graph: NodeGraph, distances: np.ndarray, whole: bool = True) -> dict[Any, Any]:
    """{node: distance} of the reached, nearest first."""
    rows = np.flatnonzero((distances >= 0) & (distances != np.inf))
    rows = rows[np.argsort(distances[rows], kind="stable")]
    values = distances[rows].astype(np.int64) if whole else distances[rows]
    return dict(zip(graph.nodes_of(rows), values.tolist(), strict=True))


def by_weight(graph: NodeGraph, sources: Any, weight: str | None, cutoff: Any = None) -> dict[Any, Any]:
    """{node: length} of the nodes that a source reaches."""
    whole = graph.whole or not graph.weighs(weight)
    return reached(graph, lengths(graph, sources, weight, cutoff), whole)


def _target(found: dict[Any, Any], target: Any, source: Any, text: str) -> Any:
    if target not in found:
        raise nx.NetworkXNoPath(text.format(source=source, target=target))
    return found[target]


NO_PATH = "Node {target} not reachable from {source}"


@function(multigraph=True)
def single_source_shortest_path_length(G: NodeGraph, source: Any, cutoff: Any = None) -> dict[Any, int]:
    return reached(G, hops(G, G.vertex(source, text=NO_SOURCE), cutoff))


@function(directed=False, multigraph=True)
def single_target_shortest_path_length(G: NodeGraph, target: Any, cutoff: Any = None) -> dict[Any, int]:
    return reached(G, hops(G, G.vertex(target, text="Target {} is not in G"), cutoff))


@function(multigraph=True)
def all_pairs_shortest_path_length(G: NodeGraph, cutoff: Any = None) -> Iterator[tuple[Any, dict[Any, int]]]:
    return ((node, reached(G, hops(G, G.vertex(node), cutoff))) for node in G)


@function(multigraph=True)
def descendants(G: NodeGraph, source: Any) -> set[Any]:
    found = hops(G, G.vertex(source, nx.NetworkXError, "The node {} is not in the digraph."))
    return set(G.nodes_of(np.flatnonzero(found > 0)))


@function(multigraph=True)
def descendants_at_distance(G: NodeGraph, source: Any, distance: int) -> set[Any]:
    found = hops(G, G.vertex(source, nx.NetworkXError, "The node {} is not in the graph."))
    return set(G.nodes_of(np.flatnonzero(found == distance))) if distance >= 0 else set()


@function(multigraph=True)
def bfs_layers(G: NodeGraph, sources: Any) -> Iterator[list[Any]]:
    given = [sources] if sources in G else list(dict.fromkeys(sources))
    text = "The node {} is not in the graph."
    vertices = [G.vertex(source, nx.NetworkXError, text) for source in given]
    if not vertices:
        return iter(())
    found = column(G.graph.bfs(source=vertices, predecessors=False), "distance")
    return (G.nodes_of(np.flatnonzero(found == layer)) for layer in range(int(found.max()) + 1))


@function(multigraph=True)
def has_path(G: NodeGraph, source: Any, target: Any) -> bool:
    found = hops(G, G.vertex(source, text="Source {} is not in G"))
    G.vertex(target, text="Target {} is not in G")
    return bool(found[row_of(G, target)] >= 0)


def row_of(graph: NodeGraph, node: Any) -> int:
    """The row of a node in answers."""
    vertex = graph.vertex(node)
    store = graph.graph.store
    return int(store.natural_of(store.lookup([vertex], "vertex"))[0])


@function(multigraph=True, weight="weight", reads=True)
def single_source_dijkstra_path_length(
    G: NodeGraph, source: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    return by_weight(G, G.vertex(source, text=NO_NODE), weight, cutoff)


@function(multigraph=True, weight="weight", reads=True)
def multi_source_dijkstra_path_length(
    G: NodeGraph, sources: Any, cutoff: Any = None, weight: Any = "weight"
) -> dict[Any, Any]:
    if not sources:
        raise ValueError("sources must not be empty")
    return by_weight(G, [G.vertex(source, text=NO_NODE) for source in sources], weight, cutoff)


@function(multigraph=True, weight="weight", reads=True)
def single_source_bellman_ford_path_length(G: NodeGraph, source: Any, weight: Any = "weight") -> dict[Any, Any]:
    return by_weight(G, G.vertex(source, text=NO_SOURCE), weight)


@function(multigraph=True, weight="weight", reads=True)
def dijkstra_path_length(G: NodeGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    found = by_weight(G, G.vertex(source, text="Node {} not found in graph"), weight)
    if source == target:
        return 0
    return _target(found, target, source, NO_PATH)


@function(multigraph=True, weight="weight", reads=True)
def bellman_ford_path_length(G: NodeGraph, source: Any, target: Any, weight: Any = "weight") -> Any:
    found = by_weight(G, G.vertex(source, text=NO_SOURCE), weight)
    if source == target:
        return 0
    return _target(found, target, source, "node {target} not reachable from {source}")


@function(multigraph=True, weight="weight", reads=True)
def all_pairs_dijkstra_path_length(
    G: NodeGraph, cutoff: Any = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    return ((node, by_weight(G, G.vertex(node), weight, cutoff)) for node in G)


@function(multigraph=True, weight="weight", reads=True)
def all_pairs_bellman_ford_path_length(G: NodeGraph, weight: Any = "weight") -> Iterator[tuple[Any, dict[Any, Any]]]:
    return ((node, by_weight(G, G.vertex(node), weight)) for node in G)


def _no_reverse(given: dict[str, Any]) -> bool | str:
    if given["method"] not in ("dijkstra", "bellman-ford"):
        return "an unknown method"
    if given["source"] is None and given["target"] is not None and given["G"].is_directed():
        return "paths to a node of a directed graph are searched backward"
    return True


@function(multigraph=True, weight="weight", reads=True, rule=_no_reverse)
def shortest_path_length(
    G: NodeGraph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    if source is None and target is None:
        return ((node, by_weight(G, G.vertex(node), weight)) for node in G)
    if source is None or target is None:
        start = target if source is None else source
        return by_weight(G, G.vertex(start, text=NO_SOURCE if weight is None else NO_NODE), weight)
    found = by_weight(G, G.vertex(source, text="Source {} is not in G"), weight)
    G.vertex(target, text="Target {} is not in G")
    return _target(found, target, source, NO_PATH if weight else "No path between {source} and {target}.")


@function(directed=False, multigraph=True)
def ancestors(G: NodeGraph, source: Any) -> set[Any]:
    found = hops(G, G.vertex(source, nx.NetworkXError, "The node {} is not in the graph."))
    return set(G.nodes_of(np.flatnonzero(found > 0)))


@function(directed=False)
def efficiency(G: NodeGraph, u: Any, v: Any) -> float:
    found = hops(G, G.vertex(u, text="Source {} is not in G"))
    G.vertex(v, text="Target {} is not in G")
    far = int(found[row_of(G, v)])
    return 0 if far < 0 else 1 / far


def _eccentricities(graph: NodeGraph, nodes: Any, weight: str | None) -> dict[Any, Any]:
    found = {}
    for node in nodes:
        far = lengths(graph, graph.vertex(node), weight)
        if np.isinf(far).any():
            why = "digraph is not strongly connected" if graph.is_directed() else "graph is not connected"
            raise nx.NetworkXError(f"Found infinite path length because the {why}")
        value = far.max().item()
        found[node] = int(value) if graph.whole or not graph.weighs(weight) else value
    return found


@function(multigraph=True, weight="weight", reads=True, sp=None)
def eccentricity(G: NodeGraph, v: Any = None, sp: Any = None, weight: Any = None) -> Any:
    if v is not None and v in G:
        return _eccentricities(G, [v], weight)[v]
    if v is not None and not isinstance(v, Iterable):
        raise nx.NetworkXError(f"Node {v} is not in the graph.")
    return _eccentricities(G, G if v is None else [node for node in v if node in G], weight)


@function(multigraph=True, weight="weight", reads=True, e=None, usebounds=False)
def diameter(G: NodeGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    return max(_eccentricities(G, G, weight).values())


@function(multigraph=True, weight="weight", reads=True, e=None, usebounds=False)
def radius(G: NodeGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> Any:
    return min(_eccentricities(G, G, weight).values())


@function(multigraph=True, weight="weight", reads=True, e=None, usebounds=False)
def center(G: NodeGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    found = _eccentricities(G, G, weight)
    least = min(found.values())
    return [node for node, value in found.items() if value == least]


@function(multigraph=True, weight="weight", reads=True, e=None, usebounds=False)
def periphery(G: NodeGraph, e: Any = None, usebounds: bool = False, weight: Any = None) -> list[Any]:
    found = _eccentricities(G, G, weight)
    most = max(found.values())
    return [node for node, value in found.items() if value == most]


def _sums(graph: NodeGraph, weight: str | None) -> tuple[float, int]:
    """(sum of all finite lengths, pairs of nodes without a path)."""
    total, missing = 0.0, 0
    for node in graph:
        far = lengths(graph, graph.vertex(node), weight)
        near = np.isfinite(far)
        total += far[near].sum().item()
        missing += len(far) - int(near.sum())
    return total, missing


@function(
    multigraph=True,
    weight="weight",
    reads=True,
    rule=lambda given: given["method"] in (None, "dijkstra", "unweighted"),
)
def average_shortest_path_length(G: NodeGraph, weight: Any = None, method: Any = None) -> float:
    if len(G) == 1:
        return 0
    total, missing = _sums(G, None if method == "unweighted" else weight)
    if missing:
        raise nx.NetworkXError(f"Graph is not {'strongly ' if G.is_directed() else ''}connected.")
    return total / (len(G) * (len(G) - 1))


@function(multigraph=True, weight="weight", reads=True)
def wiener_index(G: NodeGraph, weight: Any = None) -> float:
    total, missing = _sums(G, weight)
    if missing:
        return float("inf")
    if G.is_directed():
        return int(total) if G.whole or not G.weighs(weight) else total
    return total / 2


def _sizeable(graph: NodeGraph) -> None:
    if not graph.number_of_edges():
        raise nx.NetworkXError("Size of G must be positive")
    if len(graph) == 1:
        raise nx.NetworkXError("local_reaching_centrality of a single node with self-loop not well-defined")


def _reaching(graph: NodeGraph, node: Any) -> float:
    """Of other nodes, the share that is reached; along undirected edges each counts 1 / distance."""
    found = hops(graph, graph.vertex(node, text=NO_SOURCE))
    near = found[found > 0]
    return (len(near) if graph.is_directed() else (1 / near).sum().item()) / (len(graph) - 1)


@function(multigraph=True, paths=None, rule=weightless)
def local_reaching_centrality(
    G: NodeGraph, v: Any, paths: Any = None, weight: Any = None, normalized: bool = True
) -> float:
    _sizeable(G)
    return _reaching(G, v)


@function(multigraph=True, rule=weightless)
def global_reaching_centrality(G: NodeGraph, weight: Any = None, normalized: bool = True) -> float:
    _sizeable(G)
    found = [_reaching(G, node) for node in G]
    return sum(max(found) - value for value in found) / (len(G) - 1)


@function(directed=False, multigraph=True)
def global_efficiency(G: NodeGraph) -> float:
    pairs = len(G) * (len(G) - 1)
    return column(G.graph.harmonic(), "harmonic").sum().item() / pairs if pairs else 0
