"""HyperBall's estimates against exact distances, and the same bits on any devices.

Its registers are held against a reference in tests/differential.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import gstream
from tests.answers.graphs import Example

VERTICES = 300


def drawn(directed: bool) -> Example:
    """A sparse random graph with a hub, a path and vertices of their own."""
    random = np.random.default_rng(8)
    source, target = random.integers(0, VERTICES - 40, (2, 700))
    chain = np.arange(VERTICES - 40, VERTICES - 20)
    hub = np.full(80, 11)
    return Example(
        VERTICES,
        np.concatenate([source, chain, hub]),
        np.concatenate([target, chain + 1, random.integers(0, VERTICES - 40, 80)]),
        directed=directed,
    )


def exact(example: Example) -> np.ndarray:
    """float64[V, V]: distance from row to column."""
    graph = (nx.DiGraph if example.directed else nx.Graph)()
    graph.add_nodes_from(range(VERTICES))
    graph.add_edges_from(zip(example.source.tolist(), example.target.tolist(), strict=True))
    far = np.full((VERTICES, VERTICES), np.inf)
    for source, reached in nx.all_pairs_shortest_path_length(graph):
        far[source, list(reached)] = list(reached.values())
    return far


@pytest.mark.parametrize("directed", [True, False])
def test_estimates_are_within_their_error(directed: bool, tmp_path) -> None:
    """Of vertices within 3 standard errors but for a few, of sums over all vertices always; by a fixed seed."""
    example = drawn(directed)
    far = exact(example)
    with gstream.open(example.stored(tmp_path)) as graph:
        found = graph.hyperball(log2m=8, seed=2)
    error, rows, summary = 1.06 / 16, found.to_numpy(), found.summary
    assert summary["standard_error"] == error and summary["converged"]
    others = np.isfinite(far) & (far > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        harmonic, reach = np.where(others, 1 / far, 0.0).sum(axis=0), others.sum(axis=0)
        closeness = reach / np.where(others, far, 0.0).sum(axis=0) * reach / (VERTICES - 1)
    some = reach > 0
    assert (rows["harmonic"][~some] == 0).all() and (rows["reachable"][~some] == 0).all() and not some.all()
    for name, right in (("harmonic", harmonic), ("reachable", reach), ("closeness", closeness)):
        off = np.abs(rows[name][some] / right[some] - 1)
        assert np.quantile(off, 0.98) < 3 * error * (2 if name == "closeness" else 1), name
    pairs = [(far <= step).sum() for step in range(len(summary["neighbourhood_function"]))]
    assert pairs[-1] == np.isfinite(far).sum()
    np.testing.assert_allclose(summary["neighbourhood_function"], pairs, rtol=3 * error)
    assert sum(summary["distance_distribution"]) == pytest.approx(1)
    assert summary["average_distance"] == pytest.approx(far[others].mean(), rel=3 * error)
    assert abs(summary["effective_diameter"] - np.quantile(far[np.isfinite(far)], 0.9)) < 1


DEVICES = [{"threads": 1}, {"devices": "host:2"}, {"devices": "fake:3"}, {"host_memory": 300_000}]


@pytest.mark.parametrize("options", DEVICES, ids=str)
@pytest.mark.parametrize("stored", [{}, {"topology": "in"}, {"topology": "out"}, {"order": "degree"}], ids=str)
def test_the_same_on_any_devices_and_stores(stored: dict, options: dict, tmp_path) -> None:
    example = drawn(True)
    for name, value in stored.items():
        setattr(example, name, value)
    with gstream.open(drawn(True).stored(tmp_path)) as graph:
        wanted = graph.hyperball(log2m=6)
    with gstream.open(example.stored(tmp_path), **options) as graph:
        found = graph.hyperball(log2m=6)
    assert found.to_numpy().tobytes() == wanted.to_numpy().tobytes()
    assert found.summary["neighbourhood_function"] == pytest.approx(wanted.summary["neighbourhood_function"], rel=1e-12)


def test_distances_end_where_asked() -> None:
    chain = np.arange(30)
    graph = gstream.from_edges(chain, chain + 1)
    short, whole = graph.hyperball(log2m=10, max_distance=3), graph.hyperball(log2m=10)
    assert not short.summary["converged"] and len(short.summary["neighbourhood_function"]) == 4
    assert whole.summary["converged"] and len(whole.summary["neighbourhood_function"]) == 31
    assert whole.at(30)["reachable"] == pytest.approx(30, rel=0.1)
    assert short.at(30)["harmonic"] == pytest.approx(1 + 1 / 2 + 1 / 3, rel=0.1)
