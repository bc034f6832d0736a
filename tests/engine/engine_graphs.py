"""Small graphs as stores, and answers by plain NumPy, for the engine's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gstream import MIN, SUM, Program, f64, total, u32
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.telemetry.stats import RunOutcome
from pagestore.memory import convert_arrays
from pagestore.planning import PagePlanner
from pagestore.store import Store, open_store


def skewed_edges(vertices: int, edges: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """source, target: int64[edges]; endpoints crowd at low numbers, so that some lists need large pages."""
    random = np.random.default_rng(seed)
    ends = (vertices * random.random((2, edges)) ** 3).astype(np.int64)
    return ends[0], ends[1]


def make_store(
    folder: Path, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None, **options: Any
) -> Store:
    """An open store of the edges, with small pages unless `page_bytes` says otherwise.

    These hold few groups, so `columns` may waste a quarter of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"graph{len(list(folder.iterdir()))}.gs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PagePlanner, "waste", 4)
        convert_arrays(path, source, target, weight, **{"page_bytes": 4096, "memory_bytes": 1 << 28, **options})
    return open_store(path)


class Least(Program):
    """The least vertex that reaches v."""

    combine, value = MIN, u32
    bias: int = 0

    def start(self, v, g):
        return v.id + self.bias

    def send(self, u, e, g):
        return u.value


class Labels(Least):
    """The same with totals; it ends as soon as the labels add up to no more than `enough`."""

    enough: float = -1.0

    @total
    def labels(self, v):
        return v.value

    @total
    def own(self, v):
        return 1 if v.value == v.id else 0

    def halt(self, g):
        return g.labels <= self.enough


class InDegree(Program):
    """The number of in-edges: it starts with 0, which is SUM's identity."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 0.0

    def send(self, u, e, g):
        return 1.0


class Balance(Program):
    """A sum with a message that reads the edge, in integers, so that any order gives the same bits."""

    combine, value = SUM, f64

    def start(self, v, g):
        return v.id % 7

    def send(self, u, e, g):
        return u.value + e.weight

    @total
    def all(self, v):
        return v.value


def run_program(store: Any, program: Any, options: RunOptions | None = None) -> RunOutcome:
    """One run on an engine of its own."""
    with Engine(store, options) as engine:
        return engine.run(program)


def both_ways(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both directions of undirected edges, a self-loop once."""
    loop = source == target
    return np.concatenate([source, target[~loop]]), np.concatenate([target, source[~loop]])


def levels(vertices: int, source: np.ndarray, target: np.ndarray, roots: list[int]) -> np.ndarray:
    """uint32[V]: fewest edges from the nearest root, 2^32-1 where there is no path."""
    none = np.uint32(2**32 - 1)
    level = np.full(vertices, none, dtype=np.uint32)
    level[roots] = 0
    depth = 0
    while True:
        reached = target[(level[source] == depth) & (level[target] == none)]
        if len(reached) == 0:
            return level
        depth += 1
        level[reached] = depth


def distances(vertices: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray, root: int) -> np.ndarray:
    """float32[V]: least total weight, added in float32 along each path as the engine adds it (Bellman-Ford)."""
    found = np.full(vertices, np.inf, dtype=np.float32)
    found[root] = 0
    while True:
        before = found.copy()
        np.minimum.at(found, target, before[source] + weight.astype(np.float32))
        if np.array_equal(before, found):
            return found


def ranks(vertices: int, source: np.ndarray, target: np.ndarray, steps: int, damping: float = 0.85) -> np.ndarray:
    """float64[V]: PageRank after `steps` iterations, rank of vertices without out-edges spread over all."""
    degree = np.bincount(source, minlength=vertices)
    rank = np.full(vertices, 1 / vertices)
    for _ in range(steps):
        adrift = rank[degree == 0].sum()
        sent = np.where(degree > 0, rank / np.maximum(degree, 1), 0)
        got = np.bincount(target, weights=sent[source], minlength=vertices)
        rank = (1 - damping) / vertices + damping * (got + adrift / vertices)
    return rank
