"""Memory runs out anywhere: on the GPU the run or sweep makes do with less, in host memory it ends in words."""

from __future__ import annotations

from pathlib import Path

import choice
import compilers
import numpy as np
import pytest
import standin
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges

import gstream
from gstream.devices.gpu import driver as cuda
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from pagestore.errors import GstreamError, ResourceError

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE = 3000, 20_000, 4096
PROGRAMS = {"bfs": lambda: BFS(source=3), "pagerank": lambda: PageRank(tolerance=0.0)}
PLACES = {
    "one": {"devices": ["cuda"], "batch_bytes": 2 * PAGE},
    "some cache": {"devices": ["cuda"], "device_memory": 400_000, "batch_bytes": PAGE, "cache": "lru"},
    "two": {"devices": ["cuda:0,1"], "batch_bytes": 2 * PAGE},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, 31)
    folder = tmp_path_factory.mktemp("stores")
    with make_store(folder, source, target, vertices=V, directed=False, page_bytes=PAGE, order="degree") as made:
        yield made


@pytest.fixture(scope="module")
def expected(store):
    with Engine(store) as engine:
        return {name: engine.run(make(), max_supersteps=3).value for name, make in PROGRAMS.items()}


class Shortage:
    """Fails call number `at` (from 0) of what it wraps; `calls` counts them."""

    def __init__(self, usual, error, at=None):
        self.usual, self.error, self.at, self.calls = usual, error, at, 0

    def __call__(self, *arguments):
        self.calls += 1
        if self.calls - 1 == self.at:
            raise self.error
        return self.usual(*arguments)


