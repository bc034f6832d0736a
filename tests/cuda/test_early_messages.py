"""Messages that GPUs make before the totals of the superstep before are known: only where `send` reads none of them."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

from gstream.devices.gpustate import GpuState
from gstream.driver import Engine
from gstream.options import RunOptions
from gstream.program import SUM, Program, f64, total
from gstream.programs.pagerank import PageRank

V, E, SUPERSTEPS = 2000, 12_000, 6


class Steady(Program):
    """Values that spread, whatever they come to."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 1.0

    def send(self, u, e, g):
        return u.value * 0.25


class ByTime(Steady):
    """What is sent depends on when."""

    def send(self, u, e, g):
        return u.value / (1 + g.superstep)


class ByTotal(Steady):
    """What is sent depends on what all values came to."""

    @total
    def everything(self, v):
        return v.value

    def send(self, u, e, g):
        return u.value / (1.0 + g.everything)


PROGRAMS = {
    "steady": (Steady(), True),
    "by time": (ByTime(), False),
    "by total": (ByTotal(), False),
    "pagerank": (PageRank(tolerance=0.0), True),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, 3)
    weight = np.ones(E)
    with make_store(tmp_path_factory.mktemp("early"), source, target, weight, vertices=V, directed=True) as made:
        yield made


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
def test_values_are_the_hosts(store, monkeypatch, name, devices):
    program, early = PROGRAMS[name]
    order, frontier, refresh = [], GpuState.frontier, GpuState.refresh
    monkeypatch.setattr(GpuState, "frontier", lambda *given: (order.append("look"), frontier(*given))[1])
    monkeypatch.setattr(GpuState, "refresh", lambda *given: (order.append("messages"), refresh(*given))[1])
    with Engine(store) as engine:
        wanted = engine.run(program, max_supersteps=SUPERSTEPS).value
    with Engine(store, RunOptions(devices=[devices], direction="pull")) as engine:
        found = engine.run(program, max_supersteps=SUPERSTEPS).value
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    made = ["messages"] * len(devices.split(","))
    if early:  # and none after the last superstep
        assert order == ["look", *made, *[*made, "look"] * (SUPERSTEPS - 1), "look"]
    else:
        assert order == ["look", *[*made, "look"] * SUPERSTEPS]
