"""`gstream run` and `gstream plan` of the algorithms that are programs: tables, figures, messages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import choice
import pytest

import gstream as gs
from gstream.algorithms.declaration import Algorithm
from gstream.algorithms.registry import ALGORITHMS
from tests.cli.command import Command

WEIGHTED = "1 2 3\n2 3 1\n1 3 0.5\n3 4 2\n6 7 1\n"


@pytest.fixture
def weighted(tmp_path: Path, gstream: Command) -> Path:
    """A graph without cycles, with weights."""
    (tmp_path / "weighted.txt").write_text(WEIGHTED)
    assert gstream("convert", "weighted.txt", "weighted.gs", "--weight-column", "3").returncode == 0
    return Path("weighted.gs")


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [
        (["rwr", "--source", "1", "--source", "6", "--float64", "--certify"], ["vertex", "proximity"]),
        (["katz", "--beta", "2", "--no-normalized", "--certify"], ["vertex", "katz"]),
        (["eigenvector", "--tol", "1e-3", "--certify"], ["vertex", "eigenvector"]),
        (["hits", "--max-iter", "200", "--certify"], ["vertex", "hub", "authority"]),
        (["khop", "--source", "1", "--radius", "2", "--certify"], ["vertex", "distance"]),
        (["khop", "--source", "1", "--undirected", "--certify"], ["vertex", "distance"]),
        (["degrees", "--certify"], ["degree", "vertices", "out", "in"]),
        (["closeness", "--k", "3", "--seed", "2", "--no-wf-improved", "--certify"], ["vertex", "closeness"]),
        (["harmonic", "--certify"], ["vertex", "harmonic"]),
        (["lcc", "--certify"], ["vertex", "lcc"]),
        (["betweenness", "--endpoints", "--k", "2", "--certify"], ["vertex", "betweenness"]),
        (["radius", "--sketches", "4"], ["vertex", "radius"]),
        (["hyperball", "--log2m", "5"], ["vertex", "harmonic", "closeness", "reachable"]),
    ],
)
def test_tables(store: Path, gstream: Command, arguments: list[str], columns: list[str]) -> None:
    done = gstream("run", arguments[0], store, *arguments[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0].split() == columns
    assert ("certificate" in done.stdout) == ("--certify" in arguments)
    found = gstream("run", arguments[0], store, *arguments[1:], "--json")
    assert json.loads(found.stdout)["algorithm"] == arguments[0]


def test_the_definition_is_shown(store: Path, gstream: Command) -> None:
    line = gstream("run", "degrees", store).stdout.splitlines()[-1]
    said = json.loads(gstream("run", "degrees", store, "--json").stdout)["definition"]
    assert line == f"definition       {said}" and said.startswith("in- and out-edges together")
    assert "definition" not in gstream("run", "wcc", store).stdout


@pytest.mark.longer
def test_weights(weighted: Path, gstream: Command, tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_text("1 5\n")
    assert gstream("run", "widest", weighted, "--source", "1", "-o", "w.csv", "--certify").returncode == 0
    assert Path("w.csv").read_text().split() == ["vertex,width", "1,inf", "2,3", "3,1", "4,1", "6,", "7,"]
    assert gstream("run", "levels", weighted, "--weighted", "-o", "l.csv", "--certify").returncode == 0
    assert Path("l.csv").read_text().split() == [
        "vertex,level,distance", "1,0,0", "2,1,3", "3,2,4", "4,3,6", "6,0,0", "7,1,1",
    ]  # fmt: skip
    assert gstream("run", "sssp", weighted, "--source", "1", "--cutoff", "0.5", "-o", "s.csv").returncode == 0
    assert Path("s.csv").read_text().split()[1:] == ["1,0,", "2,,", "3,0.5,1", "4,,", "6,,", "7,,"]
    simulations = ("heat", "temperature"), ("circuit", "voltage"), ("neural", "activation")
    for name, column in choice.few(simulations[:1], simulations):
        done = gstream("run", name, weighted, "--initial", "first.txt", "--iterations", "3", "--certify")
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[:2] == ["vertex", column]
        assert gstream("plan", name, weighted).returncode == 0
    assert gstream("plan", "widest", weighted).returncode == 0


def test_a_plot(store: Path, gstream: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib"), pytest.importorskip("networkx")
    assert gstream("run", "degrees", store, "--plot", "d.png").returncode == 0
    assert Path("d.png").read_bytes()[:4] == b"\x89PNG"
    again = gstream("run", "degrees", store, "--plot", "d.png")
    assert again.returncode == 2 and "d.png" in again.stderr
    assert gstream("run", "degrees", store, "--plot", "d.png", "--force").returncode == 0
    for drawn in (["wcc"], ["pagerank"], ["egonet", "--source", "1"]):
        assert gstream("run", *drawn, store, "--plot", f"{drawn[0]}.svg").returncode == 0
        assert Path(f"{drawn[0]}.svg").read_text().rstrip().endswith("</svg>")
    monkeypatch.setattr("gstream.reporting.plots.MOST_EDGES", 1)
    many = gstream("run", "egonet", store, "--source", "1", "--radius", "3", "--plot", "many.svg")
    assert many.returncode == 2 and "edges, and a drawing shows up to 1. Ask for fewer" in many.stderr
    assert not Path("many.svg").exists() and many.stdout.split()[:2] == ["source", "target"], "the answer is shown"
    monkeypatch.setattr("gstream.reporting.plots.find_spec", lambda name: None)
    lacks = gstream("run", "egonet", store, "--source", "1", "--plot", "e.svg")
    assert (
        lacks.returncode == 2
        and "networkx: is not installed, and --plot of edges needs it." in lacks.stderr
        and not lacks.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rwr"], 2, "rwr: no source was given. Pass --source ID"),
        (["rwr", "--source", "99"], 2, "source 99 is not a vertex of graph.gs"),
        (
            ["khop", "--source", "1", "--alpha", "1"],
            2,
            "--alpha: is no option of khop, which has --source, --radius, --un",
        ),
        (["katz", "--alpha", "40"], 2, "--alpha 40.0: sums over walks grow without end on this graph;"),
        (["radius", "--certify"], 2, "--certify: radius has no certificate. Leave it out."),
        (["closeness", "--k", "9"], 2, "--k 9: must be 1 to 7, the number of vertices."),
        (["widest", "--source", "1"], 2, "graph.gs: has no edge weights, which widest needs."),
        (["heat"], 2, "graph.gs: has no edge weights, which heat needs."),
        (["levels"], 4, "graph.gs: has a cycle, "),
        (["hcc"], 2, "graph.gs: is directed, and labels travel along edges one way."),
        (["bfs", "--source", "1", "--plot", "x.doc"], 2, "x.doc: the ending says the format; known are ."),
        (["hyperball", "--log2m", "3"], 2, "--log2m 3: must be 4 to 12. A counter has 2^N registers."),
        (["radius", "--sketches", "1"], 2, "--sketches 1: must be an even number from 2 to 1024."),
    ],
)
def test_what_can_not_be_run(store: Path, gstream: Command, arguments: list[str], code: int, message: str) -> None:
    done = gstream("run", arguments[0], store, *arguments[1:])
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert message in done.stderr and done.stderr.count("\n") == 1 and done.stderr.endswith(".\n")


def test_every_algorithm_has_a_plan(store: Path, gstream: Command) -> None:
    refused = {name for name, one in ALGORITHMS.items() if one.directed is False or one.reads_weights(one.defaults)}
    for name in ALGORITHMS:
        done = gstream("plan", name, store)
        assert (done.returncode, name in refused) in ((0, False), (2, True)), (name, done.stderr)
        assert name in refused or re.search(r"^in all +about .* s, .* s to .* s, with", done.stdout, re.MULTILINE)


def kind_of(algorithm: Algorithm) -> list[str]:
    """What the graph of a plan must be."""
    undirected = ["--undirected"] if algorithm.directed is False else []
    return undirected + (["--weighted"] if algorithm.reads_weights(algorithm.defaults) else [])


def test_a_plan_of_another_kind_of_graph_is_refused(gstream: Command) -> None:
    for name in ("triangles", "sssp"):
        done = gstream("plan", name, "--vertices", 10, "--edges", 20)
        (flag,) = kind_of(ALGORITHMS[name])
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(f"{flag}: is not given, and ")


def test_a_plan_that_lacks_memory_says_what_takes_it_and_no_time(gstream: Command) -> None:
    given = ("leiden", "--vertices", "1e9", "--edges", "3e10", "--machine", "laptop")
    facts = json.loads(gstream("plan", *given, "--json").stdout)
    assert sum(facts["host_bytes"].values()) == facts["lacks"] and facts["call_seconds"] is None
    told = gstream("plan", *given).stdout
    assert re.search("^lacks .* more than laptop has; so no time$", told, re.MULTILINE)
    assert not re.search("^(takes|in all|moves) ", told, re.MULTILINE)


def test_a_plan_of_counts(store: Path, gstream: Command) -> None:
    for name in ALGORITHMS:
        given = ("--vertices", 10**6, "--edges", 10**7, "--machine", "h100x8")
        told = gstream("plan", name, *given, *kind_of(ALGORITHMS[name])).stdout
        for line in ("run", "holds", "takes", "in all", "rests on", "convert text", "of which"):
            assert re.search(f"^{line} ", told, re.MULTILINE), (name, line, told)
    found = json.loads(gstream("plan", "khop", *given, "--weighted", "--undirected", "--json").stdout)
    assert found["store"] == "1,000,000 vertices, 10,000,000 undirected edges (20,000,000 stored)"
    assert found["pages"].keys() == {"out"}
    weighed, plain = (
        json.loads(gstream("plan", "pagerank", *given, *more, "--json").stdout)["host_bytes"]
        for more in (["--weighted"], [])
    )
    assert sum(weighed.values()) > 1.5 * sum(plain.values()), "pages with weights, and strengths"
    here = json.loads(gstream("plan", "wcc", "--vertices", 10, "--edges", 20, "--json").stdout)
    assert here["devices_are"] == "host" and here["call_seconds"]["usual"] > 0
    assert here["first_call_seconds"]["start"] > 0 and "first_call_seconds" not in found
    many = gstream("plan", "wcc", "--vertices", "1e6", "--edges", "1e7", "--machine", "laptop", "--ranks", 4)
    for line in ("run", "parts", "holds", "mirrors", "sends", "takes", "rests on"):
        assert re.search(f"^{line} ", many.stdout, re.MULTILINE), (line, many)
    for wrong in ("0", "-3", "1.5", "some"):
        refused = gstream("plan", "wcc", store, "--ranks", wrong)
        assert refused.returncode == 2 and f"--ranks {wrong}: " in refused.stderr
    there = json.loads(gstream("plan", "wcc", store, "--machine", "laptop", "--json").stdout)
    assert there["machine"] == "laptop" and "convert_seconds" not in there


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--vertices: is not given, and no STORE either. Name a store, or pass --vertices N and --edges N."),
        (["--vertices", "5"], "--edges: is not given, and no STORE either."),
        (["graph.gs", "--edges", "5"], "--edges: graph.gs says how many there are. Leave it out, or leave graph.gs"),
        (["edges.txt"], "edges.txt: is an edge list, and its size does not say how many vertices and edges it has."),
        (["graph.gs", "--machine", "none.json"], "--machine none.json: No such file or directory. Known are "),
        (["--vertices", "5.5", "--edges", "5"], "--vertices 5.5: must be a whole number, as 6000000000 or 6e9."),
        (["--vertices", "1e99999", "--edges", "x"], "--vertices 1e99999: must be a whole number, as"),
        (["--vertices", "5", "--edges", "5", "--order", "x"], "--order x: is unknown; it must be one of natural, de"),
    ],
)
def test_what_can_not_be_planned(store: Path, gstream: Command, arguments: list[str], message: str) -> None:
    done = gstream("plan", "wcc", *arguments)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(message), done.stderr
    assert done.stderr.count("\n") == 1


def test_so_many_rows_are_shown_the_best_first(tmp_path: Path, store: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n1 3\n3 4\n4 5\n4 6\n4 7\n5 6\n5 7\n6 7\n")
    assert gstream("convert", "edges.txt", "trusses.gs", "--undirected").returncode == 0
    shown = gstream("run", "ktruss", "trusses.gs", "--top", "2").stdout.splitlines()
    assert [line.split() for line in shown[:4]] == [["source", "target", "truss"], ["4", "5", "4"], ["4", "6", "4"], []]
    with gs.open("trusses.gs") as graph:
        found = [tuple(row.values()) for row in graph.ktruss().top(8)]
        assert found[5:] == [(6, 7, 4), (1, 2, 3), (1, 3, 3)] and len(graph.ktruss().top(99)) == 10
        assert graph.ktruss(k=3).top(1) == [{"source": 1, "target": 2}]
    assert len(json.loads(gstream("run", "pagerank", store, "--top", "3", "--json").stdout)["top"]) == 3
    assert gstream("run", "pagerank", store, "--top", "0").stdout.startswith("run ")
    assert gstream("run", "pagerank", store, "--top", "-1").returncode == 2
