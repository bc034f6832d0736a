"""File systems of their own, mounted where only the test sees them: one that is read-only, and one that is full."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.cli.command import ROOT

COMMANDS = """
import contextlib, io, json, os, sys
from gstream.cli.commands import run_command_line
ended = []
for command in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command_line(command)
    ended.append((code, err.getvalue(), out.getvalue()))
json.dump([ended, sorted(os.listdir("disk"))], sys.stdout)
"""
NOT_WRITABLE = "{0}: folder disk is not writable. Write elsewhere.\n"
WRITING = [  # what would write there: the command, and what is said
    (["convert", "edges.txt", "disk/new.gs"], NOT_WRITABLE.format("disk/new.gs")),
    (["convert", "edges.txt", "disk/graph.gs", "--force"], NOT_WRITABLE.format("disk/graph.gs")),
    (
        ["convert", "edges.txt", "new.gs", "--workdir", "disk"],
        "--workdir disk: is not writable. Name another folder.\n",
    ),
    (["generate", "rmat", "disk/new.gs", "--scale", "6"], NOT_WRITABLE.format("disk/new.gs")),
    (["generate", "rmat", "disk/new.txt", "--scale", "6"], NOT_WRITABLE.format("disk/new.txt")),
    (["export", "disk/graph.gs", "disk/new.csv"], NOT_WRITABLE.format("disk/new.csv")),
    (["run", "degrees", "disk/graph.gs", "--trace", "disk/run.json"], NOT_WRITABLE.format("disk/run.json")),
    (
        ["run", "degrees", "disk/graph.gs", "-o", "disk/out.csv"],
        "disk/out.csv: its folder disk can't be written. Choose another.\n",
    ),
    (
        ["run", "pagerank", "disk/graph.gs", "--checkpoint", "disk/kept"],
        "--checkpoint disk/kept: Read-only file system. Name a folder, or a new one in a folder that exists.\n",
    ),
]


@cache
def mounts() -> bool:
    """Whether a user may mount file systems that nobody else sees."""
    if not shutil.which("unshare"):
        return False
    tried = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp && mount -o remount,ro /tmp"]
    return subprocess.run(tried, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not mounts(), reason="users may mount nothing of their own here (unshare -rm)")


def commands_on(folder: Path, store: bytes, options: str, commands: list[list[str]], **more: str) -> tuple[list, list]:
    """([exit code, standard error, standard output] of each command, names in the end), with folder/disk mounted.

    options: of the mount, once the store is there as graph.gs. more: variables of the environment.
    """
    (folder / "edges.txt").write_text("1 2\n2 3\n3 1\n")
    (folder / "graph.gs").write_bytes(store)
    (folder / "disk").mkdir()
    mount = f'mount -t tmpfs tmpfs disk && cp graph.gs disk/ && mount -o remount,{options} disk && exec "$@"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount, "sh", sys.executable, "-c", COMMANDS], cwd=folder, text=True, timeout=600,
        input=json.dumps(commands), capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT), **more},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ended, names = json.loads(done.stdout)
    assert len(ended) == len(commands)
    return ended, names


@pytest.mark.long
def test_what_is_read_only_is_read(tmp_path: Path, small_store: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores, also where the folders of caches and temporary files are, too; what would write says that it can't."""
    monkeypatch.setenv("TMPDIR", "disk")
    monkeypatch.setenv("XDG_CACHE_HOME", "disk/cache")
    reading = [["run", "bfs", "disk/graph.gs", "--source", "1"], ["verify", "disk/graph.gs"], ["info", "disk/graph.gs"]]
    commands = [*reading, *(command for command, _ in WRITING)]
    ended, names = commands_on(tmp_path, small_store, "ro", commands, HOME="disk", NUMBA_CACHE_DIR="disk/numba")
    assert [(code, err) for code, err, _ in ended[:3]] == [(0, "")] * 3
    assert "\nreached         5\n" in ended[0][2]
    assert [[code, err] for code, err, _ in ended[3:]] == [[2, said] for _, said in WRITING]
    assert names == ["graph.gs"]
    assert sorted(os.listdir(tmp_path)) == ["disk", "edges.txt", "graph.gs"]


def test_a_disk_that_is_full(tmp_path: Path, small_store: bytes) -> None:
    room = (len(small_store) >> 10) + 200
    commands = [
        ["convert", "edges.txt", "disk/new.gs"], ["generate", "rmat", "disk/new.txt", "--scale", "16"],
        ["run", "bfs", "disk/graph.gs", "--source", "1"],
    ]  # fmt: skip
    ended, names = commands_on(tmp_path, small_store, f"size={room}k", commands)
    assert [code for code, _, _ in ended] == [5, 5, 0]
    refused, cut = ended[0][1], ended[1][1]
    assert re.search(r"/disk: the conversion needs [\d,]+ bytes there; [\d,]+ are free\. Free some space, ", refused)
    assert cut == "disk/new.txt: no space left. Free some space, or write to another disk.\n"
    assert names == ["graph.gs"]
