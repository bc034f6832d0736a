"""A graph as NetworkX's functions see it: nodes of any kind, and the store that answers for them.

nodes:        "a"   (2, 3)   7       in NetworkX's order
IDs in store:  0       1     2
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from gstream.graph import Graph
from gstream.interop.graphs import networkx_edges
from gstream.interop.options import split_options
from gstream.interop.storing import graph_of, in_memory
from gstream.nx.left_out import LeftToNetworkXError
from pagestore.errors import InputError, UsageError
from pagestore.inmemory import convert_in_memory
from pagestore.memory import ArraySource

if TYPE_CHECKING:
    from gstream.results.result import Result

MOST_EDGES = 10_000_000  # of a graph that becomes NetworkX's, which takes some 500 bytes for each


class NodeGraph:
    """A store with the nodes of a graph of NetworkX, or with its own vertices as nodes (`of` an open Graph).

    weight: the edge attribute that its weights are of; None where it has none. whole: all weights are integers, so
    sums of them are.
    """

    __networkx_backend__ = "gstream"

    def __init__(
        self, graph: Graph, nodes: list[Any] | None = None, multigraph: bool | None = None, weight: str | None = None,
        whole: bool = False,
    ) -> None:  # fmt: skip
        self.graph, self.weight, self.whole = graph, weight, whole
        self._nodes, self._places = nodes, None if nodes is None else {node: at for at, node in enumerate(nodes)}
        self._multigraph = graph.is_multigraph() if multigraph is None else multigraph

    @classmethod
    def of(cls, graph: Any) -> NodeGraph:
        """What a function of NetworkX is given: one of these, or an open Graph with its own vertices."""
        if isinstance(graph, cls):
            return graph
        meta = graph.store.meta
        whole = meta.weighted and np.dtype(meta.weight_dtype).kind != "f"
        return cls(graph, weight="weight" if meta.weighted else None, whole=whole)

    @classmethod
    def converted(cls, graph: Any, attribute: str | None, default: Any) -> NodeGraph:
        """A graph of NetworkX, with the weights that an edge attribute has, or `default` where it is missing.

        Raises LeftToNetworkXError for weights that no store holds, and for a graph without nodes.
        """
        if not len(graph):
            raise LeftToNetworkXError("gstream has no graph without nodes.")
        try:
            nodes, source, target, given = networkx_edges(graph, attribute)
            if given is not None and default is not None and default != 1:
                given = [value for _, _, value in graph.edges(data=attribute, default=default)]
            weights = None if given is None else np.array(given)
        except (UsageError, ValueError) as error:  # ValueError: of lists as weights
            raise LeftToNetworkXError(str(error)) from error
        if weights is not None and (weights.dtype.kind not in "iuf" or not np.isfinite(weights).all()):
            raise LeftToNetworkXError(f"{attribute}: gstream's weights are finite numbers.")
        options, _ = split_options({"directed": graph.is_directed()})
        try:
            edges = ArraySource(source, target, weights, vertices=len(nodes), name="NetworkX's graph")
            if in_memory(edges) is not None:  # one thread begins sooner than several
                made = Graph(convert_in_memory(edges, options)[0], threads=1)
            else:
                made = graph_of(edges, None, options, {})
        except (InputError, UsageError) as error:
            raise LeftToNetworkXError(str(error)) from error
        weight = attribute if weights is not None else None
        whole = weights is not None and weights.dtype.kind in "iu"
        return cls(made, nodes, graph.is_multigraph(), weight, whole)

    def weighs(self, attribute: str | None) -> bool:
        """Whether a function that reads this edge attribute (None: none) has the store's weights to read."""
        return attribute is not None and self.weight == attribute

    def __len__(self) -> int:
        return len(self.graph)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.graph if self._nodes is None else self._nodes)

    def __contains__(self, node: Any) -> bool:
        try:
            return node in (self.graph if self._places is None else self._places)
        except TypeError:  # no hash
            return False

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.graph.is_directed()

    def is_multigraph(self) -> bool:
        """Whether edges may be parallel."""
        return self._multigraph

    def number_of_nodes(self) -> int:
        """Nodes."""
        return len(self)

    def number_of_edges(self) -> int:
        """Edges; an undirected one once."""
        return self.graph.number_of_edges()

    @property
    def nodes(self) -> list[Any]:
        """All nodes, in the order of the rows of answers."""
        if self._nodes is None:
            self._nodes = list(self.graph)
        return self._nodes

    @property
    def self_loops(self) -> int:
        """Edges from a node to itself."""
        return self.graph.store.meta.self_loops

    def vertex(self, node: Any, error: type[Exception] = nx.NodeNotFound, text: str = "Node {} is not in G") -> Any:
        """The store's ID of a node. Raises `error` with NetworkX's text where it is none."""
        if node not in self:
            raise error(text.format(node))
        return node if self._places is None else self._places[node]

    def node(self, vertex: Any) -> Any:
        """The node of an ID in the store."""
        return vertex if self._places is None else self.nodes[vertex]

    def nodes_of(self, rows: np.ndarray) -> list[Any]:
        """Nodes of the rows of an answer: int64[n]."""
        nodes = self.nodes
        return [nodes[row] for row in rows.tolist()]

    def by_node(self, values: np.ndarray | Iterable[Any]) -> dict[Any, Any]:
        """{node: value} of one value a row."""
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        return dict(zip(self.nodes, plain, strict=True))

    def neighbors(self, node: Any) -> Iterator[Any]:
        """The nodes that edges of a node lead to."""
        found = self.graph.neighbors(self.vertex(node))
        return (self.node(vertex) for vertex in (found.tolist() if isinstance(found, np.ndarray) else found))

    def degrees(self, direction: str = "both") -> np.ndarray:
        """int64[n]: edges at each node, by row; an undirected self-loop counts twice, as in NetworkX."""
        store, count = self.graph.store, len(self)
        names = ("out", "in") if direction == "both" and self.is_directed() else (direction,)
        found = np.zeros(count, np.int64)
        for name in names:
            found += (store.in_degree if name == "in" else store.out_degree)(0, count).astype(np.int64)
        found = found if store.meta.order == "natural" else found[store.store_ids(0, count)]
        if not self.is_directed() and self.self_loops:
            for source, target in self.edge_rows():
                np.add.at(found, source[source == target], 1)
        return found

    def edge_rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of the ends of all edges, int64[k] each, batch after batch; an undirected edge comes once."""
        store = self.graph.store
        for batch in self.graph.edges(weights=False):
            if self._places is not None:  # the store's IDs are rows
                source, target = (part.to_numpy(zero_copy_only=False).astype(np.int64) for part in batch.columns)
            else:
                ends = (store.lookup(part.to_pylist(), "vertex") for part in batch.columns)
                source, target = (store.natural_of(part).astype(np.int64) for part in ends)
            yield source, target

    def to_networkx(self) -> nx.Graph:
        """The same graph in NetworkX. Raises LeftToNetworkXError where it has more than MOST_EDGES edges."""
        if self.number_of_edges() > MOST_EDGES:
            raise LeftToNetworkXError(
                f"gstream's graph has {self.number_of_edges():,} edges; NetworkX would take some 500 bytes for each. "
                f"Graphs of up to {MOST_EDGES:,} become NetworkX's; Graph.to_networkx(limit=N) makes any."
            )
        kind = ("Multi" if self.is_multigraph() else "") + ("DiGraph" if self.is_directed() else "Graph")
        made = getattr(nx, kind)()
        made.add_nodes_from(self)
        for batch in self.graph.edges(weights=self.weight is not None):
            for source, target, *value in zip(*(one.to_pylist() for one in batch.columns), strict=True):
                attributes = {self.weight: value[0]} if self.weight is not None else {}
                made.add_edge(self.node(source), self.node(target), **attributes)
        return made


def column(result: Result, name: str | None = None) -> np.ndarray:
    """One column of an answer by row: "none" is -1 in integers, inf in floats."""
    table = result.to_numpy()
    return table[name or result.columns[1]]


def one_attribute(edge_attrs: Any) -> tuple[str | None, Any]:
    """(the edge attribute that a function of NetworkX reads, what an edge without it has)."""
    if not isinstance(edge_attrs, Mapping) or not edge_attrs:
        return None, None
    return next(iter(edge_attrs.items()))
