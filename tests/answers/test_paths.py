"""Widest paths, levels and longest paths, k-hop neighbourhoods and label propagation against networkx and by hand."""

from __future__ import annotations

import heapq
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from bench.cliff_graphs import Cliff
from gstream.algorithms.components import wcc
from gstream.algorithms.support import lists
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal.levels import certify_levels, run_levels
from gstream.algorithms.traversal.widest import certify_widest, run_widest
from gstream.engine.engine import Engine
from gstream.options.stopping import AT_MOST
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example, column, examples, hub_example

WAYS = ["host", "host:3", "fake:1:2"]


def widths(graph, sources):
    """{vertex: width of its widest path} by Dijkstra's algorithm, widest first."""
    found, queue = {}, [(-np.inf, str(v), v) for v in sources]
    while queue:
        width, _, u = heapq.heappop(queue)
        if u in found:
            continue
        found[u] = -width
        for v, edges in graph[u].items():
            heapq.heappush(queue, (max(width, -max(data["weight"] for data in edges.values())), str(v), v))
    return found


def check_widths(graph, example, sources):
    expected = widths(example.networkx(), sources)
    result = graph.widest(source=sources, certify=True)
    assert column(result, "width") == {v: expected.get(v) for v in example.networkx()}
    assert result.summary["reached"] == len(expected)
    shown = {row["vertex"]: row["width"] for row in result.to_numpy()}
    assert all(shown[v] == expected.get(v, -np.inf) for v in shown)


@settings(max_examples=200)
@given(
    example=examples("integers") | examples("floats"), first=st.sampled_from([1, 3, 99]),
    most=st.sampled_from([1, 4, 999]), data=st.data(),
)  # fmt: skip
def test_widest_paths(example, first, most, data, tmp_path_factory):
    """Their certificate is found by sweeps, by one thread, and from one to the other and back."""
    nodes = list(example.networkx())
    sources = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
    path = example.stored(tmp_path_factory.mktemp("widest"))
    with gstream.open(path) as graph, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "FIRST_ROUNDS", first)
        patch.setattr(lists, "MOST_DUE", most)
        check_widths(graph, example, sources)


def test_the_certificate_of_a_long_path_as_wide_throughout_takes_few_sweeps(tmp_path, monkeypatch):
    """Every edge bears the width of its end, in any order of IDs."""
    order = np.random.default_rng(6).permutation(20_001)
    swept, sweep = [], Engine.sweep
    monkeypatch.setattr(Engine, "sweep", lambda *given: (swept.append(given[1]), sweep(*given))[1])
    with gstream.open(Example(20_001, order[:-1], order[1:], np.ones(20_000)).stored(tmp_path)) as graph:
        found = graph.widest(source=int(order[0]), certify=True)
    assert (found.to_numpy()["width"][order[1:]] == 1).all() and len(swept) <= 2 + lists.FIRST_ROUNDS


def acyclic(example):
    """The example with its edges turned so that none leads down, and no self-loops."""
    keep = example.source != example.target
    ends = np.stack([example.source, example.target])[:, keep]
    weight = None if example.weight is None else example.weight[keep]
    return replace(example, source=ends.min(0), target=ends.max(0), weight=weight, directed=True)


def stored(example, folder):
    """Its path, with out-pages; the kinds that name vertices by their edges need some."""
    kind = "dense" if not len(example.source) else example.kind
    example = replace(example, kind=kind, topology="out" if example.topology == "in" else example.topology)
    return example, example.stored(folder)


def check_levels(graph, example):
    plain = example.networkx()
    expected = {v: n for n, group in enumerate(nx.topological_generations(plain)) for v in group}
    result = graph.levels(certify=True)
    assert column(result, "level") == expected and result.columns == ["vertex", "level"]
    assert result.summary["longest"] == (nx.dag_longest_path_length(nx.DiGraph(plain), weight=None) if plain else 0)
    assert result.summary["levels"] == len(set(expected.values()))
    assert result.summary["stats"]["edges_visited"] == len(example.source)
    if example.weight is None:
        return
    weighted = graph.levels(weighted=True, certify=True)
    longest = dict.fromkeys(plain, 0.0)
    for v in nx.topological_sort(plain):
        for u, _, weight in plain.in_edges(v, data="weight"):
            longest[v] = max(longest[v], longest[u] + weight)
    assert column(weighted, "distance") == longest and column(weighted, "level") == expected
    assert weighted.summary["longest"] == nx.dag_longest_path_length(plain)
    bound = weighted.summary["certificate"]["error_bound"]
    assert bound == pytest.approx(max(0, result.summary["levels"] - 1) * 2.0**-53, rel=1e-9)


