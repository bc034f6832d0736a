"""`gstream update` and `gstream.update`: files of changes, names, and messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gstream as package
from gstream.interop.options import UpdateOptions
from pagestore.errors import GstreamError, InputError, UsageError
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
    with pytest.raises(InputError, match="at least 1 edge to remove"):
        package.update(tmp_path / "a.gs", tmp_path / "c.gs", remove=tmp_path / "more.txt")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.gs", "b.gs", "edges.txt", "more.txt"]


IDS = "IDs run from 0 to 2^63-1"
REFUSED = [  # a store, a file, and what is said of it: no option of convert's alone
    (
        "w.gs",
        "nan.txt",
        b"1 2 nan\n",
        "nan.txt:1:5: weight nan is not finite; weights are finite numbers. Fix the line, or pass --bad-lines skip.",
    ),
    (
        "w.gs",
        "x.txt",
        b"1 2 3\n" * 3 + b"1 x 3\n",
        f"x.txt:4:3: vertex ID 'x' is not a number; {IDS}. Fix the line, or pass --bad-lines",
    ),
    ("w.gs", "pad.txt", b"007 9 1\n7 2 3\n", "9 and 009 may be two vertices or one. Write it as the store does."),
    ("w.gs", "e.csv", b"a,b,c,d\n1,2,3,4\n5,6,7,8\n", "gstream update w.gs new.gs --add e.csv --source-column N"),
    ("w.gs", "none.txt", b"# none\n", "an input has at least one edge. Leave the file out."),
    ("w.gs", "a.gml", b"graph [\n", "a.gml"),
    ("s.gs", "a.e", b"1 2\n", "IDs of the store are names, and ldbc has numbers. Formats with names are text, Parquet"),
    ("s.gs", "a.txt", b"a b\nc\n", "1 field in 'c'; 2 are due: source and target. Fix the line, or pass --bad"),
]


@pytest.mark.parametrize("store, name, changes, said", REFUSED)
def test_refusals_name_options_of_update(
    gstream: Command, tmp_path: Path, store: str, name: str, changes: bytes, said: str
) -> None:
    (tmp_path / "w.txt").write_text("1 2 3\n2 3 1\n")
    (tmp_path / "s.txt").write_text("a b\nb c\n")
    (tmp_path / name).write_bytes(changes)
    assert gstream("convert", f"{store[0]}.txt", store).returncode == 0
    done = gstream("update", store, "new.gs", "--add", name)
    assert done.returncode in (2, 4) and said in done.stderr
    with pytest.raises(GstreamError) as caught:
        package.update(store, "new.gs", add=name)
    assert "--" not in str(caught.value) and "gstream update" not in str(caught.value)


def test_bad_lines_of_changes_are_skipped_and_listed(gstream: Command, tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n3 1\n")
    (tmp_path / "more.txt").write_text("3 4\n5 -6\n4 1\n")
    (tmp_path / "gone.txt").write_text("1 2\n9\n")
    assert gstream("convert", "edges.txt", "a.gs").returncode == 0
    changes = ("update", "a.gs", "b.gs", "--add", "more.txt", "--remove", "gone.txt")
    assert gstream(*changes).returncode == 4
    done = gstream(*changes, "--bad-lines", "skip", "--json")
    report = json.loads(done.stdout)
    assert (report["edges"], report["added_edges"], report["removed_edges"], report["skipped_lines"]) == (4, 2, 1, 2)
    assert "--remove: 1 line skipped, listed in b.gs.remove.skipped.txt.\n" in done.stderr
    assert (tmp_path / "b.gs.add.skipped.txt").read_text().startswith("more.txt:2:3\tvertex ID -6 is negative")
    refused = gstream(*changes, "--bad-lines", "skip")
    assert refused.returncode == 2 and "exists" in refused.stderr
    (tmp_path / "more.txt").write_text("3 4\n")
    with pytest.warns(UserWarning, match=r"remove: 1 line skipped, listed in .*b.gs.remove.skipped.txt"):
        package.update("a.gs", "b.gs", add="more.txt", remove="gone.txt", bad_lines="skip", force=True).close()
    assert not (tmp_path / "b.gs.add.skipped.txt").exists()  # of the update before
    (tmp_path / "gone.txt").write_text("9 9\n7\n")
    failed = gstream(*changes[:2], "c.gs", *changes[3:], "--bad-lines", "skip")
    assert failed.returncode == 4 and not list(tmp_path.glob("c.gs*"))


def test_directions_of_changes(gstream: Command, tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n")
    (tmp_path / "more.txt").write_text("# undirected graph\n3 1\n")
    assert gstream("convert", "edges.txt", "a.gs").returncode == 0
    done = gstream("update", "a.gs", "b.gs", "--add", "more.txt")
    assert "directed as the store is, not as its comments say.\n" in done.stderr


def test_a_third_column_of_changes_is_the_weight_of_a_weighted_store(gstream: Command, tmp_path: Path) -> None:
    rows = [f"ann {at} {1700000000 + at}" for at in range(9)]  # which may be times
    (tmp_path / "edges.txt").write_text("\n".join(rows[:5]) + "\nbob 4 7.5\n")
    (tmp_path / "more.txt").write_text("\n".join(rows) + "\n")
    done = gstream("convert", "more.txt", "a.gs")
    assert done.returncode == 4 and "column 3 may hold times" in done.stderr
    assert gstream("convert", "edges.txt", "a.gs").returncode == 0
    done = gstream("update", "a.gs", "b.gs", "--add", "more.txt", "--remove", "edges.txt", "--json")
    report = json.loads(done.stdout)
    assert (report["edges"], report["added_edges"], report["removed_edges"]) == (9, 9, 6)


def test_every_option_has_a_keyword() -> None:
    import typer

    from gstream.cli.commands import app_of

    named = {parameter.name for parameter in typer.main.get_command(app_of()).commands["update"].params}
    assert named - {"store", "new", "add", "remove", "json", "log_file"} == {*UpdateOptions.__annotations__}
