"""k-core against networkx; certificates; which pages peeling touches."""

from __future__ import annotations

from dataclasses import replace

import choice
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from bench.cliff_graphs import Cliff
from gstream.algorithms.density.kcore import certify_kcore, run_kcore
from gstream.algorithms.support import lists
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import GstreamError, UsageError
from tests.answers.graphs import Example, column, examples, hub_example
from tests.answers.simple_graphs import SCHEDULES, big_example, devices, simple


def whole(example):
    """The example with both topologies, which directed k-cores need."""
    return replace(example, topology="both")


@settings(max_examples=250)
@given(
    example=examples(), devices=devices, k=st.integers(0, 7), first=st.sampled_from([1, 2, 16]),
    most=st.sampled_from([1, 7, 1 << 14]),
)  # fmt: skip
def test_core_numbers_are_networkx(example, devices, k, first, most, tmp_path_factory):
    """first, most: from which round on and for how many vertices one thread goes on alone."""
    example = whole(example)
    expected = nx.core_number(simple(example))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "FIRST_ROUNDS", first)
        patch.setattr(lists, "MOST_DUE", most)
        check_cores(example, expected, devices, k, tmp_path_factory.mktemp("core"))


def check_cores(example, expected, devices, k, folder):
    with gstream.open(example.stored(folder), devices=devices) as graph:
        result = graph.kcore(certify=True)
        assert column(result, "core") == expected
        assert result.summary["largest_core"] == max(expected.values(), default=0)
        member = graph.kcore(k=k, certify=True)
        assert column(member, "in_core") == {v: int(core >= k) for v, core in expected.items()}
        assert member.summary["core_vertices"] == nx.k_core(simple(example), k).number_of_nodes()


@pytest.mark.covering(1)
@pytest.mark.parametrize("directed", [True, *choice.also(False)])
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(directed, options, tmp_path):
    example = big_example(directed)
    with gstream.open(example.stored(tmp_path), **options) as graph:
        result = graph.kcore(certify=True)
        assert column(result, "core") == nx.core_number(simple(example))
        stats = result.summary["stats"]
        assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


def test_a_hubs_duplicates_across_large_pages_count_once(tmp_path):
    """Vertex 0 has each of 1,500 neighbours twice: three large pages, some duplicate on each seam of odd place."""
    target = np.repeat(np.arange(1, 1501), 3)
    for directed in (True, False):
        example = Example(1501, np.zeros(4500, np.int64), target, directed=directed)
        with gstream.open(example.stored(tmp_path)) as graph:
            assert column(graph.kcore(certify=True), "core") == nx.core_number(simple(example))


def test_who_falls_is_due_once(tmp_path, monkeypatch):
    """Of two bits in one array another thread could take the first and look at the list before the second is set."""
    swept, sweep = [], Session.sweep

    def watched(self, name, kernel, arrays, wanted=None, join=None):
        if len(arrays) == 7:  # mine, other, now, hubs, ends, degree or core, level or left
            swept.append(np.shares_memory(arrays[0], arrays[1]))
        return sweep(self, name, kernel, arrays, wanted, join)

    monkeypatch.setattr(Session, "sweep", watched)
    for directed in (False, True):
        swept.clear()
        path = tmp_path / f"{directed}.gs"
        big_example(directed).convert(path)
        with gstream.open(path) as graph:
            graph.kcore(certify=True)
        assert swept and not any(swept)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("shape", ["path", "comb", "grid", "tree"])
def test_cascades_look_at_every_edge_once_in_few_sweeps(directed, shape, tmp_path):
    """Long chains in any order fall in as many sweeps whatever their length, and each list is looked at once."""
    vertices, source, target, _ = Cliff(shape, 30000, "permuted").made
    example = Example(vertices, source, target, directed=directed)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.kcore(certify=True)
        assert set(column(result, "core").values()) == {2 if shape == "grid" else 1}
        assert result.summary["supersteps"] <= lists.FIRST_ROUNDS + 1
        assert result.summary["stats"]["edges_visited"] == 2 * len(source)


def test_only_pages_of_who_is_peeled_are_visited(tmp_path):
    """Cliques of 40 vertices, and one chain: the 2-core takes off the chain's pages only."""
    pairs = np.array([(u, v) for u in range(40) for v in range(u)])
    cliques = np.concatenate([pairs + 40 * number for number in range(50)])
    chain = np.array([(2000 + n, 2001 + n) for n in range(30)])
    source, target = np.concatenate([cliques, chain]).T
    with gstream.open(Example(2031, source, target, directed=False).stored(tmp_path)) as graph:
        result = graph.kcore(k=2)
        assert result.summary["core_vertices"] == 2000
        assert result.summary["stats"]["pages_moved"] <= 3 * result.summary["supersteps"]


@pytest.mark.parametrize("directed", [True, False])
def test_corrupted_answers_are_caught(directed, tmp_path):
    example = hub_example(directed, order="degree")
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        random = np.random.default_rng(1)
        for options in ({}, {"k": 3}):
            columns, found = run_kcore(session, **options)
            certify_kcore(session, columns, options, found)
            for _ in range(40):
                values = columns[0].values.copy()
                v = int(random.integers(len(values)))
                values[v] = random.choice([x for x in range(4) if x != values[v]])
                with pytest.raises(CertificateError):
                    certify_kcore(session, [replace(columns[0], values=values)], options, found)
            for wrong in (np.zeros_like(columns[0].values), columns[0].values + 1):
                with pytest.raises(CertificateError):
                    certify_kcore(session, [replace(columns[0], values=wrong)], options, found)


def test_wrong_use(tmp_path):
    example = Example(3, np.array([0, 1]), np.array([1, 2]), topology="out")
    with gstream.open(example.stored(tmp_path)) as graph:
        with pytest.raises(GstreamError, match="topology"):
            graph.kcore()
    with gstream.open(whole(example).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="k -1: is negative"):
            graph.kcore(k=-1)
        assert set(column(graph.kcore(k=1 << 62, certify=True), "in_core").values()) == {0}
