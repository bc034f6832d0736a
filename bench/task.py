"""The whole task by the user's clock: from cold text to a table in pandas, stage by stage, ours beside the peers'.

Every program runs in a process of its own (bench.task_programs), and its text is put out of the system's page cache
first. The whole is the process's time from start to end. Answers must equal the reference's before a time counts.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bench import peers
from bench.child import gstream, run
from bench.context import Context
from bench.figures import Figure, Samples, check
from bench.gpu_setup import RECORD, Setup
from bench.graphs import Csr, Graph, blocks
from bench.harness import SkippedError
from bench.task_programs import ALPHA, STAGES

RUNS = 3
PEERS = ("networkit", "igraph", "scipy")
OURS = ("gstream", "gstream-again")
SAID = {
    "gstream": "gstream", "gstream-again": "gstream, from the store it left", "networkit": "networkit",
    "igraph": "igraph", "scipy": "scipy",
}  # fmt: skip
ALGORITHMS = {"bfs": "BFS", "pagerank": "PageRank"}
CLOSE = 1e-4  # L1 distance of ranks that end at changes of 1e-6, in float32 or float64
CUGRAPH = {24: {"bfs": 5.1e-3, "graph": 0.14}, 26: {"bfs": 17.3e-3}}  # seconds of whole calls, answer in GPU memory


@dataclass(frozen=True)
class Timed:
    """Seconds of one program: of whole processes, and of their stages."""

    whole: Samples
    stages: dict[str, Samples]


def text_of(graph: Graph) -> Path:
    """The undirected graph as text: each edge once, `source<TAB>target` a line, without a comment."""
    import pyarrow as pa
    from pyarrow import csv

    path = graph.folder / "kron.txt"
    if not path.exists():
        partial, plain = path.with_suffix(".partial"), csv.WriteOptions(include_header=False, delimiter="\t")
        source, target, _ = graph.kron.halves()
        with partial.open("wb") as file:
            for block in blocks(np.stack((source, target), axis=1)):
                csv.write_csv(pa.table({"source": block[:, 0], "target": block[:, 1]}), file, plain)
        partial.rename(path)
    return path


def put_out_of_cache(path: Path) -> None:
    """Let the next reader of a file wait for the disk, where the system allows it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def reference(csr: Csr, algorithm: str, source: int) -> np.ndarray:
    """f8[V]: distances (-1: no path), or ranks of sum 1."""
    matrix = peers.scipy_matrix(csr, "float64")
    if algorithm == "pagerank":
        return peers.power_iteration(matrix, csr.degree, ALPHA, 100)
    from scipy.sparse.csgraph import dijkstra

    return peers.finite(dijkstra(matrix, unweighted=True, indices=source))


def check_answer(program: str, algorithm: str, answer: Path, expected: np.ndarray, degree: np.ndarray) -> None:
    """Compare where the text has vertices: programs count those without edges, or do not know of them."""
    vertex, value = np.load(answer)
    place = vertex.astype(np.int64)
    linked = np.flatnonzero(degree)
    check(bool(np.isin(linked, place).all()), f"{program}: vertices are missing from the table")
    found = np.full(max(len(expected), int(place.max()) + 1), np.nan)
    found[place] = value
    if algorithm == "bfs":
        values = np.where(np.isnan(found[linked]), peers.UNREACHED, peers.finite(found[linked]))
        check(bool((values == expected[linked]).all()), f"{program}: distances differ")
        return
    ours, theirs = peers.to_sum_one(found[linked]), peers.to_sum_one(expected[linked])
    gap = float(np.abs(ours - theirs).sum())
    check(gap <= CLOSE, f"{program}: ranks are {gap:.1e} apart")


def timed(
    graph: Graph, programs: Sequence[str], algorithm: str, source: int, repeats: int, devices: Sequence[str] = ()
) -> dict[str, Timed]:
    """Run the programs by turns, so that what disturbs one disturbs the others, and check each answer."""
    text, expected = text_of(graph), reference(graph.kron, algorithm, source)
    found: dict[str, list[tuple[float, dict[str, float]]]] = {program: [] for program in programs}
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.npy"
        for program in [*programs] * repeats:
            for path in (text, text.with_suffix(".task.gs")):
                if path.exists():
                    put_out_of_cache(path)
            words = [program, algorithm, str(text), str(source), str(answer), *devices]
            done = run([sys.executable, "-m", "bench.task_programs", *words])
            check_answer(program, algorithm, answer, expected, graph.kron.degree)
            found[program].append((done.seconds, json.loads(done.output.splitlines()[-1])))
    return {
        program: Timed(
            Samples(tuple(whole for whole, _ in runs)),
            {name: Samples(tuple(stages[name] for _, stages in runs)) for name in STAGES},
        )
        for program, runs in found.items()
    }


def figures(
    graph: Graph, name: str, repeats: int, devices: Sequence[str] = (), recorded: bool = False
) -> Iterator[Figure]:
    """A row a program for the whole task, then rows for its stages; ours against each peer."""
    run(gstream("warm"))
    source = graph.sources(1)[0]
    there = [peer for peer in PEERS if find_spec(peer)]
    where = f" on {','.join(devices)}" if devices else ""
    for algorithm, title in ALGORITHMS.items():
        found = timed(graph, [*there, *OURS], algorithm, source, repeats, devices)
        for program, times in found.items():
            ours = program in OURS
            whole = Figure(
                what=f"{title} from cold text to a table in pandas: {SAID[program]}{where if ours else ''}",
                graph=name,
                value=times.whole.median,
                unit="s",
                spread=times.whole.spread(),
                checked="the table equals the reference's (BFS), within 1e-4 in L1 (PageRank)",
            )
            against = there if ours else []
            yield from [whole.versus(peer, found[peer].whole.median) for peer in against] or [whole]
            for stage in STAGES:
                yield Figure(
                    what=f"{title}, {stage}: {SAID[program]}{where if ours else ''}", graph=name,
                    value=times.stages[stage].median, unit="s", spread=times.stages[stage].spread(),
                )  # fmt: skip
        known = CUGRAPH.get(graph.scale or 0, {})
        if recorded and algorithm in known:
            call = found["gstream-again"].stages["run"]
            yield Figure(
                what=f"{title}, first call in a process{where}", graph=name, value=call.median, unit="s",
                spread=call.spread(), note="its answer in GPU memory; pages come from the store in this call",
            ).versus("cuGraph's call, graph in GPU memory", known[algorithm], recorded=RECORD)  # fmt: skip


def measure(context: Context) -> Iterator[Figure]:
    """The table of `make bench`, on the host's cores."""
    if context.graph.scale is None:
        raise SkippedError("the task is measured on graphs of numbers")
    yield from figures(context.graph, f"{context.graph_name} undirected", context.times(RUNS))


def on_gpus(setup: Setup) -> Iterator[Figure]:
    """The table of `make bench-gpu`, on its first device."""
    graph = Graph(f"rmat-{setup.scale}")
    yield from figures(graph, f"rmat-{setup.scale}, undirected, as text", RUNS, setup.devices.one, recorded=True)
