"""Coded pages on GPUs beside raw pages of the same graph: streamed, kept in GPU memory where raw ones don't fit.

Each row is the time of a superstep loop over coded pages against the one over raw pages in the same run. Answers are
compared with those over raw pages; ranks with the host's, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench import ours
from bench.figures import Figure, Samples
from bench.gpu_pagerank import CHECKED, LONG, REPEATS, SHORT
from bench.gpu_setup import Iteration, Setup, Store, against_ceiling, check_ranks, host_ranks
from bench.gpu_traversals import SSSP_SOURCES, Call, run_all
from bench.link import Ceilings

CODED = ", coded"
PAGERANK_MS = {(1, 24): 18, (1, 26): 75, (1, 28): 340, (2, 26): 40}  # (GPUs, scale)
SSSP_MS, KEPT_MS, PAGE_BYTES_AN_EDGE, STORE_SHARE = 55, 6, 1.9, 2.0  # at scale 24
TARGET_SCALE = 24
ROOM = 0.75  # of the raw pages: what GPU memory is capped at for coded ones to fit alone
STREAMED = {"cache": "0"}
SWEPT = {**STREAMED, "use_heads": False}
RUNS = 5


def coded(setup: Setup) -> Iterator[Figure]:
    """Sizes, PageRank, BFS and components without weights."""
    raw, packed = setup.store("undirected"), setup.store("undirected" + CODED)
    yield from sizes(setup, raw, packed)
    yield from pagerank(setup, raw, packed)
    sources = raw.sources(RUNS)
    bfs: list[Call] = [lambda session, source=source: session.bfs(source, False) for source in sources]
    yield beside_raw(setup, "BFS streamed", raw, packed, bfs, STREAMED)
    components: list[Call] = [lambda session: session.components()] * RUNS
    yield beside_raw(setup, "components streamed", raw, packed, components, STREAMED)
    yield beside_raw(setup, "components streamed without heads", raw, packed, components, SWEPT)


def weights(setup: Setup) -> Iterator[Figure]:
    """SSSP over weights of 8 bits."""
    raw, packed = setup.store("weighted"), setup.store("weighted" + CODED)
    yield from sizes(setup, raw, packed)
    calls: list[Call] = [lambda session, source=source: session.sssp(source) for source in raw.sources(SSSP_SOURCES)]
    figure = beside_raw(setup, "SSSP streamed", raw, packed, calls, STREAMED)
    yield figure
    if setup.scale == TARGET_SCALE:
        yield figure.aim(SSSP_MS, f"{SSSP_MS} ms")


def sizes(setup: Setup, raw: Store, packed: Store) -> Iterator[Figure]:
    """Bytes an edge of pages, and whole stores."""
    import pagestore

    with pagestore.open_store(packed.path) as store:
        stored = sum(store.meta.stored_bytes.values()) / len(store.meta.stored_bytes)
    pages = Figure("coded pages, without weights", raw.name, stored / raw.edges, "bytes/edge", counted=True)
    yield pages.versus("raw pages", raw.page_bytes / raw.edges)
    whole = Figure("store, coded", raw.name, packed.path.stat().st_size / raw.edges, "bytes/edge", counted=True)
    whole = whole.versus("the raw store", raw.path.stat().st_size / raw.edges, STORE_SHARE, "under half of raw")
    yield whole


def pagerank(setup: Setup, raw: Store, packed: Store) -> Iterator[Figure]:
    """An iteration streamed, on one GPU and more, and kept by one where raw pages don't fit."""
    expected = host_ranks(raw, LONG)

    def measured(store: Store, names: list[str], options: dict[str, Any]) -> Iteration:
        with ours.opened(store.path, devices=names, **options) as session:
            step = Iteration.measure(session, SHORT, LONG, REPEATS)
        check_ranks(step.ranks, expected, f"PageRank, {store.name}")
        return step

    def figure(what: str, step: Iteration, other: Iteration) -> Figure:
        return Figure(
            f"PageRank {what}, iteration, {label}", raw.name, step.seconds.median * 1e3, "ms", checked=CHECKED,
            spread=step.seconds.spread(1e3), note=f"{step.bytes_moved / 2**20:.0f} MiB moved an iteration, "
            f"{other.bytes_moved / 2**20:.0f} raw",
        ).versus("raw pages streamed", other.seconds.median * 1e3)  # fmt: skip

    with Ceilings(setup.devices) as limits:
        for names in [setup.devices.one, *setup.devices.several]:
            label, count = setup.devices.label(names), setup.devices.count(names)
            link = limits.link(names)
            other, step = measured(raw, names, STREAMED), measured(packed, names, STREAMED)
            link = link.best(limits.link(names))
            found = figure("streamed, coded pages", step, other)
            yield found
            yield against_ceiling(found, link, step.bytes_moved)
            if aim := PAGERANK_MS.get((count, setup.scale)):
                yield found.aim(aim, f"{aim} ms")
            if count == 1:
                cap = {"device_memory": int(ROOM * raw.page_bytes)}
                kept = figure("coded pages kept in a GPU whose memory lacks room for raw ones", measured(
                    packed, names, cap), other)  # fmt: skip
                yield kept
                if setup.scale == TARGET_SCALE:
                    yield kept.aim(KEPT_MS, f"{KEPT_MS} ms")


def beside_raw(
    setup: Setup, what: str, raw: Store, packed: Store, calls: list[Call], options: dict[str, Any]
) -> Figure:  # fmt: skip
    """The median loop over coded pages against the one over raw pages; every value must be equal."""
    names, times = setup.devices.one, []
    with ours.opened(raw.path, devices=["host"]) as session:
        expected = [ours.in_store_order(call(session)) for call in calls]
    for store in (raw, packed):
        with ours.opened(store.path, devices=names, **options) as session:
            times.append(run_all(session, calls, expected, f"{what}, {store.name}"))
    other, own = (Samples(timed.loops.seconds) for timed in times)
    return Figure(
        f"{what}, coded pages, {setup.devices.label(names)}", raw.name, own.median * 1e3, "ms", spread=own.spread(1e3),
        checked="every value equals the host's", note=f"{times[1].mean('bytes_moved') / 2**20:.1f} MiB moved, "
        f"{times[0].mean('bytes_moved') / 2**20:.1f} raw; whole call {times[1].mean('whole_s') * 1e3:.3g} ms, "
        f"{times[0].mean('whole_s') * 1e3:.3g} raw",
    ).versus("raw pages", other.median * 1e3)  # fmt: skip
