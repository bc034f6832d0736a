"""Makes a failing trial smaller: fewer edges, fewer vertices, plainer stores and runs, while it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from cases import LISTS, PAIRS, Case
from nasty import Graph
from stores import StoreOptions

SECONDS = 20.0  # for one failure
PLAIN_RUN = {
    "devices": ["host"], "threads": 1, "host_memory": None, "device_memory": None, "chunk_vertices": None,
    "direction": "auto", "cache": "auto", "batch_bytes": None, "streams": None, "use_heads": True, "read_threads": 1,
}  # fmt: skip


def shrink(trial: Any, problem: Callable[[Any], str]) -> tuple[Any, str]:
    """(a smaller trial that fails, what is wrong with it; "" where the trial itself does not fail alone)."""
    until = time.monotonic() + SECONDS
    says = problem(trial)
    if not says:
        return trial, ""
    for smaller in (_plain, _fewer_edges, _fewer_vertices, _plain, _fewer_edges):
        trial, says = smaller(trial, problem, says, until)
    return trial, says


def _plain(trial: Any, problem: Callable[[Any], str], says: str, until: float) -> tuple[Any, str]:
    """Store and run as plain as they can be: one option at a time takes its default."""
    for name, value in StoreOptions().as_dict.items():
        if getattr(trial.store, name) != value:
            trial, says = _better(
                trial, replace(trial, store=replace(trial.store, **{name: value})), problem, says, until
            )
    for name, value in PLAIN_RUN.items():
        if trial.run.options[name] != value:
            options = {**trial.run.options, name: value}
            trial, says = _better(trial, replace(trial, run=replace(trial.run, options=options)), problem, says, until)
    for name in trial.run.knobs:
        if trial.run.knobs[name] is not None:
            run = replace(trial.run, knobs={**trial.run.knobs, name: None})
            trial, says = _better(trial, replace(trial, run=run), problem, says, until)
    if trial.run.stop is not None:
        trial, says = _better(trial, replace(trial, run=replace(trial.run, stop=None)), problem, says, until)
    return _better(trial, replace(trial, case=replace(trial.case, certify=False)), problem, says, until)


def _better(
    trial: Any, tried: Any, problem: Callable[[Any], str], says: str, until: float
) -> tuple[Any, str]:  # fmt: skip
    """The tried one if it fails."""
    found = problem(tried) if time.monotonic() < until else ""
    return (tried, found) if found else (trial, says)


def _fewer_edges(trial: Any, problem: Callable[[Any], str], says: str, until: float) -> tuple[Any, str]:
    """Leave out runs of edges, half of them at first, one at last."""
    step = max(1, len(trial.graph.source) // 2)
    while True:
        at = 0
        while at < len(trial.graph.source) and time.monotonic() < until:
            keep = np.ones(len(trial.graph.source), bool)
            keep[at : at + step] = False
            tried = replace(trial, graph=_part(trial.graph, keep))
            better, says = _better(trial, tried, problem, says, until)
            at += step if better is trial else 0
            trial = better
        if step == 1 or time.monotonic() >= until:
            return trial, says
        step //= 2


def _part(graph: Graph, keep: np.ndarray) -> Graph:
    weight = None if graph.weight is None else graph.weight[keep]
    return replace(graph, source=graph.source[keep], target=graph.target[keep], weight=weight, memo={})


def _fewer_vertices(trial: Any, problem: Callable[[Any], str], says: str, until: float) -> tuple[Any, str]:
    """Leave out vertices without an edge that no option names."""
    graph, own = trial.graph, trial.case.own
    named = {v for name in LISTS for v in own.get(name) or ()}
    named |= {v for name in PAIRS for v, _ in own.get(name) or ()}
    used = np.array(sorted({*graph.source.tolist(), *graph.target.tolist(), *named}), np.int64)
    if len(used) in (0, graph.vertices):
        return trial, says
    place = np.zeros(graph.vertices, np.int64)
    place[used] = np.arange(len(used))
    fresh = dict(own)
    for name in LISTS:
        if own.get(name) is not None:
            fresh[name] = [int(place[v]) for v in own[name]]
    for name in PAIRS:
        if own.get(name) is not None:
            fresh[name] = [(int(place[v]), number) for v, number in own[name]]
    smaller = replace(graph, vertices=len(used), source=place[graph.source], target=place[graph.target], memo={})
    case = Case(trial.case.name, fresh, trial.case.certify)
    return _better(trial, replace(trial, graph=smaller, case=case), problem, says, until)
