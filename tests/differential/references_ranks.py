"""Ranks, centralities and simulations, step by step in double precision: NumPy, nothing of gstream.

A `Walk` gives the values after any number of steps; values of steps that were made are kept. `errors` bounds what
double precision, or float32, may have made of a value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from nasty import Graph

EPS = 2.0**-52
SUMMED = 64 * EPS  # relative error of a sum, in any order


class Walk:
    """values: float64[V] after 0, 1, ... steps; change: L1 change of the last step, by steps."""

    def __init__(self, start: np.ndarray, step: Callable[[np.ndarray], np.ndarray]) -> None:
        self.values, self.changes, self._step = [start], [np.inf], step

    def after(self, steps: int) -> np.ndarray:
        """float64[V]."""
        while len(self.values) <= steps:
            with np.errstate(all="ignore"):
                self.values.append(self._step(self.values[-1]))
                self.changes.append(float(np.abs(self.values[-1] - self.values[-2]).sum()))
        return self.values[steps]

    def change(self, steps: int) -> float:
        """L1 change of step number `steps`."""
        self.after(steps)
        return self.changes[steps]


def gathered(graph: Graph, sent: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """float64[V]: sum of sent[u] (times the weight) over arcs u -> v."""
    source, target, _ = graph.arcs
    parts = sent[source] if weight is None else sent[source] * weight
    return summed(target, parts, graph.vertices)


def summed(places: np.ndarray, parts: np.ndarray, count: int) -> np.ndarray:
    """float64[count]: the sum of the parts at each place."""
    return np.bincount(places, parts, count).astype(np.float64)  # without any parts NumPy gives integers


def weights_of(graph: Graph, weighted: bool) -> np.ndarray:
    """float64[arcs]: weights, or 1."""
    return graph.arcs[2] if weighted else np.ones(len(graph.arcs[0]))


def pagerank(
    graph: Graph, alpha: float, personal: tuple[tuple[int, float], ...] | None, weighted: bool = False
) -> Walk:
    """Ranks that sum to 1; personal: (vertex, weight), where walks begin, and go on from a dead end."""
    return graph.known(
        ("pagerank", alpha, personal, weighted), lambda: _pagerank(graph, alpha, personal, weights_of(graph, weighted))
    )


def _pagerank(graph: Graph, alpha: float, personal: tuple[tuple[int, float], ...] | None, weight: np.ndarray) -> Walk:
    n, out = graph.vertices, summed(graph.arcs[0], weight, graph.vertices)
    home = np.full(n, 1 / max(1, n))
    if personal is not None:
        home = np.zeros(n)
        for v, number in personal:
            home[v] += number / sum(number for _, number in personal)
    share = np.divide(weight, out[graph.arcs[0]], out=np.zeros(len(weight)), where=weight > 0)

    def step(rank: np.ndarray) -> np.ndarray:
        return (1 - alpha) * home + alpha * (gathered(graph, rank, share) + rank[out == 0].sum() * home)

    return Walk(home, step)


def katz(graph: Graph, alpha: float, beta: float, weighted: bool = False) -> Walk:
    """beta + alpha times the sum over in-edges."""
    weight = weights_of(graph, weighted)
    return graph.known(
        ("katz", alpha, beta, weighted),
        lambda: Walk(np.zeros(graph.vertices), lambda x: beta + alpha * gathered(graph, x, weight)),
    )


def eigenvector(graph: Graph, weighted: bool = False) -> Walk:
    """(x + A^T x) / |x|."""
    weight = weights_of(graph, weighted)

    def step(x: np.ndarray) -> np.ndarray:
        return (x + gathered(graph, x, weight)) / (length(x) or 1.0)

    return graph.known(
        ("eigenvector", weighted), lambda: Walk(np.full(graph.vertices, 1 / max(1, graph.vertices)), step)
    )


def hits(graph: Graph, weighted: bool = False) -> Walk:
    """Hubs of sum 1 after so many rounds; see `authorities`."""

    def step(hub: np.ndarray) -> np.ndarray:
        return shares(hubs_of(graph, authorities(graph, hub, weighted), weighted))

    return graph.known(("hits", weighted), lambda: Walk(np.full(graph.vertices, 1 / max(1, graph.vertices)), step))


def authorities(graph: Graph, hub: np.ndarray, weighted: bool = False) -> np.ndarray:
    """Of sum 1, from hubs."""
    return shares(gathered(graph, hub, weights_of(graph, weighted)))


def hubs_of(graph: Graph, authority: np.ndarray, weighted: bool = False) -> np.ndarray:
    """Sums over out-edges."""
    source, target, _ = graph.arcs
    return summed(source, authority[target] * weights_of(graph, weighted), graph.vertices)


def shares(values: np.ndarray) -> np.ndarray:
    """Divided by their sum; zeros stay."""
    total = values.sum()
    return values / total if total else values


def length(values: np.ndarray) -> float:
    """L2, of numbers of any size; inf where one is not finite."""
    most = float(np.abs(values).max(initial=0.0))
    if not np.isfinite(most):
        return float("inf")
    return most * float(np.sqrt(np.square(values / most).sum())) if most else 0.0


def simulated(
    graph: Graph, what: str, initial: tuple[tuple[int, float], ...], iterations: int, rate: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """(float64[V] after so many steps of heat, circuit or neural; bounds of their errors)."""
    key = (what, initial, iterations, rate)
    return graph.known(key, lambda: _simulated(graph, what, initial, iterations, rate))


def _simulated(
    graph: Graph, what: str, initial: tuple[tuple[int, float], ...], iterations: int, rate: float | None
) -> tuple[np.ndarray, np.ndarray]:
    weight = graph.arcs[2]
    inflow = summed(graph.arcs[1], weight, graph.vertices)
    value, error = np.zeros(graph.vertices), np.zeros(graph.vertices)
    for v, number in initial:
        value[v] = number
    if what == "circuit":
        inflow[[v for v, _ in initial]] = 0
    if rate is None:
        rate = 1 / (float(inflow.max(initial=0.0)) or 1.0)
    step = {"heat": _heat, "circuit": _circuit, "neural": _neural}[what]
    with np.errstate(all="ignore"):
        for _ in range(iterations):
            got, sizes = gathered(graph, value, weight), gathered(graph, np.abs(value), np.abs(weight))
            off = gathered(graph, error, np.abs(weight)) + SUMMED * sizes
            value, error = step(value, error, got, off, inflow, rate)
    return value, error


def _heat(value: Any, error: Any, got: Any, off: Any, inflow: Any, rate: float) -> tuple[np.ndarray, np.ndarray]:
    held = inflow * np.abs(value)
    fresh = value + rate * (got - inflow * value)
    return fresh, error + rate * (off + inflow * error + SUMMED * held) + SUMMED * (np.abs(value) + rate * held)


def _circuit(value: Any, error: Any, got: Any, off: Any, inflow: Any, rate: float) -> tuple[np.ndarray, np.ndarray]:
    there = inflow != 0
    fresh = np.where(there, np.divide(got, inflow, where=there, out=np.zeros_like(got)), value)
    bound = np.where(there, np.divide(off, inflow, where=there, out=np.zeros_like(got)), error)
    return fresh, bound + SUMMED * np.abs(fresh)


def _neural(value: Any, error: Any, got: Any, off: Any, inflow: Any, rate: float) -> tuple[np.ndarray, np.ndarray]:
    fresh = np.tanh(got)
    return fresh, np.minimum(off, 2.0) + SUMMED * np.abs(fresh)
