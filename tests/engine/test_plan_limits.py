"""Memory is used up, and never more than there is; what plans predict of caches and disks."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from engine_graphs import make_store
from planned import CHUNKS, PAGE, PROGRAMS, WEIGHTED, held, make, planned, work_lists

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.paging.ownership import Partition
from gstream.paging.page_cache import PageCache
from gstream.paging.page_table import LEAST_GROUPS
from gstream.planning.cost_equations import Constants
from gstream.planning.sweep_plan import make_sweep_plan
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from pagestore.errors import ResourceError
from pagestore.memory import convert_arrays
from pagestore.store import open_store

TWO = Partition.equal(2)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make(tmp_path_factory.mktemp("stores")) as made:
        yield made


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("devices", ["fake:1", "fake:1:3"])
@pytest.mark.parametrize("direction", ["auto", "push"])
def test_device_memory_is_used_up_and_no_more(store, program, devices, direction):
    """With what a plan takes there is the same one, and with a byte less a smaller one: nothing is held for nothing."""
    options = {"devices": devices, "direction": direction, "batch_bytes": 1 << 15, "streams": 4}

    def plan_of(room):
        return planned(store, PROGRAMS[program], **options, device_memory=room)

    whole = planned(store, PROGRAMS[program], **options)
    least = least_memory(plan_of, 1000)
    seen = set()
    for room in np.geomspace(least, held(whole.device_bytes), 12).astype(int).tolist():
        plan = plan_of(room)
        taken = held(plan.device_bytes)
        assert taken <= room
        again = plan_of(taken)
        assert (again.device_bytes, all_spent(again)) == (plan.device_bytes, all_spent(plan))
        buffers = plan.device.streams * plan.device.batch_pages * plan.graph.tables["out"].bytes_of(1, plan.weights)
        assert plan.device_bytes["batch buffers"] >= buffers > 0
        seen.add(plan.case)
        if taken == least:
            with pytest.raises(ResourceError):
                plan_of(taken - 1)
        else:
            assert plan_of(taken - 1).device_bytes != plan.device_bytes
    assert all_spent(plan_of(held(whole.device_bytes))) == all_spent(whole)
    assert seen == {1, 2, 3} or seen == {2, 3}


def all_spent(plan):
    """What a plan holds on a device, whatever it leaves."""
    return replace(plan.device, spare_bytes=0)


def least_memory(plan, little):
    """The bytes that the error names are enough, and a byte less is not."""
    with pytest.raises(ResourceError) as refused:
        plan(little)
    least = int(re.search(r"(\d+) bytes are needed at least", str(refused.value)).group(1))
    assert held(plan(least).device_bytes) <= least
    with pytest.raises(ResourceError, match=f"{least} bytes are needed at least"):
        plan(least - 1)
    return least


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("devices", ["host", "host:3", "fake:1:2"])
@pytest.mark.parametrize("cache", ["auto", "lru", "0"])
def test_host_memory_is_used_up_and_no_more(store, program, devices, cache):
    """Pages stay whole, or are streamed through a ring and a cache, which then has what is left."""
    number = int(devices.rpartition(":")[2]) if devices.count(":") == (2 if "fake" in devices else 1) else 1
    options = {"devices": devices, "cache": cache, "batch_bytes": 1 << 14, "device_memory": 1_500_000}
    options |= {"direction": "pull"} if program == "PageRank" else {}  # no out-pages beside, which it can do without
    whole = planned(store, PROGRAMS[program], **options)
    assert all(source.resident for source in whole.sources.values())
    room = held(whole.host_bytes)
    assert all(s.resident for s in planned(store, PROGRAMS[program], **options, host_memory=room).sources.values())
    for less in (1, 200_000, 400_000, 700_000 if program == "BFS" else 300_000):
        plan = planned(store, PROGRAMS[program], **options, host_memory=room - less)
        assert held(plan.host_bytes) <= room - less and plan.case > 1
        tables = {table.name: table for table in plan.graph.tables.values()}
        streamed = {name: source for name, source in plan.sources.items() if not source.resident}
        assert streamed
        for name, source in streamed.items():
            page = tables[name].bytes_of(1, plan.weights)
            ring = source.groups * source.batch_pages
            assert source.groups >= LEAST_GROUPS and plan.host_bytes[f"pages ({name})"] == number * page * (
                ring + source.cache_pages
            )
            skip = plan.device.cache_pages.get(name, 0) if cache == "auto" else 0
            assert source.skip == skip and source.cache_pages <= tables[name].pages - skip
            if cache == "0":
                assert source.cache_pages == 0
        left = room - less - held(plan.host_bytes)
        full = all(source.cache_pages == tables[name].pages - source.skip for name, source in streamed.items())
        if cache != "0" and not full and len(streamed) == len(plan.sources) == 1:
            assert left < number * page


@pytest.mark.parametrize(
    ("pages", "found"),
    [(41, (4, 5, 21)), (40, (4, 5, 20)), (39, (2, 5, 29)), (20, (2, 5, 10)), (19, (1, 5, 14)), (9, (1, 5, 4)),
     (5, (1, 5, 0)), (4, (1, 4, 0)), (2, (1, 2, 0))],
)  # fmt: skip
def test_half_of_what_is_left_is_read_ahead(store, pages, found):
    """Five groups, of the four pages that were asked for or fewer; the rest is a cache, as long as there is any."""
    asked = {"batch_bytes": 4 * PAGE, "read_threads": 3, "direction": "pull"}
    attributes = held(planned(store, PageRank(), "host", **asked).host_bytes)
    attributes -= store.topology("in").pages * (PAGE + 24)
    for more in (0, PAGE - 1):
        source = planned(store, PageRank(), "host", host_memory=attributes + pages * PAGE + more, **asked).sources["in"]
        assert (source.batch_pages, source.groups, source.cache_pages) == found
    if pages > 9:
        room = {"host_memory": attributes + 20 * PAGE, **asked}
        assert planned(store, PageRank(), "host", cache="0", **room).sources["in"].batch_pages == 4, "no cache, no half"


def test_pages_of_one_direction_stay_where_the_others_can_still_be_streamed(store):
    """A ring of two pages is left for these, or all are streamed; with it the fewer pages are whole."""
    names = ("out", "in")
    pages = {name: store.topology(name).pages for name in names}
    program, small = BFS(source=3), min(names, key=lambda name: pages[name])
    attributes = held(planned(store, program).host_bytes) - sum(pages.values()) * PAGE
    for spare, whole in ((2 * PAGE, [small]), (2 * PAGE - 1, [])):
        plan = planned(store, program, host_memory=attributes + pages[small] * PAGE + spare, cache="0")
        assert [name for name, source in plan.sources.items() if source.resident] == whole
        assert held(plan.host_bytes) <= attributes + pages[small] * PAGE + spare


@pytest.mark.parametrize("cache", ["auto", "lru"])
def test_the_first_sweep_from_disk_reads_what_is_in_no_cache(store, cache):
    """7 pages are in host memory, 12 on the device, which takes these first by either policy."""
    plan = planned(store, PageRank(), cache=cache, device_memory=600_000, host_memory=300_000, batch_bytes=1 << 14,
                   streams=2)  # fmt: skip
    table, source = plan.graph.tables["in"], plan.sources["in"]
    assert not source.resident and 12 <= plan.device.cache_pages["in"] < table.pages
    disk = Constants(c1=1e15, c2=1e15, disk=1e6, load=1e15, call_s=0.0, pull_edges=1e15)
    plan = replace(plan, constants=disk, in_host_cache={"in": 7}, on_devices={"in": [np.arange(12)]})
    assert plan.superstep_seconds(cold=True) == pytest.approx((table.pages - 7 - 12) * PAGE / 1e6)
    kept = source.cache_pages + plan.device.cache_pages["in"]
    assert plan.superstep_seconds() == pytest.approx((table.pages - kept) * PAGE / 1e6)


def test_coded_pages_take_the_cores_time_whenever_they_are_read(tmp_path):
    source, target = np.arange(3000) // 10, np.arange(3000) % 100
    convert_arrays(tmp_path / "coded.gs", source, target, page_bytes=PAGE, compress="on")
    with open_store(tmp_path / "coded.gs") as store:
        for room, cold, warm in (({}, 3000, 0), ({"host_memory": 22_000, "cache": "0"}, 3000, 3000)):
            plan = planned(store, PageRank(), "host", **room)
            plan = replace(plan, unread={"in": plan.graph.tables["in"].pages if plan.sources["in"].resident else 0})
            assert (plan.terms(cold=True)["decoded"], plan.terms()["decoded"]) == pytest.approx((cold, warm))


def test_what_devices_cache_takes_neither_copies_nor_launches(store):
    """Each has a slot for every page that it owns."""
    plan = planned(store, PageRank(), "fake:1:2")
    table = plan.graph.tables["in"]
    assert plan.slots(table) == [TWO.count(table.pages, table.stretch, number) for number in range(2)]
    assert plan.slots(table)[0] > plan.slots(table)[1] and plan.case == 1
    plan = replace(plan, constants=Constants(c1=1e15, c2=1.0, call_s=1.0, pull_edges=1e15, merge=1e15))
    assert plan.superstep_seconds() == pytest.approx(0, abs=1e-6)
    assert plan.superstep_seconds(cold=True) > table.pages * PAGE / 2  # at 1 byte/s each
    there = TWO.share(table.all_pages(), table.stretch, 0)[:20]
    warm = replace(plan, on_devices={"in": [there, there[:0]]}, constants=replace(plan.constants, call_s=0.0))
    assert warm.superstep_seconds(cold=True) == pytest.approx((table.pages - 20) * PAGE / 2)


@pytest.mark.parametrize("cache", ["auto", "lru"])
@pytest.mark.parametrize("options", [{}, CHUNKS, {**CHUNKS, "direction": "push"}], ids=str)
def test_predicted_bytes_are_those_of_the_page_caches(store, cache, options):
    """Page by page, as the devices' caches answer; whatever runs before left in them."""
    for room in (1_000_000, 1_200_000, 4_000_000):
        plan = planned(store, PageRank(), "fake:1:2", cache=cache, device_memory=room, streams=2,
                       batch_bytes=1 << 14, **options)  # fmt: skip
        table = plan.table(plan.directions[0])
        slots = plan.slots(table)
        left = [TWO.share(table.all_pages(), table.stretch, number)[: slots[number] // 2] for number in range(2)]
        for warm in (False, True):
            if warm:
                plan = replace(plan, on_devices={table.name: left})
            for sweeps in (0, 1, 2, 5):
                misses = sum(swept(plan, table, number, sweeps, left[number] if warm else []) for number in range(2))
                assert plan.sweep_bytes(sweeps) == misses * PAGE, (room, warm, sweeps)


@pytest.mark.parametrize("cache", ["lru", "pinned"])
def test_sweeps_move_what_is_planned_by_either_policy(store, cache):
    """Devices take cached pages first, so a cache of the least recently used ones has as many hits as a pinned one."""
    options = {"cache": cache, "streams": 2, "batch_bytes": 1 << 14, "device_memory": 600_000}
    with Engine(store, RunOptions(devices=["fake:1:1"], **options)) as engine:
        plan = engine.plan(PageRank())
        table = plan.table(plan.directions[0])
        assert 0 < plan.slots(table)[0] < table.pages
        for _ in range(2):
            stats = engine.run(PageRank(tolerance=0.0), 5).stats
            assert stats.predicted_bytes == stats.bytes_moved and stats.cache_hits > 0


def swept(plan, table, number, sweeps, left):
    """Pages that a device asks for and does not have in its cache."""
    cache = PageCache(table.pages, plan.slots(table)[number], plan.device.policy)
    if len(left):
        cache.admit(np.asarray(left))
    before = cache.misses
    for _ in range(sweeps):
        for pages in plan.passes(plan.directions[0]):
            asked = TWO.share(pages, table.stretch, number)
            for page in asked[cache.look_up(asked) < 0].tolist():  # those that are cached come first
                cache.admit(np.array([page]))
    return cache.misses - before


def test_sweeps_of_page_kernels_share_what_a_device_has(store):
    """Half of it at most for batches, each a quarter of it at most; the rest for pages of all topologies alike."""
    with Engine(store, RunOptions(devices=["fake:1:2"])) as engine:
        tables = engine.graph.tables
    options = RunOptions(batch_bytes=1 << 14, streams=4)

    def plan_of(room, weights=False, **changes):
        return make_sweep_plan(tables, weights, replace(options, **changes), TWO, 0, room)

    free = plan_of(None)
    assert (free.streams, free.batch_pages) == (4, 4) and free.policy == "pinned"
    owned = {name: TWO.count(table.pages, table.stretch, 0) for name, table in tables.items()}
    assert free.cache_pages == owned
    lists = sum(work_lists(planned(store, BFS(source=3)), name) for name in ("out", "in"))
    for pages, streams, batch, slots in ((64, 4, 4, 48), (32, 4, 4, 16), (16, 2, 4, 8), (15, 2, 3, 9), (4, 2, 1, 2),
                                         (2, 1, 1, 1), (1, 1, 1, 0), (0, 1, 1, 0)):  # fmt: skip
        for more in (0, PAGE - 1):
            plan = plan_of(lists + pages * PAGE + more)
            assert (plan.streams, plan.batch_pages) == (streams, batch), pages
            part = slots / sum(owned.values())
            assert plan.cache_pages == {name: int(count * part) for name, count in owned.items()}
    assert plan_of(lists + 64 * PAGE, cache="0").cache_pages == {"out": 0, "in": 0}
    assert plan_of(lists + 16 * WEIGHTED, weights=True).batch_pages == 3  # 16 KiB of pages with their weights
    assert plan_of(0).batch_pages == plan_of(0).streams == 1


def test_batches_are_of_one_page_where_not_even_that_is_asked_for(store):
    for options in ({}, {"host_memory": 600_000}):
        plan = planned(store, PageRank(), batch_bytes=1, **options)
        assert plan.sources["in"].batch_pages == plan.device.batch_pages == 1
        assert plan.sources["in"].resident == (not options)


def test_a_sweep_of_one_page_keeps_it(tmp_path):
    with make_store(tmp_path, np.array([0, 1]), np.array([1, 2]), topology="in") as store:
        with Engine(store) as engine:
            tables = engine.graph.tables
        lists = work_lists(planned(store, PageRank()), "in")
        for pages, kept in ((1, 0), (2, 1), (9, 1)):
            assert make_sweep_plan(
                tables, False, RunOptions(), Partition.equal(1), 0, lists + pages * PAGE
            ).cache_pages == {"in": kept}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("devices", ["host", "host:3"])
@pytest.mark.parametrize("batch", [PAGE, 1 << 15])
def test_the_least_host_memory_has_room_for_pages_of_both_directions(store, program, devices, batch):
    """What is named for attributes counts two groups of a page for each topology and device, too."""

    def plan_of(room):
        return planned(store, PROGRAMS[program], devices, host_memory=room, batch_bytes=batch, read_threads=1)

    with pytest.raises(ResourceError) as refused:
        plan_of(1000)
    least = int(re.search(r"(\d+) bytes are needed at least", str(refused.value)).group(1))
    plan = plan_of(least)
    assert held(plan.host_bytes) == least and all(
        (source.groups, source.batch_pages, source.cache_pages) == (LEAST_GROUPS, 1, 0)
        for source in plan.sources.values()
    )
    with pytest.raises(ResourceError, match=f"{least} bytes are needed at least"):
        plan_of(least - 1)
