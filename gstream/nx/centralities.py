"""Centralities, ranks and counts of triangles, with NetworkX's definitions."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import networkx as nx
import numpy as np

from gstream.algorithms.centrality.betweenness import scales_of
from gstream.nx.declare import function, unread
from gstream.nx.distances import lengths, row_of
from gstream.nx.left_out import LeftToNetworkXError
from gstream.nx.node_graph import NodeGraph, column


def _converged(result: Any, most: int) -> Any:
    if not result.summary["converged"]:
        raise nx.PowerIterationFailedConvergence(most)
    return result


def _starts(given: dict[str, Any]) -> bool | str:
    personal = given["personalization"]
    if personal is None:
        return True
    if not isinstance(personal, Mapping) or not all(node in given["G"] for node in personal):
        return "personalization is no mapping from nodes"
    numbers = all(isinstance(value, (int, float)) and value >= 0 for value in personal.values())
    return (numbers and sum(personal.values()) > 0) or "personalization has no sum above 0"


@function(multigraph=True, weight="weight", reads=True, nstart=None, dangling=None, rule=_starts)
def pagerank(
    G: NodeGraph, alpha: float = 0.85, personalization: Any = None, max_iter: int = 100, tol: float = 1e-6,
    nstart: Any = None, weight: Any = "weight", dangling: Any = None,
) -> dict[Any, float]:  # fmt: skip
    given = None
    if personalization is not None:
        given = {G.vertex(node): float(value) for node, value in personalization.items()}
    result = G.graph.pagerank(
        alpha=alpha, personalization=given, max_iter=max_iter, tol=len(G) * tol, float64=True,
        weighted=G.weighs(weight),
    )  # fmt: skip
    return G.by_node(column(_converged(result, max_iter), "pagerank"))


@function(
    multigraph=True, nstart=None, method="power_iteration", rule=lambda given: unread(given["G"], "weight") or True
)
def hits(
    G: NodeGraph, max_iter: int = 100, tol: float = 1e-8, nstart: Any = None, normalized: bool = True,
    method: str = "power_iteration",
) -> tuple[dict[Any, float], dict[Any, float]]:  # fmt: skip
    found = G.graph.hits(max_iter=max_iter, tol=tol, normalized=normalized, weighted=G.weighs("weight"))
    result = _converged(found, max_iter)
    return G.by_node(column(result, "hub")), G.by_node(column(result, "authority"))


def _one_beta(given: dict[str, Any]) -> bool | str:
    return isinstance(given["beta"], (int, float)) or "beta is no number"


@function(weight="weight", reads=True, nstart=None, rule=_one_beta)
def katz_centrality(
    G: NodeGraph, alpha: float = 0.1, beta: float = 1.0, max_iter: int = 1000, tol: float = 1e-6, nstart: Any = None,
    normalized: bool = True, weight: Any = None,
) -> dict[Any, float]:  # fmt: skip
    result = G.graph.katz(
        alpha=alpha, beta=beta, max_iter=max_iter, tol=len(G) * tol, normalized=normalized, weighted=G.weighs(weight)
    )
    return G.by_node(column(_converged(result, max_iter), "katz"))


@function(weight="weight", reads=True, nstart=None)
def eigenvector_centrality(
    G: NodeGraph, max_iter: int = 100, tol: float = 1e-6, nstart: Any = None, weight: Any = None
) -> dict[Any, float]:
    result = G.graph.eigenvector(max_iter=max_iter, tol=len(G) * tol, weighted=G.weighs(weight))
    return G.by_node(column(_converged(result, max_iter), "eigenvector"))


def _one_undirected(given: dict[str, Any]) -> bool | str:
    return given["u"] is None or not given["G"].is_directed() or "paths to one node are searched backward"


@function(multigraph=True, weight="distance", reads=True, sp=None, rule=_one_undirected)
def closeness_centrality(
    G: NodeGraph, u: Any = None, distance: Any = None, wf_improved: bool = True, sp: Any = None
) -> Any:
    if u is None:
        result = G.graph.closeness(wf_improved=wf_improved, weighted=G.weighs(distance))
        return G.by_node(column(result, "closeness"))
    found = lengths(G, G.vertex(u), distance)
    reached = np.isfinite(found)
    total, others = found[reached].sum().item(), int(reached.sum()) - 1
    if not total or len(G) < 2:
        return 0.0
    return others / total * (others / (len(G) - 1) if wf_improved else 1.0)


@function(multigraph=True, weight="distance", reads=True, nbunch=None, sources=None)
def harmonic_centrality(
    G: NodeGraph, nbunch: Any = None, distance: Any = None, sources: Any = None
) -> dict[Any, float]:
    return G.by_node(column(G.graph.harmonic(weighted=G.weighs(distance)), "harmonic"))


def _positive(given: dict[str, Any]) -> bool | str:
    graph, weight = given["G"], given["weight"]
    if weight is None:
        return True
    if not isinstance(graph, nx.Graph):
        least = NodeGraph.of(graph).graph.store.meta.min_weight
    else:
        least = min((value for _, _, value in graph.edges(data=weight) if value is not None), default=1)
    return least is None or least > 0 or "weights of 0 leave shortest paths uncounted"


def _drawn(given: dict[str, Any]) -> bool | str:
    k, seed = given["k"], given["seed"]
    if k is not None and not (isinstance(k, int) and 0 < k <= len(given["G"])):
        return "k is no number of nodes"
    if k is not None and seed is not None and not isinstance(seed, (int, Random)):
        return "the seed is neither a number nor random.Random"
    return _positive(given)


@function(multigraph=True, weight="weight", reads=True, rule=_drawn)
def betweenness_centrality(
    G: NodeGraph, k: Any = None, normalized: bool = True, weight: Any = None, endpoints: bool = False, seed: Any = None
) -> dict[Any, float]:
    if isinstance(seed, Random) and k is not None and k < len(G):
        return G.by_node(_from_drawn(G, seed.sample(G.nodes, k), normalized, endpoints, G.weighs(weight)))
    drawn = {} if k is None else {"k": k, "seed": None if isinstance(seed, Random) else seed}
    found = G.graph.betweenness(normalized=normalized, endpoints=endpoints, weighted=G.weighs(weight), **drawn)
    return G.by_node(column(found, "betweenness"))


def _from_drawn(graph: NodeGraph, drawn: list[Any], normalized: bool, ends: bool, weighted: bool) -> np.ndarray:
    """float64[n]: betweenness by drawn sources. A Random that a caller keeps has a state, which no seed stands for."""
    sources = [graph.vertex(node) for node in drawn]
    found = graph.graph.betweenness(source=sources, normalized=False, endpoints=ends, weighted=weighted)
    sums, meta = column(found, "betweenness").astype(np.float64), graph.graph.store.meta
    sums *= 1 if meta.directed else 2  # an undirected pair counts once in them
    rest, own = scales_of(meta, normalized, ends, len(drawn))
    scale = np.full(len(sums), rest)
    scale[[row_of(graph, node) for node in drawn]] = own
    return sums * scale


def _shares(graph: NodeGraph, direction: str) -> dict[Any, Any]:
    if len(graph) <= 1:
        return dict.fromkeys(graph, 1)
    return graph.by_node(graph.degrees(direction) * (1.0 / (len(graph) - 1.0)))


@function(multigraph=True)
def degree_centrality(G: NodeGraph) -> dict[Any, float]:
    return _shares(G, "both" if G.is_directed() else "out")


@function(directed=True, multigraph=True)
def in_degree_centrality(G: NodeGraph) -> dict[Any, float]:
    return _shares(G, "in")


@function(directed=True, multigraph=True)
def out_degree_centrality(G: NodeGraph) -> dict[Any, float]:
    return _shares(G, "out")


def _some(graph: NodeGraph, values: dict[Any, Any], nodes: Any) -> Any:
    """Of all nodes, of one, or of those in a collection."""
    if nodes is None:
        return values
    if nodes in graph:
        return values[nodes]
    return {node: values[node] for node in nodes if node in graph}


@function(directed=False)
def triangles(G: NodeGraph, nodes: Any = None) -> Any:
    return _some(G, G.by_node(column(G.graph.triangles(), "triangles")), nodes)


def _both_ways(given: dict[str, Any]) -> bool | str:
    """A rule: of directed graphs lcc has NetworkX's definition by weights alone, and each edge is there once."""
    graph = given["G"]
    if not isinstance(graph, nx.Graph) and NodeGraph.of(graph).weighs(given["weight"]):
        return not graph.is_multigraph() or "no multigraphs"
    known = not graph.is_directed() or (given["weight"] is not None and isinstance(graph, nx.Graph))
    return known or "only undirected graphs without weights"


