"""Shortest paths up to a cutoff: what is farther is not reached, as in networkx."""

from __future__ import annotations

import choice
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from pagestore.errors import UsageError
from tests.answers.graphs import Example, column, examples


@settings(max_examples=60)
@given(example=examples(weights="floats"), cutoff=st.floats(0, 4), float64=st.booleans())
def test_cutoff_is_networkx(example, cutoff, float64, tmp_path_factory):
    source = example.user_id(example.present[0])
    with gstream.open(example.stored(tmp_path_factory.mktemp("cutoff"))) as graph:
        whole = column(graph.sssp(source, float64=float64, predecessors=False), "distance")
        found = graph.sssp(source, float64=float64, cutoff=cutoff, certify=True)
        alone = graph.sssp(source, float64=float64, cutoff=cutoff, certify=True, predecessors=False)
    cutoff = float(np.float32(cutoff))
    expected = {v: d if d is not None and d <= cutoff else None for v, d in whole.items()}
    assert column(found, "distance") == column(alone, "distance") == expected
    assert found.summary["reached"] == sum(d is not None for d in expected.values())
    above = column(found, "predecessor")
    assert all((above[v] is None) == (d is None or v == source) for v, d in expected.items())
    theirs = nx.single_source_dijkstra_path_length(example.networkx(), source, cutoff=cutoff)
    edge = {v for v, d in whole.items() if d is not None and abs(d - cutoff) < 1e-5}  # rounding decides
    assert {v for v, d in expected.items() if d is not None} - edge == set(theirs) - edge


@pytest.mark.longer
@pytest.mark.parametrize(("most", "reached"), [(0, 1), (1, 1), (2.9, 2), (3, 3), (1e30, 4), (float("inf"), 4)])
def test_cutoff_of_whole_numbers(most, reached, tmp_path):
    example = Example(5, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([2.0, 1.0, choice.few(200.0, 70000.0)]))
    with gstream.open(example.stored(tmp_path)) as graph:
        assert graph.sssp(0, cutoff=most, certify=True).summary["reached"] == reached


@pytest.mark.parametrize("float64", [False, True])
@pytest.mark.parametrize(("most", "reached"), [(0.1, 2), (0.0999, 1), (1e39, 3), (0.3, 2)])
def test_an_edge_that_is_as_long_as_the_cutoff(most, reached, float64, tmp_path):
    """0.1 is no number of pages: the nearest that is stands for it, as weight and as cutoff."""
    example = Example(3, np.array([0, 1]), np.array([1, 2]), np.array([0.1, 0.25]))
    with gstream.open(example.stored(tmp_path)) as graph:
        assert graph.sssp(0, cutoff=most, float64=float64, certify=True).summary["reached"] == reached


@pytest.mark.parametrize("cutoff", [-1, float("nan")])
def test_a_cutoff_that_means_nothing(cutoff, tmp_path):
    with gstream.open(Example(2, np.array([0]), np.array([1]), np.array([1.0])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="cutoff .*: must be at least 0"):
            graph.sssp(0, cutoff=cutoff)
