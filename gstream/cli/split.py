"""`gstream split STORE FOLDER --parts N`: one store a rank, and what `gstream info` shows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from gstream.cli import logs, surroundings
from gstream.cli.progress import ProgressBar
from gstream.cli.terminal import note, print_json, print_pairs, print_table
from gstream.options.written import stripe_folders
from pagestore.sizes import show_bytes, show_seconds, show_things

if TYPE_CHECKING:
    from pagestore.manifest import Manifest
    from pagestore.split import SplitReport

MOST_ROWS = 64  # parts in a table
SHOWN = {"edges": "stored edges"}  # an undirected one is there for both its ends


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("split", short_help="Cut a store into parts, one a rank.")(split)


class Step(NamedTuple):
    """What the progress bar shows."""

    phase: str
    done: int
    total: int | None
    unit: str


def split(
    store: Path = typer.Argument(..., metavar="STORE", readable=False),
    folder: Path = typer.Argument(..., metavar="FOLDER", help="The graph in parts to write, as web.parts."),
    parts: int = typer.Option(..., "--parts", metavar="N", help="Parts: as many as there will be ranks."),
    stripe: list[str] = typer.Option(None, "--stripe", metavar="A,B,...", help="Folders of the store's stripes."),
    threads: int = typer.Option(None, metavar="N", help="Threads that read. Default: all cores."),
    no_heads: bool = typer.Option(False, "--no-heads", help="Leave the first neighbours of each vertex out."),
    force: bool = typer.Option(False, "--force", help="Replace FOLDER if it is a graph in parts."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
    progress: str = typer.Option("auto", metavar="auto|plain|json|off", help=logs.HELP),
    log_file: Path = typer.Option(None, metavar="FILE", help=logs.LOG_HELP),
) -> None:
    """Cut a store into parts for runs on several machines: each rank opens its own part alone. Parts can be cut anew.

    A part is a store with all vertices, and the pages of every N-th stretch. The manifest is written last: without it
    nothing in FOLDER counts, and the next split removes it. `gstream info` and `gstream verify` take FOLDER.
    """
    logs.begin(progress, log_file, surroundings.typed, [store])
    report = split_with_bar(store, folder, parts, force, threads, stripe_folders(stripe), not no_heads)
    if json:
        print_json(split_facts(report))
    else:
        print_pairs(split_lines(report))


def split_with_bar(
    store: Path, folder: Path, parts: int, force: bool, threads: int | None, stripes: Sequence[str], heads: bool = True
) -> SplitReport:
    """Split with a progress bar."""
    from pagestore.split import split as split_store

    with ProgressBar() as bar:
        report = split_store(
            store, folder, parts, force, threads, tuple(stripes),
            lambda done, total: bar(Step("split", done, total, "bytes")), heads,
        )  # fmt: skip
    if without_pages := report.manifest.without_pages():
        note(without_pages)
    return report


def split_facts(report: SplitReport) -> dict[str, Any]:
    """What a split wrote, for --json."""
    return {"path": report.path, **asdict(report.manifest), "seconds": report.seconds}


def split_lines(report: SplitReport) -> list[tuple[str, str]]:
    """The same for people."""
    nbytes = sum(part.bytes for part in report.manifest.parts)
    took = ("split", f"{report.path}: {show_bytes(nbytes)} written in {show_seconds(report.seconds)}")
    return [took, *balance_lines(report.manifest)]


def balance(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """The least, mean and most that a part has of pages, edges and mirrors, of all topologies together, and bytes."""
    found = {}
    for name in ("pages", "edges", "mirrors"):
        counts = [sum(getattr(part, name).values()) for part in manifest.parts]
        found[name] = {"least": min(counts), "mean": sum(counts) / len(counts), "most": max(counts)}
    sizes = [part.bytes for part in manifest.parts]
    return {**found, "bytes": {"least": min(sizes), "mean": sum(sizes) / len(sizes), "most": max(sizes)}}


def balance_lines(manifest: Manifest) -> list[tuple[str, str]]:
    """The same for people."""
    count, facts = len(manifest.parts), balance(manifest)
    lines = [("parts", f"{count}, by stretches of {show_things(manifest.stretch, 'page')}; "
                       f"mpiexec -n {count} starts a run")]  # fmt: skip
    for name, each in facts.items():
        show = show_bytes if name == "bytes" else lambda number: f"{number:,.0f}"
        over = each["most"] / each["mean"] if each["mean"] else 1.0
        least_to_most = f"{show(each['least'])} to {show(each['most'])} a part"
        lines.append((SHOWN.get(name, name), f"{least_to_most}, the most {over:.3g} times the mean"))
    return lines


def print_parts(manifest: Manifest) -> None:
    """A row a part, of the first ones."""
    rows = [
        (number, *(sum(getattr(part, name).values()) for name in ("pages", "edges", "mirrors")), show_bytes(part.bytes))
        for number, part in enumerate(manifest.parts[:MOST_ROWS])
    ]
    print_table(("part", "pages", SHOWN["edges"], "mirrors", "bytes"), rows, title="")
