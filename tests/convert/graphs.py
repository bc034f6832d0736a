"""What the conversion tests share: graphs as arrays, and a store read back to edges in the user's IDs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pagestore import open_store
from pagestore.verify import verify
from tests.decoded import decode_edges

Rows = list[tuple[int, int, float]]


@dataclass
class Graph:
    """Edges source[i] -> target[i] (user IDs), with weights or None."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None

    def rows(self, directed: bool = True, dedupe: bool = False, drop_self_loops: bool = False) -> Rows:
        """Sorted (source, target, weight) that a store must hold, one row a stored edge."""
        weight = np.ones(len(self.source)) if self.weight is None else self.weight.astype(np.float64)
        rows = list(zip(self.source.tolist(), self.target.tolist(), weight.tolist(), strict=True))
        if not directed:
            rows += [(t, s, w) for s, t, w in rows if s != t]
        if drop_self_loops:
            rows = [row for row in rows if row[0] != row[1]]
        rows.sort()
        if dedupe:
            least: dict[tuple[int, int], float] = {}
            for s, t, w in rows:
                least.setdefault((s, t), w)
            rows = [(s, t, w) for (s, t), w in least.items()]
        return rows


def skewed(edges: int, vertices: int, seed: int = 1) -> Graph:
    """A graph with a few large hubs, duplicates, self-loops and gaps; weights with many repeats."""
    rng = np.random.default_rng(seed)
    source = (rng.random(edges) ** 6 * vertices).astype(np.int64) * 3
    target = (rng.random(edges) ** 2 * vertices).astype(np.int64) * 3
    return Graph(source, target, rng.integers(0, 5, edges) / 4)


def stored_rows(path: Path, topology: str = "out") -> Rows:
    """All edges of a topology as sorted (source, target, weight) in user IDs; in-lists are turned back."""
    with open_store(path) as store:
        near, far, weight = decode_edges(store.topology(topology))
        names = user_ids(store)
        turned = topology == "in" and store.meta.directed
    weights = np.ones(len(near)) if weight is None else weight.astype(np.float64)
    source, target = (far, near) if turned else (near, far)
    return sorted(zip(names[source].tolist(), names[target].tolist(), weights.tolist(), strict=True))


def user_ids(store) -> np.ndarray:
    """User ID of every store ID."""
    count = store.meta.vertices
    natural = np.asarray(store.natural_of(np.arange(count)), np.int64)
    return np.asarray(store.user_ids(0, count), np.int64)[natural]


def check_store(path: Path) -> None:
    """Every page, every array and their agreement, by the full scrub."""
    report = verify(str(path))
    assert report.ok, report
