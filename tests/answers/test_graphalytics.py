"""LDBC Graphalytics' validation graphs for its six algorithms, by the benchmark's rules (../shared/data).

BFS and CDLP exact, WCC by equivalence, PR, LCC and SSSP within 1e-4 relative; our side is the text that --ldbc writes.
"""

from __future__ import annotations

import numpy as np
import pytest

import gstream
from gstream.cli.commands import run_command_line
from pagestore.memory import convert_arrays
from tests.shared_data import DATA, needs_data

SUITE = DATA / "suites" / "graphalytics"
pytestmark = needs_data
EXAMPLES = [(kind, name) for kind in ("directed", "undirected") for name in ("BFS", "PR", "WCC", "SSSP", "CDLP", "LCC")]
TESTS = [(kind, name) for kind in ("dir", "undir") for name in ("bfs", "pr", "wcc", "sssp", "cdlp", "lcc")]


def read_adjacency(path, directed):
    """`v n1 n2 ...` lines: (vertices, source, target, None)."""
    lists = [[int(word) for word in line.split()] for line in path.read_text().splitlines() if line.strip()]
    pairs = [(row[0], other) for row in lists for other in row[1:] if directed or row[0] <= other]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    return sorted({v for row in lists for v in row}), source, target, None


def read_pair(stem):
    """STEM.v and STEM.e: (vertices, source, target, weight)."""
    vertices = sorted(int(line) for line in stem.with_name(stem.name + ".v").read_text().split())
    table = np.loadtxt(stem.with_name(stem.name + ".e"), ndmin=2)
    weight = table[:, 2] if table.shape[1] == 3 else None
    return vertices, table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), weight


def read_answer(path):
    return {int(v): value for v, value in (line.split() for line in path.read_text().splitlines() if line.strip())}


def run(graph_data, directed, algorithm, options, tmp_path):
    """The answer that we write, read back."""
    vertices, source, target, weight = graph_data
    ids = np.array(vertices)
    ends = (np.searchsorted(ids, source), np.searchsorted(ids, target))
    convert_arrays(tmp_path / "graph.gs", *ends, weight, directed=directed, ids=ids, page_bytes=4096, order="degree")
    with gstream.open(tmp_path / "graph.gs") as graph:
        proven = algorithm != "cdlp"  # which has no certificate
        result = graph.execute({"pr": "pagerank"}.get(algorithm, algorithm), options, certify=proven)
    result.write(tmp_path / "answer", ldbc=True)
    return read_answer(tmp_path / "answer")


def check(algorithm, found, expected):
    assert found.keys() == expected.keys()
    if algorithm in ("bfs", "cdlp"):
        assert found == expected
    elif algorithm == "wcc":
        pairs = {(found[v], expected[v]) for v in found}
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    else:
        for v in found:
            mine, theirs = float(found[v]), float(expected[v])
            assert mine == theirs or abs(mine - theirs) <= 1e-4 * theirs, v


def options_of(algorithm, directed):
    """The examples' parameters."""
    source, iterations = {"source": 1 if directed else 2}, {"iterations": 2}
    return {"bfs": source, "sssp": source, "pr": iterations, "cdlp": iterations}.get(algorithm, {})


@pytest.mark.parametrize(("kind", "name"), EXAMPLES)
def test_examples(kind, name, tmp_path):
    directed, algorithm = kind == "directed", name.lower()
    options = options_of(algorithm, directed)
    data = read_pair(SUITE / "example" / f"example-{kind}")
    expected = read_answer(SUITE / "example" / f"example-{kind}-{name}")
    check(algorithm, run(data, directed, algorithm, options, tmp_path), expected)


@pytest.mark.parametrize("kind", ["directed", "undirected"])
def test_examples_by_the_command_line(kind, tmp_path):
    """From the files as they come to the text that the benchmark's validator reads."""
    directed, stem, store = kind == "directed", SUITE / "example" / f"example-{kind}", tmp_path / "graph.gs"
    turned = [] if directed else ["--undirected"]
    assert run_command_line(["convert", f"{stem}.v", f"{stem}.e", str(store), *turned]) == 0
    for name in ("BFS", "PR", "WCC", "SSSP", "CDLP", "LCC"):
        algorithm, answer = name.lower(), tmp_path / name
        given = [
            str(word) for option, value in options_of(algorithm, directed).items() for word in (f"--{option}", value)
        ]
        ours = {"pr": "pagerank"}.get(algorithm, algorithm)
        assert run_command_line(["run", ours, str(store), *given, "-o", str(answer), "--ldbc"]) == 0
        check(algorithm, read_answer(answer), read_answer(SUITE / "example" / f"example-{kind}-{name}"))


@pytest.mark.parametrize(("kind", "name"), TESTS)
def test_validation_graphs(kind, name, tmp_path):
    directed = kind == "dir"
    folder = SUITE / name
    data = read_pair(folder / f"{kind}-input") if name == "sssp" else read_adjacency(folder / f"{kind}-input", directed)
    rounds = {"pr": 14 if directed else 26, "cdlp": 5}
    options = {"iterations": rounds[name]} if name in rounds else {"source": 1} if name in ("bfs", "sssp") else {}
    check(name, run(data, directed, name, options, tmp_path), read_answer(folder / f"{kind}-output"))
