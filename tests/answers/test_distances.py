"""BFS and SSSP against networkx: distances, predecessors, several sources, depth limits."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.support import lists
from gstream.algorithms.support.arguments import find_bad_edge
from gstream.algorithms.support.session import Session
from gstream.engine.engine import Engine
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import devices


def reference(graph, sources, weighted):
    step = "weight" if weighted else (lambda u, v, d: 1)
    return nx.multi_source_dijkstra_path_length(graph, set(sources), weight=step)


def check_tree(graph, distance, predecessor, sources, weighted):
    """Every predecessor is a neighbour at the right distance, and following them ends at a source."""
    for v, d in distance.items():
        if d is None or v in sources:
            assert predecessor[v] is None
            continue
        u = predecessor[v]
        lengths = [data["weight"] if weighted else 1 for data in graph.get_edge_data(u, v).values()]
        assert any(np.float32(distance[u] + w) == np.float32(d) for w in lengths)
        steps = 0
        while v not in sources:
            v, steps = predecessor[v], steps + 1
            assert steps <= len(distance), "predecessors go in a circle"


def check_distances(example, tmp_path, data, weighted, devices):
    graph = example.networkx()
    nodes = list(graph)
    sources = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3))
    expected = reference(graph, sources, weighted)
    with gstream.open(example.stored(tmp_path), devices=devices) as opened:
        run = opened.sssp if weighted else opened.bfs
        result = run(source=sources, certify=True)
        alone = run(source=sources, predecessors=False, certify=True)
    found, predecessor = column(result, "distance"), column(result, "predecessor")
    assert list(found) == sorted(nodes, key=lambda n: n.encode() if isinstance(n, str) else n)
    assert alone.columns == ["vertex", "distance"] and column(alone, "distance") == found
    assert result.summary["reached"] == len(expected)
    for v in nodes:
        if v not in expected:
            assert found[v] is None
        else:
            assert math.isclose(found[v], expected[v], rel_tol=1e-6, abs_tol=1e-6)
    check_tree(graph, found, predecessor, set(sources), weighted)


@settings(max_examples=200)
@given(example=examples(), devices=devices, data=st.data())
def test_bfs_is_networkx(example, devices, data, tmp_path_factory):
    check_distances(example, tmp_path_factory.mktemp("bfs"), data, False, devices)


@settings(max_examples=120)
@given(
    example=examples(weights="integers", edges_at_least=1), first=st.sampled_from([0, 1, 99]), devices=devices,
    data=st.data(),
)  # fmt: skip
def test_sssp_of_integers_with_zeros_is_networkx(example, first, devices, data, tmp_path_factory):
    """Hops of equal distances are found by rounds, and by one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "FIRST_ROUNDS", first)
        check_distances(example, tmp_path_factory.mktemp("sssp"), data, True, devices)


@settings(max_examples=100)
@given(example=examples(weights="floats", edges_at_least=1), devices=devices, data=st.data())
def test_sssp_of_floats_is_networkx(example, devices, data, tmp_path_factory):
    check_distances(example, tmp_path_factory.mktemp("sssp"), data, True, devices)


@pytest.mark.covering(2)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("topology", ["both", "out", "in"])
@pytest.mark.parametrize("devices", ["host", "host:2", "fake:3:2"])
def test_hubs_and_devices_give_the_same_predecessors(directed, topology, devices, tmp_path):
    example = hub_example(directed, weighted=True, topology=topology, order="degree")
    with gstream.open(example.stored(tmp_path)) as graph:
        for run in (graph.bfs, graph.sssp):
            expected = run(source=11, certify=True).to_numpy()
            found = run(source=11, devices=devices, certify=True).to_numpy()
            assert np.array_equal(found, expected)


def test_the_least_neighbour_is_the_predecessor(tmp_path):
    # 3 and 1 both lead to 4 in two steps; of two at the same distance the lower ID is taken
    example = Example(5, np.array([0, 0, 3, 1]), np.array([3, 1, 4, 4]))
    with gstream.open(example.stored(tmp_path)) as graph:
        assert column(graph.bfs(source=0), "predecessor") == {0: None, 1: 0, 2: None, 3: 0, 4: 1}


def test_zero_weights_take_fewest_hops(tmp_path):
    # all at distance 0: 4 can be reached by 0-3-4 (two hops) and 0-1-2-4 (three)
    source, target = np.array([0, 1, 2, 0, 3]), np.array([1, 2, 4, 3, 4])
    example = Example(5, source, target, np.zeros(5))
    with gstream.open(example.stored(tmp_path)) as graph:
        assert column(graph.sssp(source=0, certify=True), "predecessor") == {0: None, 1: 0, 2: 1, 3: 0, 4: 3}


