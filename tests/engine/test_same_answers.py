"""The answer does not depend on devices, memory, chunks, batches, streams, caches or direction."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from engine_graphs import Balance, both_ways, distances, levels, make_store, ranks, skewed_edges

from gstream.engine.engine import Engine
from gstream.language.program import f64
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC

V, E = 2000, 24000

CONFIGURATIONS = {
    "host": {},
    "two hosts": {"devices": ["host:2"]},
    "three hosts, one thread": {"devices": ["host:3"], "threads": 1},
    "push": {"direction": "push"},
    "pull": {"direction": "pull"},
    "no heads": {"use_heads": False},
    "chunks": {"chunk_vertices": 64},
    "chunks on two hosts": {"chunk_vertices": 192, "devices": ["host:2"]},
    "from disk": {"host_memory": 200_000, "batch_bytes": 16384},
    "from disk, no cache": {"host_memory": 200_000, "batch_bytes": 8192, "cache": "0"},
    "from disk, LRU": {"host_memory": 200_000, "batch_bytes": 4096, "cache": "lru", "devices": ["host:2"]},
    "fake": {"devices": ["fake:1"]},
    "fake, one stream": {"devices": ["fake:2"], "streams": 1, "batch_bytes": 8192},
    "three fakes": {"devices": ["fake:3:3"], "streams": 4, "batch_bytes": 4096},
    "fakes in little memory": {"devices": ["fake:4:2"], "device_memory": 60_000, "batch_bytes": 16384},
    "fakes, LRU": {"devices": ["fake:5:2"], "device_memory": 80_000, "cache": "lru", "batch_bytes": 4096},
    "fakes from disk by chunks": {
        "devices": ["fake:6:2"], "host_memory": 250_000, "chunk_vertices": 640, "batch_bytes": 8192, "streams": 3,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def edges():
    source, target = skewed_edges(V, E, seed=1)
    weight = np.random.default_rng(2).integers(1, 100, E).astype(np.float64)
    return source, target, weight


@pytest.fixture(scope="module", params=["directed", *choice.also("undirected")])
def graph(request, edges, tmp_path_factory):
    source, target, weight = edges
    directed = request.param == "directed"
    store = make_store(
        tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V, directed=directed, page_bytes=4096
    )
    if not directed:
        weight = np.concatenate([weight, weight[source != target]])
        source, target = both_ways(source, target)
    assert store.topology("out").pages > store.topology("out").small_pages, "the graph has no hub"
    with store:
        yield store, source, target, weight


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_bfs(graph, name):
    store, source, target, _ = graph
    expected = levels(V, source, target, [7])
    with Engine(store, RunOptions(**CONFIGURATIONS[name])) as engine:
        outcome = engine.run(BFS(source=7))
        again = engine.run(BFS(source=7))  # pages and caches are warm now
    assert outcome.converged
    assert np.array_equal(outcome.value, expected)
    assert np.array_equal(again.value, expected)
    assert outcome.supersteps == expected[expected != 2**32 - 1].max() + 1


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_sssp(graph, name):
    store, source, target, weight = graph
    with Engine(store, RunOptions(**CONFIGURATIONS[name])) as engine:
        outcome = engine.run(SSSP(source=7))
    assert np.array_equal(outcome.value, distances(V, source, target, weight, 7))


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_labels(graph, name):
    store, source, target, _ = graph
    with Engine(store, RunOptions(**CONFIGURATIONS[name])) as engine:
        outcome = engine.run(WCC())
    label = np.arange(V)
    while True:
        before = label.copy()
        np.minimum.at(label, target, before[source])
        if np.array_equal(label, before):
            break
    assert np.array_equal(outcome.value, label)


class PageRank64(PageRank):
    """PageRank in float64."""

    value = f64


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_pagerank(graph, name):
    store, source, target, _ = graph
    expected = ranks(V, source, target, 10)
    with Engine(store, RunOptions(**CONFIGURATIONS[name])) as engine:
        single = engine.run(PageRank(tolerance=0.0), max_supersteps=10)
        double = engine.run(PageRank64(tolerance=0.0), max_supersteps=10)
    assert np.abs(single.value / expected - 1).max() < 1e-6
    assert np.abs(double.value / expected - 1).max() < 1e-12
    assert abs(double.totals["adrift"] - double.value[np.bincount(source, minlength=V) == 0].sum()) < 1e-15


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_sums_along_weights(graph, name):
    store, source, target, weight = graph
    value = (np.arange(V) % 7).astype(np.float64)
    for _ in range(3):
        value = np.bincount(target, weights=value[source] + weight, minlength=V)
    with Engine(store, RunOptions(**CONFIGURATIONS[name])) as engine:
        outcome = engine.run(Balance(), max_supersteps=3)
    assert np.array_equal(outcome.value, value)
    assert not outcome.converged
