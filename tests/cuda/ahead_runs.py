"""Graphs and programs whose supersteps a GPU makes by itself; on the stand-in (tests/cuda) and on GPUs (tests/gpu)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
from engine_graphs import skewed_edges
from written import program

from gstream.engine.autonomous import Autonomous
from gstream.engine.engine import Engine
from gstream.engine.run import Run
from gstream.language.program import Program
from gstream.programs.bfs import BFS, BFSBack
from gstream.programs.widest import Widest
from gstream.telemetry.stats import RunOutcome
from pagestore.memory import convert_arrays

SOURCES = (3, 77, 1500)
KINDS: dict[str, dict[str, Any]] = {
    "directed": {"order": "degree"}, "undirected": {"order": "degree", "directed": False},
    "natural order": {"order": "natural"}, "out alone": {"order": "degree", "topology": "out"},
}  # fmt: skip
OPTIONS: list[dict[str, Any]] = [{}, {"cache": "lru"}, {"use_heads": False}, {"direction": "push"}]
LEVELS = ("bfs", "back")  # each superstep is a set; values of the others spread within one, as parts happen to be taken
PROGRAMS = (*LEVELS, "widest", "labels")


def make_graph(path: Path, kind: str, vertices: int, edges: int) -> Path:
    """Of some hundred pages and a few large ones."""
    source, target = skewed_edges(vertices, edges, 5)
    weight = np.random.default_rng(6).integers(1, 100, edges).astype(np.float64)
    convert_arrays(path, source, target, weight=weight, vertices=vertices, page_bytes=4096, **KINDS[kind])
    return path


def make(kind: str, source: int, folder: Path) -> Program:
    made: dict[str, Callable[[], Program]] = {
        "bfs": lambda: BFS(source=source),
        "back": lambda: BFSBack(source=source),
        "widest": lambda: Widest(source=source),
        "labels": lambda: program(folder, start="v.id", send="u.value")(),
    }
    return made[kind]()


def told(outcome: RunOutcome, **unlike: Any) -> list[tuple[Any, ...]]:
    """Each superstep but for its time, and what else may be unlike."""
    return [astuple(replace(step, seconds=0.0, compile_seconds=0.0, **unlike)) for step in outcome.stats.per_superstep]


def note_driver_steps(monkeypatch: Any) -> list[Any]:
    """A list that the supersteps which the driver makes are noted in."""
    made, usual = [], Run.open

    def open_step(run: Run) -> Any:
        made.append(run.supersteps + 1)
        return usual(run)

    monkeypatch.setattr(Run, "open", open_step)
    return made


def by_the_driver(engine: Engine, program: Program, monkeypatch: Any) -> RunOutcome:
    """A run whose supersteps the driver makes."""
    with monkeypatch.context() as patch:
        patch.setattr(Autonomous, "applies", lambda run: False)
        return engine.run(program)
