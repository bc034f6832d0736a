"""BFS names the parent of least natural index, in every order of the store, for vertices that push or pull."""

from __future__ import annotations

import choice
import numpy as np
import pytest

import gstream
from gstream.algorithms.traversal import shares
from tests.answers.graphs import Example

V = 400


def hubs_graph(seed: int, edges: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Ends of edges that most often join vertices of many edges, of which low and high numbers have some."""
    random = np.random.default_rng(seed)
    names = random.permutation(V)
    return tuple(names[(V * random.random((2, edges)) ** 3).astype(np.int64)])


def least_parents(source, target, distance):
    """int64[V]: the least in-neighbour one step nearer, V where there is none."""
    least = np.full(V, V)
    tight = (distance[source] >= 0) & (distance[target] == distance[source] + 1)
    np.minimum.at(least, target[tight], source[tight])
    return least


@pytest.mark.covering(2)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("topology", ["both", "out", "in"])
@pytest.mark.parametrize("devices", ["host", "host:2", "fake:3:2"])
@pytest.mark.parametrize("until", [None, 0, V, "any"])
@pytest.mark.parametrize("seed", choice.seeds(1, range(3)))
def test_the_least_parent_in_any_order(directed, topology, devices, until, seed, tmp_path, monkeypatch):
    """until: the bounds that are chosen; None: as they are."""
    source, target = hubs_graph(seed)
    if until is not None:
        random = np.random.default_rng(seed)
        bounds = random.integers(0, V + 1, shares.LEVELS + 1) if until == "any" else np.full(shares.LEVELS + 1, until)
        monkeypatch.setattr(shares, "choose_bounds", lambda *given: bounds.astype(np.uint64))
    example = Example(V, source, target, directed=directed, topology=topology, order="degree")
    with gstream.open(example.stored(tmp_path)) as graph:
        found = graph.bfs(source=[int(source[0]), int(source[1])], devices=devices, certify=True).to_numpy()
    if not directed:
        source, target = np.append(source, target), np.append(target, source)
    expected = least_parents(source, target, found["distance"])
    assert np.array_equal(np.where(found["predecessor"] < 0, V, found["predecessor"]), expected)


def test_parents_of_hubs_push(tmp_path):
    """One source pushes to its few neighbours, some of these to all others; levels without vertices have no bound."""
    with gstream.open(Example(V, *hubs_graph(3), order="degree").stored(tmp_path)) as graph:
        tables, natural = graph.engine().graph.tables, graph.store.natural_ids()
    at, ranges = shares.vertices_drawn(V)
    assert np.array_equal(at, np.arange(V)), "all vertices of a small graph are drawn"
    distance = np.minimum(at, 1 + (at >= 10)).astype(np.uint32)
    until = shares.choose_bounds(tables["in"], tables["out"], ranges, distance, natural[at], V)
    assert until[1] == V and 0 < until[2] <= V and not until[3:].any()
