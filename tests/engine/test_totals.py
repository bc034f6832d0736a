"""Totals of programs whose messages are combined in place: nothing is applied, and the sums are of the values."""

from __future__ import annotations

import numpy as np
import pytest
from engine_graphs import Labels, make_store, skewed_edges
from oracle import interpret

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions

V, E = 20_000, 50_000
WAYS = {
    "host": {},
    "hosts": {"devices": ["host:3"]},
    "chunks": {"chunk_vertices": 8192, "direction": "push"},
    "fakes": {"devices": ["fake:4:2"]},
    "fakes by chunks": {"devices": ["fake:5:2"], "chunk_vertices": 8192, "direction": "push", "batch_bytes": 1 << 15},
    "pull alone": {"direction": "pull"},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, seed=4)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, vertices=V) as made:
        made.told = interpret(Labels(), V, source, target)
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_totals_are_those_of_the_values(store, way):
    with Engine(store, RunOptions(**WAYS[way])) as engine:
        plan = engine.plan(Labels())
        assert plan.unit == 8192, "whole blocks of totals"
        found = engine.run(Labels())
        first = engine.run(Labels(), max_supersteps=1)
        stopped = engine.run(Labels(enough=first.totals["labels"]))
    assert np.array_equal(found.value, store.told.values) and found.converged
    assert found.totals == store.told.totals
    for each in (found, first):
        assert each.totals == {"labels": each.value.sum(dtype=np.float64), "own": (each.value == np.arange(V)).sum()}
    assert stopped.totals["labels"] <= first.totals["labels"]
    assert stopped.converged and stopped.supersteps < found.supersteps, "it ended as it was told to"
