"""Pulls that are begun before the totals of the superstep before are read: nobody can tell but by the clock."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

from gstream.engine.early_pull import EarlyPull
from gstream.engine.engine import Engine
from gstream.language.program import SUM, Program, f64
from gstream.options.run_options import RunOptions
from gstream.programs.pagerank import PageRank
from tests.fakes.device import FakeDevice

V, E = 2000, 20_000
DEVICES = [
    ["fake:3"],
    ["fake:5", "fake:6"],
    pytest.param(["cuda"], marks=needs_gxx),
    pytest.param(["cuda:0,2"], marks=needs_gxx),
]
pytestmark = pytest.mark.usefixtures("standin_gpu")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, 3)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, vertices=V) as made:
        yield made


@pytest.fixture
def begun(monkeypatch):
    """What became of pulls that were begun early: "used" or "in vain"."""
    found = []

    def noted(name, word):
        usual = getattr(EarlyPull, name)

        def call(path, *given):
            found.extend([word] * bool(path._begun))
            return usual(path, *given)

        monkeypatch.setattr(EarlyPull, name, call)

    noted("step", "used")
    noted("cancel", "in vain")
    return found


class Turns(Program):
    """Messages that know the superstep."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 1.0

    def send(self, u, e, g):
        return u.value / (1 + u.degree) + g.superstep

    def apply(self, v, got, g):
        return got / (1 + v.in_degree) + g.superstep


class Normed(Turns):
    """Messages that need a total of the superstep before."""

    totals = ("size",)

    def size(self, v):
        return v.value

    def send(self, u, e, g):
        return u.value / (1.0 + g.size)


def same_as_host(store, devices, program, supersteps):
    """(outcome, outcome of the host's cores), which agree but for the last bits."""
    with Engine(store) as engine:
        wanted = engine.run(program, max_supersteps=supersteps)
    with Engine(store, RunOptions(devices=devices)) as engine:
        for _ in range(2):  # what was begun in vain leaves nothing behind
            found = engine.run(program, max_supersteps=supersteps)
            np.testing.assert_allclose(found.value, wanted.value, rtol=1e-5)
            assert (found.supersteps, found.converged) == (wanted.supersteps, wanted.converged)
    return found, wanted


def figures(outcome):
    return [(step.direction, step.frontier, step.edges_visited) for step in outcome.stats.per_superstep]


@pytest.mark.parametrize("devices", DEVICES)
def test_figures_are_those_of_each_superstep(store, begun, devices):
    found, wanted = same_as_host(store, devices, PageRank(tolerance=0.0), 7)
    assert begun.count("used") >= 2 * 5 and "in vain" not in begun
    assert figures(found) == figures(wanted)
    assert len({step.pages for step in found.stats.per_superstep}) == 1
    assert found.stats.edges_visited == 7 * E


@pytest.mark.parametrize("devices", DEVICES)
def test_the_last_one_was_in_vain(store, begun, devices):
    """Where the totals end the run; none of it is counted."""
    found, wanted = same_as_host(store, devices, PageRank(tolerance=1e-3), None)
    assert wanted.converged and wanted.supersteps > 4
    assert begun.count("in vain") == 2
    assert figures(found) == figures(wanted)
    assert found.stats.edges_visited == wanted.supersteps * E
    stats = found.stats
    assert stats.cache_hits + stats.pages_moved == sum(step.pages for step in stats.per_superstep)


@pytest.mark.parametrize("devices", DEVICES)
def test_messages_know_their_superstep(store, begun, devices):
    same_as_host(store, devices, Turns(), 6)
    assert "used" in begun


@pytest.mark.parametrize("devices", DEVICES)
def test_messages_that_need_the_totals_wait_for_them(store, begun, devices):
    same_as_host(store, devices, Normed(), 6)
    assert not begun


def test_a_pull_may_be_late(store, begun, monkeypatch):
    """It is still to be done when the frontier is known, and what was asked before it is not touched by it."""
    late, usual = [], FakeDevice.frontier

    def frontier(device, *given):
        found = usual(device, *given)
        late.append("kernel" in device.queued)
        return found

    monkeypatch.setattr(FakeDevice, "frontier", frontier)
    same_as_host(store, ["fake:3"], PageRank(tolerance=0.0), 6)
    assert late.count(True) == begun.count("used") > 0


def test_pages_that_come_over_the_link_are_not_begun(store, begun):
    with Engine(store, RunOptions(devices=["fake:3"], cache="0")) as engine:
        engine.run(PageRank(tolerance=0.0), max_supersteps=5)
    assert not begun
