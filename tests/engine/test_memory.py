"""Caps are kept, what a plan predicts is what moves, and a cap that is too small says what is needed."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from engine_graphs import levels, make_store, ranks, skewed_edges

from gstream.engine.engine import Engine
from gstream.options import memory as machine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from pagestore import groups
from pagestore.errors import ResourceError, UsageError

V, E = 150_000, 300_000  # three blocks of totals: sums by chunks and slices
SWEEPS = {
    "resident": {},
    "two hosts": {"devices": ["host:2"]},
    "four hosts push": {"devices": ["host:4"], "direction": "push"},
    "pull by chunks": {"chunk_vertices": 65536},
    "push by chunks": {"chunk_vertices": 65536, "direction": "push"},
    "push by chunks on two": {"chunk_vertices": 131072, "direction": "push", "devices": ["host:2"]},
    "from disk": {"host_memory": 5_000_000, "batch_bytes": 1 << 18},
    "from disk, no cache": {"host_memory": 5_000_000, "batch_bytes": 1 << 18, "cache": "0"},
    "fakes": {"devices": ["fake:1:3"], "batch_bytes": 1 << 18, "streams": 3},
    "fake without cache": {"devices": ["fake:1"], "batch_bytes": 1 << 18, "cache": "0"},
    "fake with some cache": {"devices": ["fake:1"], "device_memory": 4_500_000, "batch_bytes": 1 << 16},
    "fakes with LRU": {"devices": ["fake:1:2"], "device_memory": 4_500_000, "batch_bytes": 1 << 16, "cache": "lru"},
    "fakes push by chunks": {
        "devices": ["fake:1:2"], "chunk_vertices": 65536, "direction": "push", "batch_bytes": 1 << 16, "streams": 2,
    },
    "fakes pull by chunks": {"devices": ["fake:1:2"], "chunk_vertices": 65536, "batch_bytes": 1 << 17, "streams": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    source, target = skewed_edges(V, E, seed=5)
    weight = np.random.default_rng(6).random(E)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V) as store:
        yield store, source, target


@pytest.fixture(scope="module")
def exact(graph):
    with Engine(graph[0]) as engine:
        return engine.run(PageRank(tolerance=0.0), max_supersteps=4)


@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps_move_what_was_predicted_and_give_the_same_bits(graph, exact, name):
    store, source, target = graph
    with Engine(store, RunOptions(**SWEEPS[name])) as engine:
        outcome = engine.run(PageRank(tolerance=0.0), max_supersteps=4)
        plan = engine.plan(PageRank())
    assert outcome.stats.predicted_bytes == outcome.stats.bytes_moved > 0
    assert len(plan.chunks) == outcome.stats.chunks
    if "chunk_vertices" in SWEEPS[name]:
        assert outcome.stats.case == 3 and outcome.stats.chunks > 1
    if plan.directions == ("pull",):
        assert np.array_equal(outcome.value, exact.value)
        assert outcome.totals == exact.totals
    else:
        assert np.abs(outcome.value / ranks(V, source, target, 4) - 1).max() < 1e-6
    tracked = outcome.stats.peak_memory_bytes
    assert tracked <= SWEEPS[name].get("host_memory", 1 << 40)


@pytest.mark.covering(1)
@pytest.mark.parametrize("program", [BFS(source=3), PageRank(), SSSP(source=3)], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("devices", ["host", "host:3", "fake:7", "fake:8:2"])
@pytest.mark.parametrize("option", ["host_memory", "device_memory"])
def test_the_least_memory_that_an_error_names_is_enough(graph, program, devices, option):
    store = graph[0]
    options = {"devices": [devices], "batch_bytes": 1 << 16, "read_threads": 2}
    with Engine(store, RunOptions(**options, **{option: 1000})) as engine:
        with pytest.raises(ResourceError) as refused:
            engine.run(program, max_supersteps=2)
    text = str(refused.value)
    flag = "--" + option.replace("_", "-")
    assert text.startswith(f"{flag} 1000 bytes: too little") and f"Raise {flag}." in text
    least = int(re.search(r"(\d+) bytes are needed", text).group(1))
    for _ in range(2):  # the first lack hides the next: attributes, then pages
        with Engine(store, RunOptions(**options, **{option: least})) as engine:
            try:
                outcome = engine.run(program, max_supersteps=2)
                break
            except ResourceError as again:
                least = int(re.search(r"(\d+) bytes are needed", str(again)).group(1))
    else:
        pytest.fail(f"{least} bytes were said to be enough")
    held = outcome.stats.peak_memory_bytes if option == "host_memory" else outcome.stats.on_device_bytes
    assert held <= least
    if option == "device_memory":
        assert outcome.stats.case == 3


def test_levels_of_a_graph_in_the_least_memory(graph):
    store, source, target = graph
    options = RunOptions(devices=["fake:9:2"], device_memory=1 << 20, host_memory=3 << 20, batch_bytes=1 << 15)
    with Engine(store, options) as engine:
        outcome = engine.run(BFS(source=3))
    assert np.array_equal(outcome.value, levels(V, source, target, [3]))


def test_a_direction_that_the_store_lacks_is_refused(tmp_path):
    with make_store(tmp_path, np.array([0, 1]), np.array([1, 2]), topology="out") as store:
        with Engine(store, RunOptions(direction="pull")) as engine, pytest.raises(UsageError, match="no in-topology"):
            engine.run(BFS(source=0))


def test_chunks_where_no_layout_has_them_are_refused(graph):
    with Engine(graph[0], RunOptions(direction="pull", chunk_vertices=8192)) as engine:
        with pytest.raises(UsageError, match="chunk_vertices 8192: a pull of BFS reads the values of all vertices"):
            engine.run(BFS(source=0))


def test_the_memory_of_a_control_group_binds(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 900 kB\n")
    (tmp_path / "own").write_text("0::/job/step\n")
    (tmp_path / "groups/job/step").mkdir(parents=True)
    monkeypatch.setattr(machine, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(groups, "OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(groups, "GROUPS", tmp_path / "groups")
    assert machine.memory() == (1000 << 10, 900 << 10)
    (tmp_path / "groups/job/step/memory.max").write_text("max\n")
    (tmp_path / "groups/job/memory.max").write_text("512000\n")
    (tmp_path / "groups/job/memory.current").write_text("12000\n")
    assert machine.memory() == (512000, 500000)
    stat = tmp_path / "groups/job/memory.stat"
    stat.write_text("anon 2000\nfile 9500\ninactive_file 7000\nactive_file 2000\nshmem 500\n")
    assert machine.memory() == (512000, 509000)  # without what it caches of files
    stat.write_text("inactive_file 7000\nactive_file 900000\n")
    assert machine.memory() == (512000, 512000)


MEASURE = """
import sys
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.pagerank import PageRank
from pagestore.store import open_store

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))

