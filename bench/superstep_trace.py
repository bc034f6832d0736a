"""What one superstep costs beside its kernels: the code that it runs through, and the driver's time on a tiny graph.

    python -m bench.superstep_trace                                 # PageRank on the host
    python -m bench.superstep_trace --devices cuda --functions      # on a GPU; which functions
    python -m bench.superstep_trace --devices cuda --stand-in       # on the stand-in of tests/cuda, kernels by g++

A warm superstep is one in the middle of a run: everything is compiled, read and planned. It is the driver's: one that
sweeps all pages. `files` and `functions` are the project's own, without compiled kernels; `calls` also counts a
function that is called again; `deep` is the deepest call above the loop over supersteps. Calls are seen by
sys.setprofile, in the driver's thread.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import gstream
from gstream.engine import run as driver
from gstream.engine.early_pull import EarlyPull
from gstream.engine.engine import Engine
from gstream.engine.run_state import RunState
from gstream.options.run_options import RunOptions
from gstream.programs.pagerank import PageRank
from pagestore.memory import convert_arrays
from pagestore.store import open_store

ROOT = Path(gstream.__file__).parent.parent
LOOP = "go"  # the function that makes one superstep after the other
TRACED = 6  # the superstep that is looked at
SUPERSTEPS = 200  # of a run that is timed
VERTICES, EDGES = 2000, 20_000


@dataclass
class Trip:
    """The calls of one superstep: from the note of the one before to its own. calls: function -> how often; depth: of
    frames above the loop; ended: supersteps that were noted."""

    calls: dict[CodeType, int] = field(default_factory=dict)
    depth: int = 0
    ended: int = 0

    @property
    def files(self) -> set[str]:
        return {code.co_filename for code in self.calls}

    def __str__(self) -> str:
        total = sum(self.calls.values())
        return f"{len(self.files)} files, {len(self.calls)} functions, {total} calls, {self.depth} deep"

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        """What sys.setprofile calls. A generator that goes on is a call, too."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(FOLDERS):
            return
        if "__name__" not in frame.f_globals:  # Numba makes such a frame up, to tell profilers of compiled code
            return
        if self.ended == TRACED - 1:
            self._count(frame, code)
        self.ended += code is RunState.note.__code__

    def _count(self, frame: FrameType, code: CodeType) -> None:
        self.calls[code] = self.calls.get(code, 0) + 1
        deep, above = 1, frame.f_back
        while above is not None and above.f_code.co_name != LOOP:
            deep, above = deep + above.f_code.co_filename.startswith(FOLDERS), above.f_back
        self.depth = max(self.depth, deep)


FOLDERS = tuple(f"{ROOT / name}/" for name in ("gstream", "pagestore"))


def trace(run: Callable[[RunOptions], Any], **options: Any) -> Trip:
    """The trip of a warm superstep of `run(options)`."""
    trip = Trip()
    try:
        with by_the_driver():
            sys.setprofile(trip.see)
            run(RunOptions(**options))
    finally:
        sys.setprofile(None)
    return trip


@contextmanager
def by_the_driver() -> Iterator[None]:
    """No thread makes supersteps by itself meanwhile, as it would on a graph so small."""
    usual, driver.FAST_PATHS = driver.FAST_PATHS, (EarlyPull,)
    try:
        yield
    finally:
        driver.FAST_PATHS = usual


def pagerank(store: Any, supersteps: int) -> Callable[[RunOptions], Any]:
    """Runs of PageRank with so many supersteps."""

    def run(options: RunOptions) -> Any:
        with Engine(store, options) as engine:
            return engine.run(PageRank(tolerance=0.0), max_supersteps=supersteps)

    return run


def microseconds(run: Callable[[RunOptions], Any], **options: Any) -> float:
    """Of a superstep by the driver's clock: the median of one run, warm."""
    with by_the_driver():
        steps = run(RunOptions(**options)).stats.per_superstep
    return float(np.median([step.seconds / step.supersteps for step in steps[len(steps) // 4 :]])) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/superstep_trace.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", default="host")
    parser.add_argument("--functions", action="store_true", help="list the functions")
    parser.add_argument("--stand-in", action="store_true", help="the tests' stand-in for CUDA's driver")
    given = parser.parse_args()
    if given.stand_in:
        sys.path.insert(0, str(ROOT / "tests" / "cuda"))
        install_stand_in()
    chooser = np.random.default_rng(1)
    source, target = (chooser.integers(0, VERTICES, EDGES) for _ in range(2))
    with tempfile.TemporaryDirectory() as folder:
        convert_arrays(f"{folder}/graph.gs", source, target, memory_bytes=1 << 28)
        store, devices = open_store(f"{folder}/graph.gs"), given.devices.split(",")
        trip = trace(pagerank(store, TRACED + 2), devices=devices)
        print(f"pagerank, {given.devices}: {trip}")
        if given.functions:
            for code, count in sorted(trip.calls.items(), key=lambda item: item[0].co_filename):
                print(f"{count:4} {Path(code.co_filename).relative_to(ROOT)}: {code.co_qualname}")
        if not given.stand_in:
            print(f"{microseconds(pagerank(store, SUPERSTEPS), devices=devices):.0f} us a superstep")
        store.close()


def install_stand_in() -> None:
    """Put tests/cuda's driver where the GPU device looks for one."""
    instead, compilers = import_module("instead"), import_module("compilers")
    instead.install(compilers.compile_unit)


if __name__ == "__main__":
    main()
