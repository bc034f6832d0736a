"""Closeness, harmonic, betweenness and egonets by edge weights, against NetworkX: ties, repeated edges, loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import choice
import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.centrality.betweenness_subset import betweenness_centrality_subset

import gstream
from gstream.algorithms.centrality import betweenness, reach
from gstream.algorithms.centrality.betweenness_proof import certify_betweenness
from gstream.algorithms.centrality.search_proofs import certify_closeness, certify_harmonic
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example, column

DEVICES = ["host", "host:2", "fake:3:2"]


def example(directed: bool, seed: int, whole: bool = True, least: int = 1, **stored: Any) -> Example:
    """40 vertices, two of them alone, with a hub; few weights, so that many paths are equally long; repeated edges of
    other weights."""
    draws = np.random.default_rng(seed)
    source = np.concatenate([(38 * draws.random(110) ** 2).astype(np.int64), [7, 7, 7, 5], np.full(30, 11)])
    target = np.concatenate([draws.integers(0, 38, 110), [9, 9, 7, 6], np.arange(30)])
    weight = draws.integers(least, 5, len(source)) * (1.0 if whole else 0.1)
    return Example(40, source, target, weight.astype(np.float32).astype(float), directed=directed, **stored)


def lightest(made: Example) -> nx.Graph:
    """The graph with the lightest of repeated edges alone."""
    simple = nx.DiGraph() if made.directed else nx.Graph()
    many = made.networkx()
    simple.add_nodes_from(many)
    for u, v, weight in many.edges(data="weight"):
        if not simple.has_edge(u, v) or weight < simple[u][v]["weight"]:
            simple.add_edge(u, v, weight=weight)
    return simple


@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("topology", ["both", "out", "in"])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", ["closeness", "harmonic", "betweenness"])
def test_centralities_by_weights_are_networkx_s(name, whole, topology, directed, devices, tmp_path):
    made = example(directed, len(topology), whole, topology=topology, order="degree")
    simple = lightest(made)
    wanted: dict[str, Any] = {
        "closeness": lambda: nx.closeness_centrality(simple, distance="weight"),
        "harmonic": lambda: nx.harmonic_centrality(simple, distance="weight"),
        "betweenness": lambda: nx.betweenness_centrality(simple, weight="weight"),
    }
    with gstream.open(made.stored(tmp_path), devices=devices) as graph:
        if name == "betweenness" and directed and topology == "in":
            with pytest.raises(UsageError, match="topolog"):
                graph.betweenness(weighted=True)
            return
        found = graph.execute(name, {"weighted": True}, True)
        plain = graph.execute(name, {})
    assert found.summary["certificate"]["holds"] and "note" not in found.summary | plain.summary
    assert column(found, name) == pytest.approx(wanted[name](), rel=1e-9, abs=1e-12)
    assert column(found, name) != pytest.approx(column(plain, name), rel=1e-3)


@pytest.mark.parametrize("directed", [True, False])
def test_some_sources_of_weighted_betweenness(directed, tmp_path):
    made = example(directed, 8, whole=False)
    simple, some = lightest(made), [3, 11, 20]
    with gstream.open(made.stored(tmp_path)) as graph:
        named = graph.betweenness(source=some, weighted=True, normalized=False, certify=True)
        ends = graph.betweenness(weighted=True, endpoints=True, certify=True)
        drawn = graph.betweenness(k=5, seed=2, weighted=True, certify=True)
    found = betweenness_centrality_subset(simple, some, list(simple), weight="weight")
    assert column(named, "betweenness") == pytest.approx(found)
    wanted = nx.betweenness_centrality(simple, weight="weight", endpoints=True)
    assert column(ends, "betweenness") == pytest.approx(wanted)
    wanted = nx.betweenness_centrality(simple, k=5, seed=2, weight="weight")
    assert column(drawn, "betweenness") == pytest.approx(wanted)


@pytest.mark.parametrize("own", [{}, {"undirected": True}, {"center": False}], ids=str)
@pytest.mark.parametrize("directed", [True, False])
def test_an_egonet_within_a_weight_is_networkx_s(directed, own, tmp_path):
    made = example(directed, 4, whole=False, least=0)
    with gstream.open(made.stored(tmp_path)) as graph:
        if directed and "undirected" in own:
            with pytest.raises(UsageError, match="takes out-edges alone on a directed store"):
                graph.egonet(source=11, radius=0.3, weighted=True, **own)
            return
        for radius in (0, 0.35, 1, 100):
            found = graph.egonet(source=11, radius=radius, weighted=True, certify=True, **own)
            wanted = nx.ego_graph(lightest(made), 11, radius, distance="weight", **own)
            rows = found.to_arrow()
            ends = set(zip(rows.column("source").to_pylist(), rows.column("target").to_pylist(), strict=True))
            assert ends == {(u, v) if directed else (min(u, v), max(u, v)) for u, v in wanted.edges}
        with pytest.raises(UsageError, match=r"radius 1.5: must be a whole number"):
            graph.egonet(source=11, radius=1.5)
        with pytest.raises(UsageError, match=r"radius -1: must be at least 0; it is the weight"):
            graph.egonet(source=11, radius=-1, weighted=True)


def test_weights_that_betweenness_can_not_count(tmp_path):
    made = example(True, 3, least=0)
    with gstream.open(made.stored(tmp_path)) as graph:
        with pytest.raises(InputError, match="has an edge of weight 0, and betweenness by weights needs"):
            graph.betweenness(weighted=True)
        simple = lightest(made)
        found = column(graph.closeness(weighted=True, certify=True), "closeness")
        assert found == pytest.approx(nx.closeness_centrality(simple, distance="weight"))
        found = column(graph.harmonic(weighted=True, certify=True), "harmonic")
        assert found == pytest.approx(nx.harmonic_centrality(simple, distance="weight"))
    graph = gstream.from_edges([0, 1, 2], [1, 2, 3], [1e9, 1e-9, 1.0])
    with pytest.raises(UsageError, match="a weight is so small beside the length of a path"):
        graph.betweenness(weighted=True)
    graph = gstream.from_edges([0, 1], [1, 0])
    with pytest.raises(UsageError, match="has no edge weights, which betweenness weighted=True needs"):
        graph.betweenness(weighted=True)


@pytest.mark.longer
@pytest.mark.parametrize("name", ["closeness", "harmonic", "betweenness"])
def test_a_wrong_answer_by_weights_has_no_certificate(name, tmp_path):
    run = {"closeness": reach.run_closeness, "harmonic": reach.run_harmonic, "betweenness": betweenness.run_betweenness}
    prove = {"closeness": certify_closeness, "harmonic": certify_harmonic, "betweenness": certify_betweenness}
    made, own = example(True, 9, whole=False), {"weighted": True}
    with gstream.open(made.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run[name](session, **own)
        assert prove[name](session, columns, own, found)["holds"]
        values = columns[0].values
        for at in np.flatnonzero(values)[: choice.few(5, 20)]:
            wrong = values.copy()
            wrong[at] *= 1.001
            with pytest.raises(CertificateError):
                prove[name](session, [replace(columns[0], values=wrong)], own, found)
        with pytest.raises(CertificateError):  # by edges instead
            prove[name](session, run[name](session)[0], own, found)
