"""What lies near along edges in either direction: khop and egonet with `undirected`, as networkx.ego_graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from gstream.algorithms.traversal.bfs import run_khop
from gstream.algorithms.traversal.distance_proofs import certify_khop
from pagestore.errors import UsageError
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import devices


@settings(max_examples=120)
@given(example=examples(), devices=devices, radius=st.sampled_from([0, 1, 2, 50]), data=st.data())
def test_near_vertices_are_networkx(example, devices, radius, data, tmp_path_factory):
    plain = example.networkx()
    sources = data.draw(st.lists(st.sampled_from(sorted(plain)), min_size=1, max_size=3, unique=True))
    either = nx.Graph(plain.to_undirected(as_view=True))
    far = nx.multi_source_dijkstra_path_length(either, set(sources), weight=lambda u, v, d: 1)
    with gstream.open(example.stored(tmp_path_factory.mktemp("either")), devices=devices) as graph:
        near = graph.khop(sources, radius, undirected=True, certify=True)
        rows = graph.egonet(sources[0], radius, undirected=True, certify=True).to_arrow()
        alone = graph.egonet(sources[0], radius, center=False, undirected=True, certify=True)
    assert column(near, "distance") == {v: far[v] if far.get(v, radius + 1) <= radius else None for v in plain}
    assert near.summary["reached"] == sum(d <= radius for d in far.values())
    ego = nx.ego_graph(plain, sources[0], radius, undirected=True)
    pair = tuple if example.directed else frozenset
    found = zip(rows.column("source").to_pylist(), rows.column("target").to_pylist(), strict=True)
    assert Counter(map(pair, found)) == Counter(pair((u, v)) for u, v, _ in ego.edges(keys=True))
    assert len(alone) == nx.ego_graph(plain, sources[0], radius, center=False, undirected=True).number_of_edges()


@pytest.mark.parametrize("topology", ["both", "out", "in"])
def test_wrong_distances_are_refused(topology, tmp_path):
    example = hub_example(order="degree", topology=topology)
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        for radius in (2, 1000):
            options = {"source": 11, "radius": radius, "undirected": True}
            columns, found = run_khop(session, **options)
            assert certify_khop(session, columns, options, found)["holds"]
            random, distance = np.random.default_rng(2), columns[0].values
            for _ in range(60):
                v, wrong = int(random.integers(len(distance))), distance.copy()
                wrong[v] = random.choice([0, 1, 2, 3, 9, np.iinfo(distance.dtype).max])
                if wrong[v] != distance[v]:
                    with pytest.raises(CertificateError):
                        certify_khop(session, [replace(columns[0], values=wrong)], options, found)


def test_what_can_not_be_had(tmp_path):
    with gstream.open(Example(2, np.array([0]), np.array([1])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="undirected 3: must be True or False"):
            graph.khop(0, undirected=3)
