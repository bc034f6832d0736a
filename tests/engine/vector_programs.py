"""Programs whose values are vectors, and what they come to, by plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

PROGRAMS = """
class Counters(Program):
    combine, value = MAX, u8[64]
    def start(self, v, g, i): return (v.id * 31 + i * 7) % 53
    def send(self, u, e, g, i): return u.value[i]

class Nearest(Program):
    combine, value = MIN, u32[2]
    def start(self, v, g, i): return i if v.id == 5 + 2 * i else INF
    def send(self, u, e, g, i): return u.value[i] + e.weight

class Diffusion(Program):
    combine, value = SUM, f32[3]
    def start(self, v, g, i): return 1 + v.id % (2 + i)
    def send(self, u, e, g, i): return u.value[i] / u.degree
    def apply(self, v, got, g, i): return 0.5 * got[i] + 0.25 * v.value[(i + 1) % 3] + v.in_degree
    def activate(self, v, i): return abs(v.value[i] - v.before[i]) > 0.01 * v.value[0]
    @total
    def moved(self, v, i): return abs(v.value[i] - v.before[i])

class Crossed(Program):
    combine, value, backward = SUM, i64[2], True
    def start(self, v, g, i): return v.id % 3 - i
    def send(self, u, e, g, i): return u.value[1] + e.weight if i == 0 else 2 * u.value[0]

class Sets(Program):
    combine, value = OR, u32[5]
    def start(self, v, g, i): return 2 ** 7 if v.id % 11 == i else i
    def send(self, u, e, g, i): return u.value[i]
    @total
    def grown(self, v, i): return v.value[i] - v.before[i]
"""
MORE = ("Crossed", "Sets")  # left to the rest: kernels of their own


@dataclass
class Edges:
    """source[i] -> target[i] with weight[i], uint8; degrees float64."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    vertices: int

    def combined(self, ufunc: Any, none: Any, sent: np.ndarray, backward: bool = False) -> np.ndarray:
        """What every vertex gets of sent[edges, length], `none` without messages."""
        got = np.full((self.vertices, sent.shape[1]), none, sent.dtype)
        ufunc.at(got, self.source if backward else self.target, sent)
        return got


def firsts(name: str, vertices: int) -> np.ndarray:
    """First values, as `start` has them."""
    v, i = np.arange(vertices)[:, None], np.arange({"Counters": 64, "Diffusion": 3, "Sets": 5}.get(name, 2))
    if name == "Counters":
        return ((v * 31 + i * 7) % 53).astype(np.uint8)
    if name == "Nearest":
        return np.where(v == 5 + 2 * i, i, 2**32 - 1).astype(np.uint32)
    if name == "Diffusion":
        return (1 + v % (2 + i)).astype(np.float32)
    return np.where(v % 11 == i, 2**7, i).astype(np.uint32) if name == "Sets" else (v % 3 - i).astype(np.int64)


def stepped(name: str, edges: Edges, value: np.ndarray) -> np.ndarray:
    """Values after a superstep in which every vertex sends: of MIN, MAX and OR those that send again change nothing."""
    out = np.bincount(edges.source, minlength=edges.vertices)[:, None]
    into = np.bincount(edges.target, minlength=edges.vertices)[:, None]
    there = value[edges.source]
    if name == "Counters":
        return np.maximum(value, edges.combined(np.maximum, 0, there))
    if name == "Sets":
        return value | edges.combined(np.bitwise_or, 0, there)
    if name == "Nearest":
        none = 2**32 - 1
        sent = np.where(there == none, none, there.astype(np.int64) + edges.weight[:, None])
        return np.minimum(value, edges.combined(np.minimum, none, sent)).astype(np.uint32)
    if name == "Crossed":
        there = value[edges.target]
        sent = np.stack([there[:, 1] + edges.weight, 2 * there[:, 0]], axis=1)
        return edges.combined(np.add, 0, sent, backward=True)
    got = edges.combined(np.add, 0.0, (value / np.maximum(out, 1)).astype(np.float32)[edges.source].astype(np.float64))
    fresh = (0.5 * got + 0.25 * np.roll(value, -1, axis=1).astype(np.float64) + into).astype(np.float32)
    return np.where(np.abs(fresh - value) > np.float32(0.01) * fresh[:, :1], fresh, value)


def expected_of(name: str, edges: Edges, steps: int) -> tuple[np.ndarray, dict[str, float]]:
    """(values, totals) after so many supersteps, by plain NumPy."""
    value = before = firsts(name, edges.vertices)
    for _ in range(steps):
        value, before = stepped(name, edges, value), value
    moved = np.abs(value.astype(np.float64) - before).sum()
    return value, {"Diffusion": {"moved": moved}, "Sets": {"grown": moved}}.get(name, {})


def check(name: str, found: Any, expected: tuple[np.ndarray, dict[str, float]]) -> None:
    value, totals = expected
    assert found.value.dtype == value.dtype and found.value.shape == value.shape
    if name == "Diffusion":
        np.testing.assert_allclose(found.value, value, rtol=1e-5)
    else:
        assert np.array_equal(found.value, value)
    assert found.totals == pytest.approx(totals, rel=1e-4)
