"""Figures of a graph, held against NetworkX, igraph and NumPy."""

from __future__ import annotations

import json
import math

import choice
import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import gstream
from gstream.algorithms.centrality import stats
from gstream.algorithms.support.refusal import CertificateError
from tests.answers.graphs import Example, examples
from tests.answers.simple_graphs import SCHEDULES, big_example, simple

NAMES = ("mean", "deviation", "least", "median", "p90", "p99", "greatest")


def figures(values):
    """Of one number a vertex, by NumPy."""
    inner = [np.quantile(values, share, method="inverted_cdf") for share in (0.5, 0.9, 0.99)]
    return dict(zip(NAMES, (values.mean(), values.std(), values.min(), *inner, values.max()), strict=True))


def near(found, wanted, rel=1e-9):
    return found == pytest.approx(wanted, rel=rel, abs=1e-9, nan_ok=True)


def check(example, summary):
    """Degrees and strengths by counting, assortativity by igraph, the rest by NetworkX on the simple graph."""
    places = {int(v): place for place, v in enumerate(example.present)}
    source, target = (np.array([places[int(v)] for v in ends], int) for ends in (example.source, example.target))
    weight = np.ones(len(source)) if example.weight is None else example.weight
    count, loops = len(places), source == target

    def at(ends, amounts=None):
        return np.bincount(ends, amounts, minlength=count)

    if example.directed:
        out, into = at(source), at(target)
        degrees = {"out_degree": out, "in_degree": into, "degree": out + into}
        strengths = {"out_strength": at(source, weight), "in_strength": at(target, weight)}
        x, y = out[source], into[target]
    else:
        out = at(source) + at(target[~loops])
        degrees, strengths = {"degree": out}, {"strength": at(source, weight) + at(target[~loops], weight[~loops])}
        x = np.concatenate([out[source], out[target[~loops]]])
        y = np.concatenate([out[target], out[source[~loops]]])
    for name, values in degrees.items():
        assert near(summary[name], figures(values)), name
    for name, values in strengths.items() if example.weight is not None else ():
        assert near(summary[name], figures(values), 1e-6), name
    varied = len(x) and np.ptp(x) and np.ptp(y)
    assert near(summary["assortativity"], np.corrcoef(x, y)[0, 1] if varied else math.nan)
    plain = simple(example)
    assert near(summary["transitivity"], nx.transitivity(nx.Graph(plain)))
    assert summary["triangles"] == sum(nx.triangles(nx.Graph(plain)).values()) // 3
    if example.directed:
        assert near(summary["reciprocity"], nx.overall_reciprocity(plain) if plain.size() else math.nan)
    else:
        assert "reciprocity" not in summary


@settings(max_examples=15)
@given(example=examples("floats"))
def test_figures_of_drawn_graphs(example, tmp_path_factory):
    with gstream.open(example.stored(tmp_path_factory.mktemp("stats"))) as graph:
        check(example, graph.stats(distances=False, certify=True).summary)


@pytest.mark.parametrize("directed", [True, False])
def test_figures_of_graphs_without_loops_are_the_packages(directed, tmp_path):
    random = np.random.default_rng(3)
    ends = (80 * random.random((2, 600)) ** 2).astype(np.int64)
    ends = ends[:, ends[0] != ends[1]]  # repeated edges stay: packages agree on these
    example = Example(80, *ends, directed=directed)
    with gstream.open(example.stored(tmp_path)) as graph:
        found = graph.stats(distances=False).summary
    peer = igraph.Graph(80, list(zip(*ends.tolist(), strict=True)), directed=directed)
    assert near(found["assortativity"], nx.degree_assortativity_coefficient(example.networkx()))
    assert near(found["assortativity"], peer.assortativity_degree(directed=directed))
    assert near(found["transitivity"], peer.as_undirected().simplify().transitivity_undirected())
    if directed:
        assert near(found["reciprocity"], peer.simplify().reciprocity())


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", SCHEDULES)
@pytest.mark.parametrize("directed", [True, *choice.also(False)])
def test_schedules_change_nothing(directed, options, tmp_path):
    example = big_example(directed)
    options = options | ({"host_memory": 1_200_000} if "host_memory" in options else {})
    with gstream.open(example.stored(tmp_path)) as graph:
        found = graph.stats(log2m=4, certify=True, **options)
        estimated = graph.hyperball(log2m=4).summary
        rows = graph.degrees().to_numpy()
    check(example, found.summary)
    assert np.array_equal(found.to_numpy(), rows)
    for name in ("average_distance", "effective_diameter", "standard_error", "distance_distribution"):
        assert near(found.summary[name], estimated[name])
    stats = found.summary["stats"]
    assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


@pytest.mark.long
def test_distances_are_within_their_confidence(tmp_path):
    """Three standard errors, of exact figures."""
    example = big_example(False)
    exact = igraph.Graph.from_networkx(simple(example)).average_path_length()
    with gstream.open(example.stored(tmp_path)) as graph:
        found = graph.stats(log2m=7).summary
    assert abs(found["average_distance"] - exact) <= 3 * found["standard_error"] * exact


@pytest.mark.parametrize("vertices, edges", [(0, 0), (1, 0), (1, 1), (2, 2)])
def test_figures_that_nothing_defines_are_nan(vertices, edges):
    """Of no vertex, of one, of a self-loop, and of two loops: certified, without a warning or a division by 0."""
    ends = np.arange(edges)
    with gstream.from_edges(ends, ends, num_vertices=vertices) as graph:
        found = graph.stats(certify=True).summary
    degree = np.full(vertices, 2 if edges else 0)
    assert found["degree"] == ({} if not vertices else figures(degree))
    assert math.isnan(found["assortativity"]) and math.isnan(found["reciprocity"])
    assert (found["transitivity"], found["triangles"], found["effective_diameter"]) == (0, 0, 0)
    assert "average_distance" not in found


def test_wrong_figures_are_refused(tmp_path, monkeypatch):
    with gstream.open(big_example(True).stored(tmp_path)) as graph:
        right = stats.assortativity
        monkeypatch.setattr(stats, "assortativity", lambda session, backward=False: right(session, backward) + backward)
        with pytest.raises(CertificateError, match="the summary's assortativity is"):
            graph.stats(distances=False, certify=True)


def test_the_command_shows_a_table_and_a_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2"), pytest.importorskip("matplotlib")
    from gstream.cli.commands import run_command_line

    store = Example(5, np.array([0, 1, 2, 3]), np.array([1, 2, 0, 0]), np.arange(4.0)).stored(tmp_path)
    assert run_command_line(["stats", str(store), "--no-distances", "--report", str(tmp_path / "stats.html")]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].split() == list(NAMES)
    assert [line.split()[:2] for line in shown.splitlines()[1:6]] == [
        ["degree", "1.6"], ["out", "degree"], ["in", "degree"], ["out", "strength"], ["in", "strength"],
    ]  # fmt: skip
    assert "transitivity" in shown and "definition" in shown
    page = (tmp_path / "stats.html").read_text()
    assert 'id="distributed"' in page and "out strength" in page
    assert run_command_line(["stats", str(store), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["degree"]["greatest"] == 3 and found["reciprocity"] == 0 and found["triangles"] == 1
    assert found["average_distance"] > 1 and found["top"] == []
