"""Messages that read degrees, pulled chunk by chunk: senders lie in all chunks."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

from gstream import MAX, SUM, Program, f64
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions

V, E, CHUNK = 17_000, 40_000, 8192


class Shares(Program):
    """Integers, so that sums in any order have the same bits."""

    combine, value = SUM, f64

    def start(self, v, g):
        return v.id % 7

    def send(self, u, e, g):
        return u.value + u.degree * e.weight


class Highest(Program):
    """A value is used in the step after the one that made it."""

    combine, value = MAX, f64

    def start(self, v, g):
        return v.id % 100

    def send(self, u, e, g):
        return u.value - u.degree

    def apply(self, v, got, g):
        return max(v.value, got - 1)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, 41)
    weight = np.random.default_rng(42).integers(1, 9, E).astype(np.float64)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V) as made:
        yield made


@pytest.mark.parametrize("devices", ["host", "host:2", "fake:1", "fake:1:2"])
@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("program", [Shares, *choice.also(Highest)])
def test_degrees_of_senders_in_other_chunks(store, devices, program, direction):
    with Engine(store) as engine:
        expected = engine.run(program(), 3)
    with Engine(store, RunOptions(devices=[devices], direction=direction, chunk_vertices=CHUNK)) as engine:
        found = engine.run(program(), 3)
    assert found.stats.chunks == 3
    assert np.array_equal(found.value, expected.value)
