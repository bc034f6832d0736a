"""How long `gstream plan` says that calls take, beside how long they take: every algorithm on this machine's cores.

    python -m bench.plans                           # RMAT 18; what runs teach on RMAT 16 is tried, too
    python -m bench.plans --scale 20 --only bfs scc
    python -m bench.plans --busy                    # on a machine with other work: one thread, by processor time

Graphs are those of bench.algorithms, their pages in memory. Times are of whole calls, the least of some, as other work
on the machine only adds to them. Each row has its own constants, which are measured before its runs:

    fresh       the plan of a machine that has run nothing, by the measured time
    range       whether the measured time is in that plan's range, and the range's most by its least
    taught      the same of the plan after the runs here
    smaller     the same of a machine that has run the algorithm on a graph of a quarter of the vertices alone
    loop        what the last run's summary says was planned for its supersteps, by what they took; - for page kernels
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import gstream
from bench.algorithm_peers import Case
from bench.algorithms import ROWS, Row, from_source
from bench.context import Context
from gstream.algorithms.call_times import key_of
from gstream.algorithms.registry import find_algorithm
from gstream.planning.cost_model import CostModel

RUNS = 5
SMALLER = 2  # scales, of the graph that teaches another one
LONG_S = 3.0  # calls from this on are made three times
SEARCHES = 64  # of closeness and harmonic, one pass
OWN_ROWS = (Row("bfs", options=from_source), Row("pagerank"), Row("wcc"), Row("sssp", "weighted", options=from_source))
INSIDE = 1.3  # a plan is wanted within so many times the run


def searches(case: Case) -> dict[str, Any]:
    return {"k": SEARCHES, "seed": 1}


class Measured(NamedTuple):
    """Of one algorithm: times and plans as the module has them, seconds. loop: 0 without a prediction."""

    seconds: float
    fresh: dict[str, float]
    taught: float
    smaller: float
    loop: float

    @property
    def ratios(self) -> tuple[float, ...]:
        """fresh, taught, smaller, loop"""
        times = self.fresh["usual"], self.taught, self.smaller
        return (*(planned / self.seconds for planned in times), self.loop)


def rows() -> Iterator[Row]:
    """All algorithms; those of many searches take a number of them."""
    for row in (*OWN_ROWS, *ROWS):
        yield Row(row.name, row.kind, 0, searches) if row.name in ("closeness", "harmonic") else row


def fresh_costs(graph: Any, folder: Path) -> CostModel:
    """Constants measured now, under a folder of their own, which the graph's engine goes by from now on."""
    engine = graph.engine()
    engine.costs = CostModel(engine.devices, engine.options.host_threads, lambda: engine.workers, folder)
    return engine.costs


def planned(graph: Any, row: Row, own: dict[str, Any]) -> dict[str, float]:
    """The plan of a call whose pages are where it wants them, though others were never read."""
    algorithm = find_algorithm(row.name)
    graph.engine().costs.note_call(key_of(algorithm, algorithm.defaults | own))
    return graph.plan(row.name, **own)["call_seconds"]


def runs(graph: Any, row: Row, own: dict[str, Any], most: int = RUNS) -> tuple[float, float]:
    """(least seconds of a call, planned seconds of its supersteps by those they took)."""
    taken: list[float] = []
    loop = 0.0
    while len(taken) < (most if not taken or taken[-1] < LONG_S else min(3, most)):
        stats = graph.execute(row.name, own).summary["stats"]
        taken.append(stats["seconds"])
        loop = stats["predicted_seconds"] / stats["loop_seconds"] if stats["loop_seconds"] else 0.0
    return min(taken), loop


def measure(row: Row, case: Case, graph: Any, small: tuple[Case, Any]) -> Measured:
    """One row: fresh, then as a smaller graph taught it, then as its own runs did."""
    own, (less, other) = row.options(case), small
    runs(graph, row, own, 1)  # compiles, and brings pages into memory
    runs(other, row, row.options(less), 1)
    with tempfile.TemporaryDirectory() as name:
        costs = fresh_costs(graph, Path(name))
        fresh = planned(graph, row, own)
        seconds, loop = runs(graph, row, own)
        taught = planned(graph, row, own)["usual"]
        costs.close()
    with tempfile.TemporaryDirectory() as name:
        costs = fresh_costs(other, Path(name))
        runs(other, row, row.options(less))
        costs.close()
        fresh_costs(graph, Path(name))
        smaller = planned(graph, row, own)["usual"]
        again, _ = runs(graph, row, own)
    return Measured(min(seconds, again), fresh, taught, smaller, loop)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--only", nargs="+", help="algorithms")
    parser.add_argument("--busy", action="store_true", help="one thread, whose processor time stands for the clock's")
    given = parser.parse_args()
    options: dict[str, Any] = {"devices": "host"}
    if given.busy:
        time.perf_counter = time.process_time  # of calibration, calls and supersteps alike
        options["threads"] = 1
    contexts = [Context(f"rmat-{scale}", quick=False) for scale in (given.scale, given.scale - SMALLER)]
    found = list[Measured]()
    print(f"{'':13}{'seconds':>10}{'fresh':>8}{'range':>14}{'taught':>8}{'smaller':>9}{'loop':>7}")
    wanted = sorted(
        (row for row in rows() if not given.only or row.name in given.only), key=lambda row: (row.below, row.kind)
    )
    for (below, kind), alike in groupby(wanted, key=lambda row: (row.below, row.kind)):
        big, less = (Case(context, kind, below) for context in contexts)
        with gstream.open(big.path, **options) as graph, gstream.open(less.path, **options) as other:
            for row in alike:
                one = measure(row, big, graph, (less, other))
                found.append(one)
                *ratios, loop = one.ratios
                least, most = one.fresh["least"], one.fresh["most"]
                held = "in" if least <= one.seconds <= most else "out"
                cells = f"{ratios[0]:8.2f}{held:>7}{most / least:7.1f}{ratios[1]:8.2f}{ratios[2]:9.2f}"
                print(f"{row.name:13}{one.seconds:10.4f}{cells}{f'{loop:.2f}' if loop else '-':>7}", flush=True)
    for number, name in enumerate(("fresh", "taught", "smaller", "loop")):
        off = [max(ratio, 1 / ratio) for one in found if (ratio := one.ratios[number])]
        inside = sum(one <= INSIDE for one in off)
        by = f"median {statistics.median(off):.2f} times off, worst {max(off):.1f}"
        print(f"{name}: {by}; {inside} of {len(off)} within {INSIDE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
