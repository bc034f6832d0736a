"""Stores that change, and samples of them: updates beside conversions of the changed list, runs that go on from an
earlier answer beside whole ones, neighbour samples beside torch-sparse's, which PyG calls.

A change of 5 % removes 2.5 % of the edges and adds as many. Updates and conversions are commands as a user types them;
both by the seconds that all threads together computed, which a busy machine disturbs least, start of Python included.
torch-sparse is asked where it is installed: `neighbor_sample`, one thread, of a CSC copy in memory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gstream
from bench import ours
from bench.child import Run, run
from bench.child import gstream as command
from bench.context import Context
from bench.figures import Figure, Samples, by_turns, check
from bench.graphs import edge_weights, write_text

SHARES = (1, 5)  # % of the edges
ORDERS = ("natural", "degree")
RUNS = 3
NEED = 3.0
FROM = ("bfs", "sssp", "wcc", "pagerank")
LOOKED_AT = {"bfs": "distance", "sssp": "distance", "wcc": "component", "pagerank": "pagerank"}
RANKS = 1e-5  # by which ranks of two runs of PageRank may differ in L1, at its tolerance of 1e-6
FANOUTS = ((10, 5), (15, 10, 5))
SEEDS, BATCHES = 1024, 10


def measure(context: Context) -> Iterator[Figure]:
    if context.graph.scale is None:
        return  # the shipped graph is a page or two
    for share in SHARES:
        files = Files(context, share)
        for order in ORDERS:
            yield from updates(context, files, order)
    yield from later_runs(context, files)
    yield from samples(context, files)


class Files:
    """Lists of a change of `share` %: before, after, added and gone, as .npy and text; each undirected edge once."""

    def __init__(self, context: Context, share: int) -> None:
        source, target, _ = context.graph.kron.halves()
        edges = np.stack([source, target], 1)
        np.random.default_rng(context.graph.seed).shuffle(edges)
        self.share, self.count = share, max(1, len(edges) * share // 200)
        parts = {
            "before": edges[self.count :], "after": np.concatenate([edges[2 * self.count :], edges[: self.count]]),
            "added": edges[: self.count], "gone": edges[self.count : 2 * self.count],
        }  # fmt: skip
        self.folder = context.graph.folder / f"changes-{share}"
        self.folder.mkdir(exist_ok=True)
        for name, part in parts.items():
            np.save(self.folder / f"{name}.npy", part)
            write_text(part, self.folder / f"{name}.txt")

    def path(self, name: str) -> Path:
        return self.folder / name


def convert(files: Files, name: str, store: str, order: str) -> Run:
    options = ("--undirected", "--order", order, "--force", "--json")
    return run(command("convert", files.path(name), files.path(store), *options))


def update(files: Files, kind: str) -> Run:
    changes = ("--add", files.path(f"added.{kind}"), "--remove", files.path(f"gone.{kind}"))
    return run(command("update", files.path("before.gs"), files.path("updated.gs"), *changes, "--force", "--json"))


def updates(context: Context, files: Files, order: str) -> Iterator[Figure]:
    """An update beside conversions of the changed list, both from .npy and both from text."""
    convert(files, "before.npy", "before.gs", order)
    made: dict[tuple[str, str], list[Run]] = {}
    for _ in range(context.times(RUNS) + 1):
        for kind in ("npy", "txt"):
            made.setdefault(("update", kind), []).append(update(files, kind))
            made.setdefault(("convert", kind), []).append(convert(files, f"after.{kind}", "converted.gs", order))
    sums = [ours.decoded_sum(files.path(name), "out") for name in ("updated.gs", "converted.gs")]
    check(sums[0] == sums[1], f"update by {files.share} %: its edges are not the changed list's")
    best = {which: _least(runs[1:]) for which, runs in made.items()}  # the first ones compile
    for kind, called in (("txt", "text"), ("npy", ".npy")):
        inner = [best[which, kind][1] for which in ("update", "convert")]
        figure = Figure(
            what=f"update of {files.share} % of the edges, {called}, seconds of all threads",
            graph=f"{context.graph_name} undirected, {order} order", value=best["update", kind][0], unit="s",
            checked="decoded edges equal the conversion's",
            note=f"by the clock, without Python's start: {inner[0]:.2f} s, the conversion {inner[1]:.2f} s",
        )  # fmt: skip
        need = (NEED, "at least 3 times as fast") if kind == "txt" else (None, "")
        yield figure.versus(f"conversion of the changed {called}", best["convert", kind][0], *need)


def _least(runs: list[Run]) -> tuple[float, float]:
    """(seconds of processor, seconds that the command says it took) of the runs that took least."""
    said = [json.loads(made.output)["seconds"] for made in runs]
    return min(made.cpu_seconds for made in runs), min(said)


def later_runs(context: Context, files: Files) -> Iterator[Figure]:
    """Runs after edges were added, from the answer before; from its Parquet file and as whole runs."""
    before, after = files.path("weighted.gs"), files.path("weighted-after.gs")
    ends = {name: np.load(files.path(f"{name}.npy")) for name in ("before", "added")}
    _store(ends, before, after)
    with gstream.open(before) as graph:
        source = {"source": int(graph.store.user_ids(0, 1)[0])}
        options = {name: source if name in ("bfs", "sssp") else {} for name in FROM}
        for name, own in options.items():
            graph.execute(name, own).write(files.path(f"{name}.parquet"), force=True)
    with gstream.open(after) as graph:
        for name, own in options.items():
            yield _later_run(context, graph, name, own, files.path(f"{name}.parquet"))


def _store(ends: dict[str, np.ndarray], before: Path, after: Path) -> None:
    """Weighted stores, before and after the additions."""
    import pyarrow as pa
    from pyarrow import parquet

    for name, pairs in ends.items():
        source, target = np.ascontiguousarray(pairs.T)
        columns = {"source": source, "target": target, "weight": edge_weights(source, target)}
        parquet.write_table(pa.table(columns), before.with_name(f"{name}.parquet"))
    gstream.convert(before.with_name("before.parquet"), before, directed=False, force=True).close()
    gstream.update(before, after, add=before.with_name("added.parquet"), force=True).close()


def _later_run(context: Context, graph: Any, name: str, own: dict[str, Any], former: Path) -> Figure:
    answers: dict[str, Any] = {}

    def timed(what: str, options: dict[str, Any]) -> float:
        start = time.perf_counter()
        answers[what] = graph.execute(name, options)
        return time.perf_counter() - start

    calls = [partial(timed, "later", own | {"start": former}), partial(timed, "whole", own)]
    later, whole = by_turns(calls, context.times(RUNS), 10 * RUNS, 0.5)
    mine, theirs = (answers[what].to_numpy()[LOOKED_AT[name]] for what in ("later", "whole"))
    near = np.abs(mine - theirs).sum() <= RANKS if name == "pagerank" else np.array_equal(mine, theirs)
    check(bool(near), f"{name}: an answer that goes on from an earlier one is another")
    steps = [answers[what].summary["supersteps"] for what in ("later", "whole")]
    figure = Figure(
        what=f"{name} from an earlier answer in Parquet, after additions", graph=f"{context.graph_name} undirected",
        value=later.least * 1e3, unit="ms", spread=later.spread(1e3), checked="equal to the whole run",
        note=f"{steps[0]} supersteps, the whole run {steps[1]}; least of all turns, with reading the file",
    )  # fmt: skip
    return figure.versus("a whole run", whole.least * 1e3)


def samples(context: Context, files: Files) -> Iterator[Figure]:
    """Edges sampled a second by Graph.sample."""
    random = np.random.default_rng(context.graph.seed)
    with gstream.open(files.path("before.gs")) as graph:
        batches = [random.choice(graph.store.user_ids(), SEEDS, replace=False) for _ in range(BATCHES)]
        for fanouts in FANOUTS:
            drawn = 0

            def mine(fanouts: tuple[int, ...] = fanouts) -> float:
                nonlocal drawn
                start = time.perf_counter()
                drawn = sum(len(graph.sample(seeds, fanouts, seed=at).row) for at, seeds in enumerate(batches))
                return time.perf_counter() - start

            theirs = _torch_sampler(files, batches, fanouts)
            calls = [mine] if theirs is None else [mine, theirs]
            times = by_turns(calls, context.times(RUNS), 10 * RUNS, 1.0)
            figure = Figure(
                what=f"neighbour samples of {SEEDS} seeds, fanouts {', '.join(map(str, fanouts))}",
                graph=f"{context.graph_name} undirected", value=_rate(drawn, times[0]), unit="M edges/s",
                note=f"{drawn:,} edges in {BATCHES} samples; pages in memory; the best turn",
            )  # fmt: skip
            if len(times) > 1:
                figure = figure.versus(
                    "torch-sparse, one thread", _rate(drawn, times[1]), 1.0, "at least PyG's own rate"
                )
            yield figure


def _rate(edges: int, times: Samples) -> float:
    return edges / times.least / 1e6


def _torch_sampler(files: Files, batches: list[np.ndarray], fanouts: tuple[int, ...]) -> Any:
    """Seconds of the same samples by torch-sparse; None where it is not installed."""
    try:
        import torch
        import torch_sparse  # noqa: F401
    except ImportError:
        return None
    ends = np.load(files.path("before.npy")).astype(np.int64)
    near, far = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    order = np.argsort(near, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(near, minlength=int(near.max()) + 1))])
    given = [torch.from_numpy(part) for part in (starts, far[order])]
    torch.set_num_threads(1)

    def theirs() -> float:
        start = time.perf_counter()
        for seeds in batches:
            torch.ops.torch_sparse.neighbor_sample(*given, torch.from_numpy(seeds), list(fanouts), False, True)
        return time.perf_counter() - start

    return theirs