def each_call(monkeypatch, where, name, error, run, times=40):
    """Run once to count the calls, then with each of so many of them failing in its turn, the first to the last.

    A quarter of them in `make test`: its callers are marked `longer`.
    """
    usual = getattr(where, name)
    counted = Shortage(usual, error)
    monkeypatch.setattr(where, name, lambda *a: counted(*a))
    run()
    assert counted.calls > 1
    for at in np.unique(np.linspace(0, counted.calls - 1, choice.few(times // 4, times)).astype(int)).tolist():
        failing = Shortage(usual, error, at)
        monkeypatch.setattr(where, name, lambda *a, failing=failing: failing(*a))
        yield at
    monkeypatch.setattr(where, name, usual)


@pytest.mark.longer
@pytest.mark.covering(1)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_allocation_may_fail_once(store, expected, monkeypatch, place, program):
    """The plan shrinks, and the answer is the same. Engines start with an empty GPU."""

    def run():
        with Engine(store, RunOptions(**PLACES[place])) as engine:
            for _ in range(2):
                found = engine.run(PROGRAMS[program](), max_supersteps=3)
                np.testing.assert_allclose(found.value, expected[program], rtol=1e-5)

    for at in each_call(monkeypatch, standin.DRIVER, "mem_alloc", standin.MemoryError("made up by the test"), run):
        run()
        assert not standin.LIVE, f"allocation {at}: memory is left"


@pytest.mark.longer
@pytest.mark.covering(1)
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,1", "cuda:0,2"])
@pytest.mark.parametrize("heads", [True, False])
def test_every_allocation_of_components_may_fail_once(store, monkeypatch, devices, heads):
    with gstream.open(store.path) as graph:
        labels = graph.wcc().to_numpy()

    def run():
        with gstream.open(store.path) as graph:
            found = graph.wcc(devices=devices, use_heads=heads, batch_bytes=2 * PAGE).to_numpy()
            assert found.tobytes() == labels.tobytes()

    for at in each_call(monkeypatch, standin.DRIVER, "mem_alloc", standin.MemoryError("made up by the test"), run):
        run()
        assert not standin.LIVE, f"allocation {at}: memory is left"


@pytest.mark.parametrize("heads", [True, False])
def test_forests_hold_no_more_than_the_cap(store, heads):
    """Also those whose peers are copied piece by piece; the stand-in's numbers 0 and 1 don't reach each other."""
    with gstream.open(store.path) as graph:
        labels = graph.wcc().to_numpy()
    for cap in (90_000, 120_000, 200_000):
        most = {}

        class Counted(standin.Allocation):
            def __init__(self, size, most=most):
                super().__init__(size)
                held = sum(taken.size for taken in standin.LIVE.values() if taken.context is self.context)
                most[self.context] = max(most.get(self.context, 0), held)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(standin, "Allocation", Counted)
            with gstream.open(store.path) as graph:
                found = graph.wcc(devices="cuda:0,1", use_heads=heads, device_memory=cap, batch_bytes=2 * PAGE)
        assert found.to_numpy().tobytes() == labels.tobytes()
        assert not most or max(most.values()) <= cap


@pytest.mark.longer
def test_every_pin_may_fail(store, expected, monkeypatch):
    """The error is that of the pin, nothing stays pinned, and the engine works afterwards."""
    pinned = []

    def pin(gpu, array, touched=False, usual=cuda.Gpu.pin):
        undo = usual(gpu, array, touched)
        pinned.append(array.ctypes.data)

        def unpin():
            undo()
            pinned.remove(array.ctypes.data)

        return unpin

    monkeypatch.setattr(cuda.Gpu, "pin", pin)

    def run():
        with Engine(store, RunOptions(**PLACES["one"])) as engine:
            for name, make in PROGRAMS.items():
                try:
                    engine.run(make(), max_supersteps=3)
                except ResourceError as error:
                    assert "made up by the test" in str(error)
                found = engine.run(make(), max_supersteps=3)
                np.testing.assert_allclose(found.value, expected[name], rtol=1e-5)
        assert not pinned and not standin.LIVE

    for _ in each_call(monkeypatch, cuda.Gpu, "pin", ResourceError("made up by the test"), run):
        run()


@pytest.mark.longer
def test_every_pinned_array_may_be_refused(store, monkeypatch):
    def run():
        with Engine(store, RunOptions(**PLACES["one"])) as engine:
            engine.run(PROGRAMS["bfs"]())

    error = standin.MemoryError("made up by the test")
    for _ in each_call(monkeypatch, standin.DRIVER, "pagelocked_empty", error, run):
        with pytest.raises(ResourceError, match=r"host memory can't be pinned .*made up.*--host-memory.*ulimit -l"):
            run()
        assert not standin.LIVE


def test_a_gpu_with_no_room_for_a_program(monkeypatch):
    cuda._primary_context.cache_clear()

    def retain(device):
        raise standin.MemoryError("made up by the test")

    monkeypatch.setattr(standin.Device, "retain_primary_context", retain)
    with pytest.raises(GstreamError, match=r"cuda:0 .*has no room for a program"):
        cuda.Gpu(0)


def test_a_damaged_kernel_file_is_made_anew(store, expected, monkeypatch, tmp_path):
    """As a crash of the system may leave one: no error, and the file is whole afterwards."""
    made = []

    def compile_unit(unit, architecture):
        path = tmp_path / "unit.so"
        if not path.exists():
            made.append(path)
            path.write_bytes((compilers.compile_unit(unit)).read_bytes() if len(made) > 1 else b"cut short")
        return path

    def module_from_file(path, usual=standin.DRIVER.module_from_file):
        if Path(path).read_bytes() == b"cut short":
            raise standin.LogicError("invalid image")
        return usual(path)

    monkeypatch.setattr(cuda, "_LOADED", {})
    monkeypatch.setattr("gstream.cudacode.generate.Unit.compile", compile_unit)
    monkeypatch.setattr(standin.DRIVER, "module_from_file", module_from_file)
    with Engine(store, RunOptions(**PLACES["one"])) as engine:
        np.testing.assert_array_equal(engine.run(PROGRAMS["bfs"](), max_supersteps=3).value, expected["bfs"])
    assert len(made) == 2


def test_pages_stay_pinned_where_their_weights_can_not_be(tmp_path, monkeypatch):
    """Copies of other pages are queued then, which nothing may be unpinned under; the next run pins what is missing."""
    source, target = skewed_edges(V, E, 31)
    weight = np.random.default_rng(32).integers(1, 9, E).astype(np.float64)
    usual, calls = cuda.Gpu.pin, [0]

    def pin(gpu, array, touched=False):
        calls[0] += 1
        if calls[0] in failing:
            raise ResourceError("made up by the test")
        return usual(gpu, array, touched)

    monkeypatch.setattr(cuda.Gpu, "pin", pin)
    with make_store(tmp_path, source, target, weight, vertices=V, page_bytes=PAGE) as made:
        with Engine(made) as engine:
            expected = engine.run(SSSP(source=3)).value
        for cap in ({}, {"host_memory": 200_000}):
            failing, calls[0] = (), 0
            with Engine(made, RunOptions(devices=["cuda"], cache="0", batch_bytes=PAGE, streams=2, **cap)) as engine:
                engine.run(SSSP(source=3))
            for number in range(1, calls[0] + 1):
                failing, calls[0] = (number,), 0
                standin.WORK.seed(number)
                with Engine(
                    made, RunOptions(devices=["cuda"], cache="0", batch_bytes=PAGE, streams=2, **cap)
                ) as engine:
                    with pytest.raises(ResourceError, match="made up by the test"):
                        engine.run(SSSP(source=3))
                    assert engine.run(SSSP(source=3)).value.tobytes() == expected.tobytes()
                assert not standin.PINNED, f"pin {number}, {cap}"
