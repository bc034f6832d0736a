"""`report=` of calls from Python: the call with a recorder beside its own trace and progress, and the page."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gstream.options.written import refuse_existing, refuse_overwriting
from gstream.reporting.page import check_report, write_report
from gstream.reporting.recorder import RunRecorder, python_call
from pagestore.errors import UsageError


def recorded(
    page: Any, wanted: Any, options: dict[str, Any], call: Callable[[dict[str, Any]], Any], graph: dict[str, Any],
    planned: dict[str, Any] | None, name: str, own: dict[str, Any], title: str,
    force: bool = False,
) -> Any:  # fmt: skip
    """call(options) with a recorder; then the page. force: it replaces a file of that name.

    wanted: the RunOptions of the call; graph: Graph.info; planned: as Graph.plan has it; name, own: the method and what
    it was given. Raises, before anything is computed, where no page can be written.
    """
    if not isinstance(page, (str, os.PathLike)):
        raise UsageError(f"report {page!r}: is no path of a file. Pass one, as report='run.html'.")
    path = Path(page)
    refuse_overwriting([path], [graph["path"]])
    check_report(path)
    refuse_existing(path, force=True, example="run.html")
    if path.exists() and not force:  # "--force" in Python's words is of checkpoints
        raise UsageError(f"{path}: exists. Pass force=True to replace it, or another name.")
    recorder = RunRecorder(wanted.progress, wanted.trace)
    result = call({**options, "progress": recorder, "trace": recorder})
    facts = recorder.facts(
        result, result.summary, graph, command=python_call(name, own | options, program=not title), title=title,
        settings=options, plan=planned,
    )  # fmt: skip
    write_report(path, facts, recorder.trace.events())
    return result
