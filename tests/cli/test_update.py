"""`gstream update` and `gstream.update`: files of changes, names, and messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gstream as package
from gstream.interop.options import UpdateOptions
from pagestore.errors import InputError, UsageError
from tests.cli.command import Command


def test_names_are_added(gstream: Command, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("from,to,amount\nbob,dora,1\ndora,anna,2\n")
    (tmp_path / "more.csv").write_text("from,to,amount\nzoe,bob,3\nbob,carl,0.5\n\u00c9va,anna,7\n")
    (tmp_path / "gone.csv").write_text("from,to\ndora,anna\n")
    assert gstream("convert", "edges.csv", "a.gs").returncode == 0
    done = gstream("update", "a.gs", "b.gs", "--add", "more.csv", "--remove", "gone.csv", "--json")
    assert done.returncode == 0, done
    report = json.loads(done.stdout)
    assert (report["vertices"], report["edges"], report["input_edges"]) == (6, 4, 4)
    assert gstream("verify", "b.gs").returncode == 0
    gstream("export", "b.gs", "back.csv")
    lines = sorted((tmp_path / "back.csv").read_text(encoding="utf-8").replace('"', "").splitlines()[1:])
    assert lines == ["bob,carl,0.5", "bob,dora,1", "zoe,bob,3", "\u00c9va,anna,7"]


def test_a_graph_of_python(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n")
    (tmp_path / "more.txt").write_text("3 4\n")
    package.convert(tmp_path / "edges.txt", tmp_path / "a.gs").close()
    with package.update(tmp_path / "a.gs", tmp_path / "b.gs", add=tmp_path / "more.txt") as graph:
        assert (graph.conversion["vertices"], graph.conversion["edges"]) == (4, 3)
    with pytest.raises(UsageError, match="exists"):
        package.update(tmp_path / "a.gs", tmp_path / "b.gs", add=tmp_path / "more.txt")
    with pytest.raises(UsageError, match="neither is given"):
        package.update(tmp_path / "a.gs", tmp_path / "c.gs")
    with pytest.raises(InputError, match="1 edge or more to remove"):
        package.update(tmp_path / "a.gs", tmp_path / "c.gs", remove=tmp_path / "more.txt")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.gs", "b.gs", "edges.txt", "more.txt"]


def test_every_option_has_a_keyword() -> None:
    import typer

    from gstream.cli.commands import app

    named = {parameter.name for parameter in typer.main.get_command(app).commands["update"].params}
    assert named - {"store", "new", "add", "remove", "json", "log_file"} == {*UpdateOptions.__annotations__}
