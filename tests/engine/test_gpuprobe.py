"""Measuring GPUs, with stand-ins for them: what is asked of a GPU, and that everything taken is given back."""

from __future__ import annotations

import json
import sys

import pytest
from standin_gpu import StandInGpu

from gstream.devices.gpu import driver as cuda
from gstream.devices.gpu import probe as gpuprobe
from pagestore.errors import DeviceMissingError, GstreamError


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(gpuprobe, "PIN_BYTES", 8 << 20)
    monkeypatch.setattr(gpuprobe, "COPY_BYTES", 1 << 20)
    monkeypatch.setattr(gpuprobe, "WHOLE_BYTES", 4 << 20)


def test_all_figures_are_measured_and_everything_is_freed():
    gpu = StandInGpu()
    found = gpuprobe.probe(gpu)
    assert all(value > 0 for value in vars(found).values())
    assert (gpu.held, gpu.pinned, gpu.entered) == (0, 0, 0)
    assert gpu.calls["write"] <= (gpuprobe.ROUNDS + 1) * (8 + gpuprobe.CALLS)
    assert gpu.calls["synchronize"] > gpu.calls["write"] / gpuprobe.CALLS  # what is in flight is bounded


@pytest.mark.parametrize("call", ["pin", "empty", "stream", "event", "write", "read", "synchronize"])
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_probe_that_fails_frees_everything(call, turn):
    gpu = StandInGpu(fails=call, turn=turn)
    if turn > 1 and call in ("empty", "stream", "event") or (call, turn) == ("pin", 3):
        gpuprobe.probe(gpu)  # it never comes to that
    else:
        with pytest.raises(GstreamError, match=f"{call} failed"):
            gpuprobe.probe(gpu)
    assert (gpu.held, gpu.pinned, gpu.entered) == (0, 0, 0)


def test_slow_links_take_fewer_rounds(monkeypatch):
    gpu = StandInGpu()
    gpuprobe.probe(gpu)
    quick = gpu.calls["write"]
    monkeypatch.setattr(gpuprobe, "PART_SECONDS", -1.0)
    gpuprobe.probe(gpu)
    assert gpu.calls["write"] - quick == 2 * (8 + gpuprobe.CALLS)  # to warm up, and once


def test_peers():
    gpu, other, far = StandInGpu(0, reached=(1,)), StandInGpu(1, reached=(0,)), StandInGpu(2)
    assert gpuprobe.peer_rate(gpu, other) > 0
    assert gpuprobe.peer_rate(gpu, far) is None
    assert gpu.calls["copy"] > 1 and far.calls["empty"] == 0
    broken = StandInGpu(1, reached=(0,), fails="copy")
    with pytest.raises(GstreamError):
        gpuprobe.peer_rate(broken, gpu)
    assert [(g.held, g.entered) for g in (gpu, other, far, broken)] == [(0, 0)] * 4


def told(monkeypatch, capsys, gpus):
    """What `main` prints of GPUs, as objects."""
    listed = [{"name": gpu.name, "memory": 1 << 30, "capability": "9.0", "reaches": list(gpu.reached)} for gpu in gpus]
    monkeypatch.setattr(gpuprobe, "cuda_version", lambda: "13.0")
    monkeypatch.setattr(gpuprobe, "found", lambda: listed)
    monkeypatch.setattr(gpuprobe, "Gpu", gpus.__getitem__)
    gpuprobe.main()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_what_is_known_is_printed_as_it_comes(monkeypatch, capsys):
    gpus = [StandInGpu(0, reached=(2,)), StandInGpu(1, fails="pin"), StandInGpu(2, reached=(0,))]
    lines = told(monkeypatch, capsys, gpus)
    assert lines[0] == {"cuda": "13.0"}
    assert [line["gpu"] for line in lines[1:]] == [0, 1, 2, 0, 1, 2, 0, 2]
    assert lines[1]["name"] == "Stand-in 1" and lines[1]["reaches"] == [2]
    assert set(lines[4]) == {"gpu", "pin_rate", "to_device", "from_device", "call_s"}
    assert lines[5] == {"gpu": 1, "error": "pin failed"}
    assert list(lines[7]["peer_rates"]) == ["2"] and list(lines[8]["peer_rates"]) == ["0"]


def test_a_driver_that_fails_is_a_line(monkeypatch, capsys):
    def found():
        raise DeviceMissingError("no GPU: install one") from RuntimeError("cuInit failed:\nno device")

    monkeypatch.setattr(gpuprobe, "found", found)
    gpuprobe.main()
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"error": "cuInit failed: no device"}


def test_without_pycuda_it_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pycuda", None)
    gpuprobe.main()
    first, last = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert "cuda" in first and last["error"].startswith("pycuda can't be imported: ")


class Driver:
    """Of pycuda.driver what `found` takes: two GPUs, the first of which reaches the second."""

    class Error(Exception):
        pass

    class Device:
        lost = False

        def __init__(self, number):
            self.number = number

        @staticmethod
        def count():
            return 2

        def name(self):
            return f"GPU {self.number}"

        def total_memory(self):
            if self.lost:
                raise Driver.Error("cuDeviceTotalMem failed: device is lost")
            return 1 << 34

        def compute_capability(self):
            return 12, 1

        def can_access_peer(self, other):
            return other.number > self.number


def test_gpus_are_found_without_taking_them_up(monkeypatch):
    monkeypatch.setattr(cuda, "driver", lambda: Driver)
    first, second = cuda.found()
    assert first == {"name": "GPU 0", "memory": 1 << 34, "capability": "12.1", "reaches": [1]}
    assert second["reaches"] == []
    monkeypatch.setattr(Driver.Device, "lost", True)
    with pytest.raises(cuda.DeviceError, match="device is lost"):
        cuda.found()


@pytest.mark.parametrize(("number", "status", "version"), [(13000, 0, "13.0"), (12080, 0, "12.8"), (12080, 100, None)])
def test_the_drivers_cuda(monkeypatch, number, status, version):
    class Library:
        def cuDriverGetVersion(self, out):
            out._obj.value = number
            return status

    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda name: Library())
    assert cuda.cuda_version() == version


@pytest.mark.parametrize(("version", "told"), [(None, "has no NVIDIA driver"), ("13.0", "pycuda can't be imported")])
def test_what_is_missing_is_told(monkeypatch, version, told):
    for name in ("pycuda", "pycuda.driver"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(cuda, "cuda_version", lambda: version)
    with pytest.raises(DeviceMissingError, match=told):
        cuda.driver()
