"""Communities of large modularity, and the modularity of any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np
from networkx.algorithms.community.quality import NotAPartition

from gstream.nx.declare import function
from gstream.nx.node_graph import NodeGraph, column

MOST_SEED = 1 << 32
LEVELS = 32  # more than any graph has


def _seed(given: Any) -> int:
    """A number that a seed of NetworkX's stands for: an integer itself, else what a generator draws."""
    if isinstance(given, int) and 0 <= given < MOST_SEED:
        return given
    return int(nx.utils.create_py_random_state(given).randrange(MOST_SEED))


def _communities(
    G: NodeGraph, name: str, weight: Any, resolution: float, max_level: int | None, seed: Any
) -> list[set]:
    if max_level is not None and max_level <= 0:
        raise ValueError("max_level argument must be a positive integer or None")
    own = {"weighted": G.weighs(weight), "resolution": resolution, "seed": _seed(seed)}
    found = column(G.graph.execute(name, own | {"max_levels": max_level or LEVELS}), "community")
    names, side = np.unique(found, return_inverse=True)
    parts: list[set] = [set() for _ in names]
    for node, number in zip(G.nodes, side.tolist(), strict=True):
        parts[number].add(node)
    return parts


@function(directed=False, multigraph=True, weight="weight", reads=True, threshold=0.0000001)
def louvain_communities(
    G: NodeGraph, weight: Any = "weight", resolution: float = 1, threshold: float = 0.0000001,
    max_level: int | None = None, seed: Any = None,
) -> list[set]:  # fmt: skip
    return _communities(G, "louvain", weight, resolution, max_level, seed)


@function(directed=False, multigraph=True, weight="weight", reads=True, metric="modularity", theta=0.01)
def leiden_communities(
    G: NodeGraph, weight: Any = "weight", resolution: float = 1, max_level: int | None = None, seed: Any = None,
    metric: str = "modularity", theta: float = 0.01,
) -> list[set]:  # fmt: skip
    return _communities(G, "leiden", weight, resolution, max_level, seed)


@function(multigraph=True, weight="weight", reads=True)
def modularity(G: NodeGraph, communities: Iterable[Any], weight: Any = "weight", resolution: float = 1) -> float:
    parts = communities if isinstance(communities, list) else list(communities)
    place = {node: number for number, part in enumerate(parts) for node in part if node in G}
    if len(place) != len(G) or sum(map(len, parts)) != len(G):
        raise NotAPartition(G, parts)
    partition = {G.vertex(node): number for node, number in place.items()}
    found = G.graph.modularity(partition, G.weighs(weight), float(resolution)).summary["modularity"]
    if np.isnan(found):
        raise ZeroDivisionError("division by zero")
    return found
