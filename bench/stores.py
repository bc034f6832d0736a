"""The measured stores, converted from the same arrays that the peers get; kept under bench/scratch/GRAPH/.

A store is made anew when any file of pagestore/ is newer, so that no figure comes from an older page format.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.graphs import BLOCK, Graph, edge_weights
from bench.machine import ROOT

ORDERS = ("natural", "degree")


def newest_source() -> float:
    """Time stamp of the newest file of pagestore/."""
    return max(path.stat().st_mtime for path in (ROOT / "pagestore").rglob("*.py"))


def kron(graph: Graph, order: str, weighted: bool = False) -> Path:
    """Path of the undirected store (no duplicates, no self-loops) in one vertex order, with weights 1..255 or none."""
    import pagestore

    path = graph.folder / f"kron-{order}{'-weighted' if weighted else ''}.gs"
    if not path.exists() or path.stat().st_mtime < newest_source():
        path.unlink(missing_ok=True)
        source, target = graph.edges[:, 0], graph.edges[:, 1]
        pagestore.convert_arrays(
            path,
            source,
            target,
            weights_of(graph) if weighted else None,
            directed=False,
            vertices=graph.vertices,
            order=order,
            dedupe=True,
            drop_self_loops=True,
        )
    return path


def weights_of(graph: Graph) -> np.ndarray:
    """u1[edges]: weights 1..255 of the edges as generated."""
    weights = np.empty(len(graph.edges), dtype=np.uint8)
    for first in range(0, len(weights), BLOCK):
        part = slice(first, first + BLOCK)
        weights[part] = edge_weights(graph.edges[part, 0], graph.edges[part, 1])
    return weights


def mixed_sum(source: np.ndarray, target: np.ndarray) -> int:
    """Sum over edges, modulo 2^64, of a hash of (source, target): equal for equal multisets of edges, in any order."""
    keys = source.astype(np.uint64) << np.uint64(32) | target.astype(np.uint64)
    keys *= np.uint64(0x9E3779B97F4A7C15)
    keys ^= keys >> np.uint64(32)
    keys *= np.uint64(0xD6E8FEB86659FD93)
    keys ^= keys >> np.uint64(29)
    return int(keys.sum(dtype=np.uint64))


def input_sum(edges: np.ndarray) -> int:
    """`mixed_sum` of all rows of edges u4[n, 2]."""
    total = 0
    for first in range(0, len(edges), BLOCK):
        part = edges[first : first + BLOCK]
        total += mixed_sum(part[:, 0], part[:, 1])
    return total % (1 << 64)
