"""Weights on GPUs, over the stand-in for the driver: each algorithm that takes them, against NetworkX."""

from __future__ import annotations

from typing import Any

import choice
import networkx as nx
import numpy as np
import pytest
from compilers import needs_gxx

import gstream
from pagestore.memory import convert_arrays

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
PLACES = {
    "in memory": {"devices": "cuda"},
    "streamed": {"devices": "cuda", "cache": "0", "batch_bytes": 8192, "streams": 2},
    "two": {"devices": "cuda:0,2"},
}
FAR: dict[str, Any] = {"weight": "weight", "max_iter": 5000, "tol": 1e-14}
# name: (our options, NetworkX's answer by columns)
ASKED: dict[str, tuple[dict[str, Any], Any]] = {
    "lcc": ({}, lambda graph: {"lcc": nx.clustering(graph, weight="weight")}),
    "pagerank": ({"tol": 1e-12, "max_iter": 999}, lambda graph: {"pagerank": nx.pagerank(graph, **FAR)}),
    "closeness": ({}, lambda graph: {"closeness": nx.closeness_centrality(graph, distance="weight")}),
    "rwr": ({"source": 5, "tol": 1e-12, "max_iter": 999},
            lambda graph: {"proximity": nx.pagerank(graph, personalization={5: 1}, **FAR)}),
    "katz": ({"alpha": 0.002, "tol": 1e-13}, lambda graph: {"katz": nx.katz_centrality(graph, 0.002, **FAR)}),
    "eigenvector": ({"tol": 1e-12, "max_iter": 999},
                    lambda graph: {"eigenvector": nx.eigenvector_centrality(graph, **FAR)}),
    "hits": ({"tol": 1e-12, "max_iter": 999},
             lambda graph: dict(zip(("hub", "authority"), nx.hits(graph, 5000, 1e-13), strict=True))),
    "betweenness": ({}, lambda graph: {"betweenness": nx.betweenness_centrality(graph, weight="weight")}),
    "harmonic": ({}, lambda graph: {"harmonic": nx.harmonic_centrality(graph, distance="weight")}),
}  # fmt: skip


@pytest.fixture(scope="module")
def mirror() -> nx.DiGraph:
    """Its weights are whole numbers."""
    graph = nx.gnp_random_graph(60, 0.1, seed=3, directed=True)
    nx.add_cycle(graph, range(60))
    weights = np.random.default_rng(4).integers(1, 9, graph.number_of_edges())
    for (u, v), weight in zip(graph.edges, weights.tolist(), strict=True):
        graph.edges[u, v]["weight"] = weight
    return graph


@pytest.fixture(scope="module")
def path(mirror, tmp_path_factory) -> str:
    made = tmp_path_factory.mktemp("weights") / "g.gs"
    weight = np.array([weight for *_, weight in mirror.edges(data="weight")], np.float64)
    convert_arrays(made, *np.array(mirror.edges).T, weight=weight, vertices=60, page_bytes=4096)
    return str(made)


@pytest.mark.covering(1)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [*list(ASKED)[:2], *choice.also(*list(ASKED)[2:])])
def test_weighted_answers_are_networkx_s(mirror, path, name, place):
    own, theirs = ASKED[name]
    with gstream.open(path) as graph:
        found = graph.execute(name, own | {"weighted": True}, True, **PLACES[place])
    assert found.summary["certificate"]["holds"] and "had no room" not in found.summary.get("note", "")
    for key, wanted in theirs(mirror).items():
        ours = dict(enumerate(found.to_numpy()[key].tolist()))
        assert ours == pytest.approx(wanted, rel=1e-6, abs=1e-9), key


@pytest.mark.covering(1)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.long
def test_weighted_egonets_are_networkx_s(mirror, path, place):
    with gstream.open(path) as graph:
        found = graph.egonet(source=0, radius=9, weighted=True, certify=True, **PLACES[place])
    wanted = nx.ego_graph(mirror, 0, 9, distance="weight")
    rows = found.to_numpy()
    assert found.summary["certificate"]["holds"] and 10 < len(rows) == wanted.number_of_edges()
    ours = zip(rows["source"].tolist(), rows["target"].tolist(), rows["weight"].tolist(), strict=True)
    assert set(ours) == {(u, v, weight) for u, v, weight in wanted.edges(data="weight")}
