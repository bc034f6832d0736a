"""k-trusses and truss numbers against networkx, whatever the blocks and devices; certificates."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.density import truss_proof as trussproof
from gstream.algorithms.density.ktruss import run_ktruss
from gstream.algorithms.density.triangles import HigherLists
from gstream.algorithms.density.truss_proof import certify_ktruss
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import ResourceError, UsageError
from tests.answers.graphs import Example, examples, hub_example
from tests.answers.simple_graphs import (
    SCHEDULES,
    blocks_of,
    devices,
    shipped_pairs,
    simple,
    simple_pairs,
)  # fmt: skip
from tests.shared_data import edges, manifest, needs_data


def numbers(graph):
    """{(lesser end, greater end): truss number}, by networkx.k_truss for each k."""
    found = {tuple(sorted(edge)): 2 for edge in graph.edges}
    k = 3
    while graph.number_of_edges():
        graph = nx.k_truss(graph, k)
        found |= {tuple(sorted(edge)): k for edge in graph.edges}
        k += 1
    return found


def rows(result):
    """The rows in their order: [(source, target, truss)], or without truss."""
    return list(zip(*(column.to_pylist() for column in result.to_arrow().columns), strict=True))


@settings(max_examples=250)
@given(example=examples(), devices=devices, room=st.sampled_from([1 << 60, 1500]), k=st.integers(0, 7))
def test_truss_numbers_are_networkx(example, devices, room, k, tmp_path_factory):
    example = replace(example, directed=False)
    expected = numbers(simple(example))
    with gstream.open(example.stored(tmp_path_factory.mktemp("truss")), devices=devices) as graph, blocks_of(room):
        result = graph.ktruss(certify=True)
        member = graph.ktruss(k=k, certify=True)
    assert rows(result) == [(*ends, truss) for ends, truss in sorted(expected.items())]
    assert result.summary["largest_truss"] == max(expected.values(), default=0)
    inside = [ends for ends, truss in sorted(expected.items()) if truss >= k]
    assert rows(member) == inside and member.summary["truss_edges"] == len(member) == len(inside)


def crowded():
    """5,000 edges among 200 vertices, low numbers crowded, so that there are trusses of many levels."""
    ends = (200 * np.random.default_rng(8).random((2, 5000)) ** 2).astype(np.int64)
    return Example(203, *ends, directed=False, order="degree")


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(options, tmp_path):
    example = crowded()
    with gstream.open(example.stored(tmp_path), **options) as graph, blocks_of(20_000):
        result, member = graph.ktruss(), graph.ktruss(k=8)
    expected = numbers(simple(example))
    assert max(expected.values()) > 8
    assert rows(result) == [(*ends, truss) for ends, truss in sorted(expected.items())]
    assert rows(member) == [ends for ends, truss in sorted(expected.items()) if truss >= 8]
    for each in (result, member):
        stats = each.summary["stats"]
        assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


@pytest.mark.parametrize("width", [1, 32])
def test_complete_graphs_are_one_level(width, tmp_path):
    for vertices in (1, 2, 3, 60):
        source, target = np.triu_indices(vertices, 1)
        example = Example(vertices, source, target, directed=False, columns=width)
        with gstream.open(example.stored(tmp_path)) as graph:
            result = graph.ktruss(certify=True)
            assert {truss for _, _, truss in rows(result)} == ({vertices} if vertices > 1 else set())
            assert result.summary["supersteps"] <= 3  # levels that are empty are passed over
            assert len(graph.ktruss(k=vertices + 1)) == 0


def test_a_tube_of_triangles_falls_from_its_ends(tmp_path):
    """60 rings of 40 vertices, joined by triangles: inner edges are in two, those of the ends in one, so the 4-truss is
    empty; it goes ring after ring, and each round looks at what is near the last one alone."""
    v = np.arange(2400)
    beside, above = v // 40 * 40 + (v + 1) % 40, v + 40
    source, target = np.concatenate([v, v[:-40], v[:-40]]), np.concatenate([beside, above[:-40], beside[:-40] + 40])
    example = Example(2400, source, target, directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        assert len(graph.ktruss(k=3, certify=True)) == len(source)
        looked = graph.ktruss(k=2).summary["stats"]["edges_visited"]
        member = graph.ktruss(k=4, certify=True)
        assert len(member) == 0 and member.summary["supersteps"] > 40
        assert member.summary["stats"]["edges_visited"] < 12 * looked
        with blocks_of(8000), pytest.MonkeyPatch.context() as patch:
            gather, gathered = HigherLists._gather, list[int]()
            patch.setattr(HigherLists, "_gather", lambda *given: gathered.append(given[1]) or gather(*given))
            apart = graph.ktruss(k=4)
            blocks, rounds = max(gathered) + 1, apart.summary["supersteps"]
        assert len(apart) == 0 and rounds == member.summary["supersteps"] and blocks > 8
        assert len(gathered) < blocks**2 + rounds * 4 * blocks  # two blocks lose edges, not all that meet


def test_corrupted_answers_are_caught(tmp_path):
    random = np.random.default_rng(1)
    with gstream.open(crowded().stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_ktruss(session)
        certify_ktruss(session, columns, {}, found)
        for _ in range(25):
            values = columns[2].values.copy()
            row = int(random.integers(len(values)))
            values[row] = random.choice([t for t in range(2, 20) if t != values[row]])
            with pytest.raises(CertificateError):
                certify_ktruss(session, [*columns[:2], replace(columns[2], values=values)], {}, found)
        for wrong in (columns[2].values + 1, np.full_like(columns[2].values, 2), np.zeros_like(columns[2].values)):
            with pytest.raises(CertificateError):
                certify_ktruss(session, [*columns[:2], replace(columns[2], values=wrong)], {}, found)
        for level in (2, 3, 9):
            members, found = run_ktruss(session, k=level)
            certify_ktruss(session, members, {"k": level}, found)
            for _ in range(10):
                row = int(random.integers(len(members[0].values)))
                fewer = [replace(column, values=np.delete(column.values, row)) for column in members]
                twice = [replace(column, values=np.append(column.values, column.values[row])) for column in members]
                for wrong in (fewer, twice):
                    with pytest.raises(CertificateError):
                        certify_ktruss(session, wrong, {"k": level}, found)
        all_edges = run_ktruss(session, k=2)[0]
        with pytest.raises(CertificateError, match="is not in 7 triangles of the 9-truss"):
            certify_ktruss(session, all_edges, {"k": 9}, found)
        ends = [replace(column, values=column.values[:1]) for column in all_edges]
        ends[1].values[0] = ends[0].values[0]
        with pytest.raises(CertificateError, match="there is no edge between"):
            certify_ktruss(session, ends, {"k": 2}, found)


def test_an_edge_that_is_not_there_is_no_other_vertexs(tmp_path):
    """0 and 3 are named instead of 1 and 3: 0's list ends where 1's begins, with 3."""
    with gstream.open(Example(4, np.array([0, 1]), np.array([2, 3]), directed=False).stored(tmp_path)) as graph:
        with Session(graph.engine()) as session:
            columns, found = run_ktruss(session)
            certify_ktruss(session, columns, {}, found)
            wrong = [replace(column, values=np.where(column.values == 1, 0, column.values)) for column in columns[:2]]
            pairs = zip(*(column.values for column in wrong), strict=True)
            assert {tuple(sorted(pair)) for pair in pairs} == {(0, 2), (0, 3)}
            with pytest.raises(CertificateError, match="there is no edge between 0 and 3"):
                certify_ktruss(session, [*wrong, columns[2]], {}, found)


class Counted:
    """An array that counts how often one looks at it."""

    def __init__(self, values):
        self.values, self.looks = values, 0

    def __getitem__(self, place):
        self.looks += 1
        return self.values[place]


@pytest.mark.parametrize("sizes", [(0, 5), (1, 300), (40, 5000), (5000, 3), (1, 100_000), (200, 200)])
def test_lists_meet_in_looks_by_the_shorter_one(sizes, monkeypatch):
    """So that the certificate of a star, whose hub's list meets that of each leaf, is no square of its edges."""
    for name in ("first_from", "lower_bound"):
        monkeypatch.setattr(trussproof, name, getattr(trussproof, name).py_func)
    random = np.random.default_rng(2)
    one, two = (np.unique(random.integers(0, 4 * max(sizes), size)) for size in sizes)
    both, end = Counted(np.concatenate([one, two])), (np.uint64(len(one)), np.uint64(len(one) + len(two)))
    places, found = (np.uint64(0), end[0]), []
    while True:
        a, b = trussproof.next_common.py_func(both, places[0], end[0], places[1], end[1])
        if a >= end[0] or b >= end[1]:
            break
        found.append(int(both.values[a]))
        places = (a + np.uint64(1), b + np.uint64(1))
    assert found == np.intersect1d(one, two).tolist()
    assert both.looks <= 4 + 8 * (min(len(one), len(two)) + 1) * len(bin(max(sizes)))


