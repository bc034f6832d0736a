"""What edge_vertex.py measures: the approximate sort of the Edge-Vertex paper against exact ones, and what it buys.

The paper (sections 4.1, 5.1 and 5.5) sorts vertices by in-degree, since a vertex's messages come along its in-edges:
here in-degrees are sorted, and in-pages pulled. Its Figure 10 has PageRank with and without the sort, Figure 11 the
time of sorts by size, Figure 12 PageRank by the number of buckets, Table 2 the graphs, Table 5 the efficiency of warps
whose lanes have a vertex each: ME at a group size of 1 in the model of the SIMD paper. Without a sort (0 buckets in the
paper) stands as one bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import ours
from bench.families import Family, generated, real
from bench.figures import Figure, Samples, by_turns, check, timed
from bench.gpu_setup import ALPHA, Setup, check_ranks
from bench.harness import SkippedError
from bench.ours import Account
from pagestore.convert.order import MAX_ORDER_BUCKETS, degree_order, extremes
from pagestore.convert.storage import Vector
from pagestore.info import ETA_DEGREE, lane_rates
from pagestore.layout import PageLayout
from pagestore.planning import plan_pages

PAPER_BUCKETS = 1000
SWEEP = (1, 10, 100, PAPER_BUCKETS, 10_000, 100_000, None)  # None: one a degree
REPEATS = 5
ITERATIONS = 5  # of a run; REPEATS runs, and more where they are short
MOST_ROUNDS = 100
PLOT, SORTS_PLOT = "edge_vertex", "edge_vertex-11"
CHECKED_ORDER = "degrees never rise along the order (approximate: buckets never do), every vertex stands there once"
CHECKED_RANKS = "ranks are those of the natural order within 1e-5 relative"
PAPER = "by the paper on a GTX 780: approximate sort 6.1 times as fast as radix sort at worst, 21.7 times merge at best"


@dataclass(frozen=True)
class Degrees:
    """Of a graph in natural order, u4[vertices]; others: the other direction's, None for undirected graphs."""

    name: str
    edges: int
    sorted_by: np.ndarray
    others: np.ndarray | None

    @classmethod
    def of(cls, family: Family, folder: Path) -> Degrees:
        import pagestore

        with pagestore.open_store(family.natural(folder)) as store:
            others = np.array(store.out_degree()) if store.meta.directed else None
            return cls(family.name, store.meta.edges, np.array(store.in_degree()), others)

    @property
    def vertices(self) -> int:
        return len(self.sorted_by)

    @cached_property
    def span(self) -> tuple[int, int]:
        return int(self.sorted_by.min()), int(self.sorted_by.max())

    def counts(self) -> list[int | None]:
        """The numbers of buckets to try: from as many as there are degrees on, all are one a degree."""
        width = self.span[1] - self.span[0]
        return [count for count in SWEEP if count is None or count == 1 or count <= width]


def position(count: int | None) -> int:
    """Where a number of buckets stands in plots."""
    return MAX_ORDER_BUCKETS if count is None else count


def words(count: int | None) -> str:
    return "one bucket a degree" if count is None else f"{count:,} buckets" if count > 1 else "no sort"


# -- host sorts ---------------------------------------------------------------------------------------------------


def approximate_on_host(degrees: Degrees, count: int | None) -> Callable[[], np.ndarray]:
    """A call that gives places, u4[vertices], as the converter makes them: one thread, Numba."""
    by, others = _vector(degrees.sorted_by), None if degrees.others is None else _vector(degrees.others)

    def sort() -> np.ndarray:
        return degree_order(by, others, extremes(by), count, np.dtype(np.uint32), None).read(0, None)

    sort()  # compiles the kernels, or reads them from Numba's cache: no part of what is timed
    return sort


def _vector(values: np.ndarray) -> Vector:
    vector = Vector(len(values), values.dtype)
    vector.write(0, values)
    return vector


def by_keys(degrees: np.ndarray) -> np.ndarray:
    """Vertices by descending degree: (degree, vertex) as 64-bit keys, which NumPy sorts by vector instructions."""
    keys = (np.uint64(0xFFFFFFFF) - degrees) << np.uint64(32) | np.arange(len(degrees), dtype=np.uint64)
    keys.sort()
    return keys.astype(np.uint32)  # the low word


