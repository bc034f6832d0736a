"""What a list in host memory costs is measured by a kernel, once; without nvcc the default stands."""

from __future__ import annotations

import numpy as np
import pytest
import standin
from compilers import needs_gxx

from gstream import measure
from gstream.cudacode.generate import Unit
from gstream.devices import cuda, gpuprobe
from gstream.devices.cuda import Gpu
from pagestore.errors import DeviceMissingError

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(gpuprobe, "PIN_BYTES", 1 << 16)
    monkeypatch.setattr(gpuprobe, "COPY_BYTES", 1 << 12)
    monkeypatch.setattr(gpuprobe, "WHOLE_BYTES", 1 << 14)
    monkeypatch.setattr(gpuprobe, "LISTS", 100)
    monkeypatch.setattr(gpuprobe, "ROUNDS", 2)


def test_lists_are_read(monkeypatch):
    """100 lists of a slot, a size and 8 words, each 1, by 8 lanes: all read a slot's and a size's word too."""
    sums, usual = [], Gpu.empty

    def empty(gpu, count, dtype):
        array = usual(gpu, count, dtype)
        gpu.fill(array, 0, gpu.stream())
        sums.append(array)
        return array

    monkeypatch.setattr(Gpu, "empty", empty)
    gpu = Gpu(0)
    freed = cuda.Array.free
    totals = []

    def free(array):
        if array in sums:
            totals.append(int(gpu.read(array.address, np.zeros(1, np.uint64), gpu.stream())[0]))
        freed(array)

    monkeypatch.setattr(cuda.Array, "free", free)
    seconds = gpuprobe.list_seconds(gpu)
    assert seconds is not None and seconds > 0
    assert totals[0] % (100 * 16) == 0 and totals[0] >= 2 * 100 * 16  # warmed up, and measured at least once
    assert not standin.PINNED


def test_the_cost_of_a_list_is_kept(tmp_path, monkeypatch):
    found = measure.gpu_constants([Gpu(0)], tmp_path)
    monkeypatch.setattr(gpuprobe, "list_seconds", None)  # not called again
    assert measure.gpu_constants([Gpu(0)], tmp_path).list_s == found.list_s > 0


def test_without_nvcc_the_default_stands(tmp_path, monkeypatch):
    def refuse(unit, architecture):
        raise DeviceMissingError("no nvcc")

    monkeypatch.setattr(Unit, "compile", refuse)
    monkeypatch.setattr(cuda, "_LOADED", {})  # the tests before have the kernel compiled
    found = measure.gpu_constants([Gpu(0)], tmp_path)
    assert found.list_s == type(found)().list_s and found.c2 != type(found)().c2


def test_gpus_that_read_no_host_memory_are_not_asked(monkeypatch):
    monkeypatch.setattr(Gpu, "_uses_host_addresses", lambda gpu: False)
    assert gpuprobe.list_seconds(Gpu(0)) is None
