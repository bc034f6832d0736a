"""Triangles and clustering against networkx and brute force, whatever the blocks, devices and topologies."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from pagestore.errors import ResourceError, UsageError
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import SCHEDULES, big_example, blocks_of, devices, simple


def coefficients(example):
    """{user ID: LCC} by LDBC's definition: the arcs among the neighbours, each way."""
    graph = simple(example)
    arcs = nx.to_scipy_sparse_array(graph, weight=None, dtype=np.int64).tocsr() if len(graph) else None
    if arcs is None:
        return {}
    near = ((arcs + arcs.T) > 0).astype(np.int64)
    between = np.asarray((near @ arcs).multiply(near).sum(axis=1)).ravel()
    d = np.asarray(near.sum(axis=1)).ravel().astype(float)
    return dict(zip(graph, (between / np.maximum(d * (d - 1), 1)).tolist(), strict=True))


def close(found, expected):
    assert found.keys() == expected.keys()
    assert all(abs(found[v] - expected[v]) <= 1e-12 for v in expected)


@settings(max_examples=250)
@given(example=examples(), devices=devices, room=st.sampled_from([1 << 60, 1500]))
def test_triangles_and_coefficients(example, devices, room, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lcc")
    if example.directed:
        with gstream.open(example.stored(folder), devices=devices) as graph, blocks_of(room):
            close(column(graph.lcc(), "lcc"), coefficients(example))
            with pytest.raises(UsageError, match="is directed.*directed=False"):
                graph.triangles()
        example = replace(example, directed=False)
    with gstream.open(example.stored(folder), devices=devices) as graph, blocks_of(room):
        close(column(graph.lcc(), "lcc"), nx.clustering(simple(example)))
        counted = graph.triangles()
    expected = nx.triangles(simple(example))
    assert column(counted, "triangles") == expected
    assert counted.summary["triangles"] == sum(expected.values()) // 3


@pytest.mark.long
@pytest.mark.covering(1)
@pytest.mark.parametrize(("directed", "topology"), [(True, "both"), (True, "out"), (True, "in"), (False, "both")])
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(directed, topology, options, tmp_path):
    example = big_example(directed, topology=topology)
    with gstream.open(example.stored(tmp_path), **options) as graph:
        result = graph.lcc()
    close(column(result, "lcc"), coefficients(example))
    stats = result.summary["stats"]
    assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])
    if "host_memory" in options:
        assert stats["bytes_read_disk"] > 0 and result.summary["supersteps"] > 1


@pytest.mark.parametrize("width", [1, 8, 32])
def test_complete_graphs(width, tmp_path):
    for vertices in (1, 2, 3, 60):
        source, target = np.triu_indices(vertices, 1)
        example = Example(vertices, source, target, directed=False, columns=width, order="degree")
        with gstream.open(example.stored(tmp_path)) as graph:
            result = graph.triangles()
        assert set(column(result, "triangles").values()) == {(vertices - 1) * (vertices - 2) // 2}
        assert result.summary["triangles"] == vertices * (vertices - 1) * (vertices - 2) // 6


def test_wrong_use(tmp_path):
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        assert graph.lcc(certify=True).summary["certificate"]["proves"].startswith("coefficients of ")
        with pytest.raises(ResourceError, match="too little"):
            graph.lcc(host_memory=30_000)
