"""Page kernels give what the interpreter gives: any way of stepping, ID width, thread count; hubs, gaps."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import interpret
from stepping import WAYS, Graph, Run, fold
from written import APPLIED, program

from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC


def hub_graph(seed=1, vertices=1000, edges=7000, weights="f4"):
    """Out-hub 5 and in-hub 7 fill several 4 KiB pages; vertices 600..700 are on no edge."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, vertices, edges), rng.integers(0, vertices, edges)
    source[:2500], target[2500:4500] = 5, 7
    keep = ~np.isin(source, range(600, 700)) & ~np.isin(target, range(600, 700))
    weight = rng.integers(1, 200, edges).astype(weights)
    return vertices, source[keep], target[keep], weight[keep]


def agree(value, wanted):
    if value.dtype.kind == "f" and np.isfinite(wanted).all():
        np.testing.assert_allclose(value, wanted, rtol=1e-6 if value.dtype == np.float32 else 1e-12)
    else:
        np.testing.assert_array_equal(value, wanted)


@pytest.mark.covering(1)
@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize("cls", [BFS, SSSP, WCC, PageRank])
def test_every_way_is_the_interpreter(cls, id_bytes):
    n, source, target, weight = hub_graph()
    given_program = cls(source=(3, 11)) if cls in (BFS, SSSP) else cls(tolerance=1e-3) if cls is PageRank else cls()
    weight = weight if cls is SSSP else None
    wanted = interpret(given_program, n, source, target, weight)
    graph = Graph(n, source, target, weight, id_bytes=id_bytes)
    assert len(graph.out.words) - graph.out.small >= 3 and len(graph.into.words) - graph.into.small >= 2
    for way in WAYS:
        for threads in (1, 3):
            run = Run(given_program, graph, way, threads)
            run.run()
            agree(run.value, wanted.values)
            assert run.converged == wanted.converged
            if cls is PageRank:
                assert run.supersteps == wanted.supersteps
                np.testing.assert_allclose(list(run.totals.values()), list(wanted.totals.values()), rtol=1e-6)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("columns", "id_bytes"), [(8, 4), (16, 8), (32, 4), (128, 4)])
@pytest.mark.parametrize("cls", [BFS, SSSP, WCC, PageRank])
def test_pages_of_columns_give_the_bits_of_rows(cls, columns, id_bytes):
    n, source, target, weight = hub_graph()
    made = cls(source=(3, 11)) if cls in (BFS, SSSP) else cls(tolerance=1e-3) if cls is PageRank else cls()
    weight = weight if cls is SSSP else None
    rows, mixed = (Graph(n, source, target, weight, 4096, id_bytes, width) for width in (1, columns))
    assert (mixed.out.words[: mixed.out.small, 0] & 0xFFFF0000 == columns << 16).sum() == mixed.out.small // 2
    for way in WAYS:
        for edges_a_part in (1, 100):
            runs = [Run(made, graph, way, 2, edges_a_part) for graph in (rows, mixed)]
            if cls is PageRank and way == "push":  # atomics add in any order
                np.testing.assert_allclose(runs[1].run(), runs[0].run(), rtol=1e-6)
            else:
                np.testing.assert_array_equal(runs[1].run(), runs[0].run())


def test_page_sizes_and_part_sizes():
    n, source, target, weight = hub_graph()
    pagerank = PageRank(tolerance=1e-3)
    wanted = interpret(pagerank, n, source, target).values
    distance = interpret(SSSP(source=3), n, source, target, weight).values
    for page_bytes in (8192, 1 << 20):
        graph = Graph(n, source, target, weight, page_bytes)
        for edges_a_part in (1, 37, 65536):
            run = Run(pagerank, graph, "pull", 2, edges_a_part)
            agree(run.run(), wanted)
            for way in ("push", "push_records", "pull"):
                agree(Run(SSSP(source=3), graph, way, 2, edges_a_part, stretch=edges_a_part).run(), distance)


def test_threads_give_the_same_bits():
    n, source, target, _ = hub_graph()
    graph = Graph(n, source, target, None)
    runs = [Run(PageRank(), graph, "pull", threads) for threads in (1, 2, 3, 4)]
    values = {run.run().tobytes() for run in runs}
    assert len(values) == 1 and len({tuple(run.totals.values()) for run in runs}) == 1


KINDS = [
    ("SUM", "f64", "v.id + 0.5", "u.value * 0.5 / (1 + u.degree) + e.weight", "u1"),
    ("MIN", "u64", "v.id + 2 ** 63", "u.value", "f4"),
    ("MAX", "i64", "v.id % 7 - 3", "u.value - (1 if e.weight > 2 else 2)", "u4"),
    ("OR", "u32", "v.id % 3", "u.value", "f4"),
]
MORE_KINDS = [
    ("SUM", "u32", "v.id", "u.value * 3 + u.id", "f4"),
    ("SUM", "i64", "v.id - 5", "e.weight - u.value", "i4"),
    ("MIN", "f64", "v.id", "u.value + e.weight * 0.5", "i4"),
    ("MIN", "i32", "-v.id", "u.value // 2", "f4"),
    ("MAX", "f32", "v.degree", "u.value - e.weight", "f4"),
]


