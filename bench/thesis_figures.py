"""Figures 7 to 11 and Table 1 of the GStream thesis (2015, chapter 5 and section 3.2), measured on our engine.

The thesis's graphs: RMAT, directed, edge factor 16 but in Figure 11, natural order, out-pages alone, so that BFS and
PageRank go by push. Its PageRank is 10 iterations, its BFS level-synchronous. It had two GTX TITANs of 6 GB on PCI-E
2.0 x16; what its text says of them stands beside ours as recorded. Times here are of whole runs, with attaching and the
answer, as a user waits for them. BFS is the mean over random sources. Every answer is compared with the host's, which
is most of what large graphs take: fewer sources take less.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench import ours
from bench.figures import Figure, Samples
from bench.gpu_setup import ALPHA, Setup, Store, check_equal, check_ranks
from bench.harness import SkippedError
from bench.ours import Account
from bench.stores import AS_GENERATED

STORE = AS_GENERATED  # the thesis's stores have no in-pages: nothing can pull
ITERATIONS = 10
REPEATS = 3
PAGE_BYTES = 1 << 20
BATCHES = {"a page a copy": PAGE_BYTES, "16 MiB a copy": 16 << 20}
CACHE_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the pages
CACHE_STREAMS = 16  # fixed: by default a device with less memory has fewer, and what that frees would be cache
EDGE_FACTORS = (4, 8, 16, 32, 64)
MICRO = ("vertex", "edge", "hybrid")
PLACES = {"in GPU memory": {}, "streamed": {"cache": "0"}}
CHECKED = "distances equal the host's, ranks within 1e-5 relative"
THESIS = "GStream thesis (2015), 5.2, two GTX TITANs"
TABLE_1 = "the thesis has 1:3 to 2:1 for BFS and 1:20 to 1:4 for PageRank, on Twitter, UK2007 and YahooWeb"
SPEEDUPS = {"BFS": (1.07, 1.89), "PageRank": (1.63, 1.77)}  # of two GPUs over one, least and most, thesis 5.2


@dataclass(frozen=True)
class Answers:
    """What the host's cores answer: distances from each source, ranks after ITERATIONS."""

    sources: list[int]
    distances: list[np.ndarray]
    ranks: np.ndarray

    @classmethod
    def of(cls, store: Store, count: int) -> Answers:
        sources = store.sources(count)
        with ours.opened(store.path, devices=["host"]) as session:
            distances = [ours.in_store_order(session.bfs(source, False)) for source in sources]
            return cls(sources, distances, ours.in_store_order(session.pagerank(ALPHA, iterations=ITERATIONS)))


@dataclass(frozen=True)
class Both:
    """Accounts of BFS from every source, and of a few runs of PageRank."""

    bfs: list[Account]
    pagerank: list[Account]

    def programs(self) -> list[tuple[str, list[Account]]]:
        return [("BFS", self.bfs), ("PageRank", self.pagerank)]


def run_bfs(session: ours.Session, answers: Answers) -> list[Account]:
    """Once from every source, checked, after once untimed, which fills the cache as far as there is one."""
    for source in answers.sources:
        session.bfs(source, False)
    accounts = []
    for source, expected in zip(answers.sources, answers.distances, strict=True):
        found = session.bfs(source, False)
        accounts.append(Account.of(found))
        check_equal(ours.in_store_order(found), expected, f"BFS from {source}")
    return accounts


def run_pagerank(session: ours.Session, answers: Answers) -> list[Account]:
    """REPEATS runs of ITERATIONS, checked; an untimed run goes before."""
    session.pagerank(ALPHA, iterations=ITERATIONS)
    accounts = []
    for _ in range(REPEATS):
        found = session.pagerank(ALPHA, iterations=ITERATIONS)
        accounts.append(Account.of(found))
        check_ranks(ours.in_store_order(found), answers.ranks, "PageRank")
    return accounts


def run_both(store: Store, answers: Answers, names: Sequence[str], **options: Any) -> Both:
    with ours.opened(store.path, devices=list(names), **options) as session:
        return Both(run_bfs(session, answers), run_pagerank(session, answers))


