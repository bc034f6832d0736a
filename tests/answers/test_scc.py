"""Strongly connected components against networkx; certificates; chains and cycles that are hard for colouring."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.components import scc
from gstream.algorithms.components.scc import certify_scc, run_scc
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from tests.answers.graphs import Example, column, examples
from tests.answers.simple_graphs import SCHEDULES, big_example, devices


def reference(example):
    graph = example.networkx()
    find = nx.strongly_connected_components if example.directed else nx.connected_components
    return {v: min(members) for members in find(graph) for v in members}


def take(way, patch):
    """Have one thread find all components, or what searches and trimming leave; or sweeps do, as without room."""
    if way != "at once":
        patch.setattr(scc, "AT_ONCE", -1)
    if way == "sweeps":
        patch.setattr(scc, "lists_of", lambda *given: nullcontext(None))


@settings(max_examples=250)
@given(
    example=examples(), devices=devices, longest=st.sampled_from([1, 2, 1000]),
    way=st.sampled_from(["at once", "divided", "sweeps"]),
)  # fmt: skip
def test_components_are_networkx(example, devices, longest, way, tmp_path_factory):
    """Whether the two searches from one vertex end or not."""
    expected = reference(example)
    with (
        gstream.open(example.stored(tmp_path_factory.mktemp("scc")), devices=devices) as graph,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(scc, "LONGEST", longest)
        take(way, patch)
        result = graph.scc(certify=True)
    assert column(result, "component") == expected
    assert result.summary["components"] == len(set(expected.values()))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("topology", "way"), [("both", "sweeps"), ("out", "at once"), ("in", "sweeps")])
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(topology, options, way, tmp_path, monkeypatch):
    take(way, monkeypatch)
    example = big_example(True, topology=topology)
    with gstream.open(example.stored(tmp_path), **options) as graph:
        result = graph.scc(certify=True)
    assert column(result, "component") == reference(example)
    stats = result.summary["stats"]
    assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("columns", [1, 32])
def test_a_long_path_is_walked_once(directed, columns, tmp_path, monkeypatch):
    """20,000 vertices in any order: each edge is looked at once, undirected ones by wcc. One sweep reads the pages, and
    one counts, for the certificate, what leads into components."""
    order = np.random.default_rng(6).permutation(20_001)
    example = Example(20_001, order[:-1], order[1:], directed=directed, topology="out", columns=columns)
    swept, sweep = [], Session.sweep
    monkeypatch.setattr(Session, "sweep", lambda *given, **join: (swept.append(given[1]), sweep(*given, **join))[1])
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.scc(certify=True)
    assert result.summary["components"] == (20_001 if directed else 1)
    assert result.summary["stats"]["edges_visited"] == 20_000
    assert len(swept) <= 2


@pytest.mark.parametrize("directed", [True, False])
def test_a_hubs_list_is_walked_through_all_its_pages(directed, tmp_path):
    """Lists of large pages, and a cycle through the last neighbour of the longest one."""
    spokes = np.arange(1, 3001)
    source, target = np.concatenate([0 * spokes, [3000, 2500]]), np.concatenate([spokes, [2500, 0]])
    example = Example(3001, source, target, directed=directed, topology="out")
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.scc(certify=True)
    assert column(result, "component") == reference(example)


@pytest.mark.parametrize("step", [1, -1])
def test_chains_of_cycles(step, tmp_path, monkeypatch):
    """100 cycles of 7 vertices, joined to a chain, up or down in IDs; then a path, which has no cycle: by colours."""
    take("sweeps", monkeypatch)
    v = np.arange(700)
    source = np.concatenate([v, np.arange(0, 693, 7), np.arange(700, 1000)])
    target = np.concatenate([v // 7 * 7 + (v + 1) % 7, np.arange(7, 700, 7), np.arange(701, 1001)])
    example = Example(1001, *((source, target) if step > 0 else (target, source)))
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.scc(certify=True)
    assert column(result, "component") == reference(example)
    assert result.summary["supersteps"] < 30


@pytest.mark.parametrize(("longest", "most"), [(1000, 1), (5, 9)])
def test_a_giant_is_found_by_two_searches(longest, most, tmp_path, monkeypatch):
    """A giant component with chains into it and out of it: one round, or some by colours."""
    take("sweeps", monkeypatch)
    monkeypatch.setattr(scc, "LONGEST", longest)
    random, ring = np.random.default_rng(8), np.arange(2000)
    source = np.concatenate([ring, random.integers(0, 2000, 6000), [2000, 2001, 5, 2002]])
    target = np.concatenate([np.roll(ring, -1), random.integers(0, 2000, 6000), [2001, 7, 2002, 2003]])
    example = Example(2004, source, target)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.scc(certify=True)
    assert column(result, "component") == reference(example)
    assert result.summary["components"] == 5 and result.summary["supersteps"] <= most


@pytest.mark.parametrize("topology", ["out", "in"])
def test_without_the_searches(topology, tmp_path, monkeypatch):
    """One of the two would have to pull, for which vertices can't come by chunks: colours alone find it."""
    take("sweeps", monkeypatch)
    example = big_example(True, topology=topology)
    with gstream.open(example.stored(tmp_path), chunk_vertices=128) as graph:
        result = graph.scc(certify=True)
    assert column(result, "component") == reference(example)


@pytest.mark.parametrize("way", ["at once", "sweeps"])
def test_corrupted_answers_are_caught(way, tmp_path, monkeypatch):
    take(way, monkeypatch)
    with gstream.open(big_example(True).stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_scc(session)
        certify_scc(session, columns, {}, found)
        label, natural = columns[0].values, session.natural_ids()
        random = np.random.default_rng(3)
        wrong = [np.zeros_like(label), natural.copy()]  # all one component, each vertex its own
        for _ in range(40):
            values = label.copy()
            v = int(random.integers(len(label)))
            values[v] = random.choice([x for x in (0, 1, int(natural[v]), len(label) - 1) if x != label[v]])
            wrong.append(values)
        for values in wrong:
            with pytest.raises(CertificateError):
                certify_scc(session, [replace(columns[0], values=values)], {}, found)
