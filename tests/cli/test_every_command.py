"""Every command once, one after the other, as a newcomer might."""

from __future__ import annotations

import pytest

from gstream.cli.commands import FILES, app_of
from tests.cli.command import EDGES, Command

IN_TURN = [
    ("generate", "rmat", "made.gs", "--scale", "6", "--edge-factor", "4"),
    ("convert", "edges.txt", "graph.gs"),
    ("info", "graph.gs"),
    ("verify", "graph.gs"),
    ("export", "graph.gs", "back.txt"),
    ("update", "graph.gs", "changed.gs", "--add", "edges.txt"),
    ("split", "graph.gs", "graph.parts", "--parts", "2"),
    ("stats", "graph.gs"),
    ("plan", "bfs", "graph.gs", "--source", "1"),
    ("run", "bfs", "graph.gs", "--source", "1", "--trace", "run.json"),
    ("report", "run.json"),
    ("show", "bfs"),
    ("cache", "--json"),
    ("doctor",),
]


def test_every_command(gstream: Command, tmp_path) -> None:
    pytest.importorskip("jinja2"), pytest.importorskip("matplotlib")
    (tmp_path / "edges.txt").write_text(EDGES)
    for command in IN_TURN:
        done = gstream(*command)
        assert (done.returncode, done.stderr.count("error")) == (0, 0) and done.stdout + done.stderr, (command, done)
    assert {name for name, *_ in IN_TURN} | {"warm"} == {command.name for command in app_of().registered_commands}
    assert len((tmp_path / "back.txt").read_text().split()) == len(EDGES.split("\n", 1)[1].split())


def test_a_command_is_found_in_its_file() -> None:
    """A command line that is made for one command has it; all are in some file."""
    for names in FILES.values():
        for name in names:
            assert tuple(command.name for command in app_of(name).registered_commands) == names
    assert [one.name for one in app_of().registered_commands] == [name for names in FILES.values() for name in names]
