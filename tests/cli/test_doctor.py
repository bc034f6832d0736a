"""`gstream doctor`: what it says of GPUs that are there, missing, failing or hanging. None is needed."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import pytest

from gstream.cli import doctor, gpus
from gstream.cudacode import toolkit
from tests.cli.command import Command

ONE = {"gpu": 0, "name": "NVIDIA H200", "memory": 150_000_000_000, "capability": "9.0", "reaches": [1]}
TWO = {**ONE, "gpu": 1, "reaches": [0]}
RATES = {"pin_rate": 4.5e10, "to_device": 5.5e10, "from_device": 5.4e10, "call_s": 4.12e-6}


def says(*lines: object, then: str = "") -> tuple[str, ...]:
    """A command that prints lines, as JSON unless they are text, and goes on with Python code."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    return (sys.executable, "-S", "-c", f"import sys, time; print({text!r}, end='', flush=True); {then}")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as PATH, for programs of a machine that has headers; no disk is measured, nothing compiled."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    for name in (*toolkit.HOMES, *toolkit.INCLUDES, "NVCC_CCBIN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(toolkit, "USUAL_HOMES", (str(tmp_path),))
    monkeypatch.setattr(toolkit, "SYSTEM_INCLUDE", str(tmp_path))
    (tmp_path / "include").mkdir()
    for name in ("cuda.h", "curand.h", "Python.h"):
        (tmp_path / "include" / name).touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / name))
    put(folder, "g++", "")
    monkeypatch.setattr(doctor, "PROBE_BYTES", 1 << 20)
    monkeypatch.setattr(doctor, "PROBE_BLOCK_BYTES", 1 << 20)
    monkeypatch.setattr(doctor, "compiler", lambda: {"works": True, "processor": "here"})
    monkeypatch.setattr(gpus, "PROBE", says({"cuda": None}, {"error": "nothing here"}))
    return folder


def put(folder: Path, name: str, script: str) -> None:
    """A program of the machine, in sh."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


SMI = """
case "$1" in
    *compute_cap*) echo '580.159.03, 143771, 9.0, NVIDIA H200';;
    *) exit 2;;
