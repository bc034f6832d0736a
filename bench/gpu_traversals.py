"""BFS, components and SSSP on GPUs: with all pages in GPU memory, and streamed without a cache.

A time is that of a run's superstep loop; for components, which union-find finds without supersteps, from the first
link to the labels in GPU memory. Heads may settle components before a page has moved, so they are streamed once more
with nothing left on the GPU from earlier runs, so that heads move in the run, and once more without heads: one sweep of
all pages. Heads count among the bytes of the ceilings: where they move, and where all lies in GPU memory.
Every answer is compared with the host's, value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench import ours
from bench.figures import Figure, Samples
from bench.gpu_setup import Setup, Store, against_ceiling, against_peers, check_equal
from bench.link import Ceiling, Ceilings
from bench.ours import Account

COMPONENT_RUNS = 7
SSSP_SOURCES = 4
CHECKED = "every value equals the host's"
TARGET_SCALE = 24  # of the graph that the times below are for
IN_CORE_BFS_MS, STREAMED_MS = 6.0, 45.0
MOST_BYTES = 1.2  # times the topology
SWEEP_SHARE = 0.9  # of the link
PLACES: dict[str, dict[str, Any]] = {"in-core": {}, "streamed": {"cache": "0"}}
SWEPT, MOVED = "streamed without heads", "streamed, heads moved in the run"
COMPONENT_PLACES = {**PLACES, MOVED: {"cache": "0"}, SWEPT: {"cache": "0", "use_heads": False}}

Call = Callable[[ours.Session], Any]  # one run on an open graph


@dataclass(frozen=True)
class Timed:
    """Runs of one program: their accounts, one a call."""

    accounts: list[Account]

    @property
    def loops(self) -> Samples:
        return Samples(tuple(account.loop_s for account in self.accounts))

    def mean(self, field: str) -> float:
        return float(np.mean([getattr(account, field) for account in self.accounts]))


def read_by_supersteps(store: Store, timed: Timed, place: str) -> float:
    """Bytes that a run reads at its ceiling's rate: of pages, in device memory or over the link."""
    return timed.mean("pages") * store.a_page if place == "in-core" else timed.mean("bytes_moved")


def read_by_components(store: Store, timed: Timed, place: str) -> float:
    """The same of union-find: heads, and pages that these leave."""
    if place == "in-core":
        return store.head_bytes + timed.mean("pages_asked") * store.a_page
    return timed.mean("bytes_moved") + heads_moved(store, timed)


def heads_moved(store: Store, timed: Timed) -> float:
    """Bytes of heads that moved. Names may be among the attributes, too: they move before the clock begins."""
    return min(timed.mean("attribute_bytes"), store.head_bytes)


Read = Callable[[Store, Timed, str], float]


def run_all(
    session: ours.Session, calls: Sequence[Call], expected: Sequence[np.ndarray], what: str, anew: bool = False
) -> Timed:
    """Run and check all calls once to warm up (compile, fill the cache), then once more to be timed.

    anew: what the device holds goes before each.
    """
    for call, answer in zip(calls, expected, strict=True):
        check_equal(ours.in_store_order(call(session)), answer, f"{what}, first run")
    accounts = []
    for call, answer in zip(calls, expected, strict=True):
        if anew:
            session.forget()
        found = call(session)
        accounts.append(Account.of(found))
        check_equal(ours.in_store_order(found), answer, what)
    return Timed(accounts)


def each_place(
    setup: Setup, store: Store, program: str, calls: Sequence[Call], places: Mapping[str, dict[str, Any]] = PLACES,
    read: Read = read_by_supersteps,
) -> Iterator[tuple[str, Timed, Figure]]:  # fmt: skip
    """(where the pages are, its runs, its time against the ceiling), in the order of `places`.

    The time is the mean of all runs; its ceiling is the device memory's rate, or the link's, over the bytes `read`.
    """
    distinct: dict[int, np.ndarray] = {}
    with ours.opened(store.path, devices=["host"]) as session:
        for call in calls:
            if id(call) not in distinct:
                distinct[id(call)] = ours.in_store_order(call(session))
    expected = [distinct[id(call)] for call in calls]
    names = setup.devices.one
    with Ceilings(setup.devices) as limits:
        for place, options in places.items():
            ceiling = limits.memory(names[0]) if place == "in-core" else limits.link(names)
            with ours.opened(store.path, devices=names, **options) as session:
                timed = run_all(session, calls, expected, f"{program} {place}", anew=place == MOVED)
            if place != "in-core":
                ceiling = ceiling.best(limits.link(names))
            size = read(store, timed, place)
            yield place, timed, time_figure(setup, store, f"{program} {place}", timed, ceiling, size)


