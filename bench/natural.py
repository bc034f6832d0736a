"""What edge_vertex.py's stage real-natural measures: real graphs in natural order before and after what the papers
brought, as such a graph must not get slower by it.

*After* is this checkout as users run it. *Before* is this checkout without heads, the one of those features that the
host's cores can do without at a run (column pages are there on request only; lanes and zero-copy are a GPU's), and any
checkout of an earlier commit (--against), with a store of its own, as formats differ. Each is a process
(bench/natural_side.py); they take turns, call by call, and their answers must agree. Times are medians; of BFS and SSSP
a sample is the mean over its sources.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.families import Family, real
from bench.figures import Figure, Samples, by_turns
from bench.gpu_setup import Setup, Store, check_equal, check_ranks
from bench.graphs import MOST_WEIGHT, edge_weights
from bench.harness import SkippedError
from bench.machine import ROOT, commit

CHILD = ROOT / "bench" / "natural_side.py"
SSSP_SOURCES = 4
PROCESSES = 3  # of each side, one after the other: where a process' memory lies decides, too
REPEATS, MOST_ROUNDS, LEAST_SECONDS = 2, 100, 2.0  # in each
ITERATIONS = 10
LAST_SECONDS = 60.0  # that a process may take to give its graph back
CHECKED = "distances, labels equal on all sides; ranks within 1e-5 relative"
NO_OTHER = "no earlier commit: --against names a checkout of one"


@dataclass(frozen=True)
class Measured:
    """One algorithm. given: options of its calls, a call each; column: of its answer."""

    what: str
    algorithm: str
    column: str
    given: list[dict[str, Any]]


def measurements(sources: Sequence[int]) -> Iterator[Measured]:
    for words, predecessors in (("distances", False), ("predecessors", True)):
        given = [{"source": source, "predecessors": predecessors} for source in sources]
        yield Measured(f"BFS, {words}", "bfs", "distance", given)
    yield Measured(f"PageRank, {ITERATIONS} iterations", "pagerank", "pagerank", [{"iterations": ITERATIONS}])
    yield Measured("components", "wcc", "component", [{}])
    given = [{"source": source, "predecessors": False} for source in sources[:SSSP_SOURCES]]
    yield Measured("SSSP, distances", "sssp", "distance", given)


@dataclass(frozen=True)
class Side:
    """A process that runs a gstream. name: what it stands for in the table."""

    name: str
    process: subprocess.Popen[str]

    def ask(self, call: str, **request: Any) -> dict[str, Any]:
        assert self.process.stdin
        with suppress(BrokenPipeError):  # it ended, and `answer` says so
            self.process.stdin.write(json.dumps({"call": call, **request}) + "\n")
            self.process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: its process ended with exit code {self.process.wait()}")
        return json.loads(line)

    def seconds(self, measured: Measured, answers: str = "") -> float:
        """Of a call, the mean over all of them."""
        calls = {"algorithm": measured.algorithm, "given": measured.given, "column": measured.column}
        return float(self.ask("run", **calls, answers=answers)["seconds"])


@contextmanager
def started(name: str, root: Path, cache: Path | None) -> Iterator[Side]:
    """A side that runs the gstream in `root`, until the end of the block; cache: see Checkout."""
    environment = os.environ | {"PYTHONPATH": str(root)} | ({"XDG_CACHE_HOME": str(cache)} if cache else {})
    process = subprocess.Popen(  # -P: nothing is imported from bench/
        [sys.executable, "-P", str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root,
        env=environment,
    )  # fmt: skip
    assert process.stdin and process.stdout
    try:
        side = Side(name, process)
        if not Path(side.answer()["package"]).is_relative_to(root):
            raise RuntimeError(f"{name}: no gstream in its folder")
        yield side
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


class Checkout(NamedTuple):
    """name: in the table; cache: where it keeps what it compiles and learns, each version its own."""

    name: str
    root: Path
    cache: Path | None


def checkouts(setup: Setup) -> list[Checkout]:
    found = [Checkout("as users run it", ROOT, None)]
    for number, root in enumerate(map(Path.resolve, setup.against), 1):
        text = commit(root)[:12] or f"unknown, {number}"
        cache = setup.folder.absolute() / f"cache-{text}" if root != ROOT else None
        found.append(Checkout(f"commit {text}", root, cache))
    return found


def make_stores(setup: Setup, family: Family, folder: Path) -> None:
    """By each checkout, 0.gs and so on in `folder`, in a process that runs nothing: up to November 2026 converting left
    malloc another limit, by which runs after it took up to twice as long."""
    vertices = family.edges().vertices if family.edges else 0
    for number, checkout in enumerate(checkouts(setup)):
        with started(*checkout) as side:
            store = str(folder / f"{number}.gs")
            side.ask("convert", edges=str(folder), store=store, vertices=vertices, directed=family.directed)


def sides_of(setup: Setup, folder: Path, held: ExitStack) -> list[Side]:
    """Processes, stores open, until `held` lets go: this checkout, itself without heads, the others."""
    mine, *others = enumerate(checkouts(setup))
    without = 0, mine[1]._replace(name="the same without heads")
    sides = []
    for number, checkout in (mine, without, *others):
        side = held.enter_context(started(*checkout))
        options = {"use_heads": False} if checkout is without[1] else {}
        side.ask("open", store=str(folder / f"{number}.gs"), options=options)
        sides.append(side)
    return sides


def real_natural(setup: Setup) -> Iterator[Figure]:
    """A stage: every real graph that is there, smallest first."""
    for family in real(setup.data):
        yield from natural(setup, family)
    if not setup.against:
        raise SkippedError(NO_OTHER)


def natural(setup: Setup, family: Family) -> Iterator[Figure]:
    """A row an algorithm: this checkout against itself without heads, and against each other one."""
    folder = setup.folder.absolute() / f"{family.name}-sides"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        weights = write_edges(family, folder)
        make_stores(setup, family, folder)
        sources = Store.read(folder / "0.gs", "", 0, 0).sources(setup.sources)
        found: dict[str, list[Samples]] = {}
        for _ in range(PROCESSES):
            with ExitStack() as held:
                sides = sides_of(setup, folder, held)
                for measured in measurements(sources):
                    before = found.get(measured.what, [Samples(())] * len(sides))
                    again = compared(sides, measured, folder)
                    pairs = zip(before, again, strict=True)
                    found[measured.what] = [Samples(one.seconds + other.seconds) for one, other in pairs]
        # Only now, as processes that are still there count as others' work (bench.machine.Disturbance).
        for what, samples in found.items():
            mine, *others = samples
            note = weights if what.startswith("SSSP") else ""
            row = Figure(
                f"Natural order: {what}", family.name, mine.median * 1e3, "ms", spread=mine.spread(1e3),
                checked=CHECKED, note=note,
            )  # fmt: skip
            for side, other in zip(sides[1:], others, strict=True):
                yield row.versus(side.name, other.median * 1e3)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_edges(family: Family, folder: Path) -> str:
    """The arrays that all sides convert, in `folder`; in words, what the weights are."""
    if family.edges is None:
        raise ValueError(f"{family.name}: a real graph has edges")
    edges = family.edges()
    folder.mkdir(parents=True)
    own = edges.weight is not None
    weight = edges.weight if own else edge_weights(edges.source, edges.target)
    for name, array in (("source", edges.source), ("target", edges.target), ("weight", weight)):
        np.save(folder / f"{name}.npy", array)
    return "weights as they come with the graph" if own else f"weights 1 to {MOST_WEIGHT}, a hash of both ends"


def compared(sides: Sequence[Side], measured: Measured, folder: Path) -> list[Samples]:
    """Seconds of a call on each side; WrongAnswerError where their answers differ."""
    for number, side in enumerate(sides):
        side.seconds(measured, str(folder / f"answer-{number}-"))
    check_answers(sides, measured, folder)
    calls = [partial(side.seconds, measured) for side in sides]
    return by_turns(calls, REPEATS, MOST_ROUNDS, LEAST_SECONDS)


def check_answers(sides: Sequence[Side], measured: Measured, folder: Path) -> None:
    """Those that the sides left in `folder`."""
    for call in range(len(measured.given)):
        first, *others = (np.load(folder / f"answer-{number}-{call}.npy") for number in range(len(sides)))
        for side, other in zip(sides[1:], others, strict=True):
            what = f"{measured.what}, {side.name}"
            if measured.column == "pagerank":
                check_ranks(other, first, what)
            else:
                check_equal(other, first, what)
