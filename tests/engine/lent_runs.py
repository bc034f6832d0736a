"""Runs over long paths, whose tiny frontiers devices leave to one of the host's threads; on fakes and on stand-ins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_graphs import skewed_edges
from written import program

from gstream.engine.engine import Engine
from gstream.engine.lent_frontier import LentFrontier
from gstream.engine.superstep import Supersteps
from gstream.options.run_options import RunOptions
from gstream.programs.bfs import BFS, BFSBack
from gstream.programs.sssp import SSSP, SSSP64
from gstream.programs.widest import Widest
from gstream.telemetry.stats import RunOutcome
from pagestore.memory import convert_arrays

LONG, WEB = 400, 1000  # vertices of each path, and of the web between the two
FIRST, LAST = 0, 2 * LONG + WEB - 1
PROGRAMS = {
    "bfs": lambda folder: BFS(source=FIRST),
    "back": lambda folder: BFSBack(source=LAST),
    "sssp": lambda folder: SSSP(source=FIRST),
    "sssp, float64": lambda folder: SSSP64(source=FIRST),
    "widest": lambda folder: Widest(source=FIRST),
    "labels": lambda folder: program(folder, start="v.id", send="u.value")(),
    "numbered": lambda folder: program(
        folder,
        start=f"0 if v.id == {FIRST} else INF",
        send="g.superstep",
        rest="\ndef done(self, v): return v.value != INF\n",
    )(),
}
LEVELS = ("bfs", "back", "numbered")  # each superstep is a set; of others values spread within one


def write_path(path: Path, **how: Any) -> Path:
    """A path into a web, and one out of it, so that frontiers are tiny, large and tiny again."""
    source, target = skewed_edges(WEB, 20_000, 5)
    source, target = source + LONG, target + LONG
    there, back = np.arange(LONG), np.arange(LONG + WEB - 1, LAST)
    source = np.concatenate([there, source, back])
    target = np.concatenate([there + 1, target, back + 1])
    source, target = np.append(source, LONG + 7), np.append(target, LONG + WEB - 1)
    weight = np.random.default_rng(6).integers(1, 100, len(source)).astype(np.float64)
    how = {"order": "natural", "page_bytes": 4096} | how
    convert_arrays(path, source, target, weight=weight, vertices=LAST + 1, **how)
    return path


@contextmanager
def driver_steps() -> Iterator[list[str]]:
    """Directions of the supersteps that the driver made."""
    made: list[str] = []
    join = Supersteps.join
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Supersteps, "join", lambda run, *given: made.append(given[0].direction) or join(run, *given))
        yield made


def never_lent(engine: Engine, asked: Any, **given: Any) -> RunOutcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LentFrontier, "applies", lambda run: False)
        return engine.run(asked, **given)


def check(store: Any, devices: list[str], kind: str, folder: Path, **options: Any) -> None:
    """Values and levels are those without lending, and supersteps of the driver stay few."""
    asked = PROGRAMS[kind](folder)
    with Engine(store, RunOptions(devices=devices, **options)) as engine:
        expected = never_lent(engine, asked)
        for _ in range(2):  # with pages cached, too
            with driver_steps() as made:
                found = engine.run(asked)
            assert found.value.tobytes() == expected.value.tobytes() and found.converged
            # all vertices have a label that changes for long: such frontiers are the driver's
            assert kind == "labels" or len(made) < 200, "tiny supersteps were the driver's"
            # "numbered" begins at a store ID, which an order by degree gives to a vertex of the web
            assert kind == "labels" or found.supersteps > (LONG if kind == "numbered" else 2 * LONG)
            assert sum(step.supersteps for step in found.stats.per_superstep) == found.supersteps
            assert sum(step.edges_visited for step in found.stats.per_superstep) == found.stats.edges_visited
            if kind in LEVELS:
                assert found.supersteps == expected.supersteps
                frontiers = [step.frontier for step in expected.stats.per_superstep]
                assert sum(frontiers) == sum(step.frontier for step in found.stats.per_superstep)
