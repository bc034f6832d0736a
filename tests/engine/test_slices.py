"""Several devices and vertices without edges: every superstep has every value."""

from __future__ import annotations

import numpy as np
import pytest
from engine_graphs import Least, make_store

from gstream import MIN, SUM, Program, f64, u32
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions

LINKED, V, E = 3_000, 20_000, 12_000  # the other vertices have no edge
DEVICES = {"hosts": ["host:3"], "fakes": ["fake:1:3"], "two fakes": ["fake:9:2"]}


class Growing(Program):
    """A sum without totals, whose values change where there is no edge, too."""

    combine, value = SUM, f64

    def start(self, v, g):
        return v.id % 5

    def send(self, u, e, g):
        return u.value

    def apply(self, v, got, g):
        return v.value + got % 1024 + 1


class Fading(Program):
    """A minimum with an apply of its own: values change in every superstep, wherever something came."""

    combine, value = MIN, u32

    def start(self, v, g):
        return v.id + 100

    def send(self, u, e, g):
        return u.value

    def apply(self, v, got, g):
        return min(v.value, got) // 2


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    random = np.random.default_rng(4)
    names = random.permutation(V)[:LINKED]  # the order by degree puts them first
    source, target = names[(LINKED * random.random((2, E)) ** 2).astype(np.int64)]
    with make_store(
        tmp_path_factory.mktemp("slices"), source, target, vertices=V, directed=False, order="degree"
    ) as made:
        yield made


def traced(store, program, devices):
    """Values after every superstep, in store order, and what ended the run."""
    seen = []
    with Engine(store, RunOptions(devices=devices)) as engine:
        outcome = engine.run(program, max_supersteps=12, watch=lambda _, values, __: seen.append(values.copy()))
        again = engine.run(program, max_supersteps=12)
    assert np.array_equal(outcome.value, seen[-1]) and np.array_equal(again.value, seen[-1])
    return seen


@pytest.mark.parametrize("devices", DEVICES.values(), ids=DEVICES)
@pytest.mark.parametrize("program", [Growing, Fading])
def test_every_superstep_has_every_value(store, program, devices):
    wanted, found = traced(store, program(), ["host"]), traced(store, program(), devices)
    assert len(wanted) == len(found) > 3
    for a, b in zip(wanted, found, strict=True):
        assert np.array_equal(a, b)
    assert program is not Growing or (wanted[-1][LINKED:] != wanted[0][LINKED:]).all()


@pytest.mark.parametrize("devices", DEVICES.values(), ids=DEVICES)
def test_values_that_change_in_place(store, devices):
    """How far they get in a superstep depends on the devices; what the last one has does not."""
    assert np.array_equal(traced(store, Least(), ["host"])[-1], traced(store, Least(), devices)[-1])
