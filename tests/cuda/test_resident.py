"""Arrays that stay on a GPU from round to round: sweeps that are only queued, and what becomes of them on failure."""

from __future__ import annotations

import random

import choice
import numpy as np
import pytest
import standin
from compilers import needs_gxx
from engine_graphs import make_store, skewed_edges
from record_graphs import make_path
from test_breaks import CtrlC, Fault
from test_shortage import each_call

import gstream
from gstream.algorithms.support import lists, resident
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.devices.gpu import driver as cuda
from gstream.devices.gpu import resident_arrays as gpuresident
from gstream.devices.gpu.arrays import Array, Shelves
from gstream.devices.gpu.driver import DeviceError
from gstream.devices.gpu.resident_arrays import GpuArrays
from gstream.records import item_kernel, record_kernel
from gstream.telemetry.trace import ChromeTrace
from pagestore.errors import ResourceError
from pagestore.memory import convert_arrays

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE = 400, 7000, 4096
PLACES = {
    "cached": {},
    "streamed": {"cache": "0", "batch_bytes": 2 * PAGE, "streams": 2},
    "LRU": {"cache": "lru", "batch_bytes": PAGE, "device_memory": 150_000},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return make_path(tmp_path_factory.mktemp("stores"), "undirected", V, E, PAGE)


@pytest.fixture(scope="module")
def expected(path):
    with gstream.open(path) as graph:
        return {name: answer(graph, name) for name in ("kcore", "coloring")}


def answer(graph, name, **options):
    found = graph.execute(name, {}, **options)
    return found.to_numpy()[found.columns[-1]].tolist()


@item_kernel(twice="own")
def double(item, array, twice):
    begin, end = item.part(item.number * 64, min((item.number + 1) * 64, len(array)))
    for index in range(begin, end):
        twice[index] = array[index] * 2


@record_kernel(sums="sum")
def add_own(record, twice, sums):
    for u in record.neighbours():
        sums[u] += twice[0]  # not atomic: of a cell that is written with anything it is not 0 any more


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["kcore", *choice.also("coloring")])
def test_rounds_are_queued_where_pages_are_cached(path, expected, place, name, monkeypatch):
    queued, batches = [], []
    sweep, by_batches = GpuArrays.sweep, Resident._by_batches
    monkeypatch.setattr(GpuArrays, "sweep", lambda *given: queued.append(sweep(*given)) or queued[-1])
    monkeypatch.setattr(Resident, "_by_batches", lambda *given: batches.append(1) or by_batches(*given))
    with gstream.open(path) as graph:
        assert answer(graph, name, devices="cuda", **PLACES[place]) == expected[name]
        first = len(batches)
        assert answer(graph, name, devices="cuda", **PLACES[place]) == expected[name]
    assert (len(batches) == first) == (place == "cached")
    assert any(queued) == (place == "cached") == (first == 0)


def test_traces_have_spans_of_rounds(path):
    trace = ChromeTrace()
    with gstream.open(path, devices="cuda", trace=trace) as graph:
        graph.coloring()
        graph.coloring()
        pages = graph._store.topology("out").pages
    names = [event["name"] for event in trace.events() if event["ph"] == "X"]
    assert names.count("kernel: give_colors, 1 items") >= 2
    assert any(name.startswith(f"kernel: tell_behind, {pages} cached pages of ") for name in names)


