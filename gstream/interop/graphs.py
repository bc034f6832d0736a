"""Edges of graphs that other libraries hold: NetworkX and igraph. Their maker has loaded the library."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from gstream.interop.sources import vertices_source
from pagestore.errors import UsageError, plain
from pagestore.inputs.badlines import BadLines
from pagestore.memory import ArraySource

DEFAULT_WEIGHT = "weight"  # that a graph need not have
MOST_NAMED = 10


def _own_adjacencies(graph: Any) -> bool:
    """Whether the class of a graph of NetworkX defines anew what a node's neighbours are."""
    named = ("__getitem__", "neighbors", "adjacency", "adj")
    return any(name in vars(kind) for kind in _kinds(type(graph)) for name in named)


def _kinds(kind: type) -> list[type]:
    """A class and those it inherits from, without NetworkX's own."""
    return [one for one in kind.__mro__[:-1] if not one.__module__.startswith("networkx.classes.")]


def networkx_edges(
    graph: Any, weight: Any = DEFAULT_WEIGHT
) -> tuple[list[Any], np.ndarray, np.ndarray, list[Any] | None]:
    """(nodes in the graph's order, places of the sources, of the targets, weights): what any graph of NetworkX holds.

    weight: the edge attribute; edges without it weigh 1, as NetworkX has it. None, or no edge has it: no weights.
    Raises UsageError for a class that has adjacencies of its own.
    """
    if _own_adjacencies(graph):
        raise UsageError(
            f"NetworkX's graph: a {type(graph).__name__} has adjacencies of its own, which its edges may not show. "
            "Pass a copy, as networkx.Graph(graph.edges)."
        )
    nodes = list(graph)
    place = {node: at for at, node in enumerate(nodes)}
    pairs = chain.from_iterable((place[u], place[v]) for u, v in graph.edges())
    ends = np.fromiter(pairs, np.int64).reshape(-1, 2)
    weights = None
    if weight is not None:
        given = [value for _, _, value in graph.edges(data=weight)]
        if any(value is not None for value in given):
            weights = [1 if value is None else value for value in given]
    return nodes, ends[:, 0], ends[:, 1], weights


def networkx_source(graph: Any, weight: Any, bad: BadLines) -> ArraySource:
    """The nodes and edges of a graph of NetworkX. Raises UsageError for an attribute that no edge has, and as
    `networkx_edges` and `vertices_source`."""
    weight = _attribute(weight)
    nodes, source, target, weights = networkx_edges(graph, weight)
    if weights is None and weight not in (None, DEFAULT_WEIGHT) and len(source):
        _, _, known = next(iter(graph.edges(data=True)))
        raise _no_attribute(weight, known)
    return vertices_source(nodes, source, target, weights, "NetworkX's graph", bad)


def check_networkx(graph: Any) -> None:
    """Raise UsageError unless it is a graph of NetworkX."""
    if not any(kind.__module__.partition(".")[0] == "networkx" for kind in type(graph).__mro__):
        raise UsageError(f"graph: a {type(graph).__module__}.{type(graph).__name__} is no graph of NetworkX. Pass one.")


def _attribute(weight: Any) -> Any:
    """The edge attribute that is asked for; None: none is."""
    if weight is True:
        raise UsageError('weight True: is the name of an edge attribute. Pass one, as weight="weight".')
    return None if weight is False else weight


def _no_attribute(weight: Any, known: Any) -> UsageError:
    """The error for an attribute that no edge has. known: attributes that edges have."""
    shown = ", ".join(plain(str(name)) for name in list(known)[:MOST_NAMED])
    there = f"the first one has {shown}" if shown else "the first one has none"
    return UsageError(f"weight {plain(repr(weight))}: no edge has that attribute; {there}. Name it, or pass False.")


def igraph_source(graph: Any, weight: Any, bad: BadLines) -> ArraySource:
    """Edges of an igraph.Graph. IDs: the attribute "name" where all names are different strings, else igraph's numbers.

    Raises UsageError for an attribute that no edge has, and as `vertices_source`.
    """
    weight, count, known = _attribute(weight), graph.vcount(), graph.es.attributes()
    names = graph.vs["name"] if "name" in graph.vs.attributes() else []
    named = len(names) > 0 and all(isinstance(one, str) for one in names) and len(set(names)) == count
    ends = np.fromiter(chain.from_iterable(graph.get_edgelist()), np.int64).reshape(-1, 2)
    weights = None
    if weight in known:
        weights = [1 if value is None else value for value in graph.es[weight]]
    elif weight not in (None, DEFAULT_WEIGHT) and len(ends):
        raise _no_attribute(weight, known)
    vertices = names if named else list(range(count))
    source = vertices_source(vertices, ends[:, 0], ends[:, 1], weights, "igraph's graph", bad)
    if names and not named:
        source.assumptions = ("igraph's graph: IDs are igraph's numbers, as its names are not all different strings",)
    return source


def check_igraph(graph: Any) -> None:
    """Raise UsageError unless it is a graph of igraph."""
    if not hasattr(graph, "vcount") or not hasattr(graph, "get_edgelist"):
        raise UsageError(f"graph: a {type(graph).__module__}.{type(graph).__name__} is no igraph.Graph. Pass one.")
