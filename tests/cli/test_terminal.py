"""Progress lines, tables and JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from gstream.cli import logs, progress, terminal
from gstream.cli.figures import superstep_times
from gstream.cli.progress import ProgressBar
from gstream.cli.run import StepLine
from gstream.cli.supervisor import Link
from gstream.cli.terminal import print_json, print_table
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
    """Seconds that `time.monotonic` and the times of lines show; tests write to it."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(logs, "time_now", lambda: f"T+{now[0]:.0f}")
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
        "T+30 sort:  30% of 1 k edges, 10 edges/s, 70 s left",
        "T+60 sort:  60% of 1 k edges, 10 edges/s, 40 s left",
        "T+90 sort:  90% of 1 k edges, 10 edges/s, 10 s left",
    ]


def test_plain_on_a_terminal_is_lines(clock: list[float]) -> None:
    stream = Terminal()
    with ProgressBar("plain", stream) as bar:
        bar(Step("sort", 0, 1000, "edges"))
        clock[0] = 30.0
        bar(Step("sort", 300, 1000, "edges"))
    assert stream.getvalue() == "T+30 sort:  30% of 1 k edges, 10 edges/s, 70 s left\n"


def test_json_is_an_object_a_line(clock: list[float]) -> None:
    stream = Terminal()
    with ProgressBar("json", stream) as bar:
        clock[0] = 40.0
        bar(Step("read", 4 << 20))
        clock[0] = 70.0
        bar(Step("read", 5 << 20, 10 << 20))
        show = StepLine(bar, Link(), total=20)
        clock[0] = 100.0
        show(5, StepStats("pull", frontier=9, pages=7, seconds=0.5))
    first, second, third = map(json.loads, stream.getvalue().splitlines())
    assert first == {
        "time": "T+40", "stage": "read", "done": 4 << 20, "total": None, "unit": "bytes", "rate": 0.0,
        "left_seconds": None,
    }  # fmt: skip
    assert second["rate"] == round((5 << 20) / 30, 3) and second["left_seconds"] == 30.0
    assert third["stage"] == third["unit"] == "supersteps" and (third["done"], third["total"]) == (5, 20)
    assert third["text"].startswith("superstep 5: 9 vertices active, ")


def test_time_left_of_supersteps(clock: list[float]) -> None:
    stream = io.StringIO()
    with ProgressBar(stream=stream) as bar:
        show = StepLine(bar, Link(), total=20)
        for number in range(5, 9):  # a run that goes on after its fourth superstep
            clock[0] = 10.0 * (number - 4)
            show(number, StepStats("pull", frontier=9, pages=7, seconds=10))
    assert stream.getvalue() == (
        "T+30 superstep 7: 9 vertices active, 7 pages in 10 s; 21 pages in all; 35% of 20 supersteps, 2 min 10 s left\n"
    )


def test_pages_of_a_superstep_in_every_way(clock: list[float]) -> None:
    """A sweep before the supersteps, and those of a run that goes on after its fourth."""
    streams = {"auto": Terminal(), "plain": io.StringIO(), "json": io.StringIO()}
    for way, stream in streams.items():
        clock[0] = 0.0
        with ProgressBar(way, stream) as bar:
            show = StepLine(bar, Link(), total=6)
            last = StepStats("pull", frontier=9, pages=100, seconds=60)
            calls = [(show.within, (5, 10, 100)), (show.within, (5, 70, 100)), (show, (5, last)),
                     (show.within, (6, 5, 50)), (show.within, (6, 20, 50))]  # fmt: skip
            for second, (call, given) in zip((0, 30, 60, 61, 91), calls, strict=True):
                clock[0] = float(second)
                call(*given)
    assert streams["plain"].getvalue().splitlines() == [
        "T+30 superstep 5:  70% of 100 pages, 2.33 pages/s, 12.9 s left",
        "T+60 superstep 5: 9 vertices active, 100 pages in 60 s; 100 pages in all; 83% of 6 supersteps, 60 s left",
        "T+91 superstep 6:  40% of 50 pages, 0.667 pages/s, 45 s left",
    ]
    assert "superstep 5: [##############......]  70% of 100 pages" in streams["auto"].getvalue()
    first, second, third = map(json.loads, streams["json"].getvalue().splitlines())
    assert (first["stage"], first["done"], first["total"], first["unit"]) == ("superstep 5", 70, 100, "pages")
    assert (second["stage"], second["done"]) == ("supersteps", 5)
    assert (third["stage"], third["rate"], third["left_seconds"]) == ("superstep 6", 0.667, 45.0)