esac
"""


def have_pycuda(monkeypatch: pytest.MonkeyPatch, known: str | None) -> None:
    version = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: known if name == "pycuda" else version(name))


def test_two_gpus(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    have_pycuda(monkeypatch, "2026.1")
    put(machine, "nvidia-smi", SMI)
    put(machine, "nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    peers = [{"gpu": 0, "peer_rates": {"1": 3.96e11}}, {"gpu": 1, "peer_rates": {"0": 3.9e11}}]
    rates = [{"gpu": number, **RATES} for number in (0, 1)]
    monkeypatch.setattr(gpus, "PROBE", says({"cuda": "13.0"}, ONE, TWO, "a library's line", *rates, *peers))
    done = gstream("doctor")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[7:]
    assert lines == [
        "GPU 0      NVIDIA H200, 139.7 GiB, compute capability 9.0, reaches GPU 1",
        "  link     55 GB/s to it, 54 GB/s from it, 396 GB/s from GPU 1, pinning 45 GB/s, 4.12 us a call",
        "GPU 1      NVIDIA H200, 139.7 GiB, compute capability 9.0, reaches GPU 0",
        "  link     55 GB/s to it, 54 GB/s from it, 390 GB/s from GPU 0, pinning 45 GB/s, 4.12 us a call",
        "driver     580.159.03, runs CUDA up to 13.0",
        "nvcc       13.0",
        "pycuda     2026.1",
        "nothing is missing",
    ]
    found = json.loads(gstream("doctor", "--json").stdout)
    assert found["gpus"][1] == {**{k: v for k, v in TWO.items() if k != "gpu"}, **RATES, "peer_rates": {"0": 3.9e11}}
    assert (found["driver"], found["cuda"], found["gpu_error"]) == ("580.159.03", "13.0", None)


def test_figures_are_saved_for_plans(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    assert gstream("doctor", "--save", "here.json").returncode == 0
    found = json.loads(Path("here.json").read_text())
    assert found["core_rates"]["pull_edges"] > 0 and found["sources"]["disk"] == "measured here"
    plan = ("plan", "pagerank", "--vertices", 100, "--edges", 900, "--machine", "here.json", "--json")
    assert json.loads(gstream(*plan).stdout)["machine"] == found["name"]
    again = gstream("doctor", "--save", "here.json")
    assert again.returncode == 2 and again.stderr.startswith("here.json: exists")
    assert gstream("doctor", "--save", "here.json", "--force").returncode == 0


def test_without_pycuda(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    have_pycuda(monkeypatch, None)
    put(machine, "nvidia-smi", SMI)
    monkeypatch.setattr(gpus, "PROBE", says({"cuda": "13.0"}, {"error": "pycuda can't be imported"}))
    done = gstream("doctor")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[7:] == [
        "GPU 0      NVIDIA H200, 140.4 GiB, compute capability 9.0",
        "driver     580.159.03, runs CUDA up to 13.0",
        "nvcc       none",
        "pycuda     none",
        "missing: nvcc, to compile kernels. Install the CUDA toolkit that matches the driver.",
        f"missing: pycuda, to use the GPU. Install: {sys.executable} -m pip install pycuda",
    ]


def test_what_pycuda_and_nvcc_need(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    """Named while it is needed: headers until pycuda is there, nothing of it on a machine without a GPU."""
    put(machine, "nvidia-smi", SMI)
    (machine / "g++").unlink()
    for name in ("cuda.h", "curand.h", "Python.h"):
        (machine.parent / "include" / name).unlink()
    monkeypatch.setattr(gpus, "PROBE", says({"cuda": "13.0"}, {"error": "pycuda can't be imported"}))
    have_pycuda(monkeypatch, None)
    assert gstream("doctor").stdout.splitlines()[11:] == [
        "missing: g++, to build pycuda and to compile kernels. Install: apt install g++",
        "missing: nvcc, to compile kernels. Install the CUDA toolkit that matches the driver.",
        "missing: cuda.h, to build pycuda. Install: the CUDA toolkit",
        "missing: curand.h, to build pycuda. Install: the CUDA toolkit",
        "missing: Python.h, to build pycuda. Install: apt install python3-dev",
        f"missing: pycuda, to use the GPU. Install: {sys.executable} -m pip install pycuda",
    ]
    found = json.loads(gstream("doctor", "--json").stdout)
    assert (found["cpp"], found["lacking_headers"]) == (None, ["cuda.h", "curand.h", "Python.h"])
    put(machine, "nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    have_pycuda(monkeypatch, "2026.1")
    monkeypatch.setattr(gpus, "PROBE", says({"cuda": "13.0"}, {**ONE, "reaches": []}, {"gpu": 0, **RATES}))
    assert gstream("doctor").stdout.splitlines()[12:] == ["missing: g++, to compile kernels. Install: apt install g++"]
    monkeypatch.setenv("NVCC_CCBIN", str(machine / "nvcc"))
    assert gstream("doctor").stdout.splitlines()[12:] == ["nothing is missing"]


def test_the_toolkit_beside_the_path(machine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As NVIDIA installs it: in /usr/local/cuda, with headers among the targets."""
    home = tmp_path / "toolkit"
    (home / "bin").mkdir(parents=True)
    (home / "targets" / "x86_64-linux" / "include").mkdir(parents=True)
    put(home / "bin", "nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.1'")
    monkeypatch.setattr(toolkit, "USUAL_HOMES", (str(home),))
    assert doctor.nvcc() == "12.4"
    assert toolkit.lacking_headers() == ["cuda.h", "curand.h"]
    for name in ("cuda.h", "curand.h"):
        (home / "targets" / "x86_64-linux" / "include" / name).touch()
    assert toolkit.lacking_headers() == []


