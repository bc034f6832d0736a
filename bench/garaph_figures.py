"""Tables 2 to 4 and Figures 10 and 11 of Garaph (ATC 2017, section 6), measured on our engine.

Garaph-C is our host's cores, Garaph-G one GPU, Garaph-H both (`--devices host,cuda:0`); without a GPU the rows of the
cores alone are made. Its graphs are web and social ones of 43 M to 1.5 G edges, ours RMAT of any scale, undirected and
weighted. Its machine: a Xeon of 10 cores and a GTX 1070. Its peers are other systems; ours are our own sides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bench import ours
from bench.families import warm_up
from bench.figures import Figure, Samples, check
from bench.gpu_setup import ALPHA, RELATIVE, Setup, Store
from bench.graphs import EDGE_FACTOR, SEED
from bench.harness import SkippedError
from bench.ours import Account

STORE = "weighted"
REPEATS = 3
ITERATIONS, DISK_ITERATIONS = 10, 5  # of the paper's in-memory and disk runs
STREAMED, BESIDE = ", streamed", "host,"
SIDES = ("cores", "GPU", "both", f"GPU{STREAMED}", f"both{STREAMED}")
BETTER = "the better of the two alone"
DISK_SHARE = 4  # pages that host memory holds of a store that is read from disk: one in so many
CHECKED = "whole numbers equal the cores', others within 1e-5 relative"
PAPER_EDGES_A_SECOND = 4.4  # million, the most: edges of its graphs (Table 1) over seconds of Table 4
Call = Callable[[ours.Session, int], Any]


def simulated(session: ours.Session, algorithm: str, source: int) -> Any:
    """A simulation that begins with 1 at one vertex and 0 at the others."""
    return session.execute(algorithm, {"iterations": ITERATIONS, "initial": {source: 1.0}})


APPLICATIONS: dict[str, Call] = {  # the paper's PR, SSSP, NN, CC, HS and CS
    "PageRank": lambda session, source: session.pagerank(ALPHA, iterations=ITERATIONS),
    "SSSP": lambda session, source: session.sssp(source),
    "neural network": lambda session, source: simulated(session, "neural", source),
    "components": lambda session, source: session.components(),
    "heat": lambda session, source: simulated(session, "heat", source),
    "circuit": lambda session, source: simulated(session, "circuit", source),
}
OF_DISK: dict[str, Call] = {
    "PageRank": lambda session, source: session.pagerank(ALPHA, iterations=DISK_ITERATIONS),
    "components": lambda session, source: session.components(),
}


def _labels(session: ours.Session, source: int) -> Any:
    return session.execute("hcc", {})


TRAVERSALS: dict[str, Call] = {"SSSP": APPLICATIONS["SSSP"], "label propagation": _labels}


def sides(setup: Setup) -> dict[str, dict[str, Any]]:
    """Options by side; without a GPU the cores are the only one. Where the GPU holds all pages, the cores have nothing
    to add, so both sides are there with pages streamed, too."""
    if setup.devices.kind != "cuda":
        return {"cores": {"devices": setup.devices.one}}
    gpu = setup.devices.one[0]
    found: dict[str, dict[str, Any]] = {"cores": {"devices": ["host"]}}
    for place, options in (("", {}), (STREAMED, {"cache": "0"})):
        found[f"GPU{place}"] = {"devices": [gpu], **options}
        found[f"both{place}"] = {"devices": [f"{BESIDE}{gpu}"], **options}
    return found


def rivals(side: str) -> tuple[str, str] | None:
    """The two sides alone that a side of both stands against."""
    return ("cores", side.replace("both", "GPU")) if side.startswith("both") else None


def check_alike(found: Any, expected: np.ndarray, what: str) -> None:
    """Raise WrongAnswerError where an answer's first column is not the cores'."""
    values = ours.in_store_order(found)
    if values.dtype.kind == "f":
        finite = np.isfinite(expected)
        off = np.abs(values[finite].astype(np.float64) - expected[finite]) / np.maximum(np.abs(expected[finite]), 1e-30)
        check(bool((np.isfinite(values) == finite).all()) and float(off.max(initial=0)) <= RELATIVE, what)
    else:
        check(bool((values == expected).all()), what)


def table_2(setup: Setup) -> Iterator[Figure]:
    """Whole runs of six applications by cores, GPU and both: pages in the memory of each, and streamed to the GPU."""
    store = setup.store(STORE)
    source = store.sources(1)[0]
    times: dict[tuple[str, str], float] = {}
    answers: dict[str, np.ndarray] = {}
    for side, options in sides(setup).items():
        with ours.opened(store.path, **options) as session:
            for name, call in APPLICATIONS.items():
                found, samples = repeated(session, call, source)
                values = answers.setdefault(name, ours.in_store_order(found))
                check_alike(found, values, f"{name}, {side}")
                row = Figure(f"Table 2: {name}, {side}", store.name, samples.least, "s", spread=samples.spread(),
                             checked=CHECKED)  # fmt: skip
                others = rivals(side)
                yield row.versus(BETTER, min(times[other, name] for other in others)) if others else row
                times[side, name] = samples.least


def repeated(session: ours.Session, call: Call, source: int) -> tuple[Any, Samples]:
    """An answer and seconds of whole runs, after one that compiles and brings pages where they belong."""
    found, seconds = call(session, source), []
    for _ in range(REPEATS):
        found = call(session, source)
        seconds.append(Account.of(found).whole_s)
    return found, Samples(tuple(seconds))


def disk_options(store: Store) -> dict[str, Any]:
    """A memory cap that holds the vertices and a part of the pages, so that the others come from disk each time; a GPU
    keeps none."""
    return {"cache": "0", "host_memory": 64 * store.vertices + 8 * store.a_page + store.page_bytes // DISK_SHARE}


def table_3(setup: Setup) -> Iterator[Figure]:
    """PageRank and components from memory and from disk, by each side. A second run in a row: nothing is compiled."""
    store = setup.store(STORE)
    answers: dict[str, np.ndarray] = {}
    for side, devices in sides(setup).items():
        if side.endswith(STREAMED):
            continue
        memory: dict[str, float] = {}
        for place, options in (("in memory", {}), ("from disk", disk_options(store))):
            with ours.opened(store.path, **devices, **options) as session:
                for name, call in OF_DISK.items():
                    found, samples = repeated(session, call, 0)
                    values = answers.setdefault(name, ours.in_store_order(found))
                    check_alike(found, values, f"{name}, {side}, {place}")
                    account = Account.of(found)
                    row = Figure(f"Table 3: {name}, {side}, {place}", store.name, samples.least, "s",
                                 spread=samples.spread(), checked=CHECKED)  # fmt: skip
                    if place == "in memory":
                        memory[name] = samples.least
                        yield row
                    else:
                        note = f"{account.bytes_read / 2**20:.0f} MiB read from disk a run"
                        yield replace(row, note=note).versus("the same in memory", memory[name])


def table_4(setup: Setup) -> Iterator[Figure]:
    """Preprocessing: edges to a store with both page sets, in natural order, and what the degree order adds."""
    from pagestore import generate
    from pagestore.convert import ConvertOptions, convert

    path = setup.folder / "table-4.gs"
    warm_up(setup.folder)
    natural = 0.0
    try:
        for order in ("natural", "degree"):
            source = generate.rmat(setup.scale, EDGE_FACTOR, SEED, scramble=True)
            path.unlink(missing_ok=True)
            began = time.perf_counter()
            convert(source, path, ConvertOptions(order=order, topology="both"))
            seconds = time.perf_counter() - began
            edges = EDGE_FACTOR << setup.scale
            rate = edges / seconds / 1e6
            row = Figure(f"Table 4: preprocessing, {order} order", f"rmat-{setup.scale}", rate, "M edges/s",
                         note=f"{seconds:.2f} s, generated edges to a store")  # fmt: skip
            if natural:
                yield row.versus("natural order", natural)
            else:
                natural = rate
                yield row.versus(
                    "Garaph at its fastest",
                    PAPER_EDGES_A_SECOND,
                    recorded="Garaph (ATC 2017), Table 4, three SATA SSDs",
                )
    finally:
        path.unlink(missing_ok=True)


def figure_10(setup: Setup) -> Iterator[Figure]:
    """Seconds of each superstep on the cores, all pushed, all pulled, and as the engine chooses."""
    store = setup.store(STORE)
    source = store.sources(1)[0]
    for name, call in TRAVERSALS.items():
        loops: dict[str, float] = {}
        for direction in ("push", "pull", "auto"):
            with ours.opened(store.path, devices=["host"], direction=direction) as session:
                loops[direction] = yield from superstep_curve("garaph-10", "Figure 10", store, name, direction, session,
                                                              call, source)  # fmt: skip
        row = Figure(f"Figure 10: {name}, directions as chosen", store.name, loops["auto"], "s")
        yield row.versus("the better of one direction alone", min(loops["push"], loops["pull"]))


def superstep_curve(
    plot: str, figure: str, store: Store, name: str, series: str, session: ours.Session, call: Call, source: int
) -> Any:
    """Points of a run's supersteps, of the fastest of some runs; returns the seconds of its loop."""
    best: Any = None
    call(session, source)  # warm-up
    for _ in range(REPEATS):
        found = call(session, source)
        if best is None or Account.of(found).loop_s < Account.of(best).loop_s:
            best = found
    steps = best.summary["stats"]["per_superstep"]
    for number, step in enumerate(steps):
        point = {"plot": plot, "panel": f"{name}, {store.name}", "series": series, "x": number + 1}
        yield Figure(f"{figure}: {name}, {series}, superstep {number + 1}", store.name, 1e3 * step["seconds"], "ms",
                     point=point)  # fmt: skip
    return Account.of(best).loop_s


def figure_11(setup: Setup) -> Iterator[Figure]:
    """Seconds of each superstep by the cores, by a GPU, and by both at once."""
    store = setup.store(STORE)
    source = store.sources(1)[0]
    for name, call in TRAVERSALS.items():
        loops: dict[str, float] = {}
        for side, options in sides(setup).items():
            with ours.opened(store.path, **options) as session:
                loop = yield from superstep_curve("garaph-11", "Figure 11", store, name, side, session, call, source)
            row = Figure(f"Figure 11: {name}, {side}", store.name, loop, "s")
            others = rivals(side)
            yield row.versus(BETTER, min(loops[other] for other in others)) if others else row
            loops[side] = loop
    if setup.devices.kind != "cuda":
        raise SkippedError("the GPU's curve, and that of both, take a GPU (--devices cuda:0)")
