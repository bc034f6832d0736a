"""`gstream stats STORE`: figures of a graph, as `gstream run stats` finds them."""

from __future__ import annotations

from typing import Any

import typer

from gstream.cli.run import run_given
from gstream.cli.run_arguments import takes_run_options
from gstream.cli.run_help import StatsCommand

NAME = "stats"  # of the command and of its algorithm


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(NAME, cls=StatsCommand, short_help="Figures of a graph: degrees, triangles, distances.")(stats)


def stats(**given: Any) -> int:
    """Show degrees, strengths, reciprocity, assortativity, transitivity and distances of a graph.

    A page of them: --report stats.html. How many vertices have each degree: -o degrees.csv.
    """
    return run_given({**given, "algorithm": NAME, "param": None, "max_supersteps": None, "top": given["top"] or 0})


stats.only = NAME  # type: ignore[attr-defined]
stats = takes_run_options(stats)
