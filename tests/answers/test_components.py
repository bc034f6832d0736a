"""Weakly connected components against networkx, and which pages the union-find may leave out."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import gstream
from gstream.algorithms.components import forest, wcc
from gstream.algorithms.components.forest import HostForest
from pagestore.errors import UsageError
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import devices


def reference(example):
    graph = example.networkx()
    find = nx.weakly_connected_components if example.directed else nx.connected_components
    return {v: min(members) for members in find(graph) for v in members}


@settings(max_examples=200)
@given(example=examples(), devices=devices)
def test_components_are_networkx(example, devices, tmp_path_factory):
    expected = reference(example)
    with gstream.open(example.stored(tmp_path_factory.mktemp("wcc")), devices=devices) as graph:
        result = graph.wcc(certify=True)
        assert column(result, "component") == expected
        assert result.summary["components"] == len(set(expected.values()))
        assert column(graph.wcc(use_heads=False), "component") == expected
        if not example.directed:
            assert column(graph.hcc(certify=True), "component") == expected


@pytest.mark.covering(2)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("topology", ["both", "out", "in"])
@pytest.mark.parametrize("devices", ["host", "host:2", "fake:5:3"])
@pytest.mark.parametrize("order", ["natural", "degree"])
def test_hubs_and_devices(directed, topology, devices, order, tmp_path):
    example = hub_example(directed, topology=topology, order=order)
    with gstream.open(example.stored(tmp_path), devices=devices) as graph:
        assert column(graph.wcc(certify=True), "component") == reference(example)


@pytest.mark.parametrize("topology", ["both", "out", "in"])
def test_a_list_of_the_giant_component_may_hold_the_only_edge_out(topology, tmp_path):
    """Vertex 0 of the giant component points, past its four heads, to a far vertex with no list of its own."""
    ring = np.arange(100)
    source = np.concatenate([ring, np.zeros(6, np.int64)])
    target = np.concatenate([(ring + 1) % 100, [2, 3, 4, 5, 6, 150]])
    for ends in ((source, target), (target, source)):
        example = Example(200, *ends, topology=topology)
        with gstream.open(example.stored(tmp_path)) as graph:
            found = column(graph.wcc(certify=True), "component")
        assert found[150] == 0 and found[151] == 151
        assert found == reference(example)


@pytest.mark.covering(1)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("bridge", [None, (1500, 1501), (1501, 1500)])
def test_only_lists_outside_the_giant_component_are_swept(directed, bridge, tmp_path):
    """A city of 3,000 even vertices, a village of 400 odd ones; what joins them stands past the heads of both ends."""
    random = np.random.default_rng(3)
    city, village = random.integers(0, 3000, (2, 60000)) * 2, random.integers(400, 800, (2, 9000)) * 2 + 1
    ends = np.concatenate([city, village], axis=1)
    for end, others in ((1500, np.arange(6) * 2), (1501, np.arange(400, 406) * 2 + 1)):
        ends = np.concatenate([ends, [np.full(6, end), others], [others, np.full(6, end)]], axis=1)
    if bridge:
        ends = np.concatenate([ends, np.array(bridge)[:, None]], axis=1)
    example = Example(6001, *ends, directed=directed, kind="gaps")
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.wcc(certify=True)
        pages = sum(graph.engine().graph.tables[name].pages for name in graph.info["topologies"])
    assert result.summary["components"] == (1 if bridge else 2)
    assert 0 < result.summary["stats"]["pages_moved"] < pages // 2
    assert column(result, "component") == reference(example)


def test_pages_are_left_out_where_the_heads_suffice(tmp_path):
    random = np.random.default_rng(2)
    example = Example(3000, *random.integers(0, 3000, (2, 60000)), directed=False, order="degree")
    with gstream.open(example.stored(tmp_path)) as graph:
        assert graph.wcc(certify=False).summary["stats"]["pages_moved"] == 0
        assert graph.wcc(use_heads=False).summary["stats"]["pages_moved"] > 100


@pytest.mark.parametrize("degree", [2, 3, 4, 20])
def test_cores_sweep_short_lists_and_look_at_heads_of_long_ones(degree, tmp_path, monkeypatch):
    """Below 2 edges a row of heads, of which there are two a vertex here, pages are read, and no heads."""
    random, vertices, looked = np.random.default_rng(9), 3000, []
    source = np.repeat(np.arange(vertices), degree)
    example = Example(vertices, source, (source + random.integers(1, 30, len(source))) % vertices)
    link = HostForest.link_heads

    def noted(forest, name, *columns, **given):
        looked.append((name, *columns, *given))
        link(forest, name, *columns, **given)

    monkeypatch.setattr(HostForest, "link_heads", noted)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.wcc(certify=True)
    assert column(result, "component") == reference(example)
    left_over = [("out", 2, 4, "outside"), ("in", 0, 4, "outside")]
    assert looked == ([("out", 0, 1), ("out", 1, 2), *left_over] if degree >= 4 else [])
    if degree != 4:  # where some lists are longer than their heads, and their vertices may be left over
        assert (result.summary["stats"]["pages_moved"] == 0) == (degree == 20)


@pytest.mark.long
@pytest.mark.parametrize("samples", [1, 1024])
def test_villages_that_few_edges_join_to_the_city(samples, tmp_path, monkeypatch):
    """A city's lists are left out once its first heads are linked; a village's may be all that says what joins them, or
    be missing: 0, 1 and 2 topologies have pages that are swept, or all of one."""
    monkeypatch.setattr(forest, "LEAST_EDGES", 1)
    monkeypatch.setattr(wcc, "SAMPLES", samples)
    left, usual = set(), wcc._pages_left

    def noted(*given):
        found = usual(*given)
        left.add("all" if found is None else len(found))
        return found

    monkeypatch.setattr(wcc, "_pages_left", noted)
    for seed in range(60):
        random = np.random.default_rng(seed)
        edges = 300 if random.random() < 0.5 else 900
        city, bridges = random.integers(400, 2000, (2, 1600 * int(random.integers(2, 12)))), int(random.integers(0, 12))
        block, reach = random.integers(0, 20, edges) * 20, int(random.choice([1, 4, 20]))
        village = np.stack([block + random.integers(0, reach, edges), block + random.integers(0, 20, edges)])
        joins = np.stack([random.integers(1900, 2000, bridges), random.integers(0, 400, bridges)])
        ends = np.concatenate([city, village, joins], axis=1)[:: int(random.choice([1, -1]))]
        topology, order = str(random.choice(["both", "both", "out", "in"])), str(random.choice(["natural", "degree"]))
        with gstream.open(Example(2000, *ends, order=order, topology=topology).stored(tmp_path)) as graph:
            found = column(graph.wcc(certify=False), "component")
        pairs = coo_matrix((np.ones(ends.shape[1]), ends), (2000, 2000))
        count, labels = connected_components(pairs, connection="weak")
        least = np.full(count, 2000)
        np.minimum.at(least, labels, np.arange(2000))
        assert found == dict(enumerate(least[labels].tolist())), seed
    assert left == {0, 1, 2, "all"}


def test_label_propagation_needs_an_undirected_store(tmp_path):
    with gstream.open(Example(2, np.array([0]), np.array([1])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="is directed"):
            graph.hcc()
