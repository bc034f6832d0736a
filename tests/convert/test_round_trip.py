"""Any graph, option, page size and budget: what the store decodes to is what went in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagestore import convert_arrays, open_store
from tests.convert.graphs import Graph, check_store, skewed, stored_rows, user_ids

WEIGHTS = {
    "none": None,
    "u1": st.integers(0, 255),
    "i4": st.integers(-(1 << 31), (1 << 31) - 1),
    "u4": st.integers(0, (1 << 32) - 1),
    "f4": st.floats(-100, 100, width=32),
}


@st.composite
def graphs(draw) -> Graph:
    """Few to a few hundred edges over dense, gapped or hub-heavy IDs."""
    edges = draw(st.integers(0, 300))
    seed = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    span = draw(st.sampled_from([1, 3, 40, 2000]))
    stride, base = draw(st.sampled_from([1, 7, 100])), draw(st.integers(0, 50))
    source, target = seed.integers(0, span, (2, edges)) * stride + base
    if draw(st.booleans()):
        source[: edges // 2] = base  # a hub
    kind = draw(st.sampled_from(sorted(WEIGHTS)))
    weight = None
    if WEIGHTS[kind] is not None:
        few = np.array(draw(st.lists(WEIGHTS[kind], min_size=1, max_size=6)), np.float64)
        weight = few[seed.integers(0, len(few), edges)]
    return Graph(source, target, weight)


@settings(max_examples=60)
@given(
    graph=graphs(),
    directed=st.booleans(),
    dedupe=st.booleans(),
    drop=st.booleans(),
    topology=st.sampled_from(["both", "out", "in"]),
    order=st.sampled_from(["natural", "degree", "in", "out"]),
    id_bytes=st.sampled_from([None, 8]),
    memory=st.sampled_from([1 << 10, 1 << 16, 1 << 30]),
)
def test_store_holds_the_edges(tmp_path_factory, graph, directed, dedupe, drop, topology, order, id_bytes, memory):
    path = tmp_path_factory.mktemp("store") / "graph.gs"
    report = convert_arrays(
        path, graph.source, graph.target, graph.weight, directed=directed, dedupe=dedupe, drop_self_loops=drop,
        topology=topology, order=order, id_bytes=id_bytes, page_bytes=4096, memory_bytes=memory, threads=2,
    )  # fmt: skip
    wanted = graph.rows(directed, dedupe, drop)
    with open_store(path) as store:
        meta, names = store.meta, user_ids(store)
        degrees = store.out_degree()
    assert sorted(names.tolist()) == np.unique([graph.source, graph.target]).tolist()
    assert meta.edges == len(wanted) and report.vertices == meta.vertices
    for name in meta.topologies:
        assert stored_rows(path, name) == wanted
    out = {int(v): 0 for v in names}
    for source, _, _ in wanted:
        out[source] += 1
    assert degrees.tolist() == [out[int(v)] for v in names]
    check_store(path)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@settings(max_examples=15)
@given(graph=graphs(), directed=st.booleans(), order=st.sampled_from(["natural", "degree"]))
def test_bytes_depend_on_nothing_but_graph_and_options(tmp_path_factory, graph, directed, order):
    folder = tmp_path_factory.mktemp("store")
    found = []
    for threads, memory in ((1, 1 << 30), (3, 1 << 30), (2, 1 << 10), (1, 1 << 14)):
        path = folder / f"{threads}-{memory}.gs"
        convert_arrays(
            path, graph.source, graph.target, graph.weight, directed=directed, order=order, page_bytes=4096,
            memory_bytes=memory, threads=threads,
        )  # fmt: skip
        found.append(path.read_bytes())
    assert len(set(found)) == 1


@pytest.mark.covering(1)
@pytest.mark.parametrize("order", ["natural", "degree"])
@pytest.mark.parametrize("dedupe", [False, True])
def test_hubs_larger_than_the_budget(tmp_path: Path, order: str, dedupe: bool) -> None:
    """Buckets that must be cut by target, and by weight where one edge repeats, on disk."""
    graph = skewed(60_000, 3_000)
    graph.source[:20_000] = 6
    graph.target[:9_000] = 9
    found = []
    for memory in (1 << 10, 1 << 30):
        path = tmp_path / f"{memory}.gs"
        convert_arrays(
            path, graph.source, graph.target, graph.weight, order=order, dedupe=dedupe, page_bytes=4096,
            memory_bytes=memory, threads=2,
        )  # fmt: skip
        found.append(path.read_bytes())
    assert found[0] == found[1]
    assert stored_rows(path) == graph.rows(dedupe=dedupe)
    assert stored_rows(path, "in") == graph.rows(dedupe=dedupe)
    check_store(path)


@pytest.mark.parametrize("memory", [1 << 10, 1 << 30])
def test_vertices_without_edges(tmp_path: Path, memory: int) -> None:
    """A promised number of vertices is kept, however few have edges; their windows don't break pages."""
    path = tmp_path / "graph.gs"
    source, target = np.array([0, 600_000, 600_000]), np.array([600_000, 999_999, 5])
    convert_arrays(path, source, target, vertices=1_000_000, page_bytes=4096, memory_bytes=memory)
    check_store(path)
    with open_store(path) as store:
        assert store.meta.vertices == 1_000_000 and store.meta.id_kind == "range"
        assert store.topology("out").heads(600_000, 600_001).tolist() == [[5, 999_999, 2**32 - 1, 2**32 - 1]]
    assert stored_rows(path) == [(0, 600_000, 1.0), (600_000, 5, 1.0), (600_000, 999_999, 1.0)]


