"""The engine's corners: sweeps of page kernels, stores without edges, wide IDs, damaged pages, traces, options."""

from __future__ import annotations

import json
import warnings
import weakref

import numpy as np
import pytest
from engine_graphs import InDegree, both_ways, levels, make_store, run_program, skewed_edges
from numba import njit
from oracle import interpret

from gstream import SUM, Program, f64, total
from gstream.devices.host.device import HostDevice
from gstream.devices.job import DeviceMemoryError
from gstream.engine.engine import Engine
from gstream.hostcode.intrinsics import atomic_add
from gstream.options.run_options import DeviceSpec, RunOptions, parse_devices
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.telemetry.trace import ChromeTrace
from pagestore.errors import DeviceMissingError, ResourceError, StoreError, UsageError
from pagestore.store import open_store
from tests.fakes.device import FakeDevice

V, E = 1500, 20000


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, seed=21)
    weight = np.random.default_rng(22).integers(1, 9, E).astype(np.float64)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, weight, vertices=V) as made:
        made.source, made.target, made.weight = source, target, weight
        yield made


@njit(nogil=True)
def sum_weights(words, weights, parts, counter, sums, degrees):
    """Per vertex: weights and number of its edges, whatever part of a list a part holds."""
    edges, width = 0, words.shape[1]
    while True:
        part = atomic_add(counter, 0, 1)
        if part >= len(parts):
            return edges
        row, first, end = parts[part]
        large = np.int64(words[row, 0]) & 0xFFFFFFFF == 1
        for slot in range(0 if large else first, 1 if large else end):
            vertex, head = np.int64(words[row, width - 2 * slot - 2]), np.int64(words[row, width - 2 * slot - 1])
            begin = first if large else head + 1
            stop = end if large else begin + np.int64(words[row, head])
            for word in range(begin, stop):
                atomic_add(sums, np.uint64(vertex), np.float64(weights[row, word]))
            atomic_add(degrees, np.uint64(vertex), stop - begin)
            edges += stop - begin


class WeightOfLists:
    """Sum of weights and length of each vertex's list; each device counts by itself."""

    needs_weights = True

    def make_state(self):
        return np.zeros(V), np.zeros(V, dtype=np.int64)

    def run(self, words, weights, parts, counter, state):
        return sum_weights(words, weights, parts, counter, *state)

    def merge(self, states):
        return tuple(sum(column) for column in zip(*states, strict=True))


@pytest.mark.parametrize(
    "options",
    [{}, {"devices": ["host:3"]}, {"host_memory": 60_000, "batch_bytes": 8192}, {"devices": ["fake:4:2"]},
     {"devices": ["fake:5:3"], "device_memory": 40_000, "host_memory": 90_000, "cache": "lru", "batch_bytes": 8192}],
    ids=["host", "hosts", "from disk", "fakes", "fakes from disk"],
)  # fmt: skip
def test_sweeps_visit_every_page_once(store, options):
    with Engine(store, RunOptions(**options)) as engine:
        for name, ends in (("out", store.source), ("in", store.target), ("out", store.source)):
            weights, degrees = engine.sweep(name, WeightOfLists())
            assert np.array_equal(degrees, np.bincount(ends, minlength=V))
            assert np.array_equal(weights, np.bincount(ends, weights=store.weight, minlength=V))
        table = engine.graph.tables["out"]
        wanted = np.zeros(table.pages, dtype=bool)
        wanted[[0, 3, table.pages - 1]] = True
        _, degrees = engine.sweep("out", WeightOfLists(), wanted)
        assert degrees.sum() == table.edges[wanted].sum()
        program = engine.run(BFS(source=1))  # a program after sweeps, on the same pages
    assert np.array_equal(program.value, levels(V, store.source, store.target, [1]))


def test_a_sweep_names_the_missing_topology(tmp_path):
    with make_store(tmp_path, np.array([0]), np.array([1]), topology="in") as made, Engine(made) as engine:
        with pytest.raises(UsageError, match="no out-topology"):
            engine.sweep("out", WeightOfLists())