def elapsed(
    what: str, store: Store, program: str, accounts: Sequence[Account], plot: str, series: str, x: float
) -> Figure:
    """Seconds of whole runs: the mean, of BFS's sources or PageRank's repeats."""
    samples = Samples(tuple(account.whole_s for account in accounts))
    return Figure(
        what=f"{what}: {program}, {series}",
        graph=store.name,
        value=samples.mean,
        unit="s",
        spread=samples.spread(),
        checked=CHECKED,
        point={"plot": plot, "panel": program, "series": series, "x": x},
    )


def figure_7_and_8(setup: Setup) -> Iterator[Figure]:
    """Elapsed time by scale; and how many times as fast several devices are as one."""
    store = setup.store(STORE)
    answers = Answers.of(store, setup.sources)
    single: dict[tuple[str, str], float] = {}
    for names in [setup.devices.one, *setup.devices.several]:
        label = setup.devices.label(names)
        for place, options in PLACES.items():
            for program, accounts in run_both(store, answers, names, **options).programs():
                series = f"{place}, {label}"
                time = elapsed("Figure 7", store, program, accounts, "thesis-7", series, setup.scale)
                moved = np.mean([account.bytes_moved for account in accounts]) / 2**20
                loop = np.mean([account.loop_s for account in accounts])
                yield replace(time, note=f"supersteps alone {loop:.4g} s, {moved:.0f} MiB of pages moved a run")
                alone = single.setdefault((program, place), time.value)
                if names != setup.devices.one:
                    yield from speedup(setup, names, time, program, series, alone)
    if not setup.devices.several:
        raise SkippedError("Figure 8 takes two devices; this run has one")


def speedup(
    setup: Setup, names: Sequence[str], time: Figure, program: str, series: str, alone: float
) -> Iterator[Figure]:
    row = Figure(
        what=f"Figure 8: {program}, {series}",
        graph=time.graph,
        value=alone / time.value,
        unit="times as fast",
        checked=CHECKED,
        point={"plot": "thesis-8", "panel": program, "series": series, "x": setup.scale},
    )
    if setup.devices.count(names) == 2:
        least, most = SPEEDUPS[program]
        yield row.versus(f"the thesis, {least} to {most}", most, recorded=THESIS)
    else:
        yield row


def figure_9(setup: Setup) -> Iterator[Figure]:
    """Time by the number of streams, pages crossing the link every time: copies of one page, as the thesis has them,
    and of the engine's size (which bounds what is in flight, so more streams than that are not made)."""
    if setup.devices.kind == "host":
        raise SkippedError("host devices read pages where they lie and have no streams")
    store = setup.store(STORE)
    answers = Answers.of(store, setup.sources)
    for name, batch_bytes in BATCHES.items():
        for streams in setup.streams:
            options = {"cache": "0", "streams": streams, "batch_bytes": batch_bytes}
            for program, accounts in run_both(store, answers, setup.devices.one, **options).programs():
                series = f"scale {setup.scale}, {name}"
                yield elapsed(f"Figure 9, streams: {streams}", store, program, accounts, "thesis-9", series, streams)


def figure_10(setup: Setup) -> Iterator[Figure]:
    """BFS, level by level as in the thesis, with a cache for 0 to 100 % of the pages: time and hit rate; and PageRank,
    whose sweeps a cache of the least recently used pages can't serve.

    The engine may keep its cache from run to run, so the hit rate of the first run, which found it empty as the
    thesis's did, has curves of its own.
    """
    if setup.devices.kind == "host":
        raise SkippedError("host devices read pages where they lie and cache nothing on a device")
    store = setup.store(STORE)
    answers = Answers.of(store, setup.sources)
    names = setup.devices.one
    for program in ("BFS", "PageRank"):
        least = device_bytes_without_cache(store, program, answers, names)
        for policy in ("lru", "pinned"):
            for part in CACHE_SHARES:
                cap = least + int(part * store.page_bytes)
                options = {"cache": policy, "device_memory": cap, "streams": CACHE_STREAMS}
                with ours.opened(store.path, devices=names, **options) as session:
                    if program == "BFS":
                        first = Account.of(session.bfs(answers.sources[0], False))
                        accounts = run_bfs(session, answers)
                    else:
                        first = Account.of(session.pagerank(ALPHA, iterations=ITERATIONS))
                        accounts = run_pagerank(session, answers)
                series, x = f"scale {setup.scale}, {policy}", 100 * part
                what, rates = f"Figure 10, cache {x:.0f} %", f"hit rate, {program}"
                yield elapsed(what, store, program, accounts, "thesis-10", series, x)
                yield hit_rate(what, store, accounts, rates, series, x)
                yield hit_rate(what, store, [first], rates, f"{series}, first run", x)