def _coefficients(graph: NodeGraph, weight: Any) -> list[float]:
    if graph.is_directed() and not graph.weighs(weight):
        raise LeftToNetworkXError("lcc of a directed graph is NetworkX's by weights alone.")
    return column(graph.graph.lcc(weighted=graph.weighs(weight)), "lcc").astype(np.float64).tolist()


@function(weight="weight", reads=True, rule=_both_ways)
def clustering(G: NodeGraph, nodes: Any = None, weight: Any = None) -> Any:
    return _some(G, G.by_node(value or 0 for value in _coefficients(G, weight)), nodes)


@function(weight="weight", reads=True, nodes=None, rule=_both_ways)
def average_clustering(G: NodeGraph, nodes: Any = None, weight: Any = None, count_zeros: bool = True) -> float:
    found = [value for value in _coefficients(G, weight) if count_zeros or value > 0]
    return sum(found) / len(found)


def _no_loops(given: dict[str, Any]) -> bool | str:
    graph = given["G"]
    loops = nx.number_of_selfloops(graph) if isinstance(graph, nx.Graph) else NodeGraph.of(graph).self_loops
    return not loops or "no self-loops"


@function(directed=False, rule=_no_loops)
def transitivity(G: NodeGraph) -> float:
    degrees = G.degrees("out")
    closed = 2 * int(column(G.graph.triangles(), "triangles").sum())
    return closed / int((degrees * (degrees - 1)).sum()) if closed else 0
