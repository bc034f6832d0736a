"""Seeded schedules of the driver on fake devices: what is run, on which memories and streams, and in which order.

One number decides all of it: programs, options, and when the devices do what is queued on them. The answers must be
those of the host's cores. `GSTREAM_SEED=137 pytest tests/engine/test_sweep_schedules.py` runs one schedule again.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from engine_graphs import Balance, make_store, skewed_edges

from gstream.engine.engine import Engine
from gstream.options.run_options import RunOptions
from gstream.planning.cost_equations import Constants
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank, PageRank64
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC
from gstream.telemetry.stats import RunOutcome
from pagestore.errors import ResourceError

CHUNK = 75  # schedules of one test
FRONTIER = {
    "BFS": BFS(source=3),
    "BFS from 250": BFS(source=250),  # few vertices are open at its end: they are pulled by a list
    "BFS from two": BFS(source=[120, 400]),
    "SSSP": SSSP(source=3),
    "WCC": WCC(),
}
SWEEPS = {
    "PageRank": PageRank(tolerance=0.0),
    "PageRank that halts": PageRank64(tolerance=0.02),  # so that the last superstep is not known to be
    "Balance": Balance(),
}
MOST_SUPERSTEPS = {"PageRank": 4, "Balance": 3}
ENOUGH = 60  # supersteps for the others: a limit that they do not reach, but that makes runs synchronous


def chunks(first: int, last: int) -> list[range]:
    """The seeds from `first` on, before `last`, CHUNK at a time; or only the one that GSTREAM_SEED names."""
    if "GSTREAM_SEED" in os.environ:
        seed = int(os.environ["GSTREAM_SEED"])
        return [range(seed, seed + 1)]
    return [range(low, min(low + CHUNK, last)) for low in range(first, last, CHUNK)]


class Graph:
    """A weighted store and what the host's cores make of it."""

    def __init__(
        self, folder: Path, name: str, vertices: int, source: np.ndarray, target: np.ndarray, directed: bool = True
    ) -> None:
        self.name = name
        weight = np.random.default_rng(12).integers(1, 50, len(source)).astype(np.float64)
        self.store = make_store(folder, source, target, weight, vertices=vertices, directed=directed)
        self.expected: Callable[[str, Any], np.ndarray] = cache(self._expected)

    def _expected(self, name: str, program: Any) -> np.ndarray:
        with Engine(self.store) as engine:
            return engine.run(program, MOST_SUPERSTEPS.get(name)).value


def make_graphs(folder: Path) -> list[Graph]:
    """Tens of pages each, some of hubs."""
    return [
        Graph(folder, "undirected", 700, *skewed_edges(700, 14000, seed=11), directed=False),
        Graph(folder, "directed", 500, *skewed_edges(500, 16000, seed=11)),
    ]


def long_graph(folder: Path) -> Graph:
    """Edges between near numbers: levels by the dozen, no hubs; ten vertices have one edge each, to the last ones."""
    source = np.random.default_rng(13).integers(0, 600, 10000)
    target = np.clip(source + np.random.default_rng(14).integers(-50, 51, 10000), 0, 599)
    last = np.arange(590, 600)
    return Graph(folder, "long", 610, np.append(source, last), np.append(target, last + 10), directed=False)


def wide_graph(folder: Path) -> Graph:
    """More vertices than a chunk of values and totals has at least (8,192)."""
    return Graph(folder, "wide", 17000, *skewed_edges(17000, 20000, seed=11))


def any_options(draw: random.Random, seed: int) -> RunOptions:
    """Devices, streams, batches, caches, directions. Memories are None, or 1: as little as may be (see `Schedule`)."""
    return RunOptions(
        devices=[f"fake:{4 * seed}:{draw.choice([1, 1, 2, 3, 4])}"],
        streams=draw.randint(1, 8),
        batch_bytes=draw.choice([1, 8192, 12288, 20480, 65536]),
        device_memory=draw.choice([None, 1, 1]),
        host_memory=draw.choice([None, None, 1]),
        cache=draw.choice(["auto", "lru", "pinned", "0"]),
        direction=draw.choice(["auto", "auto", "push", "pull"]),
        chunk_vertices=draw.choice([None, None, 64, 320, 8192]),
        use_heads=draw.random() < 0.7,
        read_threads=draw.randint(1, 3),
    )


