"""The object behind `networkx.backends`: functions by NetworkX's names, conversions both ways, and what can run.

nx.pagerank(G, backend="gstream")             converts G, and keeps it with G
nx.pagerank(gstream.open("web.gs"))           converts nothing
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx

from gstream.graph import Graph
from gstream.nx import centralities, communities, components, distances, halves, matrices, paths, structure
from gstream.nx.declare import BRIEF, FUNCTIONS, refused_here
from gstream.nx.expected import mark_failing
from gstream.nx.node_graph import NodeGraph, one_attribute

MODULES = (
    centralities,
    communities,
    components,
    distances,
    halves,
    matrices,
    paths,
    structure,
)  # importing them declares functions
FEWEST = 10_000  # edges from which NetworkX's automatic dispatch is worth a conversion


class Backend:
    """See the module."""

    def __init__(self) -> None:
        for name, known in FUNCTIONS.items():
            setattr(self, name, _checked(name, known.call))

    @staticmethod
    def convert_from_nx(
        graph: Any, *, edge_attrs: Any = None, node_attrs: Any = None, preserve_edge_attrs: Any = False,
        preserve_node_attrs: Any = False, preserve_graph_attrs: Any = False, name: str | None = None,
        graph_name: str | None = None,
    ) -> Any:  # fmt: skip
        """A graph of NetworkX in memory or in a temporary store; one that is gstream's stays. Raises
        LeftToNetworkXError: it has no nodes, or weights that no store has."""
        if isinstance(graph, (NodeGraph, Graph)):
            return graph
        attribute, default = one_attribute(edge_attrs)
        return NodeGraph.converted(graph, attribute, default)

    @staticmethod
    def convert_to_nx(found: Any, *, name: str | None = None) -> Any:
        """A graph in NetworkX; other results as they are. Raises LeftToNetworkXError: it is too large."""
        if isinstance(found, (NodeGraph, Graph)):
            return NodeGraph.of(found).to_networkx()
        return found

    @staticmethod
    def can_run(name: str, args: Any, kwargs: Any) -> bool | str:
        """True, or why NetworkX has to do it."""
        return FUNCTIONS[name].can_run(args, kwargs)

    @staticmethod
    def on_start_tests(items: list[Any]) -> None:
        """What NetworkX's own suite asks before it begins."""
        mark_failing(items)

    @staticmethod
    def should_run(name: str, args: Any, kwargs: Any) -> bool | str:
        """Whether a conversion pays where NetworkX chooses backends by itself."""
        if FUNCTIONS[name].brief:
            return BRIEF
        graph = args[0] if args else next(iter(kwargs.values()))
        if isinstance(graph, nx.Graph) and graph.number_of_edges() < FEWEST:
            return f"fewer than {FEWEST:,} edges"
        return True


def _checked(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    known = FUNCTIONS[name]

    def checked(*args: Any, **kwargs: Any) -> Any:
        refused_here(known, args, kwargs)
        return call(*args, **kwargs)

    checked.__name__, checked.__doc__ = name, call.__doc__
    return checked


backend = Backend()
