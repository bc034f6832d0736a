"""Louvain and Leiden: known answers, modularity by NetworkX, igraph's quality, and schedules that change nothing."""

from __future__ import annotations

import os

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gstream
from gstream.algorithms.communities import coarser, leiden, levels, moving
from gstream.algorithms.support.blocks import join_lists
from gstream.algorithms.support.refusal import CertificateError
from pagestore.errors import ResourceError, UsageError
from tests import choice
from tests.answers.graphs import Example, column, examples
from tests.answers.simple_graphs import SCHEDULES, big_example

BOTH = pytest.mark.parametrize("name", ["leiden", "louvain"])


def parts_of(found):
    """The communities of {vertex: community}."""
    parts = {}
    for vertex, community in found.items():
        parts.setdefault(community, set()).add(vertex)
    return list(parts.values())


def undirected(example):
    """Edges in either direction, repeated ones added up."""
    graph = nx.Graph()
    for u, v, weight in example.networkx().edges(data="weight"):
        had = graph.get_edge_data(u, v, {"weight": 0.0})["weight"]
        graph.add_edge(u, v, weight=had + weight)
    return graph


def check(example, result, resolution=1.0):
    """The summary's modularity is that of the communities, which are named by their least vertices."""
    found, graph = column(result, "community"), undirected(example)
    graph.add_nodes_from(found)
    parts = parts_of(found)
    assert result.summary["communities"] == len(parts)
    places = {example.user_id(v): int(v) for v in example.present}
    for community, part in ((found[next(iter(part))], part) for part in parts):
        assert community == min(part, key=places.get)
        if result.summary["algorithm"] == "leiden":
            assert nx.is_connected(graph.subgraph(part))
    if graph.size(weight="weight"):
        expected = nx.community.modularity(graph, parts, resolution=resolution)
        assert result.summary["modularity"] == pytest.approx(expected, abs=1e-9)
    else:
        assert np.isnan(result.summary["modularity"])
    return result.summary["modularity"]


@BOTH
@settings(max_examples=20)
@given(example=examples("floats"), resolution=st.sampled_from([1.0, 0.5, 3.0, 0.0]), weighted=st.booleans())
def test_modularity_is_as_networkx_sums_it(name, example, resolution, weighted, tmp_path_factory):
    with gstream.open(example.stored(tmp_path_factory.mktemp("leiden"))) as graph:
        own = {"weighted": weighted, "resolution": resolution}
        result = graph.execute(name, own, certify=True)
    if not weighted:
        example.weight = None
    check(example, result, resolution)


@BOTH
@pytest.mark.covering(1)
@pytest.mark.parametrize("options", SCHEDULES)
@pytest.mark.parametrize("weighted", [False, True])
def test_schedules_change_nothing(name, weighted, options, monkeypatch, tmp_path):
    example = big_example(directed=False)
    if weighted:
        example.weight = np.random.default_rng(2).random(len(example.source)).astype(np.float32).astype(np.float64)
    monkeypatch.setattr(levels, "ALONE", 1000)
    monkeypatch.setattr(leiden, "ALONE", 1000)
    monkeypatch.setattr(leiden.Work, "tried", lambda *_: 1)
    monkeypatch.setattr(leiden, "MOST_ROUNDS", 5)
    options = options | ({"host_memory": 3_200_000} if "host_memory" in options else {})
    with gstream.open(example.stored(tmp_path)) as graph:
        expected = graph.execute(name, {"weighted": weighted, "seed": 3}, threads=1)
        result = graph.execute(name, {"weighted": weighted, "seed": 3}, certify=True, **options)
    assert np.array_equal(result.to_numpy(), expected.to_numpy())
    check(example, result)
    stats = result.summary["stats"]
    assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


def test_lists_of_several_devices_become_one_with_their_weights():
    """Each copy goes on from where the cursors stood."""

    def copy(cursor, entries, heavy):
        return {
            "cursor": np.array(cursor, np.uint64),
            "entries": np.array(entries, np.uint32),
            "heavy": np.array(heavy),
        }

    arrays = copy([0, 4], [0] * 6, [0.0] * 6)
    copies = [
        copy([2, 4], [7, 8, 0, 0, 0, 0], [1.0, 2, 0, 0, 0, 0]), copy([1, 6], [9, 0, 0, 0, 5, 6], [3.0, 0, 0, 0, 4, 5])
    ]  # fmt: skip
    join_lists(arrays, copies)
    assert arrays["entries"].tolist() == [7, 8, 9, 0, 5, 6] and arrays["heavy"].tolist() == [1, 2, 3, 0, 4, 5]
    assert arrays["cursor"].tolist() == [3, 6]


