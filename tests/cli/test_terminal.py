"""Progress lines, tables and JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from gstream.cli import terminal
from gstream.cli.run import StepLine
from gstream.cli.supervisor import Link
from gstream.cli.terminal import ProgressBar, print_json, print_table
from gstream.telemetry.stats import StepStats
from tests.cli.command import Command


class Step(NamedTuple):
    phase: str
    done: int
    total: int | None = None
    unit: str = "bytes"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that `time.monotonic` shows; tests write to it."""
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return now


def test_bar_on_a_terminal(clock: list[float]) -> None:
    stream = Terminal()
    with ProgressBar(stream=stream) as progress:
        progress(Step("partition", 0, 100 << 20))
        clock[0] = 10.0
        progress(Step("partition", 25 << 20, 100 << 20))
    drawn = stream.getvalue()
    assert "partition: [#####...............]  25% of 100 MiB, 2.5 MiB/s, 30 s left" in drawn
    assert drawn.endswith("\r\x1b[2K"), "the bar is cleared at the end"


def test_plain_lines_every_30_s_elsewhere(clock: list[float]) -> None:
    stream = io.StringIO()
    with ProgressBar(stream=stream) as progress:
        for second in range(100):
            clock[0] = float(second)
            progress(Step("sort", second * 10, 1000, "edges"))
    assert stream.getvalue().splitlines() == [
        "sort:  30% of 1 k edges, 10 edges/s, 70 s left",
        "sort:  60% of 1 k edges, 10 edges/s, 40 s left",
        "sort:  90% of 1 k edges, 10 edges/s, 10 s left",
    ]


def test_total_unknown_and_quiet(clock: list[float]) -> None:
    stream, silent = io.StringIO(), io.StringIO()
    with ProgressBar(stream=stream) as progress, ProgressBar(quiet=True, stream=silent) as nothing:
        progress(Step("read", 0))
        nothing(Step("read", 0))
        clock[0] = 31.0
        progress(Step("read", 31 << 20))
        nothing(Step("read", 31 << 20))
    assert stream.getvalue() == "read: 31 MiB, 1 MiB/s\n"
    assert silent.getvalue() == ""


def test_supersteps_on_a_terminal(clock: list[float]) -> None:
    stream = Terminal()
    with ProgressBar(stream=stream) as bar:
        show = StepLine(bar, Link())
        for number in range(1, 4):
            clock[0] = float(number)
            show(number, StepStats("push", frontier=1000 * number, pages=7, seconds=0.5))
    drawn = stream.getvalue().split("\r\x1b[2K")
    assert drawn == [
        "",
        "superstep 1: 1 k vertices active, 7 pages in 0.5 s; 7 pages in all",
        "superstep 2: 2 k vertices active, 7 pages in 0.5 s; 14 pages in all",
        "superstep 3: 3 k vertices active, 7 pages in 0.5 s; 21 pages in all",
        "",
    ]


def test_a_run_shows_its_supersteps(store: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gstream.cli.terminal.PLAIN_SECONDS", 0.0)
    done = gstream("run", "bfs", store, "--source", "1", "--json")
    assert done.stderr.splitlines()[0].startswith("superstep 1: 1 vertices active, ")
    assert len(done.stderr.splitlines()) == json.loads(done.stdout)["supersteps"]


def test_table_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("vertex", "pagerank"), [("libc6", 0.25), ("x", None)], title="top")
    assert capsys.readouterr().out.splitlines() == ["top", "vertex  pagerank", "libc6       0.25", "x              -"]


def test_json_is_one_object_of_plain_values(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(
        {"a": np.float32(0.5), "b": [np.int64(3), float("inf"), float("nan")], "p": Path("x.gs"), "n": None, "t": True}
    )
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"a": 0.5, "b": [3, "Infinity", "NaN"], "p": "x.gs", "n": None, "t": True}


@pytest.mark.parametrize(
    ("value", "shown"),
    [(16777217.0, "16777217"), (3.0, "3"), (0.125, "0.125"), (1 / 3, "0.333333"), (1e20, "1e+20")]
    + [(float("inf"), "inf"), (float("nan"), "-"), (None, "-"), (16777218, "16777218"), ("a", "a")],
)
def test_cells_keep_all_digits_of_whole_numbers(value, shown):
    assert terminal._cell(value) == shown
