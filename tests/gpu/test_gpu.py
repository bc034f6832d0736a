"""A GPU against the host's cores: the same values whatever streams, caches and memory there are."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from drawn import Drawn, make_graphs, run_components
from engine_graphs import InDegree
from moving import check_moving
from visible import NEEDS_GPU, gpus

from gstream.devices.gpu.driver import Gpu
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC
from gstream.telemetry.trace import ChromeTrace
from pagestore.memory import convert_arrays
from pagestore.store import open_store

pytestmark = NEEDS_GPU
# compute-sanitizer makes kernels some 100 times slower: GSTREAM_SMALL=1 is for it
SMALL = "GSTREAM_SMALL" in os.environ
V, E, SEEDS = (3_000, 20_000, 8) if SMALL else (30_000, 200_000, 60)
PAGE = 4096  # hubs meet large pages, and there are hundreds of small ones


PROGRAMS = {
    "bfs": lambda: BFS(source=3),
    "sssp": lambda: SSSP(source=3),
    "wcc": WCC,
    "pagerank": lambda: PageRank(tolerance=0.0),
    "in-degree": InDegree,
}
LIMITS = {"pagerank": 5}
OPTIONS = {
    "as it is": {},
    "one stream": {"streams": 1, "cache": "0"},
    "two streams": {"streams": 2, "cache": "lru", "device_memory": 1_800_000, "batch_bytes": 1 << 15},
    "small batches": {"batch_bytes": 1 << 14, "cache": "0"},
    "some cache": {"device_memory": 1_800_000, "batch_bytes": 1 << 15},
    "push": {"direction": "push", "cache": "0"},
    "pull": {"direction": "pull", "batch_bytes": 1 << 16},
    "no heads": {"use_heads": False},
    "chunks": {"chunk_vertices": 16384, "batch_bytes": 1 << 15, "streams": 4},
    "chunks by push": {"chunk_vertices": 16384, "direction": "push", "batch_bytes": 1 << 15},
    "from disk": {"host_memory": 2_500_000, "batch_bytes": 1 << 15},
    "a lane a list": {"micro": "vertex"},
    "four lanes a list": {"micro": "4"},
    "a warp a list": {"micro": "edge", "batch_bytes": 1 << 16, "cache": "0"},
    "few pages": {"device_memory": 900_000, "batch_bytes": 1 << 14, "streams": 2},
    "two": {"devices": ["cuda:0,0"]},
    "two, some cache": {"devices": ["cuda:0,0"], "device_memory": 1_800_000, "batch_bytes": 1 << 15, "cache": "lru"},
    "two, chunks": {"devices": ["cuda:0,0"], "chunk_vertices": 16384, "batch_bytes": 1 << 15},
    "cores beside": {"devices": ["host,cuda:0"], "dispatch": "fixed"},
    "cores beside, streamed": {"devices": ["host,cuda:0"], "dispatch": "fixed", "cache": "0", "batch_bytes": 1 << 15},
    "cores beside two, chunks": {"devices": ["host,cuda:0,0"], "dispatch": "fixed", "chunk_vertices": 16384},
    "two, few pages, one stream": {"devices": ["cuda:0,0"], "device_memory": 900_000, "streams": 1},
}
DEVICES = ["cuda:0", "cuda:0,0"]
if gpus() > 1:  # of their own memory, so that what one writes the other has to fetch
    TWO = ",".join(f"cuda:{number}" for number in range(2))
    OPTIONS["two GPUs"] = {"devices": [TWO]}
    OPTIONS["two GPUs, streamed"] = {"devices": [TWO], "cache": "0", "batch_bytes": 1 << 15}
    OPTIONS["two GPUs, push"] = {"devices": [TWO], "direction": "push"}
    OPTIONS["two GPUs, chunks"] = {"devices": [TWO], "chunk_vertices": 16384, "batch_bytes": 1 << 15}
    OPTIONS["two GPUs, few pages, one stream"] = {"devices": [TWO], "device_memory": 900_000, "streams": 1}
    DEVICES.append(TWO)
if gpus() > 3:
    OPTIONS["four GPUs"] = {"devices": ["cuda:0,1,2,3"], "batch_bytes": 1 << 15}
    DEVICES.append("cuda:0,1,2,3")


@pytest.fixture(scope="module", params=["directed 4", "directed 8", "undirected 4"])
def store(request, tmp_path_factory):
    random = np.random.default_rng(11)
    source, target = (V * random.random((2, E)) ** 4).astype(np.int64)
    weight = random.integers(0, 9, E).astype(float)
    path = tmp_path_factory.mktemp("gpu") / "graph.gs"
    kind, width = request.param.split()
    convert_arrays(
        path, source, target, weight, vertices=V, page_bytes=PAGE, id_bytes=int(width), directed=kind == "directed",
        order="degree",
    )  # fmt: skip
    with open_store(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def expected(store):
    with Engine(store) as engine:
        return {name: engine.run(make(), max_supersteps=LIMITS.get(name)) for name, make in PROGRAMS.items()}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_gpu_is_the_host(store, expected, options):
    for name, make in PROGRAMS.items():
        given = OPTIONS[options]
        if "chunk_vertices" in given and given.get("direction") != "push" and name in ("bfs", "sssp", "wcc"):
            given = {**given, "direction": "push"}  # a pull in place has no chunks
        with Engine(store, RunOptions(**{"devices": ["cuda"], **given})) as engine:
            found = engine.run(make(), max_supersteps=LIMITS.get(name))
        wanted = expected[name]
        assert found.converged == wanted.converged, name
        if name not in ("sssp", "wcc"):  # whose values spread within a superstep, as threads happen to run
            assert found.supersteps == wanted.supersteps, name
        if name == "pagerank":
            np.testing.assert_allclose(found.value, wanted.value, rtol=1e-5, err_msg=name)
        else:
            assert np.array_equal(found.value, wanted.value), name


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    graphs = make_graphs(tmp_path_factory.mktemp("graphs"), V, E)
    yield graphs
    for graph in graphs:
        graph.store.close()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_options_give_the_hosts_answers(graphs, seed):
    """Programs of all monoids, memories from ample to what is needed; tests/cuda tries the same without a GPU."""
    Drawn(seed, graphs, DEVICES).run()


@pytest.mark.parametrize("heads", [True, False])
@pytest.mark.parametrize("devices", DEVICES)
def test_any_options_give_the_hosts_components(graphs, devices, heads):
    for seed in range(2 if SMALL else 8):
        run_components(seed, graphs, devices, heads)


def test_one_engine_runs_all_and_again(store, expected):
    with Engine(store, RunOptions(devices=["cuda:0"])) as engine:
        for _ in range(2):
            for name, make in PROGRAMS.items():
                found = engine.run(make(), max_supersteps=LIMITS.get(name))
                np.testing.assert_allclose(found.value, expected[name].value, rtol=1e-5, err_msg=name)


def test_without_reach_peers_are_copied(store, expected, monkeypatch):
    """GPUs that can't read each other's memory merge copies; here every peer is treated so."""
    monkeypatch.setattr(Gpu, "reaches", lambda self, other: False)
    devices = ["cuda:0,1" if gpus() > 1 else "cuda:0,0"]
    for name in ("bfs", "pagerank"):
        with Engine(store, RunOptions(devices=devices, batch_bytes=1 << 15)) as engine:
            found = engine.run(PROGRAMS[name](), max_supersteps=LIMITS.get(name))
        np.testing.assert_allclose(found.value, expected[name].value, rtol=1e-5, err_msg=name)


def test_pages_stay_cached_from_run_to_run(store):
    with Engine(store, RunOptions(devices=["cuda"])) as engine:
        moved = [engine.run(PageRank(tolerance=0.0), max_supersteps=3).stats.bytes_moved for _ in range(2)]
    assert moved[0] == store.topology("in").pages * PAGE and moved[1] == 0


def test_less_memory_than_it_seemed(store, expected, monkeypatch):
    """What the device says it has can't be had: the plan shrinks until the run fits."""
    with Engine(store, RunOptions(devices=["cuda"])) as engine:
        usual, least = Gpu.empty, []

        def empty(self, count, dtype, again=False):
            if count * np.dtype(dtype).itemsize > 12 * V:
                least.append(count)
                raise self.cuda.MemoryError("made up by the test")
            return usual(self, count, dtype, again)

        monkeypatch.setattr(Gpu, "empty", empty)
        found = engine.run(PageRank(tolerance=0.0), max_supersteps=5)
    assert least
    np.testing.assert_allclose(found.value, expected["pagerank"].value, rtol=1e-5)


