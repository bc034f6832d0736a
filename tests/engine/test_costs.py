"""The cost model: equations (1) and (2), and the file that keeps the machine's constants."""

from __future__ import annotations

import json

import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

from gstream.devices.host.threads import Workers
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.planning import calibration as measure
from gstream.planning.cost_equations import Constants, GpuConstants, superstep_seconds
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank

LINK = Constants(c1=8e9, c2=6e9, disk=1e15, call_s=5e-6, pull_edges=1e15, push_edges=1e15, merge=1e10)


def sweep(devices=1, constants=LINK, **changes):
    sizes = {
        "attribute_bytes": 0, "page_bytes": 6_000_000_000, "disk_bytes": 0, "batches": 400, "edges": 1_500_000_000,
        "direction": "pull", "merged_bytes": 0, **changes,
    }  # fmt: skip
    return superstep_seconds(constants, devices=devices, **sizes)


def test_equation_1_term_by_term():
    assert sweep(batches=0) == pytest.approx(1.0)  # 6 GB at c2 = 6 GB/s
    assert sweep(devices=4, batches=0) == pytest.approx(0.25)  # pages are spread over the devices
    assert sweep(batches=1000) == pytest.approx(1.0 + 1000 * 5e-6)
    assert sweep(attribute_bytes=4_000_000_000, batches=0) == pytest.approx(1.0 + 1.0)  # WA in and out at c1
    assert sweep(devices=2, batches=0, merged_bytes=10**9) == pytest.approx(0.5 + 0.2)
    assert sweep(batches=0, load_bytes=int(3 * LINK.load)) == pytest.approx(3.0)  # the first sweep waits for the disk
    slow = Constants(**{**vars(LINK), "pull_edges": 1e9})
    assert sweep(constants=slow, batches=0) == pytest.approx(1.5)  # the kernels bound it


def test_cores_decode_coded_pages_beside_kernels_of_their_own_or_of_gpus():
    slow = {**vars(LINK), "pull_edges": 3e9, "decode": 1e9}
    assert sweep(constants=Constants(**slow), batches=0, decoded=10**9) == pytest.approx(0.5 + 1.0)
    assert sweep(constants=GpuConstants(**slow), batches=0, page_bytes=0, decoded=10**9) == pytest.approx(1.0)


def test_equation_2_term_by_term():
    level = {"devices": 4, "page_bytes": 6e9, "disk_bytes": 0, "batches": 0, "edges": 0, "direction": "push"}
    assert superstep_seconds(LINK, **level) == pytest.approx(0.25)
    assert superstep_seconds(LINK, **level, d_skew=0.25) == pytest.approx(1.0)  # one device has all the pages
    assert superstep_seconds(LINK, **level, load_bytes=LINK.load) == pytest.approx(1.0)
    assert superstep_seconds(LINK, **{**level, "batches": 400}) == pytest.approx(0.25 + 400 * 5e-6 / 4)
    assert superstep_seconds(LINK, **level, merged_bytes=5e8) == pytest.approx(0.25 + 4 * 0.05)


def test_gpus_have_kernels_and_merges_side_by_side():
    gpu = GpuConstants(**{**vars(LINK), "pull_edges": 1e9, "push_edges": 5e8})
    assert sweep(constants=gpu, batches=0) == pytest.approx(1.5)
    assert sweep(devices=3, constants=gpu, batches=0) == pytest.approx(0.5)
    level = {"page_bytes": 0, "disk_bytes": 0, "batches": 0, "edges": 1e9, "direction": "push"}
    assert superstep_seconds(gpu, devices=4, **level) == pytest.approx(0.5)
    assert superstep_seconds(gpu, devices=4, d_skew=0.5, **level) == pytest.approx(1.0)
    merge = {"devices": 4, "batches": 0, "page_bytes": 0, "edges": 0, "merged_bytes": 10**10}
    assert sweep(constants=gpu, **merge) == pytest.approx(1.5)  # 3/4 of WA from the others, twice
    assert sweep(constants=gpu, **{**merge, "devices": 1}) == 0
    assert gpu.scan == gpu.memory > gpu.c1 and LINK.scan == LINK.c1


