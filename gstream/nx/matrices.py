"""Adjacency matrices: Graph.to_scipy with NetworkX's types and orders of nodes."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from gstream.nx.declare import function
from gstream.nx.distances import row_of
from gstream.nx.left_out import LeftToNetworkXError
from gstream.nx.node_graph import NodeGraph


def _rows(graph: NodeGraph, nodes: Any) -> np.ndarray:
    """int64[k]: rows of some nodes."""
    places = {node: row for row, node in enumerate(graph.nodes)} if len(nodes) > 1 else {}
    return np.array([places[node] if places else row_of(graph, node) for node in nodes], np.int64)


def _matrix(graph: NodeGraph, weight: str | None, dtype: Any) -> Any:
    """scipy.sparse.csr_array: weights where they are `weight`, otherwise how many edges there are."""
    found = graph.graph.to_scipy()
    if graph.weight is not None and not graph.weighs(weight):
        raise LeftToNetworkXError("the matrix of a graph with weights holds its weights.")
    kind = np.int64 if graph.whole or not graph.weighs(weight) else np.float64
    return found.astype(kind if dtype is None else dtype)


def _listed(given: dict[str, Any]) -> bool | str:
    """A rule: the list of nodes is one of the graph's nodes, each once."""
    nodes, graph = given["nodelist"], given["G"]
    if nodes is None:
        return True
    known = 0 < len(nodes) == len(set(nodes)) and all(node in graph for node in nodes)
    return known or "the list of nodes is empty, or has a node twice or one that is not in the graph"


def _chosen(graph: NodeGraph, found: Any, nodes: Any) -> Any:
    """Rows and columns of the listed nodes, in their order."""
    if nodes is None:
        return found
    rows = _rows(graph, nodes)
    return found[rows][:, rows]


def _as_format(found: Any, format: str, text: str) -> Any:
    try:
        return found.asformat(format)
    except ValueError as error:
        raise nx.NetworkXError(f"{text}: {format}") from error


@function(multigraph=True, weight="weight", reads=True, rule=_listed)
def to_scipy_sparse_array(
    G: NodeGraph, nodelist: Any = None, dtype: Any = None, weight: Any = "weight", format: str = "csr"
) -> Any:
    found = _chosen(G, _matrix(G, weight, dtype), nodelist)
    return _as_format(found, format, "Unknown sparse matrix format")


def _plain_array(given: dict[str, Any]) -> bool | str:
    if given["G"].is_multigraph() and given["multigraph_weight"] is not sum:
        return "weights of parallel edges are added up"
    if given["dtype"] is not None and np.dtype(given["dtype"]).names:
        return "arrays of records are NetworkX's"
    return _listed(given) if given["nonedge"] == 0 else "vertices without an edge have 0"


@function(multigraph=True, weight="weight", reads=True, rule=_plain_array)
def to_numpy_array(
    G: NodeGraph, nodelist: Any = None, dtype: Any = None, order: Any = None, multigraph_weight: Any = sum,
    weight: Any = "weight", nonedge: float = 0.0,
) -> np.ndarray:  # fmt: skip
    found = _chosen(G, _matrix(G, weight, np.float64 if dtype is None else dtype), nodelist)
    return np.asarray(found.toarray(), order=order)


def _parts(given: dict[str, Any]) -> bool | str:
    rows, columns, graph = given["row_order"], given["column_order"], given["G"]
    nodes = [*rows, *(columns if columns is not None else [])]
    return all(node in graph for node in nodes) or "a node is not in the graph"


@function(multigraph=True, weight="weight", reads=True, rule=_parts)
def biadjacency_matrix(
    G: NodeGraph, row_order: Any, column_order: Any = None, dtype: Any = None, weight: Any = "weight",
    format: str = "csr",
) -> Any:  # fmt: skip
    if not len(row_order):
        raise nx.NetworkXError("row_order is empty list")
    if column_order is None:
        column_order = list(set(G) - set(row_order))
    for name, order in (("row_order", row_order), ("column_order", column_order)):
        if len(order) != len(set(order)):
            raise nx.NetworkXError(f"Ambiguous ordering: `{name}` contained duplicates.")
    part = _matrix(G, weight, dtype)[_rows(G, row_order)][:, _rows(G, column_order)]
    return _as_format(part, format, "Unknown sparse array format")
