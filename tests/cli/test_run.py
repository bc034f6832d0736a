"""`gstream run` and `gstream plan`: answers on the terminal and in files, options, messages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import choice
import numpy as np
import pytest

from gstream.cli.figures import summary_lines
from gstream.telemetry.stats import RunStats
from tests.cli.command import PROGRAM, Command

SUM_PROGRAM = """from gstream import SUM, Program, f64

class Total(Program):
    combine, value = SUM, f64

    def start(self, v, g):
        return 1.0

    def send(self, u, e, g):
        return u.value

    def apply(self, v, got, g):
        return 1 + 0.01 * got
"""


def test_table_and_figures(store: Path, gstream: Command) -> None:
    done = gstream("run", "bfs", store, "--source", "1")
    assert done.returncode == 0, done.stderr
    table, figures = done.stdout.split("\n\n")
    assert [line.split() for line in table.splitlines()] == [
        ["vertex", "distance", "predecessor"],
        ["1", "0", "-"],
        ["2", "1", "1"],
        ["3", "2", "2"],
        ["4", "3", "3"],
        ["5", "4", "4"],
    ]
    for name in ("supersteps", "pages moved", "edges", "cache hits", "peak memory", "GB/s", "edges/s"):
        assert name in figures
    assert "\nattributes " not in figures  # the host's cores share its memory


def test_attributes_that_move_are_told(store: Path, gstream: Command) -> None:
    run = ("run", "pagerank", store, "--devices", "fake:1")
    stats, told = json.loads(gstream(*run, "--json").stdout)["stats"], gstream(*run).stdout
    assert stats["attribute_bytes_moved"] > 0
    line = f"attributes +{stats['attribute_bytes_moved']} B moved, degrees and heads included"
    assert re.search(rf"^{line}$", told, re.MULTILINE), told


def test_what_the_cost_model_said_is_told_beside_the_time(store: Path, gstream: Command) -> None:
    """Of a sweep before the run; where a frontier decides, for the pages that it led to."""
    first = "(, 0.01 s more at first)?"
    for algorithm, own, words, even in (
        ("pagerank", (), r"; planned \S+ \S+", r"\d+% balanced, "),
        ("bfs", ("--source", "1"), r"; \S+ \S+ by the cost model, for these pages", ""),  # its heads are enough
    ):
        told = gstream("run", algorithm, store, *own, "--devices", "fake:1:2").stdout
        assert re.search(rf"^supersteps +\d+ in \S+ \S+{words}{first}$", told, re.MULTILINE), told
        merges = r"\S+ \S+, \S+ \S+ a superstep"
        assert re.search(rf"^devices +2, {even}merges {merges}$", told, re.MULTILINE), told
    assert "\ndevices " not in gstream("run", "bfs", store, "--source", "1", "--devices", "fake:1").stdout


def test_the_share_of_the_links_is_told_where_there_are_links() -> None:
    stats = RunStats(bytes_moved=2 << 30, attribute_bytes_moved=2 << 30, loop_seconds=0.5, seconds=1.0)
    summary = {"algorithm": "bfs", "store": "graph.gs", "supersteps": 3, "lost": []}
    for rate, told in (
        (10 * 2**30, "2 GiB (2.15 GB/s, 80% of the links in the supersteps)"),
        (0.0, "2 GiB (2.15 GB/s)"),
    ):
        stats.link_rate = rate
        lines = dict(summary_lines(summary | {"stats": stats.as_dict() | {"compile_seconds": 0.0}}, None, 1))
        assert lines["pages moved"] == f"0, {told}"


def test_a_plan_tells_the_constants_that_it_reckons_with(store: Path, gstream: Command) -> None:
    for devices, words in (
        ("host:1", r"a disk of N GB/s, N us a batch, N G edges/s pulled, N pushed"),
        ("fake:1:2", r"a link of N GB/s, a disk of N GB/s, N ns a list read in place, N us a batch, "
                     r"N G edges/s pulled, N pushed, merges of N GB/s"),
    ):  # fmt: skip
        told = gstream("plan", "pagerank", store, "--devices", devices).stdout
        pattern = words.replace("N", r"([\d.e+-]+)")
        assert (found := re.search(rf"^by +{pattern}$", told, re.MULTILINE)), told
        constants = json.loads(gstream("plan", "pagerank", store, "--devices", devices, "--json").stdout)["constants"]
        assert all(value > 0 for value in constants.values())
        if devices == "fake:1:2":
            names = ("c2", "disk", "list_s", "call_s", "pull_edges", "push_edges", "merge")
            units = (1e9, 1e9, 1e-9, 1e-6, 1e9, 1e9, 1e9)
            for number, name, unit in zip(found.groups(), names, units, strict=True):
                assert float(number) == pytest.approx(constants[name] / unit, rel=0.01), name


def test_a_plan_says_whether_cores_help(store: Path, gstream: Command) -> None:
    for options, words in (
        (["--devices", "host,fake:1"], "idle: the devices' memory holds all pages"),
        (["--devices", "host,fake:1", "--cache", "0"], "take pages beside the devices, where that is faster"),
        (["--devices", "host,fake:1", "--dispatch", "fixed"], "take pages beside the devices, where that is faster"),
    ):
        told = gstream("plan", "pagerank", store, *options).stdout
        assert re.search(rf"^cores +{words}$", told, re.MULTILINE), told
    run = gstream("run", "pagerank", store, "--devices", "host,fake:1", "--dispatch", "fixed", "--json").stdout
    assert json.loads(run)["stats"]["cores_pages"] >= 0


def test_a_plan_of_an_asynchronous_run_says_so(store: Path, gstream: Command) -> None:
    assert not re.search("^execution", gstream("plan", "pagerank", store).stdout, re.MULTILINE)
    told = gstream("plan", "pagerank", store, "--execution", "async").stdout
    assert re.search(r"^execution +async: sweeps, not supersteps", told, re.MULTILINE), told
    assert (
        json.loads(gstream("plan", "pagerank", store, "--execution", "async", "--json").stdout)["execution"] == "async"
    )


def test_json_object(store: Path, gstream: Command) -> None:
    done = gstream("run", "pagerank", store, "--json", "--certify", "--float64")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["algorithm"] == "pagerank"
    assert found["converged"] is True
    assert found["stats"]["edges_visited"] == 6 * found["supersteps"]
    assert found["top"][0]["vertex"] == 3
    assert found["certificate"]


def test_not_converged_is_said_and_exits_0(store: Path, gstream: Command) -> None:
    done = gstream("run", "pagerank", store, "--max-iter", "2", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["converged"] is False
    assert "not converged after 2 supersteps" in done.stderr


def test_files(tmp_path: Path, store: Path, gstream: Command) -> None:
    for suffix in (".csv", ".parquet", ".npy", ".arrow"):
        done = gstream("run", "bfs", store, "--source", "3", "-o", f"out{suffix}")
        assert done.returncode == 0, done.stderr
        assert f"out{suffix}: 7 rows" in done.stdout
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "vertex,distance,predecessor", "1,1,3", "2,2,1", "3,0,", "4,1,3", "5,2,4", "6,,", "7,,",
    ]  # fmt: skip
    assert np.load(tmp_path / "out.npy")["distance"].tolist() == [1, 2, 0, 1, 2, -1, -1]
    assert gstream("run", "bfs", store, "--source", "3", "-o", "ldbc.txt", "--ldbc").returncode == 0
    assert (tmp_path / "ldbc.txt").read_text().splitlines()[-1] == "7 9223372036854775807"


def test_a_file_is_replaced_only_with_force(tmp_path: Path, store: Path, gstream: Command) -> None:
    (tmp_path / "kept").write_text("a run of an hour")
    for options in (["-o", "out.csv"], ["-o", "out.txt", "--ldbc"], ["--trace", "run.json"]):
        (tmp_path / "kept").replace(tmp_path / options[1])
        done = gstream("run", "bfs", store, "--source", "99", *options)  # refused before the source is looked for
        message = f"{options[1]}: exists. Pass --force to replace it, or another name.\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
        assert (tmp_path / options[1]).read_text() == "a run of an hour"
        (tmp_path / options[1]).rename(tmp_path / "kept")
        (tmp_path / options[1]).write_text("old")
        done = gstream("run", "bfs", store, "--source", "1", *options, "--force")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / options[1]).read_text() != "old"


def test_several_sources_and_a_limit(store: Path, gstream: Command) -> None:
    done = gstream("run", "bfs", store, "--source", "4", "--source", "6", "--depth-limit", "1", "--json")
    assert {row["vertex"]: row["distance"] for row in json.loads(done.stdout)["top"]} == {4: 0, 6: 0, 5: 1, 7: 1}


@pytest.mark.parametrize(
    "options",
    [
        ["--devices", "host:2"],
        ["--devices", "fake:1,fake:2"],
        ["--direction", "push"],
        ["--direction", "pull", "--no-heads"],
        ["--threads", "1", "--batch", "1MiB"],
    ],
)
def test_how_it_runs_does_not_change_the_answer(store: Path, gstream: Command, options: list[str]) -> None:
    done = gstream("run", "wcc", store, "--json", *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["top"] == [{"component": 1, "vertices": 5}, {"component": 6, "vertices": 2}]
    done = gstream("run", "bfs", store, "--source", "1", "--json", *options)
    assert done.returncode == 0, done.stderr
    assert [row["distance"] for row in json.loads(done.stdout)["top"]] == [0, 1, 2, 3, 4]


def test_a_program_by_path(tmp_path: Path, store: Path, gstream: Command) -> None:
    (tmp_path / "least.py").write_text(PROGRAM)
    done = gstream("run", "least.py:Least", store, "--param", "bias=10", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["value"] for row in json.loads(done.stdout)["top"]] == [10, 10, 10, 10, 10, 15, 15]
    assert gstream("plan", "least.py:Least", store).returncode == 0


DIVERGES = """
from gstream import INF, {combine}, Program, f64