@pytest.mark.parametrize("devices", ["host", "host:2", "fake:1:2"])
@pytest.mark.parametrize("vertices", [1, 70, 70_000])
def test_graphs_without_edges(tmp_path, devices, vertices):
    none = np.zeros(0, dtype=np.int64)
    with make_store(tmp_path, none, none, vertices=vertices) as made:
        options = RunOptions(devices=[devices])
        ranks = run_program(made, PageRank(), options)
        assert np.allclose(ranks.value, 1 / vertices) and ranks.converged
        found = run_program(made, BFS(source=vertices - 1), options)
        assert found.converged and (found.value != 2**32 - 1).sum() == 1


@pytest.mark.long
def test_wide_ids_and_float_weights(tmp_path):
    source, target = skewed_edges(900, 9000, seed=2)
    weight = np.random.default_rng(1).random(9000)
    narrow = make_store(tmp_path / "a", source, target, weight, vertices=900, directed=False)
    wide = make_store(tmp_path / "b", source, target, weight, vertices=900, directed=False, id_bytes=8)
    with narrow, wide:
        assert wide.meta.id_bytes == 8
        for program in (BFS(source=5), SSSP(source=5), PageRank()):
            assert np.array_equal(run_program(narrow, program).value, run_program(wide, program).value)
        assert np.array_equal(run_program(wide, BFS(source=5)).value, levels(900, *both_ways(source, target), [5]))


@pytest.mark.parametrize("options", [{}, {"host_memory": 60_000, "batch_bytes": 8192}, {"devices": ["fake:1:2"]}])
def test_a_damaged_page_is_an_error_and_the_engine_goes_on(tmp_path, options):
    source, target = skewed_edges(V, E, seed=3)
    with make_store(tmp_path, source, target, vertices=V) as made:
        path, offset = made.path, made.topology("in").pages_offsets[0]
    good = 4096 * 5 + 100
    with open_store(path) as made, Engine(made, RunOptions(**options)) as engine:
        flip(path, offset + good)
        for _ in range(2):
            with pytest.raises(StoreError, match="page 5 of topology in"):
                engine.run(PageRank(), max_supersteps=2)
        flip(path, offset + good)
        assert engine.run(PageRank(), max_supersteps=2).supersteps == 2


def test_memory_that_runs_out_is_an_error_with_sizes(store, monkeypatch):
    def attach(device, job):
        raise MemoryError("Unable to allocate")

    with Engine(store) as engine:
        monkeypatch.setattr(HostDevice, "attach", attach)
        with pytest.raises(ResourceError, match=r"the run takes \d+ bytes \(pages"):
            engine.run(BFS(source=1))


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def test_supersteps_end_at_the_limit(store):
    found = run_program(store, BFS(source=1), RunOptions(max_supersteps=1))
    assert (found.supersteps, found.converged) == (1, False)
    assert set(np.unique(found.value)) == {0, 1, 2**32 - 1}
    nothing = run_program(store, PageRank(), RunOptions(max_supersteps=0))
    assert nothing.supersteps == 0 and np.allclose(nothing.value, 1 / V)


class Undefined(Program):
    """NaN at vertex 0, and where it is passed on to."""

    combine, value = SUM, f64

    def start(self, v, g):
        return 1.0

    def send(self, u, e, g):
        return u.value

    def apply(self, v, got, g):
        return 0.0 * (1.0 / v.id) if v.id else (1.0 / v.id) * 0.0


def test_a_sum_that_starts_with_zeros_is_made(store):
    degree = np.bincount(store.target, minlength=V)
    for options in (RunOptions(), RunOptions(direction="push"), RunOptions(devices=["fake:3"])):
        found = run_program(store, InDegree(), options)
        assert np.array_equal(found.value, degree)
        assert (found.supersteps, found.converged) == (2, True)
    told = interpret(InDegree(), V, store.source, store.target)
    assert np.array_equal(told.values, degree) and told.supersteps == 2


def test_values_that_are_not_a_number_come_to_rest(store):
    found = run_program(store, Undefined(), RunOptions(max_supersteps=9))
    assert np.isnan(found.value[0]) and not np.isnan(found.value[1:]).any()
    assert (found.supersteps, found.converged) == (2, True)
    told = interpret(Undefined(), V, store.source, store.target)
    assert np.array_equal(told.values, found.value, equal_nan=True) and told.supersteps == 2


def test_progress_is_told_after_every_superstep(store):
    told = []
    found = run_program(store, BFS(source=1), RunOptions(progress=lambda number, step: told.append((number, step))))
    assert told == list(enumerate(found.stats.per_superstep, 1))