@pytest.mark.parametrize(
    "weight",
    [pytest.param(np.zeros(20_000), id="zero"),
     pytest.param(np.append(1e30, np.ones(19_999)), id="absorbed", marks=pytest.mark.long)],
)  # fmt: skip
def test_long_paths_of_one_distance_take_few_sweeps(weight, tmp_path, monkeypatch):
    """In any order of IDs: the hop that a vertex is at is found by a search, not by a round each."""
    order = np.random.default_rng(6).permutation(20_001)
    swept, sweep = [], Engine.sweep
    monkeypatch.setattr(Engine, "sweep", lambda *given: (swept.append(given[1]), sweep(*given))[1])
    with gstream.open(Example(20_001, order[:-1], order[1:], weight).stored(tmp_path)) as graph:
        found = graph.sssp(source=int(order[0])).to_numpy()
    assert np.array_equal(found["predecessor"][order[1:]], order[:-1])
    assert len(swept) <= 2 * (4 + lists.FIRST_ROUNDS)  # of float32, and of float64 where it is more exact


def test_weights_that_rounding_absorbs_make_no_circle(tmp_path):
    # 1e8 + 1 == 1e8 in float32: 1, 2 and 3 form a ring at one distance
    source, target = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 1])
    example = Example(4, source, target, np.array([1e8, 1.0, 1.0, 0.5]))
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.sssp(source=0, certify=True)
        assert column(result, "predecessor") == {0: None, 1: 0, 2: 1, 3: 2}
        exact = graph.sssp(source=0, float64=True, certify=True)
        assert column(exact, "distance")[3] == 1e8 + 2


@pytest.mark.long
def test_large_integer_sums_are_exact(tmp_path):
    size = 5
    example = Example(size, np.arange(size - 1), np.arange(1, size), np.full(size - 1, 2**31 - 1.0))
    with gstream.open(example.stored(tmp_path)) as graph:
        assert column(graph.sssp(source=0, certify=True), "distance")[4] == 4 * (2**31 - 1)


@pytest.mark.parametrize("limit", [0, 1, 2, 9])
def test_depth_limit(limit, tmp_path):
    example = Example(6, np.arange(5), np.arange(1, 6))
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.bfs(source=0, depth_limit=limit, certify=True)
    expected = {v: v if v <= limit else None for v in range(6)}
    assert column(result, "distance") == expected
    assert result.summary["converged"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.bfs(source=[]), "no source was given"),
        (lambda g: g.bfs(source=None), "no source was given"),
        (lambda g: g.bfs(source=0, depth_limit=-1), "is negative"),
        (lambda g: g.sssp(source=0), "has no edge weights.*weight_column=N of files, weight="),
    ],
)
def test_usage_errors(call, message, tmp_path):
    with gstream.open(Example(2, np.array([0]), np.array([1])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match=message):
            call(graph)


def test_a_source_that_is_no_vertex(tmp_path):
    with gstream.open(Example(2, np.array([0]), np.array([1])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="source 17 is not a vertex of"):
            graph.bfs(source=17)
        with pytest.raises(UsageError, match="source 'x' is not a vertex of"):
            graph.bfs(source=["x"])


@pytest.mark.parametrize("topology", ["both", "in"])
def test_a_negative_weight_is_named_by_its_edge(topology, tmp_path):
    weight = np.array([1.0, -2.5, 3.0])
    source, target = np.array([0, 4, 2]), np.array([1, 2, 3])
    example = Example(5, source, target, weight, kind="listed", order="degree", topology=topology)
    with gstream.open(example.stored(tmp_path)) as graph:
        with pytest.raises(InputError, match=r"edge from 31 to 17 has weight -2\.5, which is negative"):
            graph.sssp(source=3)


@pytest.mark.parametrize("columns", [1, 8])
def test_the_one_bad_weight_of_many_pages_is_found(columns, tmp_path):
    """In a list of several, in a page that is not the first; one that only the description has is said to be a lie."""
    random = np.random.default_rng(5)
    source, target = np.arange(3000) % 500, random.integers(0, 500, 3000)
    weight = random.integers(1, 9, 3000) + 0.5
    at = int(np.flatnonzero((source == 499) & (target != 499))[2])
    weight[at] = -0.5
    with gstream.open(Example(500, source, target, weight, columns=columns).stored(tmp_path)) as graph:
        assert graph.engine().graph.tables["out"].pages > 2
        with pytest.raises(InputError, match=f"edge from 499 to {target[at]} has weight -0.5, which is negative"):
            graph.sssp(source=0)
    weight[at] = 1.5
    sound = Example(500, source, target, weight, columns=columns).stored(tmp_path)
    with gstream.open(sound) as graph, Session(graph.engine()) as session:
        with pytest.raises(InputError, match="claims a negative weight that it does not have. Convert the graph again"):
            find_bad_edge(session)
