"""No command writes over what it reads, under whatever name; what is no regular file is refused at once."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import pytest

from tests.cli.command import EDGES, Command, run

DESTROY = "writing would destroy what is read. Name another file.\n"


@pytest.mark.parametrize("options", [[], ["--force"], ["--force", "--dry-run"], ["--force", "--resume"]])
@pytest.mark.parametrize("name", ["edges.txt", "./edges.txt", "soft.txt", "hard.txt"])
def test_convert_over_an_input(tmp_path: Path, gstream: Command, name: str, options: list[str]) -> None:
    (tmp_path / "edges.txt").write_text(EDGES)
    (tmp_path / "more.txt").write_text("8 9\n")
    os.symlink("edges.txt", tmp_path / "soft.txt")
    os.link(tmp_path / "edges.txt", tmp_path / "hard.txt")
    before = sorted(os.listdir(tmp_path))
    for inputs in (["edges.txt"], ["more.txt", "edges.txt"]):
        done = gstream("convert", *inputs, name, *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"{Path(name)}: is the input edges.txt; {DESTROY}"
    assert (tmp_path / "edges.txt").read_text() == EDGES
    assert sorted(os.listdir(tmp_path)) == before


def test_convert_over_what_belongs_to_an_input(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "g.v").write_text("1\n2\n")
    (tmp_path / "g.e").write_text("1 2\n")
    (tmp_path / "a.gs.skipped.txt").write_text(EDGES)
    (tmp_path / "b.gs.partial").write_text(EDGES)
    for inputs, store, written in (
        (["g.e"], "g.v", "g.v"),
        (["a.gs.skipped.txt", "--bad-lines", "skip"], "a.gs", "a.gs.skipped.txt"),
        (["b.gs.partial", "--format", "text"], "b.gs", "b.gs.partial"),
    ):
        before = (tmp_path / written).read_bytes()
        done = gstream("convert", inputs[0], store, "--force", *inputs[1:])
        assert (done.returncode, done.stderr) == (2, f"{written}: is the input {written}; {DESTROY}")
        assert (tmp_path / written).read_bytes() == before
    assert gstream("convert", "a.gs.skipped.txt", "a.gs").returncode == 0, "no line is skipped, no list is written"


def test_convert_over_standard_input(tmp_path: Path) -> None:
    import subprocess
    import sys

    from tests.cli.command import ROOT

    (tmp_path / "edges.txt").write_text(EDGES)
    command = [sys.executable, "-m", "gstream", "convert", "-", "edges.txt", "--force"]
    with open(tmp_path / "edges.txt") as stdin:
        done = subprocess.run(
            command, stdin=stdin, capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, f"edges.txt: is standard input; {DESTROY}")
    assert (tmp_path / "edges.txt").read_text() == EDGES


def test_export_over_the_store(tmp_path: Path, store: Path, gstream: Command) -> None:
    before = store.read_bytes()
    os.symlink("graph.gs", tmp_path / "link.csv")
    for name in ("graph.gs", "./graph.gs", "link.csv"):
        for options in ([], ["--force"], ["--force", "--format", "csv"]):
            done = gstream("export", store, name, *options)
            assert (done.returncode, done.stderr) == (2, f"{Path(name)}: is the input graph.gs; {DESTROY}")
    assert store.read_bytes() == before


def test_run_over_what_it_reads(tmp_path: Path, store: Path, gstream: Command) -> None:
    before = store.read_bytes()
    (tmp_path / "likes.csv").write_text("1 1\n")
    (tmp_path / "own.py").write_text("x = 1\n")
    os.symlink("graph.gs", tmp_path / "link.npy")
    for arguments, name, source in (
        (["pagerank", store, "-o", "graph.gs", "--ldbc"], "graph.gs", "graph.gs"),
        (["pagerank", store, "-o", "link.npy"], "link.npy", "graph.gs"),
        (["pagerank", store, "--trace", "link.npy"], "link.npy", "graph.gs"),
        (["pagerank", store, "--personalization", "likes.csv", "-o", "./likes.csv"], "likes.csv", "likes.csv"),
        (["own.py:Own", store, "-o", "own.py", "--ldbc"], "own.py", "own.py"),
    ):
        done = gstream("run", *arguments)
        assert (done.returncode, done.stderr) == (2, f"{name}: is the input {source}; {DESTROY}")
    assert store.read_bytes() == before
    assert (tmp_path / "likes.csv").read_text() == "1 1\n"


def test_pipes_and_devices(tmp_path: Path, store: Path) -> None:
    """To open a FIFO that nobody writes to would wait for ever (the test's time limit notices)."""
    os.mkfifo(tmp_path / "pipe")
    for arguments in (["info"], ["verify"], ["export", "-"], ["run", "wcc"], ["plan", "wcc"]):
        before, after = (arguments[:2], []) if arguments[0] in ("run", "plan") else (arguments[:1], arguments[1:])
        done = run(*before, "pipe", *after, cwd=tmp_path)
        assert done.returncode == 4, done.stderr
        assert done.stderr == "pipe: is a pipe or a device; a store is a file. Name the file.\n"
    for command in (["convert", "edges.txt"], ["export", "graph.gs"]):
        done = run(*command, "pipe", "--force", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (
            2,
            "pipe: is a device or a pipe, which a rename would replace. Name a file.\n",
        )


def test_workdir_is_not_made(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text(EDGES)
    for command in (["convert", "edges.txt", "graph.gs"], ["generate", "grid", "grid.gs", "--scale", "4"]):
        done = gstream(*command, "--workdir", "nodir")
        assert (done.returncode, done.stderr) == (2, "--workdir nodir: no such folder. Make it first.\n")
    assert os.listdir(tmp_path) == ["edges.txt"]
    (tmp_path / "work").mkdir()
    assert gstream("convert", "edges.txt", "graph.gs", "--workdir", "work").returncode == 0
    assert os.listdir(tmp_path / "work") == []


def test_folders_that_are_not_writable(
    tmp_path: Path, store: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found before an hour of conversion, not after it. (Root may write anywhere, so the system's word is changed.)"""
    (tmp_path / "locked").mkdir()
    allowed = os.access

    def access(path: str, mode: int) -> bool:
        return allowed(path, mode) and not (mode & os.W_OK and Path(path).name == "locked")

    monkeypatch.setattr(os, "access", access)
    for command, message in (
        (["convert", "edges.txt", "locked/a.gs"], "locked/a.gs: folder locked is not writable. Write elsewhere.\n"),
        (["export", store, "locked/a.txt"], "locked/a.txt: folder locked is not writable. Write elsewhere.\n"),
        (
            ["convert", "edges.txt", "a.gs", "--workdir", "locked"],
            "--workdir locked: is not writable. Name another folder.\n",
        ),
        (
            ["run", "wcc", store, "-o", "locked/a.csv"],
            "locked/a.csv: its folder locked can't be written. Choose another.\n",
        ),
    ):
        done = gstream(*command)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
    assert os.listdir(tmp_path / "locked") == [] and not (tmp_path / "a.gs").exists()


def test_a_folder_in_the_place_of_a_file(tmp_path: Path, store: Path, gstream: Command) -> None:
    (tmp_path / "dir").mkdir()
    done = gstream("export", store, "dir")
    assert (done.returncode, done.stderr) == (2, "dir: is a folder. Name a file, as dir/edges.txt.\n")
    done = gstream("convert", "edges.txt", "dir")
    assert (done.returncode, done.stderr) == (2, "dir: is a folder. Name a file, as dir/graph.gs.\n")


@pytest.mark.parametrize("name", [".", "/", ""])
def test_a_name_that_is_a_folder(tmp_path: Path, gstream: Command, name: str) -> None:
    (tmp_path / "e.txt").write_text(EDGES)
    assert gstream("convert", "e.txt", "g.gs").returncode == 0
    for command in (
        ["run", "wcc", "g.gs", "-o"],
        ["run", "wcc", "g.gs", "--trace"],
        ["export", "g.gs"],
        ["convert", "e.txt"],
    ):
        done = gstream(*command, name)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is a folder. Name a file" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", [[], ["--force"]])
@pytest.mark.parametrize("name", ["part-2.txt", "e2.csv", "edges", "data.h5", "a.gs"])
def test_a_forgotten_store_is_an_input_and_stays(
    tmp_path: Path, gstream: Command, name: str, options: list[str]
) -> None:
    (tmp_path / "part-1.txt").write_text(EDGES)
    if name == "data.h5":
        with h5py.File(tmp_path / name, "w") as file:
            file["x"] = [1]
    else:
        (tmp_path / name).write_text("3 4\n")
    before = (tmp_path / name).read_bytes()
    refused = gstream("convert", "part-1.txt", name, *options)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "name the store behind it" in refused.stderr
    if name.endswith((".txt", ".csv")):
        assert f"gstream convert part-1.txt {name} NAME.gs" in refused.stderr
    assert (tmp_path / name).read_bytes() == before


def test_force_replaces_stores_and_empty_files_alone(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "part-1.txt").write_text(EDGES)
    (tmp_path / "store").touch()
    for _ in range(2):
        assert gstream("convert", "part-1.txt", "store", "--force").returncode == 0
    (tmp_path / "kept").write_text(EDGES)
    (tmp_path / "kept.gs").write_text(EDGES)
    for command in (
        ("update", "store", "kept", "--add", "part-1.txt"),
        ("generate", "rmat", "kept.gs", "--scale", "4"),
    ):
        refused = gstream(*command, "--force")
        assert refused.returncode == 2 and "is no gstream store" in refused.stderr
    assert (tmp_path / "kept").read_text() == (tmp_path / "kept.gs").read_text() == EDGES
