"""GPUs that fail: workers that are killed, GPUs that are lost, over the tests' stand-in for CUDA's driver.

The stand-in runs the GPU device's own code with kernels that g++ compiles, so that this needs no GPU; what is tried
is the whole command line, with the supervisor and its workers as processes. tests/gpu does the same on a real GPU.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gstream.devices.gpu import driver as cuda
from pagestore.errors import ResourceError
from tests.torture.ordeals import (
    Bad,
    Cases,
    Counted,
    Ended,
    Property,
    command,
    counted,
    in_child,
    names_in,
    plain_error,
)
from tests.torture.stores import make_store

TESTS = Path(__file__).resolve().parents[2] / "tests" / "cuda"
ITERATIONS = 8
COMMANDS: dict[str, list[str]] = {
    "bfs": ["bfs", "--source", "3"],
    "pagerank": ["pagerank", "--iterations", str(ITERATIONS)],
    "sssp": ["sssp", "--source", "3"],
    "widest": ["widest", "--source", "3"],
    "wcc": ["wcc"],
}
WAYS: dict[str, list[str]] = {  # how runs are made whose memory runs out
    "one GPU": ["--devices", "cuda:0"],
    "two": ["--devices", "cuda:0,1"],
    "two, that reach each other": ["--devices", "cuda:0,2", "--batch", "8KiB"],
    "streamed": ["--devices", "cuda:0", "--cache", "0", "--batch", "4KiB", "--streams", "2"],
}
CALLS = {  # with the error that they raise; None: the driver's own
    "mem_alloc": None,
    "pagelocked_empty": None,
    "pin": ResourceError("cuda:0: host memory can't be pinned, says the harness. Pin less."),
}
LEFT = 99  # the exit code of a run that leaves GPU memory
EVERY = ("1", "2", "1h")
KEPT = ("bfs", "pagerank", "sssp", "widest")
DEVICES = ("cuda:0", "cuda:0,1", "cuda:0,2", "cuda:0,1,2,3")  # those of even numbers reach each other
SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)
FILES = {"graph.gs", "out.csv", "kept", "kept/slot-0", "kept/slot-1"}


class StandIn:
    """A store in a folder, its right answers, and commands that find the stand-in where PyCUDA's driver would be."""

    def __init__(self, folder: Path) -> None:
        sys.path.insert(0, str(TESTS))
        import compilers
        import failing
        import instead
        import standin

        self.folder, self._failing, self._driver = folder, failing, standin
        self._install = lambda: instead.install(compilers.compile_unit)
        make_store(folder / "graph.gs", 5)
        self._expected, self.supersteps = {}, {}
        for name in COMMANDS:
            self.supersteps[name] = json.loads(in_child(_run(folder, name, "--json")).last_line).get("supersteps", 0)
            self._expected[name] = _read(folder)

    def supervised(self, name: str, devices: str, every: str, losses: dict[int, Any]) -> Callable[[], int]:
        """A run that is kept. losses: by superstep, a signal that ends the worker, or "GPU 1", which fails."""

        def action() -> int:
            fails, dies = self._failing.lose_gpu, self._failing.die
            deeds = {at: fails(int(what[-1])) if isinstance(what, str) else dies(what) for at, what in losses.items()}
            self._install()
            self._failing.at_supersteps(deeds, self.folder / "marks")
            kept = ["--checkpoint", self.folder / "kept", "--checkpoint-every", every]
            return _run(self.folder, name, "--devices", devices, *kept)()

        return action

    def short_of_memory(self, name: str, way: str, fails: str = "", number: int = 0) -> Callable[[], int]:
        """A run in which one of CALLS fails at its turn, or that says how often each came; LEFT: so is GPU memory."""

        def action() -> int:
            self._install()
            counts = dict.fromkeys(CALLS, 0)

            def counting(call: str, usual: Callable[..., Any]) -> Callable[..., Any]:
                def called(*given: Any) -> Any:
                    counts[call] += 1
                    if call == fails and counts[call] - 1 == number:
                        raise CALLS[call] or self._driver.MemoryError("made up by the harness")
                    return usual(*given)

                return called

            for call in CALLS:
                owner = cuda.Gpu if call == "pin" else self._driver.DRIVER
                setattr(owner, call, counting(call, getattr(owner, call)))
            code = _run(self.folder, name, "--no-restart", *WAYS[way])()
            if not fails:
                print(f"calls: {json.dumps(counts)}")
            return LEFT if self._driver.LIVE else code

        return action

    def calls_of(self, name: str, way: str) -> dict[str, int]:
        """How many of each of CALLS a run makes."""
        return json.loads(counted(self.short_of_memory(name, way)))

    def is_right(self, name: str) -> bool:
        """Whether the last command wrote the answer of the host."""
        found, expected = _read(self.folder), self._expected[name]
        return (
            np.allclose(found, expected, rtol=1e-6, atol=0) if name == "pagerank" else np.array_equal(found, expected)
        )


