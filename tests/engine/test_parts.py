"""Ownership, page cache and worker threads, each by itself."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from engine_graphs import make_store
from hypothesis import given
from hypothesis import strategies as st

from gstream.devices.host.threads import Workers
from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.paging.ownership import HEAVY, Partition, count_batches, cut_batches, slices, stretch_pages
from gstream.paging.page_cache import PageCache
from gstream.planning.memory_fit import busy_streams, default_streams, why_fewer
from gstream.programs.pagerank import PageRank


@given(st.integers(1, 5000), st.integers(1, 9), st.integers(1, 64))
def test_every_page_has_one_owner_and_the_load_is_even(pages, devices, largest):
    numbers = np.arange(pages)
    stretch = stretch_pages(pages, devices, largest)
    partition = Partition.equal(devices)
    shares = [partition.share(numbers, stretch, device) for device in range(devices)]
    assert np.array_equal(np.sort(np.concatenate(shares)), numbers)
    sizes = [len(part) for part in shares]
    assert max(sizes) - min(sizes) <= stretch <= largest
    assert np.array_equal(partition.owners(numbers, stretch), numbers // stretch % devices)
    assert sizes == [partition.count(pages, stretch, device) for device in range(devices)]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any), st.integers(1, 4), st.integers(0, 60))
def test_shares_are_in_proportion_to_weights(weights, stretch, rows):
    """To within a stretch or two that each device gives up or takes in; equal weights are one partition."""
    partition, pages = Partition(tuple(map(float, weights))), rows * len(weights) * stretch
    numbers = np.arange(pages)
    owned = [len(partition.share(numbers, stretch, device)) for device in range(len(weights))]
    assert sum(owned) == pages and (partition.owners(numbers, stretch) < len(weights)).all()
    for weight, count in zip(weights, owned, strict=True):
        assert abs(count - pages * weight / sum(weights)) <= (2 + 3 * len(weights)) * stretch
        assert weight or not count
    if len(set(weights)) == 1:
        assert np.array_equal(
            partition.owners(numbers, stretch), Partition.equal(len(weights)).owners(numbers, stretch)
        )


def test_few_pages_change_devices_when_weights_do():
    numbers = np.arange(10_000)
    found = [Partition((1.0, 1.0, weight)).owners(numbers, 4) for weight in (1.0, 1.1, 2.0)]
    share = [weight / (2 + weight) for weight in (1.0, 1.1, 2.0)]
    for less, more in ((0, 1), (0, 2), (1, 2)):
        assert (found[less] != found[more]).mean() <= share[more] - share[less] + 0.01
        assert not ((found[less] == 2) & (found[more] != 2)).any(), "it has more of them, and all it had"


@pytest.mark.parametrize("weights", [(), (0.0, 0.0), (1.0, -1.0), (1.0, float("nan")), (1.0, float("inf"))])
def test_weights_that_divide_nothing_are_refused(weights):
    with pytest.raises(ValueError, match="need one a device, none below 0 and one above it"):
        Partition(weights)


def test_streams_and_batches_are_what_was_asked_for_or_what_keeps_a_link_busy(tmp_path):
    """However many devices: one thread feeds them all, so batches are longer where there are more."""
    source, target = np.random.default_rng(1).integers(0, 4000, (2, 60_000))
    with make_store(tmp_path, source, target, page_bytes=4096) as store:

        def planned(devices, **options):
            with Engine(store, RunOptions(devices=[f"fake:1:{devices}"], **options)) as engine:
                return engine.plan(PageRank())

        def sizes(devices, **options):
            plan = planned(devices, **options).device
            return plan.streams, plan.batch_pages

        pages = store.topology("in").pages
        assert sizes(1) == (32, pages)  # less than 16 MiB
        assert sizes(1, batch_bytes=3 * 4096) == (32, 3)
        for streams in (1, 7, 100):
            assert sizes(1, streams=streams, batch_bytes=2 * 4096) == (streams, 2)
            assert sizes(2, streams=streams)[0] == streams
        asked = {"streams": 8, "batch_bytes": 4 * 4096, "cache": "0"}
        least = sum(planned(1, streams=1, batch_bytes=1, cache="0").device_bytes.values())
        for room, found in ((31, (8, 4)), (30, (8, 2)), (14, (8, 1)), (6, (4, 1)), (2, (2, 1)), (0, (1, 1))):
            assert sizes(1, **asked, device_memory=least + room * 4096) == found
    assert [busy_streams(mib << 20) for mib in (1, 16, 64, 1024)] == [32, 16, 4, 2]


def test_there_are_32_streams_where_memory_holds_their_batches(tmp_path):
    batch = 16 << 20
    rooms = {80 << 30: 32, 32 * 8 * batch: 32, 32 * 8 * batch - 1: 16, 2 << 30: 16}
    assert {room: default_streams(batch, batch, room) for room in rooms} == rooms
    assert why_fewer(32, None, batch) == "" and why_fewer(4, 4, batch) == ""
    assert why_fewer(16, None, batch) == "buffers of 32 would take 512 MiB, over 1/8 of the device's memory"
    assert why_fewer(3, None, batch) == "memory holds no more buffers"
    source, target = np.random.default_rng(1).integers(0, 4000, (2, 60_000))
    with make_store(tmp_path, source, target) as store, Engine(store, RunOptions(devices=["fake:1:1"])) as engine:
        assert (engine.plan(PageRank()).device.streams, engine.plan(PageRank()).device.fewer) == (32, "")


def test_batches_are_larger_for_more_devices():
    assert [RunOptions().batch_on(devices) >> 20 for devices in (1, 2, 3, 4, 8)] == [16, 16, 16, 32, 64]
    assert RunOptions(batch_bytes=1 << 20).batch_on(8) == 1 << 20


@given(st.sets(st.integers(0, 300)), st.integers(1, 40), st.integers(1, 20), st.integers(0, 300))
def test_batches_keep_order_and_never_cross_a_stretch_or_mix_kinds(pages, stretch, batch_pages, small_pages):
    numbers = np.array(sorted(pages), dtype=np.int64)
    batches = cut_batches(numbers, stretch, batch_pages, small_pages)
    assert count_batches(numbers, stretch, batch_pages, small_pages) == len(batches)
    assert np.array_equal(np.concatenate([numbers[:0], *batches]), numbers)
    for batch in batches:
        assert 1 <= len(batch) <= batch_pages
        assert len(np.unique(batch // stretch)) == 1
        assert len(np.unique(batch >= small_pages)) == 1


def test_what_can_not_be_divided_is_refused():
    for pages, devices, largest in ((-1, 1, 1), (1, 0, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match=f"pages {pages}, devices {devices}, largest {largest}: need at least"):
            stretch_pages(pages, devices, largest)
    with pytest.raises(ValueError, match="cache policy 'big'; it must be one of lru, pinned"):
        PageCache(10, 3, "big")


def sweep(cache, pages):
    """Ask for `pages` one after the other; how many were there."""
    before = cache.hits
    for page in pages:
        one = np.array([page])
        if cache.look_up(one)[0] < 0:
            cache.admit(one)
    return cache.hits - before


def test_a_sweep_larger_than_the_cache_hits_pinned_pages_but_no_lru_ones():
    pinned, lru = PageCache(100, 40, "pinned"), PageCache(100, 40, "lru")
    for cache in (pinned, lru):
        assert sweep(cache, range(100)) == 0
    assert sweep(pinned, range(100)) == 40
    assert sweep(lru, range(100)) == 0
    assert (pinned.hits, pinned.misses) == (40, 160)


def test_lru_gives_up_the_page_used_longest_ago_unless_it_is_pinned():
    cache = PageCache(10, 3, "lru")
    sweep(cache, [0, 1, 2, 0])
    assert cache.admit(np.array([3]))[0] == 1  # page 1 lay in slot 1
    assert cache.slot_of_page.tolist()[:4] == [0, -1, 2, 1]
    cache.pin(np.array([2]))
    assert sorted(cache.admit(np.array([4, 5])).tolist()) == [0, 1]
    assert cache.slot_of_page[2] == 2
    cache.pin(np.array([0, 1]))
    assert cache.admit(np.array([6]))[0] == -1  # every slot is in use: the page passes through


@given(st.lists(st.sets(st.integers(0, 30), min_size=1, max_size=6), max_size=40), st.integers(1, 12), st.booleans())
def test_cache_stays_consistent(requests, slots, lru):
    cache = PageCache(31, slots, "lru" if lru else "pinned")
    asked = 0
    for request in requests:
        pages = np.array(sorted(request))
        found = cache.look_up(pages)
        cache.pin(found[found >= 0])
        found_before = found.copy()
        found[found < 0] = cache.admit(pages[found < 0])
        cache.unpin(found_before[found_before >= 0])
        taken = found[found >= 0]
        assert len(np.unique(taken)) == len(taken)
        assert (cache.page_of_slot[taken] == pages[found >= 0]).all()
        resident = np.flatnonzero(cache.slot_of_page >= 0)
        assert (cache.page_of_slot[cache.slot_of_page[resident]] == resident).all()
        asked += len(pages)
    assert cache.hits + cache.misses == asked
    assert (cache.pins == 0).all()


def test_workers_all_call_the_function_and_sum_what_it_returns():
    seen = set()
    barrier = threading.Barrier(3)

    def call(number):
        seen.add(threading.get_ident())
        barrier.wait(timeout=600)
        return number

    workers = Workers(3)
    try:
        assert workers.run(call, 5) == 15
        assert len(seen) == 3
        assert workers.run(lambda: 1, limit=1) == 1
    finally:
        workers.close()


def test_workers_raise_the_error_of_any_thread_and_go_on():
    main = threading.get_ident()

    def fail():
        if threading.get_ident() != main:
            raise ValueError("in a helper")
        return 1

    workers = Workers(2)
    try:
        with pytest.raises(ValueError, match="in a helper"):
            workers.run(fail)
        assert workers.run(lambda: 2) == 4
    finally:
        workers.close()


class Stop(BaseException):
    """What the signal raises."""


@pytest.mark.parametrize("moment", range(4))
def test_a_signal_is_raised_when_all_threads_have_ended(moment):
    """Whenever it comes, nobody works on the arguments afterwards, and the next call is served in full."""
    main = threading.main_thread()
    done: list[int] = []

    def stop(number, frame):
        raise Stop

    def work():
        if threading.current_thread() is not main:
            time.sleep(0.15)
            done.append(1)
        return 1

    before = signal.signal(signal.SIGUSR1, stop)
    workers = Workers(3)
    timer = threading.Timer(0.04 * moment, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        with pytest.raises(Stop):
            timer.start()
            workers.run(work)
            timer.join()  # it comes later
        ended = len(done)
        time.sleep(0.3)
        assert len(done) == ended
        done.clear()
        for _ in range(3):
            assert workers.run(work) == 3
        assert len(done) == 6
    finally:
        timer.join()
        workers.close()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("first", [0, 640])
@pytest.mark.parametrize("unit", [1, 64])
def test_slices_are_of_as_much_work_each(first, unit):
    for count, devices in ((1000, 3), (1000, 1), (5, 3), (0, 2), (640, 10)):
        last = first + count
        for heavy in (0, first, first + count // 3, last, last + 50):
            cut = slices((first, last), unit, devices, heavy)
            assert len(cut) == devices and cut[0][0] == first and cut[-1][1] == last
            assert all(a[1] == b[0] for a, b in zip(cut[:-1], cut[1:], strict=True))
            assert all((begin - first) % unit == 0 and begin <= end for begin, end in cut)
            work = [end - begin + (HEAVY - 1) * (max(begin, min(end, heavy)) - begin) for begin, end in cut]
            assert max(work) - min(work) <= 2 * HEAVY * unit
