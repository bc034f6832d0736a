"""Runs on GPUs that a seed stands for: graph, programs, options. The same for GPUs (tests/gpu) and for the stand-in.

Programs are the shipped ones and some of users, of all monoids and widths; memories run from ample to the least that
the planner asks for. Sums of floats may be added up in any order; everything else has the bits of the host's cores.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
from engine_graphs import make_store, skewed_edges
from schedules import ScheduledEngine, give_memory
from written import VARIED, program

import gstream
from gstream.engine.engine import Engine
from gstream.language.program import Program
from gstream.options.run_options import RunOptions
from gstream.planning.cost_equations import Constants
from gstream.programs.bfs import BFS
from gstream.programs.pagerank import PageRank
from gstream.programs.sssp import SSSP
from gstream.programs.wcc import WCC
from gstream.telemetry.stats import RunOutcome
from gstream.telemetry.trace import ChromeTrace

PAGE = 4096  # hubs meet large pages, and there are many small ones
LIMITS = {"pagerank": 4, "sum_weights": 4, "sum_signed": 4}  # supersteps; the others end by themselves
RELATIVE = {"pagerank": 1e-5, "sum_weights": 1e-10}  # errors of sums: f32 and f64
IN_STEP = ("pagerank", "sum_weights", "sum_signed", "applied", "costs")  # no value is used in the step that made it
COSTS = """
seeds: Vertices
cost: PerVertex
def apply(self, v, got, g): return min(v.value, got + v.cost)
"""


def classes(folder: Path) -> dict[str, type[Program]]:
    """Ten programs by name, those of users written to `folder`; each is compiled once."""
    chosen = ("applied", "sum_weights", "sum_signed", "max_floats", "joined")
    made = {name: program(folder, **VARIED[name][0]) for name in chosen}
    made["costs"] = program(folder, start="0 if v.id in self.seeds else INF", send="u.value + e.weight", rest=COSTS)
    return {"bfs": BFS, "sssp": SSSP, "wcc": WCC, "pagerank": PageRank} | made


class Graph:
    """A weighted store, programs for it, and what the host's cores make of them."""

    def __init__(
        self, folder: Path, kinds: dict[str, type[Program]], vertices: int, edges: int, directed: bool = True,
        columns: int = 1, compress: str = "off",
    ) -> None:  # fmt: skip
        source, target = skewed_edges(vertices, edges, 41)
        numbers = np.random.default_rng(42)
        weight, cost = numbers.integers(1, 9, edges).astype(np.float64), numbers.integers(0, 5, vertices)
        self.vertices, self.name = vertices, "directed" if directed else "undirected"
        self.store = make_store(
            folder, source, target, weight, vertices=vertices, directed=directed, page_bytes=PAGE, order="degree",
            columns=columns, compress=compress,
        )  # fmt: skip
        given = {"bfs": {"source": 3}, "sssp": {"source": 3}, "pagerank": {"tolerance": 0.0}}
        given["costs"] = {"seeds": (3, 11), "cost": cost}
        self.programs = {name: kind(**given.get(name, {})) for name, kind in kinds.items()}
        self.expected = cache(self._expected)

    def _expected(self, name: str) -> RunOutcome:
        with Engine(self.store) as engine:
            return engine.run(self.programs[name], LIMITS.get(name))


def make_graphs(folder: Path, vertices: int, edges: int) -> list[Graph]:
    """Two directed, one of them compressed; two undirected, one with column pages. Their kernels are the same."""
    kinds = classes(folder)
    shapes = ((True,), (False,), (False, 8), (True, 1, "on"))
    return [Graph(folder / "stores", kinds, vertices, edges, *shape) for shape in shapes]


