"""Answers that are not right: certificates refuse every one, and none of the right ones.

Graphs, options and devices are drawn from the seed; tests/torture/corruptions.py makes wrong answers of the right ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import gstream
from gstream.algorithms.registry import ALGORITHMS
from gstream.algorithms.subgraphs import subgraphs
from gstream.algorithms.support.refusal import CertificateError
from gstream.algorithms.support.session import Session
from pagestore.memory import convert_arrays
from tests.decoded import decode_edges
from tests.torture import corruptions, corruptions_told
from tests.torture.corruptions import Answer, Corruption
from tests.torture.ordeals import Bad, Cases, Property

EACH = 10_000  # corrupted answers of each program, and right ones in all, are wanted
TRIES = 25  # corruptions of one answer
RUNS = 8  # of each program on graphs before others are drawn
WAYS: tuple[dict[str, Any], ...] = (
    {"threads": 1}, {"threads": 2}, {"devices": ["host:2"], "threads": 2}, {"chunk_vertices": 128, "threads": 1},
    {"devices": ["fake:5:2"], "batch_bytes": 4096}, {"use_heads": False, "threads": 1},
    {"host_memory": "2MiB", "threads": 1},
)  # fmt: skip
Draw = Callable[[np.random.Generator, int], dict[str, Any]]


def some(numbers: np.random.Generator, vertices: int, most: int = 3) -> list[int]:
    """Vertices, one at least."""
    return [int(v) for v in numbers.integers(vertices, size=int(numbers.integers(1, most + 1)))]


def plain(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    """No options."""
    return {}


@dataclass(frozen=True)
class Tried:
    """A program. kinds: of graphs that it runs on; draw: its options."""

    kinds: tuple[str, ...]
    corrupt: Corruption
    draw: Draw = plain
    table: bool = False  # of edges: rows of other vertices are wrong, too
    always: dict[str, Any] = field(default_factory=dict)

    def options(self, numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
        return {**self.always, **self.draw(numbers, vertices)}


def sources(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"source": some(numbers, vertices)}


def bfs(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    limit = {"depth_limit": int(numbers.integers(4))} if numbers.random() < 0.3 else {}
    return {"source": some(numbers, vertices), "predecessors": bool(numbers.random() < 0.7), **limit}


def sssp(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"source": some(numbers, vertices), "predecessors": bool(numbers.random() < 0.7)}


def near(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"source": some(numbers, vertices), "radius": int(numbers.integers(4))}


def damped(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    double = bool(numbers.random() < 0.4)
    tol = float(numbers.choice([1e-10, 1e-8] if double else [1e-4, 1e-6]))
    return {"alpha": float(numbers.choice([0.5, 0.85, 0.9])), "tol": tol, "max_iter": 500, "float64": double}


def restarted(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {**sources(numbers, vertices), **damped(numbers, vertices)}


def katz(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"alpha": float(numbers.choice([1e-3, 4e-3])), "normalized": bool(numbers.random() < 0.5)}


def scaled(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"normalized": bool(numbers.random() < 0.5)}


def levels(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"weighted": bool(numbers.random() < 0.5)}


def kcore(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"k": int(numbers.integers(1, 7))} if numbers.random() < 0.4 else {}


def chosen(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"nodes": some(numbers, vertices, vertices // 2)}


def crossing(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    targets = {"targets": some(numbers, vertices, vertices // 2)} if numbers.random() < 0.6 else {}
    return {**chosen(numbers, vertices), **targets}


def drawn_sources(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {"k": int(numbers.integers(1, 40)), "seed": int(numbers.integers(9))} if numbers.random() < 0.5 else {}


def closeness(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    return {**drawn_sources(numbers, vertices), "wf_improved": bool(numbers.random() < 0.5)}


def betweenness(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    named = sources(numbers, vertices) if numbers.random() < 0.3 else drawn_sources(numbers, vertices)
    return {**named, "normalized": bool(numbers.random() < 0.5), "endpoints": bool(numbers.random() < 0.3)}


def steps(numbers: np.random.Generator, vertices: int) -> dict[str, Any]:
    initial = {v: float(numbers.uniform(-9, 9)) for v in some(numbers, vertices, 9)}
    return {"initial": initial, "iterations": int(numbers.integers(4))}


KINDS = ("directed", "out only", "undirected", "acyclic")
ANY, DIRECTED, UNDIRECTED = KINDS[:3], KINDS[:2], ("undirected",)
PROGRAMS: dict[str, Tried] = {
    "bfs": Tried(ANY, corruptions.distances, bfs),
    "khop": Tried(ANY, corruptions.any_change, near),
    "sssp": Tried(ANY, corruptions.distances, sssp),
    "pagerank": Tried(ANY, corruptions.ranks, damped),
    "rwr": Tried(ANY, corruptions.ranks, restarted),
    "katz": Tried(ANY, corruptions.one_value, katz),
    "eigenvector": Tried(UNDIRECTED, corruptions.eigenvector, always={"max_iter": 5000}),
    "hits": Tried(ANY, corruptions.one_value, scaled, always={"max_iter": 5000}),
    "wcc": Tried(ANY, corruptions.any_change),
    "hcc": Tried(UNDIRECTED, corruptions.any_change),
    "scc": Tried(DIRECTED, corruptions.any_change),
    "widest": Tried(ANY, corruptions.any_change, sources),
    "levels": Tried(("acyclic",), corruptions.any_change, levels),
    "kcore": Tried(("directed", "undirected"), corruptions.any_change, kcore),
    "ktruss": Tried(UNDIRECTED, corruptions.trusses, kcore),
    "msf": Tried(UNDIRECTED, corruptions.forest),
    "mis": Tried(ANY, corruptions.independent_set),
    "coloring": Tried(ANY, corruptions.colors),
    "subgraph": Tried(ANY, corruptions.rows_of_edges, chosen, table=True),
    "cross": Tried(ANY, corruptions.rows_of_edges, crossing, table=True),
    "egonet": Tried(ANY, corruptions.rows_of_edges, near, table=True),
    "degrees": Tried(ANY, corruptions.counts),
    "closeness": Tried(ANY, corruptions_told.centralities, closeness),
    "harmonic": Tried(ANY, corruptions_told.centralities, drawn_sources),
    "triangles": Tried(UNDIRECTED, corruptions_told.triangles),
    "lcc": Tried(ANY, corruptions_told.coefficients),
    "betweenness": Tried(ANY, corruptions_told.between, betweenness),
    "heat": Tried(ANY, corruptions_told.stepped, steps),
    "circuit": Tried(ANY, corruptions_told.stepped, steps),
    "neural": Tried(ANY, corruptions_told.stepped, steps),
}


class Drawn:
    """A graph of some hundred vertices with a hub, loops and repeated edges, of one kind, open."""

    def __init__(self, path: Path, kind: str, numbers: np.random.Generator) -> None:
        self.kind, self.vertices = kind, int(numbers.integers(40, 300))
        edges = int(self.vertices * numbers.uniform(1, 5))
        source, target = (self.vertices * numbers.random((2, edges)) ** numbers.choice([1, 2])).astype(np.int64)
        hub = numbers.integers(self.vertices, size=self.vertices // 2)
        source, target = np.append(source, np.full(len(hub), 3)), np.append(target, hub)
        if kind == "acyclic":
            source, target = np.minimum(source, target), np.maximum(source, target)
            source, target = source[source != target], target[source != target]
        weight = numbers.integers(0, 9, len(source)).astype(np.float64)
        if numbers.random() < 0.3:
            weight += numbers.random(len(source))
        convert_arrays(
            path, source, target, weight, vertices=self.vertices, page_bytes=4096,
            directed=kind != "undirected", topology="both" if kind == "directed" else "out",
            order=str(numbers.choice(["natural", "degree"])), memory_bytes=1 << 24, threads=1,
        )  # fmt: skip
        self.graph = gstream.open(path, **WAYS[int(numbers.integers(len(WAYS)))])
        self.engine = self.graph.engine()
        self.edges = decode_edges(self.engine.store.topology("out"))
        path.unlink()

    def answer(self, session: Session, name: str, options: dict[str, Any]) -> Answer:
        """What an algorithm gives."""
        columns, found = ALGORITHMS[name].load(f"run_{name}")(session, **options)
        source, target, weight = self.edges
        assert weight is not None
        ends = source.astype(np.int64), target.astype(np.int64)
        return Answer(session, options, columns, {**found, "weighted": ALGORITHMS[name].weights}, *ends, weight)


def answers(folder: Path, numbers: np.random.Generator) -> Iterator[tuple[Drawn, Session, str, Answer]]:
    """Right answers of all programs in turn, on graphs that are drawn anew now and then."""
    graphs: dict[str, Drawn] = {}
    names, run = sorted(PROGRAMS), 0
    while True:
        if run % RUNS == 0:
            for drawn in graphs.values():
                drawn.graph.close()
            graphs = {k: Drawn(folder / f"{k}.gs", k, numbers) for k in KINDS}
        for name in names:
            tried = PROGRAMS[name]
            drawn = graphs[str(numbers.choice(tried.kinds))]
            with Session(drawn.engine) as session:
                yield drawn, session, name, drawn.answer(session, name, tried.options(numbers, drawn.vertices))
        run += 1


def holds(answer: Answer, name: str) -> bool:
    """Whether the certificate accepts an answer."""
    try:
        with patch.object(subgraphs, "EdgeTable", corruptions.ForgedTable):
            answer.session.prove(
                ALGORITHMS[name].load(ALGORITHMS[name].proof), answer.columns, answer.options, answer.found
            )
        return True
    except CertificateError:
        return False


def another(drawn: Drawn, answer: Answer, name: str, numbers: np.random.Generator) -> Answer | None:
    """The rows of other vertices: wrong unless they are the same ones."""
    other = drawn.answer(answer.session, name, PROGRAMS[name].options(numbers, drawn.vertices))
    chosen = [
        tuple(each.columns.near.tolist() + each.columns.far.tolist() + [each.columns.name]) for each in (answer, other)
    ]
    rows = [each.found["chosen_edges"] for each in (answer, other)]
    return None if chosen[0] == chosen[1] or rows[0] == rows[1] else replace(other, options=answer.options)


def wrong_answers(folder: Path, numbers: random.Random) -> Cases:
    """Corruptions of answers of every program in turn."""
    draw = np.random.default_rng(numbers.randrange(1 << 32))
    for drawn, _, name, answer in answers(folder, draw):
        for _ in range(TRIES):
            tried = PROGRAMS[name]
            others = tried.table and draw.random() < 0.3
            wrong = another(drawn, answer, name, draw) if others else tried.corrupt(answer, draw)
            if wrong is not None:
                where = f"{name} {answer.options} on a {drawn.kind} graph of {drawn.vertices} vertices"
                yield Bad(f"{where}: a wrong answer has a certificate") if holds(wrong, name) else name


def right_answers(folder: Path, numbers: random.Random) -> Cases:
    """Answers of every program in turn, as they are."""
    draw = np.random.default_rng(numbers.randrange(1 << 32))
    for drawn, _, name, answer in answers(folder, draw):
        where = f"{name} {answer.options} on a {drawn.kind} graph of {drawn.vertices} vertices"
        yield name if holds(answer, name) else Bad(f"{where}: a right answer is refused")


def properties() -> Iterator[Property]:
    """Those about certificates."""
    wanted = EACH * len(PROGRAMS)
    yield Property("wrong answers", "certificates refuse every corrupted answer", wrong_answers, wanted)
    yield Property("right answers", "certificates refuse no right answer", right_answers, EACH)
