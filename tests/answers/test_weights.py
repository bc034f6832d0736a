"""Ranks and centralities by edge weights, against NetworkX: ties, weights of 0, sums of 0, repeated edges, loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gstream
from gstream.algorithms.density.clustering import run_lcc
from gstream.algorithms.density.clustering_proofs import certify_lcc
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example, column
from tests.answers.simple_graphs import blocks_of

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
        assert "weighted=True reads them" in graph.pagerank().summary["note"]
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


def simple_example(directed: bool, seed: int, **stored: Any) -> Example:
    """Each edge once, a self-loop of the greatest weight, weights of 0, a hub; most directed edges go both ways."""
    graph = nx.gnp_random_graph(50, 0.15, seed=seed, directed=True)
    graph.add_edges_from((v, 0) for v in range(1, 40))
    graph.add_edges_from([(v, u) for u, v in graph.edges if (u + v) % 3])
    ends = np.array((graph if directed else graph.to_undirected()).edges).T
    weight = np.random.default_rng(seed).integers(0, 30, len(ends[0])) / 4
    ends, weight = np.append(ends, [[3], [3]], axis=1), np.append(weight, 9.0)
    return Example(51, *ends, weight, directed=directed, **stored)


@pytest.mark.covering(1)
@pytest.mark.parametrize("room", [1 << 60, 3000])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("topology", ["both", "out", "in"])
@pytest.mark.parametrize("devices", ["host", "host:2", "fake:3:2"])
def test_weighted_clustering_is_networkx_s(directed, topology, devices, room, tmp_path):
    made = simple_example(directed, len(topology), topology=topology, order="degree")
    theirs = made.networkx()
    wanted = nx.clustering(type(theirs).__mro__[1](theirs) if not directed else nx.DiGraph(theirs), weight="weight")
    with gstream.open(made.stored(tmp_path), devices=devices) as graph, blocks_of(room):
        found = graph.lcc(weighted=True, certify=True)
        bare = graph.lcc()
    assert found.summary["certificate"]["holds"] and (found.summary["supersteps"] > 1) == (room < 1 << 60)
    assert column(found, "lcc") == pytest.approx(wanted, rel=3e-7)
    assert column(found, "lcc") != pytest.approx(column(bare, "lcc"), rel=1e-2)


def test_wrong_weighted_clustering_is_refused(tmp_path):
    with gstream.open(simple_example(True, 1).stored(tmp_path)) as graph:
        with Session(graph.engine()) as session:
            columns, found = run_lcc(session, weighted=True)
            assert certify_lcc(session, columns, {"weighted": True}, found)["holds"]
            for change in (1 + 1e-4, 0.5):
                values = columns[0].values.copy()
                values[0] *= change  # the hub's
                told = {"mean_lcc": float(values.mean())}
                with pytest.raises(CertificateError, match="counted again"):
                    certify_lcc(session, [replace(columns[0], values=values)], {"weighted": True}, told)


def test_weighted_clustering_needs_each_edge_once(tmp_path):
    with gstream.open(example(True, 1).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="has [0-9]+ repeated edges, and lcc weighted=True needs each edge once"):
            graph.lcc(weighted=True)


def test_active_above_bounds_what_weighted_ranks_leave_out(tmp_path):
    with gstream.open(example(True, 2).stored(tmp_path)) as graph:
        exact = graph.pagerank(weighted=True, tol=1e-14, max_iter=3000).to_numpy()["pagerank"]
        found = graph.pagerank(weighted=True, active_above=1e-5, tol=1e-9, max_iter=300, certify=True)
        assert 0 < np.abs(found.to_numpy()["pagerank"] - exact).sum() <= 30 * 1e-5 / 0.15
