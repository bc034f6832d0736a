"""convert, info, verify and export as a user runs them: output, exit codes, messages, files left behind."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from small_stores import random_edges, write_store

from tests.cli.command import EDGES, Command, run


def test_convert_reports_and_leaves_only_the_store(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text(EDGES)
    done = gstream("convert", "edges.txt", "graph.gs")
    assert done.returncode == 0, done.stderr
    assert "7 vertices, 6 edges stored, directed" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.txt", "graph.gs"]


def test_convert_from_stdin_and_export_to_stdout(tmp_path: Path) -> None:
    assert run("convert", "-", "graph.gs", cwd=tmp_path, stdin=EDGES).returncode == 0
    done = run("export", "graph.gs", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\t2\n2\t3\n3\t1\n3\t4\n4\t5\n6\t7\n"


def test_an_existing_store_is_kept_unless_forced(store: Path, gstream: Command) -> None:
    before = store.read_bytes()
    refused = gstream("convert", "edges.txt", "graph.gs", "--undirected")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "graph.gs: exists. Pass --force to replace it, or another name.\n"
    assert store.read_bytes() == before
    assert gstream("convert", "edges.txt", "graph.gs", "--undirected", "--force").returncode == 0
    assert store.read_bytes() != before


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        ("1 2\n1 -3\n", [], 4, "edges.txt:2:3: vertex ID -3 is negative"),
        ("1 2\n1\n", [], 4, "edges.txt:2:"),
        ("", [], 4, "edges.txt"),
        (EDGES, ["--page-size", "5000"], 2, "--page-size 5000: it must be a power of two from 4096 bytes."),
        (EDGES, ["--page-size", "big"], 2, "--page-size big: not a size."),
        (EDGES, ["--order", "random"], 2, "--order random: unknown; it is one of auto, natural, degree, in, out, llp."),
        (EDGES, ["--topology", "up"], 2, "--topology up: unknown"),
        (EDGES, ["--id-bytes", "5"], 2, "--id-bytes 5: it must be 4 or 8."),
        (EDGES, ["--bad-lines", "maybe"], 2, "--bad-lines maybe: unknown; it is fail or skip."),
        (EDGES, ["--format", "word"], 2, "--format word: unknown"),
        (EDGES, ["--no-such-option"], 2, "gstream convert: No such option: --no-such-option"),
        (EDGES, ["--num-vertices", "3"], 4, ""),
    ],
)
def test_what_can_not_be_converted(
    tmp_path: Path, gstream: Command, text: str, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "edges.txt").write_text(text)
    done = gstream("convert", "edges.txt", "graph.gs", *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["edges.txt"], "no half-written file"


def test_missing_input_and_folder(tmp_path: Path, gstream: Command) -> None:
    done = gstream("convert", "nope.txt", "graph.gs")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("nope.txt: ")
    (tmp_path / "edges.txt").write_text(EDGES)
    done = gstream("convert", "edges.txt", "no/where.gs")
    assert done.returncode == 2
    assert done.stderr == "no/where.gs: folder no does not exist. Make it first.\n"


def test_skipped_lines_are_counted_and_listed(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n2 -3\n3 4\n5\n")
    done = gstream("convert", "edges.txt", "graph.gs", "--bad-lines", "skip")
    assert done.returncode == 0, done.stderr
    assert "2 lines, listed in graph.gs.skipped.txt" in done.stdout
    listed = (tmp_path / "graph.gs.skipped.txt").read_text().splitlines()
    assert [line.split("\t")[0].split(":")[1] for line in listed] == ["2", "4"]


def test_lists_of_skipped_lines_are_replaced_by_force_only(tmp_path: Path, gstream: Command) -> None:
    """One that is there may be anybody's; one of a store that is replaced says nothing of the new one."""
    listed = tmp_path / "graph.gs.skipped.txt"
    listed.write_text("mine\n")
    (tmp_path / "bad.txt").write_text("1 2\n2 -3\n")
    (tmp_path / "good.txt").write_text("1 2\n2 3\n")
    convert = ("convert", "bad.txt", "graph.gs", "--bad-lines", "skip")
    done = gstream(*convert)
    assert (done.returncode, done.stderr) == (
        2,
        "graph.gs.skipped.txt: exists. Pass --force to replace it, or another name.\n",
    )
    assert gstream(*convert, "--dry-run").returncode == 0 and listed.read_text() == "mine\n", "nothing is written"
    assert gstream("convert", "good.txt", "graph.gs").returncode == 0 and listed.read_text() == "mine\n"
    assert gstream(*convert, "--force").returncode == 0 and listed.read_text().startswith("bad.txt:2:3\t")
    assert gstream("convert", "graph.gs.skipped.txt", "graph.gs", "--force", "--format", "mtx").returncode == 4
    assert listed.exists(), "an input stays"
    for options in (["--bad-lines", "skip"], []):
        listed.write_text("old\n")
        assert gstream("convert", "good.txt", "graph.gs", "--force", *options).returncode == 0
        assert not listed.exists()