class Within:
    """A progress callback that is told of pages, too."""

    def __init__(self):
        self.told, self.steps = [], []

    def __call__(self, number, step):
        self.steps.append((number, step.pages))

    def within(self, superstep, done, total):
        self.told.append((superstep, done, total))


def run_three(store, options):
    with Engine(store, options) as engine:
        engine.run(PageRank(tolerance=0.0), max_supersteps=3)


@pytest.mark.parametrize("devices", [["host"], ["host:2"]])
def test_progress_is_told_of_pages_within_a_superstep(store, monkeypatch, devices):
    monkeypatch.setattr("gstream.telemetry.progress.WITHIN_SECONDS", 0.0)
    shown = Within()
    options = RunOptions(progress=shown, host_memory=60_000, batch_bytes=8192, devices=devices)
    run_three(store, options)
    with Engine(store) as engine:
        pages = engine.graph.tables["in"].pages
    assert {superstep for superstep, _, _ in shown.told} == {1, 2, 3} and len(shown.told) > 6
    for superstep in (1, 2, 3):
        dones = [(done, total) for number, done, total in shown.told if number == superstep]
        assert dones == sorted(dones) and dones[-1] == (pages, pages) if devices == ["host"] else dones
        assert all(0 <= done <= total == pages for done, total in dones)
    monkeypatch.setattr("gstream.telemetry.progress.WITHIN_SECONDS", 60.0)
    before = len(shown.told)
    run_three(store, options)
    assert len(shown.told) == before and len(shown.steps) == 6


def test_pages_that_another_run_drops_are_freed(store):
    with Engine(store, RunOptions(host_memory=200_000, batch_bytes=8192)) as engine:
        for program in (BFS(source=1), PageRank(), BFS(source=1)):
            before = {id(source): weakref.ref(source.pages) for source in engine.sources.distinct()}
            engine.run(program, max_supersteps=2)
            kept = {id(source) for source in engine.sources.distinct()}
            assert all(rows() is None for number, rows in before.items() if number not in kept)


def test_only_pages_with_frontier_vertices_move(store):
    with Engine(store, RunOptions(direction="push")) as engine:
        found = engine.run(BFS(source=1))
        table = engine.graph.tables["out"]
    level = levels(V, store.source, store.target, [1])
    for depth, step in enumerate(found.stats.per_superstep):
        frontier = np.flatnonzero(level == depth).astype(np.uint64)
        assert step.frontier == len(frontier)
        first, last = table.first_vertex[:, None], table.last_vertex[:, None]
        assert step.pages == ((frontier >= first) & (frontier <= last)).any(axis=1).sum()
    assert found.stats.edges_visited == sum(np.bincount(store.source, minlength=V)[level != 2**32 - 1])


def test_caches_count_hits_and_stay_warm(store):
    with Engine(store, RunOptions(host_memory=120_000, batch_bytes=8192)) as engine:
        first = engine.run(PageRank(tolerance=0.0), max_supersteps=3).stats
        second = engine.run(PageRank(tolerance=0.0), max_supersteps=3).stats
        pages = engine.graph.tables["in"].pages
    assert first.cache_hits + first.cache_misses == second.cache_hits + second.cache_misses == 3 * pages
    assert 0 < first.cache_hits < second.cache_hits
    assert second.bytes_read_disk == second.cache_misses * 4096 < first.bytes_read_disk


def test_traces_open_as_json_and_cover_the_run(store, tmp_path):
    trace = ChromeTrace()
    run_program(store, PageRank(), RunOptions(trace=trace, host_memory=60_000, batch_bytes=8192))
    trace.write(tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    named = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"disk", "driver", "host:0", "kernels", "merges", "supersteps"} <= named
    spans = [event for event in events if event["ph"] == "X"]
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in spans)
    assert any("pages of in" in event["name"] for event in spans)


def test_devices_are_named_one_by_one_or_joined():
    assert [spec.seed for spec in parse_devices(["cuda:0,1", "cuda:3"])] == [0, 1, 3]
    assert parse_devices(["cuda"]) == [DeviceSpec("cuda", 0)]
    assert parse_devices(["fake:7:2,fake:1"]) == [DeviceSpec("fake", seed) for seed in (7, 8, 1)]