HOST_EXACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "numpy argsort, stable": lambda degrees: np.argsort(~degrees, kind="stable"),
    "numpy argsort, quicksort": lambda degrees: np.argsort(~degrees, kind="quicksort"),
    "numpy sort of (degree, vertex)": by_keys,
}  # ~degree ascends where the degree falls


def check_places(degrees: Degrees, place: np.ndarray, count: int | None) -> None:
    """An approximate sort: a permutation whose buckets never go back; one that is off moves nothing."""
    least, most = degrees.span
    order = np.empty(degrees.vertices, np.int64)
    order[:] = -1
    order[place] = np.arange(degrees.vertices)
    check(bool((order >= 0).all()), f"sort of {degrees.name}: a place is given twice")
    if least == most:
        check(bool((np.diff(order) == 1).all()), f"sort of {degrees.name}: it is off, and moves vertices")
        return
    found = degrees.sorted_by[order].astype(np.int64)
    alone = (found == 0) & (True if degrees.others is None else degrees.others[order] == 0)
    limit = MAX_ORDER_BUCKETS if count is None else count
    if most - least >= limit:
        steps = limit - 1
        found = np.minimum(found, limit) if count is None else (found - least) * steps // (most - least)
    check(bool((np.diff(np.where(alone, -1, found)) <= 0).all()), f"sort of {degrees.name}: a bucket stands wrong")


def check_order(degrees: Degrees, order: np.ndarray) -> None:
    """An exact sort: a permutation along which degrees never rise."""
    seen = np.zeros(degrees.vertices, np.bool_)
    seen[order] = True
    check(bool(seen.all()), f"sort of {degrees.name}: a vertex is missing")
    falls = np.diff(degrees.sorted_by[order].astype(np.int64)) <= 0
    check(bool(falls.all()), f"sort of {degrees.name}: degrees rise along the order")


def host_sorts(degrees: Degrees) -> Iterator[Figure]:
    """Figure 11 on one core of the host."""
    exact: dict[str, Samples] = {}
    for name, sort in HOST_EXACT.items():
        exact[name], order = timed(REPEATS, lambda sort=sort: sort(degrees.sorted_by))
        check_order(degrees, order)
    yield from compared(degrees, "host", exact, lambda count: _timed_on_host(degrees, count))


def _timed_on_host(degrees: Degrees, count: int | None) -> Samples:
    sort = approximate_on_host(degrees, count)
    sort()  # touches memory
    samples, place = timed(REPEATS, sort)
    check_places(degrees, place, count)
    return samples


# -- GPU sorts ----------------------------------------------------------------------------------------------------


def gpu_sorts(setup: Setup, degrees: Degrees) -> Iterator[Figure]:
    """Figure 11 on the GPU: kernels' and copies' time by events, degrees there already."""
    from bench.gpu_sort import EXACT, DegreeSort
    from gstream.devices.gpu.driver import Gpu

    gpu = Gpu(int(setup.devices.one[0].partition(":")[2] or 0))
    with DegreeSort(gpu, degrees.sorted_by, degrees.others) as sort:

        def approximate(count: int | None) -> Samples:
            sort.approximate(count)  # loads the kernels
            samples = _milliseconds(lambda: sort.approximate(count))
            check_places(degrees, sort.places(), count)
            return samples

        approximate(None)  # finds the extremes, which radix sort counts its bits by
        exact: dict[str, Samples] = {}
        for name in EXACT:
            sort.exact(name)
            exact[f"CUB {name}"] = _milliseconds(lambda name=name: sort.exact(name))
            check_order(degrees, sort.order())
        yield from compared(degrees, "GPU", exact, approximate)


def _milliseconds(run: Callable[[], float]) -> Samples:
    return Samples(tuple(run() / 1e3 for _ in range(REPEATS)))


