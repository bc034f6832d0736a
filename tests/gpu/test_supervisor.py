"""`gstream run` on a real GPU whose worker is killed, or whose kernel writes where there is nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from visible import NEEDS_GPU, gpus

from pagestore.memory import convert_arrays

ROOT = Path(__file__).resolve().parents[2]
V, E, ITERATIONS, WAIT_SECONDS = 30_000, 200_000, 400, 120.0
# The command line, in whose worker a kernel writes to address 0 after the third superstep: errors like its own stick.
FAULTY = """
import failing
from pathlib import Path

def fault():
    from pycuda.compiler import SourceModule
    from gstream.devices.gpu.driver import Gpu
    global module
    with Gpu(0) as gpu:
        module = SourceModule("__global__ void fault() { *(volatile int*)0 = 1; }")
        module.get_function("fault")(block=(1, 1, 1))
        gpu.synchronize()

failing.at_supersteps({3: fault}, Path("."))
from gstream.cli.main import main
main()
"""


pytestmark = NEEDS_GPU


@pytest.fixture
def start(tmp_path):
    """Starts PageRank in a folder of its own, with what Python is to run."""
    random = np.random.default_rng(11)
    source, target = (V * random.random((2, E)) ** 4).astype(np.int64)
    convert_arrays(tmp_path / "graph.gs", source, target, vertices=V, page_bytes=4096)
    paths = [ROOT, ROOT / "tests/cuda", os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}

    def run(python, *options):
        command = [sys.executable, *python, "run", "pagerank", "graph.gs", "--iterations", str(ITERATIONS), "--json"]
        command += ["--checkpoint", "kept", "--checkpoint-every", "1", "-o", "out.npy", *options]
        return subprocess.Popen(
            command, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    return run


def check(process, tmp_path, lost, devices):
    """It ended well, said what was lost, went on from a checkpoint, and its answer is the host's."""
    out, err = process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == 0, err
    summary = json.loads(out)
    assert [(loss["lost"], loss["devices"]) for loss in summary["lost"]] == [(lost, devices)], err
    assert summary["stats"]["kept"]["resumed"] >= 1 and summary["supersteps"] == ITERATIONS
    import gstream

    with gstream.open(tmp_path / "graph.gs") as graph:
        expected = graph.pagerank(iterations=ITERATIONS).to_numpy()["pagerank"]
    np.testing.assert_allclose(np.load(tmp_path / "out.npy")["pagerank"], expected, rtol=1e-5)
    return err


def test_a_worker_that_is_killed(start, tmp_path):
    process = start(["-m", "gstream"], "--devices", "cuda:0")
    until = time.monotonic() + WAIT_SECONDS
    while not (tmp_path / "kept/slot-0").exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.001)
    (worker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(worker), signal.SIGKILL)
    err = check(process, tmp_path, "worker", "cuda:0")
    assert err.startswith("cuda:0: its process was ended by SIGKILL. The run goes on on cuda:0, from its last ")


@pytest.mark.parametrize("several", [1, *{min(gpus(), count) for count in (2, 4, 8)} - {0, 1}])
def test_a_kernel_that_faults(start, tmp_path, several):
    """One GPU is lost in the middle of a run: the rest of them go on, or the cores where it was the only one."""
    rest = "cuda:" + ",".join(map(str, range(1, several))) if several > 1 else "host"
    devices = "cuda:" + ",".join(map(str, range(several)))
    err = check(start(["-c", FAULTY], "--devices", devices), tmp_path, "cuda:0", rest)
    (said,) = [line for line in err.splitlines() if not line.startswith("superstep ")]  # these come where it takes long
    assert said.startswith("cuda:0 (") and ". The run goes on on " in said