def test_one_sweep_of_many_says_nothing_of_the_time_left(clock: list[float]) -> None:
    streams = {"auto": Terminal(), "plain": io.StringIO(), "json": io.StringIO()}
    for way, stream in streams.items():
        clock[0] = 0.0
        with ProgressBar(way, stream) as bar:
            show = StepLine(bar, Link())
            show.within(0, 1, 5)
            clock[0] = 30.0
            show.within(0, 3, 5)
    assert streams["plain"].getvalue() == "T+30 sweep: 3 of 5 pages, 0.1 pages/s\n"
    assert "sweep: 3 of 5 pages, 0.1 pages/s" in streams["auto"].getvalue()
    said = json.loads(streams["json"].getvalue())
    assert (said["stage"], said["done"], said["total"], said["left_seconds"]) == ("sweep", 3, 5, None)


def test_a_log_keeps_lines_whatever_is_shown(clock: list[float], tmp_path: Path) -> None:
    shown, path = Terminal(), tmp_path / "run.log"
    logs.begin("off", path, ["run", "bfs", "a b.gs"], [None, "-", tmp_path / "a b.gs"])
    with ProgressBar(stream=shown) as bar:
        for second in (10.0, 31.0, 45.0, 62.0):
            clock[0] = second
            bar(Step("sort", int(second), 100, "edges"))
    terminal.note("a note\nof two lines")
    logs.end("ended with exit code 0")
    terminal.note("later")
    assert shown.getvalue() == ""
    assert path.read_text().splitlines() == [
        "T+0 gstream run bfs 'a b.gs'",
        "T+31 sort:  31% of 100 edges, 1.48 edges/s, 46.7 s left",
        "T+62 sort:  62% of 100 edges, 1.19 edges/s, 31.9 s left",
        "T+62 a note of two lines",
        "T+62 ended with exit code 0",
    ]


def test_commands_log(store: Path, gstream: Command) -> None:
    assert gstream("convert", "edges.txt", "new.gs", "--log-file", "job.log").returncode == 0
    failed = gstream("run", "bfs", "new.gs", "--source", "99", "--log-file", "job.log", "--progress", "json")
    assert failed.returncode == 2
    lines = [line.partition(" ")[2] for line in Path("job.log").read_text().splitlines()]
    assert lines[0] == "gstream convert edges.txt new.gs --log-file job.log"
    assert lines[-2:] == [failed.stderr.strip(), "ended with exit code 2"]
    before = store.read_bytes()
    for command in (("run", "wcc", store), ("convert", "edges.txt", "x.gs"), ("generate", "grid", "x.gs")):
        bad = gstream(*command, "--progress", "loud")
        assert (bad.returncode, bad.stderr) == (
            2, "--progress loud: must be one of auto, plain, json, off. Leave it out for the default.\n"
        )  # fmt: skip
        assert gstream(*command, "--log-file", "no/such.log").returncode == 2
        assert gstream(*command, "--log-file", command[-1]).returncode == 2
    assert store.read_bytes() == before and not Path("x.gs").exists()


def test_total_unknown_and_quiet(clock: list[float]) -> None:
    stream, silent = io.StringIO(), io.StringIO()
    with ProgressBar(stream=stream) as progress, ProgressBar("off", silent) as nothing:
        progress(Step("read", 0))
        nothing(Step("read", 0))
        clock[0] = 31.0
        progress(Step("read", 31 << 20))
        nothing(Step("read", 31 << 20))
    assert stream.getvalue() == "T+31 read: 31 MiB, 1 MiB/s\n"
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
    monkeypatch.setattr("gstream.cli.progress.PLAIN_SECONDS", 0.0)
    done = gstream("run", "bfs", store, "--source", "1", "--json")
    assert done.stderr.splitlines()[0].partition(" ")[2].startswith("superstep 1: 1 vertices active, ")
    assert len(done.stderr.splitlines()) == json.loads(done.stdout)["supersteps"]


@pytest.mark.parametrize(
    ("algorithm", "way", "said"),
    [
        ("betweenness", "plain", "sources:  14% of 7 sources"),
        ("betweenness", "json", '"stage": "sources", "done": 1, "total": 7, "unit": "sources"'),
        ("coloring", "plain", "rounds: 2 rounds"),
        ("leiden", "plain", "rounds: 2 rounds"),
    ],
)
def test_an_algorithm_of_its_own_shows_how_far_it_is(store, gstream, monkeypatch, algorithm, way, said) -> None:
    monkeypatch.setattr("gstream.cli.progress.PLAIN_SECONDS", 0.0)
    monkeypatch.setattr("gstream.telemetry.progress.WITHIN_SECONDS", 0.0)
    done = gstream("run", algorithm, store, "--progress", way)
    assert said in done.stderr, done.stderr


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


def test_what_a_first_run_takes_more_is_told_where_it_shows() -> None:
    for seconds, told in ((0.002, "; planned 0.002 s, 0.01 s more at first"), (0.5, "; planned 0.5 s")):
        step = {"seconds": 0.012}
        figures = {"per_superstep": [step], "predicted_seconds": seconds, "predicted_bytes": 1}
        assert superstep_times(figures) == f" in 0.012 s{told}"