def test_degree_order(tmp_path: Path) -> None:
    """Hubs first by the gathered side's degree, stable, vertices without any edge last."""
    source = np.array([1, 1, 1, 2, 2, 7, 8])
    target = np.array([2, 3, 4, 3, 4, 8, 7])
    for order, names in (("degree", [1, 2, 7, 8, 3, 4, 0, 5, 6, 9]), ("in", [3, 4, 2, 7, 8, 1, 0, 5, 6, 9])):
        path = tmp_path / f"{order}.gs"
        convert_arrays(path, source, target, vertices=10, order=order, page_bytes=4096)
        with open_store(path) as store:
            assert user_ids(store).tolist() == names
            assert store.topology("out").head_rows == (4 if order == "degree" else 6)
            assert [int(v) for v in store.lookup([1, 9])] == [names.index(1), names.index(9)]
        check_store(path)


def test_user_ids(tmp_path: Path) -> None:
    """Gapped IDs are stored, a run of IDs is a base, given IDs are taken as they are."""
    cases = [
        ([5, 9, 5], None, None, "integers", [5, 9]),
        ([7, 8, 9], None, None, "range", [7, 8, 9]),
        ([0, 2, 0], 3, None, "range", [0, 1, 2]),
        ([0, 1, 2], None, [10, 20, 1 << 62], "integers", [10, 20, 1 << 62]),
    ]
    for ids, vertices, given_ids, kind, wanted in cases:
        path = tmp_path / "graph.gs"
        convert_arrays(path, np.array(ids), np.array(ids[::-1]), vertices=vertices, ids=given_ids, page_bytes=4096)
        with open_store(path) as store:
            assert store.meta.id_kind == kind
            assert user_ids(store).tolist() == wanted


def test_the_empty_graph(tmp_path: Path) -> None:
    """No edges: no vertices, or only promised ones."""
    none = np.empty(0, np.int64)
    for vertices in (None, 0, 5):
        for directed in (True, False):
            path = tmp_path / "graph.gs"
            report = convert_arrays(path, none, none, vertices=vertices, directed=directed)
            assert report.vertices == (vertices or 0) and report.out_edges == 0
            check_store(path)


def test_weights_take_the_narrowest_dtype(tmp_path: Path) -> None:
    """u1, i4, u4 for integers in range, f4 else; integers that float32 rounds are counted."""
    cases = [
        ([0, 255], "u1", 0),
        ([-1, 7], "i4", 0),
        ([0, (1 << 32) - 1], "u4", 0),
        ([0.5, 3], "f4", 0),
        ([-1, (1 << 32) - 1], "f4", 1),
        ([-0.0, 1], "u1", 0),
    ]
    for weights, dtype, rounded in cases:
        report = convert_arrays(tmp_path / "g.gs", np.array([0, 1]), np.array([1, 0]), np.array(weights, np.float64))
        assert (report.weight_dtype, report.weights_rounded) == (dtype, rounded)
