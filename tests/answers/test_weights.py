"""Ranks and centralities by edge weights, against NetworkX: ties, weights of 0, sums of 0, repeated edges, loops."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import gstream
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example, column

OWN = {
    "pagerank": {"tol": 1e-13, "max_iter": 3000}, "rwr": {"tol": 1e-13, "max_iter": 3000},
    "katz": {"alpha": 0.004, "tol": 1e-13}, "eigenvector": {"tol": 1e-12, "max_iter": 3000},
    "hits": {"tol": 1e-12, "max_iter": 3000},
}  # fmt: skip


def example(directed: bool, seed: int, **stored: Any) -> Example:
    """A cycle, so that each vertex reaches each; vertex 3 has out-edges of weight 0 alone, vertex 4 some."""
    draws = np.random.default_rng(seed)
    ring = np.arange(30)
    source = np.concatenate([ring, (30 * draws.random(90) ** 2).astype(np.int64), [7, 7, 7]])
    target = np.concatenate([(ring + 1) % 30, draws.integers(0, 30, 90), [9, 9, 7]])
    weight = draws.integers(1, 9, len(source)) / 4
    weight[(source == 3) | ((source == 4) & (target > 8))] = 0
    return Example(30, source, target, weight, directed=directed, **stored)


def theirs(name: str, graph: nx.Graph, source: Any) -> dict[str, dict[Any, float]]:
    """NetworkX's answers by columns, from exact or far iterated forms."""
    if name in ("pagerank", "rwr"):
        personal = {source: 1.0} if name == "rwr" else None
        found = nx.pagerank(graph, personalization=personal, tol=1e-15, max_iter=5000)
        return {"pagerank" if name == "pagerank" else "proximity": found}
    if name == "hits":
        hubs, authorities = nx.hits(graph, tol=1e-13, max_iter=5000)
        return {"hub": hubs, "authority": authorities}
    simple = type(graph).__mro__[1]() if graph.is_multigraph() else graph  # Katz and eigenvectors take no multigraph
    if graph.is_multigraph():
        simple = nx.DiGraph() if graph.is_directed() else nx.Graph()
        simple.add_nodes_from(graph)
        for u, v, weight in graph.edges(data="weight"):
            simple.add_edge(u, v, weight=weight + (simple[u][v]["weight"] if simple.has_edge(u, v) else 0))
    if name == "katz":
        return {"katz": nx.katz_centrality(simple, 0.004, tol=1e-15, weight="weight", max_iter=5000)}
    return {"eigenvector": nx.eigenvector_centrality(simple, 5000, 1e-13, weight="weight")}


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("topology", ["both", "out", "in"])
@pytest.mark.parametrize("devices", ["host", "host:2", "fake:3:2"])
def test_weighted_answers_are_networkx_s(name, directed, topology, devices, tmp_path):
    made = example(directed, len(topology), topology=topology, order="degree")
    source = made.user_id(5)
    own = OWN[name] | ({"source": source} if name == "rwr" else {})
    with gstream.open(made.stored(tmp_path), devices=devices) as graph:
        found = graph.execute(name, own | {"weighted": True}, True)
        again = graph.execute(name, own | {"weighted": True})
        plain = graph.execute(name, own)
    assert found.summary["certificate"]["holds"] and "note" not in found.summary
    for key, wanted in theirs(name, made.networkx(), source).items():
        ours = column(found, key)
        assert ours == pytest.approx(wanted, rel=1e-6, abs=1e-9)
        assert ours == pytest.approx(column(again, key), rel=1e-9)
        assert ours != pytest.approx(column(plain, key), rel=1e-3)


def test_a_run_says_that_it_reads_no_weights_where_networkx_would(tmp_path):
    made = example(True, 1)
    with gstream.open(made.stored(tmp_path)) as graph:
        for name in ("pagerank", "rwr", "hits"):
            own = {"source": made.user_id(0)} if name == "rwr" else {}
            said = graph.execute(name, own).summary["note"]
            assert said == "weights of 123 edges are not read, which NetworkX's default reads; --weighted reads them"
        for name in ("katz", "eigenvector"):  # NetworkX's default reads none either
            assert "note" not in graph.execute(name, OWN[name]).summary


def test_weights_that_a_definition_forbids(tmp_path):
    made = example(True, 1)
    made.weight[5] = -1.0
    with gstream.open(made.stored(tmp_path)) as graph:
        for name in ("pagerank", "hits", "eigenvector"):
            with pytest.raises(
                InputError, match=rf"has weight -1, which is negative; {name} weighted=True needs weights"
            ):
                graph.execute(name, {"weighted": True})
        katz = graph.katz(**OWN["katz"], weighted=True, certify=True)
        assert column(katz, "katz") == pytest.approx(theirs("katz", made.networkx(), 0)["katz"], rel=1e-6)
        with pytest.raises(UsageError, match="weighted=True: is for supersteps"):
            gstream.from_edges([0, 1], [1, 0], [1.0, 2.0]).pagerank(weighted=True, execution="async")
    (tmp_path / "bare").mkdir()
    bare = Example(4, np.arange(3), np.arange(1, 4))
    with gstream.open(bare.stored(tmp_path / "bare")) as graph:
        with pytest.raises(UsageError, match="has no edge weights, which pagerank weighted=True needs"):
            graph.pagerank(weighted=True)


def test_all_weights_are_zero(tmp_path):
    """All vertices are dangling, and nothing flows."""
    made = Example(5, np.arange(4), np.arange(1, 5), np.zeros(4))
    with gstream.open(made.stored(tmp_path)) as graph:
        ranks = graph.pagerank(weighted=True, certify=True)
        assert ranks.to_numpy()["pagerank"] == pytest.approx(np.full(5, 0.2))
        assert set(column(graph.hits(weighted=True, certify=True), "hub").values()) == {0.0}
        assert graph.eigenvector(weighted=True, certify=True).to_numpy()["eigenvector"] == pytest.approx(5**-0.5)


def test_active_above_bounds_what_weighted_ranks_leave_out(tmp_path):
    with gstream.open(example(True, 2).stored(tmp_path)) as graph:
        exact = graph.pagerank(weighted=True, tol=1e-14, max_iter=3000).to_numpy()["pagerank"]
        found = graph.pagerank(weighted=True, active_above=1e-5, tol=1e-9, max_iter=300, certify=True)
        assert 0 < np.abs(found.to_numpy()["pagerank"] - exact).sum() <= 30 * 1e-5 / 0.15
