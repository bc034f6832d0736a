"""`gstream`: turns graphs into stores, and runs programs on them."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence

import typer

from gstream.cli import convert, doctor, generate, info, plan, run, show
from gstream.cli.failures import EXIT_USAGE, Interrupted, install_signals, report

# A start makes half a million objects that stay, and looking for garbage among them took a tenth of it; what BLAS (no
# kernel of ours uses it) starts threads for spins beside our own.
GC_THRESHOLD = 50_000

app = typer.Typer(
    name="gstream",
    help="Graphs bigger than memory: convert them once, then run BFS, PageRank, SSSP, components or your own program.",
    epilog="First steps: gstream convert edges.txt graph.gs, then gstream run pagerank graph.gs",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: loading rich for it would take a third of the 0.3 s that --help may take
    pretty_exceptions_enable=False,
)
for register in (convert, generate, run, plan, info, doctor, show):
    register.add_to(app)


def _version(wanted: bool) -> None:
    if wanted:
        from gstream.version import __version__

        print(f"gstream {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True, callback=_version),
) -> None:
    """Options of gstream itself."""


def run_command_line(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every failure becomes one line on standard error. Returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        outcome = app(args=arguments, prog_name="gstream", standalone_mode=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except Interrupted as stop:
        print(f"stopped by {signal.Signals(stop.number).name}; {stop.left}", file=sys.stderr)
        return 128 + stop.number
    except BrokenPipeError:
        return _stop_writing()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # what typer makes of it
            return _stop_writing()
        raise
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's usage errors, whichever click they come from
            return _report_usage(error)
        return report(error)


def _stop_writing() -> int:
    """The reader (`head`) has what it wants: nothing may be flushed to the pipe again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


def _report_usage(error: Exception) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "gstream"
    text = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    if context and "argument" in text:  # one is missing, or too many are there: which is which?
        pieces = [piece.replace("{", "").replace("}", "") for piece in context.command.collect_usage_pieces(context)]
        text += f". Write {command} {' '.join(pieces)}"
    print(f"{command}: {text}. See {command} --help.", file=sys.stderr)
    return EXIT_USAGE


def main() -> None:
    """Entry point of the console script."""
    install_signals()
    gc.set_threshold(GC_THRESHOLD)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(run_command_line())
