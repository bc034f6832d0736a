"""Page kernels on the command line: what they show and write, and plain errors for wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Command


@pytest.mark.parametrize(
    ("arguments", "column", "values"),
    [
        (["scc"], "component", "1 1 1 4 5 6 7"),
        (["kcore"], "core", "2 2 2 1 1 1 1"),
        (["kcore", "--k", "2"], "in_core", "1 1 1 0 0 0 0"),
        (["cdlp", "--iterations", "1"], "community", "2 1 1 3 4 7 6"),
        (["betweenness", "--no-normalized"], "betweenness", "1.0 3.0 5.0 3.0 0.0 0.0 0.0"),
        (["betweenness", "--no-normalized", "--source", "4"], "betweenness", "0.0 0.0 0.0 0.0 0.0 0.0 0.0"),
    ],
)
def test_what_they_write(
    tmp_path: Path, store: Path, gstream: Command, arguments: list[str], column: str, values: str
) -> None:
    done = gstream("run", arguments[0], store, *arguments[1:], "-o", "answer.csv")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "answer.csv").read_text().split()
    assert lines[0] == f"vertex,{column}"
    found = [float(line.partition(",")[2]) for line in lines[1:]]
    assert found == [float(value) for value in values.split()]


def test_lcc_as_graphalytics_writes_it(tmp_path: Path, store: Path, gstream: Command) -> None:
    assert gstream("run", "lcc", store, "--ldbc", "-o", "answer").returncode == 0
    rows = [line.split() for line in (tmp_path / "answer").read_text().splitlines()]
    assert [float(value) for _, value in rows] == [0.5, 0.5, 1 / 6, 0, 0, 0, 0]


def test_forests(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "weighted.txt").write_text("1 2 3\n2 3 1\n1 3 2\n3 4 2\n6 7 1\n7 6 0\n6 6 0\n")
    assert gstream("convert", "weighted.txt", "w.gs", "--weight-column", "3", "--undirected").returncode == 0
    done = gstream("run", "msf", "w.gs", "-o", "forest.csv", "--certify")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "forest.csv").read_text().split() == ["source,target,weight", "1,3,2", "2,3,1", "3,4,2", "6,7,0"]
    assert "2 trees that span the graph" in done.stdout and "written         forest.csv: 4 rows" in done.stdout
    facts = json.loads(gstream("run", "msf", "w.gs", "--json").stdout)
    assert (facts["total_weight"], facts["forest_edges"], facts["trees"], facts["rows"]) == (5, 4, 2, 4)
    assert facts["top"][0] == {"source": 1, "target": 3, "weight": 2}
    assert gstream("run", "msf", "w.gs").stdout.splitlines()[1].split() == ["1", "3", "2"]


def test_trusses(tmp_path: Path, gstream: Command) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n1 3\n3 4\n1 4\n2 4\n4 5\n5 6\n6 4\n6 7\n7 7\n")
    assert gstream("convert", "edges.txt", "t.gs", "--undirected").returncode == 0
    done = gstream("run", "ktruss", "t.gs", "-o", "truss.csv", "--certify")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "truss.csv").read_text().split() == [
        "source,target,truss", "1,2,4", "1,3,4", "1,4,4", "2,3,4", "2,4,4", "3,4,4", "4,5,3", "4,6,3", "5,6,3", "6,7,2",
    ]  # fmt: skip
    assert "largest truss   4" in done.stdout and "every truss number by its definition" in done.stdout
    facts = json.loads(gstream("run", "ktruss", "t.gs", "--k", "4", "--json").stdout)
    assert facts["truss_edges"] == 6 and facts["top"][5] == {"source": 3, "target": 4}


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        (["subgraph", "--nodes", "nodes.txt"], "1,2 2,3 3,1"),
        (["subgraph", "--node", "3", "--node", "4"], "3,4"),
        (["egonet", "--source", "3", "--radius", "2"], "1,2 3,1 3,4 4,5 2,3"),
        (["egonet", "--source", "3", "--no-center"], ""),
        (["egonet", "--source", "5", "--undirected"], "4,5"),
        (["cross", "--nodes", "nodes.txt"], "3,4"),
        (["cross", "--nodes", "nodes.txt", "--target", "1", "--target", "3"], "2,3 3,1"),
        (["cross", "--node", "3", "--targets", "nodes.txt"], "3,1"),
    ],
)
def test_edges_of_chosen_vertices(
    tmp_path: Path, store: Path, gstream: Command, arguments: list[str], rows: str
) -> None:
    (tmp_path / "nodes.txt").write_text("1\n2\n3\n")
    done = gstream("run", arguments[0], store, *arguments[1:], "-o", "rows.csv", "--certify")
    assert done.returncode == 0, done.stderr
    found = (tmp_path / "rows.csv").read_text().split()
    assert found[0] == "source,target" and sorted(found[1:]) == sorted(rows.split())
    assert f"the rows are all {len(found) - 1} such edges of the graph" in done.stdout
    facts = json.loads(gstream("run", arguments[0], store, *arguments[1:], "--json").stdout)
    assert facts["chosen_edges"] == facts["rows"] == len(found) - 1 == len(facts["top"])


def test_weights_that_are_not_there_are_missed_before_the_run(
    tmp_path: Path, store: Path, gstream: Command
) -> None:  # fmt: skip
    for name, asked in (("subgraph", "--node"), ("cross", "--node"), ("egonet", "--source")):
        done = gstream("run", name, store, asked, "99", "-o", "rows.wel.gz")  # 99, no vertex, is looked up by the run
        assert (done.returncode, done.stdout) == (2, "") and not (tmp_path / "rows.wel.gz").exists()
        said = ".wel has a number for each edge, this answer has source, target. Write to NAME.el.\n"
        assert done.stderr == said
        assert "99 is not a vertex" in gstream("run", name, store, asked, "99", "-o", "rows.el").stderr


def test_the_list_of_vertices_is_not_overwritten(tmp_path: Path, store: Path, gstream: Command) -> None:
    (tmp_path / "nodes.csv").write_text("1\n2\n")
    done = gstream("run", "subgraph", store, "--nodes", "nodes.csv", "-o", "nodes.csv", "--force")
    assert done.returncode == 2 and (tmp_path / "nodes.csv").read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("name", "summary"),
    [("scc", "components"), ("kcore", "largest_core"), ("mis", "set_vertices"), ("coloring", "colors")],
)
def test_they_prove_and_count(store: Path, gstream: Command, name: str, summary: str) -> None:
    done = gstream("run", name, store, "--certify", "--json")
    facts = json.loads(done.stdout)
    assert facts["certificate"]["holds"] and facts[summary] > 0
    assert summary.replace("_", " ") in gstream("run", name, store).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "triangles"], "graph.gs: is directed, and triangles are counted in undirected graphs."),
        (["run", "msf"], "graph.gs: is directed, and spanning forests are those of undirected graphs."),
        (["run", "ktruss"], "graph.gs: is directed, and trusses are those of undirected graphs."),
        (["run", "subgraph"], "subgraph: no vertices were given. Pass --nodes FILE, a vertex a line, or --node ID"),
        (["run", "subgraph", "--node", "99"], "node 99 is not a vertex of graph.gs; its 7 IDs run from 1 to 7."),
        (["run", "cross", "--node", "1", "--nodes", "x"], "--node and --nodes both say which vertices. Pass one of"),
        (["run", "egonet"], "egonet: no source was given. Pass --source ID"),
        (["run", "egonet", "--source", "1", "--node", "2"], "--node: is no option of egonet, which has --source,"),
        (["plan", "msf"], "graph.gs: is directed, and spanning forests are those of undirected graphs."),
        (["run", "cdlp", "--certify"], "--certify: cdlp has no certificate."),
        (["run", "bfs", "--source", "1", "--k", "2"], "--k: is no option of bfs, which has"),
        (["run", "kcore", "--k", "-1"], "--k -1: is negative"),
        (["run", "betweenness", "--k", "9"], "--k 9: out of range; 1 to 7 sources can be drawn."),
        (["run", "mis", "--max-supersteps", "2"], "--max-supersteps: is for programs of your own;"),
    ],
)
def test_wrong_use(store: Path, gstream: Command, arguments: list[str], message: str) -> None:
    done = gstream(*arguments[:2], store, *arguments[2:])
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("only", ["out", "in"])
def test_one_topology_is_too_few_for_cores(store: Path, gstream: Command, only: str) -> None:
    assert gstream("convert", "edges.txt", "one.gs", "--topology", only).returncode == 0
    done = gstream("run", "kcore", "one.gs")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"one.gs: has {only}-pages only, and kcore looks at out- and in-neighbours of each vertex. Convert again with "
        "--topology both.\n"
    )
