"""Faults of one rank end all of them, with one line that says why, and nothing half-written."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from rank_processes import HERE, MPIEXEC, environment, launched, lines_of_ours, mpiexec

import gstream

END_SECONDS = 120.0  # a launcher that hangs; how fast ranks end is measured elsewhere
OF_ANOTHER_VERSION = """
import sys

import gstream.version

gstream.version.__version__ = "0.0.1"

from gstream.cli.main import main

sys.exit(main())
"""


@pytest.mark.parametrize(
    "fault, words, code, said",
    [
        ("memory:1:3", (), 5, "memory ran out"),
        pytest.param("memory:1:3", (), 5, "memory ran out", marks=pytest.mark.long, id="memory on parts"),
        pytest.param("disk:1:1", (), 5, "rank 1: ", marks=pytest.mark.long),
        pytest.param(
            "disk:1:2", ("--checkpoint", "kept", "--checkpoint-every", "1"), 5, "checkpoint", marks=pytest.mark.long
        ),
        pytest.param("disk:0:1", (), 5, "rank 0: ", marks=pytest.mark.long),
        pytest.param("memory:0:2", (), 5, "memory ran out", marks=pytest.mark.long),
    ],
)
def test_a_rank_that_runs_out_of_something(stores: Path, tmp_path: Path, request, fault, words, code, said):
    graph = stores / "directed.gs"
    if "parts" in request.node.name:
        graph = tmp_path.with_suffix(".parts")
        gstream.split(stores / "directed.gs", graph, 2, threads=1)
    run = ("run", f"{HERE}/faulty.py:Hops", graph, "-o", "out", "--ranks", "share", *words)
    done = mpiexec(2, "-m", "gstream", *run, cwd=tmp_path, seconds=END_SECONDS, fault=fault)
    ours = lines_of_ours(done.stderr)
    assert done.returncode == code and len(ours) == 1 and said in ours[0], done.stderr
    assert not (tmp_path / "out").exists()
    if words:
        assert "--resume goes on from" in ours[0] or "holds no checkpoint yet" in ours[0]


def in_two(tmp_path: Path, first: list[object], second: list[object], store: Path) -> subprocess.CompletedProcess[str]:
    """`gstream run wcc graph.gs` in two ranks, each begun in its own way and folder."""
    words = ["run", "wcc", "graph.gs", "-o", str(tmp_path / "out")]
    command: list[object] = [MPIEXEC]
    for number, begun in enumerate((first, second)):
        folder = tmp_path / f"{number}"
        folder.mkdir(exist_ok=True)
        if not (folder / "graph.gs").exists():
            shutil.copy(store, folder / "graph.gs")
        command += [
            *([":"] if number else []),
            "-n",
            "1",
            "-wdir",
            str(folder),
            sys.executable,
            *map(str, begun),
            *words,
        ]
    return launched(command, cwd=tmp_path, seconds=END_SECONDS)


def test_ranks_of_different_versions_are_refused(stores: Path, tmp_path: Path):
    (tmp_path / "other.py").write_text(OF_ANOTHER_VERSION)
    done = in_two(tmp_path, ["-m", "gstream"], [tmp_path / "other.py"], stores / "directed.gs")
    assert done.returncode == 2 and len(lines_of_ours(done.stderr)) == 1, done.stderr
    assert "is gstream 0.0.1, and rank 0 on" in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.long
def test_a_store_that_is_damaged_for_one_rank(stores: Path, tmp_path: Path):
    (tmp_path / "1").mkdir()
    data = bytearray((stores / "directed.gs").read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    (tmp_path / "1" / "graph.gs").write_bytes(data)
    began = time.monotonic()
    done = in_two(tmp_path, ["-m", "gstream"], ["-m", "gstream"], stores / "directed.gs")
    assert time.monotonic() - began < END_SECONDS
    ours = lines_of_ours(done.stderr)
    assert done.returncode == 4 and len(ours) == 1 and ours[0].startswith("rank 1 on "), done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_a_rank_that_waits_for_one_that_never_joins_ends_by_a_signal(stores: Path, tmp_path: Path):
    """MPICH's launcher does not end the others of a process that ends before it has joined them."""
    run = [sys.executable, "-m", "gstream", "run", "wcc", stores / "directed.gs", "-o", "out"]
    command = [str(word) for word in (MPIEXEC, "-n", 1, *run, ":", "-n", 1, "sh", "-c", "touch gone; exit 4")]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL)
    try:
        while not (tmp_path / "gone").exists() and process.poll() is None:
            time.sleep(0.1)
        with suppress(subprocess.TimeoutExpired):  # other launchers end them
            process.wait(5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) != 0 and not (tmp_path / "out").exists()
    finally:
        process.kill()
