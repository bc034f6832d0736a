"""Graphs, options and answers of the algorithms that are programs, or little more, for
the stand-in for CUDA's driver and, in tests/gpu, for GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import choice
import numpy as np
from engine_graphs import make_store, skewed_edges

import gstream

PAGE = 4096
WIDE = choice.few(4, 8)  # bytes of an ID in undirected graphs: all other kernels, which test_device.py has, too
ASKED: dict[str, dict[str, Any]] = {
    "rwr": {"source": [3, 5], "max_iter": 4, "float64": True},
    "katz": {"alpha": 0.01, "max_iter": 4},
    "eigenvector": {"max_iter": 4},
    "hits": {"max_iter": 2},
    "khop": {"source": 3, "radius": 2},
    "widest": {"source": 3},
    "closeness": {"k": 70},
    "harmonic": {"k": 3},
    "radius": {"sketches": 2},
    "hyperball": {"log2m": 4, "seed": 2},
    "heat": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
    "circuit": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
    "neural": {"initial": {3: 1.0, 8: -2.0}, "iterations": 3},
}
NAMES = (*ASKED, "degrees", "hcc", "levels")
KINDS = {  # of graphs, and who takes them
    "directed": tuple(name for name in NAMES if name not in ("hcc", "levels")),
    "undirected": tuple(name for name in NAMES if name != "levels"),
    "acyclic": ("levels", "hits"),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "streamed": {"cache": "0", "batch_bytes": 2 * PAGE, "streams": 2},
    "some cache": {"cache": "lru", "device_memory": 90_000, "batch_bytes": PAGE, "streams": 2},
    "by push": {"direction": "push"},
}
CHUNKED = {"device_memory": 400_000, "batch_bytes": PAGE, "streams": 1}  # WA of 20,000 vertices comes by chunks
BY_CHUNKS = {name for name in NAMES if name not in ("degrees", "khop", "hcc", "widest", "levels")}  # all that apply
TWO: dict[str, dict[str, Any]] = {
    "two": {"batch_bytes": 2 * PAGE},
    "two, streamed": {"cache": "0", "batch_bytes": 2 * PAGE, "streams": 1},
}
IN_PLACE = ("hcc", "widest")  # values may come further in a superstep


def make_path(folder: Path, kind: str, vertices: int, edges: int) -> str:
    """A weighted store with hubs, self-loops and repeated edges, or without cycles."""
    source, target = skewed_edges(vertices, edges, 51)
    if kind == "acyclic":
        keep = source != target
        source, target = np.minimum(source, target)[keep], np.maximum(source, target)[keep]
    weight = np.random.default_rng(52).integers(1, 9, len(source)).astype(np.float64)
    directed = kind != "undirected"
    with make_store(
        folder, source, target, weight, vertices=vertices, directed=directed, page_bytes=PAGE,
        id_bytes=4 if directed else WIDE,
    ) as store:  # fmt: skip
        return store.path


def make_paths(tmp_path_factory: Any, vertices: int, edges: int) -> dict[str, str]:
    """Path of a store of each kind."""
    return {kind: make_path(tmp_path_factory.mktemp("stores"), kind, vertices, edges) for kind in KINDS}


def check(graph: gstream.Graph, name: str, options: dict[str, Any]) -> Any:
    """The result of an algorithm with these options, whose values and supersteps are those of the host's cores."""
    own = ASKED.get(name, {})
    expected, found = graph.execute(name, own), graph.execute(name, own, **options)
    if name not in IN_PLACE:
        assert found.summary["supersteps"] == expected.summary["supersteps"], name
    mine, theirs = found.to_numpy(), expected.to_numpy()
    for column in expected.columns:
        np.testing.assert_allclose(mine[column], theirs[column], rtol=1e-10, atol=1e-15, err_msg=name)
    return found
