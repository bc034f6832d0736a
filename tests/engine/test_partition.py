"""A plan for each device, whatever memory each has; pages that change devices between supersteps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from moving import check_moving
from planned import PROGRAMS, make, planned

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.paging.ownership import Partition
from gstream.planning.planner import Place, make_plan
from gstream.programs.pagerank import PageRank
from pagestore.errors import CapError

CAP = 1_000_000


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with make(tmp_path_factory.mktemp("stores")) as made:
        yield made


def plan_of(store, program, *places, weights=(), **options):
    """A plan for devices of these places."""
    partition = Partition(weights or (1.0,) * len(places))
    with Engine(store, RunOptions(devices=[f"host:{len(places)}"], **options)) as engine:
        code = engine.compile(program)
        given = engine.graph, engine.options, places, partition, engine.host_memory, engine.measure()
        return make_plan(code, *given)


@pytest.mark.parametrize("program", PROGRAMS)
def test_devices_of_one_size_have_plans_of_one_size(store, program):
    plan = plan_of(store, PROGRAMS[program], *[Place(True, CAP)] * 3)
    alike = {replace(one, cache_pages={}, held={}, spare_bytes=0).__repr__() for one in plan.device_plans}
    assert len(alike) == 1 and plan.devices == 3
    with Engine(store, RunOptions(devices=["fake:1:3"], device_memory=CAP)) as engine:
        assert engine.plan(PROGRAMS[program]).device_plans == plan.device_plans


def test_each_device_has_as_large_a_cache_as_it_has_memory(store):
    plan = plan_of(store, PageRank(), Place(True, CAP), Place(True, 2 * CAP), Place(True))
    table = plan.graph.tables["in"]
    owned = [plan.partition.count(table.pages, table.stretch, number) for number in range(3)]
    first, second, third = plan.slots(table)
    assert 0 < first < second <= owned[1] and third == owned[2]
    for known, cap in zip(plan.device_plans, (CAP, 2 * CAP), strict=False):
        assert sum(known.held.values()) + known.spare_bytes <= cap
    assert plan.device_bytes == max((one.held for one in plan.device_plans), key=lambda held: sum(held.values()))


def test_the_least_device_says_how_much_is_resident_and_how_large_a_chunk_is(store):
    """All have the same chunks; what the others have beside them is for caches."""
    alone = plan_of(store, PageRank(), Place(True, 400_000))
    plan = plan_of(store, PageRank(), Place(True), Place(True, 400_000))
    assert alone.case == plan.case == 3
    assert plan.chunks == alone.chunks and len({one.chunk for one in plan.device_plans}) == 1
    assert plan.slots(plan.graph.tables["in"])[0] > 0
    with pytest.raises(CapError, match="--device-memory 1000 bytes: too little") as refused:
        plan_of(store, PageRank(), Place(True), Place(True, 1000))
    assert plan_of(store, PageRank(), Place(True), Place(True, refused.value.need)).case == 3


def test_cores_beside_a_device_that_copies(store):
    """The host's attributes count as host memory; only the other has batches and a cache."""
    host, other = plan_of(store, PageRank(), Place(False), Place(True, CAP)).device_plans
    assert "batch buffers" in other.held and "batch buffers" not in host.held
    assert other.cache_pages["in"] > 0 and not host.cache_pages
    both = plan_of(store, PageRank(), Place(False), Place(True, CAP)).host_bytes
    cores = planned(store, PageRank(), "host").host_bytes
    assert both["WA of 1 device"] == cores["WA of 1 device"] and both["values"] == 4 * store.meta.vertices


def test_a_heavier_device_has_more_slots(store):
    plan = plan_of(store, PageRank(), Place(True), Place(True), weights=(1.0, 3.0))
    table = plan.graph.tables["in"]
    light, heavy = plan.slots(table)
    assert light + heavy == table.pages and heavy > 2 * light and plan.case == 1


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "options",
    [{"devices": ["host:3"]}, {"devices": ["fake:7:3"]}, {"devices": ["fake:8:2"], "device_memory": 400_000},
     {"devices": ["fake:9:2"], "cache": "0", "streams": 2}, {"devices": ["fake:4:3"], "direction": "push"}],
    ids=lambda options: " ".join(map(str, options.values())),
)  # fmt: skip
def test_answers_do_not_change_when_pages_change_devices(store, program, options):
    check_moving(store, PROGRAMS[program], RunOptions(**options))
