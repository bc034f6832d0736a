"""The GPU device over a stand-in for the driver: the host's answers, whatever is cached, chunked or streamed."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace

import choice
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import standin
from compilers import needs_gxx
from engine_graphs import Labels, make_store, skewed_edges

import gstream
from gstream.devices.gpu import driver as cuda
from gstream.devices.gpu import prestart as early
from gstream.devices.gpu.device import GpuDevice
from gstream.devices.gpu.driver import DeviceError
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.paging import page_rows as pages
from gstream.paging.page_source import nothing
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC
from gstream.telemetry.trace import ChromeTrace
from pagestore.errors import ResourceError
from pagestore.memory import convert_arrays
from pagestore.store import open_store

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE = 3000, 20_000, 4096
PROGRAMS = {
    "bfs": lambda: BFS(source=3),
    "sssp": lambda: SSSP(source=3),
    "wcc": WCC,
    "pagerank": lambda: PageRank(tolerance=0.0),
}
LIMITS = {"pagerank": 3}
OPTIONS = {
    "as it is": {},
    "one stream, no cache": {"streams": 1, "cache": "0", "batch_bytes": 3 * PAGE},
    "some cache": {"device_memory": 400_000, "batch_bytes": 2 * PAGE},
    "LRU": {"device_memory": 400_000, "batch_bytes": PAGE, "cache": "lru", "streams": 2},
    "push": {"direction": "push", "batch_bytes": 4 * PAGE},
    "pull, no heads": {"direction": "pull", "use_heads": False},
    "chunks": {"chunk_vertices": 1024, "batch_bytes": 2 * PAGE, "streams": 3},
    "chunks by push": {"chunk_vertices": 1024, "direction": "push", "batch_bytes": 2 * PAGE},
    "from disk": {"host_memory": 140_000, "batch_bytes": 2 * PAGE, "streams": 4, "device_memory": 300_000},
    "from disk, no cache": {"host_memory": 140_000, "batch_bytes": PAGE, "cache": "0"},
    "a lane a list": {"micro": "vertex"},
    "a warp a list": {"micro": "edge"},
    "four lanes a list": {"micro": "4"},
    "two": {"devices": ["cuda:0,2"], "batch_bytes": 2 * PAGE},
    "three that don't reach each other": {"devices": ["cuda:0,1,3"], "batch_bytes": 2 * PAGE, "cache": "0"},
    "two, chunks": {"devices": ["cuda:0,0"], "chunk_vertices": 1024, "batch_bytes": 2 * PAGE},
}


@pytest.fixture(scope="module", params=["directed 4", *choice.also("undirected 8")])
def store(request, tmp_path_factory):
    kind, width = request.param.split()
    source, target = skewed_edges(V, E, 31)
    weight = np.random.default_rng(32).integers(1, 9, E).astype(np.float64)
    folder = tmp_path_factory.mktemp("stores")
    with make_store(
        folder, source, target, weight, vertices=V, directed=kind == "directed", page_bytes=PAGE, id_bytes=int(width),
        order="degree",
    ) as made:  # fmt: skip
        assert made.topology("in").pages > made.topology("in").small_pages, "the graph has no hub"
        yield made


@pytest.fixture(scope="module")
def expected(store):
    with Engine(store) as engine:
        return {name: engine.run(make(), max_supersteps=LIMITS.get(name)) for name, make in PROGRAMS.items()}


@pytest.mark.covering(1)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_device_is_the_host(store, expected, name, options):
    given = {"devices": ["cuda"], **OPTIONS[options]}
    if "chunk_vertices" in given and name != "pagerank":
        given["direction"] = "push"  # a pull in place has no chunks
    with Engine(store, RunOptions(**given)) as engine:
        for _ in range(2):  # the second run finds pages cached
            found = engine.run(PROGRAMS[name](), max_supersteps=LIMITS.get(name))
            wanted = expected[name]
            assert found.converged == wanted.converged
            if name == "pagerank":
                np.testing.assert_allclose(found.value, wanted.value, rtol=1e-5)
            else:
                assert np.array_equal(found.value, wanted.value)


@pytest.mark.parametrize("options", ["as it is", "chunks by push", "two"])
def test_supersteps_that_somebody_counts(store, options):
    """A program with totals, and any under a limit, is synchronous: after each superstep the host's values."""
    for limit in (1, 2, 4, None):
        with Engine(store) as engine:
            wanted = engine.run(Labels(), max_supersteps=limit)
        with Engine(store, RunOptions(**{"devices": ["cuda"], **OPTIONS[options]})) as engine:
            found = engine.run(Labels(), max_supersteps=limit)
        assert np.array_equal(found.value, wanted.value) and found.totals == wanted.totals
        assert found.supersteps == wanted.supersteps
        assert found.totals["labels"] == found.value.sum(dtype=np.float64)


