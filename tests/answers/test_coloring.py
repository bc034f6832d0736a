"""Colourings and independent sets: those of a sequential greedy walk, proven by networkx and by certificates."""

from __future__ import annotations

from dataclasses import replace

import choice
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.labelling.coloring import certify_coloring, run_coloring
from gstream.algorithms.labelling.mis import certify_mis, run_mis
from gstream.algorithms.support import lists
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import SCHEDULES, big_example, devices, simple


def mixed(v):
    x = (v + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def walks(example, graph):
    """({user ID: in the set}, {user ID: color}) of greedy walks, one vertex after the other."""
    undirected = simple(example).to_undirected()
    store, nodes = graph._store, sorted(undirected)
    stored = dict(zip(nodes, (int(x) for x in store.store_ids(0, len(nodes))), strict=True))
    size = store.out_degree().astype(int) + (store.in_degree().astype(int) if example.directed else 0)
    inside, color = dict.fromkeys(nodes, 0), {}
    rank = {v: at for at, v in enumerate(nodes)}  # natural indices
    for v in sorted(nodes, key=lambda v: (size[stored[v]], mixed(rank[v]))):
        inside[v] = int(not any(inside[u] for u in undirected[v]))
    for v in sorted(nodes, key=lambda v: (-size[stored[v]], mixed(rank[v]))):
        used = {color[u] for u in undirected[v] if u in color}
        color[v] = min(set(range(len(used) + 1)) - used)
    return inside, color


def check(example, path, **options):
    undirected = simple(example).to_undirected()
    with gstream.open(path, **options) as graph:
        inside, color = walks(example, graph)
        found, colored = graph.mis(certify=True), graph.coloring(certify=True)
        assert column(found, "in_set") == inside and column(colored, "color") == color
    members = [v for v in inside if inside[v]]
    assert found.summary["set_vertices"] == len(members)
    assert colored.summary["colors"] == len(set(color.values()))
    assert nx.is_dominating_set(undirected, members) and undirected.subgraph(members).number_of_edges() == 0
    assert all(color[u] != color[v] for u, v in undirected.edges)
    return found, colored


@settings(max_examples=220)
@given(
    example=examples(), devices=devices, first=st.sampled_from([1, 2, 16]), most=st.sampled_from([1, 5, 1 << 14])
)  # fmt: skip
def test_they_are_those_of_a_walk(example, devices, first, most, tmp_path_factory):
    """first, most: from which round on and for how many vertices one thread goes on alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "FIRST_ROUNDS", first)
        patch.setattr(lists, "MOST_DUE", most)
        check(example, example.stored(tmp_path_factory.mktemp("color")), devices=devices)


@pytest.mark.covering(1)
@pytest.mark.parametrize("first", [1, 3, 16, 200])
@pytest.mark.parametrize(("directed", "topology"), [(False, "both"), (True, "both"), (True, "out"), (True, "in")])
def test_cliques_take_each_edge_a_few_times(directed, topology, first, tmp_path, monkeypatch):
    """200 colours, by windows of 64 in sweeps, by one thread, and by both. With one topology of a directed graph each
    sweep passes all that is left, and the thread turns the lists round."""
    monkeypatch.setattr(lists, "FIRST_ROUNDS", first)
    source, target = np.triu_indices(200, 1)
    more = np.arange(200, 400)  # with a loop and an edge into the clique each
    example = Example(400, np.r_[source, more, more], np.r_[target, more, more - 200], directed=directed,
                      topology=topology)  # fmt: skip
    _, colored = check(example, example.stored(tmp_path))
    assert colored.summary["colors"] == 200
    stored = 2 * (len(source) + 400)
    if first <= 16:
        assert colored.summary["supersteps"] <= first + 1
        sweeps = first if topology != "both" else 1
        assert colored.summary["stats"]["edges_visited"] <= (4 + sweeps) * stored


@pytest.mark.covering(1)
@pytest.mark.parametrize(("directed", "topology"), [(True, "both"), *choice.also((True, "in"), (False, "both"))])
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(directed, topology, options, tmp_path):
    example = big_example(directed, topology=topology)
    for result in check(example, example.stored(tmp_path), **options):
        stats = result.summary["stats"]
        assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


def test_long_chains_take_few_rounds(tmp_path):
    ring = np.arange(20000)
    with gstream.open(Example(20001, ring, ring + 1, directed=False).stored(tmp_path)) as graph:
        assert graph.mis(certify=True).summary["supersteps"] < 40
        assert graph.coloring(certify=True).summary["supersteps"] < 80


@pytest.mark.parametrize("directed", [True, False])
def test_corrupted_answers_are_caught(directed, tmp_path):
    example = hub_example(directed, order="degree")
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        random, size = np.random.default_rng(1), session.degree("out").astype(int)
        touched = np.flatnonzero(size > 0)
        for run, prove in ((run_mis, certify_mis), (run_coloring, certify_coloring)):
            columns, found = run(session)
            prove(session, columns, {}, found)
            values = columns[0].values
            for v in random.choice(touched, 40):
                wrong = values.copy()
                wrong[v] = 1 - values[v] if run is run_mis else found["colors"]
                with pytest.raises(CertificateError):
                    prove(session, [replace(columns[0], values=wrong)], {}, found)
            for level in (0, 1):
                with pytest.raises(CertificateError):
                    prove(session, [replace(columns[0], values=np.full_like(values, level))], {}, found)