def test_a_conversion_that_fails_leaves_no_list_of_skipped_lines(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "bad.txt").write_text("1 -2\n2 -3\n")
    for _ in range(2):
        done = gstream("convert", "bad.txt", "graph.gs", "--bad-lines", "skip")
        assert done.stderr.startswith("bad.txt: not one of its lines is an edge")
        assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]


def test_rounded_weights_are_noted_on_standard_error(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text("1 2 16777217\n2 3 0.5\n3 4 16777219\n")
    done = gstream("convert", "edges.txt", "graph.gs")
    assert done.returncode == 0
    assert done.stderr.partition("\n")[2] == (
        "edges.txt: 2 integer weights are stored rounded, 16777217 as 16777216: fractions among the weights, or "
        "integers past 4 bytes, make all of them 4-byte floats, exact for integers up to 16777216. Scale or round the "
        "weights if that matters.\n"
    )


def test_how_far_weights_are_rounded_is_told(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text("0 1 0.3\n1 2 5.1\n")
    said = "weights to 4 significant bits, off by at most 4.2 % of a weight and by 0.1"
    made = gstream("convert", "edges.txt", "graph.gs", "--round-weights", "4")
    assert said in made.stdout and said in gstream("info", "graph.gs").stdout
    found = json.loads(gstream("info", "graph.gs", "--json").stdout)
    assert found["weights"]["rounding"]["bits"] == 4
    refused = gstream("convert", "edges.txt", "graph.gs", "--round-weights", "99", "--force")
    assert refused.returncode == 2 and "--round-weights 99: it must be 1 to 23" in refused.stderr


def test_dry_run_writes_nothing(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text(EDGES)
    done = gstream("convert", "edges.txt", "graph.gs", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["input_edges"] == 6
    assert found["fits"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["edges.txt"]
    weighed = "from,to,weight\na,b,100000\nb,c,2\n"
    (tmp_path / "weighed.csv").write_text(weighed)
    for name in ("edges.txt", "weighed.csv"):  # whose weights take pages of their own
        said = json.loads(gstream("convert", name, f"{name}.gs", "--dry-run", "--json").stdout)
        assert gstream("convert", name, f"{name}.gs").returncode == 0
        assert said["store_bytes"] == pytest.approx(os.path.getsize(f"{name}.gs"), rel=0.01)


def test_dry_run_of_a_pipe_says_whose_figures_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"{n} {n + 1}\n" for n in range(9_999_000, 15_000_000))
    done = run("convert", "-", "graph.gs", "--dry-run", cwd=tmp_path, stdin=text)
    first, graph, *_, fits = done.stdout.splitlines()
    assert first.endswith(
        " edges of an input whose size is unknown; the figures are for what was read; nothing is written"
    )
    assert graph.startswith("graph      at least ") and fits == "fits       yes, for what was read"


def test_dry_run_of_what_no_disk_holds(tmp_path: Path, gstream: Command) -> None:
    done = gstream("generate", "rmat", "graph.gs", "--scale", "36", "--dry-run", "--json")
    assert done.returncode == 5 and json.loads(done.stdout)["fits"] is False
    assert done.stderr.splitlines()[-1] == (
        "graph.gs: the disks lack room for it. Free some space, or pass --workdir on another."
    )
    assert not list(tmp_path.iterdir())


def test_json_is_one_object_and_nothing_else(store: Path, gstream: Command) -> None:
    for arguments in (
        ("info", store, "--json"),
        ("info", store, "--simd", "--json"),
        ("verify", store, "--json"),
        ("export", store, "out.csv", "--json"),
        ("convert", "edges.txt", "again.gs", "--json"),
        ("generate", "grid", "grid.gs", "--scale", "6", "--json"),
    ):
        done = gstream(*arguments)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == 1
        assert isinstance(json.loads(done.stdout), dict)


def test_info_tells_degrees_and_lanes(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text("".join(f"0 {n}\n{n} 1\n" for n in range(2, 40)))
    assert gstream("convert", "edges.txt", "graph.gs", "--order", "degree").returncode == 0
    shown = gstream("info", "graph.gs", "--simd").stdout
    assert "greatest out 38, in 38; eta 2.5% (in-degree 2 or more)\n" in shown  # vertex 1 of 40
    table = shown[shown.index("\nout-pages\n") :].splitlines()
    assert table[2].split() == ["lanes", "a", "list", "UA", "%", "UR", "%", "ME", "%"]
    rows = {line.split()[0]: [float(cell) for cell in line.split()[1:]] for line in table[3:10]}
    assert list(rows) == ["1", "2", "4", "8", "16", "32", "chosen"]
    assert all(abs(sum(shares) - 100) <= 0.15 for shares in rows.values())
    assert table[10] == "chosen: pages, by lanes a list, 1 of 8; 1.00 times the ME of 8 for all"
    assert "eta 0.0%" in gstream("info", empty(tmp_path, gstream), "--simd").stdout


def test_column_pages_are_told(tmp_path: Path, gstream: Command) -> None:
    """By the report of a conversion, and by `info` as long as the store lives."""
    done = gstream("generate", "grid", "grid.gs", "--scale", "12", "--columns", "8")
    assert re.search(r"^columns +1 out, 1 in of the pages; \d+ B of padding$", done.stdout, re.MULTILINE)
    assert "1 small (1 in columns of 8, padding 0.32%), 0 large" in gstream("info", "grid.gs").stdout
    assert gstream("generate", "grid", "rows.gs", "--scale", "12").stdout.count("columns") == 0
    assert "columns" not in gstream("info", "rows.gs").stdout


def test_a_store_that_says_nothing_of_its_inputs(tmp_path: Path, gstream: Command) -> None:
    """As another writer may leave it; the converter always says."""
    write_store(str(tmp_path / "other.gs"), random_edges(edges=20))
    shown = gstream("info", "other.gs").stdout
    assert shown.startswith("store ") and "\nuuid " in shown and "made from" not in shown


def empty(folder: Path, gstream: Command) -> str:
    (folder / "none.txt").write_text("# no edges\n")
    assert gstream("convert", "none.txt", "none.gs", "--num-vertices", "5").returncode == 0
    return "none.gs"


def test_verify_names_the_bad_page(store: Path, gstream: Command) -> None:
    facts = json.loads(gstream("info", store, "--json").stdout)
    assert (facts["vertices"], facts["edges"], facts["directed"]) == (7, 6, True)
    assert "whole" in gstream("verify", store).stdout
    data = bytearray(store.read_bytes())
    data[1 << 20] ^= 1  # the out-pages start at 1 MiB
    store.write_bytes(data)
    done = gstream("verify", store)
    assert (done.returncode, done.stdout) == (4, "")
    assert "page 0 of topology" in done.stderr
    assert "Convert the graph again." in done.stderr.splitlines()[-1]


def test_convert_verifies_what_it_wrote(tmp_path: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edges.txt").write_text(EDGES)
    done = gstream("convert", "edges.txt", "graph.gs", "--verify")
    assert done.returncode == 0
    assert "verified  2 pages, 12 stored edges" in done.stdout
    report = json.loads(gstream("generate", "grid", "grid.gs", "--scale", "6", "--verify", "--json").stdout)
    assert (report["verify"]["ok"], report["verify"]["problems"]) == (True, [])

    from pagestore import convert as package

    whole = package.convert

    def spoiled(source, path, options, progress):  # type: ignore[no-untyped-def]
        report = whole(source, path, options, progress)
        data = bytearray(path.read_bytes())
        data[1 << 20] ^= 1
        path.write_bytes(data)
        return report

    monkeypatch.setattr(package, "convert", spoiled)
    done = gstream("convert", "edges.txt", "bad.gs", "--verify")
    assert done.returncode == 4
    assert "page 0 of topology" in done.stderr


def test_what_is_no_store(tmp_path: Path, store: Path, gstream: Command) -> None:
    (tmp_path / "cut.gs").write_bytes(store.read_bytes()[:5000])
    (tmp_path / "empty.gs").write_bytes(b"")
    for name in ("edges.txt", "cut.gs", "empty.gs", "none.gs"):
        for command in ("info", "verify", "export"):
            done = gstream(command, name, *(["-"] if command == "export" else []))
            assert (done.returncode, done.stdout) == (4, ""), name
            assert done.stderr.startswith(f"{name}: "), done.stderr
            assert done.stderr.count("\n") == 1


def test_export_says_that_weights_are_left_out(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "in.txt").write_text("1 2 5\n2 3 6\n")
    gstream("convert", "in.txt", "w.gs", "--weight-column", "3")
    said = "e.el: the store's weights are left out, as el has none. Export to .wel to keep them."
    assert said in gstream("export", "w.gs", "e.el").stderr
    assert "weights" not in gstream("export", "w.gs", "n.el", "--no-weights").stderr
    assert "weights" not in gstream("export", "w.gs", "e.wel").stderr


def test_export_by_suffix(tmp_path: Path, store: Path, gstream: Command) -> None:
    assert gstream("export", store, "out.csv").returncode == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[:2] == ["source,target", "1,2"]
    refused = gstream("export", store, "out.csv")
    assert refused.returncode == 2
    assert gstream("convert", "out.csv", "again.gs").returncode == 0
    assert gstream("export", "again.gs", "-").stdout == gstream("export", store, "-").stdout


def test_edges_and_json_do_not_share_standard_output(store: Path, gstream: Command) -> None:
    done = gstream("export", store, "-", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--json and - both want standard output. Export to a file.\n"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("1 2\n", [], "columns 1 and 2, between blanks, are source and target, no weights, no header line, directed"),
        (
            "km;to;from\n5;2;1\n",
            [],
            "columns 3 (from) and 2 (to), between semicolons, are source and target, no weights, line 1 is a header, "
            "directed",
        ),
        (
            "# a comment\nu\tv\tw\na\tb\t7\n",
            ["--undirected"],
            "columns 1 (u) and 2 (v), between tabs, are source and target by name, column 3 (w) is the weight, "
            "line 2 is a header",
        ),
        (
            "1,2,7\n",
            ["--weight-column", "3", "--no-header", "--directed"],
            "columns 1 and 2, between commas, are source and target, column 3 is the weight",
        ),
        ("source,target\n", ["--num-vertices", "3"], "line 1 is a header, no line of data, directed"),
        ("# none\n", ["--num-vertices", "3", "--directed"], "no line of data"),
        (
            "person1 person2\n#7 bob\n8 bob\n",
            ["--comments", "none"],
            "columns 1 and 2, between blanks, are source and target by name, no weights, no header line: line 1 is an "
            "edge, directed.\na.txt: line 1 may be a header; pass --header if it is",
        ),
        (
            "id,from,to,date\n7,ann,bob,2020-01-01\n",
            ["--header"],
            "columns 2 (from) and 3 (to), between commas, are source and target by name, no weights, directed",
        ),
    ],
)
def test_convert_says_what_it_assumed(
    tmp_path: Path, gstream: Command, text: str, options: list[str], said: str
) -> None:
    (tmp_path / "a.txt").write_text(text)
    for more in ([], ["--dry-run", "--force"], ["--json", "--force"]):
        done = gstream("convert", "a.txt", "a.gs", *options, *more)
        assert (done.returncode, done.stderr) == (0, f"a.txt: {said}.\n")


def test_convert_says_how_many_comments_it_left_out(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "tags.csv").write_text("cat,#dog\n#dog,bird\n")
    assert "--comments none if # is part of a name" in gstream("convert", "tags.csv", "a.gs").stderr
    left = gstream("convert", "tags.csv", "a.gs", "--comments", "#%")
    assert "input     1 edge read, 1 comment line left out\n" in left.stdout
    every = gstream("convert", "tags.csv", "a.gs", "--force", "--comments", "none")
    assert "input     2 edges read\n" in every.stdout


def test_convert_says_it_once_for_inputs_alike(tmp_path: Path, gstream: Command) -> None:
    for name, text in (("a.txt", "1 2\n"), ("b.txt", "2 3\n"), ("c.csv", "3,4\n")):
        (tmp_path / name).write_text(text)
    lines = gstream("convert", "a.txt", "b.txt", "c.csv", "a.gs").stderr.splitlines()
    assert [line.split(", are")[0] for line in lines] == [
        "a.txt and 1 more: columns 1 and 2, between blanks",
        "c.csv: columns 1 and 2, between commas",
    ]
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")
    assert gstream("convert", "a.mtx", "b.gs").stderr == "a.mtx: read as mtx, no weights.\n"
    (tmp_path / "a.gr").write_text("p sp 2 1\na 1 2 7\n")
    done = gstream("convert", "a.gr", "c.gs", "--json")
    assert json.loads(done.stdout)["read_as"] == ["a.gr: read as gr, weights as the format has them, directed."]


def test_one_is_said_as_one(tmp_path: Path, gstream: Command) -> None:
    """One edge, vertex, line, row, component: no plural."""
    (tmp_path / "one.txt").write_text("# one\n7 7 2\n8\n")
    done = gstream("convert", "one.txt", "one.gs", "--undirected", "--bad-lines", "skip")
    said = done.stdout
    for command in (["info", "one.gs"], ["verify", "one.gs"], ["generate", "grid", "g.el", "--scale", "1"]):
        said += gstream(*command).stdout
    for algorithm in ("wcc", "scc", "msf", "coloring"):
        said += gstream("run", algorithm, "one.gs", "--certify").stdout
    said += gstream("run", "wcc", "one.gs", "-o", "one.csv").stdout + gstream("export", "one.gs", "one.tsv").stderr
    for words in (
        "1 vertex, 1 undirected edge, 1 stored", "1 edge read, 1 comment line left out",
        "0 duplicate edges and 1 self-loop kept", "1 line, listed in", "1 page, 1 stored edge, ",
        "1 component, each connected", "1 tree that spans", "1 colour, ",
        "one.csv: 1 row\n", "one.tsv: 1 edge\n",
    ):  # fmt: skip
        assert words in said, words
    assert not re.search(
        r"(?<![\d,.])1 (\w+ )?(vertices|edges|lines|pages|components|trees|rows|hubs|self-loops)", said
    )