def test_a_driver_alone(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    """As in slim containers: neither nvidia-smi nor pycuda, but the driver's library."""
    have_pycuda(monkeypatch, None)
    monkeypatch.setattr(gpus, "PROBE", says({"cuda": "13.0"}, {"error": "pycuda can't be imported"}))
    assert gstream("doctor").stdout.splitlines()[7:] == [
        "GPUs       unknown",
        "driver     unknown, runs CUDA up to 13.0",
        "nvcc       none",
        "pycuda     none",
        "missing: nvcc, to compile kernels. Install the CUDA toolkit that matches the driver.",
        f"missing: pycuda, to use the GPU. Install: {sys.executable} -m pip install pycuda",
    ]


@pytest.mark.parametrize("probe", [says({"cuda": None}, {"error": "no pycuda"}), ("/no/such/program",)])
def test_without_a_gpu(
    machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command, probe: tuple[str, ...]
) -> None:
    have_pycuda(monkeypatch, None)
    monkeypatch.setattr(gpus, "PROBE", probe)
    lines = gstream("doctor").stdout.splitlines()[7:]
    assert [line.split() for line in lines[:4]] == [[x, "none"] for x in ("GPUs", "driver", "nvcc", "pycuda")]
    assert lines[4:] == ["nothing is missing; no GPU: programs run on the host's cores"]


def test_a_disk_too_full_to_measure(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    """The doctor fills no disk: what it would write must be a quarter of what is free."""
    have_pycuda(monkeypatch, None)
    monkeypatch.setattr(doctor, "PROBE_BYTES", 1 << 60)
    assert "not measured: folder not writable, or less than 1 GiB free" in gstream("doctor").stdout
    disk = json.loads(gstream("doctor", "--json").stdout)["disk"]
    assert (disk["read_rate"], disk["direct"]) == (None, None) and disk["free"] < disk["total"]


def test_a_library_that_is_missing(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    version = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: None if name in ("zstandard", "pycuda") else version(name))
    lines = gstream("doctor").stdout.splitlines()
    assert lines[-1] == f"missing: zstandard. Install: {sys.executable} -m pip install zstandard"
    assert json.loads(gstream("doctor", "--json").stdout)["libraries"]["zstandard"] is None


REMEDY = "See whether nvidia-smi works and what dmesg says; --devices host needs no GPU."


def test_gpus_that_cannot_be_asked(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    have_pycuda(monkeypatch, "2026.1")
    monkeypatch.setattr(gpus, "PROBE", says({"cuda": None}, {"error": "cuInit failed: no CUDA-capable device"}))
    assert gstream("doctor").stdout.splitlines()[7:] == [
        "GPUs       none",
        "driver     none",
        "GPU error  cuInit failed: no CUDA-capable device",
        "nvcc       none",
        "pycuda     2026.1",
        f"failing: GPUs: cuInit failed: no CUDA-capable device. {REMEDY}",
    ]


def test_a_driver_too_old_to_tell_the_capability(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(
        machine,
        "nvidia-smi",
        SMI.replace("*compute_cap*) echo", "*compute_cap*) exit 2;; *memory*) echo").replace("9.0, ", ""),
    )
    found = gpus.gpus(pycuda=False)
    assert found["gpus"] == [{"name": "NVIDIA H200", "memory": 143771 << 20, "capability": None}]
    assert found["driver"] == "580.159.03" and found["gpu_error"] is None


@pytest.mark.parametrize(
    ("then", "error"),
    [
        ("time.sleep(60)", "no answer within 3 s"),
        ("sys.exit('CUDA is out of order')", "ended with 1 (CUDA is out of order)"),
        ("import os; os.kill(os.getpid(), 11)", "ended with -11"),
    ],
)
def test_a_gpu_that_fails_or_hangs(
    machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command, then: str, error: str
) -> None:
    have_pycuda(monkeypatch, "2026.1")
    monkeypatch.setattr(gpus, "PROBE_SECONDS", 3.0 if "sleep" in then else 600.0)
    monkeypatch.setattr(
        gpus, "PROBE", says({"cuda": "13.0"}, ONE, TWO, {"gpu": 0, **RATES}, '{"gpu": 1, "p', then=then)
    )
    done = gstream("doctor")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "  link     55 GB/s to it, 54 GB/s from it, pinning 45 GB/s, 4.12 us a call" in lines
    assert lines[lines.index("GPU 1      NVIDIA H200, 139.7 GiB, compute capability 9.0, reaches GPU 0") + 1] == (
        f"  error    not measured: {error}"
    )
    assert f"GPU error  {error}" in lines
    assert "driver     unknown, runs CUDA up to 13.0" in lines
    assert lines[-1] == f"failing: GPU 1: not measured: {error}. {REMEDY}"


def test_one_gpu_of_two_fails(machine: Path, monkeypatch: pytest.MonkeyPatch, gstream: Command) -> None:
    have_pycuda(monkeypatch, "2026.1")
    broken = {"gpu": 1, "error": "cuMemAlloc failed: out of memory"}
    monkeypatch.setattr(gpus, "PROBE", says({"cuda": "13.0"}, ONE, TWO, {"gpu": 0, **RATES}, broken))
    lines = gstream("doctor").stdout.splitlines()
    assert "  error    cuMemAlloc failed: out of memory" in lines
    assert not [line for line in lines if line.startswith("GPU error")]
    assert lines[-1] == f"failing: GPU 1: cuMemAlloc failed: out of memory. {REMEDY}"


def test_programs_that_fail_or_cannot_be_started(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(machine, "nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18")
    error = "nvidia-smi: ended with 18: Failed to initialize NVML: Driver/library version mismatch"
    assert gpus.gpus(pycuda=False)["gpu_error"] == error
    put(machine, "nvidia-smi", "exec /bin/sleep 60")
    monkeypatch.setattr(gpus, "QUERY_SECONDS", 0.5)
    assert gpus.gpus(pycuda=False)["gpu_error"] == "nvidia-smi: no answer within 0.5 s"
    text, trouble = gpus.ask(("/no/such/program",), 1.0)
    assert text == "" and trouble is not None and trouble.startswith("can't be started")
    monkeypatch.setattr(gpus, "PROBE", says("[1, 2]", "{}", '{"gpu": "x"}', "3"))
    assert gpus.gpus(pycuda=True)["gpus"] == []


def test_the_probe_runs_as_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the package is found from anywhere
    text, trouble = gpus.ask(gpus.PROBE, 60.0)
    assert trouble is None, trouble
    assert "cuda" in json.loads(text.splitlines()[0])
