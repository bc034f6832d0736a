"""Betweenness against networkx: exact, from named sources and from drawn ones."""

from __future__ import annotations

import math
from dataclasses import replace

import choice
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.centrality.betweenness import run_betweenness
from gstream.algorithms.centrality.betweenness_proof import certify_betweenness
from gstream.algorithms.support import lists
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from gstream.engine.engine import Engine
from pagestore.errors import GstreamError, UsageError
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import SCHEDULES, big_example, devices, simple


def close(found, expected):
    assert found.keys() == expected.keys()
    for v, value in expected.items():
        assert math.isclose(found[v], value, rel_tol=1e-9, abs_tol=1e-12) or found[v] != found[v] != value != value, v


def estimate(graph, sources, normalized, endpoints=False):
    """networkx.betweenness_centrality where it draws these sources."""

    class Drawn:
        def sample(self, nodes, k):
            return list(sources)

    plain = nx.betweenness_centrality.__wrapped__ if hasattr(nx.betweenness_centrality, "__wrapped__") else None
    assert plain is not None
    return plain(graph, k=len(sources), normalized=normalized, endpoints=endpoints, seed=Drawn())


@settings(max_examples=100)
@given(example=examples(largest=150), normalized=st.booleans(), data=st.data())
def test_ends_of_paths_as_networkx_counts_them(example, normalized, data, tmp_path_factory):
    if example.topology == "in":
        example.topology = "both"
    reference, own = simple(example), {"normalized": normalized, "endpoints": True, "certify": True}
    k = data.draw(st.integers(1, max(1, len(reference) - 1)))
    with gstream.open(example.stored(tmp_path_factory.mktemp("ends"))) as graph:
        if len(reference) <= 40:
            expected = nx.betweenness_centrality(reference, normalized=normalized, endpoints=True)
            close(column(graph.betweenness(**own), "betweenness"), expected)
        drawn = graph.betweenness(k=k, seed=1, **own)
    assert "note" not in drawn.summary
    if "sampled" in drawn.summary:
        close(column(drawn, "betweenness"), estimate(reference, drawn.summary["sampled"], normalized, True))


def test_one_source_has_no_value_of_its_own(tmp_path):
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        result = graph.betweenness(k=1, seed=3, certify=True)
        source = result.summary["sampled"][0]
        assert [v for v, value in column(result, "betweenness").items() if value != value] == [source]
        assert result.summary["note"] == (
            f"vertex {source} has no betweenness (NaN): it is the only source, and paths from a vertex say nothing "
            "about the vertex itself. Draw 2 or more (k 2)"
        )
        assert "note" not in graph.betweenness(k=2, seed=3, certify=True).summary


@pytest.mark.parametrize(
    "options", [{"k": 20, "seed": 0}, {"k": 20, "seed": 0, "endpoints": True}, {"source": [11, 5]}], ids=str
)
@pytest.mark.parametrize("directed", [True, False])
def test_a_wrong_answer_has_no_certificate(directed, options, tmp_path):
    example = hub_example(directed, order="degree", topology="out")
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_betweenness(session, **options)
        assert certify_betweenness(session, columns, options, found)["holds"]
        random, values = np.random.default_rng(6), columns[0].values
        for _ in range(40):
            wrong = values.copy()
            wrong[random.integers(len(values))] += random.choice([-1, 1]) * 10.0 ** random.uniform(-7, 1)
            with pytest.raises(CertificateError):
                certify_betweenness(session, [replace(columns[0], values=wrong)], options, found)
        for wrong in (values * 1.001, values * 0, np.where(values > 0, np.nan, 0.0), -values):
            with pytest.raises(CertificateError):
                certify_betweenness(session, [replace(columns[0], values=wrong)], options, found)
        if directed and "endpoints" not in options:
            with pytest.raises(CertificateError, match="is between others, but a dead end"):
                certify_betweenness(session, [replace(columns[0], values=values[::-1])], options, found)


@settings(max_examples=200)
@given(
    example=examples(largest=150), devices=devices, normalized=st.booleans(), data=st.data(),
    first=st.sampled_from([1, 3, 99]), most=st.sampled_from([1, 4, 999]),
)  # fmt: skip
def test_betweenness_is_networkx(example, devices, normalized, data, first, most, tmp_path_factory):
    """By sweeps, by one thread, and from one to the other and back."""
    if example.topology == "in":
        example.topology = "both"
    reference = simple(example)
    nodes = list(reference)
    if not nodes:
        return
    some = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=4, unique=True))
    path = example.stored(tmp_path_factory.mktemp("between"))
    with gstream.open(path, devices=devices) as graph, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "FIRST_ROUNDS", first)
        patch.setattr(lists, "MOST_DUE", most)
        named = column(graph.betweenness(source=some, normalized=normalized), "betweenness")
        close(named, nx.betweenness_centrality_subset(reference, some, nodes, normalized=normalized))
        found = graph.betweenness(normalized=normalized)
        close(column(found, "betweenness"), nx.betweenness_centrality(reference, normalized=normalized))
        drawn = graph.betweenness(k=min(3, len(nodes)), seed=5, normalized=normalized)
        again = graph.betweenness(k=min(3, len(nodes)), seed=5, normalized=normalized)
    assert drawn.summary.get("sampled") == again.summary.get("sampled")
    if "sampled" in drawn.summary:
        close(column(drawn, "betweenness"), estimate(reference, drawn.summary["sampled"], normalized))


