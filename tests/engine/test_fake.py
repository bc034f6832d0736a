"""The fake device: any schedule gives the same answer, and mistakes that hardware would punish are found out."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from engine_graphs import both_ways, distances, levels, make_store, skewed_edges

from gstream.devices import fake
from gstream.devices.streams import BatchRing
from gstream.driver import Engine
from gstream.options import RunOptions
from gstream.pages import PageSource
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.superstep import Run

V, E = 700, 6000
SCHEDULES = int(os.environ.get("GSTREAM_SCHEDULES", "100"))  # of each of three programs


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    source, target = skewed_edges(V, E, seed=11)
    weight = np.random.default_rng(12).integers(1, 50, E).astype(np.float64)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V, directed=False) as store:
        weight = np.concatenate([weight, weight[source != target]])
        yield store, *both_ways(source, target), weight


def any_options(seed):
    """Options drawn from a seed: devices, memories, streams, batches, caches, chunks."""
    draw = random.Random(seed)
    return RunOptions(
        devices=[f"fake:{seed}:{draw.choice([1, 1, 2, 3, 4])}"],
        streams=draw.choice([1, 2, 3, 8, 32]),
        batch_bytes=draw.choice([4096, 8192, 12288, 65536, 1 << 20]),
        device_memory=draw.choice([None, None, 30_000, 60_000, 120_000]),
        host_memory=draw.choice([None, 50_000, 60_000, 90_000]),
        cache=draw.choice(["auto", "lru", "pinned", "0"]),
        direction=draw.choice(["auto", "auto", "push", "pull"]),
        chunk_vertices=draw.choice([None, None, None, 64, 320]),
        use_heads=draw.random() < 0.7,
    )


@pytest.fixture(scope="module")
def expected(graph):
    store, source, target, weight = graph
    with Engine(store) as engine:
        ranks = engine.run(PageRank(tolerance=0.0), max_supersteps=4).value
    return levels(V, source, target, [3]), distances(V, source, target, weight, 3), ranks


def test_any_schedule_gives_the_same_answers(graph, expected):
    store = graph[0]
    level, distance, rank = expected
    seen = set()
    for seed in range(SCHEDULES):
        options = any_options(seed)
        if options.direction == "pull":
            options.chunk_vertices = None  # all values must be on the device for a pull in place
        with Engine(store, options) as engine:
            bfs = engine.run(BFS(source=3))
            assert np.array_equal(bfs.value, level), f"BFS, seed {seed}, {options}"
            assert np.array_equal(engine.run(SSSP(source=3)).value, distance), f"SSSP, seed {seed}, {options}"
            found = engine.run(PageRank(tolerance=0.0), max_supersteps=4)
            assert np.abs(found.value / rank - 1).max() < 1e-6, f"PageRank, seed {seed}, {options}"
            seen.add((bfs.stats.case, found.stats.case, found.stats.devices))
    assert {case for case, _, _ in seen} == {case for _, case, _ in seen} == {1, 2, 3}


STREAMED = {"devices": ["fake:1:2"], "streams": 3, "batch_bytes": 8192, "host_memory": 50_000, "cache": "0"}


def run_all(store, **options):
    for seed in range(20):
        with Engine(store, RunOptions(**{**options, "devices": [f"fake:{seed}:2"]})) as engine:
            engine.run(PageRank(tolerance=0.0), max_supersteps=3)


def test_host_memory_let_go_before_the_copy_is_found_out(graph, monkeypatch):
    submit = fake.FakeDevice.submit

    def too_early(device, batch):
        done, batch.done = batch.done, lambda: None
        submit(device, batch)
        done()

    monkeypatch.setattr(fake.FakeDevice, "submit", too_early)
    with pytest.raises(AssertionError, match="another page than expected"):
        run_all(graph[0], **STREAMED)


def test_a_kernel_on_another_stream_than_its_copy_is_found_out(graph, monkeypatch):
    enqueue = fake.FakeDevice._enqueue

    def astray(device, queue, operation):
        enqueue(device, 0 if operation.kind == "kernel" else queue, operation)

    monkeypatch.setattr(fake.FakeDevice, "_enqueue", astray)
    with pytest.raises(AssertionError, match="another page than expected"):
        run_all(graph[0], **STREAMED)


def test_a_cache_slot_filled_without_waiting_for_its_reader_is_found_out(graph, monkeypatch):
    place = BatchRing.place

    def hasty(ring, numbers, table):
        placement = place(ring, numbers, table)
        placement.waits = []
        return placement

    monkeypatch.setattr(BatchRing, "place", hasty)
    with pytest.raises(AssertionError, match="another page than expected"):
        run_all(graph[0], streams=4, batch_bytes=4096, device_memory=45_000, cache="lru")


def test_a_merge_before_the_peers_have_finished_is_found_out(graph, monkeypatch):
    monkeypatch.setattr(fake.FakeDevice, "finish", lambda device: [device._do_one() for _ in range(3)] and None)
    with pytest.raises(AssertionError, match="queued"):
        run_all(graph[0], streams=3, batch_bytes=4096)


def test_a_batch_that_is_never_given_back_is_found_out(graph, monkeypatch):
    monkeypatch.setattr(PageSource, "_release", lambda *arguments: None)
    with pytest.raises(RuntimeError, match="a device keeps its batches"):
        run_all(graph[0], **STREAMED)


def test_slices_that_overlap_change_the_answer(graph, monkeypatch):
    """The merge is what makes several devices one: without it answers differ, so these tests do look at it."""
    monkeypatch.setattr(Run, "share_slices", lambda run, slices, values: None)
    store = graph[0]
    with Engine(store, RunOptions(devices=["fake:1:2"], direction="push")) as engine:
        lost = engine.run(BFS(source=3), max_supersteps=50).value
    monkeypatch.undo()
    with Engine(store) as engine:
        assert not np.array_equal(lost, engine.run(BFS(source=3)).value)
