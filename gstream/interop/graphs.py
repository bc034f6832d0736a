"""Edges of graphs that other libraries hold: NetworkX and igraph. Their maker has loaded the library."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, compress
from operator import methodcaller
from types import NoneType
from typing import Any

import numpy as np

from gstream.interop.sources import vertices_source
from pagestore.errors import UsageError, plain
from pagestore.inputs.badlines import BadLines
from pagestore.memory import ArraySource

DEFAULT_WEIGHT = "weight"  # that a graph need not have
MOST_NAMED = 10
SPARSE = 2  # numbers, for each node and neighbour, up to which a table of places takes less time than sorted nodes
VALUES = methodcaller("values")


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
    # Lists of a filtered view may say that they are longer than they are: dictionaries do not.
    lists = {node: one if type(one) is dict else dict(one) for node, one in graph.adjacency()}
    sizes = _numbers(map(len, lists.values()), len(lists))
    ends = _places(nodes, chain(lists, chain.from_iterable(lists.values())), len(lists) + int(sizes.sum()))
    source, target = np.repeat(ends[: len(lists)], sizes), ends[len(lists) :]
    attributes: Iterable[Any] = chain.from_iterable(map(VALUES, lists.values()))
    if not graph.is_directed():  # an edge is in both lists
        once = target >= source
        source, target, attributes = source[once], target[once], compress(attributes, once)
    if graph.is_multigraph():  # attributes by the edge's key
        keyed = list(attributes)
        sizes = _numbers(map(len, keyed), len(keyed))
        source, target = np.repeat(source, sizes), np.repeat(target, sizes)
        attributes = chain.from_iterable(map(VALUES, keyed))
    weights = None
    if weight is not None and any(chain.from_iterable(map(VALUES, lists.values()))):  # no edge has any, mostly
        given = list(map(methodcaller("get", weight), attributes))
        kinds = {*map(type, given)}
        if kinds - {NoneType}:
            weights = [1 if value is None else value for value in given] if NoneType in kinds else given
    return nodes, source, target, weights


def _places(nodes: list[Any], given: Iterable[Any], count: int) -> np.ndarray:
    """int64[count]: where each of `given` stands among distinct nodes. Whole numbers are found in a table, or sorted
    where they lie far apart, without a dictionary, which is slower than all else that reading a graph takes."""
    if {*map(type, nodes)} == {int}:
        with suppress(OverflowError):  # past int64
            ids, found = _numbers(nodes, len(nodes)), _numbers(given, count)
            least, most = int(ids.min()), int(ids.max())
            if most - least < SPARSE * (len(nodes) + count):
                table = np.zeros(most - least + 1, np.int64)
                table[ids - least] = np.arange(len(ids))
                return table[found - least] if least else table[found]
            order = np.argsort(ids)
            return order[np.searchsorted(ids, found, sorter=order)]
    place = dict(zip(nodes, range(len(nodes)), strict=True))
    return _numbers(map(place.__getitem__, given), count)


def _numbers(values: Iterable[int], count: int) -> np.ndarray:
    """int64[count] of so many values."""
    return np.fromiter(values, np.int64, count)


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
    # igraph has no arrays: lists of neighbours take as long as a tuple for each edge
    ends = _numbers(chain.from_iterable(graph.get_edgelist()), 2 * graph.ecount()).reshape(-1, 2)
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