def compared(
    degrees: Degrees, where: str, exact: dict[str, Samples], approximate: Callable[[int | None], Samples]
) -> Iterator[Figure]:
    """Figure 11, the approximate sort with the paper's buckets and with one a degree against each exact one; and its
    time by the number of buckets."""
    series = {name: samples.least * 1e3 for name, samples in exact.items()}
    for count in degrees.counts():
        samples = approximate(count)
        mine = f"approximate, {words(count)}"
        scale = 1e9 / degrees.vertices
        yield Figure(
            what=f"Sort on the {where}, {words(count)}", graph=degrees.name, value=samples.least * scale,
            unit="ns/vertex", spread=samples.spread(scale),
            point=_point(PLOT, f"sort, {where}", degrees.name, position(count)),
        )  # fmt: skip
        if count not in (PAPER_BUCKETS, None):
            continue
        series[mine] = samples.least * 1e3
        figure = Figure(
            what=f"Figure 11: sort by in-degree on the {where}, {words(count)}", graph=degrees.name,
            value=samples.least * 1e3, unit="ms", spread=samples.spread(1e3), checked=CHECKED_ORDER,
            note=PAPER if where == "GPU" else "",
        )  # fmt: skip
        for name, other in exact.items():
            yield figure.versus(name, other.least * 1e3)
    kind, _, scale = degrees.name.partition("-")
    for name, value in series.items() if scale.isdigit() else ():
        point = _point(SORTS_PLOT, f"{kind}, {where}", name, degrees.vertices / 1e6)
        yield Figure(f"Figure 11: {name}", degrees.name, value, "ms", point=point)


def _point(plot: str, panel: str, series: str, x: float) -> dict[str, Any]:
    return {"plot": plot, "panel": panel, "series": series, "x": x}


# -- what it buys -------------------------------------------------------------------------------------------------


def rates_by_buckets(degrees: Degrees, count: int | None) -> dict[str, dict[str, float | int]]:
    """UA, UR and ME of the in-pages that a store with so many buckets would have; nothing is written.

    One bucket is no sort at all here: the order as it was."""
    lengths = degrees.sorted_by
    if count != 1:
        place = approximate_on_host(degrees, count)()
        lengths = np.empty_like(lengths)
        lengths[place] = degrees.sorted_by
    layout = PageLayout()
    plan = plan_pages(layout, lengths)
    return lane_rates(plan.directory, plan.small_pages, layout.longest_list, lambda first, last: lengths[first:last])


def efficiency(degrees: Degrees) -> Iterator[Figure]:
    """ME by the number of buckets: of a lane a list, as the paper maps vertices, and of the lanes chosen by page."""
    panels = {"1": "ME, a lane a list", "chosen": "ME, lanes chosen by page"}
    for count in degrees.counts():
        rates = rates_by_buckets(degrees, count)
        for key, panel in panels.items():
            point = _point(PLOT, panel, degrees.name, position(count))
            share = 100 * rates[key]["ME"]
            yield Figure(f"{panel}, {words(count)}", degrees.name, share, "%", point=point, counted=True)


def table_2(degrees: Degrees) -> Figure:
    eta = float(np.mean(degrees.sorted_by >= ETA_DEGREE)) if degrees.vertices else 0.0
    least, most = degrees.span
    return Figure(
        "Table 2: eta, in-degree 2 or more", degrees.name, 100 * eta, "%", counted=True,
        note=f"{degrees.vertices:,} vertices, {degrees.edges:,} edges stored; in-degrees {least:,} to {most:,}",
    )  # fmt: skip


def sorts(setup: Setup, family: Family) -> Iterator[Figure]:
    degrees = Degrees.of(family, setup.folder)
    yield table_2(degrees)
    yield from host_sorts(degrees)
    if setup.devices.kind == "cuda":
        yield from gpu_sorts(setup, degrees)
    yield from efficiency(degrees)


@dataclass(frozen=True)
class Ranked:
    """Runs of PageRank on one store: seconds of an iteration, the mean of a run's but for its first; ranks in natural
    order, value[vertices]."""

    seconds: Samples
    ranks: np.ndarray


