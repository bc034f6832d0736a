"""What simd.py measures: the model of the SIMD paper (UA, UR, ME by group size S), and speed with each S forced.

Its Figure 6 has the shares of SIMD lanes by S, its Figure 5 the speed of BFS's expansion. Here BFS pushes along
out-pages, whose list lengths the model is given, and PageRank pulls along in-pages. The model counts whole sweeps: of a
page, all records; a BFS expands those of its frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import ours
from bench.families import Family, generated, real
from bench.figures import Figure, Samples
from bench.gpu_setup import ALPHA, Iteration, Setup, Store, check_equal, check_ranks
from bench.harness import SkippedError
from bench.ours import Account
from pagestore.info import simd_facts
from pagestore.layout import GROUP_SIZES

ORDERS = ("natural", "degree")
FIGURE_6, MORE, FIGURE_5 = "simd", "simd-more", "simd-5"  # the paper's: lists of out-edges, vertices as they come
ITERATIONS = (2, 22)
REPEATS = 3
HYBRID = "hybrid"
PULL, PUSH = "PageRank pull, iteration", "BFS push, expansion rate"
CHECKED = "ranks within 1e-5 relative of the host's; distances equal the host's"
Rates = dict[str, dict[str, float | int]]


@dataclass(frozen=True)
class Measured:
    """A graph's store in one order, and its rates by topology."""

    name: str
    order: str
    path: Path
    rates: dict[str, Rates]

    @classmethod
    def of(cls, family: Family, folder: Path, order: str) -> Measured:
        import pagestore

        path = family.ordered(folder, order)
        with pagestore.open_store(path) as store:
            rates = {name: simd_facts(store, store.topology(name)) for name in store.meta.topologies}
        return cls(f"{family.name}, {order} order", order, path, rates)

    def rates_of(self, topology: str) -> Rates:
        """Of "out" or "in"; an undirected graph's one set serves both."""
        return self.rates.get(topology, self.rates["out"])


def best_single(rates: Rates) -> int:
    """The group size with the best ME for all pages; of equals the largest, as the converter chooses."""
    return max(GROUP_SIZES, key=lambda size: (rates[str(size)]["ME"], size))


def figure_6(graph: Measured) -> Iterator[Figure]:
    """UA, UR and ME of each page set by S; and of the sizes chosen page by page against the best single one."""
    for topology, rates in graph.rates.items():
        panel = f"{graph.name}, {topology}-pages"
        plot = FIGURE_6 if topology == "out" and graph.order == "natural" else MORE
        for series in ("UA", "UR", "ME"):
            for size in GROUP_SIZES:
                point = {"plot": plot, "panel": panel, "series": series, "x": size}
                share = 100 * rates[str(size)][series]
                yield Figure(f"Figure 6: {series}, S = {size}", panel, share, "%", point=point, counted=True)
        best = best_single(rates)
        chosen = Figure("Model: ME of sizes chosen page by page", panel, 100 * rates["chosen"]["ME"], "%", counted=True)
        yield chosen.versus(f"the best single size, S = {best}", 100 * rates[str(best)]["ME"])


class Answers:
    """What the host's cores answer on one store."""

    def __init__(self, path: Path, count: int) -> None:
        self.sources = Store.read(path, "", 0, 0).sources(count)
        with ours.opened(path, devices=["host"]) as session:
            self.ranks = ours.in_store_order(session.pagerank(ALPHA, iterations=ITERATIONS[1]))
            self.distances = [ours.in_store_order(session.bfs(source, False)) for source in self.sources]


def pull(path: Path, devices: list[str], micro: str, answers: Answers) -> Samples:
    """Seconds of an iteration of PageRank by pull, pages on the device."""
    with ours.opened(path, devices=devices, direction="pull", micro=micro) as session:
        iteration = Iteration.measure(session, *ITERATIONS, REPEATS)
    check_ranks(iteration.ranks, answers.ranks, f"PageRank, {micro}")
    return iteration.seconds


def push(path: Path, devices: list[str], micro: str, answers: Answers) -> tuple[Samples, float]:
    """Seconds of BFS by push from each source, supersteps alone; and edges expanded in all of them."""
    seconds, edges = [], 0
    with ours.opened(path, devices=devices, direction="push", micro=micro) as session:
        session.bfs(answers.sources[0], False)  # warm-up: compiles, and puts the pages on the device
        for source, expected in zip(answers.sources, answers.distances, strict=True):
            found = session.bfs(source, False)
            check_equal(ours.in_store_order(found), expected, f"BFS from {source}, {micro}")
            account = Account.of(found)
            seconds.append(account.loop_s)
            edges += account.edges_visited
    return Samples(tuple(seconds)), edges