def test_wrong_use(tmp_path):
    with gstream.open(hub_example().stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="is directed, and trusses.*directed=False"):
            graph.ktruss()
    with gstream.open(hub_example(False).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="k 2.7: must be a whole number"):
            graph.ktruss(k=2.7)
        with pytest.raises(UsageError, match="k -1: must be at least 0, as k - 2 counts triangles"):
            graph.ktruss(k=-1)
        with pytest.raises(ResourceError, match="too little"):
            graph.ktruss(host_memory=30_000)
        assert len(graph.ktruss(k=1 << 62, certify=True)) == 0


@pytest.mark.long
def test_the_shipped_graph_is_networkx(tmp_path):
    check_truss(*shipped_pairs(), tmp_path)


@needs_data
@pytest.mark.parametrize("name", ["email_eu_core", "power", "hep_th"])
def test_real_graphs_are_networkx(name, tmp_path):
    check_truss(manifest()[name]["V"], simple_pairs(edges(name).astype(np.int64)), tmp_path)


def check_truss(vertices, pairs, tmp_path):
    example = Example(vertices, *pairs.T, directed=False, order="degree")
    whole = nx.Graph(pairs.tolist())
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.ktruss(certify=True)
        table = np.array(rows(result))
        assert np.array_equal(table[:, :2], pairs)
        for k in (5, result.summary["largest_truss"]):
            expected = {tuple(sorted(edge)) for edge in nx.k_truss(whole, k).edges}
            assert expected and {tuple(row) for row in table[table[:, 2] >= k, :2].tolist()} == expected
            assert set(rows(graph.ktruss(k=k))) == expected
