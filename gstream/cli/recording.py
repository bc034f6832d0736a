"""--trace and --report of `gstream run`: what is recorded while it runs, and the files afterwards."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gstream.cli.run_arguments import engine_options
from gstream.cli.surroundings import typed

if TYPE_CHECKING:
    from gstream.algorithms.declaration import Algorithm
    from gstream.reporting.recorder import RunRecorder
    from gstream.results.result import Result
    from gstream.telemetry.stats import StepStats


def recorder_of(given: dict[str, Any], following: Callable[[int, StepStats], None]) -> RunRecorder | None:
    """Takes what --trace and --report show; None without them. Of ranks that share a run all take it."""
    if given["trace"] is None and given["report"] is None and not given.get("planned"):
        return None
    from gstream.reporting.recorder import RunRecorder

    return RunRecorder(following)


def write_records(
    given: dict[str, Any], recorder: RunRecorder, known: Algorithm | None, result: Result, summary: dict[str, Any],
    graph: dict[str, Any], planned: dict[str, Any] | None, launcher: list[str],
) -> None:  # fmt: skip
    """The files of --trace and --report. graph: Graph.info; planned: as `gstream plan --json` has it; launcher: what is
    typed before the command."""
    from gstream.reporting.page import write_report

    facts = recorder.facts(
        result, summary, graph, command=shlex.join([*launcher, "gstream", *typed]),
        title="" if known is None else known.title, settings=engine_options(given), plan=planned,
    )  # fmt: skip
    if given["trace"] is not None:
        recorder.trace.write(given["trace"], facts)
    if given["report"] is not None:
        write_report(given["report"], facts, recorder.trace.events())