@pytest.mark.parametrize("most", [150_000, 60_000, 40_000])
def test_less_device_memory_than_it_seemed(store, monkeypatch, most):
    """Cache, batches and WA shrink until the run fits; the answer stays. Too little: an error that names the bytes."""
    with Engine(store) as engine:
        expected = engine.run(PageRank()).value
    tried = []

    def attach(self, job, usual=FakeDevice.attach):
        tried.append(engine.plan(PageRank()))
        usual(self, job)
        if self.memory_bytes > most:
            raise DeviceMemoryError("the fake device's memory ran out")

    monkeypatch.setattr(FakeDevice, "attach", attach)
    with Engine(store, RunOptions(devices=["fake:1"], batch_bytes=8192)) as engine:
        np.testing.assert_allclose(engine.run(PageRank()).value, expected, rtol=1e-5)
    held = [sum(plan.device_bytes.values()) for plan in tried]
    assert len(tried) > 1 and held == sorted(held, reverse=True)


def test_no_device_memory_at_all(store, monkeypatch):
    def attach(self, job):
        raise DeviceMemoryError("the fake device's memory ran out")

    monkeypatch.setattr(FakeDevice, "attach", attach)
    with Engine(store, RunOptions(devices=["fake:1"])) as engine:
        with pytest.raises(
            ResourceError, match=r"--device-memory \d+ bytes: too little .* \d+ bytes are needed at least"
        ):
            engine.run(PageRank())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": ["gpu"]}, "--devices gpu: not a device"),
        ({"devices": ["cuda:0,one"]}, "--devices one: not a device"),
        ({"devices": ["0", "1"]}, "--devices 0: not a device"),
        ({"devices": ["host:two"]}, "after a colon comes a number"),
        ({"devices": ["fake:" + "9" * 5000]}, "after a colon comes a number"),
        ({"devices": ["host:0"]}, "names no device"),
        ({"devices": ["host", "cuda", "fake:1"]}, "all of one kind"),
        ({"cache": "fifo"}, "cache: 'fifo' is unknown"),
        ({"direction": "up"}, "direction: 'up' is unknown"),
        ({"micro": "wide"}, "micro: 'wide' is unknown"),
        ({"host_memory": 0}, "host_memory: 0 is too small"),
        ({"batch_bytes": 0}, "batch_bytes: 0 is too small"),
        ({"batch_bytes": "2GiB"}, "batch_bytes: 2 GiB is too large; the limit is 1 GiB"),
        ({"streams": 100_000}, "streams: 100000 is too large; the limit is 128"),
        ({"read_threads": 1000}, "read_threads: 1000 is too large; the limit is 64"),
        ({"threads": 100_000}, r"threads 100000: it must be 1 to \d+\. Leave it out"),
        ({"devices": ["host:100000"]}, r"--devices host:100000: 100000 devices would share \d+ cores; the limit is"),
        ({"devices": ["fake:1:99999999999"]}, "99999999999 devices would share"),
        ({"host_memory": "900TiB"}, "host_memory 900 TiB: more than the .* that this machine"),
        ({"device_memory": "2PiB"}, "device_memory 2PiB: too much; the limit is 1 PiB"),
        ({"host_memory": "lots"}, "host_memory lots: not a size"),
    ],
)
def test_options_outside_their_limits_are_refused(store, options, message):
    with pytest.raises(UsageError, match=message):
        Engine(store, RunOptions(**options)).close()


def test_sizes_may_be_text(store):
    options = RunOptions(host_memory="1MiB", device_memory="8MB", batch_bytes="64k")
    assert options == RunOptions(host_memory=1 << 20, device_memory=8_000_000, batch_bytes=1 << 16)
    with Engine(store, options) as engine:
        assert engine.host_memory == 1 << 20


def test_a_device_that_is_not_there(store):
    with pytest.raises(DeviceMissingError, match="--devices cuda.* (Pass|pass|Name|Leave out)"):
        Engine(store, RunOptions(devices=["cuda:99"]))


@pytest.mark.long
def test_a_program_that_diverges_gives_infinity_without_a_warning(store):
    class Diverges(Program):
        combine, value = SUM, f64

        def start(self, v, g):
            return 1e300

        def send(self, u, e, g):
            return u.value * 1e10

        @total
        def sum(self, v):
            return v.value

    with Engine(store) as engine, warnings.catch_warnings():
        warnings.simplefilter("error")
        found = engine.run(Diverges(), max_supersteps=3)
    assert np.isinf(found.value).any() and found.totals["sum"] == np.inf
