"""Shortest paths between two vertices, and searches that end at their targets, against NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import gstream
from pagestore.errors import InputError, UsageError
from pagestore.reader import PageReader

COUNT = 400
KINDS = ("both", "out", "in", "undirected", "degree", "columns")


def drawn(directed: bool, seed: int = 3) -> nx.Graph:
    """A long sparse part, a hub, parallel edges of different weights, zero weights, a part out of reach."""
    rng = np.random.default_rng(seed)
    graph = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    graph.add_nodes_from(range(COUNT))
    pairs = [*rng.integers(0, COUNT - 20, (500, 2)).tolist(), *((v, v + 1) for v in range(60)), (COUNT - 1, COUNT - 2)]
    pairs += [(7, v) for v in range(100, 330)] * 6
    graph.add_weighted_edges_from(
        (u, v, int(w)) for (u, v), w in zip(pairs, rng.integers(0, 9, len(pairs)), strict=True)
    )
    return graph


@pytest.fixture(scope="module", params=KINDS)
def both(request):
    """(Graph, the same in NetworkX)."""
    kind = request.param
    wanted = drawn(kind != "undirected")
    options = {"topology": kind} if kind in ("out", "in") else {}
    options |= {"order": "degree"} if kind in ("degree", "columns") else {}
    options |= {"columns": 8} if kind == "columns" else {}
    with gstream.from_networkx(wanted, page_size=4096, **options) as graph:
        yield graph, wanted


def length(wanted: nx.Graph, path: list, weighted: bool) -> int:
    """Of a path, by its cheapest edges. Fails where there is no such edge."""
    hops = list(zip(path, path[1:], strict=False))
    assert all(wanted.has_edge(u, v) for u, v in hops)
    return sum(min(one["weight"] for one in wanted[u][v].values()) for u, v in hops) if weighted else len(hops)


@pytest.mark.parametrize("weighted", [False, True])
def test_paths_are_shortest(both, weighted: bool) -> None:
    graph, wanted = both
    rng = np.random.default_rng(1)
    ends = [*rng.integers(0, COUNT, (60, 2)).tolist(), (7, 200), (5, 5), (0, 60), (200, 7), (COUNT - 1, COUNT - 2)]
    weight = "weight" if weighted else None
    found = 0
    for source, target in ends:
        path = graph.shortest_path(source, target, weighted)
        if path is None:
            assert not nx.has_path(wanted, source, target)
            continue
        found += 1
        assert path[0] == source and path[-1] == target and all(type(v) is int for v in path)
        assert length(wanted, path, weighted) == nx.shortest_path_length(wanted, source, target, weight)
    assert 20 < found < len(ends)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_paths_do_not_depend_on_the_order(weighted: bool, directed: bool) -> None:
    """Of a graph with many paths of one length."""
    rng = np.random.default_rng(4)
    source, target = (COUNT * rng.random((2, 2000)) ** 2).astype(np.int64)
    options = {"directed": directed, "num_vertices": COUNT, "page_size": 4096}
    weights = rng.integers(1, 3, 2000)
    natural, degree = (
        gstream.from_edges(source, target, weights, order=order, **options) for order in ("natural", "degree")
    )
    ends = rng.integers(0, COUNT, (100, 2)).tolist()
    found = [[graph.shortest_path(*one, weighted) for one in ends] for graph in (natural, degree)]
    assert found[0] == found[1] and sum(path is not None and len(path) > 3 for path in found[0]) > 20


@pytest.mark.parametrize("source", [[0], [0, 40]])
def test_searches_end_at_their_targets(both, source: list) -> None:
    graph, wanted = both
    for targets in ([3], [12, 30], [5, 5], source, [0, COUNT - 1]):
        for weighted, run in ((False, graph.bfs), (True, graph.sssp)):
            if weighted:
                exact = nx.multi_source_dijkstra_path_length(wanted, set(source))
            else:
                exact = {
                    v: d for u in reversed(source) for v, d in nx.single_source_shortest_path_length(wanted, u).items()
                }
                for u in source:
                    for v, d in nx.single_source_shortest_path_length(wanted, u).items():
                        exact[v] = min(exact[v], d)
            far = max(exact.get(v, np.inf) for v in targets)
            result = run(source=source, targets=targets, certify=True)
            assert result.to_dict("distance") == {
                v: exact[v] if exact.get(v, np.inf) <= far else None for v in wanted if v in exact
            } | {v: None for v in wanted if v not in exact}
            assert result.summary["certificate"]["holds"]
            assert result.summary.get("limit") == (far if np.isfinite(far) else None)


def test_they_do_less() -> None:
    wanted = nx.path_graph(3000, nx.DiGraph)
    nx.set_edge_attributes(wanted, 2, "weight")
    with gstream.from_networkx(wanted) as graph:
        for run, whole in ((graph.bfs, 3000), (graph.sssp, 3000)):
            assert run(source=0).summary["supersteps"] >= whole - 1
            found = run(source=0, targets=[20]).summary
            assert found["reached"] == 21 and (run == graph.sssp or found["supersteps"] <= 21)
        assert graph.bfs(source=0, depth_limit=5, targets=[20]).summary["limit"] == 5
        assert graph.sssp(source=0, cutoff=5, targets=[20]).summary["limit"] == 5
        assert graph.sssp(source=0, targets=[2], host_memory="4MiB").to_dict("distance")[2] == 4


def test_a_path_reads_pages_around_its_ends_alone(monkeypatch) -> None:
    """Of two balls that hold 15 of 4,000 pages."""
    side = 120
    wanted = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side), ordering="sorted")
    graph = gstream.from_networkx(wanted, page_size=4096)
    pages, read = set(), PageReader.read

    def counted(reader, first, count, *rest):
        pages.update(range(first, first + count))
        return read(reader, first, count, *rest)

    monkeypatch.setattr(PageReader, "read", counted)
    assert len(graph.shortest_path(0, 5)) == 6
    assert 0 < len(pages) < graph.store.topology("out").pages / 4


@pytest.mark.long
def test_sums_in_float32_may_be_far_off() -> None:
    """0.1 added 200,000 times is 8 % more in float32 than in float64: the target is reached all the same."""
    count = 200_000
    chain = np.arange(count)
    graph = gstream.from_edges(chain, chain + 1, np.full(count, 0.1))
    found = graph.sssp(source=0, targets=[count - 5], predecessors=False)
    assert found.at(count - 5)["distance"] is not None and found.at(count)["distance"] is None


def test_floats_and_large_numbers() -> None:
    graph = gstream.from_edges([0, 1, 0], [1, 2, 2], [0.5, 0.25, 0.8])
    assert graph.shortest_path(0, 2, weighted=True) == [0, 1, 2] and graph.shortest_path(0, 2) == [0, 2]
    for float64 in (False, True):
        found = graph.sssp(source=0, targets=[1], float64=float64)
        assert found.to_dict("distance") == {0: 0.0, 1: 0.5, 2: None} and found.summary["limit"] == 0.5
    large = gstream.from_edges(["a", "b"], ["b", "c"], [2**31 + 5, 2**31 + 7])
    assert large.shortest_path("a", "c", weighted=True) == ["a", "b", "c"]
    assert large.sssp(source="a", target="b").to_dict("distance") == {"a": 0.0, "b": 2.0**31 + 5, "c": None}


def test_what_can_not_be_is_said() -> None:
    graph = gstream.from_edges([0, 1], [1, 2])
    with pytest.raises(UsageError, match="has no edge weights. Leave weighted"):
        graph.shortest_path(0, 2, weighted=True)
    with pytest.raises(UsageError, match="target 9 is not a vertex"):
        graph.shortest_path(0, 9)
    with pytest.raises(UsageError, match="target 9 is not a vertex"):
        graph.bfs(source=0, targets=[9])
    with pytest.raises(UsageError, match="target 9 is not a vertex"):
        graph.bfs(source=0, target=9)
    with pytest.raises(UsageError, match="target, targets: both name vertices. Pass one"):
        graph.bfs(source=0, target=1, targets=[2])
    with pytest.raises(InputError, match="has negative weights"):
        gstream.from_edges([0, 1], [1, 2], [-1, 2]).shortest_path(0, 2, weighted=True)
    assert graph.shortest_path(2, 0) is None
    assert gstream.from_edges([0], [1], num_vertices=3).shortest_path(0, 2) is None