class Diverges(Program):
    combine, value = {combine}, f64

    def start(self, v, g):
        return {start}

    def send(self, u, e, g):
        return u.value * {factor}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("combine", "start", "factor", "diverged"),
    [
        ("SUM", "1.0", "1e200", 5),  # of the vertices with a way from a circle; 7 sums one message
        *choice.also(("MAX", "1.0", "1e200", 5), ("SUM", "1.0", "0.01", 0)),
        ("MIN", "0.0 if v.id == 0 else INF", "1.0", 0),  # what is not reached is INF, by right
    ],
)
def test_a_program_that_diverges_is_said_to(
    tmp_path: Path, store: Path, gstream: Command, combine: str, start: str, factor: str, diverged: int
) -> None:
    (tmp_path / "diverges.py").write_text(DIVERGES.format(combine=combine, start=start, factor=factor))
    done = gstream("run", "diverges.py", store, "--max-supersteps", "20", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["not_finite"] == diverged
    said = f"diverged: {diverged} of 7 values are inf or NaN, and mean nothing. Pass parameters (--param)"
    assert (said in done.stderr) == (diverged > 0)
    assert "Warning" not in done.stderr


def test_a_certificate_of_values_past_all_numbers_does_not_hold(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "a.txt").write_text("0 1 200\n1 0 200\n1 2 200\n2 1 200\n")
    (tmp_path / "first.txt").write_text("0 1e308\n1 -1e308\n")
    assert gstream("convert", "a.txt", "a.gs", "--weight-column", "3").returncode == 0
    done = gstream("run", "heat", "a.gs", "--initial", "first.txt", "--certify", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["certificate"]["holds"] is False
    assert "the certificate does not hold: it proves nothing of 3 of 3 values" in done.stderr
    done = gstream("run", "heat", "a.gs", "--initial", "first.txt", "--certify")
    assert "certificate     does not hold: it proves nothing of 3 of 3 values" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["bfs"], 2, "bfs: no source was given. Pass --source ID"),
        (["bfs", "--source", "99"], 2, "source 99 is not a vertex of graph.gs"),
        (["bfs", "--source", "one"], 2, "source 'one' is not a vertex of graph.gs"),
        (["bfs", "--source", "1", "--alpha", "0.5"], 2, "--alpha: is no option of bfs"),
        (["bfs", "--source", "1", "--devices", "cuda:99"], 3, "--devices cuda"),
        (["bfs", "--source", "1", "--devices", "abacus"], 2, "--devices abacus: not a device"),
        (["bfs", "--source", "1", "-o", "out.doc"], 2, "out.doc: the ending says the format"),
        (["bfs", "--source", "1", "-o", "no/out.csv"], 2, "no/out.csv: its folder no does not exist."),
        (
            ["bfs", "--source", "1", "-o", "a.csv", "--trace", "./a.csv"],
            2,
            "a.csv: is named twice; the second file would",
        ),
        (["bfs", "--source", "1", "--ldbc"], 2, "--ldbc says how a file is written."),
        (["degrees", "-o", "out", "--ldbc"], 2, "--ldbc: is for answers with a row a vertex"),
        (["bfs", "--source", "1", "--param", "x=1"], 2, "--param x=1: is for programs of your own"),
        (["bfs", "--source", "1", "--host-memory", "lots"], 2, "--host-memory lots: not a size."),
        (["bfs", "--source", "1", "--host-memory", "10"], 5, "--host-memory"),
        (["bfs", "--source", "1", "--cache", "big"], 2, "--cache: 'big' is unknown"),
        (["sssp", "--source", "1"], 2, "graph.gs: has no edge weights, which sssp needs."),
        (["pagerank", "--alpha", "2"], 2, "--alpha 2.0: must be at least 0 and less than 1."),
        (["pagerank", "--personalization", "none.txt"], 4, "none.txt: no such file. Check the path."),
        (["bfs", "--source", "1", "--node", "2"], 2, "--node: is no option of bfs, which has --source"),
        (
            ["subgraph", "--nodes", "none.txt"],
            4,
            "none.txt: no such file. Pass --nodes FILE, a vertex a line, or --node ID.",
        ),
        (["subgraph", "--nodes", "edges.txt"], 4, "edges.txt:2: node '1 2' is not a vertex of graph.gs, whose IDs are"),
        (["cross", "--node", "1", "--targets", "-"], 2, "-: standard input is for graphs. Name a file that holds"),
        (["PageRank"], 2, "PageRank: no such algorithm. Did you mean pagerank?"),
        (["k-core"], 2, "k-core: no such algorithm. Did you mean kcore?"),
        (["walk"], 2, "walk: no such algorithm; there are bfs, pagerank, sssp, wcc"),
        (["other.gs"], 2, "other.gs: is no algorithm. Name one before it"),
        (["none.py:Walk"], 4, "none.py: no such file."),
    ],
)
def test_what_can_not_be_run(store: Path, gstream: Command, arguments: list[str], code: int, message: str) -> None:
    done = gstream("run", arguments[0], store, *arguments[1:])
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert sorted(path.name for path in Path().iterdir()) == ["edges.txt", "graph.gs"]