@settings(max_examples=200)
@given(
    example=examples("integers") | examples("floats") | examples(), first=st.sampled_from([1, 3, 99]),
    most=st.sampled_from([1, 4, 999]),
)  # fmt: skip
def test_levels(example, first, most, tmp_path_factory):
    """By sweeps, by one thread, and from one to the other and back."""
    example, path = stored(acyclic(example), tmp_path_factory.mktemp("levels"))
    with gstream.open(path) as graph, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "FIRST_ROUNDS", first)
        patch.setattr(lists, "MOST_DUE", most)
        check_levels(graph, example)


@pytest.mark.parametrize("weight", [None, np.ones(20_000)])
def test_levels_of_a_long_path_take_few_sweeps(weight, tmp_path, monkeypatch):
    """20,001 levels, in any order of IDs: sweeps make the first ones, and one reads the pages for the thread."""
    order = np.random.default_rng(6).permutation(20_001)
    example = Example(20_001, order[:-1], order[1:], weight, topology="out")
    swept, sweep = [], Engine.sweep
    monkeypatch.setattr(Engine, "sweep", lambda *given: (swept.append(given[1]), sweep(*given))[1])
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.levels(weighted=weight is not None)
    found = result.to_numpy()
    assert np.array_equal(found["level"][order], np.arange(20_001)) and result.summary["levels"] == 20_001
    assert weight is None or np.array_equal(found["distance"][order], np.arange(20_001))
    assert len(swept) <= 1 + (lists.FIRST_ROUNDS + 1) * (1 if weight is None else 2)  # the last one finds nobody due


@settings(max_examples=60)
@given(example=examples(edges_at_least=1))
def test_cycles_are_named(example, tmp_path_factory):
    example, path = stored(replace(example, directed=True), tmp_path_factory.mktemp("cycles"))
    plain = example.networkx()
    with gstream.open(path) as graph:
        if nx.is_directed_acyclic_graph(plain):
            check_levels(graph, example)
            return
        with pytest.raises(InputError) as caught:
            graph.levels()
    names = str(caught.value).split("has a cycle, ")[1].split(", and levels")[0].split(" -> ")
    shown = {str(v): v for v in plain}
    assert len(names) >= 2 and (names[0] == names[-1] or len(names) == 11 and names[-1].startswith("... ("))
    path = [shown[name] for name in names[: None if names[0] == names[-1] else -1]]
    assert all(plain.has_edge(u, v) for u, v in zip(path, path[1:], strict=False))


@settings(max_examples=200)
@given(example=examples(), radius=st.integers(0, 4), patience=st.sampled_from([1, 2, 99]), data=st.data())
def test_khop_and_hcc(example, radius, patience, data, tmp_path_factory):
    """patience: supersteps after which union-find may end label propagation."""
    plain = example.networkx()
    source = data.draw(st.sampled_from(list(plain)))
    folder = tmp_path_factory.mktemp("khop")
    with gstream.open(example.stored(folder)) as graph:
        result = graph.khop(source=source, radius=radius, certify=True)
        found = {v: d for v, d in column(result, "distance").items() if d is not None}
        assert found == nx.single_source_shortest_path_length(plain, source, cutoff=radius)
        assert set(found) == set(nx.ego_graph(plain, source, radius)) and result.summary["reached"] == len(found)
        if example.directed:
            with pytest.raises(UsageError, match="is directed, and labels travel along edges one way"):
                graph.hcc()
    example = replace(example, directed=False)
    expected = {v: min(members) for members in nx.connected_components(example.networkx()) for v in members}
    with gstream.open(example.stored(folder)) as graph, pytest.MonkeyPatch.context() as patch:
        patch.setattr(wcc, "PATIENCE", patience)
        assert column(graph.hcc(certify=True), "component") == expected