def hit_rate(what: str, store: Store, accounts: Sequence[Account], panel: str, series: str, x: float) -> Figure:
    """Mean share of the pages asked for that the cache held, in percent."""
    hits = Samples(tuple(100 * account.r_hit for account in accounts))
    return Figure(
        what=f"{what}: {panel}, {series}",
        graph=store.name,
        value=hits.mean,
        unit="%",
        spread=hits.spread(),
        point={"plot": "thesis-10", "panel": panel, "series": series, "x": x},
    )


def device_bytes_without_cache(store: Store, program: str, answers: Answers, names: Sequence[str]) -> int:
    """What a program holds on a device beside a page cache, by its plan."""
    import gstream
    from gstream.programs.bfs import BFS
    from gstream.programs.pagerank import PageRank

    planned = BFS(source=(answers.sources[0],)) if program == "BFS" else PageRank()
    with gstream.open(store.path) as graph:
        plan = graph.engine(devices=list(names), cache="0", streams=CACHE_STREAMS).plan(planned)
        return sum(plan.device_bytes.values())


def figure_11(setup: Setup) -> Iterator[Figure]:
    """Density against the micro-level technique (thesis 4.1), pages in GPU memory, so that kernels' times show."""
    from gstream.graph import RUN_OPTIONS

    if "micro" not in RUN_OPTIONS:
        raise SkippedError("the engine has no option for the micro-level technique")
    if setup.devices.kind == "host":
        raise SkippedError("the kernels of host devices have one technique")
    for edge_factor in EDGE_FACTORS:
        store = setup.store(STORE, edge_factor)
        answers = Answers.of(store, setup.sources)
        for micro in MICRO:
            for program, accounts in run_both(store, answers, setup.devices.one, micro=micro).programs():
                figure = elapsed(
                    f"Figure 11, 1:{edge_factor}", store, program, accounts, "thesis-11", micro, edge_factor
                )
                yield figure


class CopyKernelSeconds:
    """A trace that adds up the spans of copies and kernels on GPUs, by the beginning of a span's or track's name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seconds: dict[str, float] = {}
        self.clear()

    def clear(self) -> None:
        with self._lock:
            self.seconds = {"copy": 0.0, "kernel": 0.0}

    def span(self, process: str, track: str, name: str, start_s: float, end_s: float) -> None:
        if not process.startswith("cuda"):
            return
        for kind in self.seconds:
            if name.startswith(kind) or track.startswith(kind):
                with self._lock:
                    self.seconds[kind] += end_s - start_s
                return


def table_1(setup: Setup) -> Iterator[Figure]:
    """Seconds of copies to seconds of kernels, all pages crossing the link, by the engine's trace."""
    if setup.devices.kind != "cuda":
        raise SkippedError("only GPUs trace copies and kernels apart")
    store = setup.store(STORE)
    sources = store.sources(setup.sources)
    trace = CopyKernelSeconds()
    with ours.opened(store.path, devices=setup.devices.one, cache="0", trace=trace) as session:
        session.bfs(sources[0], False)  # warm-up
        session.pagerank(ALPHA, iterations=1)
        for program in ("BFS", "PageRank"):
            trace.clear()
            for source in sources if program == "BFS" else ():
                session.bfs(source, False)
            if program == "PageRank":
                session.pagerank(ALPHA, iterations=ITERATIONS)
            copies, kernels = trace.seconds["copy"], trace.seconds["kernel"]
            if not kernels:
                raise SkippedError(f"the trace of {program} has no kernels")
            yield Figure(
                what=f"Table 1: {program}, transfer to kernel time",
                graph=store.name,
                value=copies / kernels,
                unit="copy : kernel",
                note=f"sums of all streams: {copies:.4g} s of copies, {kernels:.4g} s of kernels; {TABLE_1}",
            )