def options_of(draw: random.Random, devices: list[str], vertices: int) -> RunOptions:
    """Any options. Memories are None, or 1: what is needed, and more from the seed (see `Drawn.engine`)."""
    return RunOptions(
        devices=[draw.choice(devices)],
        streams=draw.choice([1, 2, 3, 6, 32, None]),
        batch_bytes=PAGE * draw.choice([1, 2, 3, 5, 64]),
        device_memory=draw.choice([None, 1, 1]),
        host_memory=draw.choice([None, None, 1]),
        cache=draw.choice(["auto", "lru", "pinned", "0"]),
        direction=draw.choice(["auto", "push", "pull"]),
        micro=draw.choice(["hybrid", "vertex", "edge", "2", "16"]),
        chunk_vertices=draw.choice([None, None, None, vertices // 3]),
        use_heads=draw.random() < 0.5,
        zero_copy=draw.random() < 0.8,
        trace=ChromeTrace() if draw.random() < 0.1 else None,
    )


class Drawn:
    """The runs of one engine that `seed` stands for, on one of the graphs. devices: what --devices may be."""

    def __init__(self, seed: int, graphs: list[Graph], devices: list[str]) -> None:
        self.seed, draw = seed, random.Random(seed)
        self.graph = draw.choice(graphs)
        first, other = draw.sample(sorted(self.graph.programs), 2)
        self.names = draw.choice([[first, first], [first, other, first]])  # a later run finds pages cached
        self.options = options_of(draw, devices, self.graph.vertices)
        if self.options.direction == "pull" and not {*self.names} <= {*IN_STEP}:
            self.options.chunk_vertices = None  # all values must be on the device for a pull in place
        self.constants = Constants(c2=draw.choice([1e6, 1e9, 1e12]))
        pages = [0, 2, 10, 40]  # to spare
        self.spare = {name: PAGE * draw.choice(pages) for name in ("device", "host")}

    def __str__(self) -> str:
        what = f"{' and '.join(self.names)} on the {self.graph.name} graph"
        return f"seed {self.seed}: {what}, {self.options}, {self.constants}, spare {self.spare}"

    def engine(self) -> ScheduledEngine:
        engine = ScheduledEngine(self.graph.store, self.options)
        engine.constants = self.constants
        return engine

    def give_memory(self, engine: Engine, name: str) -> None:
        give_memory(engine, self.graph.programs[name], self.spare)

    def run(self) -> list[RunOutcome]:
        """One engine runs the programs one after the other; the answers are looked at."""
        try:
            with self.engine() as engine:
                return [self._run(engine, name) for name in self.names]
        except BaseException as error:
            error.add_note(str(self))
            raise

    def _run(self, engine: Engine, name: str) -> RunOutcome:
        self.give_memory(engine, name)
        found = engine.run(self.graph.programs[name], LIMITS.get(name))
        wanted = self.graph.expected(name)
        if name in RELATIVE:
            np.testing.assert_allclose(found.value, wanted.value, rtol=RELATIVE[name], atol=0, err_msg=name)
        else:
            assert found.value.tobytes() == wanted.value.tobytes(), name
        assert found.converged == wanted.converged, name
        if name in IN_STEP:
            assert found.supersteps == wanted.supersteps, name
        if name not in RELATIVE:
            assert found.totals == wanted.totals, name
        return found


def run_components(seed: int, graphs: list[Graph], devices: str, heads: bool) -> None:
    """Components by union-find, twice, with options from the seed; the labels are the host's."""
    draw = random.Random(seed)
    graph = draw.choice(graphs)
    memory = 30 * graph.vertices  # some 20 bytes a vertex are the forest's
    options = {
        "devices": devices,
        "use_heads": heads,
        "streams": draw.choice([1, 2, 32]),
        "batch_bytes": PAGE * draw.choice([1, 2, 64]),
        "cache": draw.choice(["auto", "lru", "0"]),
        "device_memory": draw.choice([None, memory, 2 * memory]),
    }
    with gstream.open(graph.store.path) as opened:
        expected = opened.wcc().to_numpy().tobytes()
        for _ in range(2):  # the second one finds heads and pages cached
            assert opened.wcc(**options).to_numpy().tobytes() == expected, f"seed {seed}: {graph.name}, {options}"
