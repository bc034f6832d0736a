"""How a function of NetworkX is declared, and when it may run here: `can_run` says True, or why not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from gstream.nx.left_out import LeftToNetworkXError
from gstream.nx.node_graph import NodeGraph

F = Callable[..., Any]
Rule = Callable[[dict[str, Any]], bool | str]
PATHS = "NetworkX chooses among equally short paths by the order of its adjacencies"
BRIEF = "NetworkX answers sooner than a graph is converted"
FUNCTIONS: dict[str, Function] = {}  # by NetworkX's names, of the modules that were imported


@dataclass(frozen=True)
class Function:
    """call: given a NodeGraph first. directed: True or False where it takes one kind alone. multigraph: parallel edges
    change nothing. ours: why only a graph of gstream's own has its answer ("": any has). brief: NetworkX answers sooner
    than a graph is converted. weight: the parameter that names the weights; reads: whether they are read, at least 0.
    fixed: values that parameters must have. rule: what else it asks of its arguments."""

    name: str
    call: F
    signature: inspect.Signature
    directed: bool | None
    multigraph: bool
    ours: str
    brief: bool
    weight: str | None
    reads: bool
    fixed: dict[str, Any]
    rule: Rule | None

    def can_run(self, args: Any, kwargs: Any) -> bool | str:
        """True, or why NetworkX has to do it."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            return str(error)
        bound.apply_defaults()
        given = bound.arguments
        graph = next(iter(given.values()))
        converted = not isinstance(graph, NodeGraph) and getattr(graph, "__networkx_backend__", "") != "gstream"
        if self.ours and converted:
            return self.ours
        if self.directed is not None and graph.is_directed() != self.directed:
            return f"only {'directed' if self.directed else 'undirected'} graphs"
        if not self.multigraph and graph.is_multigraph():
            return "no multigraphs"
        if not len(graph):
            return "the graph has no nodes"
        for name, value in self.fixed.items():
            if given[name] is not value and given[name] != value:
                return f"{name}={given[name]!r} is NetworkX's"
        reason = unread(graph, given[self.weight], self.reads) if self.weight else ""
        return reason or (self.rule(given) if self.rule else True)


def unread(graph: Any, attribute: Any, reads: bool = True, negative: bool = False) -> str:
    """Why the weights of an edge attribute can't be read here, None being no attribute; "" if they can.

    negative: whether they may be below 0.
    """
    if attribute is None:
        return ""
    if not isinstance(attribute, str):
        return "the weight is no name of an edge attribute"
    if isinstance(graph, NodeGraph) or hasattr(graph, "store"):
        known = NodeGraph.of(graph).weight
        if known is not None and known != attribute:
            return f"the graph's weights are called {known}"
        return "weights are not read" if known is not None and not reads else ""
    values = [value for _, _, value in graph.edges(data=attribute) if value is not None]
    if not values:
        return ""
    if not reads:
        return "" if all(value == 1 for value in values) else "weights are not read"
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if not numbers or not (np.isfinite(values).all() if negative else min(values) >= 0):
        return "weights are finite numbers" if negative else "weights are numbers of at least 0"
    exact = all(isinstance(value, int) or value == float(np.float32(value)) for value in values)
    return "" if exact else "weights are kept in float32, which does not hold all of these"


def weightless(given: dict[str, Any]) -> bool | str:
    """A rule: no weights are asked for, as another definition is meant then."""
    return given["weight"] is None or "weights are not read"


def function(
    *, directed: bool | None = None, multigraph: bool = False, ours: str = "", brief: bool = False,
    weight: str | None = None, reads: bool = False, rule: Rule | None = None, name: str | None = None, **fixed: Any,
) -> Callable[[F], F]:  # fmt: skip
    """Declare a function of NetworkX; fixed: parameters that must have these values. See Function."""

    def declared(call: F) -> F:
        @wraps(call)
        def called(G: Any, *args: Any, **kwargs: Any) -> Any:
            return call(NodeGraph.of(G), *args, **kwargs)

        named = name or call.__name__
        FUNCTIONS[named] = Function(
            named, called, inspect.signature(call), directed, multigraph, ours, brief, weight, reads, fixed, rule
        )
        return called

    return declared


def refused_here(checked: Function, args: Any, kwargs: Any) -> None:
    """Raise LeftToNetworkXError where a graph of our own is given what only NetworkX does."""
    reason = checked.can_run(args, kwargs)
    if reason is not True:
        raise LeftToNetworkXError(f"{checked.name}: {reason}. Graph.to_networkx() makes a graph of NetworkX.")
