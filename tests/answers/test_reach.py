"""Closeness, harmonic centrality and effective radii against networkx and plain NumPy."""

from __future__ import annotations

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from bench.cliff_graphs import Cliff
from gstream.algorithms.centrality import levelcounts, reach
from gstream.algorithms.centrality.radius import add_radii, diameter
from gstream.algorithms.support import lists
from gstream.algorithms.support.session import Session
from pagestore.errors import UsageError
from tests.answers.graphs import Example, column, examples, hub_example

WAYS = ["host", "host:3", "fake:1:2"]


def simple(example):
    kind = nx.DiGraph if example.directed else nx.Graph
    return kind(example.networkx())


def agree(result, name, theirs):
    found = column(result, name)
    assert found.keys() == theirs.keys()
    assert all(abs(found[v] - theirs[v]) <= 1e-12 * max(1, abs(theirs[v])) for v in theirs)


def check_exact(graph, plain):
    agree(graph.closeness(), "closeness", nx.closeness_centrality(plain))
    agree(graph.closeness(wf_improved=False), "closeness", nx.closeness_centrality(plain, wf_improved=False))
    agree(graph.harmonic(), "harmonic", nx.harmonic_centrality(plain))


def near(example):
    """(vertices in natural order, reach[h] (bool[V, V]): which vertices are within h edges, along out-edges)."""
    plain, nodes = simple(example), sorted(simple(example), key=lambda n: n.encode() if isinstance(n, str) else n)
    hops = np.full((len(nodes), len(nodes)), np.inf)
    place = {v: n for n, v in enumerate(nodes)}
    for v, lengths in nx.all_pairs_shortest_path_length(plain):
        hops[place[v], [place[u] for u in lengths]] = list(lengths.values())
    deepest = int(hops[np.isfinite(hops)].max(initial=0))
    return nodes, [hops <= h for h in range(deepest + 1)]


def by_sketches(reach, sketches, seed):
    """Sums of R by hops, sketch by sketch, from the definition."""
    random, sums = np.random.default_rng(seed), np.zeros((len(reach), len(reach[0])), np.uint16)
    for _ in range(sketches // 2):
        for draws in np.minimum(random.geometric(0.5, (2, len(reach[0]))) - 1, 30):
            for h, within in enumerate(reach):
                masks = [set(draws[row].tolist()) for row in within]
                sums[h] += np.array([next(r for r in range(32) if r not in mask) for mask in masks], np.uint16)
    return list(sums)


def check_radius(graph, example, sketches=4):
    nodes, reach = near(example)
    result = graph.radius(sketches=sketches, seed=5)
    levels = by_sketches(reach, sketches, 5)
    kept = SimpleNamespace(levels=levels, finals=levels[-1], radius=np.zeros(len(nodes), np.int32), pairs=[])
    add_radii(kept, sketches)
    assert [column(result, "radius")[v] for v in nodes] == kept.radius.tolist()
    assert abs(result.summary["effective_diameter"] - diameter(kept.pairs)) < 1e-9
    assert result.summary["converged"] and result.summary["hops"] <= len(reach)


@settings(max_examples=200)
@given(
    example=examples(largest=120), first=st.sampled_from([1, 2, 16]), before=st.sampled_from([1, 2, 16]),
    most=st.sampled_from([1, 3, 999]),
)  # fmt: skip
def test_random_graphs(example, first, before, most, tmp_path_factory):
    """By a program for `first` supersteps, by sweeps, by one thread, and from one to the other and back."""
    folder = tmp_path_factory.mktemp("reach")
    with gstream.open(example.stored(folder)) as graph, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reach, "FIRST_ROUNDS", first)
        patch.setattr(lists, "FIRST_ROUNDS", before)
        patch.setattr(lists, "MOST_DUE", most)
        check_exact(graph, simple(example))
        check_radius(graph, example)


@pytest.mark.parametrize(("directed", "topology"), [(False, "both"), (True, "both"), (True, "in")])
def test_searches_along_a_path_look_at_each_edge_once_a_source(directed, topology, tmp_path, monkeypatch):
    """Whatever its length: what is new is counted of all vertices in the first supersteps only."""
    called, each = [], Session.each
    monkeypatch.setattr(Session, "each", lambda *given, **own: (called.append(given[1]), each(*given, **own))[1])
    vertices, source, target, _ = Cliff("path", 5000, "permuted").made
    example = Example(vertices, source, target, directed=directed, topology=topology)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.harmonic(k=8, certify=True)
    assert called.count(levelcounts.count_new) == reach.FIRST_ROUNDS + 1 and result.summary["supersteps"] > 500
    assert result.summary["stats"]["edges_visited"] <= (8 + reach.FIRST_ROUNDS + 1) * 2 * len(source)


