"""Record kernels over chosen lists alone: what they make of these is what a sweep of all pages makes of them."""

from __future__ import annotations

from dataclasses import replace

import choice
import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

from gstream.algorithms.support import session as sessions
from gstream.algorithms.support.session import ArraySweep, Session
from gstream.algorithms.support.simple import count_simple, simple_lists
from gstream.engine.engine import Engine
from gstream.hostcode.bitmaps import bitmap, set_bits
from gstream.hostcode.intrinsics import atomic_add
from gstream.options.run_options import RunOptions
from gstream.records import record_kernel

V, PAGE = 4000, 4096


@record_kernel(total="sum")
def add_weights(record, total):
    """total[v] += weights of v's list."""
    for _u in record.neighbours():
        atomic_add(total, record.vertex, total.dtype.type(record.weight()))


@pytest.fixture(scope="module", params=["4 1 degree", *choice.also("8 1 natural", "4 8 degree")])
def store(request, tmp_path_factory):
    """Hubs over several large pages, with neighbours that come again on the next one."""
    id_bytes, columns, order = request.param.split()
    id_bytes, columns = int(id_bytes), int(columns)
    source, target = skewed_edges(V, 60_000, 3)
    hubs = np.repeat([7, 11], 3 * PAGE // id_bytes)
    twice = np.sort(np.random.default_rng(5).integers(0, 400, len(hubs)))
    weight = np.random.default_rng(6).integers(1, 9, len(source) + len(hubs)).astype(np.float64)
    folder = tmp_path_factory.mktemp("listed")
    with make_store(
        folder, np.append(source, hubs), np.append(target, twice), weight, vertices=V, page_bytes=PAGE,
        id_bytes=id_bytes, columns=columns, order=order,
    ) as made:  # fmt: skip
        assert made.meta.duplicates and made.topology("out").pages - made.topology("out").small_pages > 4
        yield made


def chosen(seed, session):
    """uint64[k] of vertices, hubs among them, and their bits."""
    random, degree = np.random.default_rng(seed), session.degree("out")
    vertices = np.unique(np.append(random.integers(0, V, 40), np.argsort(degree)[-2:])).astype(np.uint64)
    bits = bitmap(V)
    set_bits(bits, vertices)
    return vertices, bits


@pytest.mark.covering(2)
@pytest.mark.parametrize("options", [{}, {"host_memory": 600_000}, {"devices": ["host", "host"]}])
@pytest.mark.parametrize("seed", range(5))
def test_chosen_lists_are_whole(store, seed, options, monkeypatch):
    """Neighbours each once, over the ends of pages, too; nothing is done for others."""
    called = []
    run = ArraySweep.run_listed
    monkeypatch.setattr(ArraySweep, "run_listed", lambda *given: called.append(1) or run(*given))
    monkeypatch.setattr(sessions, "LISTED", 4)  # a store this small has few other lists
    with Engine(store, RunOptions(**options)) as engine, Session(engine) as session:
        vertices, bits = chosen(seed, session)
        lists = simple_lists(session, "out")
        everything, some = np.zeros(V, np.uint32), np.zeros(V, np.uint32)
        session.sweep("out", count_simple, (everything, lists.hubs, lists.ends))
        assert not called
        session.sweep_among("out", count_simple, (some, lists.hubs, lists.ends), bits)
        assert called
        expected = np.zeros(V, np.uint32)
        expected[vertices] = everything[vertices]
        assert np.array_equal(some, expected) and expected.any()


def test_weights_of_chosen_lists(store):
    with Engine(store, RunOptions()) as engine, Session(engine) as session:
        vertices, bits = chosen(9, session)
        everything, some = np.zeros(V), np.zeros(V)
        session.sweep("out", add_weights, (everything,))
        before = replace(engine.devices[0].stats)
        session.sweep_among("out", add_weights, (some,), bits)
        after = engine.devices[0].stats
        pages, edges = after.pages - before.pages, after.edges - before.edges
        assert np.array_equal(some[vertices], everything[vertices]) and some.sum() == some[vertices].sum() > 0
        assert edges == int(session.degree("out")[vertices].sum())
        assert 0 < pages <= engine.graph.tables["out"].pages


def test_many_lists_are_found_by_their_pages(store, monkeypatch):
    monkeypatch.setattr(sessions, "list_bits", None)  # nobody asks for them one by one
    with Engine(store, RunOptions()) as engine, Session(engine) as session:
        bits = ~bitmap(V)
        some, everything = np.zeros(V, np.uint32), np.zeros(V, np.uint32)
        lists = simple_lists(session, "out")
        session.sweep_among("out", count_simple, (some, lists.hubs, lists.ends), bits)
        session.sweep("out", count_simple, (everything, lists.hubs, lists.ends))
        assert np.array_equal(some, everything)
