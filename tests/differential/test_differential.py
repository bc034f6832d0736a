"""A share of the differential tester with fixed seeds, and whether it notices wrong answers and makes them small.

`python tests/differential/run.py --seed N --seconds S` runs more; a failure prints what gives it again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import choice
import compared
import judge
import nasty
import networkx as nx
import numpy as np
import pytest
import references_parts as parts
import references_paths as paths
import run
import shrink
from results import Result, add_up
from tester import Tester, of_json

from gstream.algorithms.registry import ALGORITHMS

SEED = 5


@pytest.mark.longer
@pytest.mark.parametrize("number", [0, *choice.also(1, 2, 3, 4, 5)])  # each has some kernels of its own
def test_a_share(number: int, tmp_path: Path) -> None:
    tester = Tester(SEED, tmp_path)
    tester.try_graph(number, most_stores=choice.few(1, 2), most_runs=choice.few(1, 2))
    assert tester.counts.failures == [] and tester.counts.failed == 0
    assert tester.counts.comparisons > 10


def test_every_algorithm_is_judged() -> None:
    assert set(judge.CHECKS) == set(ALGORITHMS)


def wrong_at(column: str) -> Any:
    """A judge that sees one value of a column changed, where the graph has an edge."""

    def judged(graph: nasty.Graph, name: str, own: dict[str, Any], answer: compared.Answer) -> judge.Told:
        columns = {one: values.copy() for one, values in answer.columns.items()}
        if len(graph.source) and len(columns[column]):
            columns[column][0] += 1
        return judge.judge(graph, name, own, compared.Answer(columns, answer.summary))

    return judged


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("wcc", "component"),
        ("degrees", "vertices"),
        *choice.also(("cdlp", "community"), ("lcc", "lcc"), ("pagerank", "pagerank")),
    ],
)
def test_a_wrong_answer_is_told_and_made_small(name: str, column: str, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(shrink, "SECONDS", 2.0)
    tester = Tester(SEED, tmp_path, names=(name,), judged=wrong_at(column))
    number = 0
    while not tester.counts.failures:
        tester.try_graph(number, 1, 1)
        number += 1
    said = capsys.readouterr().err
    assert f"{column}: " in said and "is right" in said and f"gstream.open(store).{name}(" in said
    kept = next((tmp_path / "failures").glob("*.json"))
    assert f"--again {kept}" in said
    small, whole = of_json(kept.read_text()), of_json(kept.with_suffix(".whole").read_text())
    assert 1 <= len(small.graph.source) <= len(whole.graph.source)
    assert tester.problem(small) and not Tester(SEED, tmp_path).problem(small)
    assert run.main(["--again", str(kept), "--folder", str(tmp_path)]) == 0


def test_shrinking_leaves_what_is_needed() -> None:
    graph = nasty.Graph(40, np.arange(39), np.arange(1, 40), np.arange(39.0))
    trial = of_json(
        json.dumps(
            {"graph": graph.raw, "store": {"order": "degree", "columns": 8}, "case": {"name": "wcc", "own": {}},
             "run": {"options": {**shrink.PLAIN_RUN, "threads": 3}, "knobs": {"near": 0}, "stop": 2}}
        )
    )  # fmt: skip

    def problem(tried: Any) -> str:
        return "wrong" if 20.0 in tried.graph.weight and tried.store.order == "degree" else ""

    smaller, says = shrink.shrink(trial, problem)
    assert says == "wrong" and smaller.graph.weight.tolist() == [20.0] and smaller.graph.vertices == 2
    assert (smaller.store.order, smaller.store.columns, smaller.run.options["threads"]) == ("degree", 1, 1)
    assert shrink.shrink(trial, lambda tried: "") == (trial, "")


@pytest.mark.parametrize("directed", [True, False])
def test_references_are_networkx(directed: bool) -> None:
    """Of plain graphs, where packages agree on what is asked."""
    numbers = np.random.default_rng(3)
    ends = np.unique(np.sort(numbers.integers(0, 14, (30, 2)), axis=1), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]]
    weight = numbers.integers(1, 9, len(ends)).astype(float)
    graph = nasty.Graph(14, ends[:, 0], ends[:, 1], weight, directed)
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(14))
    other.add_weighted_edges_from(zip(*(part.tolist() for part in graph.edges), strict=True))

    def listed(of: dict[int, Any]) -> list[Any]:
        return [of.get(v, np.inf) for v in range(14)]

    everyone = np.arange(14)
    assert paths.hops(graph, (0,)).tolist() == listed(nx.single_source_shortest_path_length(other, 0))
    assert paths.distances(graph, (0,)).tolist() == listed(nx.single_source_dijkstra_path_length(other, 0))
    assert parts.cores(graph).tolist() == listed(nx.core_number(other))
    np.testing.assert_allclose(paths.closeness(graph, None, 0, True), listed(nx.closeness_centrality(other)))
    np.testing.assert_allclose(paths.harmonic(graph, None, 0), listed(nx.harmonic_centrality(other)))
    for ends_count in (True, False):
        between = paths.betweenness(graph, everyone, False, True, ends_count)
        np.testing.assert_allclose(between, listed(nx.betweenness_centrality(other, endpoints=ends_count)))
    if not directed:
        assert parts.triangles(graph).tolist() == listed(nx.triangles(other))
        np.testing.assert_allclose(parts.clustering(graph), listed(nx.clustering(other)))
        total = nx.minimum_spanning_tree(other).size(weight="weight")
        assert sum(row[2] for row in parts.forest(graph)) == total
        strong = {edge for edge, k in parts.trusses(graph).items() if k >= 3}
        assert strong == {tuple(sorted(edge)) for edge in nx.k_truss(other, 3).edges}


def test_counts_add_up(tmp_path: Path) -> None:
    out, whole = tmp_path / "one.json", tmp_path / "both.json"
    given = ["--seed", "3", "--seconds", "0.001", "--only", "degrees", "--folder", str(tmp_path)]
    assert run.main([*given, "--out", str(out)]) == 0
    one = Result.read(out)
    assert one.total == sum(one.whole["by_algorithm"].values()) > 0
    assert one.whole["parts"][0] | {"seed": 3, "graphs": 1, "failed": 0} == one.whole["parts"][0]
    assert run.main(["--join", str(out), str(out), "--out", str(whole)]) == 0
    assert Result.read(whole).total == 2 * one.total
    assert add_up(whole, one).whole["by_algorithm"] == {"degrees": 3 * one.total}
