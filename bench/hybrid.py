"""Cores beside a GPU against each of them alone (Garaph, section 5.1): in memory, streamed, from disk, and over a link
that is throttled, to 12 GB/s if nothing else is said.

Times are those of superstep loops, the least of some runs; sides take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from bench import ours
from bench.figures import Figure, Samples, check
from bench.gpu_setup import ALPHA, RELATIVE, Setup, Store
from bench.harness import SkippedError
from bench.link_limit import limited
from bench.ours import Account

STORE = "weighted"
ROUNDS, RUNS = 2, 4  # sides take turns; runs of a turn, of which the first brings pages where they belong
ITERATIONS = 20
NEED, SLOW_NEED, STREAMED_NEED = 0.97, 1.4, 1.18  # times the better side alone
PLACES: dict[str, dict[str, Any]] = {"in memory": {}, "streamed": {"cache": "0"}}
DISK_SHARE = 4  # of the pages, what the host's memory has room for where they come from disk
CHECKED = "BFS, SSSP and components: every value equals the GPU's; PageRank: within 1e-5 relative"
PROGRAMS: dict[str, Callable[[ours.Session, int], Any]] = {
    "BFS": lambda session, source: session.bfs(source, False),
    "SSSP": lambda session, source: session.sssp(source),
    "components": lambda session, source: session.components(),
    "PageRank": lambda session, source: session.pagerank(ALPHA, iterations=ITERATIONS),
}


def hybrid(setup: Setup) -> Iterator[Figure]:
    """Every program in every place."""
    store = setup.store(STORE)
    cap = 64 * store.vertices + 8 * store.a_page + store.page_bytes // DISK_SHARE
    for place, options in (*PLACES.items(), ("from disk", {"host_memory": cap})):
        for name in PROGRAMS:
            streamed = name == "PageRank" and place == "streamed"
            yield against_each(setup, store, name, place, options, STREAMED_NEED if streamed else NEED)


def slow_link(setup: Setup) -> Iterator[Figure]:
    """The same over a throttled link, pages streamed."""
    store, rate = setup.store(STORE), setup.link_limit
    place = f"streamed, link throttled to {rate / 1e9:g} GB/s"
    for name in PROGRAMS:
        need = SLOW_NEED if name == "PageRank" else NEED
        yield against_each(setup, store, name, place, {"cache": "0"}, need, rate)


def against_each(
    setup: Setup, store: Store, name: str, place: str, options: dict[str, Any], need: float, rate: float | None = None
) -> Figure:
    """Both sides at once against the better one alone."""
    if setup.devices.kind != "cuda":
        raise SkippedError("cores beside a GPU take a GPU (--devices cuda:0)")
    source = store.sources(1)[0]
    gpu = setup.devices.one[0]
    sides = {"the GPU alone": [gpu], "the cores alone": ["host"], "both": [f"host,{gpu}"]}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    answers: dict[str, Any] = {}
    shared = 0
    for _ in range(ROUNDS):
        for side, devices in sides.items():
            own = {} if side == "the cores alone" and "cache" in options else options
            with ours.opened(store.path, devices=devices, **own) as session, ExitStack() as undo:
                if rate is not None:
                    undo.enter_context(limited(session.graph.engine(**session.options), rate))
                for run in range(RUNS):
                    found = PROGRAMS[name](session, source)
                    if run:
                        seconds[side].append(Account.of(found).loop_s)
                    shared = max(shared, found.summary["stats"]["cores_pages"]) if side == "both" else shared
            answers[side] = ours.in_store_order(found)
    check_alike(answers, name)
    samples = {side: Samples(tuple(taken)) for side, taken in seconds.items()}
    better = min(("the GPU alone", "the cores alone"), key=lambda side: samples[side].least)
    alone = ", ".join(f"{side} {samples[side].least * 1e3:.4g} ms" for side in sides if side != "both")
    emulated = "; the link is emulated: copies are throttled" if rate is not None else ""
    return Figure(
        what=f"{name} {place}, cores beside a GPU", graph=store.name, value=samples["both"].least * 1e3, unit="ms",
        spread=samples["both"].spread(1e3), checked=CHECKED,
        note=f"{alone}; the cores took {shared} pages{emulated}",
    ).versus(better, samples[better].least * 1e3, need, f"{need:g} times {better}")  # fmt: skip


def check_alike(answers: dict[str, Any], name: str) -> None:
    """Raise WrongAnswerError where one side's answer is another."""
    wanted = answers["the GPU alone"]
    for side, values in answers.items():
        same = (
            (abs(values - wanted) <= RELATIVE * abs(wanted)).all() if name == "PageRank" else (values == wanted).all()
        )
        check(bool(same), f"{name}, {side}")
