"""Which pages are copied and which are read in place; the same answers either way, on the fake and the stand-in."""

from __future__ import annotations

import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges
from schedules import ScheduledEngine

from gstream.devices.host.device import HostDevice
from gstream.engine import small_frontier as small
from gstream.engine.demand import Demand
from gstream.engine.direction import Chooser
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.paging.ownership import Partition
from gstream.planning.cost_equations import Constants
from gstream.planning.memory_fit import graph_of
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP

V, E = 3000, 20_000


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, 7)
    weight = np.random.default_rng(8).integers(1, 9, E).astype(np.float64)
    store = make_store(tmp_path_factory.mktemp("demand"), source, target, weight, vertices=V, order="degree")
    yield store
    store.close()


def test_the_cheaper_way_page_by_page(store):
    table = graph_of(store, 1).tables["out"]
    lists = np.zeros(table.pages, np.int64)
    lists[[1, 3, table.small_pages]] = 1, table.records[3], 1
    demand = Demand.of(table, lists)
    assert demand.numbers.tolist() == [1, 3, table.small_pages]
    mean = table.edges[1] / table.records[1]
    assert demand.edges.tolist() == pytest.approx([mean, table.edges[3], table.edges[table.small_pages]])
    for weights, sectors, beside in ((False, 64, 0), (True, 96, 1)):
        moved = demand.bytes_in_place(weights)
        assert moved[0] == pytest.approx(mean * (4 + beside) + sectors)
        constants = Constants(c2=1e9, list_s=1e-7)
        seconds = demand.seconds_in_place(constants, weights)
        assert seconds[0] == pytest.approx((2 if weights else 1) * 1e-7 + moved[0] / 1e9)
        page = table.bytes_of(1, weights)
        found = demand.in_place(constants, weights, page).tolist()
        assert found == [1]  # a page that is wanted whole is copied, so are hubs
        for moved in (page, page // 3):  # coded pages are sooner there
            copied = moved / 1e9
            assert demand.seconds(constants, weights, True, 1e9, moved) == pytest.approx(seconds[0] + 2 * copied)
            assert demand.seconds(constants, weights, False, 2e9, moved) == pytest.approx(3 * copied / 2)
        assert len(demand.in_place(constants, weights, int(seconds[0] * 1e9 / 2))) == 0
    assert len(demand.in_place(Constants(c2=1e9, list_s=1.0), False, page)) == 0
    assert demand.among(np.array([3, 4])).lists.tolist() == [table.records[3]]


def test_each_device_has_what_it_owns(store):
    table = graph_of(store, 3).tables["out"]
    demand = Demand.of(table, np.arange(table.pages) % 4)
    assert demand.shares(Partition.equal(1)) == [demand]
    for partition in (Partition.equal(3), Partition((1.0, 2.0, 3.0))):
        for number, part in enumerate(shares := demand.shares(partition)):
            mine = partition.share(demand.numbers, table.stretch, number)
            assert np.array_equal(part.numbers, mine) and len(part.numbers)
            assert np.array_equal(part.lists, part.numbers % 4)
        assert demand.shares(partition) is shares and sum(len(part.numbers) for part in shares) == len(demand.numbers)


@pytest.mark.parametrize("devices", ["fake:3", "fake:4:2"])
@pytest.mark.parametrize("program", [BFS(source=5), SSSP(source=5)], ids=["bfs", "sssp"])
def test_answers_are_those_of_copies(store, devices, program):
    with Engine(store) as engine:
        expected = engine.run(program).value
    moved = {}
    for zero_copy, list_s in ((True, 1e-9), (True, 1e3), (False, 1e-9)):
        options = RunOptions(devices=[devices], zero_copy=zero_copy, cache="0", use_heads=False, batch_bytes=8192)
        with ScheduledEngine(store, options) as engine:
            engine.constants = Constants(c2=1e9, list_s=list_s)
            engine.run(program)  # reads the pages
            stats = (again := engine.run(program)).stats
        assert again.value.tobytes() == expected.tobytes()
        moved[zero_copy, list_s] = stats.bytes_moved
        assert (stats.pages_in_place > 0) == (zero_copy and list_s < 1)
    assert moved[True, 1e-9] < moved[False, 1e-9] == moved[True, 1e3]


def test_cores_read_all_pages_in_place(store, monkeypatch):
    """A device without a link does as with any batch when pages are to be read in place."""
    monkeypatch.setattr(small, "MOST_EDGES", 0)  # it takes no batch for supersteps that it makes by itself
    with Engine(store) as engine:
        expected = engine.run(BFS(source=5)).value
        taken = []
        monkeypatch.setattr(HostDevice, "submit", lambda device, batch, usual=HostDevice.submit: taken.append(
            len(batch.numbers)) or usual(device, batch))  # fmt: skip
        monkeypatch.setattr(Chooser, "in_place", lambda chooser, demand: demand.numbers[::2])
        assert engine.run(BFS(source=5)).value.tobytes() == expected.tobytes()
        assert sum(taken) == engine.run(BFS(source=5)).stats.pages_moved


def test_pages_that_are_swept_or_come_from_disk_are_copied(store):
    chunked = {"chunk_vertices": 1024, "direction": "push"}
    for program, given in ((PageRank(), {}), (BFS(source=5), {"host_memory": 140_000}), (BFS(source=5), chunked)):
        options = RunOptions(devices=["fake:3"], cache="0", batch_bytes=4096, **given)
        with ScheduledEngine(store, options) as engine:
            engine.constants = Constants(c2=1e9, list_s=1e-9)
            engine.run(program, 5)
            assert engine.run(program, 5).stats.pages_in_place == 0