def test_the_store_ahead_of_the_algorithm(store: Path, gstream: Command) -> None:
    for command in ("run", "plan"):
        done = gstream(command, store, "pagerank")
        said = "graph.gs pagerank: the algorithm comes first. Write pagerank graph.gs.\n"
        assert (done.returncode, done.stderr) == (2, said)


def test_plan_tells_what_a_cap_changes(store: Path, gstream: Command) -> None:
    free = json.loads(gstream("plan", "pagerank", store, "--json").stdout)
    assert (free["case"], free["supersteps"], free["bytes_moved"]) == (1, 16, 16 << 20)
    assert free["in_host_memory"] == {"in": True, "out": True} and free["notifies"]
    for algorithm in ("bfs", "sssp", "wcc", "pagerank", "katz", "eigenvector", "hits", "rwr"):
        done = gstream("plan", algorithm, store)
        assert done.returncode == (2 if algorithm == "sssp" else 0), done.stderr
        assert ("case" in done.stdout) == (algorithm != "sssp")


@pytest.mark.parametrize(
    "arguments",
    [
        ["bfs", "--source", "1", "--source", "4", "--depth-limit", "3", "--no-predecessors", "--certify"],
        ["bfs", "--source", "99"],
        ["bfs", "--source", "1", "--depth-limit", "-1"],
        ["bfs", "--source", "1", "--max-supersteps", "4"],
        ["pagerank", "--alpha", "0.5", "--tol", "1e-3", "--max-iter", "7", "-o", "out.csv", "--trace", "run.json"],
        ["pagerank", "--iterations", "0", "--json"],
        ["pagerank", "--iterations", "-5"],
        ["pagerank", "--iterations", "3", "--tol", "1"],
        ["pagerank", "--alpha", "2"],
        ["pagerank", "--personalization", "likes.txt", "--float64", "--gpus", "0"],
        ["pagerank", "--personalization", "likes.txt"],
        ["sssp", "--source", "1"],
        ["khop", "--source", "1", "--radius", "-1"],
        ["closeness", "--k", "99"],
        ["harmonic", "--k", "3", "--seed", "-1"],
        ["wcc", "--tol", "1"],
        ["wcc", "--param", "a=1"],
        ["least.py:Least", "--param", "bias=10", "--max-supersteps", "3", "--threads", "1"],
        ["least.py:Least", "--certify"],
        ["least.py:Least", "--source", "1"],
    ],
)
def test_run_in_a_command_line_may_become_plan(
    tmp_path: Path, store: Path, gstream: Command, arguments: list[str]
) -> None:
    (tmp_path / "least.py").write_text(PROGRAM)
    (tmp_path / "likes.txt").write_text("3 1\n")
    planned = gstream("plan", arguments[0], store, *arguments[1:])
    assert not (tmp_path / "out.csv").exists()
    run = gstream("run", arguments[0], store, *arguments[1:])
    assert planned.returncode == run.returncode
    assert run.returncode == 0 or planned.stderr == run.stderr


