"""Every algorithm on one GPU: with its pages in GPU memory, and streamed without a cache, against this machine's cores.

The rows, graphs and options are those of bench.algorithms, on a graph of at most MOST_SCALE, so that all of them end
within a stage. Certificates prove the GPU's answers; answers with a value a vertex are compared with the host's, too:
whole numbers one by one, floats within what sums in another order may differ by.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from bench import ours
from bench.algorithm_peers import Case, repeated
from bench.algorithms import ROWS, Row, remark
from bench.context import Context
from bench.figures import Figure, Samples, check
from bench.gpu_setup import Setup
from gstream.algorithms.declaration import DEGREE, EDGE
from gstream.algorithms.registry import ALGORITHMS

RUNS = 3
MOST_SCALE = 20
RELATIVE = 1e-4  # of float32 ranks that converge by themselves; sums of float64 are far nearer
PLACES: dict[str, dict[str, Any]] = {"in-core": {}, "streamed": {"cache": "0"}}


def algorithms(setup: Setup) -> Iterator[Figure]:
    """A figure for each algorithm and place."""
    context = Context(f"rmat-{min(setup.scale, MOST_SCALE)}", quick=False)
    names = setup.devices.one
    for (kind, below), rows in groupby(ROWS, key=lambda row: (row.kind, row.below)):
        case, chosen = Case(context, kind, below), list(rows)
        with ours.opened(case.path, devices=["host"]) as session:
            expected = {row.name: on_host(row, case, session) for row in chosen}
        for place, options in PLACES.items():
            with ours.opened(case.path, devices=names, **options) as session:
                for row in chosen:
                    figure = on_gpu(row, case, session, expected[row.name][1])
                    figure.what = f"{row.name} {place}, {setup.devices.label(names)}"
                    yield figure.versus("this machine's cores", expected[row.name][0].median * 1e3)


def on_host(row: Row, case: Case, session: ours.Session) -> tuple[Samples, np.ndarray]:
    """Seconds of the host's cores, and their first column."""
    own = row.options(case)
    session.execute(row.name, own)  # compiles, and brings pages into memory
    samples, answer = repeated(RUNS, lambda: session.execute(row.name, own))
    return samples, ours.in_store_order(answer)


def on_gpu(row: Row, case: Case, session: ours.Session, expected: np.ndarray) -> Figure:
    """The time of an algorithm whose answers were checked, the first one (which compiles) and the last."""
    algorithm, own = ALGORITHMS[row.name], row.options(case)
    first = session.execute(row.name, own, certify=bool(algorithm.proof))
    check_answer(row.name, ours.in_store_order(first), expected)
    samples, answer = repeated(RUNS, lambda: session.execute(row.name, own))
    check_answer(row.name, ours.in_store_order(answer), expected)
    said = answer.summary.get("note")
    return Figure(
        what=row.name,
        graph=case.words,
        value=samples.median * 1e3,
        unit="ms",
        spread=samples.spread(1e3),
        checked="the host's answer" + ("; certificate" if algorithm.proof else ""),
        note=remark(own, samples, answer) + (f"; {said}" if said else ""),
    )


def check_answer(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Refuse a column that is not the host's. Rows of edges may come in another order: they are compared sorted."""
    check(len(found) == len(expected), f"{name}: {len(found)} rows, the host's cores find {len(expected)}")
    if ALGORITHMS[name].rows in (EDGE, DEGREE):
        found, expected = np.sort(found), np.sort(expected)
    if expected.dtype.kind == "f":
        near = np.isclose(
            found, expected, rtol=RELATIVE, atol=RELATIVE * float(np.abs(expected).mean()), equal_nan=True
        )
        different = int(np.count_nonzero(~near))
    else:
        different = int(np.count_nonzero(found != expected))
    check(different == 0, f"{name}: {different} values differ from the host's")
