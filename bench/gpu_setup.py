"""What the stages of gpu.py and thesis.py share: what they are given, figures of peers, references, timed runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench import ours, stores
from bench.figures import Figure, Samples, check
from bench.graphs import SEED
from bench.link import Ceiling, Devices
from bench.ours import Account
from pagestore.layout import HEAD_NEIGHBOURS

ALPHA = 0.85
LEAST_SECONDS = 6.0
RELATIVE = 1e-5  # of ranks in float32
RECORD = (
    "measured apart, on one H200 with 16 cores, on graphs of the same kind and size (RMAT .57, .19, .19, edge factor "
    "16, symmetric, no duplicates, scrambled IDs, weights 1 to 255), answers checked where the program hands them "
    'out; medians, the least where runs spread; cuGraph, and EMOGI without "zero-copy", hold the graph in GPU memory'
)
PEERS: dict[tuple[str, str], dict[int, dict[str, float]]] = {
    ("BFS", "in-core"): {24: {"cuGraph 26.10": 5.1, "EMOGI": 27}, 26: {"cuGraph 26.10": 17.3, "EMOGI": 152}},
    ("BFS", "streamed"): {
        24: {"HyTGraph": 59, "EMOGI (zero-copy)": 73, "Subway": 222, "GAP, 16 cores": 37},
        26: {"HyTGraph": 218, "GAP, 16 cores": 145},
    },
    ("components", "in-core"): {24: {"cuGraph 26.10": 43, "EMOGI": 39}, 26: {"cuGraph 26.10": 116, "EMOGI": 196}},
    ("components", "streamed"): {
        24: {"EMOGI (zero-copy)": 115, "Subway": 422, "GAP, 16 cores": 63},
        26: {"GAP, 16 cores": 309},
    },
    ("SSSP", "in-core"): {24: {"cuGraph 26.10": 71, "EMOGI": 51}, 26: {"cuGraph 26.10": 187}},
    ("SSSP", "streamed"): {24: {"HyTGraph": 205, "EMOGI (zero-copy)": 233, "GAP, 16 cores": 372}},
    ("PageRank iteration", "in-core"): {24: {"cuGraph 26.10": 3.43, "EMOGI": 13.7}, 26: {"cuGraph 26.10": 15.1}},
    ("PageRank iteration", "streamed"): {
        24: {"EMOGI (zero-copy)": 52.6, "GAP, 16 cores": 149},
        26: {"GAP, 16 cores": 936},
    },
}  # (program, where the pages are): {scale: {peer: milliseconds}}
RACE: dict[tuple[str, str], tuple[str, dict[int, float]]] = {
    ("PageRank iteration", "in-core"): ("PageRank in-core by pull, iteration", {24: 2.4, 26: 11}),
    ("PageRank iteration", "streamed"): ("PageRank streamed, iteration", {24: 40, 26: 160}),
    ("BFS", "in-core"): ("BFS in-core", {24: 1.1, 26: 2.7}),
    ("BFS", "streamed"): ("BFS streamed", {24: 6, 26: 20}),
    ("components", "in-core"): ("components in-core", {24: 0.4, 26: 1.2}),
    ("components", "streamed, heads moved in the run"): (
        "components streamed, heads moved in the run",
        {24: 4, 26: 14},
    ),
    ("SSSP", "in-core"): ("SSSP in-core", {24: 30, 26: 110}),
    ("SSSP", "streamed"): ("SSSP streamed", {24: 110}),
}  # what is to be reached: the figure's name, and milliseconds as above


@dataclass(frozen=True)
class Setup:
    """What a stage is given. scale: of the stage's graph; merge_scale: of the graph whose merges are measured;
    streams: counts of streams to try; sources: starts of BFS and SSSP; data: where real graphs are, as far as is known;
    least_seconds: for which iterations of PageRank on a sorted store are repeated.
    """

    devices: Devices
    scale: int
    folder: Path
    merge_scale: int
    streams: tuple[int, ...]
    sources: int
    data: Path | None = None
    link_limit: float = 12e9
    least_seconds: float = LEAST_SECONDS

    def store(self, kind: str, edge_factor: int = stores.EDGE_FACTOR, scale: int | None = None) -> Store:
        return self.make(kind, edge_factor, scale)[0]

    def make(
        self, kind: str, edge_factor: int = stores.EDGE_FACTOR, scale: int | None = None
    ) -> tuple[Store, float]:  # fmt: skip
        """The store, and seconds that generating it took: 0 where it was there."""
        scale = self.scale if scale is None else scale
        path, seconds = stores.generated(self.folder, scale, kind, edge_factor)
        return Store.read(path, kind, scale, edge_factor), seconds


@dataclass(frozen=True)
class Store:
    """A measured store and its sizes. page_bytes: of all pages that one full sweep visits; a_page: of one page. Both
    with weights where the store has them. head_bytes: of the heads of all vertices that have some."""

    path: Path
    name: str
    vertices: int
    edges: int
    page_bytes: int
    a_page: int
    head_bytes: int = 0

    @classmethod
    def read(cls, path: Path, kind: str, scale: int, edge_factor: int) -> Store:
        import pagestore

        with pagestore.open_store(path) as store:
            topology = store.topology("out")
            a_page = topology.layout.page_bytes + (topology.weight_page_bytes or 0)
            density = f", edge factor {edge_factor}" if edge_factor != stores.EDGE_FACTOR else ""
            return cls(
                path, f"rmat-{scale}{density}, {kind}", store.meta.vertices, store.meta.edges,
                topology.pages * a_page, a_page, topology.head_rows * HEAD_NEIGHBOURS * store.meta.id_bytes,
            )  # fmt: skip

    def sources(self, count: int) -> list[int]:
        """`count` distinct random vertices with out-edges, from the seed, by user ID."""
        import pagestore

        with pagestore.open_store(self.path) as store:
            candidates = np.flatnonzero(store.out_degree())
            chosen = np.random.default_rng(SEED).choice(candidates, size=min(count, len(candidates)), replace=False)
            natural = store.natural_of(chosen.astype(store.layout.id_dtype))
            return [int(store.user_ids(int(n), int(n) + 1)[0]) for n in natural]


def making(kind: str) -> Callable[[Setup], Iterator[Figure]]:
    """A stage that generates a store which others need, apart from them: their limits are for measuring."""

    def make(setup: Setup) -> Iterator[Figure]:
        yield from generating(*setup.make(kind))

    return make


def generating(store: Store, seconds: float) -> Iterator[Figure]:
    """Edges a second, where the store was not there yet."""
    if seconds:
        rate = store.edges / seconds / 1e6
        yield Figure("generating a store", store.name, rate, "M edges/s", note=f"{seconds:.1f} s")


def on_host(store: Store, run: Callable[[ours.Session], Any]) -> np.ndarray:
    """The first column of what the host's cores answer."""
    with ours.opened(store.path, devices=["host"]) as session:
        return ours.in_store_order(run(session))


