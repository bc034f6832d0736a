"""GPUs that fail: workers that are killed, GPUs that are lost, over the tests' stand-in for CUDA's driver.

The stand-in runs the GPU device's own code with kernels that g++ compiles, so that this needs no GPU; what is tried
is the whole command line, with the supervisor and its workers as processes. tests/gpu does the same on a real GPU.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.ordeals import Bad, Cases, Ended, Property, command, in_child, names_in
from bench.torture_stores import make_store

TESTS = Path(__file__).resolve().parent.parent / "tests" / "cuda"
ITERATIONS = 8
COMMANDS: dict[str, list[str]] = {
    "bfs": ["bfs", "--source", "3"],
    "pagerank": ["pagerank", "--iterations", str(ITERATIONS)],
    "sssp": ["sssp", "--source", "3"],
    "widest": ["widest", "--source", "3"],
}
EVERY = ("1", "2", "1h")
DEVICES = ("cuda:0", "cuda:0,1", "cuda:0,2", "cuda:0,1,2,3")  # those of even numbers reach each other
SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)
FILES = {"graph.gs", "out.csv", "kept", "kept/slot-0", "kept/slot-1"}


def lost_gpus(folder: Path, numbers: random.Random) -> Cases:
    """One to three losses at drawn supersteps of a run that is kept: the answer is the host's, and nothing is left."""
    sys.path.insert(0, str(TESTS))
    import compilers
    import failing
    import standin

    units = folder.parent / "units"
    units.mkdir(exist_ok=True)
    make_store(folder / "graph.gs", 5)
    expected, supersteps = {}, {}
    for name in COMMANDS:
        ended = in_child(_run(folder, name, "--json"))
        supersteps[name] = json.loads(ended.last_line)["supersteps"]
        expected[name] = _read(folder)

    def supervised(name: str, devices: str, every: str, deeds: dict[int, Callable[[], None]]) -> Ended:
        def action() -> int:
            standin.install(lambda unit: compilers.compile_unit(unit, units))
            failing.at_supersteps(deeds, folder / "marks")
            kept = ["--checkpoint", folder / "kept", "--checkpoint-every", every]
            return _run(folder, name, "--devices", devices, *kept)()

        return in_child(action)

    while True:
        name, devices, every = numbers.choice(sorted(COMMANDS)), numbers.choice(DEVICES), numbers.choice(EVERY)
        at = numbers.sample(range(1, supersteps[name] + 1), min(supersteps[name], numbers.choice((1, 1, 1, 2, 3))))
        drawn = {superstep: numbers.choice((*SIGNALS, "GPU 0", "GPU 1", "GPU 2")) for superstep in sorted(at)}
        deeds = {
            superstep: failing.lose_gpu(int(what[-1])) if isinstance(what, str) else failing.die(what)
            for superstep, what in drawn.items()
        }
        (folder / "marks").mkdir()
        ended = supervised(name, devices, every, deeds)
        kills = sum((folder / f"marks/superstep-{s}").exists() for s, what in drawn.items() if what in SIGNALS)
        shutil.rmtree(folder / "marks")
        yield _outcome(folder, name, ended, expected[name], kills, f"{name} on {devices}, {drawn}, every {every}")
        shutil.rmtree(folder / "kept", ignore_errors=True)


def _run(folder: Path, name: str, *options: object) -> Callable[[], int]:
    """A command that writes out.csv anew, as an action of a child."""
    (folder / "out.csv").unlink(missing_ok=True)
    return command(
        "run", COMMANDS[name][0], folder / "graph.gs", *COMMANDS[name][1:], "-o", folder / "out.csv", *options
    )


def _read(folder: Path) -> np.ndarray:
    """float64[V]: the first column of the answer; nothing is -1."""
    rows = (folder / "out.csv").read_text().splitlines()[1:]
    return np.array([float(row.split(",")[1] or -1) for row in rows])


def _outcome(folder: Path, name: str, ended: Ended, expected: np.ndarray, kills: int, where: str) -> str | Bad:
    """How a case ended. kills: workers that were killed; after the third, on the host's cores, a run gives up."""
    left = set(names_in(folder)) - FILES
    if left:
        return Bad(f"{where}: left {sorted(left)}")
    losses = re.findall(r"^lost +(\S+), on to (\S+):", ended.said, re.MULTILINE)
    if ended.code == 1 and kills >= 2 and ended.last_line.startswith("host: its process was ended by "):
        return "gave up"
    if ended.code != 0 or "Traceback" in ended.said:
        return Bad(f"{where}: ended with {ended.code}: {ended.said[-300:]}")
    if sum(lost == "worker" for lost, _ in losses) != kills:
        return Bad(f"{where}: {kills} workers were killed: {ended.said[-600:]}")
    found = _read(folder)
    same = np.allclose(found, expected, rtol=1e-6, atol=0) if name == "pagerank" else np.array_equal(found, expected)
    if not same:
        return Bad(f"{where}: another answer")
    return f"ended on {'GPUs' if losses[-1][1] != 'host' else 'the host'}" if losses else "not hit"


def properties() -> Iterator[Property]:
    """Those about GPUs, where there is a compiler for the stand-in's kernels."""
    promise = "a GPU run whose workers are killed or whose GPUs fail goes on to the same answer, and says so"
    if shutil.which("g++") is not None:
        yield Property("lost GPUs", promise, lost_gpus, 100)