def test_plan_counts_the_supersteps_that_were_asked_for(store: Path, gstream: Command) -> None:
    for arguments, supersteps in (
        (["pagerank"], 16),
        (["hits"], 18),
        (["hits", "--max-iter", "5"], 10),
        (["radius", "--max-iter", "7"], 7),
        (["pagerank", "--iterations", "3"], 3),
        (["pagerank", "--iterations", "0"], 0),
        (["pagerank", "--max-iter", "7"], 7),
        (["bfs", "--source", "1", "--depth-limit", "2"], 2),
        (["bfs"], 1),
        (["khop", "--source", "1", "--radius", "3"], 3),
    ):
        found = json.loads(gstream("plan", arguments[0], store, *arguments[1:], "--json").stdout)
        assert found["supersteps"] == supersteps, arguments
        assert found["bytes_moved"] == supersteps << 20, arguments


def test_lines_of_a_plan_agree(store: Path, gstream: Command) -> None:
    found = json.loads(gstream("plan", "pagerank", store, "--tol", "1e-12", "--json").stdout)
    first, each, count = (found[name] for name in ("first_seconds", "seconds_a_superstep", "supersteps"))
    assert found["seconds"] == pytest.approx(first + (count - 1) * each) and first > each
    assert found["rests_on"][-1].startswith(f"{count} supersteps until --tol") and count > 16


