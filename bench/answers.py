"""What a call costs beside its supersteps, and what its table costs: whole calls by the user's clock.

    python -m bench.answers                          # RMAT 20 on this machine's cores, made under bench/scratch/
    python -m bench.answers web.gs --devices cuda    # another store, on a GPU
    python -m bench.answers --profile bfs            # functions of one row by their time

Every row is the least of many rounds after a first one that compiles, reads and plans. `beyond` is the call without its
supersteps. `new MiB` is what a hundred searches allocated at most at once (tracemalloc), after the first.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import gstream
from bench.graphs import WORK
from bench.stores import generated
from gstream.results.result import Result

ROUNDS = 15  # of each row
SEARCHES = 100  # one after the other, of different sources
MIB = 1 << 20
Row = Callable[[], Any]


def rows_of(graph: Any, source: int) -> dict[str, Row]:
    """What is measured, by name."""
    found, ranks = graph.bfs(source), graph.pagerank(iterations=20)
    return {
        "bfs": lambda: graph.bfs(source),
        "bfs, distances": lambda: graph.bfs(source, predecessors=False),
        "khop": lambda: graph.khop(source),
        "wcc": lambda: graph.wcc(),
        "pagerank": lambda: graph.pagerank(iterations=20),
        "to_numpy of bfs": found.to_numpy,
        "to_arrow of bfs": found.to_arrow,
        "to_pandas of bfs": found.to_pandas,
        "top(20) of bfs": lambda: found.top(20),
        "to_numpy of pagerank": ranks.to_numpy,
        "top(20) of pagerank": lambda: ranks.top(20),
    }


def measure(row: Row, rounds: int) -> tuple[float, float, float]:
    """(wall seconds, processor seconds, wall seconds without supersteps), the least of each."""
    row()
    walls, cores, beyond = [], [], []
    for _ in range(rounds):
        used, began = time.process_time(), time.perf_counter()
        given = row()
        walls.append(time.perf_counter() - began)
        cores.append(time.process_time() - used)
        loop = given.summary["stats"]["loop_seconds"] if isinstance(given, Result) else 0.0
        beyond.append(walls[-1] - loop)
        del given
    return min(walls), min(cores), min(beyond)


def hundred(graph: Any, sources: list[int]) -> tuple[float, float]:
    """(seconds of SEARCHES searches whose answers are dropped, MiB that the later ones allocated at most at once)."""
    graph.bfs(sources[0], predecessors=False)
    began = time.perf_counter()
    for source in sources:
        graph.bfs(source, predecessors=False)
    seconds = time.perf_counter() - began
    tracemalloc.start()
    graph.bfs(sources[0], predecessors=False)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for source in sources[:10]:
        graph.bfs(source, predecessors=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, (peak - before) / MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", help="default: RMAT of --scale")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--devices", default="host")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="*", default=[], help="rows by name")
    parser.add_argument("--profile", help="show where the time of this row goes")
    given = parser.parse_args()
    store = given.store or generated(WORK / "answers", given.scale, "undirected")[0]
    with gstream.open(store, devices=given.devices) as graph:
        degree = graph.store.out_degree()
        among = np.flatnonzero(degree)
        sources = graph.store.natural_of(among[np.linspace(0, len(among) - 1, SEARCHES).astype(np.int64)])
        sources = [int(user) for user in np.asarray(graph.store.user_ids())[sources]]
        rows = rows_of(graph, sources[0])
        if given.profile:
            row, profile = rows[given.profile], cProfile.Profile()
            row()
            profile.runcall(lambda: [row() for _ in range(given.rounds)])
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
            return
        print(f"{'':24}{'wall ms':>10}{'cores ms':>10}{'beyond ms':>10}")
        for name, row in rows.items():
            if given.only and name not in given.only:
                continue
            wall, cores, beyond = measure(row, given.rounds)
            print(f"{name:24}{1e3 * wall:10.2f}{1e3 * cores:10.2f}{1e3 * beyond:10.2f}", flush=True)
        if not given.only:
            seconds, mib = hundred(graph, sources)
            print(f"{'a hundred searches':24}{1e3 * seconds:10.2f}{'':20} {mib:.2f} new MiB")


if __name__ == "__main__":
    main()