def test_what_the_host_sees(path):
    with gstream.open(path, devices="cuda") as graph, Session(graph.engine()) as session:
        array, twice, sums = np.arange(V, dtype=np.int64), np.zeros(V, np.int64), np.zeros(V, np.int64)
        with Resident(session, array, twice, sums) as held:
            held.each(double, -(-V // 64), array, twice)
            assert not twice.any()
            assert np.array_equal(held.read(twice), 2 * array)
            array[:] = 5
            held.put(array)
            held.each(double, -(-V // 64), array, twice)
            for _ in range(2):
                held.sweep("out", add_own, (twice, sums))
            held.forget(twice)
        assert sums.all() and twice[1] == 2 and array[0] == 5
        session.finish(1, True)


def test_an_array_that_is_not_there_is_copied_for_a_sweep(path):
    """And read back; those that are there are as kernels before left them."""
    with gstream.open(path, devices="cuda") as graph, Session(graph.engine()) as session:
        array, twice, sums = np.full(V, 5), np.zeros(V, np.int64), np.zeros(V, np.int64)
        with Resident(session, array, twice) as held:
            held.each(double, -(-V // 64), array, twice)
            held.sweep("out", add_own, (twice, sums))
            assert sums.all() and not twice.any()
        assert (twice == 10).all()


def test_programs_come_after_what_is_queued(path, expected):
    """They work with the same pages and claims on streams of their own."""
    with gstream.open(path, devices="cuda") as graph, Session(graph.engine()) as session:
        before = graph.wcc().to_numpy()
        session.sweep("out", add_own, (np.zeros(V, np.int64), np.zeros(V, np.int64)))
        twice, sums = np.ones(V, np.int64), np.zeros(V, np.int64)
        for seed in range(5):
            standin.WORK.seed(seed)
            with Resident(session, twice, sums) as held:
                held.sweep("out", add_own, (twice, sums))
                assert graph.bfs(source=3).to_numpy()["distance"][3] == 0
                assert np.array_equal(graph.wcc().to_numpy(), before)
            assert sums.all()


@pytest.mark.longer
@pytest.mark.covering(1)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["kcore", *choice.also("coloring")])
def test_every_allocation_may_fail_once(path, expected, monkeypatch, name, place):
    """The plan shrinks, or the host's cores go on with what GPUs have made of the arrays so far."""

    def run():
        with gstream.open(path) as graph:
            for _ in range(2):
                assert answer(graph, name, devices="cuda", **PLACES[place]) == expected[name]

    failure = standin.MemoryError("made up by the test")
    for at in each_call(monkeypatch, standin.DRIVER, "mem_alloc", failure, run, times=16):
        run()
        assert not standin.LIVE, f"allocation {at}: memory is left"


def starve(monkeypatch, owner, name):
    """No GPU memory is had any more once owner.name has been called more than so many times: the list's one number.
    None is kept to be used again."""
    usual, called, left = standin.DRIVER.mem_alloc, getattr(owner, name), [0]

    def refuse(size):
        if left[0] < 0:
            raise standin.MemoryError("made up by the test")
        return usual(size)

    def count(*given):
        left[0] -= 1
        return called(*given)

    monkeypatch.setattr(standin.DRIVER, "mem_alloc", refuse)
    monkeypatch.setattr(owner, name, count)
    monkeypatch.setattr(
        Shelves, "take", lambda _, count, dtype, take: Array(take(count * dtype.itemsize), count, dtype)
    )
    return left


@pytest.mark.parametrize("name", ["kcore", *choice.also("coloring")])
def test_the_cores_go_on_where_memory_runs_out_between_rounds(path, expected, monkeypatch, name):
    """Every allocation from some sweep on fails."""
    left = starve(monkeypatch, Session, "sweep_gpus")
    for rounds in (1, 2, 3, 5, 9):
        left[0] = rounds
        with gstream.open(path) as graph:
            found = graph.execute(name, {}, devices="cuda", **PLACES["streamed"])
        assert found.to_numpy()[found.columns[-1]].tolist() == expected[name]
        assert "had no room" in found.summary["note"] and not standin.LIVE


@pytest.mark.covering(1)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rounds", [1, 2, 4, 7, 1000])
def test_searches_go_on_where_memory_runs_out(path, monkeypatch, place, rounds):
    """Of betweenness, whose cores keep what a GPU finds anew: from some sweep on, by batches or not, nothing is had."""
    with gstream.open(path) as graph:
        expected = graph.betweenness(source=[3, 77, 150]).to_numpy()["betweenness"]
        starve(monkeypatch, Resident, "sweep")[0] = rounds
        found = graph.execute("betweenness", {"source": [3, 77, 150]}, devices="cuda", **PLACES[place])
    np.testing.assert_allclose(found.to_numpy()["betweenness"], expected, rtol=1e-12)
    assert rounds < 1000 or "note" not in found.summary
    assert not standin.LIVE


@pytest.mark.parametrize("name", ["kcore", *choice.also("coloring")])
def test_the_cores_go_on_where_a_launch_has_no_room(path, expected, monkeypatch, name):
    """For what its threads put in memory, of which the driver takes more at a kernel's first launch."""
    usual, at = standin.Function.prepared_async_call, [0]

    def launch(*given, **named):
        at[0] -= 1
        if at[0] == 0:
            raise standin.MemoryError("made up by the test")
        usual(*given, **named)

    with gstream.open(path) as graph:
        answer(graph, name, devices="cuda")
        monkeypatch.setattr(standin.Function, "prepared_async_call", launch)
        noted = 0
        for number in (1, 2, 3, 4, 7, 12, 20, 31):
            at[0] = number
            found = graph.execute(name, {}, devices="cuda")
            noted += "had no room" in found.summary.get("note", "")
            assert found.to_numpy()[found.columns[-1]].tolist() == expected[name], f"launch {number}"
    assert noted >= 6 and not standin.LIVE


@pytest.mark.parametrize("place", choice.seeds(1, PLACES))
def test_an_engine_goes_on_after_ctrl_c(path, expected, place, monkeypatch):
    made, broken, calls = CtrlC(), 0, {}
    for owner, function in (
        (standin.Event, "synchronize"),
        (standin.Stream, "synchronize"),
        (standin.Function, "prepared_async_call"),
    ):
        usual = getattr(owner, function)
        monkeypatch.setattr(owner, function, lambda *given, usual=usual, **named: made.call(usual, *given, **named))
    for seed in range(16):
        name = ("kcore", "coloring")[seed % 2]
        standin.WORK.seed(seed)
        with gstream.open(path, devices="cuda", **PLACES[place]) as graph:
            if name in calls:
                broken += made.ends(
                    lambda graph=graph, name=name: answer(graph, name), random.Random(seed), calls[name]
                )
            else:
                calls[name] = made.count(lambda graph=graph, name=name: answer(graph, name))
            assert answer(graph, name) == expected[name], f"seed {seed}"
    assert broken >= 8


@pytest.mark.parametrize("place", ["cached", "streamed"])
@pytest.mark.parametrize(
    ("name", "kernel"),
    [("kcore", "settle_kernel"), ("kcore", "peel_kernel"), ("coloring", "give_colors_kernel")],
)
def test_errors_that_stick(path, monkeypatch, place, name, kernel):
    """The first error is told, with the kernels that it may come from, and cleaning up raises nothing."""
    fault = Fault(monkeypatch)
    with gstream.open(path, devices="cuda", **PLACES[place]) as graph:
        answer(graph, name)
        fault.kernel = kernel
        with pytest.raises(DeviceError, match=r"cuda:0 \(stand-in\).*error 1 of the test.*There is no answer"):
            answer(graph, name)
        with pytest.raises(DeviceError, match="it failed before|of the test"):
            answer(graph, name)
    assert fault.errors > 2
    fault.over()


def test_rounds_past_the_end_change_nothing(path, expected, monkeypatch):
    for most in (1, 3, 64):
        monkeypatch.setattr(resident, "MOST_QUEUED", most)
        with gstream.open(path, devices="cuda") as graph:
            for name in ("kcore", "coloring"):
                assert answer(graph, name) == expected[name]


def test_pages_are_not_chosen_for_ever(tmp_path, monkeypatch):
    """Where the GPU has room for all pages, they are all there once choosing them has cost as much."""
    monkeypatch.setattr(resident, "SWEEP_BYTES", PAGE)
    source, target = skewed_edges(V, E, 31)
    with make_store(tmp_path, source, target, vertices=V, directed=False, page_bytes=PAGE) as store:
        pages = store.topology("out").pages
        with gstream.open(store.path, devices="cuda") as graph, Session(graph.engine()) as session:
            wanted, by_batches = [], Resident._by_batches
            monkeypatch.setattr(Resident, "_by_batches", lambda *given: wanted.append(given[-1]) or by_batches(*given))
            bits, twice, sums = np.array([1] + [0] * (V // 64), np.uint64), np.ones(V, np.int64), np.zeros(V, np.int64)
            with Resident(session, bits, twice, sums) as held:
                for _ in range(pages):
                    held.sweep("out", add_own, (twice, sums), bits)
    assert 1 < len(wanted) < pages and all(chosen.sum() < pages for chosen in wanted)


@pytest.mark.parametrize("refused", [False, True])
def test_what_is_read_round_by_round_is_pinned_once(path, monkeypatch, refused):
    pinned, pin = [], standin.pin

    def once(gpu, array, touched=False):
        if refused:
            raise ResourceError("made up by the test")
        pinned.append(len(array))
        return pin(gpu, array, touched)

    with gstream.open(path) as graph:
        expected = graph.cdlp(iterations=4).to_numpy()
        graph.cdlp(iterations=1, devices="cuda")  # pages are pinned
        monkeypatch.setattr(gpuresident, "PINNED_TO_FETCH", 1)
        monkeypatch.setattr(cuda.Gpu, "pin", once)
        assert np.array_equal(graph.cdlp(iterations=4, devices="cuda").to_numpy(), expected)
        assert len(pinned) == (not refused) and all(size > V for size in pinned)


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["undirected", "directed"])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_one_thread_goes_on_from_a_gpu(tmp_path, monkeypatch, kind, rounds):
    """After so many rounds, and not where lists have no room; the certificate of core numbers, too."""
    monkeypatch.setattr(lists, "FIRST_ROUNDS", rounds)
    monkeypatch.setattr(lists, "ITEM_NS", 0)
    made = []
    going = lists.OneThread.take
    monkeypatch.setattr(lists.OneThread, "take", lambda *given: made.append(going(*given)) or made[-1])
    with gstream.open(make_path(tmp_path, kind, V, E, PAGE)) as graph:
        for name, own in (("kcore", {}), ("kcore", {"k": 20}), ("coloring", {})):
            expected = graph.execute(name, own).to_numpy()
            for room in (True, False):
                monkeypatch.setattr(lists, "has_room", lambda *given, room=room: room)
                made.clear()
                found = graph.execute(name, own, devices="cuda", certify=True)
                assert np.array_equal(found.to_numpy(), expected) and found.summary["certificate"]["holds"]
                assert bool(made) == room


PATH = (np.arange(5000), np.arange(1, 5001))
CLIQUE = np.triu_indices(300, 1)


@pytest.mark.parametrize(
    ("name", "own", "edges"), [("kcore", {}, PATH), ("kcore", {"k": 2}, PATH), ("coloring", {}, CLIQUE)]
)
@pytest.mark.parametrize("directed", [False, True])
def test_long_chains_take_a_gpu_few_rounds(tmp_path, monkeypatch, name, own, edges, directed):
    """A round looks at all pages: a path has 2,500 of them to be peeled, twice with the proof; a clique 300."""
    made, items = [], GpuArrays.items
    monkeypatch.setattr(
        GpuArrays, "items", lambda self, kernel, *given: made.append(kernel.name) or items(self, kernel, *given)
    )
    convert_arrays(tmp_path / "a.gs", *edges, None, directed=directed, page_bytes=PAGE)
    with gstream.open(tmp_path / "a.gs") as graph:
        found, expected = graph.execute(name, own, True, devices="cuda"), graph.execute(name, own)
        ways = 1 + directed
        most = lists.FIRST_ROUNDS + int(lists.ITEM_NS * 2 * (len(edges[0]) + len(found)) / lists.ROUND_NS)
    assert np.array_equal(found.to_numpy(), expected.to_numpy()) and found.summary["certificate"]["holds"]
    assert "note" not in found.summary
    rounds = [made.count("settle") // ways, made.count("give_colors")]
    assert 0 < max(rounds) <= most * (2 if name == "kcore" else 1)
