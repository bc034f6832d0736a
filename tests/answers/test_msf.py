"""Minimum spanning forests against Kruskal's algorithm, networkx and scipy; certificates; pages that rounds touch."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

import gstream
from gstream.algorithms.components.msf import _join_ends, certify_msf, run_msf
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.errors import ResourceError, UsageError
from tests.answers.graphs import Example, examples, hub_example
from tests.answers.simple_graphs import SCHEDULES, big_example, devices, shipped_pairs, simple_pairs
from tests.shared_data import edges, hash_weights, manifest, needs_data


def kruskal(example):
    """{(lesser end, greater end): weight} by user IDs: the only forest in the order of (weight, ends)."""
    low, high = np.minimum(example.source, example.target), np.maximum(example.source, example.target)
    tree = list(range(example.vertices))

    def root(v):
        while tree[v] != v:
            tree[v] = tree[tree[v]]
            v = tree[v]
        return v

    found = {}
    for weight, u, v in sorted(zip(example.weight.tolist(), low.tolist(), high.tolist(), strict=True)):
        if root(u) != root(v):
            tree[root(u)] = root(v)
            found[example.user_id(u), example.user_id(v)] = weight
    return found


def rows(result):
    """The rows in their order: [((source, target), weight)]."""
    table = result.to_arrow()
    source, target, weight = (table.column(name).to_pylist() for name in ("source", "target", "weight"))
    return list(zip(zip(source, target, strict=True), weight, strict=True))


@settings(max_examples=130)
@given(example=examples(weights="integers"), devices=devices)
def test_forests_of_integer_weights(example, devices, tmp_path_factory):
    check(replace(example, directed=False), devices, tmp_path_factory.mktemp("msf"))


@settings(max_examples=130)
@given(example=examples(weights="floats"), devices=devices)
def test_forests_of_float_weights(example, devices, tmp_path_factory):
    weight = (example.weight - 1).astype(np.float32).astype(np.float64)
    check(replace(example, directed=False, weight=weight), devices, tmp_path_factory.mktemp("msf"))


def check(example, devices, folder):
    expected = kruskal(example)
    with gstream.open(example.stored(folder), devices=devices) as graph:
        result = graph.msf(certify=True)
    assert rows(result) == sorted(expected.items())
    total = sum(data["weight"] for _, _, data in nx.minimum_spanning_edges(example.networkx(), keys=False))
    assert result.summary["total_weight"] == pytest.approx(total, rel=1e-6, abs=1e-6)
    assert result.summary["forest_edges"] == len(result) == len(expected)
    assert result.summary["trees"] == nx.number_connected_components(example.networkx())


@pytest.mark.covering(1)
@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("options", SCHEDULES)
def test_schedules_change_nothing(order, options, tmp_path):
    example = big_example(False)
    example.order, example.weight = order, np.random.default_rng(5).integers(0, 40, 60000).astype(np.float64)
    with gstream.open(example.stored(tmp_path), **options) as graph:
        result = graph.msf(certify=True)
    assert rows(result) == sorted(kruskal(example).items())
    stats = result.summary["stats"]
    assert stats["peak_memory_bytes"] <= options.get("host_memory", stats["peak_memory_bytes"])


@pytest.mark.parametrize("step", [1, -1])
def test_a_chain_is_joined_in_one_round_of_few_steps(step, tmp_path):
    """Weights fall or rise along a path: all components join to one chain, whose ways are as long as the path."""
    v = np.arange(100_000)
    example = Example(100_001, v, v + 1, (v if step > 0 else v[::-1]).astype(np.float64), directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.msf(certify=True)
    assert len(result) == 100_000 and result.summary["supersteps"] == 1
    assert result.summary["total_weight"] == int(v.sum())


def test_later_rounds_visit_only_pages_of_vertices_that_look_again(tmp_path):
    """30,000 pairs, the first 50 of them joined to a chain by heavy edges: the others are done after one round."""
    v = np.arange(0, 60_000, 2)
    source, target = np.concatenate([v, v[:50] + 1]), np.concatenate([v + 1, v[:50] + 2])
    weight = np.concatenate([v, np.full(50, 70_000)]).astype(np.float64)
    example = Example(60_000, source, target, weight, directed=False)
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.msf(certify=True)
        pages = graph.engine().graph.tables["out"].pages
    assert rows(result) == sorted(kruskal(example).items())
    assert result.summary["supersteps"] >= 2
    visited = result.summary["stats"]["edges_visited"]
    assert pages > 200 and 4 * len(source) <= visited < 4 * len(source) + 1000  # everything twice, the chain again


@pytest.mark.parametrize("integers", [True, False])
def test_corrupted_answers_are_caught(integers, tmp_path):
    example = hub_example(False, weighted=True, order="degree")
    if not integers:
        example.weight = example.weight / 2 - 1.5
    random = np.random.default_rng(1)
    with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
        columns, found = run_msf(session)
        certify_msf(session, columns, {}, found)
        for number in range(60):
            values = [column.values.copy() for column in columns]
            edge, at = int(random.integers(len(values[0]))), number % 3
            if at == 2:
                values[2][edge] += 1
            else:
                values[at][edge] = (int(values[at][edge]) + 1 + random.integers(20)) % session.meta.vertices
            with pytest.raises(CertificateError):
                certify_msf(session, with_values(columns, values), {}, found | {"total_weight": values[2].sum().item()})
        for left in (slice(1, None), slice(0, -1)):  # one edge too few
            values = [column.values[left] for column in columns]
            with pytest.raises(CertificateError, match="joins two trees"):
                certify_msf(session, with_values(columns, values), {}, found | {"total_weight": values[2].sum().item()})
        with pytest.raises(CertificateError, match="added up"):
            certify_msf(session, columns, {}, found | {"total_weight": found["total_weight"] + 1})


@pytest.mark.parametrize("reordered", [True, False])
def test_what_several_gpus_offer_is_joined_by_the_users_numbers(reordered):
    """The least other end by natural index, where the store's numbers are others; all bits set are none."""
    natural = np.array([5, 0, 7, 2, 1, 8, 3, 6, 4], np.uint32) if reordered else np.zeros(0, np.uint32)
    none = 2**32 - 1
    arrays = {"other": np.array([2, none, 4, none], np.uint32), "natural": natural}
    copies = [{"other": np.array([0, 3, none, none], np.uint32)}, {"other": np.array([1, 6, 8, none], np.uint32)}]
    _join_ends(arrays, copies)
    assert arrays["other"].tolist() == ([1, 3, 4, none] if reordered else [0, 3, 4, none])


