"""One GPU does what two would take longer for."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from planned import PROGRAMS, make

from gstream.engine import engine as engine_module
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.planning.cost_equations import GpuConstants
from gstream.planning.cost_model import is_faster_alone

pytestmark = needs_gxx


class TwoGpus(Engine):
    constants = GpuConstants()

    def measure(self):
        return self.constants


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make(tmp_path_factory.mktemp("stores")) as made:
        yield made


@pytest.fixture(autouse=True)
def decided(standin_gpu, monkeypatch):
    monkeypatch.setattr(engine_module, "is_faster_alone", is_faster_alone)


def test_one_gpu_makes_short_supersteps_alone(store):
    """Kernels so slow that two are worth it, and as they are; an engine turns from one to the other."""
    slow = GpuConstants(push_edges=1e4, pull_edges=1e4)
    with Engine(store) as engine:
        expected = {name: engine.run(program, 6).value for name, program in PROGRAMS.items()}
    with TwoGpus(store, RunOptions(devices=["cuda:0,2"])) as engine:
        for constants in (GpuConstants(), slow, GpuConstants()):
            engine.constants = constants
            for name, program in PROGRAMS.items():
                plan, found = engine.plan(program), engine.run(program, 6)
                assert plan.devices == found.stats.devices == (2 if constants is slow else 1), name
                assert plan.spared == 2 - plan.devices
                np.testing.assert_allclose(found.value, expected[name], rtol=1e-5)


def test_two_gpus_stream_what_one_does_not_hold(store):
    for options in ({"cache": "0"}, {"device_memory": 500_000}):
        with TwoGpus(store, RunOptions(devices=["cuda:0,2"], **options)) as engine:
            assert all(engine.plan(program).devices == 2 for program in PROGRAMS.values())
