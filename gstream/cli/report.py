"""`gstream report TRACE`: the page of a run that was traced, as --report writes it."""

from __future__ import annotations

from pathlib import Path

import typer

from gstream.options.written import refuse_existing, refuse_overwriting


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("report", short_help="Make a page of a run's trace.")(report)


def report(
    trace: Path = typer.Argument(..., metavar="TRACE", readable=False, help="What gstream run --trace wrote."),
    output: Path = typer.Option(None, "-o", "--output", metavar="FILE", help="Default: TRACE with .html."),
    force: bool = typer.Option(False, "--force", help="Replace FILE if it exists."),
) -> None:
    """Make an HTML page of a run from its trace: the answer's top, supersteps, time lines, predicted and measured.

    Of traces of other programs, or of older versions, it shows the time lines alone. It needs gstream[report].
    """
    from gstream.reporting.page import report_of_trace

    output = trace.with_suffix(".html") if output is None else output
    refuse_overwriting([output], [trace])
    refuse_existing(output, force, example="run.html")
    report_of_trace(trace, output)
    print(output)
