"""A full disk, wherever it is met: one plain line, exit 5, nothing left behind. A limit on file sizes stands for it."""

from __future__ import annotations

import errno
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import choice
import numpy as np
import pytest

from gstream.telemetry.trace import ChromeTrace
from pagestore.errors import ResourceError
from tests.cli.command import ROOT, Command

LIMIT = 300_000  # bytes a file; the store of nothing takes 2 MiB
EDGES = 30_000


def limited(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command that may write LIMIT bytes to a file."""
    return subprocess.run(
        [sys.executable, "-m", "gstream", *arguments], cwd=cwd, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full")
    random = np.random.default_rng(1)
    np.save(path / "edges.npy", random.integers(0, 1 << 19, (EDGES, 2)))
    (path / "names.txt").write_text("".join(f"vertex-{a:09d} vertex-{b:09d}\n" for a, b in np.load(path / "edges.npy")))
    (path / "bad.txt").write_text("1 2\n" * 99 + "this line is no edge\n" * EDGES)
    subprocess.run(
        [sys.executable, "-m", "gstream", "convert", "edges.npy", "graph.gs", "--page-size", "64KiB"], cwd=path,
        check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return path


def test_standard_output(folder: Path) -> None:
    """Neither has anything to do with --workdir, which only commands that make temporary files have."""
    for options in ([], ["--trace", "run.json"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "gstream", "run", "degrees", "graph.gs", *options], cwd=folder, stdout=full,
                stderr=subprocess.PIPE, text=True, timeout=600, env={**os.environ, "PYTHONPATH": str(ROOT)},
            )  # fmt: skip
        said = "writing failed: no space left. Free some space, or write to another disk.\n"
        assert (done.returncode, done.stderr) == (5, said)
    (folder / "run.json").unlink()


def test_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*names: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    said = "run.json: no space left. Free some space, or write to another disk."
    with pytest.raises(ResourceError, match=said):
        ChromeTrace().write(tmp_path / "run.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["convert", "edges.npy", "x.gs"], "x.gs.partial"),
        (["export", "graph.gs", "x.csv"], "x.csv"),
        *choice.also(
            (["convert", "names.txt", "x.gs"], "hashed"),
            (["generate", "rmat", "x.gs", "--scale", "12"], "x.gs.partial"),
            (["convert", "edges.npy", "x.gs", "--memory", "16MiB"], "x.gs.partial"),
            (["convert", "bad.txt", "x.gs", "--bad-lines", "skip", "--format", "text"], "x.gs.skipped.txt"),
            (["generate", "rmat", "x.npy", "--scale", "14"], "x.npy"),
            (["generate", "rmat", "x.txt", "--scale", "14"], "x.txt"),
            (["generate", "rmat", "x.parquet", "--scale", "16"], "x.parquet"),
            (["export", "graph.gs", "x.txt"], "x.txt"),
        ),
    ],
)
def test_one_line_and_exit_5(folder: Path, arguments: list[str], where: str) -> None:
    before = sorted(os.listdir(folder))
    done = limited(*arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
    line = done.stderr.splitlines()[-1]
    assert re.match(rf"\S*{re.escape(where)}: no space left in the file, whose size is limited", line)
    assert "Raise the limit (ulimit -f), or " in line
    assert not re.search(r"errno|file descriptor|writing 0 bytes|Traceback", done.stderr)
    left = [name for name in os.listdir(folder) if name not in before]
    assert left == []


def test_the_list_of_skipped_lines_stays_with_its_store(
    tmp_path: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the store is renamed and the sync behind that fails, it is there, and so is what it left out."""
    (tmp_path / "bad.txt").write_text("1 2\nno edge at all\n3 4\n")
    real = os.fsync

    def fail(file: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{file}"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(file)

    monkeypatch.setattr(os, "fsync", fail)
    done = gstream("convert", "bad.txt", "x.gs", "--bad-lines", "skip", "--format", "text")
    assert done.returncode == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "x.gs", "x.gs.skipped.txt"]
