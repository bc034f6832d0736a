"""Numbers of communities, the quality of a partition, and hashes of seeds."""

from __future__ import annotations

import math

import numpy as np


def quality(inner: np.ndarray, strength: np.ndarray, side: np.ndarray, resolution: float) -> float:
    """The modularity. inner: float64[V], weights at each vertex that lead to its own community; nan without any."""
    twice = float(strength.sum())
    if not twice:
        return math.nan
    total = np.bincount(side, strength)
    return float(inner.sum()) / twice - resolution * float(np.square(total / twice).sum())


def numbered(label: np.ndarray, without: np.ndarray | None = None) -> tuple[np.ndarray, int]:
    """(labels below V as 0, 1, 2, ... in their order; how many there are). without: vertices whose labels nobody else
    has, and which get no number: some other's stands there."""
    there = np.zeros(len(label) + 1, label.dtype)
    there[1:][label] = 1
    if without is not None:
        there[1:][label[without]] = 0
    np.cumsum(there, out=there)
    number, count = there[:-1][label], int(there[-1])
    if without is not None and len(without):
        number[without] = 0
    return number, count


def salted(salt: int, number: int) -> int:
    """A hash of both."""
    return int(mixed(mixed(np.array([salt], np.uint64)) + np.uint64(number))[0])


def mixed(x: np.ndarray) -> np.ndarray:
    """Hashes of u8[n] (the finisher of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = x * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