@pytest.mark.covering(1)
@pytest.mark.parametrize("directed", [True, *choice.also(False)])
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(directed, options, tmp_path):
    example = big_example(directed)
    options = {**options, **({"host_memory": options["host_memory"] + 100_000} if "host_memory" in options else {})}
    with gstream.open(example.stored(tmp_path), **options) as graph:
        result = graph.betweenness(source=[0, 3999, 77])
    expected = nx.betweenness_centrality_subset(simple(example), [0, 3999, 77], list(range(4010)), normalized=True)
    close(column(result, "betweenness"), expected)
    stats = result.summary["stats"]
    assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


def test_long_paths_take_few_sweeps(tmp_path, monkeypatch):
    """20,001 levels, there and back, in any order of IDs; each edge is looked at twice."""
    order = np.random.default_rng(6).permutation(20_001)
    swept, sweep = [], Engine.sweep
    monkeypatch.setattr(Engine, "sweep", lambda *given: (swept.append(given[1]), sweep(*given))[1])
    with gstream.open(Example(20_001, order[:-1], order[1:]).stored(tmp_path)) as graph:
        result = graph.betweenness(source=int(order[0]), normalized=False)
    found = result.to_numpy()["betweenness"][order]
    assert np.array_equal(found[1:], np.arange(19_999, -1, -1)) and found[0] == 0
    assert result.summary["supersteps"] == 20_001 and len(swept) <= 1 + lists.FIRST_ROUNDS
    assert result.summary["stats"]["edges_visited"] <= 2 * 20_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k 0: out of range; 1 to 1600 sources"),
        ({"k": 1601}, "k 1601: out of range"),
        ({"k": 2, "source": 5}, "k and source contradict"),
        ({"seed": 2}, "seed: is for sources that k draws"),
        ({"source": 5000}, "source 5000 is not a vertex|5000"),
    ],
)
def test_wrong_use(options, message, tmp_path):
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        with pytest.raises((UsageError, GstreamError), match=message):
            graph.betweenness(**options)


def test_out_pages_are_needed(tmp_path):
    with gstream.open(Example(2, np.array([0]), np.array([1]), topology="in").stored(tmp_path)) as graph:
        with pytest.raises(GstreamError, match="topology"):
            graph.betweenness()


def diamonds(links):
    """A chain of diamonds, of whose ends 2^links paths lead from the first to the last."""
    first = 3 * np.arange(links)
    source, target = (
        np.concatenate([first, first, first + 1, first + 2]),
        np.concatenate([first + 1, first + 2] + 2 * [first + 3]),
    )
    return Example(3 * links + 1, source, target)


def test_paths_past_doubles_at_the_end_of_a_chain_of_diamonds(tmp_path):
    """2^1100 paths: dividing by inf gives 0, which is no answer either."""
    with gstream.open(diamonds(1100).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match=r"more than 1\.8e308 shortest paths"):
            graph.betweenness(source=0)


@pytest.mark.parametrize("links", [60, 1020])
def test_more_paths_than_a_double_tells_apart(links, tmp_path):
    """Of 2^60 and of 2^1020 paths each half leads through one side of a diamond; all is proved."""
    with gstream.open(diamonds(links).stored(tmp_path)) as graph:
        result = graph.betweenness(source=0, normalized=False, certify=True)
    found, beyond = result.to_numpy()["betweenness"], 3 * (links - 1 - np.arange(links))
    np.testing.assert_allclose(found[0:-1:3][1:], beyond[:-1] + 0.0, rtol=1e-12)
    np.testing.assert_allclose(found[1::3], (beyond + 1) / 2, rtol=1e-12)
    assert found[0] == found[-1] == 0 and 0 < result.summary["certificate"]["error"] < 1e-3 * found.max()


def test_wrong_values_of_the_right_sum_have_no_certificate(tmp_path):
    """Also where each differs by as little as the certificate says that it tells."""
    random = np.random.default_rng(4)
    with gstream.open(hub_example(topology="out").stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_betweenness(session, k=20, seed=0)
        error = certify_betweenness(session, columns, {"k": 20}, found)["error"]
        assert 0 < error < 1e-6 * columns[0].values.max()
        for off in (error, 100 * error, 0.1 * columns[0].values.max()):
            for _ in range(10):
                wrong, (u, v) = columns[0].values.copy(), random.choice(np.flatnonzero(columns[0].values), 2, False)
                step = min(off, wrong[v] / 2)
                wrong[u], wrong[v] = wrong[u] + step, wrong[v] - step
                with pytest.raises(CertificateError, match="with random weights"):
                    certify_betweenness(session, [replace(columns[0], values=wrong)], {"k": 20}, found)
