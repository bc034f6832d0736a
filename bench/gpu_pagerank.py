"""PageRank on GPUs: streamed at the link's rate, with all pages in GPU memory by pull, and by push.

An iteration is a long run less a short one, over the iterations between them, by the runs' own superstep times. Ranks
of the long run are compared with the host's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench import ours
from bench.figures import Figure
from bench.gpu_setup import Iteration, Setup, Store, against_ceiling, against_peers, check_ranks, host_ranks
from bench.link import Ceiling, Ceilings

SHORT, LONG = 2, 12  # iterations
STEADY = 6  # the first of those in GPU memory, in which lists are cut, count apart
REPEATS = 5
CHECKED = "ranks within 1e-5 relative of the host's"
LINK_SHARE = 0.95
STREAMED_SPEEDUPS = {(2, 24): 1.95, (2, 26): 1.95, (2, 28): 1.9, (4, 24): 3.7, (4, 26): 3.7, (4, 28): 3.7}
IN_CORE_SPEEDUPS = {(2, 24): 1.7, (2, 26): 1.8}  # (devices, scale): over one device
OVERHEAD = 5.0  # percent
LEAST_OVERHEAD = 0.01  # a run that was faster than its ceiling lost nothing; a ratio needs a number
PULL_RATE, PUSH_RATE = 60.0, 20.0  # G edges/s
LOST = (
    "upper bound: what of an iteration's time the link would not have needed for its bytes, so kernels that the copies "
    "don't hide and the merge count as overhead too"
)


def streamed(setup: Setup) -> Iterator[Figure]:
    """No cache: all pages cross the link in every iteration."""
    store = setup.store("undirected")
    expected = host_ranks(store, LONG)
    with Ceilings(setup.devices) as limits:
        single: Figure | None = None
        for names in [setup.devices.one, *setup.devices.several]:
            link = limits.link(names)
            with ours.opened(store.path, devices=names, cache="0") as session:
                step = Iteration.measure(session, SHORT, LONG, REPEATS)
            link = link.best(limits.link(names))
            label = setup.devices.label(names)
            check_ranks(step.ranks, expected, f"PageRank streamed, {label}")
            time = iteration_figure("PageRank streamed, iteration", store, step, label)
            yield against_ceiling(time, link, step.bytes_moved)
            yield from link_figures(store, step, link, label, single is None)
            if single is None:
                yield from against_peers(time, "PageRank iteration", "streamed", setup.scale)
                single = time
            else:
                yield speedup(single, time, STREAMED_SPEEDUPS.get((setup.devices.count(names), setup.scale)))


def iteration_figure(what: str, store: Store, step: Iteration, label: str) -> Figure:
    return Figure(
        what=f"{what}, {label}",
        graph=store.name,
        value=step.seconds.median * 1e3,
        unit="ms",
        spread=step.seconds.spread(1e3),
        checked=CHECKED,
        note=f"{step.bytes_moved / 2**20:.0f} MiB moved an iteration, pages {store.page_bytes / 2**20:.0f} MiB",
    )


def link_figures(store: Store, step: Iteration, link: Ceiling, label: str, single: bool) -> Iterator[Figure]:
    """Bytes a second over the link, and the host's overhead, against the link alone."""
    rate = Figure(
        what=f"PageRank streamed, bytes of pages, {label}",
        graph=store.name,
        value=step.bytes_moved / step.seconds.median / 1e9,
        unit="GB/s",
        checked=CHECKED,
    )
    goal = (LINK_SHARE, "95 % of the link") if single else (None, "")
    yield rate.share_of(link.name, link.rate / 1e9, *goal)
    if single:
        lost = 100 * (1 - step.bytes_moved / link.rate / step.seconds.median)
        overhead = replace(
            rate, what=f"PageRank streamed, host overhead, {label}", value=max(lost, LEAST_OVERHEAD), unit="% lost",
            note=LOST,
        )  # fmt: skip
        yield overhead.aim(OVERHEAD, "under 5 % of a superstep")


def speedup(single: Figure, several: Figure, aim: float | None = None) -> Figure:
    """How many times as fast several devices are as one."""
    figure = Figure(
        what=several.what.replace("iteration, ", "") + " against one",
        graph=several.graph,
        value=single.value / several.value,
        unit="times as fast",
        checked=several.checked,
    )
    return figure.aim(aim, f"{aim} times one") if aim else figure


def columns(setup: Setup) -> Iterator[Figure]:
    """The same graph in column pages."""
    yield from in_core(setup, "columns")


def in_core(setup: Setup, kind: str = "undirected") -> Iterator[Figure]:
    """All pages in GPU memory after the first superstep; by pull."""
    store = setup.store(kind)
    expected = host_ranks(store, STEADY + LONG)
    with Ceilings(setup.devices) as limits:
        memory = limits.memory(setup.devices.one[0])
        single: Figure | None = None
        for names in [setup.devices.one, *setup.devices.several]:
            with ours.opened(store.path, devices=names, direction="pull") as session:
                step = Iteration.measure(session, STEADY, STEADY + LONG, REPEATS)
            label = setup.devices.label(names)
            check_ranks(step.ranks, expected, f"PageRank in-core, {label}")
            time = iteration_figure("PageRank in-core by pull, iteration", store, step, label)
            time = replace(
                time, note=f"{time.note}; the first {STEADY}, with cutting lists: {step.first * 1e3:.2f} ms each"
            )
            yield from rate_figures(store, step, time, memory, setup.devices.count(names), PULL_RATE)
            if single is None:
                yield from against_peers(time, "PageRank iteration", "in-core", setup.scale)
                single = time
            else:
                yield speedup(single, time, IN_CORE_SPEEDUPS.get((setup.devices.count(names), setup.scale)))


def rate_figures(
    store: Store, step: Iteration, time: Figure, memory: Ceiling, devices: int, aim: float
) -> Iterator[Figure]:
    """Edges a second against the target (of one device), and the time against that of reading the pages."""
    rate = replace(
        time, what=time.what.replace("iteration, ", "rate, "), value=store.edges / step.seconds.median / 1e9,
        unit="G edges/s", spread=None, note="stored directed edges",
    )  # fmt: skip
    yield rate.aim(aim, f"{aim:.0f} G edges/s") if devices == 1 else rate
    yield against_ceiling(time, memory, store.page_bytes / devices)


def push(setup: Setup) -> Iterator[Figure]:
    """A directed store with out-pages only, in GPU memory and streamed."""
    store = setup.store("out")
    expected = host_ranks(store, LONG)
    name = setup.devices.one
    label = setup.devices.label(name)
    with Ceilings(setup.devices) as limits:
        memory = limits.memory(name[0])
        with ours.opened(store.path, devices=name, direction="push") as session:
            step = Iteration.measure(session, SHORT, LONG, REPEATS)
        check_ranks(step.ranks, expected, f"PageRank by push, {label}")
        time = iteration_figure("PageRank in-core by push, iteration", store, step, label)
        yield from rate_figures(store, step, time, memory, 1, PUSH_RATE)
        link = limits.link(name)
        with ours.opened(store.path, devices=name, direction="push", cache="0") as session:
            step = Iteration.measure(session, SHORT, LONG, REPEATS)
        link = link.best(limits.link(name))
        check_ranks(step.ranks, expected, f"PageRank by push, streamed, {label}")
        time = iteration_figure("PageRank streamed by push, iteration", store, step, label)
        yield against_ceiling(time, link, step.bytes_moved)
