"""Calls of every algorithm that keeps checkpoints, on small graphs; and what they are held against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from engine_graphs import make_store, skewed_edges

V, E, CHAIN, SIZE = 260, 1500, 50, 13  # of each clique
NEAR = {7: 3.0, 20: -1.0}
LISTED = list(range(40))
# name: (graph, algorithm, its options, options of its runs)
CALLS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "bfs": ("directed", "bfs", {"source": 7}, {}),
    "khop": ("directed", "khop", {"source": 7, "radius": 3, "undirected": True}, {}),
    "sssp": ("directed", "sssp", {"source": 7}, {}),
    "widest": ("directed", "widest", {"source": 7}, {}),
    "pagerank": ("directed", "pagerank", {}, {}),
    "pagerank, weighted": ("directed", "pagerank", {"weighted": True}, {}),
    "rwr": ("directed", "rwr", {"source": 7}, {}),
    "rwr, weighted": ("directed", "rwr", {"source": 7, "weighted": True}, {}),
    "katz": ("directed", "katz", {"alpha": 0.001}, {}),
    "katz, weighted": ("directed", "katz", {"alpha": 1e-5, "weighted": True}, {}),
    "eigenvector": ("directed", "eigenvector", {}, {}),
    "eigenvector, weighted": ("directed", "eigenvector", {"weighted": True}, {}),
    "hits, weighted": ("directed", "hits", {"weighted": True}, {}),
    "hits": ("directed", "hits", {"normalized": False}, {}),
    "heat": ("directed", "heat", {"initial": NEAR}, {}),
    "circuit": ("directed", "circuit", {"initial": NEAR}, {}),
    "neural": ("directed", "neural", {"initial": NEAR}, {}),
    "mis": ("directed", "mis", {}, {}),
    "coloring": ("directed", "coloring", {}, {}),
    "cdlp": ("directed", "cdlp", {}, {}),
    "kcore": ("directed", "kcore", {}, {}),
    "kcore, undirected": ("undirected", "kcore", {"k": 3}, {}),
    "ktruss": ("undirected", "ktruss", {}, {}),
    "triangles": ("undirected", "triangles", {}, {}),
    "lcc": ("directed", "lcc", {}, {}),
    "lcc, weighted": ("once", "lcc", {"weighted": True}, {}),
    "wcc": ("cliques", "wcc", {}, {}),
    "wcc, without heads": ("undirected", "wcc", {}, {"use_heads": False}),
    "hcc": ("undirected", "hcc", {}, {}),
    "scc": ("directed", "scc", {}, {}),
    "msf": ("undirected", "msf", {}, {}),
    "levels": ("acyclic", "levels", {"weighted": True}, {}),
    "closeness": ("directed", "closeness", {"k": 150}, {}),
    "harmonic": ("directed", "harmonic", {"k": 70, "seed": 3}, {}),
    "betweenness": ("undirected", "betweenness", {"k": 2, "seed": 1}, {}),
    "closeness, weighted": ("directed", "closeness", {"k": 9, "weighted": True}, {}),
    "harmonic, weighted": ("directed", "harmonic", {"k": 9, "seed": 3, "weighted": True}, {}),
    "betweenness, weighted": ("undirected", "betweenness", {"k": 4, "seed": 1, "weighted": True}, {}),
    "radius": ("directed", "radius", {"sketches": 4}, {}),
    "hyperball": ("directed", "hyperball", {}, {}),
    "subgraph": ("directed", "subgraph", {"nodes": LISTED}, {}),
    "egonet": ("directed", "egonet", {"source": 7, "radius": 2}, {}),
    "egonet, weighted": ("directed", "egonet", {"source": 7, "radius": 40, "weighted": True}, {}),
    "cross": ("directed", "cross", {"nodes": LISTED}, {}),
}


def make_graphs(folder: Path, vertices: int = V, edges: int = E) -> dict[str, str]:
    """Paths of stores: edges of hubs, with a chain at their end, so that there are many rounds. Cliques, whose lists
    heads don't hold."""
    source, target = skewed_edges(vertices - CHAIN, edges, seed=3)
    chain = np.arange(vertices - CHAIN - 1, vertices - 1)
    source, target = np.concatenate([source, chain]), np.concatenate([target, chain + 1])
    weight = np.random.default_rng(4).integers(1, 60, len(source)).astype(np.float64)
    low, high, apart = np.minimum(source, target), np.maximum(source, target), source != target
    once = np.unique(low * vertices + high, return_index=True)[1]
    given = {
        "directed": (source, target, weight, {}), "undirected": (source, target, weight, {"directed": False}),
        "acyclic": (low[apart], high[apart], weight[apart], {}),
        "once": (low[once], high[once], weight[once], {"directed": False}),
    }  # fmt: skip
    cliques = np.stack(np.nonzero(np.kron(np.eye(vertices // SIZE), 1 - np.eye(SIZE))))
    given["cliques"] = *np.concatenate([cliques, [chain, chain + 1]], axis=1), np.ones(len(chain) + len(cliques[0])), {}
    found = {}
    for name, (ends, others, weights, options) in given.items():
        with make_store(folder / name, ends, others, weights, vertices=vertices, **options) as store:
            found[name] = store.path
    return found


def check_same(found: Any, expected: Any, exact: bool) -> None:
    """The same answer; floats, where not `exact`, up to the order in which they are added up."""
    one, other = found.to_numpy(), expected.to_numpy()
    if exact:
        assert one.tobytes() == other.tobytes()
        return
    assert one.dtype == other.dtype and len(one) == len(other)
    for name in one.dtype.names:
        if one[name].dtype.kind == "f":
            np.testing.assert_allclose(one[name], other[name], rtol=1e-5, atol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)
