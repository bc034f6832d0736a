"""Degrees, cores, trusses and parts of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from gstream.nx.components import count
from gstream.nx.declare import PATHS, function, unread, weightless
from gstream.nx.distances import lengths, row_of
from gstream.nx.node_graph import NodeGraph, column


@function(multigraph=True, brief=True)
def is_isolate(G: NodeGraph, n: Any) -> bool:
    vertex = G.vertex(n, nx.NetworkXError, "Node {} is not in the graph.")
    return G.graph.degree(vertex) == 0


@function(multigraph=True, brief=True)
def isolates(G: NodeGraph) -> Iterator[Any]:
    return iter(G.nodes_of(np.flatnonzero(G.degrees("both" if G.is_directed() else "out") == 0)))


@function(multigraph=True, brief=True)
def number_of_isolates(G: NodeGraph) -> int:
    return int((G.degrees("both" if G.is_directed() else "out") == 0).sum())


@function(multigraph=True, brief=True)
def number_of_selfloops(G: NodeGraph) -> int:
    return G.self_loops


@function(multigraph=True, brief=True)
def is_empty(G: NodeGraph) -> bool:
    return G.number_of_edges() == 0


@function(multigraph=True, brief=True)
def is_regular(G: NodeGraph) -> bool:
    names = ("out", "in") if G.is_directed() else ("out",)
    return all(len(np.unique(G.degrees(name))) == 1 for name in names)


@function(directed=False, multigraph=True, brief=True)
def is_k_regular(G: NodeGraph, k: int) -> bool:
    return bool((G.degrees("out") == k).all())


@function(multigraph=True)
def is_eulerian(G: NodeGraph) -> bool:
    if G.is_directed():
        return bool((G.degrees("in") == G.degrees("out")).all()) and count(G, "scc") == 1
    return not (G.degrees("out") % 2).any() and count(G) == 1


def _signed(given: dict[str, Any]) -> bool | str:
    return unread(given["G"], given["weight"], negative=True) or True


@function(multigraph=True, brief=True, edge=None, rule=_signed)
def is_negatively_weighted(G: NodeGraph, edge: Any = None, weight: str = "weight") -> bool:
    least = G.graph.store.meta.min_weight
    return G.weighs(weight) and least is not None and least < 0


@function(
    multigraph=True,
    ours="NetworkX knows which edges have the attribute",
    weight="weight",
    reads=True,
    edge=None,
)
def is_weighted(G: NodeGraph, edge: Any = None, weight: str = "weight") -> bool:
    return G.weighs(weight) and G.number_of_edges() > 0


@function(multigraph=True, nodes=None, rule=weightless)
def node_degree_xy(
    G: NodeGraph, x: str = "out", y: str = "in", weight: Any = None, nodes: Any = None
) -> Iterator[tuple[int, int]]:
    names = (x, y) if G.is_directed() else ("out", "out")
    degree, other = (G.degrees(name) for name in names)
    for source, target in G.edge_rows():
        yield from zip(degree[source].tolist(), other[target].tolist(), strict=True)
        if not G.is_directed():
            source, target = source[source != target], target[source != target]
            yield from zip(degree[target].tolist(), degree[source].tolist(), strict=True)


def _cores(graph: NodeGraph) -> np.ndarray:
    """int64[n]: core numbers. Raises NetworkXNotImplemented for self-loops, as NetworkX."""
    if graph.self_loops:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; Consider using "
            "G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return column(graph.graph.kcore(), "core")


@function()
def core_number(G: NodeGraph) -> dict[Any, int]:
    return G.by_node(_cores(G))


def _induced(graph: NodeGraph, rows: np.ndarray) -> nx.Graph:
    """The subgraph of some rows' nodes, in NetworkX."""
    nodes = graph.nodes_of(rows)
    made = nx.DiGraph() if graph.is_directed() else nx.Graph()
    made.add_nodes_from(nodes)
    if nodes:
        table = graph.graph.subgraph(nodes=[graph.vertex(node) for node in nodes]).to_arrow()
        for row in zip(*(part.to_pylist() for part in table.columns), strict=True):
            made.add_edge(graph.node(row[0]), graph.node(row[1]), **dict(zip(["weight"], row[2:], strict=False)))
    return made


@function(ours=PATHS, core_number=None)
def k_core(G: NodeGraph, k: int | None = None, core_number: Any = None) -> nx.Graph:
    found = _cores(G)
    return _induced(G, np.flatnonzero(found >= (found.max() if k is None else k)))


@function(ours=PATHS, core_number=None)
def k_shell(G: NodeGraph, k: int | None = None, core_number: Any = None) -> nx.Graph:
    found = _cores(G)
    return _induced(G, np.flatnonzero(found == (found.max() if k is None else k)))


@function(ours=PATHS, core_number=None)
def k_crust(G: NodeGraph, k: int | None = None, core_number: Any = None) -> nx.Graph:
    found = _cores(G)
    return _induced(G, np.flatnonzero(found <= (found.max() - 1 if k is None else k)))


@function(ours=PATHS, directed=False)
def k_truss(G: NodeGraph, k: int) -> nx.Graph:
    if G.self_loops:
        raise nx.NetworkXNotImplemented("Input graph has self loops which is not permitted")
    made = nx.Graph()
    table = G.graph.ktruss(k=k).to_arrow()
    made.add_edges_from(
        (G.node(u), G.node(v)) for u, v, *_ in zip(*(c.to_pylist() for c in table.columns), strict=True)
    )
    return made


def _one_way(given: dict[str, Any]) -> bool | str:
    both = given["undirected"] and given["G"].is_directed() and given["distance"] is not None
    return not both or "paths by weight go one way"


@function(ours=PATHS, weight="distance", reads=True, rule=_one_way)
def ego_graph(
    G: NodeGraph, n: Any, radius: float = 1, center: bool = True, undirected: bool = False, distance: Any = None
) -> nx.Graph:
    vertex = G.vertex(n)
    if G.weighs(distance):
        reach = lengths(G, vertex, distance, radius)
        reach = np.where(np.isinf(reach), -1, reach)
    else:
        reach = column(G.graph.khop(source=vertex, radius=int(radius), undirected=undirected and G.is_directed()))
    inside = reach >= 0
    inside[row_of(G, n)] = center
    return _induced(G, np.flatnonzero(inside))


@function(directed=True, nodes=None)
def reciprocity(G: NodeGraph, nodes: Any = None) -> float:
    return _reciprocity(G)


@function(directed=True)
def overall_reciprocity(G: NodeGraph) -> float:
    return _reciprocity(G)


def _reciprocity(graph: NodeGraph) -> float:
    """Share of edges whose opposite is there; a self-loop has none, as in NetworkX."""
    edges = graph.number_of_edges()
    if not edges:
        raise nx.NetworkXError("Not defined for empty graphs")
    source, target = np.concatenate([np.stack(ends) for ends in graph.edge_rows()], axis=1).astype(np.uint64)
    there, back = source * np.uint64(len(graph)) + target, target * np.uint64(len(graph)) + source
    return int((np.isin(there, back) & (source != target)).sum()) / edges
