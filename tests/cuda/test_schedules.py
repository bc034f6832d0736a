"""The GPU device in many orders: whatever its streams do first, the answers are the host's."""

from __future__ import annotations

import numpy as np
import pytest
import standin
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

import gstream
from gstream.devices.cuda import DeviceError
from gstream.devices.gpu import GpuDevice
from gstream.driver import Engine
from gstream.options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from pagestore.errors import ResourceError, StoreError

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE = 2000, 16_000, 4096
PROGRAMS = {
    "bfs": (lambda: BFS(source=3), None),
    "sssp": (lambda: SSSP(source=3), None),
    "pagerank": (lambda: PageRank(tolerance=0.0), 4),
}
SEEDS, A_TEST = 200, 10


def options_of(random: np.random.Generator, name: str) -> dict:
    """Any options that the program can run with."""
    given = {
        "devices": [str(random.choice(["cuda", "cuda", "cuda:0,2", "cuda:0,1", "cuda:0,1,2"]))],
        "batch_bytes": PAGE * int(random.integers(1, 6)),
        "streams": int(random.integers(1, 7)),
        "cache": str(random.choice(["auto", "lru", "0"])),
        "direction": str(random.choice(["auto", "push", "pull"])),
        "use_heads": bool(random.integers(2)),
        "micro": str(random.choice(["hybrid", "vertex", "edge"])),
    }
    if random.integers(2):
        given["device_memory"] = int(random.integers(200_000, 450_000))
    if random.integers(3) == 0:
        given["host_memory"] = int(random.integers(130_000, 180_000))
    if random.integers(4) == 0:
        given["chunk_vertices"] = 640
        given["direction"] = "push" if name != "pagerank" else given["direction"]
    return given


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, 41)
    weight = np.random.default_rng(42).integers(1, 9, E).astype(np.float64)
    with make_store(
        tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V, page_bytes=PAGE, order="degree"
    ) as made:
        assert made.topology("in").pages > made.topology("in").small_pages, "the graph has no hub"
        yield made


@pytest.fixture(scope="module")
def expected(store):
    with Engine(store) as engine:
        return {name: engine.run(make(), max_supersteps=limit).value for name, (make, limit) in PROGRAMS.items()}


@pytest.mark.parametrize("first", range(0, SEEDS, A_TEST))
def test_schedules(store, expected, first):
    for seed in range(first, first + A_TEST):
        random = np.random.default_rng(seed)
        name = str(random.choice(list(PROGRAMS)))
        given = options_of(random, name)
        make, limit = PROGRAMS[name]
        standin.WORK.seed(seed)
        with Engine(store, RunOptions(**given)) as engine:
            for _ in range(2):  # the second run finds pages cached
                found = engine.run(make(), max_supersteps=limit).value
                if name == "pagerank":
                    np.testing.assert_allclose(found, expected[name], rtol=1e-5, err_msg=f"seed {seed}: {given}")
                else:
                    assert np.array_equal(found, expected[name]), f"seed {seed}: {name} with {given}"


class Interruption(Exception):
    """What stands for Ctrl-C: it may come wherever the device waits."""


@pytest.mark.parametrize(
    "options", [{}, {"cache": "lru", "device_memory": 300_000}, {"cache": "0"}, {"host_memory": 150_000}]
)
@pytest.mark.parametrize("name", ["pagerank", "bfs"])
def test_an_engine_goes_on_after_an_interruption(store, expected, monkeypatch, options, name):
    """Whatever was on its way when a run broke off is not taken for what it should have become."""
    make, limit = PROGRAMS[name]
    usual, left = standin.Event.synchronize, [0]

    def synchronize(self):
        left[0] -= 1
        if left[0] == 0:
            raise Interruption
        usual(self)

    monkeypatch.setattr(standin.Event, "synchronize", synchronize)
    given = {"devices": ["cuda"], "batch_bytes": 2 * PAGE, "streams": 2, "use_heads": False, **options}
    broken = 0
    for seed, at in enumerate(range(1, 40, 3)):
        standin.WORK.seed(seed)
        with Engine(store, RunOptions(**given)) as engine:
            left[0] = at
            try:
                engine.run(make(), max_supersteps=limit)
            except Interruption:
                broken += 1
            left[0] = 0
            found = engine.run(make(), max_supersteps=limit).value
            np.testing.assert_allclose(found, expected[name], rtol=1e-5, err_msg=f"at {at}")
    assert broken >= 3


