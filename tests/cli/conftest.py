"""Fixtures: a command in a folder of its own, and a small store."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gstream.algorithms import call_times
from gstream.cli.commands import run_command_line
from tests.cli.command import EDGES, Command, Done, options_it_lacks
from tests.cli.pages import transcripts


@pytest.fixture(autouse=True)
def untaught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans say the same on every machine: no run has taught them how long calls take."""
    monkeypatch.setattr(call_times, "lesson_of", lambda *_: None)


@pytest.fixture
def gstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process, in `tmp_path`. What it says names no option that it lacks."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> Done:
        capfd.readouterr()
        code = run_command_line([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        assert options_it_lacks(arguments, captured.err) == [], captured.err
        return Done(code, captured.out, captured.err)

    return command


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Bytes of the small graph's store."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "edges.txt").write_text(EDGES)
    assert run_command_line(["convert", str(folder / "edges.txt"), str(folder / "graph.gs")]) == 0
    return (folder / "graph.gs").read_bytes()


@pytest.fixture
def store(tmp_path: Path, small_store: bytes) -> Path:
    """The small graph as graph.gs, its text beside it."""
    (tmp_path / "edges.txt").write_text(EDGES)
    (tmp_path / "graph.gs").write_bytes(small_store)
    return Path("graph.gs")


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The stores that pages begin with, made once."""
    folder = tmp_path_factory.mktemp("stores")
    shutil.copy(transcripts.SHIPPED, folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        for line in transcripts.STORES.values():
            assert run_command_line(line.split()) == 0
    finally:
        os.chdir(before)
    return {name: folder / name for name in transcripts.STORES}
