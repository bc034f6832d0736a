"""PageRank against networkx: dangling vertices, personalization, alpha, tolerance, iterations."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from pagestore.errors import InputError, UsageError
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import devices


def reference(example, alpha=0.85, personalization=None):
    """{user ID: rank}: the fixed point by a linear solve, which networkx's iteration must agree with."""
    graph = example.networkx()
    nodes = list(graph)
    counts = nx.to_numpy_array(graph, nodelist=nodes, weight=None)
    degree = counts.sum(axis=1)
    wished = personalization or dict.fromkeys(nodes, 1.0)
    preference = np.array([wished.get(node, 0.0) for node in nodes]) / sum(wished.values())
    step = np.where(degree[:, None] > 0, counts / np.maximum(degree, 1)[:, None], preference)
    rank = np.linalg.solve(np.eye(len(nodes)) - alpha * step.T, (1 - alpha) * preference)
    theirs = nx.pagerank(graph, alpha, personalization, weight=None, tol=1e-8 / len(nodes), max_iter=5000)
    assert np.abs(rank - np.array([theirs[node] for node in nodes])).sum() < 1e-8 / (1 - alpha) + 1e-12
    return dict(zip(nodes, rank.tolist(), strict=True))


def worst(found, expected):
    assert found.keys() == expected.keys()
    # relative, but for ranks that only tend to 0: an iteration leaves 1e-11 and less of them
    return max(max(0.0, abs(found[v] - expected[v]) - 1e-11) / max(expected[v], 1e-300) for v in expected)


@settings(max_examples=200)
@given(example=examples(), devices=devices, alpha=st.sampled_from([0.85, 0.5, 0.99, 0.0]), data=st.data())
def test_pagerank_is_networkx(example, devices, alpha, data, tmp_path_factory):
    options = {}
    if data.draw(st.booleans()):
        some = data.draw(st.lists(st.sampled_from(list(example.networkx())), min_size=1, max_size=4, unique=True))
        options["personalization"] = {v: number + 0.5 for number, v in enumerate(some)}
    expected = reference(example, alpha=alpha, **options)
    with gstream.open(example.stored(tmp_path_factory.mktemp("rank")), devices=devices) as graph:
        double = graph.pagerank(alpha=alpha, tol=1e-14, max_iter=3000, float64=True, certify=True, **options)
        assert worst(column(double, "pagerank"), expected) < 1e-9
        single = graph.pagerank(alpha=alpha, tol=1e-7, max_iter=3000, certify=True, **options)
    found = column(single, "pagerank")
    assert abs(sum(found.values()) - 1) < 1e-5
    # float32: an error of one rounding a step, and what 1e-7 leaves, each grown by 1 / (1 - alpha)
    assert sum(abs(found[v] - expected[v]) for v in expected) < 1e-5 + 1e-6 / (1 - alpha)


@pytest.mark.covering(1)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("topology", ["both", "out", "in"])
@pytest.mark.parametrize("devices", ["host", "host:3", "fake:1:2"])
def test_hubs_and_devices(directed, topology, devices, tmp_path):
    example = hub_example(directed, topology=topology, order="degree")
    with gstream.open(example.stored(tmp_path), devices=devices) as graph:
        result = graph.pagerank(tol=1e-13, float64=True, certify=True)
    assert worst(column(result, "pagerank"), reference(example)) < 1e-9


def test_weights_are_not_read(tmp_path):
    """As NetworkX with weight=None."""
    example = hub_example(weighted=True)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.pagerank(tol=1e-13, float64=True)
    nodes = example.networkx()
    plain, weighed = (nx.pagerank(nodes, weight=weight, tol=1e-12) for weight in (None, "weight"))
    assert worst(column(result, "pagerank"), plain) < 1e-9 < worst(column(result, "pagerank"), weighed)


def test_iterations_are_counted_exactly(tmp_path):
    example = hub_example()
    matrix = nx.to_scipy_sparse_array(example.networkx(), weight=None, dtype=float)
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    with gstream.open(example.stored(tmp_path)) as graph:
        for count in (0, 1, 2, 7):
            rank = np.full(example.vertices, 1 / example.vertices)
            for _ in range(count):
                share = np.divide(rank, degree, out=np.zeros_like(rank), where=degree > 0)
                adrift = rank[degree == 0].sum()
                rank = 0.15 / len(rank) + 0.85 * (matrix.T @ share + adrift / len(rank))
            result = graph.pagerank(iterations=count, float64=True, certify=True)
            assert result.summary["supersteps"] == count and result.summary["converged"]
            assert np.allclose(result.to_numpy()["pagerank"], rank, rtol=1e-12)


@pytest.mark.parametrize("devices", ["host", "host:2", "fake:3"])
def test_iterations_go_on_where_nothing_changes(devices, tmp_path):
    """A ring's first ranks are its last."""
    ring = Example(4, np.arange(4), (np.arange(4) + 1) % 4, np.ones(4))
    with gstream.open(ring.stored(tmp_path), devices=devices) as graph:
        assert graph.pagerank().summary["supersteps"] == 1
        result = graph.pagerank(iterations=7)
        assert result.summary["supersteps"] == 7 and result.summary["converged"]
        assert result.to_numpy()["pagerank"].tolist() == [0.25] * 4
        assert graph.heat(dict.fromkeys(range(4), 1), iterations=6).summary["supersteps"] == 6


def test_the_tolerance_is_absolute(tmp_path):
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        loose, tight = graph.pagerank(tol=1e-2).summary, graph.pagerank(tol=1e-5).summary
        assert 1e-5 < loose["l1_change"] < 1e-2 and tight["l1_change"] < 1e-5
        assert loose["supersteps"] < tight["supersteps"]
        cut = graph.pagerank(tol=1e-12, max_iter=3, certify=True).summary
        assert not cut["converged"] and cut["supersteps"] == 3


