"""Seeded orders in which fake devices do what is queued on them: the tests' schedules, as many as are asked for."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.torture.ordeals import Bad, Cases, Property

TESTS = Path(__file__).resolve().parents[2] / "tests" / "engine"
SEEDS = 1 << 30  # first seeds are drawn below it; the tests' own are small


def fake_schedules(folder: Path, numbers: random.Random) -> Cases:
    """Programs with a frontier and programs that sweep, in turn: what host's cores give, in whatever order."""
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))
    import schedules

    graphs = schedules.make_graphs(folder)
    kinds = {
        "with a frontier": (schedules.FRONTIER, [*graphs, schedules.long_graph(folder)]),
        "sweeps": (schedules.SWEEPS, [*graphs, schedules.wide_graph(folder)]),
    }
    seed = numbers.randrange(SEEDS)
    try:
        while True:
            for kind, (programs, stores) in kinds.items():
                schedule = schedules.Schedule(seed, stores, programs)
                try:
                    schedule.run()
                except Exception as error:
                    yield Bad(f"{schedule}: {type(error).__name__}: {error}")
                else:
                    yield kind
                seed += 1
    finally:
        for graph in {id(graph): graph for _, stores in kinds.values() for graph in stores}.values():
            graph.store.close()


def properties() -> Iterator[Property]:
    """That about schedules."""
    promise = "whatever order fake devices, streams and copies go in, the answers are those of the host's cores"
    yield Property("schedules", promise, fake_schedules, 10_000)
