"""The Edge-Vertex paper's Figure 13 and Tables 4 and 6, where our own switches stand for its peers.

Figure 13: PageRank with column pages against pages of rows, both in in-degree order. Table 4: what preprocessing takes
with the sort and with column pages, against none of it; the paper's peer is Medusa. Table 6: sort and 50 iterations
with the approximate sort against an exact one: CUB's radix sort on a GPU, NumPy's on the host.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.families import Family, warm_up
from bench.figures import Figure, Samples, timed
from bench.gpu_setup import Setup, check_ranks
from bench.sorting import (
    HOST_EXACT,
    PAPER_BUCKETS,
    REPEATS,
    Degrees,
    Ranked,
    approximate_on_host,
    ranked,
)

COLUMNS = 32  # Per_Group_Num
ITERATIONS = 50  # of the paper's runs
EXACT_ON_HOST = "numpy argsort, stable"
CHECKED = "ranks are those of the natural order within 1e-5 relative"


def remapping(setup: Setup, family: Family) -> Iterator[Figure]:
    """All three, of one graph."""
    folder = setup.folder
    warm_up(folder)
    natural, seconds = converted(family, folder / f"{family.name}-plain.gs", "natural", None, 1)
    made = {"natural order, rows": seconds}
    stores: dict[str, Path] = {}
    kinds = {
        "approximate order, rows": (PAPER_BUCKETS, 1),
        "exact order, rows": (None, 1),
        "exact order, columns": (None, COLUMNS),
    }
    try:
        for name, (buckets, columns) in kinds.items():
            path = folder / f"{family.name}-{name.replace(', ', '-').replace(' ', '-')}.gs"
            stores[name], made[name] = converted(family, path, "in", buckets, columns)
        yield from table_4(family.name, made)
        devices = setup.devices.one if setup.devices.kind == "cuda" else ["host"]
        where = "GPU" if setup.devices.kind == "cuda" else "host"
        found = {
            name: ranked([path], devices, setup.least_seconds)[0]
            for name, path in {"natural": natural, **stores}.items()
        }
        for name in stores:
            check_ranks(found[name].ranks, found["natural"].ranks, f"PageRank, {name}")
        rows, columned = found["exact order, rows"], found["exact order, columns"]
        yield milliseconds("Figure 13: PageRank iteration with column pages", where, family.name, columned).versus(
            "pages of rows", rows.seconds.least * 1e3
        )
        yield from table_6(setup, family, where, found)
    finally:
        for path in (natural, *stores.values()):
            path.unlink(missing_ok=True)


def converted(family: Family, path: Path, order: str, buckets: int | None, columns: int) -> tuple[Path, float]:
    """A store made anew, and the seconds that its conversion took."""
    path.unlink(missing_ok=True)
    began = time.perf_counter()
    family.store(path, order, buckets, columns=columns)
    return path, time.perf_counter() - began


def milliseconds(what: str, where: str, graph: str, found: Ranked) -> Figure:
    return Figure(f"{what}, {where}", graph, found.seconds.least * 1e3, "ms", spread=found.seconds.spread(1e3),
                  checked=CHECKED)  # fmt: skip


def table_4(graph: str, made: dict[str, float]) -> Iterator[Figure]:
    """Whole conversions, edges to a store; the first is what the others stand against."""
    plain = made["natural order, rows"]
    for name, seconds in made.items():
        row = Figure(f"Table 4: preprocessing, {name}", graph, seconds, "s")
        yield row if seconds is plain else row.versus("natural order, rows", plain)


def table_6(setup: Setup, family: Family, where: str, found: dict[str, Ranked]) -> Iterator[Figure]:
    """Sort and iterations together, with the approximate sort and with an exact one."""
    degrees = Degrees.of(family, setup.folder)
    if degrees.span[0] == degrees.span[1]:
        return
    approximate, exact, name = sorts_on_gpu(setup, degrees) if where == "GPU" else sorts_on_host(degrees)
    runs = {key: ITERATIONS * found[f"{key} order, rows"].seconds.least * 1e3 for key in ("approximate", "exact")}
    whole = approximate.least * 1e3 + runs["approximate"]
    other = exact.least * 1e3 + runs["exact"]
    note = f"sorts {approximate.least * 1e3:.3g} and {exact.least * 1e3:.3g} ms, {ITERATIONS} iterations " \
           f"{runs['approximate']:.4g} and {runs['exact']:.4g} ms"  # fmt: skip
    row = Figure(f"Table 6: approximate sort and {ITERATIONS} iterations, {where}", family.name, whole, "ms", note=note)
    yield row.versus(f"{name} and as many iterations", other)


def sorts_on_gpu(setup: Setup, degrees: Degrees) -> tuple[Samples, Samples, str]:
    """Seconds of the approximate sort and of CUB's radix sort, degrees on the GPU already."""
    from bench.gpu_sort import DegreeSort
    from gstream.devices.gpu.driver import Gpu

    gpu = Gpu(int(setup.devices.one[0].partition(":")[2] or 0))
    with DegreeSort(gpu, degrees.sorted_by, degrees.others) as sort:
        sort.approximate(PAPER_BUCKETS)
        approximate = Samples(tuple(sort.approximate(PAPER_BUCKETS) / 1e3 for _ in range(REPEATS)))
        sort.exact("radix")
        exact = Samples(tuple(sort.exact("radix") / 1e3 for _ in range(REPEATS)))
    return approximate, exact, "CUB radix"


def sorts_on_host(degrees: Degrees) -> tuple[Samples, Samples, str]:
    """Seconds of the converter's sort and of NumPy's, on one core."""
    sort = approximate_on_host(degrees, PAPER_BUCKETS)
    approximate, _ = timed(REPEATS, sort)
    exact, order = timed(REPEATS, lambda: HOST_EXACT[EXACT_ON_HOST](degrees.sorted_by))
    assert len(np.unique(order)) == degrees.vertices
    return approximate, exact, EXACT_ON_HOST