@pytest.mark.parametrize("devices", DEVICES[1:])
@pytest.mark.parametrize("cache", ["auto", "0"])
def test_pages_may_change_gpus_between_supersteps(store, devices, cache):
    for make in (lambda: PageRank(tolerance=0.0), lambda: BFS(source=3), lambda: SSSP(source=3)):
        check_moving(store, make(), RunOptions(devices=[devices], cache=cache))


def test_traces_have_spans_of_streams(store):
    trace = ChromeTrace()
    options = RunOptions(devices=["cuda"], cache="0", batch_bytes=1 << 16, trace=trace)
    began = time.perf_counter()
    with Engine(store, options) as engine:
        engine.run(PageRank(tolerance=0.0), max_supersteps=3)
    ended = time.perf_counter()
    spans = [span for span in trace._spans if span[0] == "cuda:0"]
    kernels = {span[1] for span in spans if span[2].startswith("kernel: ")}
    assert len(kernels) > 1 and any(span[2].startswith("copy: ") for span in spans)
    assert all(began - 0.01 <= span[3] <= span[4] <= ended + 0.01 for span in spans)


def test_algorithms_through_the_front(store, tmp_path):
    import gstream

    with gstream.open(store.path) as graph:
        for call in (lambda **o: graph.bfs(source=3, **o), lambda **o: graph.wcc(**o)):
            expected = call().to_numpy()
            for options in (
                {},
                {"cache": "0", "use_heads": False},
                {"devices": "cuda:0,1" if gpus() > 1 else "cuda:0,0"},
            ):
                assert np.array_equal(expected, call(**{"devices": "cuda", **options}).to_numpy()), options
