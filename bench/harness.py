"""Measurements in processes of their own: recorded figure by figure, collected, joined.

Each measurement runs in a process of its own, one after the other, so that none inherits another's memory, threads or
warm caches, and one that fails doesn't take the rest with it. It keeps a *part*: a result file with the figures it has
so far, written anew after each, so that a machine that is taken away takes no finished figure with it. Results and
parts have one shape, and any of them can be joined:

    {command, machine, graphs, seconds, failures: [{measurement, graph, error}], skipped: [{..., reason}], figures}

A suite on GPUs (bench.suite) adds missing: [{what, graph, target}], what it asks for and no figure shows.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bench import machine
from bench.figures import Figure, WrongAnswerError
from bench.machine import ROOT

DERIVED = ("ratio", "passed")  # of a figure in JSON, beside its fields


class SkippedError(Exception):
    """A measurement, or what is left of it, that makes no sense here; the text says why."""


class Task(NamedTuple):
    """One measurement on one graph."""

    measurement: str
    graph: str


def header(command: str, graphs: str) -> dict[str, Any]:
    """The part of a result that is known before it is measured."""
    return {"command": command, "machine": machine.facts(), "graphs": graphs}


def save(path: Path, result: dict[str, Any], figures: Sequence[Figure]) -> None:
    """Write a result whole or not at all: a kill leaves the last one."""
    machine.write_json(path, result | {"figures": [figure.as_dict() for figure in figures]})


def load(path: Path) -> tuple[dict[str, Any], list[Figure]]:
    """(result without its figures, figures) of a file that `save` wrote."""
    result = json.loads(path.read_text())
    rows = result.pop("figures")
    return result, [Figure(**{key: value for key, value in row.items() if key not in DERIVED}) for row in rows]


def join(files: Sequence[Path]) -> tuple[dict[str, Any], list[Figure]]:
    """Results of several runs as one; facts are those of the first that has figures.

    What a later run measured again replaces what earlier ones did, and its stages are no failures any more. runs:
    command, date, commit, cores and GPUs of each that was not on the same machine at the same commit as the one before.
    """
    loaded = [load(file) for file in files]
    wholes = [whole for whole, _ in loaded]
    facts = next((whole for whole, figures in loaded if figures), wholes[0])
    runs: list[dict[str, Any]] = []
    for run in [run for whole in wholes for run in whole.get("runs") or [_run(whole)]]:
        if runs and all(runs[-1][key] == run[key] for key in ("commit", "cores", "gpus")):
            runs[-1]["command"] = _commands([runs[-1]["command"], run["command"]])
        else:
            runs.append(dict(run))
    figures: list[Figure] = []
    for _, later in loaded:
        again = {(figure.what, figure.graph) for figure in later}
        figures = [figure for figure in figures if (figure.what, figure.graph) not in again] + later
    return facts | {
        "command": _commands(whole["command"] for whole in wholes),
        "runs": runs,
        "seconds": sum(whole["seconds"] for whole in wholes),
        "failures": [
            failure
            for number, whole in enumerate(wholes)
            for failure in whole["failures"]
            if not any(_made(failure, later) for later in wholes[number + 1 :])
        ],
        "skipped": [skip for whole in wholes for skip in whole.get("skipped", [])],
    }, figures


def _made(failure: dict[str, str], later: dict[str, Any]) -> bool:
    """Whether a later result has the stage that failed, whole."""
    stage = f"--only {failure['measurement']} --scale {re.split('[- ]', failure['graph'])[-1]} "
    commands = " ".join(run["command"] for run in later.get("runs") or [_run(later)]) + " "
    others = [*later["failures"], *later.get("skipped", [])]
    again = any(other["measurement"] == failure["measurement"] for other in others)
    return stage in commands and not again


def _run(whole: dict[str, Any]) -> dict[str, Any]:
    facts = whole["machine"]
    found = {key: facts.get(key) for key in ("date", "commit", "cores")}
    return {"command": whole["command"], **found, "gpus": len(facts.get("gpus", []))}


def _commands(commands: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(one for command in commands for one in command.split("; ")))


def record(part: Path, task: Task, facts: dict[str, Any], figures: Iterable[Figure]) -> int:
    """Take figures as they come and keep them in `part`, with how it ended; the exit code of this process."""
    result: dict[str, Any] = {**facts, "seconds": 0.0, "failures": [], "skipped": []}
    kept: list[Figure] = []
    began, others = time.perf_counter(), machine.Disturbance()

    def keep() -> None:
        result["seconds"] = time.perf_counter() - began
        save(part, result, kept)

    try:
        for figure in figures:
            kept.append(figure if figure.counted else replace(figure, disturbance=round(others.cores(), 3)))
            keep()
    except SkippedError as reason:
        result["skipped"].append(task._asdict() | {"reason": str(reason)})
        print(f"    left out: {reason}", file=sys.stderr)
    except WrongAnswerError as error:
        result["failures"].append(task._asdict() | {"error": f"wrong answer: {error}"})
    except Exception as error:
        traceback.print_exc()
        words = (str(error).splitlines() or [""])[0]
        text = f"{type(error).__name__}: {words}".replace(f"{ROOT}/", "")
        result["failures"].append(task._asdict() | {"error": text})
    keep()
    for failure in result["failures"]:
        print(f"{task.measurement} {task.graph}: {failure['error']}", file=sys.stderr)
    return 1 if result["failures"] else 0


def run_apart(command: Sequence[str], part: Path, task: Task, facts: dict[str, Any], longest_s: float) -> None:
    """Run a command that records `task` in `part`. Where it dies, `part` keeps what it had and says how it died."""
    part.unlink(missing_ok=True)
    print(f"... {task.measurement} {task.graph}", file=sys.stderr, flush=True)
    began = time.perf_counter()
    try:
        code = subprocess.run(command, cwd=ROOT, timeout=longest_s).returncode
        death = f"ended with exit code {code}"
    except subprocess.TimeoutExpired:
        code, death = 1, f"not done after {longest_s:.0f} s"
    if code == 0:
        return
    result, figures = load(part) if part.exists() else ({**facts, "failures": [], "skipped": []}, [])
    if not result["failures"]:
        result["seconds"] = time.perf_counter() - began
        result["failures"].append(task._asdict() | {"error": death})
        save(part, result, figures)
