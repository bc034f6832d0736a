"""How long a command compiled is told apart from its work."""

from __future__ import annotations

import json
import re
import time
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import numba
import pytest

import gstream as gs
from gstream.telemetry import compiling
from gstream.telemetry.compiling import Stopwatch, compile_time
from pagestore import crc
from tests.cli.command import Command


def test_conversions_tell_how_long_they_compiled(
    tmp_path: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edges.txt").write_text("0 1\n")
    told = json.loads(gstream("convert", "edges.txt", "graph.gs", "--json").stdout)
    assert 0 <= told["compile_seconds"] <= told["seconds"]
    for seconds, said in ((2.5, ", 2.5 s of it to compile or load kernels"), (0.0005, "")):
        monkeypatch.setattr("gstream.cli.convert.compile_time", lambda: nullcontext(lambda: seconds))  # noqa: B023
        done = gstream("convert", "edges.txt", "graph.gs", "--force")
        assert re.search(rf"\ntook +\S+ s{said}, \S+ edges/s, peak memory", done.stdout)


def test_what_is_compiled_is_timed() -> None:
    with compile_time() as seconds:
        assert seconds() == 0
        assert numba.njit(lambda x: x + 1)(2) == 3
        once = seconds()
        assert once > 0
        assert numba.njit(lambda x: x + 2)(2) == 4
        assert seconds() > once


def test_a_stopwatch_stands_while_kernels_are_compiled() -> None:
    watch = Stopwatch(earlier=60.0)
    assert numba.njit(lambda x: x + 3)(2) == 5
    assert 0 < watch.compiled() and 60 <= watch.worked() <= time.perf_counter() - watch.began - watch.compiled()
    assert watch.worked(watch.began) == 0


def test_a_superstep_s_time_is_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """By each way to make supersteps: of a clock that says that all time goes by compiling, none is left for them."""
    graph = gs.from_edges([0, 1], [1, 2])

    class Meter:
        reads = 0

        @property
        def seconds(self) -> float:
            self.reads += 1
            return 1e6 * self.reads

    monkeypatch.setattr(compiling, "meter", cache(Meter))
    for run in (graph.bfs(source=0), graph.pagerank(), graph.pagerank(execution="async")):
        steps = run.summary["stats"]["per_superstep"]
        assert steps and all(step["seconds"] == 0 for step in steps)
        assert all(step["compile_seconds"] >= 1e6 for step in steps[:1])


def test_the_checksums_loop_counts_as_compiled() -> None:
    """LLVM makes it at the first page that is read, and it is not the superstep's work."""
    with compile_time() as seconds:
        assert crc._compiled_loop.__wrapped__() is not None
        assert seconds() > 0