class ScheduledEngine(Engine):
    """Constants of the cost model, which choose directions, from the seed instead of from this machine."""

    constants = Constants()

    def measure(self) -> Constants:
        return self.constants


def give_memory(engine: Engine, program: Any, spare: dict[str, int]) -> None:
    """Raise memories that are too little to what the planner says it needs, and what there is to spare."""
    for _ in range(4):
        try:
            engine.plan(program)
            return
        except ResourceError as error:
            found = re.search(r"--(device|host)-memory.* (\d+) bytes are needed", str(error))
            assert found is not None, error
            kind, needed = found[1], int(found[2])
            setattr(engine.options, f"{kind}_memory", needed + spare[kind])
    raise AssertionError("what the planner says it needs is not enough")


class Schedule:
    """What a seed stands for, on one of the graphs."""

    def __init__(self, seed: int, graphs: list[Graph], programs: dict[str, Any]) -> None:
        self.seed, draw = seed, random.Random(seed)
        self.graph = graphs[draw.randrange(len(graphs))]
        self.programs = {name: programs[name] for name in draw.sample(sorted(programs), draw.choice([1, 1, 2]))}
        self.options = any_options(draw, seed)
        if self.options.direction == "pull" and programs is FRONTIER:
            self.options.chunk_vertices = None  # all values must be on the device for a pull in place
        if programs is FRONTIER and draw.random() < 0.25:
            self.options.max_supersteps = ENOUGH
        self.constants = Constants(c2=draw.choice([1e6, 1e9, 1e12]))
        self.spare = {name: draw.choice([0, 2000, 10_000, 50_000, 150_000]) for name in ("device", "host")}

    def __str__(self) -> str:
        programs = " and ".join(self.programs)
        return f"GSTREAM_SEED={self.seed}: {programs} on the {self.graph.name} graph, {self.options}, {self.constants}"

    def run(self) -> list[RunOutcome]:
        """One engine runs the programs one after the other; the answers are looked at."""
        try:
            with ScheduledEngine(self.graph.store, self.options) as engine:
                engine.constants = self.constants
                return [self._run(engine, name, program) for name, program in self.programs.items()]
        except BaseException as error:
            error.add_note(str(self))
            raise

    def _run(self, engine: Engine, name: str, program: Any) -> RunOutcome:
        give_memory(engine, program, self.spare)
        outcome = engine.run(program, MOST_SUPERSTEPS.get(name))
        expected = self.graph.expected(name, program)
        pushed = any(step.direction == "push" for step in outcome.stats.per_superstep)
        if isinstance(program, PageRank) and pushed:  # in any order; the sums of a pull have one
            assert np.allclose(outcome.value, expected, rtol=1e-5, atol=0), name
        else:
            assert np.array_equal(outcome.value, expected), name
        return outcome


def run_schedules(seeds: range, graphs: list[Graph], programs: dict[str, Any]) -> None:
    """Run the schedules of the seeds; if they are several, they must be of all kinds."""
    seen: set[Any] = set()
    for seed in seeds:
        for outcome in Schedule(seed, graphs, programs).run():
            stats = outcome.stats
            seen |= {f"case {stats.case}", "chunks" if stats.chunks > 1 else "one chunk"}
            seen |= {"several devices"} if stats.devices > 1 else set()
            seen |= {"cache hits"} if stats.cache_hits else set()
            seen |= {step.direction for step in stats.per_superstep}
    assert len(seeds) == 1 or len(seen) == 9, seen