with open_store(sys.argv[1]) as warm, Engine(warm, RunOptions(host_memory=1 << 22, batch_bytes=1 << 15)) as engine:
    engine.run(PageRank(), max_supersteps=2)  # compiles
with open_store(sys.argv[2]) as store:
    before = resident()
    with Engine(store, RunOptions(host_memory=int(sys.argv[3]))) as engine:
        outcome = engine.run(PageRank(), max_supersteps=3)
        print(resident() - before, outcome.stats.peak_memory_bytes, outcome.stats.bytes_read_disk)
"""


def test_resident_memory_stays_under_the_cap_with_a_store_larger_than_it(tmp_path):
    random = np.random.default_rng(1)
    small = make_store(tmp_path / "small", *random.integers(0, 100, (2, 500)), topology="in")
    ends = random.integers(0, 200_000, (2, 8_000_000), dtype=np.uint32)
    large = make_store(tmp_path / "large", *ends, page_bytes=1 << 18, topology="in", heads=False)
    cap = 16 << 20
    topology = large.topology("in")
    assert topology.pages * topology.layout.page_bytes > 2 * cap
    script = [sys.executable, "-c", MEASURE, small.path, large.path, str(cap)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=600, check=True)
    grown, tracked, read = map(int, done.stdout.split())
    assert tracked <= cap
    assert grown <= cap + (4 << 20), "allocator and directory beside what is tracked"
    assert read >= 2 * topology.pages * topology.layout.page_bytes


def test_what_a_device_keeps_host_memory_does_not(graph):
    """Pages in a device's cache are read once; the host's cache is for others, and spares reading them, too."""
    store = graph[0]
    pages = store.topology("in").pages
    options = RunOptions(devices=["fake:1"], host_memory=2_300_000, device_memory=4_500_000, batch_bytes=1 << 16)
    with Engine(store, options) as engine:
        plan = engine.plan(PageRank(tolerance=0.0))
        source, slots = plan.sources["in"], plan.device.cache_pages["in"]
        assert 0 < slots < pages and source.skip == slots and 0 < source.cache_pages < pages - slots
        read = [engine.run(PageRank(tolerance=0.0), max_supersteps=n).stats.bytes_read_disk for n in (1, 3)]
    assert read[0] >= pages * 4096
    # a fake device's cache is empty at each run: what it keeps is read once, the rest but for the host's cache thrice
    left = pages - slots - source.cache_pages
    assert read[1] <= (slots + 3 * left + 4 * source.batch_pages * source.groups) * 4096