def test_plan_and_run_of_components_name_the_same_bytes(store: Path, gstream: Command) -> None:
    said = [gstream(command, "wcc", store, "--host-memory", "1000") for command in ("plan", "run")]
    assert said[0].returncode == said[1].returncode == 5
    assert said[0].stderr == said[1].stderr and " bytes are needed at least" in said[0].stderr


def test_plan_says_which_number_of_supersteps_it_assumes(tmp_path: Path, store: Path, gstream: Command) -> None:
    """Nobody knows how many supersteps it takes until little changes: what moves in each, and an example."""
    (tmp_path / "sum.py").write_text(SUM_PROGRAM)
    said = "1 MiB a superstep; {0} MiB for {0} supersteps, if it takes so many\n"
    for algorithm, usual in (("pagerank", 16), ("katz", 7), ("eigenvector", 18), ("hits", 18), ("sum.py:Total", 20)):
        done = gstream("plan", algorithm, store)
        assert f"moves       {said.format(usual)}" in done.stdout, (done.stdout, done.stderr)
        takes = r"takes       about \S+ m?s (each|for the first, \S+ m?s for each other); \S+ m?s for "
        assert re.search(rf"{takes}{usual}\n", done.stdout), done.stdout
        assert f"{usual} superstep" in done.stdout.split("rests on")[-1], done.stdout
    done = gstream("plan", "radius", store)
    assert f"moves       at most {said.format(106)}" in done.stdout
    done = gstream("plan", "bfs", store, "--source", "1")
    assert "at most 1 MiB a superstep, however many there will be\n" in done.stdout
    for arguments, moved in (
        (["pagerank", "--iterations", "3"], "3 MiB in 3 supersteps"),
        (["sum.py:Total", "--max-supersteps", "4"], "at most 4 MiB in 4 supersteps"),
        (["bfs", "--source", "1", "--depth-limit", "2"], "at most 2 MiB in 2 supersteps"),
    ):
        assert f"moves       {moved}\n" in gstream("plan", arguments[0], store, *arguments[1:]).stdout, arguments