def test_constants_are_measured_once_and_kept(tmp_path, monkeypatch):
    workers = Workers(2)
    try:
        first = measure.constants(workers, tmp_path)
        assert all(value > 0 for value in vars(first).values())
        monkeypatch.setattr(measure, "measure", lambda workers: pytest.fail("measured again"))
        assert measure.constants(workers, tmp_path) == first
        monkeypatch.setattr(measure, "measure", lambda workers: Constants(c1=7.0))  # takes a second
        (kept,) = tmp_path.glob("constants-*-2.json")
        for broken in ("{", "[1]", '{"c1": "fast"}', '{"c1": -1}'):
            kept.write_text(broken)
            assert measure.constants(workers, tmp_path).c1 == 7
            assert json.loads(kept.read_text())["c1"] == 7
    finally:
        workers.close()


def test_rates_are_averaged_over_runs(tmp_path):
    workers = Workers(1)
    try:
        before = measure.constants(workers, tmp_path)
        measure.learn(1, [("pull_edges", before.pull_edges / 16)], tmp_path)
        assert measure.constants(workers, tmp_path).pull_edges == pytest.approx(before.pull_edges / 2)
        assert measure.constants(workers, tmp_path).push_edges == before.push_edges
        for factor in (0.1, 10.0):  # whatever the machine was, eight runs tell what it is
            start = measure.constants(workers, tmp_path).push_edges
            measure.learn(1, [("push_edges", start * factor)] * 8, tmp_path)
            now = measure.constants(workers, tmp_path).push_edges / start
            assert 0.75 < now / factor < 1.3
        measure.learn(3, [("push_edges", 1e9)], tmp_path)  # nothing is known for 3 threads yet
        assert not list(tmp_path.glob("constants-*-3.json"))
    finally:
        workers.close()


def test_the_disk_is_measured_on_the_store_and_kept_by_file_system(tmp_path, monkeypatch):
    ends = np.random.default_rng(1).integers(0, 1000, (2, 2_500_000), dtype=np.uint32)
    store = make_store(tmp_path / "s", *ends, topology="in", page_bytes=1 << 16)
    cache = tmp_path / "cache"
    cache.mkdir()
    with store, Engine(store, RunOptions(host_memory=4 << 20)) as engine:
        topology, table, unread = store.topology("in"), engine.graph.tables["in"], lambda: pytest.fail("was known")
        assert measure.disk(unread, table, [store.path], cache) is None, "it has too few pages to tell"
        monkeypatch.setattr(measure, "DISK_RUN", 1 << 16)
        monkeypatch.setattr(measure, "DISK_BYTES", 1 << 22)
        found = measure.disk(lambda: topology.reader(direct=True), table, [store.path], cache)
        assert 1e6 < found.apart <= found.rate < 1e12 and found.threads in measure.THREADS
        assert measure.disk(unread, table, [store.path], cache) == found
        assert measure.disk(unread, table, [store.path, store.path], cache) == found, "one disk"


def test_the_fewest_threads_that_read_as_fast_as_more(tmp_path, monkeypatch):
    rates = {1: 1e9, 2: 1.9e9, 3: 2.7e9, 4: 2.8e9, 6: 2.5e9}
    ends = np.random.default_rng(1).integers(0, 100, (2, 1000), dtype=np.uint32)
    with make_store(tmp_path, *ends, topology="in") as store, Engine(store) as engine:
        monkeypatch.setattr(measure, "_disk_rate", lambda reader, table, threads, *_, **__: rates[threads])
        found = measure._best_of(store.topology("in").reader(), engine.graph.tables["in"])
        assert (found.rate, found.threads) == (2.7e9, 3), "12 and 16 were not tried, as 6 read less than 4"


@pytest.mark.parametrize("program", [PageRank(), BFS(source=3)], ids=["PageRank", "BFS"])
@pytest.mark.parametrize("options", [{}, {"host_memory": 90_000}, {"devices": ["fake:1:2"]}], ids=str)
def test_runs_report_seconds_beside_the_prediction(tmp_path, program, options):
    with make_store(tmp_path, *skewed_edges(1000, 15000, seed=1), vertices=1000) as store:
        with Engine(store, RunOptions(**options)) as engine:
            stats = engine.run(program).stats
            assert engine.plan(program).superstep_seconds() > 0
    assert stats.predicted_seconds > 0 and stats.seconds > 0
    plain = json.loads(json.dumps(stats.as_dict()))
    assert plain["d_skew"] > 0 and 0 <= plain["r_hit"] <= 1
