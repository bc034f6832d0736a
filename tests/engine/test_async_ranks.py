"""PageRank without supersteps takes fewer sweeps, and one that passes over small changes fewer edges; certified."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

import gstream
from pagestore.errors import UsageError

SIDE = 120
WEB, VERTICES = 1500, 1500 + SIDE * SIDE
STORES = {
    "directed": {"order": "natural"}, "undirected": {"order": "natural", "directed": False},
    "columns": {"order": "degree", "columns": 8},
}  # fmt: skip
WAYS = {
    "in memory": {"devices": "host"},
    "two hosts": {"devices": "host:2"},
    "one thread": {"devices": "host", "threads": 1},
    "from disk": {"devices": "host", "host_memory": 1_000_000, "batch_bytes": 65536},
}  # fmt: skip


@pytest.fixture(scope="module", params=["directed", *choice.also("columns", "undirected")])
def path(request, tmp_path_factory):
    """Streets both ways beside a web with large pages, dead ends, and vertices that no edge enters."""
    source, target = skewed_edges(WEB, 20_000, 5)
    cell = WEB + np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    ends = [(cell[:, :-1].ravel(), cell[:, 1:].ravel()), (cell[:-1].ravel(), cell[1:].ravel())]
    source = np.concatenate([source, *(a for a, _ in ends), *(b for _, b in ends), [WEB + 6]])
    target = np.concatenate([target, *(b for _, b in ends), *(a for a, _ in ends), [0]])
    keep = (source % 17 != 3) | (source > WEB)
    folder = tmp_path_factory.mktemp("stores")
    with make_store(folder, source[keep], target[keep], vertices=VERTICES, **STORES[request.param]) as made:
        assert made.topology("in").pages > made.topology("in").small_pages
        return made.path


def ranks(path, given, **options):
    with gstream.open(path, **given) as graph:
        found = graph.pagerank(certify=True, **options)
    return found.to_numpy()["pagerank"].astype(np.float64), found.summary


@pytest.mark.covering(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", [{}, {"personalization": {5: 1, 2000: 3}}, *choice.also(
    {"float64": True, "tol": 1e-10}, {"alpha": 0.3}, {"alpha": 0.0})], ids=str)  # fmt: skip
def test_it_is_certified_and_takes_fewer_sweeps(path, options, way):
    mine, found = ranks(path, WAYS[way], execution="async", **options)
    theirs, usual = ranks(path, WAYS[way], **options)
    bounds = [summary["certificate"]["l1_error_bound"] for summary in (found, usual)]
    assert found["converged"] and found["l1_change"] < options.get("tol", 1e-6)
    assert np.abs(mine - theirs).sum() <= sum(bounds) + 1e-7
    assert abs(mine.sum() - 1) < 1e-6
    if options.get("alpha", 0.85) == 0.85:  # several threads and devices see each other's ranks at any time
        assert found["supersteps"] <= usual["supersteps"] * (0.8 if way == "one thread" else 1)


def test_so_many_sweeps_and_no_more(path):
    found = ranks(path, {"devices": "host"}, execution="async", iterations=3)[1]
    assert (found["supersteps"], found["converged"]) == (3, True)
    found = ranks(path, {"devices": "host"}, execution="async", max_iter=2)[1]
    assert (found["supersteps"], found["converged"]) == (2, False)


def test_a_walk_with_restarts(path):
    with gstream.open(path, devices="host") as graph:
        mine = graph.rwr(source=2000, execution="async", certify=True).to_numpy()["proximity"]
        assert np.allclose(mine, graph.rwr(source=2000).to_numpy()["proximity"], atol=1e-6)


def test_what_is_refused(path, tmp_path):
    with gstream.open(path, devices="host") as graph:
        with pytest.raises(UsageError, match="must be sync or async"):
            graph.pagerank(execution="late")
        with pytest.raises(UsageError, match="leave one of them out|Leave one of them out"):
            graph.pagerank(execution="async", active_above=1e-9)
        with pytest.raises(UsageError, match="must be at least 0 and less than 1"):
            graph.pagerank(active_above=-1.0)
    with make_store(tmp_path, np.array([0, 1]), np.array([1, 2]), topology="out") as made:
        with gstream.open(made.path, devices="host") as graph, pytest.raises(UsageError, match="has no in-pages"):
            graph.pagerank(execution="async")


@pytest.mark.parametrize("float64", [False, *choice.also(True)])
def test_changes_that_do_not_matter_are_not_taken(path, float64):
    """The certificate's bound says what it costs: that much a vertex at most."""
    given = {"tol": 1e-12, "float64": float64, "max_iter": 200}
    mine, found = ranks(path, {"devices": "host"}, active_above=1e-8, **given)
    theirs, usual = ranks(path, {"devices": "host"}, **given)
    assert found["stats"]["edges_visited"] < usual["stats"]["edges_visited"]
    assert found["certificate"]["l1_error_bound"] <= (VERTICES * 1e-8 + 1e-6) / 0.15
    assert np.abs(mine - theirs).sum() <= found["certificate"]["l1_error_bound"] + 1e-6
    assert 0 < np.abs(mine - theirs).sum()


def test_a_run_goes_on_from_a_checkpoint(path, tmp_path):
    given = {"devices": "host", "checkpoint": str(tmp_path / "kept"), "checkpoint_every": 1}
    ranks(path, given, execution="async", max_iter=4)
    mine, found = ranks(path, given | {"resume": True}, execution="async")
    theirs, usual = ranks(path, {"devices": "host"}, execution="async")
    assert found["converged"] and found["stats"]["kept"]["resumed"] == 4
    assert abs(found["supersteps"] - usual["supersteps"]) <= 2
    bounds = [summary["certificate"]["l1_error_bound"] for summary in (found, usual)]
    assert np.abs(mine - theirs).sum() <= sum(bounds) + 1e-7