def test_a_damaged_page_in_the_middle(store, expected, monkeypatch):
    """Copies that are queued when reading fails are over before their memory goes; the next run is right."""
    from gstream.pages import PageSource

    usual, reads = PageSource._read, [0]

    def read(self, numbers, rows):
        reads[0] += 1
        if reads[0] == 9:
            raise StoreError("made up by the test")
        usual(self, numbers, rows)

    monkeypatch.setattr(PageSource, "_read", read)
    options = RunOptions(devices=["cuda"], batch_bytes=PAGE, host_memory=150_000, use_heads=False)
    with Engine(store, options) as engine:
        with pytest.raises(StoreError):
            engine.run(BFS(source=3))
        assert np.array_equal(engine.run(BFS(source=3)).value, expected["bfs"])


def test_weights_that_a_run_does_not_want_stay_at_home(store, expected):
    """SSSP streams weights with its pages, components after it don't."""
    options = RunOptions(devices=["cuda"], batch_bytes=2 * PAGE, host_memory=250_000, use_heads=False)
    with Engine(store, options) as engine:
        assert np.array_equal(engine.run(SSSP(source=3)).value, expected["sssp"])
        assert np.array_equal(engine.run(BFS(source=3)).value, expected["bfs"])
    with gstream.open(store.path, devices="cuda", host_memory=250_000, use_heads=False) as graph:
        graph.sssp(source=3)
        found = graph.wcc()
    with gstream.open(store.path) as graph:
        assert found.to_numpy().tobytes() == graph.wcc().to_numpy().tobytes()


def test_errors_that_stick(store, monkeypatch):
    """After a fault every call of CUDA fails: the first error is told, and cleaning up raises nothing."""
    usual, dead = standin.Scheduler.add, [False]

    def add(self, stream, operation, after=None):
        if dead[0]:
            raise standin.LogicError("an illegal memory access, made up by the test")
        usual(self, stream, operation, after)

    monkeypatch.setattr(standin.Scheduler, "add", add)
    with Engine(store, RunOptions(devices=["cuda:0,2"], batch_bytes=PAGE, cache="0")) as engine:
        engine.run(PageRank(tolerance=0.0), max_supersteps=1)
        call = standin.Function.prepared_async_call

        def fail(self, *arguments):
            dead[0] = dead[0] or self.name == "apply_kernel"
            call(self, *arguments)

        monkeypatch.setattr(standin.Function, "prepared_async_call", fail)
        for _ in range(2):
            with pytest.raises(DeviceError, match=r"cuda:[02] \(stand-in\).*There is no answer"):
                engine.run(PageRank(tolerance=0.0), max_supersteps=3)
    dead[0] = False
    standin.LIVE.clear()  # lost, as it would be


def test_a_full_gpu_says_so(store, monkeypatch):
    monkeypatch.setattr(standin.DRIVER, "mem_get_info", lambda: (1 << 20, 1 << 30))
    with Engine(store, RunOptions(devices=["cuda"])) as engine:
        with pytest.raises(
            ResourceError, match="cuda:0 .*only 1048576 bytes of its memory are free. End other programs"
        ):
            engine.run(BFS(source=3))


@pytest.mark.parametrize("seed", range(40))
def test_devices_hold_what_was_planned(store, monkeypatch, seed):
    random = np.random.default_rng(1000 + seed)
    name = str(random.choice(list(PROGRAMS)))
    given = options_of(random, name)
    if given["devices"][0] in ("cuda:0,1", "cuda:0,1,2"):
        given["devices"] = ["cuda:0,2"]  # those that don't reach each other copy slices to merge, which no plan counts
    make, limit = PROGRAMS[name]
    held = []
    detach = GpuDevice.detach

    def note(self):
        held.append(self.memory_bytes)
        detach(self)

    monkeypatch.setattr(GpuDevice, "detach", note)
    with Engine(store, RunOptions(**given)) as engine:
        planned = sum(engine.plan(make()).device_bytes.values())
        engine.run(make(), max_supersteps=limit)
    small = 20_000  # bytes of buffers that don't grow with the graph: hubs' sums, maps of rows, sets of vertices
    assert 0 < max(held) <= planned + small, f"seed {seed}: {given}"
