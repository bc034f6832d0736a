"""What a list in host memory and an edge cost is measured by kernels, once; without nvcc the defaults stand."""

from __future__ import annotations

import json

import numpy as np
import pytest
import standin
from compilers import needs_gxx

from gstream.cudacode.generate import Unit
from gstream.devices.gpu import driver as cuda
from gstream.devices.gpu import probe as gpuprobe
from gstream.devices.gpu.driver import Gpu
from gstream.planning import calibration as measure
from pagestore.errors import DeviceMissingError

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(gpuprobe, "PIN_BYTES", 1 << 16)
    monkeypatch.setattr(gpuprobe, "COPY_BYTES", 1 << 12)
    monkeypatch.setattr(gpuprobe, "WHOLE_BYTES", 1 << 14)
    monkeypatch.setattr(gpuprobe, "ROUNDS", 2)


@pytest.fixture
def freed(monkeypatch):
    """Arrays that were zero when they were taken, as they were given back."""
    taken, left, usual, free = [], [], Gpu.empty, cuda.Array.free

    def empty(gpu, count, dtype, again=False):
        array = usual(gpu, count, dtype, again)
        gpu.write(array.address, np.zeros(array.nbytes, np.uint8))
        taken.append(array)
        return array

    def give_back(array):
        if array in taken:
            gpu = Gpu(0)
            left.append(gpu.read(array.address, np.zeros(array.count, array.dtype), gpu.stream()))
        free(array)

    monkeypatch.setattr(Gpu, "empty", empty)
    monkeypatch.setattr(cuda.Array, "free", give_back)
    return left


def test_lists_are_read(freed):
    """Lists of a slot, a size and 8 words, each 1, by 8 lanes: all read a slot's and a size's word too."""
    seconds = gpuprobe.list_seconds(Gpu(0))
    assert seconds is not None and seconds > 0
    (total,) = freed
    words = 16 * gpuprobe.LISTS
    assert total[0] % words == 0 and total[0] >= 2 * words  # warmed up, and measured at least once
    assert not standin.PINNED


def test_edges_are_gathered_and_scattered(freed):
    """Both go over all edges, at least twice; the sums of a push are what a pull then sums up."""
    rates = gpuprobe.kernel_rates(Gpu(0))
    assert set(rates) == {"pull_edges", "push_edges", "memory"} and min(rates.values()) > 0
    total, sums, targets = freed[:3]
    times = np.bincount(targets, minlength=gpuprobe.TARGETS)
    assert len(targets) == times.sum() == gpuprobe.EDGES and total[0] == 0
    rounds = sums.view(np.float32) / times
    assert rounds[0] >= 2 and (rounds == rounds[0]).all()
    assert [len(array) for array in freed[3:]] == [gpuprobe.LARGE_BYTES] * 2


def test_a_pull_sums_the_values_of_its_sources():
    gpu = Gpu(0)
    kernels, random = gpuprobe._kernels(gpu), np.random.default_rng(2)
    targets, values = random.integers(0, 50, 3000, dtype=np.uint32), random.integers(0, 1 << 32, 50, dtype=np.uint32)
    with gpu:
        arrays = [gpu.upload(array) for array in (targets, values, np.zeros(1, np.uint64))]
        where = [array.address for array in arrays]
        kernels["gather_edges_kernel"](gpu.stream(), 3, where[0], 3000, where[1], where[2])
        standin.WORK.drain()
        total = gpu.fetch(where[2], 1, np.uint64, gpu.stream())
        for array in arrays:
            array.free()
    assert total[0] == values[targets].astype(np.uint64).sum()


def test_the_cost_of_a_list_is_kept(tmp_path, monkeypatch):
    found = measure.gpu_constants([Gpu(0)], tmp_path)
    usual = type(found)()
    assert found.list_s > 0 and all(getattr(found, name) != getattr(usual, name) for name in measure.KERNELS)
    monkeypatch.setattr(gpuprobe, "list_seconds", None)  # not called again
    monkeypatch.setattr(gpuprobe, "kernel_rates", None)
    assert measure.gpu_constants([Gpu(0)], tmp_path) == found


def test_what_runs_taught_is_not_measured_over(tmp_path):
    found = measure.gpu_constants([Gpu(0)], tmp_path)
    measure.learn(Gpu(0).name, [("pull_edges", 16 * found.pull_edges)], tmp_path)
    (path,) = tmp_path.iterdir()
    known = json.loads(path.read_text())
    del known["memory"]  # as an older gstream left it
    path.write_text(json.dumps(known))
    again = measure.gpu_constants([Gpu(0)], tmp_path)
    assert again.pull_edges == pytest.approx(2 * found.pull_edges) and again.push_edges == found.push_edges


def test_without_nvcc_the_default_stands(tmp_path, monkeypatch):
    def refuse(unit, architecture):
        raise DeviceMissingError("no nvcc")

    monkeypatch.setattr(Unit, "compile", refuse)
    monkeypatch.setattr(cuda, "_LOADED", {})  # the tests before have the kernel compiled
    found = measure.gpu_constants([Gpu(0)], tmp_path)
    usual = type(found)()
    assert found.list_s == usual.list_s and found.pull_edges == usual.pull_edges and found.c2 != usual.c2


def test_gpus_that_read_no_host_memory_are_not_asked(monkeypatch):
    monkeypatch.setattr(Gpu, "_uses_host_addresses", lambda gpu: False)
    assert gpuprobe.list_seconds(Gpu(0)) is None