def test_lists_that_a_block_has_to_itself(tmp_path):
    """Pages of 64 KiB with few long lists, before pages of short ones."""
    random = np.random.default_rng(5)
    source = np.concatenate([random.integers(0, V, 9000), random.integers(0, 12, 20_000)])
    target = random.integers(0, V, len(source))
    path = tmp_path / "hubs.gs"
    convert_arrays(path, source, target, vertices=V, page_bytes=1 << 16, directed=False, order="degree")
    with open_store(path) as opened:
        directory = opened.topology("in").directory
        few = directory["edges"] >= 1024 * directory["records"].astype(np.int64)
        assert few.any() and not few.all() and opened.topology("in").small_pages == len(directory)
        for name, direction in (("bfs", "push"), ("bfs", "pull"), ("pagerank", "pull"), ("pagerank", "push")):
            values = []
            for devices in (["host"], ["cuda"]):
                with Engine(opened, RunOptions(devices=devices, direction=direction, use_heads=False)) as engine:
                    values.append(engine.run(PROGRAMS[name](), max_supersteps=LIMITS.get(name)).value)
            np.testing.assert_allclose(values[1], values[0], rtol=1e-5)
    with gstream.open(path) as graph:
        options = {"devices": "cuda", "use_heads": False}
        assert graph.wcc(**options).to_numpy().tobytes() == graph.wcc().to_numpy().tobytes()


