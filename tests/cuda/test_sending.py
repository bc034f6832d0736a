"""What `apply` sends to all devices itself (gstream.devices.base.Exchange.attach): made ready once, and values
are there when asked for.
"""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges
from test_overlap import Normed, Turns

from gstream.devices.gpu.vertex_state import GpuState
from gstream.engine.engine import Engine
from gstream.language.program import SUM, Program, f32
from gstream.options.run_options import RunOptions
from gstream.programs.pagerank import PageRank
from tests.fakes.vertices import LateState

SENDERS, V, E, SUPERSTEPS = 20_000, 40_000, 60_000, 5
DEVICES = [
    ["fake:3"],
    ["fake:5", "fake:6", "fake:7"],
    pytest.param(["cuda"], marks=needs_gxx),
    pytest.param(["cuda:0,2"], marks=needs_gxx),
]
pytestmark = pytest.mark.usefixtures("standin_gpu")


class Halved(Program):
    """Messages of the value alone, and values of vertices without edges that change, too."""

    combine, value = SUM, f32

    def start(self, v, g):
        return v.id % 7

    def send(self, u, e, g):
        return u.value / 2

    def apply(self, v, got, g):
        return v.value / 4 + got % 64 + 1


class Weighted(Halved):
    """Messages that are another one along each edge."""

    def send(self, u, e, g):
        return u.value / (1 + e.weight)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """In degree order: half of the vertices, the last, have no edge."""
    source, target = skewed_edges(SENDERS, E, 3)
    weights = np.random.default_rng(5).integers(1, 9, E)
    folder = tmp_path_factory.mktemp("stores")
    with make_store(folder, source, target, weights, vertices=V, order="degree") as made:
        yield made


@pytest.fixture
def refreshed(monkeypatch):
    """How often each device made messages of all vertices."""
    counts: dict[str, int] = {}
    for kind in (LateState, GpuState):

        def call(state, part, kind=kind, usual=kind.refresh):
            name = f"cuda:{state.gpu.index}" if kind is GpuState else state._device.name
            counts[name] = counts.get(name, 0) + 1
            usual(state, part)

        monkeypatch.setattr(kind, "refresh", call)
    return counts


def same_as_host(store, program, devices):
    """Values after every superstep, and how many were active in each, are those of the host's cores."""
    seen, frontiers = {}, {}
    for names in (devices, ["host"]):
        seen[names[0]] = values = []
        with Engine(store, RunOptions(devices=names)) as engine:
            outcome = engine.run(program, SUPERSTEPS, watch=lambda _, now, __, values=values: values.append(now.copy()))
        frontiers[names[0]] = [step.frontier for step in outcome.stats.per_superstep]
    for mine, its in zip(seen[devices[0]], seen["host"], strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-5)
    assert frontiers[devices[0]] == frontiers["host"]


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("program", [PageRank(tolerance=0.0), Halved()], ids=lambda program: type(program).__name__)
def test_messages_are_made_ready_once(store, refreshed, devices, program):
    same_as_host(store, program, devices)
    assert set(refreshed.values()) == {1}


@needs_gxx
def test_gpus_that_do_not_reach_each_other_take_values(store, refreshed):
    same_as_host(store, Halved(), ["cuda:0,1"])
    assert refreshed == {"cuda:0": SUPERSTEPS, "cuda:1": SUPERSTEPS}


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("program", [Turns(), Normed()], ids=lambda program: type(program).__name__)
def test_messages_that_need_more_than_their_vertex_are_made_anew(store, refreshed, devices, program):
    same_as_host(store, program, devices)
    assert set(refreshed.values()) == {SUPERSTEPS}


@pytest.mark.long
@pytest.mark.parametrize("devices", DEVICES)
def test_messages_of_edges_are_not_made_ready(store, refreshed, devices):
    same_as_host(store, Weighted(), devices)
    assert refreshed == {}


@pytest.mark.parametrize("devices", DEVICES)
def test_a_checkpoint_has_what_every_device_has(store, tmp_path, devices):
    """Bits and values stay with their owners, until it is written."""
    options = RunOptions(devices=devices, checkpoint=tmp_path, checkpoint_every=1)
    with Engine(store, options) as engine:
        engine.run(Halved(), max_supersteps=2)
    with Engine(store, RunOptions(checkpoint=tmp_path, resume=True)) as engine:
        found = engine.run(Halved(), max_supersteps=4)
    with Engine(store) as engine:
        wanted = engine.run(Halved(), max_supersteps=4)
    np.testing.assert_allclose(found.value, wanted.value, rtol=1e-5)
    made, whole = ([step.frontier for step in outcome.stats.per_superstep] for outcome in (found, wanted))
    assert len(made) == 2 and made == whole[2:]