@settings(max_examples=200)
@given(example=examples(largest=120), seed=st.integers(0, 99), data=st.data())
def test_sampled_sources(example, seed, data, tmp_path_factory):
    plain, vertices = simple(example), len(example.present)
    k = data.draw(st.integers(1, vertices))
    with gstream.open(example.stored(tmp_path_factory.mktemp("sampled"))) as graph:
        if k == vertices:
            check_exact(graph, plain)
            return
        nodes = list(column(graph.wcc(), "component"))
        chosen = [nodes[n] for n in np.random.default_rng(seed).choice(vertices, k, replace=False)]
        far = {v: nx.single_source_shortest_path_length(plain, v) for v in chosen}
        harmonic, closeness = {}, {}
        for v in nodes:
            others = sum(u != v for u in chosen)
            hops = [far[u][v] for u in chosen if u != v and v in far[u]]
            harmonic[v] = sum(1 / d for d in hops) * (vertices - 1) / others if others else 0.0
            closeness[v] = len(hops) / sum(hops) * len(hops) / others if hops else 0.0
        agree(graph.harmonic(k=k, seed=seed), "harmonic", harmonic)
        agree(graph.closeness(k=k, seed=seed), "closeness", closeness)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("devices", WAYS)
def test_hubs_and_devices(directed, devices, tmp_path):
    example = hub_example(directed, order="degree", topology="out")
    example.source, example.target = example.source % 400, example.target % 400
    example.vertices = 400
    with gstream.open(example.stored(tmp_path), devices=devices) as graph:
        check_exact(graph, simple(example))
        check_radius(graph, example, 2)


@pytest.mark.parametrize("options", [{"host_memory": 250_000}, {"devices": "fake:3", "device_memory": 110_000}])
def test_streamed(options, tmp_path):
    path = hub_example().stored(tmp_path)
    with gstream.open(path) as free, gstream.open(path, **options) as capped:
        for name, own in (("closeness", {"k": 70}), ("harmonic", {"k": 70}), ("radius", {"sketches": 2})):
            expected, found = (graph.execute(name, own) for graph in (free, capped))
            assert np.array_equal(found.to_numpy(), expected.to_numpy())


@pytest.mark.long
def test_sketches_are_within_their_error(tmp_path):
    """A strongly connected graph of 3,000 vertices: N(all, v) is 3,000 but for 3 standard errors."""
    random, ring = np.random.default_rng(9), np.arange(3000)
    source = np.concatenate([ring, random.integers(0, 3000, 9000)])
    target = np.concatenate([(ring + 1) % 3000, random.integers(0, 3000, 9000)])
    example = Example(3000, source, target)
    plain = simple(example)
    hops = np.array([list(dict(nx.single_source_shortest_path_length(plain, v)).values()) for v in range(0, 3000, 30)])
    cumulated = np.array([(hops <= h).sum() for h in range(int(hops.max()) + 1)])
    after = int(np.argmax(cumulated >= 0.9 * cumulated[-1]))
    exact = after - 1 + (0.9 * cumulated[-1] - cumulated[after - 1]) / (cumulated[after] - cumulated[after - 1])
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.radius(sketches=64)
        assert abs(result.summary["effective_diameter"] - exact) < 0.5
        assert result.summary["hops"] <= nx.diameter(plain)
        cut = graph.radius(sketches=2, max_iter=2)
        assert not cut.summary["converged"] and cut.summary["hops"] == 2


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("closeness", {"k": 0}, "k 0: must be 1 to 3, the number of vertices."),
        ("harmonic", {"k": 4}, "k 4: must be 1 to 3"),
        ("harmonic", {"k": 2, "seed": -1}, "seed -1: must be at least 0."),
        ("radius", {"sketches": 3}, "sketches 3: must be an even number from 2 to 1024."),
        ("radius", {"max_iter": -1}, "max_iter -1"),
        ("radius", {"seed": 0.5}, "seed 0.5"),
    ],
)
def test_wrong_use(name, options, message, tmp_path):
    with gstream.open(Example(3, np.array([0]), np.array([1])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError) as caught:
            graph.execute(name, options)
    assert str(caught.value).startswith(message)
