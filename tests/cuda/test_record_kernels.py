"""Algorithms that sweep pages with kernels of their own, over the stand-in for the driver: the host's answers."""

from __future__ import annotations

import choice
import numpy as np
import pytest
from compilers import needs_gxx
from record_graphs import ASKED, CASES, KINDS, check, make_path

import gstream
from gstream.algorithms.components import scc, strong
from gstream.algorithms.support import lists, session
from gstream.devices.gpu import record_sweep as gpusweep
from gstream.devices.gpu.device import GpuDevice
from gstream.devices.gpu.resident_arrays import GpuArrays
from gstream.devices.job import DeviceMemoryError
from gstream.records import merge_copies
from pagestore.memory import convert_arrays

pytestmark = [needs_gxx, pytest.mark.usefixtures("standin_gpu")]
V, E, PAGE = 400, 7000, 4096
OPTIONS = {
    "as it is": {"devices": "cuda"},
    "streamed": {"devices": "cuda", "cache": "0", "batch_bytes": 2 * PAGE, "streams": 2},
    "two": {"devices": "cuda:0,2", "batch_bytes": 2 * PAGE},
    "four, one stream": {"devices": "cuda:0,1,2,3", "batch_bytes": PAGE, "streams": 1, "cache": "lru"},
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Path of a store of each kind."""
    return {kind: make_path(tmp_path_factory.mktemp("stores"), kind, V, E, PAGE) for kind in KINDS}


@pytest.fixture
def launched(monkeypatch):
    """Names of the record kernels that GPUs have run."""
    names, close = set(), gpusweep.RecordWork.close

    def closed(work, ended):
        names.add(work.sweep.kernel.name)
        close(work, ended)

    monkeypatch.setattr(gpusweep.RecordWork, "close", closed)
    return names


@pytest.mark.longer
@pytest.mark.covering(1)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    ("kind", "name"), [*CASES[::8], *choice.also(*(case for number, case in enumerate(CASES) if number % 8))]
)
def test_gpus_are_the_host(paths, kind, name, options, launched):
    with gstream.open(paths[kind]) as graph:
        check(graph, name, ASKED.get(name, {}), OPTIONS[options])
    assert launched


@pytest.mark.parametrize(("kind", "name"), [case for case in CASES if case[1] in ("coloring", "mis")])
def test_few_lists_are_left_to_the_cores(paths, kind, name, launched, monkeypatch):
    """Of one run some sweeps are the GPUs', others the cores'."""
    monkeypatch.setattr(session, "LIST_BYTES", 1)
    monkeypatch.setattr(session, "LISTED", 3)
    listed, run = [], session.ArraySweep.run_listed
    monkeypatch.setattr(session.ArraySweep, "run_listed", lambda *given: listed.append(1) or run(*given))
    with gstream.open(paths[kind]) as graph:
        check(graph, name, ASKED.get(name, {}), OPTIONS["two"])
    assert launched and listed


@pytest.mark.long
@pytest.mark.parametrize("devices", ["cuda", "cuda:0,2"])
def test_what_gpus_leave_of_long_paths_one_thread_walks(devices, launched, tmp_path, monkeypatch):
    """Colours spread in 3 sweeps at most, and reach in as many: the rest, and what is left of the proof, are the
    host's. Two cycles with a path between them."""
    monkeypatch.setattr(scc, "SWEEPS", 3)
    monkeypatch.setattr(scc, "LONGEST", 3)
    ring, order = np.arange(300), np.random.default_rng(1).permutation(800)
    source = np.concatenate([ring, ring + 500, np.arange(299, 500)])
    target = np.concatenate([np.roll(ring, -1), np.roll(ring, -1) + 500, np.arange(300, 501)])
    convert_arrays(tmp_path / "chain.gs", order[source], order[target], vertices=800, page_bytes=PAGE)
    swept, sweep = [], session.Session.sweep
    monkeypatch.setattr(
        session.Session, "sweep", lambda *given, **join: (swept.append(given[2]), sweep(*given, **join))[1]
    )
    with gstream.open(tmp_path / "chain.gs") as graph:
        found = graph.scc(certify=True, devices=devices)
    assert found.summary["components"] == 202 and "spread_colors" in launched
    assert swept.count(strong.spread_colors) == swept.count(strong.check_reach) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_without_room_the_cores_sweep(paths, kind, launched):
    with gstream.open(paths[kind]) as graph:
        expected = graph.kcore().to_numpy()
        found = graph.kcore(devices="cuda", device_memory=V * 4)
    assert np.array_equal(found.to_numpy(), expected) and "peel" not in launched
    assert "had no room" in found.summary["note"]


@pytest.mark.parametrize("kind", KINDS)
def test_less_memory_than_it_seemed(paths, kind, launched, monkeypatch):
    """The first arrays of all vertices can't be had: the host's cores go on, and later runs plan as before."""

    def refuse(*arguments):
        raise DeviceMemoryError("made up by the test")

    with gstream.open(paths[kind]) as graph:
        expected = graph.kcore().to_numpy()
        with monkeypatch.context() as patch:
            patch.setattr(gpusweep.Copies, "__init__", refuse)
            found = graph.kcore(devices="cuda", device_memory=1 << 20)
        assert np.array_equal(found.to_numpy(), expected) and not launched
        assert "had no room" in found.summary["note"]
        assert "note" not in graph.kcore(devices="cuda", device_memory=1 << 20).summary and launched


def test_cached_pages_go_where_items_need_the_room(paths, monkeypatch):
    """Arrays that fit half of what a GPU may hold, which pages of a run before have filled."""
    released = []
    release = GpuDevice.release

    def noted(device):
        released.append(device.memory_bytes)
        release(device)

    monkeypatch.setattr(GpuDevice, "release", noted)
    with gstream.open(paths["undirected"]) as graph:
        expected = graph.triangles().to_numpy()
        room = {"devices": "cuda", "device_memory": 250_000}
        graph.pagerank(**room)
        released.clear()
        found = graph.triangles(**room)
    assert np.array_equal(found.to_numpy(), expected) and "note" not in found.summary
    assert released and max(released) <= 250_000


@pytest.mark.parametrize(
    ("how", "copies", "expected"),
    [
        ("or", [[1, 2, 4], [3, 0, 4]], [3, 2, 4]),
        ("min", [[1, 2, 4], [0, 2, 3]], [0, 2, 3]),
        ("max", [[1, 2, 4], [3, 0, 5]], [3, 2, 5]),
        ("sum", [[1, 5, 4], [2, 2, 3]], [2, 5, 3]),
        ("one", [[9, 2, 4], [1, 2, 0]], [9, 2, 0]),
    ],
)
def test_copies_become_one(how, copies, expected):
    array = {"or": [1, 0, 4], "min": [1, 2, 4], "max": [1, 0, 4], "sum": [1, 2, 4], "one": [1, 2, 4]}[how]
    array = np.array(array, np.uint32)
    merge_copies(how, array, [np.array(copy, np.uint32) for copy in copies])
    assert array.tolist() == expected


def test_notes_become_one():
    failure = np.zeros(3, np.int64)
    merge_copies("note", failure, [np.array(copy) for copy in ([0, 0, 0], [2, 7, 8], [1, 5, 6])])
    assert failure.tolist() == [3, 7, 8]


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_one_thread_goes_on_from_a_gpu_with_betweenness(paths, rounds, monkeypatch):
    """After so many rounds of whichever source, and not where lists have no room."""
    monkeypatch.setattr(lists, "FIRST_ROUNDS", rounds)
    monkeypatch.setattr(lists, "ITEM_NS", 0)
    with gstream.open(paths["directed"]) as graph:
        for room in (True, False):
            monkeypatch.setattr(lists, "has_room", lambda *given, room=room: room)
            check(graph, "betweenness", {"k": 9, "seed": 1}, {"devices": "cuda"})


def test_betweenness_on_a_long_path_takes_a_gpu_few_rounds(tmp_path, monkeypatch):
    """A round looks at all pages: 5,001 of them would be the square of the path."""
    made, items = [], GpuArrays.items
    monkeypatch.setattr(GpuArrays, "items", lambda *given: made.append(1) or items(*given))
    path = np.arange(5000)
    convert_arrays(tmp_path / "a.gs", path, path + 1, None, directed=True, page_bytes=PAGE)
    with gstream.open(tmp_path / "a.gs") as graph:
        found = graph.betweenness(source=0, normalized=False, devices="cuda")
    assert found.to_numpy()["betweenness"][1:].tolist() == list(range(4999, -1, -1))
    assert found.summary["supersteps"] == 5001
    assert 0 < len(made) <= 2 + lists.FIRST_ROUNDS + lists.ITEM_NS * 10_001 / lists.ROUND_NS