def host_ranks(store: Store, iterations: int) -> np.ndarray:
    """Ranks after so many iterations, by the host's cores."""
    return on_host(store, lambda session: session.pagerank(ALPHA, iterations=iterations))


def check_ranks(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    worst = float(np.max(np.abs(found.astype(np.float64) - expected) / expected, initial=0.0))
    check(worst <= RELATIVE, f"{what}: a rank is {worst:.1e} off the host's; {RELATIVE:.0e} is allowed")


def check_equal(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    different = int(np.count_nonzero(found != expected))
    check(different == 0, f"{what}: {different} values differ from the host's")


@dataclass(frozen=True)
class Iteration:
    """One iteration of PageRank: what a long run did beyond a short one, over the iterations between them.

    first: seconds an iteration of the short run, the median.
    """

    seconds: Samples
    first: float
    bytes_moved: float
    ranks: np.ndarray  # of the long run, in store order

    @classmethod
    def measure(cls, session: ours.Session, short: int, long: int, repeats: int) -> Iteration:
        session.pagerank(ALPHA, iterations=short)  # warm-up: compiles, reads and pins the pages
        seconds, first, moved = [], [], 0.0
        for _ in range(repeats):
            brief = Account.of(session.pagerank(ALPHA, iterations=short))
            answer = session.pagerank(ALPHA, iterations=long)
            whole = Account.of(answer)
            first.append(brief.loop_s / short)
            seconds.append((whole.loop_s - brief.loop_s) / (long - short))
            moved = (whole.bytes_moved - brief.bytes_moved) / (long - short)
        return cls(Samples(tuple(seconds)), median(first), moved, ours.in_store_order(answer))


def against_peers(figure: Figure, program: str, where: str, scale: int, call: Figure | None = None) -> Iterator[Figure]:
    """Rows of a figure in milliseconds against what is to be reached at this scale, and what is recorded of peers.

    call: the time of whole calls, which is what peers' figures are of; None: the figure is of what theirs are.
    """
    aim = RACE.get((program, where), ("", {}))[1].get(scale)
    if aim is not None:
        yield figure.aim(aim, f"{aim:g} ms at scale {scale}")
    for peer, milliseconds in PEERS.get((program, where), {}).get(scale, {}).items():
        yield (call or figure).versus(peer, milliseconds, recorded=RECORD)


def against_ceiling(figure: Figure, ceiling: Ceiling, size: float) -> Figure:
    """A time in ms against the time that so many bytes take at a ceiling's rate."""
    return figure.share_of(f"its bytes at the rate of {ceiling.name}", size / ceiling.rate * 1e3)
