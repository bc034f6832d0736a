"""Vertices that are held back: which ones, on the host and by the GPU's kernels; the same answers with fewer edges."""

from __future__ import annotations

import numpy as np
import pytest
from compilers import needs_gxx
from emulated import Launcher, compile_units
from engine_graphs import make_store, skewed_edges
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gstream.cudacode.generate import UnitShape
from gstream.engine import delta_stepping as cuts
from gstream.engine.engine import Engine
from gstream.hostcode import bitmap, list_bits, set_bits
from gstream.hostcode import delta_stepping as near
from gstream.options.run_options import RunOptions
from gstream.planning import memory_fit as fit
from gstream.planning import planner
from gstream.planning.memory_fit import graph_of
from gstream.programs.sssp import SSSP

V = 300


def bits_of(vertices):
    bits = bitmap(V)
    set_bits(bits, np.array(sorted(vertices), np.uint64))
    return bits


@pytest.fixture(scope="module")
def kernels():
    shape = UnitShape(np.dtype(np.uint32), np.dtype(np.uint8))
    library, units = compile_units({"sssp": SSSP}, {"sssp": shape})
    return Launcher(library, "sssp", units["sssp"])


SETS = st.sets(st.integers(0, V - 1), max_size=60)


@needs_gxx
@settings(max_examples=60)
@given(SETS, SETS, st.integers(0, 2**32 - 1), st.floats(0, 40), st.integers(0, 400))
@example(set(), {22, 30}, 2097153, 39.99999999999999, 0)  # the limit is not that of float32
def test_who_is_held_back(kernels, active, held, seed, step, least_edges):
    numbers = np.random.default_rng(seed)
    value, degree = numbers.integers(0, 50, V).astype(np.float32), numbers.integers(0, 9, V).astype(np.uint32)
    both = sorted(active | held)
    cut = both and degree[both].sum() >= least_edges
    doubles = value.astype(np.float64)  # which are added and compared
    far = [v for v in both if cut and doubles[v] > doubles[both].min() + step]
    mine, theirs = (bits_of(active), bits_of(held)), (bits_of(active), bits_of(held))
    left = degree[[v for v in both if v not in far]].sum()
    assert near.hold_back(*mine, value, degree, step, least_edges) == (len(far), left)
    pending = np.zeros((2, 2), np.uint64)
    pending.view(np.float32)[:, 2] = np.inf
    pending[1] = 77  # of the superstep before
    found = np.zeros(1, np.uint64)
    kernels("join_held_kernel", 2, *theirs, len(theirs[0]), value, degree, pending[0], pending[1])
    kernels("hold_back_kernel", 2, *theirs, len(theirs[0]), value, pending[0], np.float64(step).view(np.uint64),
            least_edges, found)  # fmt: skip
    assert found[0] == len(far)
    assert pending[1, 0] == 0 and pending.view(np.float32)[1, 2] == np.inf
    for after in (mine, theirs):
        assert list_bits(after[1], 0, V).tolist() == far
        assert list_bits(after[0], 0, V).tolist() == [v for v in both if v not in far]


@needs_gxx
@settings(max_examples=60)
@given(SETS, SETS, st.lists(st.integers(0, V), min_size=2, max_size=8, unique=True), st.data())
def test_who_sends_after_all(kernels, active, held, cuts, data):
    """Pages of neighbouring ranges, some of which share a word of the bitmaps; hubs stay held back."""
    cuts = sorted(cuts)
    first, last = np.array(cuts[:-1], np.uint64), np.array(cuts[1:], np.uint64) - np.uint64(1)
    pages = np.array(sorted(data.draw(st.sets(st.integers(0, len(first) - 1)))), np.int64)
    hubs = sorted(data.draw(SETS))
    degree = np.ones(V, np.uint32)
    degree[hubs] = 9
    spans_hub = np.array([any(a <= hub <= b for hub in hubs) for a, b in zip(first, last, strict=True)])
    mine, theirs = (bits_of(active), bits_of(held)), (bits_of(active), bits_of(held))
    near.readmit(*mine, degree, 8, first, last, pages, spans_hub)
    whole = np.zeros(len(first), np.uint32)
    whole[pages] = 1 + spans_hub[pages]
    kernels("readmit_kernel", 2, *theirs, degree, 8, first, last, len(first), whole)
    sent = {v for v in held if v not in hubs and any(first[p] <= v <= last[p] for p in pages)}
    for after in (mine, theirs):
        assert list_bits(after[0], 0, V).tolist() == sorted(active | sent)
        assert list_bits(after[1], 0, V).tolist() == sorted(held - sent)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    vertices, edges = 4000, 120_000
    source, target = skewed_edges(vertices, edges, 7)
    weight = np.random.default_rng(8).integers(1, 256, edges).astype(np.float64)
    store = make_store(tmp_path_factory.mktemp("near"), source, target, weight, vertices=vertices, order="degree")
    yield store
    store.close()


@pytest.mark.parametrize("devices", ["host", "fake:3", "fake:4:2"])
@pytest.mark.parametrize("cache", ["auto", "0"])
def test_fewer_edges_and_the_same_distances(store, monkeypatch, devices, cache):
    options = RunOptions(devices=[devices], cache=cache, batch_bytes=8192)
    with Engine(store, options) as engine:
        found = engine.run(SSSP(source=7))
        limited = engine.run(SSSP(source=7), 3)
    for module in (planner, fit):
        monkeypatch.setattr(module, "holds_back", lambda *_: False)
    monkeypatch.setattr("gstream.engine.small_frontier.SmallFrontier.applies", lambda run: False)
    with Engine(store, options) as engine:
        expected = engine.run(SSSP(source=7))
    assert found.value.tobytes() == expected.value.tobytes()
    assert found.stats.edges_visited < 0.8 * expected.stats.edges_visited
    assert any(step.held for step in found.stats.per_superstep)
    assert not any(step.held for step in expected.stats.per_superstep)
    assert limited.supersteps == 3 and not limited.converged


def test_frontiers_of_few_edges_are_not_cut(store, monkeypatch, fewest_edges):
    """A superstep takes longer than what it would save; but for those of one thread (gstream.engine.small_frontier)."""
    monkeypatch.setattr("gstream.engine.small_frontier.SmallFrontier.applies", lambda run: False)
    cut = []
    for fewest in (0, store.meta.edges // 4, fewest_edges):
        monkeypatch.setattr(cuts, "FEWEST_EDGES", fewest)
        with Engine(store, RunOptions(devices=["host"])) as engine:
            steps = engine.run(SSSP(source=7)).stats.per_superstep
        cut.append(sum(step.held > 0 for step in steps))
    assert cut[0] > cut[1] > cut[2] == 0


def test_which_pages_span_hubs(store):
    table = graph_of(store, 1).tables["out"]
    hubs = set(table.first_vertex[table.small_pages :].tolist())
    ranges = zip(table.first_vertex.tolist(), table.last_vertex.tolist(), strict=True)
    expected = [any(a <= hub <= b for hub in hubs) for a, b in ranges][: table.small_pages]
    assert hubs and table.spans_hub.tolist() == expected
