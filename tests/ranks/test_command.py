"""`mpiexec -n N gstream run`: what is printed and written once, and how all ranks end when one fails."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet
import pytest
from rank_processes import MPIEXEC, environment, lines_of_ours, mpiexec

import gstream
from gstream.reporting.page import render
from gstream.reporting.timelines import lanes_of
from tests.cli.command import ENDLESS

END_SECONDS = 120.0  # a launcher that hangs; how fast ranks end is measured elsewhere
FAILS = """
import os

from gstream import MIN, Program, u32

if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
    raise ValueError("no such parameter")


class Fails(Program):
    combine, value = MIN, u32

    def start(self, v, g):
        return v.id

    def send(self, u, e, g):
        return u.value
"""

SHARE = ("--ranks", "share")
LOADED = """

import os
import pathlib

launcher = os.getppid()
for process in pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
    pathlib.Path(f"{process}.loaded").touch()
"""


@pytest.mark.parametrize("ranks", [SHARE, ()], ids=["shared", "one for all"])
def test_the_answer_is_a_folder_with_a_file_a_rank(stores: Path, tmp_path: Path, ranks):
    store, folder = stores / "directed.gs", tmp_path / "ranks"
    left = tmp_path / ".ranks.0123456789abcdef.partial"
    left.mkdir()
    (left / "part-00000.parquet").touch()
    words = ("run", "wcc", store, "--no-heads", "--json", "-o", folder, *ranks)
    done = mpiexec(3, "-m", "gstream", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout  # where the launcher says which rank ended, and how
    assert os.listdir(tmp_path) == ["ranks"]
    parts = sorted(folder.iterdir())
    assert [part.name for part in parts] == [f"part-{rank:05}.parquet" for rank in range(3)]
    tables = [pyarrow.parquet.read_table(part) for part in parts]
    with gstream.open(store, devices="host") as graph:
        whole = graph.wcc(certify=False).to_arrow()
    assert pyarrow.concat_tables(tables).equals(whole) and min(map(len, tables)) > 0
    summary = json.loads(done.stdout.replace("\x1b[0m", ""))  # Open MPI ends with a colour
    assert summary["rows"] == len(whole) and summary["ranks"]["ranks"] == 3
    assert summary["ranks"]["alone"] == (summary["ranks"]["bytes_exchanged"] == 0) == (not ranks)


def test_a_rank_that_fails_says_so_once_and_ends_all(stores: Path, tmp_path: Path):
    (tmp_path / "mine.py").write_text(FAILS)
    began = time.monotonic()
    words = ("run", "mine.py:Fails", stores / "directed.gs", "-o", "out.csv", *SHARE)
    done = mpiexec(2, "-m", "gstream", *words, cwd=tmp_path)
    assert time.monotonic() - began < END_SECONDS
    said = [line for line in done.stderr.splitlines() if "no such parameter" in line]
    assert len(said) == 1 and said[0].startswith(f"rank 1 on {socket.gethostname()}: "), done.stderr
    assert "Traceback" not in done.stderr and done.returncode == 2
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "words, code, said",
    [
        (("bfs", "none.gs"), 4, "none.gs"),
        pytest.param(("bfs", "{store}", "-o", "there.csv"), 2, "there.csv: is a file", marks=pytest.mark.long),
        pytest.param(("bfs", "{store}", "--ranks", "on"), 2, "--ranks on: must be", marks=pytest.mark.long),
    ],
)
def test_what_fails_on_all_ranks_is_said_once(stores: Path, tmp_path: Path, words, code, said):
    (tmp_path / "there.csv").touch()
    done = mpiexec(
        2, "-m", "gstream", "run", *[word.format(store=stores / "directed.gs") for word in words], cwd=tmp_path
    )
    assert done.returncode == code
    assert said in done.stderr and len(lines_of_ours(done.stderr)) == 1, done.stderr


def test_a_run_on_parts_names_the_folder_and_traces_what_it_exchanges_and_what_all_ranks_did(
    stores: Path, tmp_path: Path
) -> None:
    gstream.split(stores / "wide.gs", tmp_path / "web.parts", 2, threads=1)
    words = ("run", "pagerank", "web.parts", "--iterations", 3, "--json", "--trace", "run.json")
    done = mpiexec(2, "-m", "gstream", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    summary = json.loads(done.stdout)
    trace = json.loads((tmp_path / "run.json").read_text())
    facts, events = trace["otherData"]["gstream"], trace["traceEvents"]
    with gstream.open(stores / "wide.gs", devices="host") as graph:
        steps = graph.pagerank(iterations=3).summary["stats"]["per_superstep"]
    for name in ("pages", "edges_visited"):  # all of both parts
        assert [step[name] for step in facts["stats"]["per_superstep"]] == [step[name] for step in steps]
    assert facts["command"].startswith("mpiexec -n 2 gstream run pagerank web.parts ")
    page = render(facts, events)
    assert "those of all 2 ranks" in page and "Of all 2 ranks, by the first one's clock" in page.replace("&#39;", "'")
    lanes, seconds = lanes_of(events)
    ends = {lane.process: lane.bars[-1][0] for lane in lanes if lane.label.endswith("driver: vertices")}
    assert {*ends} == {"rank 0: driver", "rank 1: driver"}
    assert abs(ends["rank 0: driver"] - ends["rank 1: driver"]) < seconds / 2, "all end a superstep together"
    told = re.findall(r"vertices 0 to \d+, (\d+) bytes to other ranks", (tmp_path / "run.json").read_text())
    assert summary["store"] == "web.parts" and len(told) == 2 * 3
    assert 0 < sum(map(int, told)) < summary["ranks"]["bytes_exchanged"]


@pytest.mark.long
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_part_that_is_not_whole_ends_all_ranks(stores: Path, tmp_path: Path, damage: str):
    gstream.split(stores / "wide.gs", tmp_path / "web.parts", 2, threads=1)
    part = tmp_path / "web.parts/part-00001.gs"
    os.truncate(part, part.stat().st_size // 2)
    if damage == "missing":
        part.unlink()
    done = mpiexec(2, "-m", "gstream", "run", "pagerank", "web.parts", "-o", "answer", cwd=tmp_path)
    said = [line for line in done.stderr.splitlines() if "part-00001.gs: " in line]
    assert done.returncode == 4 and len(said) == 1 and said[0].startswith("rank 1 on "), done.stderr
    assert os.listdir(tmp_path) == ["web.parts"]


@pytest.mark.long
def test_ranks_off_runs_each_process_alone(stores: Path, tmp_path: Path):
    words = ("run", "wcc", stores / "directed.gs", "--json", "--ranks", "off")
    done = mpiexec(2, "-m", "gstream", *words, cwd=tmp_path)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2
    assert "ranks" not in json.loads(done.stdout.splitlines()[0])


def loaded(folder: Path) -> list[int]:
    """All ranks, in order, once one of them has loaded the program."""
    return sorted(int(path.stem) for path in folder.glob("*.loaded"))


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("ranks", [(), pytest.param(SHARE, marks=pytest.mark.long)], ids=["one for all", "shared"])
def test_all_end_when_one_is_killed_and_nothing_is_left(stores: Path, tmp_path: Path, ranks):
    """Of ranks that share a run, and where one of them waits for the first."""
    (tmp_path / "mine.py").write_text(ENDLESS + LOADED)
    words = ["-m", "gstream", "run", "mine.py:Count", str(stores / "directed.gs"), "-o", "out", *ranks]
    launcher = subprocess.Popen(
        [str(MPIEXEC), "-n", "2", sys.executable, *words],
        cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while len(loaded(tmp_path)) < 2:
        assert launcher.poll() is None
        time.sleep(0.01)
    processes = loaded(tmp_path)
    os.kill(processes[1], signal.SIGKILL)
    launcher.communicate(timeout=END_SECONDS)
    assert launcher.returncode != 0 and not any(map(is_alive, processes))
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".loaded"} <= {"mine.py", "__pycache__"}


@pytest.mark.long
@pytest.mark.parametrize("ranks", [SHARE, ()], ids=["shared", "one for all"])
def test_sigterm_to_one_rank_keeps_the_run(stores: Path, tmp_path: Path, ranks):
    (tmp_path / "mine.py").write_text(ENDLESS + LOADED)
    words = ["run", "mine.py:Count", str(stores / "directed.gs"), "--checkpoint", "kept", "--checkpoint-every", "1"]
    words += ranks
    launcher = subprocess.Popen(
        [str(MPIEXEC), "-n", "2", sys.executable, "-m", "gstream", *words],
        cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (tmp_path / "kept" / "slot-0").exists():
        assert launcher.poll() is None
        time.sleep(0.01)
    os.kill(max(loaded(tmp_path)), signal.SIGTERM)
    said = launcher.communicate(timeout=END_SECONDS)[1]
    assert launcher.returncode == 143 and len(lines_of_ours(said)) == 1, said
    assert said.startswith("stopped by SIGTERM; kept: holds the run's checkpoint after superstep"), said