def lost_gpus(folder: Path, numbers: random.Random) -> Cases:
    """One to three losses at drawn supersteps of a run that is kept: the answer is the host's, and nothing is left."""
    stand_in = StandIn(folder)
    while True:
        name, devices, every = (
            numbers.choice(sorted(COMMANDS.keys() - {"wcc"})),
            numbers.choice(DEVICES),
            numbers.choice(EVERY),
        )
        at = numbers.sample(
            range(1, stand_in.supersteps[name] + 1), min(stand_in.supersteps[name], numbers.choice((1, 1, 1, 2, 3)))
        )
        drawn = {superstep: numbers.choice((*SIGNALS, "GPU 0", "GPU 1", "GPU 2")) for superstep in sorted(at)}
        (folder / "marks").mkdir()
        ended = in_child(stand_in.supervised(name, devices, every, drawn))
        kills = sum((folder / f"marks/superstep-{s}").exists() for s, what in drawn.items() if what in SIGNALS)
        shutil.rmtree(folder / "marks")
        yield _outcome(stand_in, name, ended, kills, f"{name} on {devices}, {drawn}, every {every}")
        shutil.rmtree(folder / "kept", ignore_errors=True)


def failing_gpu_memory(folder: Path, numbers: random.Random) -> Cases:
    """Every allocation of GPU memory, every pinned array and every pin of a run fails once: less is made do with, or
    there is one line; no GPU memory is left."""
    stand_in = StandIn(folder)
    cases: list[tuple[str, str, str, int, int]] = []
    for name, way in itertools.product(COMMANDS, WAYS):
        for call, calls in stand_in.calls_of(name, way).items():
            cases += [(name, way, call, number, calls) for number in range(calls)]
    yield Counted(len(cases))
    numbers.shuffle(cases)
    for name, way, call, number, calls in cases:
        ended = in_child(stand_in.short_of_memory(name, way, call, number))
        where = f"{name}, {way}, {call} {number} of {calls}"
        left, wrong = set(names_in(folder)) - FILES, plain_error(ended)
        if left:
            yield Bad(f"{where}: left {sorted(left)}")
        elif ended.code == 0:
            yield "degraded" if stand_in.is_right(name) else Bad(f"{where}: another answer")
        else:
            yield "refused" if wrong is None else Bad(f"{where}: {wrong}")


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


def _outcome(stand_in: StandIn, name: str, ended: Ended, kills: int, where: str) -> str | Bad:
    """How a case ended. kills: workers that were killed; after the third, on the host's cores, a run gives up."""
    left = set(names_in(stand_in.folder)) - FILES
    if left:
        return Bad(f"{where}: left {sorted(left)}")
    losses = re.findall(r"^lost +(\S+), on to (\S+):", ended.said, re.MULTILINE)
    if ended.code == 1 and kills >= 2 and ended.last_line.startswith("host: its process was ended by "):
        return f"gave up{_killed(kills)}"
    if ended.code != 0 or "Traceback" in ended.said:
        return Bad(f"{where}: ended with {ended.code}: {ended.said[-300:]}")
    if sum(lost == "worker" for lost, _ in losses) != kills:
        return Bad(f"{where}: {kills} workers were killed: {ended.said[-600:]}")
    if not stand_in.is_right(name):
        return Bad(f"{where}: another answer")
    if not losses:
        return "not hit"
    return f"ended on {'GPUs' if losses[-1][1] != 'host' else 'the host'}{_killed(kills)}"


def _killed(kills: int) -> str:
    """So that workers that were killed can be counted: a case has none to three."""
    return f", {kills} worker{'s' if kills != 1 else ''} killed" if kills else ""


def properties() -> Iterator[Property]:
    """Those about GPUs, where there is a compiler for the stand-in's kernels."""
    promise = "a GPU run whose workers are killed or whose GPUs fail goes on to the same answer, and says so"
    if shutil.which("g++") is not None:
        yield Property("lost GPUs", promise, lost_gpus, 100)
        promise = "the n-th allocation or pin for a GPU fails: less is made do with, or exit 5 and one line; no leak"
        yield Property("failing GPU memory", promise, failing_gpu_memory)
