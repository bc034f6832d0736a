"""The fake device: it copies ahead as a GPU does, and mistakes that hardware would punish are found out.

That any schedule gives the same answers is looked at in test_frontier_schedules.py and test_sweep_schedules.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_graphs import make_store, skewed_edges

from gstream.devices.batch_ring import BatchRing
from gstream.devices.job import DevicePlan
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.paging.page_source import Batch, PageSource
from gstream.planning.memory_fit import graph_of
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from tests.fakes import device as fake
from tests.fakes import scheduler as late
from tests.fakes.vertices import LateExchange

V, E = 700, 6000


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    source, target = skewed_edges(V, E, seed=11)
    with make_store(tmp_path_factory.mktemp("stores"), source, target, vertices=V, directed=False) as store:
        yield store


class Noted:
    """A page kernel whose state is how many launches there were."""

    needs_weights = False

    def make_state(self):
        return [0]

    def run(self, words, weights, parts, counter, state):
        state[0] += 1
        return 0


@pytest.fixture
def sweep(store):
    """begin(plan) makes a device that sweeps, and batch(*numbers) a batch of it; the device is closed at the end."""
    table = graph_of(store, 1).tables["out"]
    reader = store.topology("out").reader()
    pages = np.empty((table.pages, table.page_bytes), np.uint8)
    reader.read(0, table.pages, out=pages)
    devices = []

    def begin(streams=2, batch_pages=3, cache_pages=0, policy=None):
        plan = DevicePlan(
            resident=True, message=False, source_copy=False, chunk=0, reach=0, heads=False, open_bits=False,
            senders=0, receivers=0, streams=streams, batch_pages=batch_pages, cache_pages={table.name: cache_pages},
            policy=policy,
        )  # fmt: skip
        devices.append(fake.FakeDevice("fake:0", seed=1))
        devices[-1].begin_sweep(Noted(), {table.name: table}, plan)
        return devices[-1]

    def batch(*numbers, done=lambda: None):
        rows = np.array(numbers)
        return Batch(table, rows, rows, pages, None, done)

    yield begin, batch
    for device in devices:
        device.close()
        assert device._schedule.empty and not device._ahead


def test_a_batch_a_stream_is_copied_ahead(sweep):
    begin, batch = sweep
    device, done = begin(streams=2), []
    assert [device.submit_ahead(batch(*numbers)) for numbers in ((0, 1, 2), (3, 4), (5,))] == [True, True, False]
    device.wait()  # waits for none of them
    assert device.stats.pages_moved == device.stats.pages == 0 and len(device._ahead) == 2
    for number, numbers in enumerate(((0, 1, 2), (3, 4), (5,))):
        device.submit(batch(*numbers, done=lambda number=number: done.append(number)))
    device.wait()
    assert sorted(done) == [0, 1, 2] and device.stats.pages_moved == 6
    assert device.submit_ahead(batch(0))
    assert device.end_sweep() == [3]


@pytest.mark.parametrize("other", [(2, 3), (0, 1, 2), (0,), (4, 5)], ids=str)
def test_copies_ahead_are_in_vain_when_another_batch_comes(sweep, other):
    begin, batch = sweep
    device = begin(streams=2)
    assert device.submit_ahead(batch(0, 1)) and device.submit_ahead(batch(2, 3))
    for numbers in (other, (0, 1), (2, 3)):
        device.submit(batch(*numbers))
        assert not device._ahead
    assert device.stats.pages_moved == len(other) + 4
    assert device.end_sweep() == [3]


def test_only_what_passes_through_the_ring_whole_is_copied_ahead(sweep):
    begin, batch = sweep
    assert not begin(batch_pages=3).submit_ahead(batch(0, 1, 2, 3))
    assert not begin(cache_pages=2, policy="lru").submit_ahead(batch(0))
    device = begin(cache_pages=2, policy="pinned")
    assert not device.submit_ahead(batch(0))
    device.submit(batch(0, 1))  # the cache is full now
    assert device.submit_ahead(batch(2))


def test_nothing_is_copied_ahead_where_attributes_come_with_pages(store, monkeypatch):
    ahead = fake.FakeDevice.submit_ahead
    found = []
    monkeypatch.setattr(fake.FakeDevice, "submit_ahead", lambda *batch: found.append(ahead(*batch)) or found[-1])
    for direction, expected in (("push", False), ("pull", True)):
        options = RunOptions(devices=["fake:1"], direction=direction, chunk_vertices=64, batch_bytes=8192, cache="0")
        with Engine(store, options) as engine:
            assert engine.run(PageRank(tolerance=0.0), max_supersteps=2).stats.case == 3
        assert set(found) == {expected}
        found.clear()


STREAMED = {"devices": ["fake:1:2"], "streams": 3, "batch_bytes": 8192, "host_memory": 50_000, "cache": "0"}


def run_all(store, **options):
    for seed in range(20):
        with Engine(store, RunOptions(**{**options, "devices": [f"fake:{seed}:2"]})) as engine:
            engine.run(PageRank(tolerance=0.0), max_supersteps=3)


def test_host_memory_let_go_before_the_copy_is_found_out(store, monkeypatch):
    submit = fake.FakeDevice.submit

    def too_early(device, batch):
        done, batch.done = batch.done, lambda: None
        submit(device, batch)
        done()

    monkeypatch.setattr(fake.FakeDevice, "submit", too_early)
    with pytest.raises(AssertionError, match="another page than expected"):
        run_all(store, **STREAMED)


def test_a_kernel_on_another_stream_than_its_copy_is_found_out(store, monkeypatch):
    put = late.Scheduler.put

    def astray(scheduler, stream, operation):
        put(scheduler, 0 if operation.kind == "kernel" else stream, operation)

    monkeypatch.setattr(late.Scheduler, "put", astray)
    with pytest.raises(AssertionError, match="another page than expected"):
        run_all(store, **STREAMED)


def test_a_copy_ahead_of_other_pages_is_found_out(sweep, monkeypatch):
    begin, batch = sweep
    device = begin()
    device.submit_ahead(batch(0, 1))
    monkeypatch.setattr(device, "_take_ahead", lambda batch: device._ahead.popleft()[1])
    with pytest.raises(AssertionError, match="another page than expected"):
        device.submit(batch(1, 2))
        device.wait()


def test_a_cache_slot_filled_without_waiting_for_its_reader_is_found_out(store, monkeypatch):
    place = BatchRing.place

    def hasty(ring, numbers, table):
        placement = place(ring, numbers, table)
        placement.waits = []
        return placement

    monkeypatch.setattr(BatchRing, "place", hasty)
    with pytest.raises(AssertionError, match="another page than expected"):
        run_all(store, streams=4, batch_bytes=4096, device_memory=45_000, cache="lru")


def test_a_merge_before_the_peers_have_finished_is_found_out(store, monkeypatch):
    def hasty(device):
        for _ in range(3):
            device._schedule.do_one()

    monkeypatch.setattr(fake.FakeDevice, "wait", hasty)
    with pytest.raises(AssertionError, match="queued"):
        run_all(store, streams=3, batch_bytes=4096)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_slices_handed_round_before_they_are_renewed_are_found_out(store, monkeypatch, direction):
    """The one barrier of a merge: everybody's slice is renewed before others take it."""

    def renew(exchange, slices, pulled, then):
        for number, device in enumerate(exchange.devices):
            exchange._combine(device, slices[number], pulled)
            then(device, number)

    monkeypatch.setattr(LateExchange, "reduce", renew)
    with pytest.raises(AssertionError, match="while fake:[01] has .* queued"):
        with Engine(store, RunOptions(devices=["fake:1:2"], direction=direction)) as engine:
            engine.run(PageRank(), max_supersteps=50)


def test_a_batch_that_is_never_given_back_is_found_out(store, monkeypatch):
    monkeypatch.setattr(PageSource, "_release", lambda *arguments: None)
    with pytest.raises(RuntimeError, match="a device keeps its batches"):
        run_all(store, **STREAMED)


def test_slices_that_overlap_change_the_answer(store, monkeypatch):
    """The merge is what makes several devices one: without it answers differ, so these tests do look at it."""
    monkeypatch.setattr(LateExchange, "gather", lambda exchange, slices, values: None)
    with Engine(store, RunOptions(devices=["fake:1:2"], direction="push")) as engine:
        lost = engine.run(BFS(source=3), max_supersteps=50).value
    monkeypatch.undo()
    with Engine(store) as engine:
        assert not np.array_equal(lost, engine.run(BFS(source=3)).value)
