"""--devices auto: when a run takes a GPU, and what is said where it can't."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from planned import make

import gstream
from gstream.devices.gpu import driver
from gstream.engine import make_devices
from gstream.engine.engine import Engine
from gstream.options import auto_devices
from gstream.options.auto_devices import file_may_be_worth, gpus_there, is_worth_a_gpu
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from pagestore.errors import UsageError


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make(tmp_path_factory.mktemp("stores")) as made:
        yield made


@pytest.fixture
def two_gpus(tmp_path, monkeypatch):
    for name in ("0000:01:00.0", "0000:41:00.0"):
        (tmp_path / "gpus" / name).mkdir(parents=True)
    monkeypatch.setattr(auto_devices, "GPUS", tmp_path / "gpus")
    monkeypatch.delenv(auto_devices.VISIBLE, raising=False)


@pytest.fixture
def worth_it(two_gpus, monkeypatch):
    monkeypatch.setattr(make_devices, "is_worth_a_gpu", lambda *given: True)


@pytest.mark.parametrize(
    ("visible", "count"),
    [(None, 2), ("0", 1), ("1,0", 2), ("", 0), ("-1", 0), ("0,-1,1", 1), ("GPU-8932f937", 1), ("0,1,2", 2)],
)  # fmt: skip
def test_gpus_that_cuda_would_see(two_gpus, monkeypatch, visible, count):
    if visible is not None:
        monkeypatch.setenv(auto_devices.VISIBLE, visible)
    assert gpus_there() == count


def test_gpus_of_a_container_and_of_no_machine(tmp_path, monkeypatch):
    monkeypatch.delenv(auto_devices.VISIBLE, raising=False)
    monkeypatch.setattr(auto_devices, "GPUS", tmp_path / "none")
    monkeypatch.setattr(auto_devices, "DEVICE_FILES", tmp_path)
    assert gpus_there() == 0
    for name in ("nvidia0", "nvidia3", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert gpus_there() == 2


def test_what_is_worth_a_gpu(tmp_path):
    """The time of the cores against that of CUDA's start, which comes once a process."""
    assert not is_worth_a_gpu(400_000_000, 15, started=False) and is_worth_a_gpu(420_000_000, 15, started=False)
    assert is_worth_a_gpu(9_000_000, 15, started=True) and not is_worth_a_gpu(1_000_000, 15, started=True)
    assert is_worth_a_gpu(60_000_000, 2, started=False)
    sparse = tmp_path / "large.gs"
    with open(sparse, "wb") as file:
        os.truncate(file.fileno(), 4 << 30)
    assert file_may_be_worth(sparse, 16)
    assert not file_may_be_worth(tmp_path / "none.gs", 16) and not file_may_be_worth(__file__, 1)


def test_without_a_gpu_the_cores_do_it_and_nothing_is_noted(store, monkeypatch):
    monkeypatch.setattr(auto_devices, "GPUS", store.path)
    monkeypatch.setenv(auto_devices.VISIBLE, "")
    monkeypatch.setattr(make_devices, "is_worth_a_gpu", lambda *given: True)
    with gstream.open(store.path) as graph:
        assert "note" not in graph.bfs(3).summary


def test_small_work_starts_no_cuda(store, two_gpus, monkeypatch):
    monkeypatch.setattr(make_devices, "make_devices", lambda specs, options: [] if specs[0].kind == "cuda" else None)
    assert make_devices.first_gpu(RunOptions(), store.meta.edges) == ([], "")


def test_a_gpu_without_pycuda_is_noted(store, worth_it, monkeypatch):
    for name in ("pycuda", "pycuda.driver"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(driver, "cuda_version", lambda: "13.0")
    with gstream.open(store.path) as graph, gstream.open(store.path, devices="host") as cores:
        found = graph.bfs(3)
        assert "the GPU could not be used: pycuda can't be imported" in found.summary["note"]
        assert np.array_equal(found.to_numpy(), cores.bfs(3).to_numpy())


def test_auto_is_one_word(store):
    with Engine(store, RunOptions(devices="auto")) as engine:
        assert [device.name for device in engine.devices] == ["host:0"] and engine.cores is None
        assert engine.run(BFS(source=3)).converged
    with pytest.raises(UsageError, match="--devices auto: not a device"):
        Engine(store, RunOptions(devices=["auto", "host"]))