def with_values(columns, values):
    return [replace(column, values=array) for column, array in zip(columns, values, strict=True)]


def test_a_spanning_tree_that_is_not_least_is_refused(tmp_path):
    """A square with one heavy side: all trees span it, one is least; with equal weights one has the least ends."""
    for weight, message in (([1.0, 1.0, 1.0, 3.0], "between 1 and 2 is less"), ([1.0] * 4, "between 1 and 2 is less")):
        example = Example(4, np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), np.array(weight), directed=False)
        with gstream.open(example.stored(tmp_path)) as graph, Session(graph.engine()) as session:
            columns, found = run_msf(session)
            ends = np.array([[0, 0, 2], [1, 3, 3]], session.id_dtype)
            values = [*ends, np.array([1, weight[3], 1], columns[2].values.dtype)]
            with pytest.raises(CertificateError, match=message):
                certify_msf(session, with_values(columns, values), {}, found | {"total_weight": values[2].sum().item()})


def test_wrong_use(tmp_path):
    with gstream.open(hub_example(True, weighted=True).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="is directed, and spanning forests.*directed=False"):
            graph.msf()
    with gstream.open(hub_example(False).stored(tmp_path)) as graph:
        with pytest.raises(UsageError, match="has no edge weights, which msf needs.*weight_column=N"):
            graph.msf()
    with gstream.open(hub_example(False, weighted=True).stored(tmp_path)) as graph:
        with pytest.raises(ResourceError, match="too little"):
            graph.msf(host_memory=30_000)


@pytest.mark.parametrize("ending", ["parquet", "csv", "npy", "arrow"])
@pytest.mark.parametrize("kind", ["gaps", "names"])
def test_files_hold_a_row_an_edge(kind, ending, tmp_path):
    example = Example(4, np.array([3, 1, 0]), np.array([1, 0, 3]), np.array([2.0, 1.0, 5.0]), directed=False, kind=kind)
    path = tmp_path / f"forest.{ending}"
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.msf()
    result.write(path)
    zero, one, three = (example.user_id(v) for v in (0, 1, 3))
    expected = [(zero, one, 1), (one, three, 2)]
    if ending == "npy":
        assert np.load(path).tolist() == expected
    elif ending == "csv":
        quote = '"{}"' if kind == "names" else "{}"
        lines = [f"{quote.format(u)},{quote.format(v)},{w}" for u, v, w in expected]
        assert path.read_text().split() == ["source,target,weight", *lines]
    else:
        import pandas

        frame = pandas.read_parquet(path) if ending == "parquet" else pandas.read_feather(path)
        assert list(frame.itertuples(index=False, name=None)) == expected
    assert result.top(1) == [{"source": zero, "target": one, "weight": 1}]
    assert len(result) == 2 and result.to_pandas()["weight"].tolist() == [1, 2]


@pytest.mark.long
def test_the_shipped_graph_is_scipys(tmp_path):
    check_scipy(*shipped_pairs(), tmp_path)


@needs_data
@pytest.mark.parametrize("name", ["email_eu_core", "power", "hep_th"])
def test_real_graphs_are_scipys(name, tmp_path):
    check_scipy(manifest()[name]["V"], simple_pairs(edges(name).astype(np.int64)), tmp_path)


def check_scipy(vertices, pairs, tmp_path):
    weight = hash_weights(*pairs.T, directed=False)
    example = Example(vertices, *pairs.T, weight, directed=False, order="degree")
    expected = minimum_spanning_tree(coo_array((weight, tuple(pairs.T)), shape=(vertices, vertices)).tocsr())
    with gstream.open(example.stored(tmp_path)) as graph:
        result = graph.msf(certify=True)
    assert result.summary["total_weight"] == int(expected.sum())
    assert result.summary["forest_edges"] == expected.nnz
