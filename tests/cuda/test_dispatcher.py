"""Cores beside GPUs, over the stand-in: any order of who takes which pages gives the answers of the cores alone."""

from __future__ import annotations

import choice
import pytest
import standin
from compilers import needs_gxx
from planned import PROGRAMS, make
from shared_steps import check_shared, draw_dispatchers, expected_of, shared_options

import gstream
from gstream.devices.gpu import driver
from gstream.engine import make_devices
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.planning import planner
from gstream.programs.wcc import WCC

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
SHARED = PROGRAMS | {"WCC": WCC()}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make(tmp_path_factory.mktemp("stores")) as made:
        yield made


@pytest.fixture(scope="module")
def expected(store):
    return {name: expected_of(store, program) for name, program in SHARED.items()}


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["host,cuda:0", "host,cuda:0,2", "host,cuda:0,1"], ids=["one", "reach", "apart"])
@pytest.mark.parametrize("program", SHARED)
@shared_options
def test_any_order_gives_the_same_answers(store, expected, program, devices, options, monkeypatch):
    draw_dispatchers(monkeypatch, f"{program} {devices} {options}")
    monkeypatch.setattr(planner, "idle_cores", lambda *given: "")
    with Engine(store, RunOptions(devices=[devices], **options)) as engine:
        taken = check_shared(engine, SHARED[program], expected[program])
    assert taken > 0 or options.get("dispatch") == "fixed"  # a frontier of one page has no share for the cores


@pytest.mark.parametrize("seed", choice.seeds(4, range(30)))
def test_schedules(store, expected, seed, monkeypatch):
    draw_dispatchers(monkeypatch, seed)
    monkeypatch.setattr(planner, "idle_cores", lambda *given: "")
    name = sorted(SHARED)[seed % len(SHARED)]
    devices = ("host,cuda:0", "host,cuda:0,2", "host,cuda:0,1")[seed % 3]
    options = RunOptions(devices=[devices], cache=("auto", "0")[seed % 2], streams=1 + seed % 5)
    with Engine(store, options) as engine:
        check_shared(engine, SHARED[name], expected[name])


def test_the_cores_have_a_thread_of_their_own(store, expected):
    """As runs of users do: two threads at once, and times that decide."""
    for dispatch in ("auto", "fixed"):
        for name, program in SHARED.items():
            with Engine(store, RunOptions(devices=["host,cuda:0"], cache="0", dispatch=dispatch)) as engine:
                check_shared(engine, program, expected[name])


@pytest.fixture
def a_gpu(monkeypatch):
    monkeypatch.setattr(make_devices, "gpus_there", lambda: 1)
    monkeypatch.setattr(make_devices, "is_worth_a_gpu", lambda *given: True)


def test_auto_takes_a_gpu_and_the_cores(store, expected, a_gpu):
    with Engine(store) as engine:
        assert [device.name for device in engine.devices] == ["cuda:0"] and engine.cores is not None
        check_shared(engine, SHARED["BFS"], expected["BFS"])


@pytest.mark.parametrize("trouble", ["busy", "full", "broken"])
def test_auto_goes_on_without_a_gpu_that_can_not_be_used(store, a_gpu, monkeypatch, trouble):
    """Memory that others have taken, before and after the context is there; a GPU that fails at once."""
    if trouble == "full":
        monkeypatch.setattr(standin, "MEMORY_BYTES", 1 << 20)
    else:
        error = standin.MemoryError("out of memory") if trouble == "busy" else standin.Error("unspecified failure")

        def fail(device):
            raise error

        driver._primary_context.cache_clear()
        monkeypatch.setattr(standin.Device, "retain_primary_context", fail)
    with gstream.open(store.path) as graph:
        found = graph.bfs(3)
    driver._primary_context.cache_clear()
    assert found.summary["note"].startswith("the host's cores did the work, as the GPU could not be used: cuda:0 (")
