"""What bounds GPU runs from outside: the link by size of copies, reading a store into pinned memory, merging WA."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from bench import ceilings, ours
from bench.figures import Figure, check
from bench.gpu_setup import ALPHA, Setup, Store, against_ceiling, check_ranks, generating, host_ranks
from bench.harness import SkippedError
from bench.link import CHUNK_BYTES, Ceiling, Ceilings
from bench.ours import Account
from bench.stores import AS_GENERATED
from gstream.language.python_printer import emitter_of
from gstream.language.scalar_types import NUMPY
from gstream.programs.pagerank import PageRank

COPY_SIZES = (256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
DISK_BYTES = 4 << 30  # of the store are read to find the disk's rate, by each count of threads
READ_AT_LEAST = 0.9  # of the store has to come from the disk, not from the page cache
MERGES = 6
MERGE_SHARE = 0.7
READ_SHARE = 0.9


def link(setup: Setup) -> Iterator[Figure]:
    """The machine's own limits."""
    devices = setup.devices
    with Ceilings(devices) as limits:
        best = limits.link(devices.one)
        for size in COPY_SIZES:
            found = limits.link(devices.one, size)
            row = Figure(
                what=f"ceiling: {found.name}", graph="", value=found.rate / 1e9, unit="GB/s",
                point={"plot": "gpu-link", "panel": "", "series": devices.label(devices.one), "x": size / 2**20},
            )  # fmt: skip
            yield row if size == CHUNK_BYTES else row.share_of(best.name, best.rate / 1e9)
        for names in devices.several:
            found = limits.link(names)
            row = Figure(what=f"ceiling: {found.name}", graph="", value=found.rate / 1e9, unit="GB/s")
            yield row.share_of(f"{devices.count(names)} times one", devices.count(names) * best.rate / 1e9)
        found = limits.memory(devices.one[0])
        yield Figure(what=f"ceiling: {found.name}", graph="", value=found.rate / 1e9, unit="GB/s")
        for names in devices.several[:1]:
            for both_ways in (False, True):
                found = limits.peer(names, both_ways)
                yield Figure(what=f"ceiling: {found.name}", graph="", value=found.rate / 1e9, unit="GB/s")


def reading(setup: Setup) -> Iterator[Figure]:
    """The first superstep of a fresh engine, from disk into pinned memory and on to the device."""
    import pagestore

    store = setup.store("undirected")
    names = setup.devices.one
    expected = host_ranks(store, 1)
    with ours.opened(store.path, devices=names) as session:
        session.pagerank(ALPHA, iterations=1)  # warm-up of everything but the pages
    with pagestore.open_store(store.path) as opened:
        topology = opened.topology("in" if opened.has("in") else "out")
        before = ceilings.disk_rate(store.path, topology, DISK_BYTES)
        ceilings.drop_page_cache(store.path)
        read_before, began = ceilings.disk_read_bytes(), time.perf_counter()
        with ours.opened(store.path, devices=names) as session:
            answer = session.pagerank(ALPHA, iterations=1)
            elapsed = time.perf_counter() - began
        read = ceilings.disk_read_bytes() - read_before
        disk = max(before, ceilings.disk_rate(store.path, topology, DISK_BYTES))
    check(read >= READ_AT_LEAST * store.page_bytes, f"only {read} bytes came from the disk: the page cache helped")
    check_ranks(ours.in_store_order(answer), expected, "PageRank, first superstep")
    account = Account.of(answer)
    rows = (
        ("first superstep", account.first_s, "at the disk's rate", READ_SHARE),
        ("opening to answer, with allocating and pinning", elapsed, "", None),
    )
    for what, seconds, target, need in rows:
        figure = Figure(
            what=f"reading a store into pinned memory, {what}, {setup.devices.label(names)}",
            graph=store.name,
            value=account.bytes_read / seconds / 1e9,
            unit="GB/s",
            checked="ranks within 1e-5 relative of the host's",
            note=f"{account.bytes_read / 2**20:.0f} MiB in {seconds:.2f} s",
        )
        yield figure.share_of("O_DIRECT reads of the same file", disk / 1e9, need, target)


def merge_store(setup: Setup) -> tuple[Store, float]:
    """The graph whose merges are measured, few edges a vertex, and seconds that making it took now."""
    return setup.make(AS_GENERATED, edge_factor=1, scale=setup.merge_scale)


def make_merge(setup: Setup) -> Iterator[Figure]:
    """Generates it, apart from measuring."""
    yield from generating(*merge_store(setup))


def merge(setup: Setup) -> Iterator[Figure]:
    """Combining the devices' copies of WA and handing it round."""
    if not setup.devices.several:
        raise SkippedError("merging takes two devices; this run has one")
    names = setup.devices.several[0]
    store, _ = merge_store(setup)
    expected = host_ranks(store, MERGES)
    with Ceilings(setup.devices) as limits:
        peer = limits.peer(names)
        with ours.opened(store.path, devices=names, direction="push") as session:
            session.pagerank(ALPHA, iterations=1)  # warm-up
            answer = session.pagerank(ALPHA, iterations=MERGES)
        peer = peer.best(limits.peer(names))
    check_ranks(ours.in_store_order(answer), expected, "PageRank on several devices")
    account = Account.of(answer)
    yield from merge_figures(setup.devices.label(names), store, account.merge_s / account.supersteps, peer)


def merge_figures(label: str, store: Store, seconds: float, peer: Ceiling) -> Iterator[Figure]:
    """Bytes that a merge brings to each of two devices, a second, and the merge's time, against copies between them."""
    types = emitter_of(PageRank, None).types
    got, value = NUMPY[types.got].itemsize, types.value.dtype.itemsize
    received = store.vertices // 2 * (got + value)
    rate = Figure(
        what=f"merge of WA, {label}",
        graph=store.name,
        value=received / seconds / 1e9,
        unit="GB/s",
        checked="ranks within 1e-5 relative of the host's",
        note=f"{seconds * 1e3:.2f} ms a merge of {store.vertices:,} vertices; each device receives half of what "
        f"vertices got ({types.got}, {got} bytes each) to combine and half of the new values ({types.value.name}, "
        f"{value}) to keep: {received / 2**20:.0f} MiB. The time, of the GPU's own clock, holds the "
        "merge of bitmaps and the reset of what vertices got, too. PageRank by push",
    )
    yield rate.share_of(peer.name, peer.rate / 1e9, MERGE_SHARE, "70 % of the peer-to-peer rate")
    time = replace(rate, what=f"merge of WA, time, {label}", value=seconds * 1e3, unit="ms", note="")
    yield against_ceiling(time, peer, received)