@pytest.mark.parametrize("shape", ["path", "comb", "grid", "cliques-undirected"])
def test_labels_that_travel_far_are_united(shape, tmp_path):
    """Supersteps do not grow with the longest shortest path, and edges looked at stay a multiple of the edges."""
    vertices, source, target, _ = Cliff(shape, 20_000, "permuted").made
    example = Example(vertices, source, target, directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.hcc(certify=True)
        assert set(column(result, "component").values()) == {0}
        assert result.summary["converged"] and result.summary["supersteps"] == wcc.PATIENCE + 1
        assert result.summary["stats"]["edges_visited"] <= 10 * len(source)


def test_a_long_tail_of_few_active_vertices_ends(tmp_path):
    """A path behind a random graph: few vertices are active at a time, and for many supersteps."""
    random = np.random.default_rng(1)
    ends, path = random.integers(0, 4000, (2, 40000)), random.permutation(240) + 4000
    source, target = np.concatenate([ends[0], [0], path[:-1]]), np.concatenate([ends[1], path])
    with gstream.open(Example(4240, source, target, directed=False).stored(tmp_path)) as graph:
        result = graph.hcc(certify=True)
    assert set(column(result, "component").values()) == {0}
    assert 0 <= result.summary["supersteps"] - AT_MOST * wcc.PATIENCE <= 1  # and a sweep of union-find, or none


@pytest.mark.parametrize("devices", WAYS)
@pytest.mark.parametrize("options", [{}, {"host_memory": 200_000}])
def test_hubs_and_devices(devices, options, tmp_path):
    example = hub_example(weighted=True, order="degree")
    with gstream.open(example.stored(tmp_path), devices=devices, **options) as graph:
        check_widths(graph, example, [11, 3])
        assert column(graph.khop(11, 2), "distance")[11] == 0
    example, path = stored(acyclic(example), tmp_path)
    with gstream.open(path, devices=devices, **options) as graph:
        check_levels(graph, example)


def test_certificates_refuse_what_is_wrong(tmp_path):
    random = np.random.default_rng(8)
    example = acyclic(hub_example(weighted=True))
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        for run, prove, own in ((run_widest, certify_widest, {"source": 0}), (run_levels, certify_levels, {}),
                                (run_levels, certify_levels, {"weighted": True})):  # fmt: skip
            columns, found = run(session, **own)
            prove(session, columns, own, found)
            for at, values in enumerate(column.values for column in columns):
                for _ in range(60):
                    wrong, v = values.copy(), int(random.integers(len(values)))
                    wrong[v] = random.choice([0, 1, 2, 3, 5, 9, 100])
                    if wrong[v] != values[v]:
                        forged = [replace(c, values=wrong) if i == at else c for i, c in enumerate(columns)]
                        with pytest.raises(CertificateError):
                            prove(session, forged, own, found)


def test_a_circle_that_bears_itself_is_no_proof(tmp_path):
    """1, 2 and 3 hold each other up at width 5, though the way there is 2 wide."""
    example = Example(4, np.array([0, 1, 2, 3]), np.array([1, 2, 3, 1]), np.array([2.0, 5.0, 5.0, 5.0]))
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_widest(session, 0)
        assert columns[0].values.tolist() == [np.inf, 2, 2, 2]
        forged = [replace(columns[0], values=np.array([np.inf, 5, 5, 5]))]
        with pytest.raises(CertificateError, match="vertex 1 has width 5.0 without a path so wide"):
            certify_widest(session, forged, {"source": 0}, found)


@pytest.mark.parametrize(
    ("example", "name", "options", "error", "message"),
    [
        ({}, "widest", {"source": 0}, UsageError, "has no edge weights, which widest needs. Convert again from"),
        ({"weight": [1.0, -2.0]}, "widest", {"source": 0}, InputError, "which is negative; widest needs weights of 0"),
        ({"weight": [1.0, 2.0]}, "widest", {"source": 7}, UsageError, "source 7 is not a vertex of"),
        ({"weight": [1.0, 2.0]}, "widest", {"source": None}, UsageError, "widest: no source was given"),
        ({}, "levels", {"weighted": True}, UsageError, "has no edge weights, which levels weighted=True needs."),
        ({"directed": False}, "levels", {}, UsageError, "is undirected, and levels go along edges one way."),
        ({"topology": "in"}, "levels", {}, UsageError, "has no out-topology. Convert again with --topology both"),
        ({}, "khop", {"source": 0, "radius": -1}, UsageError, "radius -1: must be a whole number of at least 0"),
        ({}, "khop", {"source": None}, UsageError, "khop: no source was given"),
    ],
)  # fmt: skip
def test_wrong_use(example, name, options, error, message, tmp_path):
    given = {"weight": None} | example
    if given["weight"] is not None:
        given["weight"] = np.array(given["weight"])
    stored = Example(3, np.array([0, 1]), np.array([1, 2]), **given).stored(tmp_path)
    with gstream.open(stored) as graph, pytest.raises(error) as caught:
        graph.execute(name, options)
    assert message in str(caught.value)