def figure_5(setup: Setup, graph: Measured) -> Iterator[Figure]:
    """Measured speed by S, with what the model says of each; then of the sizes chosen by page."""
    answers = Answers(graph.path, setup.sources)
    pulled: dict[str, float] = {}
    pushed: dict[str, float] = {}
    for micro in (*map(str, GROUP_SIZES), HYBRID):
        samples = pull(graph.path, setup.devices.one, micro, answers)
        pulled[micro] = samples.median * 1e3
        spread = samples.spread(1e3)
        if micro != HYBRID:
            yield _measured(graph, PULL, micro, pulled[micro], "ms", spread)
        samples, edges = push(graph.path, setup.devices.one, micro, answers)
        pushed[micro] = edges / sum(samples.seconds) / 1e6
        if micro != HYBRID:
            yield _measured(graph, PUSH, micro, pushed[micro], "M edges/s")
    yield from against_model(graph, PULL, "ms", pulled, graph.rates_of("in"), min)
    yield from against_model(graph, PUSH, "M edges/s", pushed, graph.rates_of("out"), max)


def _measured(
    graph: Measured, what: str, micro: str, value: float, unit: str, spread: dict[str, float] | None = None
) -> Figure:
    point = _point(graph, what, micro, "measured")
    return Figure(f"Figure 5: {what}, S = {micro}", graph.name, value, unit, spread=spread, point=point)


def _point(graph: Measured, what: str, micro: str, series: str) -> dict[str, Any]:
    return {"plot": FIGURE_5, "panel": f"{what}, {graph.name}", "series": series, "x": int(micro)}


def against_model(
    graph: Measured, what: str, unit: str, found: dict[str, float], rates: Rates, best_of: Callable[..., str]
) -> Iterator[Figure]:
    """The S that the model says is best, and the sizes chosen by page, against the S that was measured to be best."""
    from scipy.stats import spearmanr

    singles = [str(size) for size in GROUP_SIZES]
    shares = {micro: 100 * rates[micro]["ME"] for micro in singles}
    for micro, share in shares.items():
        point = _point(graph, what, micro, "ME by the model")
        yield Figure(f"Figure 5: ME of {what}, S = {micro}", graph.name, share, "%", point=point, counted=True)
    best = best_of(singles, key=lambda micro: found[micro])
    order = float(spearmanr([found[micro] for micro in singles], list(shares.values())).statistic)
    note = f"rank correlation of speed and ME over S: {-order if unit == 'ms' else order:.2f}"
    given = (f"the fastest single S, {best}", found[best])
    predicted = str(best_single(rates))
    row = Figure(f"{what}, the model's best single S", graph.name, found[predicted], unit, checked=CHECKED)
    yield replace(row, note=f"S = {predicted}; {note}").versus(*given)
    chosen = f"the model's ME {rates['chosen']['ME']:.1%}"
    yield replace(row, what=f"{what}, S chosen by page", value=found[HYBRID], note=chosen).versus(*given)


def lanes(setup: Setup, family: Family) -> Iterator[Figure]:
    """Both figures of one graph in each order; the measured one on GPUs alone."""
    for order in ORDERS:
        graph = Measured.of(family, setup.folder, order)
        yield from figure_6(graph)
        if setup.devices.kind == "cuda":
            yield from figure_5(setup, graph)


NO_LANES = "only the model's figures: kernels of the host have no lanes that share a list (--devices cuda:0 measures)"


def of_kind(kind: str) -> Callable[[Setup], Iterator[Figure]]:
    """A stage: the generated graph of this kind at the stage's scale."""

    def stage(setup: Setup) -> Iterator[Figure]:
        yield from lanes(setup, generated(kind, setup.scale))
        _tell(setup)

    return stage


def of_real(setup: Setup) -> Iterator[Figure]:
    """A stage: every real graph that is there."""
    for family in real(setup.data):
        yield from lanes(setup, family)
    _tell(setup)


def _tell(setup: Setup) -> None:
    if setup.devices.kind != "cuda":
        raise SkippedError(NO_LANES)