@pytest.mark.parametrize(("combine", "value", "start", "send", "weights"), [*KINDS, *choice.also(*MORE_KINDS)])
def test_monoids_and_types(tmp_path, combine, value, start, send, weights):
    cls = program(tmp_path, combine=combine, value=value, start=start, send=send)
    n, source, target, weight = hub_graph(weights=weights)
    wanted = interpret(cls(), n, source, target, weight, max_supersteps=4 if combine == "SUM" else 100)
    graph = Graph(n, source, target, weight)
    for way in ("push", "pull"):
        run = Run(cls(), graph, way, 2)
        agree(run.run(max_supersteps=4 if combine == "SUM" else 100), wanted.values)


def test_apply_totals_and_in_degree(tmp_path):
    """An idempotent combine with an apply is synchronous, so supersteps and totals are the interpreter's."""
    cls = program(tmp_path, value="u32", start="v.id if v.id < 60 else INF", send="u.value + 1", rest=APPLIED)
    n, source, target, _ = hub_graph()
    wanted = interpret(cls(), n, source, target)
    graph = Graph(n, source, target, None)
    for way in ("push", "push_records", "pull", "pull_records"):
        run = Run(cls(), graph, way, 2)
        assert not run.code.in_place
        np.testing.assert_array_equal(run.run(), wanted.values)
        assert (run.supersteps, run.totals) == (wanted.supersteps, wanted.totals) and run.totals["gained"] != 0


def test_totals_are_of_synchronous_supersteps(tmp_path):
    cls = program(
        tmp_path, value="u32", start="v.id", send="u.value", rest="@total\ndef sum(self, v): return v.value * 0.5"
    )
    n, source, target, _ = hub_graph()
    run, wanted = Run(cls(), Graph(n, source, target, None), "push", 2), interpret(cls(), n, source, target, None, 2)
    assert np.array_equal(run.run(2), wanted.values)
    assert not run.code.in_place and run.totals == wanted.totals and run.totals["sum"] == run.value.sum() / 2


edge_lists = st.integers(1, 40).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=120))
)


@given(edge_lists, st.integers(1, 4), st.sampled_from([1, 5, 64]))
@settings(max_examples=20)
def test_random_graphs(graph, threads, stretch):
    n, edges = graph
    source, target = (np.array([edge[i] for edge in edges], np.int64) for i in (0, 1))
    weight = (source * 7 + target) % 5
    pages = Graph(n, source, target, weight.astype("f4"))
    for given_program in (BFS(source=0), SSSP(source=0), WCC(), PageRank()):
        wanted = interpret(given_program, n, source, target, weight.astype("f4"))
        for way in WAYS:
            agree(Run(given_program, pages, way, threads, stretch=stretch).run(), wanted.values)


def test_identity_sends_nothing(tmp_path):
    """INF + 1 must not wrap to 0: vertices at the identity send nothing even when their active bit is set."""
    cls = program(tmp_path, value="u32", start="0 if v.id == 0 else INF", send="u.value + 1")
    source, target = np.array([1, 2, 0]), np.array([2, 3, 4])
    for way in WAYS:
        run = Run(cls(), Graph(6, source, target, None), way)
        run.active[:] = 63
        run.run()
        assert run.value.tolist() == [0] + [2**32 - 1] * 3 + [1, 2**32 - 1]
        run.active[:] = 63
        run.step()
        assert run.value.tolist() == [0] + [2**32 - 1] * 3 + [1, 2**32 - 1]


@pytest.mark.parametrize("way", ["push", "pull"])
def test_chunks_write_only_inside(way):
    """dst may be a range of vertices: what lies outside is left alone, and the ranges together are the whole."""
    n, source, target, _ = hub_graph()
    graph = Graph(n, source, target, None)
    whole = Run(PageRank(), graph, way)
    whole.run(max_supersteps=1)
    run = Run(PageRank(), graph, way)
    run.run(max_supersteps=0)
    code, pages = run.code, graph.out if way == "push" else graph.into
    run.launch(code.message, run.value, 0, graph.out.degree, run.msg, 0, 0, n, *run.context, np.zeros(1, np.int64))
    guarded = np.full(n + 20, 77.0)
    parts, weights = run.parts[id(pages)], code.no_weights
    for first in range(0, n, 300):
        last = min(first + 300, n)
        dst = guarded[10 + first : 10 + last]
        dst[:] = 0
        counter, none = np.zeros(1, np.int64), np.zeros(0, np.uint64)
        if way == "push":
            rest = (run.value, 0, graph.out.degree, run.active, dst, first, last, none)
            code.push(pages.words, weights, parts, counter, *rest, *run.context)
        else:
            carry = np.zeros(len(parts))
            rest = (run.msg, 0, graph.out.degree, none, dst, first, last, none, none)
            code.pull(pages.words, weights, parts, counter, *rest, carry, *run.context)
            fold(pages.words, parts, carry, dst, first)
    assert (guarded[:10] == 77).all() and (guarded[-10:] == 77).all()
    got = guarded[10:-10].copy()
    blocks = (run.partials, run.msg[:0], 0, n, *run.context, np.zeros(1, np.int64))
    code.apply(run.value, 0, got, 0, *run.vertex_arguments(), run.next, *blocks)
    np.testing.assert_allclose(run.value, whole.value, rtol=1e-6)
    assert not got.any()  # apply puts got back to the identity


def test_work_is_counted():
    n, source, target, _ = hub_graph()
    graph = Graph(n, source, target, None)
    for way in ("push", "pull"):
        run = Run(PageRank(), graph, way, 2)
        run.run(max_supersteps=3)
        assert run.edges == 3 * len(source)
