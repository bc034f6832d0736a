"""Predecessors of BFS on the stand-in for the driver: by keys, and by hops where keys have no room."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from compilers import needs_gxx

import gstream
from gstream.algorithms.traversal import predecessors, shares
from tests.answers.graphs import Example
from tests.answers.test_parents import V, hubs_graph, least_parents


@pytest.mark.covering(2)
@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("topology", ["both", "out", "in"])
@pytest.mark.parametrize("order", ["degree", "natural"])
@pytest.mark.parametrize("until", [None, 0, V, "any"])
@pytest.mark.parametrize("room", ["keys", "distances too wide", "no keys"])
def test_the_least_parent_wherever_it_is_found(topology, order, until, room, tmp_path, monkeypatch):
    random, ways = np.random.default_rng(choice.seeds(1, [5])[0]), []
    source, target = hubs_graph(6)
    if until is not None:
        bounds = random.integers(0, V + 1, shares.LEVELS + 1) if until == "any" else np.full(shares.LEVELS + 1, until)
        monkeypatch.setattr(shares, "choose_bounds", lambda *given: bounds.astype(np.uint64))
    if room == "distances too wide":
        monkeypatch.setattr(predecessors, "key_shift", lambda session: 31)
    if room == "no keys":
        monkeypatch.setattr(predecessors, "key_shift", lambda session: None)
    for name in ("_keys_on_gpu", "_hops_on_gpu"):
        usual = getattr(predecessors, name)

        def noted(*given, usual=usual, name=name):
            ways.append((name, (found := usual(*given)) is not None))
            return found

        monkeypatch.setattr(predecessors, name, noted)
    with gstream.open(Example(V, source, target, topology=topology, order=order).stored(tmp_path)) as graph:
        for _ in range(2):  # the first one has no pages there yet
            found = graph.bfs(source=[int(source[0]), int(source[1])], devices="cuda", certify=True).to_numpy()
    expected = least_parents(source, target, found["distance"])
    assert np.array_equal(np.where(found["predecessor"] < 0, V, found["predecessor"]), expected)
    keyed = order == "degree" and room != "no keys"
    last = [("_keys_on_gpu", room == "keys")] * keyed + [("_hops_on_gpu", True)] * (not keyed or room != "keys")
    assert ways[-len(last) :] == last


@needs_gxx
@pytest.mark.usefixtures("standin_gpu")
@pytest.mark.parametrize("devices", ["cuda", "host:2"])
@pytest.mark.parametrize("depth", [1, 2])
def test_nobody_beyond_the_limit_has_a_parent(devices, depth, tmp_path, monkeypatch):
    """Where keys have room for the distances 0 and 1 alone, and all vertices push."""
    source, target = hubs_graph(6)
    monkeypatch.setattr(shares, "choose_bounds", lambda *given: np.full(shares.LEVELS + 1, V, np.uint64))
    monkeypatch.setattr(predecessors, "key_shift", lambda session: 30)
    with gstream.open(Example(V, source, target, order="degree").stored(tmp_path)) as graph:
        for _ in range(2):
            found = graph.bfs(source=int(source[0]), depth_limit=depth, devices=devices).to_numpy()
    expected = least_parents(source, target, found["distance"])
    assert (found["distance"] < 0).any() and found["distance"].max() == depth
    assert np.array_equal(np.where(found["predecessor"] < 0, V, found["predecessor"]), expected)