def test_one_engine_runs_all(store, expected):
    with Engine(store, RunOptions(devices=["cuda:0,2"], batch_bytes=2 * PAGE)) as engine:
        for name in (*PROGRAMS, *reversed(PROGRAMS)):
            found = engine.run(PROGRAMS[name](), max_supersteps=LIMITS.get(name))
            np.testing.assert_allclose(found.value, expected[name].value, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
def test_pages_are_pinned_as_they_are_read(store, expected, monkeypatch, devices):
    """Segment by segment, their weights too, whichever pages are wanted first."""
    monkeypatch.setattr(pages, "SEGMENT_BYTES", 1)
    pinned, usual = [], cuda.Gpu.pin

    def pin(gpu, array, touched=False):
        pinned.append(touched)
        return usual(gpu, array, touched)

    monkeypatch.setattr(cuda.Gpu, "pin", pin)
    for cache in ("0", "lru"):
        with Engine(store, RunOptions(devices=[devices], cache=cache, use_heads=False, batch_bytes=2 * PAGE)) as engine:
            for name in ("bfs", "sssp", "pagerank", "bfs"):
                found = engine.run(PROGRAMS[name](), max_supersteps=LIMITS.get(name))
                np.testing.assert_allclose(found.value, expected[name].value, rtol=1e-5, err_msg=name)
        assert pinned.count(True) > (2 if devices == "cuda" else 6)
        pinned.clear()


@pytest.mark.parametrize("cap", [{}, {"host_memory": 64 << 20}])
@pytest.mark.parametrize("allowed", [True, False])
def test_answers_come_through_pinned_memory(store, expected, monkeypatch, allowed, cap):
    """Where it may not be pinned, the long way. Without a cap it is kept, and so are rows of a table. Once the graph
    closes, nothing is pinned."""
    pinned, usual = [], cuda.Gpu.pin

    def pin(gpu, array, touched=False):
        if not allowed:
            raise ResourceError("made up by the test")
        undo = usual(gpu, array)
        pinned.append(array.nbytes)
        return undo

    monkeypatch.setattr(cuda, "PINNED_TO_FETCH", 4 * V)
    monkeypatch.setattr("gstream.paging.kept_memory.LEAST_BYTES", 4 * V)
    monkeypatch.setattr(GpuDevice, "pin", lambda device, array, touched=False: nothing)
    monkeypatch.setattr(cuda.Gpu, "pin", pin)
    with Engine(store, RunOptions(devices=["cuda"], **cap)) as engine:
        assert np.array_equal(engine.run(PROGRAMS["bfs"]()).value, expected["bfs"].value)
    with gstream.open(store.path) as graph:
        labels = graph.wcc().to_numpy().tobytes()
        assert graph.wcc(devices="cuda", device_memory=400_000, **cap).to_numpy().tobytes() == labels
    rows = [] if cap else [2 * 8 * V]  # of two columns
    assert pinned == ([4 * V, *rows] if allowed else [])
    assert not standin.PINNED


@pytest.mark.parametrize("cache", ["pinned", "lru"])
def test_pages_stay_cached_from_run_to_run(store, cache):
    with Engine(store, RunOptions(devices=["cuda"], cache=cache)) as engine:
        runs = [engine.run(PROGRAMS["pagerank"](), max_supersteps=3).stats for _ in range(2)]
    assert [run.bytes_moved for run in runs] == [store.topology("in").pages * PAGE, 0]
    assert [run.predicted_bytes for run in runs] == [run.bytes_moved for run in runs]


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
@pytest.mark.parametrize("cache", ["pinned", "0"])
def test_what_is_cached_is_planned_for(store, devices, cache):
    """A cache of half the pages, filled by runs before: planned bytes are those that move, every time."""
    options = RunOptions(devices=[devices], cache=cache, batch_bytes=2 * PAGE, use_heads=False, streams=2)
    with Engine(store, options) as engine:
        plan = engine.plan(PROGRAMS["pagerank"]())
        table = plan.table("pull")
        room = sum(plan.device_bytes.values()) - plan.device.cache_pages.get(table.name, 0) * PAGE // 2
    with Engine(store, replace(options, device_memory=room)) as engine:
        cold = engine.plan(PROGRAMS["pagerank"]())
        for supersteps in (1, 3, 2):
            stats = engine.run(PROGRAMS["pagerank"](), max_supersteps=supersteps).stats
            assert stats.predicted_bytes == stats.bytes_moved
        warm = engine.plan(PROGRAMS["pagerank"]())
    saved = cold.sweep_bytes(2) - warm.sweep_bytes(2)
    held = 0 if cache == "0" else sum(map(len, warm.on_devices[table.name]))
    assert (held > 0) == (cache != "0")
    assert saved == held * PAGE


@pytest.mark.parametrize("devices", ["cuda:0,2", *choice.also("cuda")])
def test_chunks_whose_sources_are_weighed_by_degree(wide_graphs, devices):
    """Degrees of all vertices are read, though attributes come by chunks; memory is what was planned."""
    for graph in wide_graphs:
        options = RunOptions(devices=[devices], direction="pull", batch_bytes=8 * PAGE, cache="0", chunk_vertices=8192)
        with Engine(graph.store, options) as engine:
            plan = engine.plan(graph.programs["sum_weights"])
            assert len(plan.chunks) == 3 and plan.device_bytes["RA (degrees)"] == 4 * graph.vertices
            found = engine.run(graph.programs["sum_weights"], 4)
        np.testing.assert_allclose(found.value, graph.expected("sum_weights").value, rtol=1e-10)


def test_peers_that_are_copied_piece_by_piece(store, expected, monkeypatch):
    monkeypatch.setattr("gstream.devices.attributes.PIECE_BYTES", 1000)
    for name in PROGRAMS:
        with Engine(store, RunOptions(devices=["cuda:0,1,3"], batch_bytes=4 * PAGE)) as engine:
            found = engine.run(PROGRAMS[name](), max_supersteps=LIMITS.get(name))
            np.testing.assert_allclose(found.value, expected[name].value, rtol=1e-5, err_msg=name)


def test_less_memory_than_it_seemed(store, expected, monkeypatch):
    monkeypatch.setattr(standin, "MEMORY_BYTES", 400 << 20)
    with Engine(store, RunOptions(devices=["cuda"], batch_bytes=4 * PAGE)) as engine:
        planned = engine.plan(PROGRAMS["pagerank"]())
        most = int(sum(planned.device_bytes.values()) * 0.6)
        monkeypatch.setattr(standin, "MEMORY_BYTES", most)
        found = engine.run(PROGRAMS["pagerank"](), max_supersteps=3)
        assert sum(engine.plan(PROGRAMS["pagerank"]()).device_bytes.values()) <= most
    np.testing.assert_allclose(found.value, expected["pagerank"].value, rtol=1e-5)


@pytest.mark.parametrize(("cache", "pages"), [("0", "2 pages"), ("auto", "2 pages"), ("held", "pages, 0 to")])
def test_errors_name_the_kernel_and_its_pages(store, monkeypatch, cache, pages):
    """Whether a launch fails or what was launched shows later; nothing is left on the device."""
    usual, late = standin.Function.prepared_async_call, cache == "auto"
    armed = cache != "held"

    def call(self, *arguments, **given):
        if self.name == "pull_kernel" and armed:
            if not late:
                raise standin.LogicError("cuLaunchKernel failed: made up by the test")
            monkeypatch.setattr(standin.Event, "synchronize", fail)
        usual(self, *arguments, **given)

    def fail(self, right=standin.Event.synchronize):
        monkeypatch.setattr(standin.Event, "synchronize", right)
        raise standin.LogicError("cuEventSynchronize failed: made up by the test")

    monkeypatch.setattr(standin.Function, "prepared_async_call", call)
    options = RunOptions(devices=["cuda"], cache="0" if cache == "0" else "auto", batch_bytes=2 * PAGE, streams=2)
    with Engine(store, options) as engine:
        if cache == "held":
            engine.run(PROGRAMS["pagerank"](), max_supersteps=2)
            armed = True
        named = rf"cuda:0 \(stand-in\), (one of .*)?pull_kernel of PageRank over .*{pages}.*made up"
        with pytest.raises(DeviceError, match=named):
            engine.run(PROGRAMS["pagerank"](), max_supersteps=2)
        monkeypatch.undo()
        monkeypatch.setattr(cuda, "driver", lambda: standin.DRIVER)


def test_traces_have_spans_of_streams(store):
    trace = ChromeTrace()
    with Engine(store, RunOptions(devices=["cuda"], batch_bytes=2 * PAGE, trace=trace)) as engine:
        engine.run(PROGRAMS["pagerank"](), max_supersteps=3)
    names = {event["name"] for event in trace.events() if event["ph"] == "X"}
    pages = store.topology("in").pages
    assert {
        "copy: degree",
        "copy: 2 pages of " + store.topology("in").name,
        f"kernel: {pages} cached pages of {store.topology('in').name}",
    } <= names


FORESTS = {
    "as it is": {"devices": ["cuda"]},
    "no heads": {"devices": ["cuda"], "use_heads": False, "batch_bytes": 2 * PAGE},
    "no heads, streamed": {"devices": ["cuda"], "use_heads": False, "batch_bytes": 2 * PAGE, "cache": "0"},
    "heads by pieces": {"devices": ["cuda"], "device_memory": 250_000, "batch_bytes": PAGE},
    "two": {"devices": ["cuda:0,2"], "batch_bytes": 2 * PAGE},
    "two, no heads": {"devices": ["cuda:0,2"], "use_heads": False},
    "three that don't reach each other": {"devices": ["cuda:0,1,3"], "use_heads": False, "cache": "0"},
}


@pytest.mark.parametrize("options", FORESTS)
def test_components(store, options):
    """Union-find on GPUs gives the host's labels, whatever runs before; sparse graphs have lists left after heads."""
    with gstream.open(store.path) as graph:
        expected = graph.wcc()
        for _ in range(2):
            found = graph.wcc(**FORESTS[options])
            assert found.to_numpy().tobytes() == expected.to_numpy().tobytes()
            assert found.summary["components"] == expected.summary["components"]
        assert found.summary["stats"]["edges_visited"] > 0


@pytest.mark.parametrize(("seed", "edges"), [(1, 0), (2, 700), (3, 1500), (4, 6000)])
def test_components_of_sparse_graphs(tmp_path, seed, edges):
    random = np.random.default_rng(seed)
    source, target = random.integers(0, 3000, (2, edges))
    hub = np.arange(0, 3000, 7)
    if seed == 3:
        source, target = np.concatenate([source, np.full(len(hub), 2999)]), np.concatenate([target, hub])
    matrix = scipy.sparse.coo_matrix((np.ones(len(source)), (source, target)), shape=(3000, 3000))
    count, labels = scipy.sparse.csgraph.connected_components(matrix, directed=False)
    for directed in (True, False):
        path = tmp_path / f"{directed}.gs"
        convert_arrays(path, source, target, vertices=3000, page_bytes=PAGE, directed=directed, order="degree")
        with gstream.open(path) as graph:
            for devices in ("cuda", "cuda:0,2"):
                found = graph.wcc(devices=devices)
                assert found.summary["components"] == count
                mine = found.to_numpy()["component"]
                assert len(np.unique(np.stack([mine, labels]), axis=1).T) == count


def test_components_without_enough_memory_run_on_the_host(store):
    with gstream.open(store.path) as graph:
        expected = graph.wcc().to_numpy()
        assert graph.wcc(devices="cuda", device_memory=20_000).to_numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("there", [True, False])
def test_cuda_may_be_started_early_or_be_missing(monkeypatch, there):
    asked = []

    def ask(name):
        return lambda *arguments: asked.append(name) or 0

    library = SimpleNamespace(cuInit=ask("init"), cuDeviceGet=ask("device"), cuDevicePrimaryCtxRetain=ask("context"))

    def load(name):
        if not there:
            raise OSError(f"{name}: no such file")
        return library

    monkeypatch.setattr(early.ctypes, "CDLL", load)
    monkeypatch.setenv(early.CONNECTIONS[0], "7")  # a user's own is kept
    monkeypatch.setenv(early.VISIBLE, "")
    monkeypatch.delenv(early.VISIBLE)  # as the test found it afterwards
    early.start_cuda([0, 2]).join()
    assert asked == ["init", *(["device", "context"] * 2)] * there
    assert os.environ[early.CONNECTIONS[0]] == "7" and os.environ[early.VISIBLE] == "0,1,2"