def time_figure(setup: Setup, store: Store, what: str, timed: Timed, ceiling: Ceiling, size: float) -> Figure:
    loops = timed.loops
    figure = Figure(
        what=f"{what}, {setup.devices.label(setup.devices.one)}",
        graph=store.name,
        value=loops.mean * 1e3,
        unit="ms",
        spread=loops.spread(1e3),
        checked=CHECKED,
        note=f"mean of {len(loops.seconds)} runs, median {loops.median * 1e3:.3g} ms; whole run, with attaching and "
        f"answer, {timed.mean('whole_s') * 1e3:.3g} ms; {timed.mean('supersteps'):.1f} supersteps, "
        f"{timed.mean('edges_visited') / store.edges:.3f} of the edges looked at, "
        f"{timed.mean('bytes_moved') / 2**20:.1f} MiB of pages and {timed.mean('attribute_bytes') / 2**20:.1f} MiB of "
        f"attributes moved, topology {store.page_bytes / 2**20:.0f} MiB; {ours.work_of(timed.accounts, loops.mean)}",
    )
    return against_ceiling(figure, ceiling, size) if size else figure


def call_figure(figure: Figure, timed: Timed) -> Figure:
    """The time of whole calls, with attaching and the answer, in place of their loops'."""
    wholes = Samples(tuple(account.whole_s for account in timed.accounts))
    return replace(
        figure, what=f"{figure.what}, whole call", value=wholes.mean * 1e3, spread=wholes.spread(1e3),
        note=f"of it {timed.loops.mean * 1e3:.3g} ms in the loop",
    )  # fmt: skip


def bfs(setup: Setup) -> Iterator[Figure]:
    """Distances from random sources."""
    store = setup.store("undirected")
    calls = [lambda session, source=source: session.bfs(source, False) for source in store.sources(setup.sources)]
    for place, timed, figure in each_place(setup, store, "BFS", calls):
        yield figure
        if setup.scale == TARGET_SCALE:
            aim = IN_CORE_BFS_MS if place == "in-core" else STREAMED_MS
            yield figure.aim(aim, f"{aim:.0f} ms at scale {TARGET_SCALE}")
        yield from against_peers(figure, "BFS", place, setup.scale, call_figure(figure, timed))
        if place == "streamed":
            yield bytes_figure(store, figure, timed)


def bytes_figure(store: Store, figure: Figure, timed: Timed) -> Figure:
    """Bytes moved over those of the topology."""
    moved = [account.bytes_moved / store.page_bytes for account in timed.accounts]
    return Figure(
        what=figure.what.replace("streamed", "streamed, bytes moved"),
        graph=store.name,
        value=max(timed.mean("bytes_moved"), 1.0) / store.page_bytes,  # heads may settle all: a ratio needs a number
        unit="times the topology",
        spread=Samples(tuple(moved)).spread(),
        checked=CHECKED,
    ).aim(MOST_BYTES, "at most 1.2 times the topology")


def components(setup: Setup) -> Iterator[Figure]:
    """Weakly connected components."""
    store = setup.store("undirected")

    def call(session: ours.Session) -> Any:
        return session.components()

    calls = [call] * COMPONENT_RUNS
    for place, timed, figure in each_place(setup, store, "components", calls, COMPONENT_PLACES, read_by_components):
        if place == "streamed" and not timed.mean("bytes_moved"):
            figure = replace(figure, note=f"{figure.note}; heads alone settle it, no page moves")
        if place == MOVED and (heads := heads_moved(store, timed)):
            figure = replace(figure, note=f"{figure.note}; {heads / 2**20:.1f} MiB of the attributes are heads")
        aimed = setup.scale == TARGET_SCALE and place != "in-core"
        yield replace(figure, need=SWEEP_SHARE, target="90 % of the link") if aimed and place == SWEPT else figure
        if aimed:
            yield figure.aim(STREAMED_MS, f"{STREAMED_MS:.0f} ms at scale {TARGET_SCALE}")
        yield from against_peers(figure, "components", place, setup.scale, call_figure(figure, timed))


def sssp(setup: Setup) -> Iterator[Figure]:
    """Distances with integer weights 1 to 255."""
    store = setup.store("weighted")
    sources = store.sources(min(setup.sources, SSSP_SOURCES))
    calls = [lambda session, source=source: session.sssp(source) for source in sources]
    for place, timed, figure in each_place(setup, store, "SSSP", calls):
        yield figure
        yield from against_peers(figure, "SSSP", place, setup.scale, call_figure(figure, timed))