def test_ranks_that_swing_between_roundings_are_no_false_alarm(tmp_path):
    # float32 at alpha .99: the swing between 0 and its neighbours stops shrinking at 4e-6, and never gets below 1e-7
    example = Example(5, np.array([0, 0]), np.array([2, 3]), directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        summary = graph.pagerank(alpha=0.99, tol=1e-7, max_iter=3000, certify=True).summary
        assert not summary["converged"] and summary["l1_change"] > 1e-7


@pytest.mark.parametrize("vertices", [150, 900, 4000])
def test_many_dead_ends_are_no_false_alarm(vertices, tmp_path):
    """What they give to all is a sum of as many terms, with as many roundings."""
    example = Example(vertices, np.array([127]), np.array([95]), directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        for tol in (1e-14, 1e-15):
            ranks = graph.pagerank(tol=tol, max_iter=3000, float64=True, certify=True)
            assert ranks.summary["certificate"]["holds"]


def test_no_vertices(tmp_path):
    none = np.zeros(0, np.int64)
    with gstream.open(Example(0, none, none).stored(tmp_path)) as graph:
        result = graph.pagerank(certify=True)
    assert len(result) == 0 and result.summary["certificate"]["holds"]


@pytest.mark.parametrize("options", [{"iterations": 3}, {}, {"float64": True}])
def test_walks_find_nothing_where_no_path_leads(options, tmp_path):
    """0 to 1 to 2, a dead end; 3 and 4 lead there, and to each other."""
    example = Example(5, np.array([0, 1, 3, 3, 4]), np.array([1, 2, 2, 4, 3]))
    with gstream.open(example.stored(tmp_path)) as graph:
        ranks = graph.pagerank(personalization={0: 1.0}, **options).to_numpy()["pagerank"]
        assert (ranks[:3] > 0).all() and (ranks[3:] == 0).all()
        if "iterations" not in options:
            walk = graph.rwr(source=0, **options).to_numpy()["proximity"]
            assert (walk[:3] > 0).all() and (walk[3:] == 0).all()


def test_personalization_from_a_file(tmp_path):
    example = Example(4, np.array([0, 1, 2]), np.array([1, 2, 0]), kind="listed")
    file = tmp_path / "preference.txt"
    file.write_text("# vertex weight\n3 1\n\n10,0.5\n")
    with gstream.open(example.stored(tmp_path)) as graph:
        found = column(graph.pagerank(personalization=file, tol=1e-13, max_iter=400, float64=True), "pagerank")
        assert worst(found, reference(example, personalization={3: 1, 10: 0.5})) < 1e-9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3\n", r"preference.txt:1: `3` has one field"),
        ("3 1\n3 2\n", r"preference.txt:2: 3 stands there for the second time"),
        ("3 -1\n", r"the weight of 3 is '-1'; it must be a finite number"),
        ("3 nan\n", r"the weight of 3 is 'nan'; it must be a finite number"),
        ("3 much\n", r"the weight of 3 is 'much'; it must be a finite number of at least 0"),
        ("99 1\n", r"personalization vertex 99 is not a vertex of"),
        ("3 0\n", r"its weights sum to 0; the sum must be positive"),
        ("", r"its weights sum to 0"),
    ],
)
def test_bad_personalizations(text, message, tmp_path):
    file = tmp_path / "preference.txt"
    file.write_text(text)
    example = Example(4, np.array([0, 1, 2]), np.array([1, 2, 0]), kind="listed")
    with gstream.open(example.stored(tmp_path)) as graph, pytest.raises(InputError, match=message):
        graph.pagerank(personalization=file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.0}, "alpha 1.0: must be at least 0 and less than 1"),
        ({"alpha": float("nan")}, "alpha nan"),
        ({"tol": -1e-3}, "tol -0.001"),
        ({"tol": float("inf")}, "tol inf"),
        ({"max_iter": -1}, "max_iter -1"),
        ({"iterations": -2}, "iterations -2"),
        ({"personalization": [1, 2]}, "must be a mapping"),
        ({"damping": 0.5}, "damping: no such option"),
    ],
)
def test_numbers_out_of_range(options, message, tmp_path):
    with gstream.open(Example(2, np.array([0]), np.array([1])).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match=message):
            graph.pagerank(**options)


@pytest.mark.parametrize("seed", range(1481, 1498, 4))
def test_sums_of_equal_terms_are_certified(seed, tmp_path):
    """A hub of repeated edges: every rounding of its sum may go the same way."""
    random = np.random.default_rng(seed)
    edges, vertices = int(random.integers(500, 3000)), int(random.integers(2, 10))
    into = random.integers(0, vertices, edges)
    other = random.integers(0, vertices, (2, vertices))
    example = Example(vertices, np.append(into, other[0]), np.append(np.zeros(edges, np.int64), other[1]))
    with gstream.open(example.stored(tmp_path)) as graph:
        for alpha in (0.5, 0.99):
            assert graph.pagerank(alpha=alpha, tol=0.0, float64=True, certify=True).summary["certificate"]["holds"]


def test_preferences_of_huge_and_tiny_weights_are_shares(tmp_path):
    """Their sum is past all doubles, or has few bits: shares of 1/2 each all the same."""
    example = Example(3, np.array([0, 1, 2]), np.array([1, 2, 0]))
    with gstream.open(example.stored(tmp_path)) as graph:
        right, *others = (
            graph.pagerank(personalization={0: weight, 2: weight}, certify=True).to_numpy()
            for weight in (1.0, 1.7e308, 1e-320, 5e-324)
        )
    assert all(np.array_equal(right, other) for other in others)