@pytest.mark.parametrize("seed", range(3))
def test_the_karate_club(seed):
    with gstream.from_networkx(nx.karate_club_graph()) as graph:
        assert graph.leiden(seed=seed).summary["modularity"] == pytest.approx(0.4198, abs=1e-4)
        assert graph.louvain(seed=seed).summary["modularity"] > 0.41


@BOTH
@pytest.mark.parametrize(
    ("made", "communities"),
    [(nx.ring_of_cliques(12, 5), 12), (nx.barbell_graph(8, 0), 2), (nx.empty_graph(4), 4), (nx.complete_graph(9), 1)],
)
def test_cliques_are_communities(name, made, communities):
    with gstream.from_networkx(made) as graph:
        found = column(graph.execute(name, {}), "community")
    parts = parts_of(found)
    assert len(parts) == communities
    if made.size() and communities > 1:
        assert all(made.subgraph(part).size() == len(part) * (len(part) - 1) // 2 for part in parts)


@pytest.mark.parametrize("alone", [0, 1 << 20])
def test_modularity_is_within_a_hundredth_of_igraph(alone, monkeypatch):
    monkeypatch.setattr(leiden, "ALONE", alone)
    made = nx.random_partition_graph([20, 30, 50, 80, 120, 200], 0.2, 0.01, seed=5)
    peer = igraph.Graph.from_networkx(made).community_leiden(objective_function="modularity", n_iterations=5)
    with gstream.from_networkx(nx.Graph(made.edges)) as graph:
        for name in ("leiden", "louvain"):
            assert graph.execute(name, {"seed": 1}).summary["modularity"] >= 0.99 * peer.modularity


def test_weights_of_many_sizes_sum_exactly(monkeypatch, tmp_path):
    """Sums of all chunks and threads agree, also where weights differ by more bits than a double has."""
    monkeypatch.setattr(leiden, "ALONE", 0)
    random = np.random.default_rng(3)
    weight = np.exp2(random.integers(-60, 20, 5000)).astype(np.float64)
    example = Example(300, *random.integers(0, 300, (2, 5000)), weight, directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        one, four = (graph.leiden(weighted=True, threads=threads, certify=True) for threads in (1, 4))
    assert np.array_equal(one.to_numpy(), four.to_numpy())
    check(example, one)


def test_a_level_is_the_last(tmp_path):
    example = big_example(directed=True)
    with gstream.open(example.stored(tmp_path)) as graph:
        first, all_levels = graph.louvain(max_levels=1).summary, graph.louvain().summary
    assert first["levels"] == 1 < all_levels["levels"]
    assert first["modularity"] < all_levels["modularity"]


def test_a_community_of_two_components_is_refused(monkeypatch, tmp_path):
    example = Example(6, np.array([0, 1, 3, 4]), np.array([1, 2, 4, 5]), directed=False)
    monkeypatch.setattr(leiden.Partition, "split", lambda self: self.side.fill(0))
    with gstream.open(example.stored(tmp_path)) as graph:
        with pytest.raises(CertificateError, match="is not connected"):
            graph.leiden(certify=True)
        monkeypatch.setattr(leiden.Partition, "modularity", lambda self: 0.7)
        with pytest.raises(CertificateError, match=r"the summary says 1\.7 for modularity"):
            graph.louvain(certify=True)


def test_wrong_use(tmp_path):
    with gstream.open(big_example(False).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="resolution -1.*must be a number of at least 0"):
            graph.leiden(resolution=-1)
        with pytest.raises(UsageError, match="max_levels 0: must be at least 1"):
            graph.louvain(max_levels=0)
        with pytest.raises(UsageError, match="has no edge weights"):
            graph.leiden(weighted=True)


def test_pieces_begin_where_as_many_entries_went_before():
    before = np.arange(0, 4_000_001, 20, dtype=np.uint64)
    bounds = coarser.pieces_of(before)
    assert bounds[0] == 0 and bounds[-1] == len(before) - 1
    sizes = np.diff(bounds)
    assert (sizes > 0).all() and (sizes * 20 <= coarser.PIECE + 20).all()
    assert coarser.pieces_of(np.zeros(3, np.uint64)) == [0, 2]


def test_slices_hold_each_vertex_that_is_due_once():
    due, order = np.ones(1000, np.uint8), np.empty(1000, np.uint32)
    due[::3] = 0
    wanted, bounds = np.flatnonzero(due), np.zeros(10, np.int64)
    moving.list_due(due, np.uint64(5), order, bounds, np.zeros(1, np.int64))
    assert bounds[0] == 0 and bounds[8] == len(wanted) and not due.any()
    assert np.array_equal(np.sort(order[: len(wanted)]), wanted)
    slices = [order[low:high] for low, high in zip(bounds[:8], bounds[1:9], strict=True)]
    assert all((np.diff(part.astype(int)) > 0).all() and len(part) > 40 for part in slices)


def test_of_two_vertices_that_want_each_other_one_goes():
    part, to = np.arange(4, dtype=np.uint32), np.array([1, 0, 1, 3], np.uint32)
    arrays = part, np.ones(4), np.full(4, 2.0), np.full(4, 2.0), np.ones(4), np.zeros(4, np.uint8), to, np.ones(4)
    moving.make_merges(np.arange(3, dtype=np.uint32), *arrays, np.zeros(1, np.int64))
    assert part[0] == part[1] < 2 and part[2] == 2  # 2 wants 1, which is not to stay


@pytest.mark.parametrize("name", ["leiden", *choice.also("louvain")])
def test_smaller_graphs_that_memory_does_not_hold_go_to_files_without_names(name, monkeypatch, tmp_path):
    """Their lists are read back by blocks, a group's lists of several blocks become one, and nothing is left behind."""
    example = big_example(directed=True)
    example.weight = np.random.default_rng(2).random(len(example.source)).astype(np.float32).astype(np.float64)
    for module in (levels, leiden, coarser):
        monkeypatch.setattr(module, "ALONE", 100)
    monkeypatch.setattr(leiden.Work, "tried", lambda *_: 1)
    monkeypatch.setattr(leiden, "SLICE", 100)
    blocks, init = [], coarser.Filed.__init__

    def filed(self, *given):
        init(self, *given)
        blocks.append(len(self.blocks))
        assert os.listdir(store.parent) == [store.name]

    monkeypatch.setattr(coarser.Filed, "__init__", filed)
    store = example.stored(tmp_path)
    with gstream.open(store) as graph:
        own = {"weighted": True, "seed": 3, "max_levels": 4}
        expected = graph.execute(name, own)
        assert not blocks
        monkeypatch.setattr(coarser, "HELD_SHARE", 1 << 40)
        monkeypatch.setattr(coarser, "PIECE", 300)
        result = graph.execute(name, own, certify=True, host_memory=1_200_000)
        assert max(blocks) > 1 and result.summary["stats"]["peak_memory_bytes"] <= 1_200_000
        assert np.array_equal(result.to_numpy(), expected.to_numpy())
        monkeypatch.setattr(coarser.tempfile, "TemporaryFile", refuse_files)
        with pytest.raises(ResourceError, match=r"no file can be made for a smaller graph.*Raise host_memory"):
            graph.execute(name, own)
    assert os.listdir(store.parent) == [store.name]


def refuse_files(**_):
    raise PermissionError


def test_a_round_sweeps_pages_as_often_as_there_are_blocks(monkeypatch, tmp_path):
    """Slices are many more, and one gathering serves as many as fit."""
    gathered, gather = [], levels.Stored._gather_visited
    monkeypatch.setattr(levels.Stored, "_gather_visited", lambda *given: gathered.append(1) or gather(*given))
    monkeypatch.setattr(leiden.Work, "tried", lambda *_: 1)
    for name, value in {"ALONE": 100, "SLICE": 30, "MOST_ROUNDS": 1}.items():
        monkeypatch.setattr(leiden, name, value)
    monkeypatch.setattr(levels, "ALONE", 100)
    with gstream.open(big_example(directed=False).stored(tmp_path)) as graph:
        graph.louvain(max_levels=1, host_memory=1_000_000)
    assert 1 < len(gathered) < leiden.slices_of(4010) // 4


@BOTH
def test_a_plan_says_what_a_run_will_hold(name):
    """Within 1.3 times, of an RMAT graph: lists and smaller graphs take most of it."""
    with gstream.generate("rmat", scale=13, directed=False, dedupe=True) as graph:
        planned = sum(graph.plan(name)["host_bytes"].values())
        held = graph.execute(name, {}).summary["stats"]["peak_memory_bytes"]
    assert held / 1.3 <= planned <= held * 1.3


@pytest.mark.parametrize("weighted, bytes_an_end", [(False, 13), (True, 35)])
@pytest.mark.parametrize("undirected", [False, True])
def test_lists_are_counted_for_both_ends_and_weights_where_they_are_read(undirected, weighted, bytes_an_end):
    counts = {"vertices": 10**6, "edges": 10**8, "machine": "dgx-h100", "undirected": undirected}
    held = gstream.plan("louvain", weighted=weighted, **counts)["host_bytes"]
    assert held["arrays of the algorithm"] == 48 * 10**6 + bytes_an_end * 2 * 10**8
