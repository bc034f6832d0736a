"""`gstream`: turns graphs into stores, and runs programs on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer

from gstream.cli import logs, surroundings
from gstream.cli.failures import exit_code_of
from gstream.cli.plain_values import take_plainly
from pagestore.errors import UsageError

# The commands by the file that defines them, as --help lists them.
FILES = {
    "convert": ("convert",), "generate": ("generate",), "update": ("update",), "split": ("split",), "run": ("run",),
    "stats": ("stats",), "plan": ("plan",), "report": ("report",), "info": ("info", "verify", "export"),
    "doctor": ("doctor",), "show": ("show",), "warm": ("warm",), "edge_files": ("cache",),
}  # fmt: skip


def app_of(word: str = "") -> typer.Typer:
    """The command line with the command that `word` names, or with all of them, which takes ten times as long to make:
    all for --help, and for a word that is no command."""
    app = typer.Typer(
        name="gstream",
        help="Graphs bigger than memory: convert them once, then run BFS, PageRank, SSSP, components or your own "
        "program.",
        epilog="First steps: gstream convert edges.txt graph.gs, then gstream run pagerank graph.gs",
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help: loading rich for it would take a third of the 0.3 s that --help may take
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    chosen = [file for file, names in FILES.items() if word in names]
    for file in chosen or FILES:
        import_module(f"gstream.cli.{file}").add_to(app)
    for command in app.registered_commands:
        command.help = getattr(command.callback, "__doc__", None) or command.short_help  # python -OO strips docstrings
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from gstream.version import __version__

        print(f"gstream {__version__}")
        raise typer.Exit()


def _options(
    version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True, callback=_version),
) -> None:
    """Options of gstream itself."""


def run_command_line(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every failure becomes one line on standard error. Returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    surroundings.typed[:] = arguments
    code: int | None = None
    try:
        code = exit_code_of(lambda: _run(arguments))
        return code
    finally:
        logs.end("" if code is None else f"ended with exit code {code}")


def _run(arguments: list[str]) -> Any:
    command = typer.main.get_command(app_of(arguments[0]))
    _refuse_contradictions(command, arguments)
    for chosen in (command, *command.commands.values()):  # type: ignore[attr-defined]
        take_plainly(chosen)
    return command(args=arguments, prog_name="gstream", standalone_mode=False)


def _refuse_contradictions(command: Any, arguments: list[str]) -> None:
    """UsageError for a switch that is given both ways: the last one would win without a word."""
    given = set(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    chosen = command.commands.get(arguments[0])
    for option in [] if chosen is None else chosen.params:
        on, off = given.intersection(option.opts), given.intersection(option.secondary_opts)
        if on and off:
            raise UsageError(f"{on.pop()} and {off.pop()} contradict each other. Pass one of the two.")