def ranked(paths: Sequence[Path], devices: list[str], least_seconds: float) -> list[Ranked]:
    """PageRank by pull on each store, run by turns, for so long at least."""
    import pagestore

    answers: dict[Path, Any] = {}

    def iteration(path: Path, session: ours.Session) -> float:
        answers[path] = session.pagerank(ALPHA, iterations=ITERATIONS)
        account = Account.of(answers[path])
        return (account.loop_s - account.first_s) / (account.supersteps - 1)

    with ExitStack() as held:
        calls = []
        for path in paths:
            session = held.enter_context(ours.opened(path, devices=devices, direction="pull"))
            calls.append(partial(iteration, path, session))
        samples = by_turns(calls, REPEATS, MOST_ROUNDS, least_seconds)
    found = []
    for path, each in zip(paths, samples, strict=True):
        with pagestore.open_store(path) as store:
            places = store.store_ids().astype(np.int64)
        found.append(Ranked(each, ours.in_store_order(answers[path])[places]))
    return found


def pagerank(setup: Setup, family: Family) -> Iterator[Figure]:
    """Figures 10 and 12: an iteration of PageRank, by pull, by the number of buckets; on the host, and on a GPU.

    On the host each store takes turns with the one in natural order; on a GPU, whose memory two would share, it is
    measured by itself.
    """
    degrees = Degrees.of(family, setup.folder)
    natural = family.natural(setup.folder)
    gpu = setup.devices.one if setup.devices.kind == "cuda" else None
    alone = ranked([natural], gpu, setup.least_seconds)[0] if gpu else None
    for where in ("host", "GPU") if gpu else ("host",):
        point = _point(PLOT, f"Figure 12: PageRank, {where}", degrees.name, 1)
        yield Figure("Figure 12: natural order", degrees.name, 1.0, "times as fast", point=point, counted=True)
    orders = [("in", count) for count in degrees.counts() if count != 1]
    orders += [("out", None)] if family.directed else []
    for order, count in orders:
        path = setup.folder / f"{family.name}-sorted.gs"
        try:
            family.store(path, order, count)
            plain, found = ranked([natural, path], ["host"], setup.least_seconds)
            yield from iteration_figures(degrees, "host", found, plain, order, count)
            if gpu and alone:
                yield from iteration_figures(
                    degrees, "GPU", ranked([path], gpu, setup.least_seconds)[0], alone, order, count
                )
        finally:
            path.unlink(missing_ok=True)


def iteration_figures(
    degrees: Degrees, where: str, found: Ranked, plain: Ranked, order: str, count: int | None
) -> Iterator[Figure]:
    """A row against the natural order; a point by buckets, of in-degrees."""
    name = f"by {order}-degree, {words(count)}"
    check_ranks(found.ranks, plain.ranks, f"PageRank, {name}")
    row = Figure(
        f"Figure 10: PageRank iteration on the {where}, {name}", degrees.name, found.seconds.least * 1e3, "ms",
        spread=found.seconds.spread(1e3), checked=CHECKED_RANKS,
    )  # fmt: skip
    yield row.versus("natural order", plain.seconds.least * 1e3)
    if order == "in":
        point = _point(PLOT, f"Figure 12: PageRank, {where}", degrees.name, position(count))
        times = plain.seconds.least / found.seconds.least
        yield Figure(f"Figure 12: {name}", degrees.name, times, "times as fast", point=point)


def of_kind(kind: str, measure: Callable[[Setup, Family], Iterator[Figure]]) -> Callable[[Setup], Iterator[Figure]]:
    """A stage: `measure` on the generated graph of this kind at the stage's scale."""

    def stage(setup: Setup) -> Iterator[Figure]:
        yield from measure(setup, generated(kind, setup.scale))

    return stage


def of_real(measure: Callable[[Setup, Family], Iterator[Figure]]) -> Callable[[Setup], Iterator[Figure]]:
    """A stage: `measure` on every real graph that is there, smallest first."""

    def stage(setup: Setup) -> Iterator[Figure]:
        for family in real(setup.data):
            try:
                yield from measure(setup, family)
            except SkippedError as reason:
                raise SkippedError(f"{family.name}: {reason}") from reason

    return stage
