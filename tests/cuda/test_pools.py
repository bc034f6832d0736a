"""Pools of pages that outlive runs: what an engine holds over several programs, and sweeps that break off."""

from __future__ import annotations

import numpy as np
import pytest
import standin
from ahead_runs import make_graph
from compilers import needs_gxx
from written import VARIED, program

import gstream
from gstream.devices.gpu.driver import DeviceError, Gpu
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from pagestore.store import open_store

SMALL = 30_000  # counters, members, answers: what no plan has
pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]


class Interruption(Exception):
    """What stands for Ctrl-C."""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return make_graph(tmp_path_factory.mktemp("pools") / "graph.gs", "directed", 3000, 20_000)


@pytest.fixture
def most(monkeypatch):
    """The most bytes of GPU memory that were taken at once, in a list of one."""
    found, allocate = [0], standin.DRIVER.mem_alloc

    def taken(size):
        made = allocate(size)
        found[0] = max(found[0], sum(one.size for one in standin.LIVE.values()))
        return made

    monkeypatch.setattr(standin.DRIVER, "mem_alloc", taken)
    return found


@pytest.mark.parametrize("cache", ["0", "pinned", "lru"])
def test_several_programs_keep_to_the_cap(path, most, cache):
    """Of one topology after both, and back: what they leave for each other is a part of the plan."""
    options = {"devices": ["cuda:0"], "cache": cache, "streams": 2, "batch_bytes": 4096, "use_heads": False}
    programs = [(BFS(source=3), None), (PageRank(), 2), (BFS(source=3), None), (PageRank(), 2)]
    with open_store(path) as store, Engine(store, RunOptions(devices=["host"])) as host:
        expected = [host.run(each, limit).value for each, limit in programs]
        with Engine(store, RunOptions(device_memory=1 << 22, **options)) as engine:
            need = max(sum(engine.plan(each).device_bytes.values()) for each, _ in programs)
        for cap in (need * 9 // 10, need, need * 5 // 4, need * 2):
            with Engine(store, RunOptions(device_memory=cap, **options)) as engine:
                most[0] = planned = 0
                for (each, limit), wanted in zip(programs, expected, strict=True):
                    found = engine.run(each, limit)
                    np.testing.assert_allclose(found.value, wanted, rtol=1e-5)
                    planned = max(planned, found.stats.on_device_bytes)
                    assert planned <= cap and most[0] <= planned + SMALL


def test_what_has_no_weights_is_not_kept_for_what_has(path, tmp_path):
    weighted = program(tmp_path, **VARIED["sum_weights"][0])
    with open_store(path) as store, Engine(store, RunOptions(devices=["cuda:0"])) as engine:
        alone = engine.plan(weighted()).device.cache_pages
        engine.run(BFS(source=3))
        assert engine.plan(weighted()).device.cache_pages == alone
        assert engine.plan(PageRank()).device.cache_pages.keys() == {"out", "in"}


def test_topologies_in_turn_move_once(path):
    """PageRank's pages stay while BFS runs, and the other way round."""
    with open_store(path) as store, Engine(store, RunOptions(devices=["cuda:0"], zero_copy=False)) as engine:
        for _ in range(2):
            engine.run(PageRank(), 2)
            engine.run(BFS(source=3))
        again = [engine.run(PageRank(), 2).stats.bytes_moved, engine.run(BFS(source=3)).stats.bytes_moved]
    assert again == [0, 0]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (Interruption, Interruption),
        (standin.LogicError, DeviceError),
        (standin.MemoryError, DeviceError),  # no reason to have the host's cores go on with half of an answer
    ],
)
@pytest.mark.parametrize("counters", [False, True])
def test_arrays_that_do_not_come_back(path, monkeypatch, error, raised, counters):
    """counters: what breaks off may be the read of what was looked at, before that of arrays."""
    usual, calls = Gpu.read, list[np.ndarray]()

    def failing(gpu, address, out, stream):
        if out.nbytes > 8 or counters:
            calls.append(out)
        if len(calls) == 2:
            raise error("of the test")
        return usual(gpu, address, out, stream)

    with gstream.open(path) as graph:
        expected = graph.kcore().to_numpy()
        with monkeypatch.context() as patch:
            patch.setattr(Gpu, "read", failing)
            with pytest.raises(raised):
                graph.kcore(devices="cuda", device_memory=1 << 20)
        assert np.array_equal(graph.kcore(devices="cuda", device_memory=1 << 21).to_numpy(), expected)
