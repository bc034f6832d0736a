"""`gstream update STORE NEW`: a store with edges added and removed, as another store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from gstream.cli import logs, surroundings
from gstream.cli.convert import column
from gstream.cli.progress import ProgressBar
from gstream.cli.terminal import note, print_json, print_pairs
from gstream.options.written import check_workdir, stripe_folders
from pagestore.sizes import show_bytes, show_seconds, show_things


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("update", short_help="Add edges to a store, or remove some.")(update)


def update(
    store: Path = typer.Argument(..., metavar="STORE", readable=False),
    new: Path = typer.Argument(..., metavar="NEW", help="The store to write; STORE stays as it is."),
    add: list[Path] = typer.Option(None, metavar="FILE", readable=False, help="Edges to add; may be repeated."),
    remove: list[Path] = typer.Option(None, metavar="FILE", readable=False, help="Edges to remove; may be repeated."),
    missing: str = typer.Option("refuse", metavar="refuse|ignore", help="What to do about removals that find no edge."),
    source_column: str = typer.Option(None, metavar="N|NAME", help="Column of the source, from 1, or its name."),
    target_column: str = typer.Option(None, metavar="N|NAME", help="Column of the target; both or none."),
    weight_column: str = typer.Option(None, metavar="N|NAME", help="Column of the weight, from 1, or its name."),
    format: str = typer.Option(None, metavar="NAME", help="Format of the files. Default: by suffix and content."),
    header: bool | None = typer.Option(None, "--header/--no-header", help="Line 1 names the columns. Default: found."),
    comments: str = typer.Option(
        None, metavar="CHARS|none", help="Lines that begin with one are comments. Default: #%."
    ),
    where: str = typer.Option(None, metavar="CONDITION", help="Rows to read, as 'amount > 100'; columns by name."),
    decimal: str = typer.Option(None, metavar=",|.", help="Mark of decimals in weights of text."),
    bad_lines: str = typer.Option(
        "fail", metavar="fail|skip", help="skip lists them in NEW.add.skipped.txt and NEW.remove.skipped.txt."
    ),
    stripe: list[str] = typer.Option(None, metavar="A,B,...", help="Folders of the store's stripes."),
    memory: str | None = typer.Option(None, metavar="SIZE", help="Memory to take at most; default: what is free."),
    threads: int = typer.Option(None, metavar="N", help="Threads. Default: all cores."),
    workdir: Path = typer.Option(None, metavar="FOLDER", help="For temporary files. Default: beside NEW."),
    force: bool = typer.Option(False, "--force", help="Replace NEW if it exists."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
    progress: str = typer.Option("auto", metavar="auto|plain|json|off", help=logs.HELP),
    log_file: Path = typer.Option(None, metavar="FILE", help=logs.LOG_HELP),
) -> None:
    """Write a store with edges added to STORE, or removed from it, without converting all edges again.

    Removals come first, and take all edges of their two ends. An edge in both lists has its new weight afterwards.
    Vertices stay. Order, duplicates and self-loops are handled as STORE's conversion was told.
    """
    logs.begin(progress, log_file, surroundings.typed, [store, *(add or []), *(remove or [])])
    check_workdir(workdir)
    from gstream.interop.updating import update_files
    from pagestore.convert.options import edges_line

    given: dict[str, Any] = {
        "missing": missing, "source_column": column(source_column), "target_column": column(target_column),
        "weight_column": column(weight_column), "format": format, "header": header, "comments": comments,
        "where": where, "decimal": decimal, "bad_lines": bad_lines, "stripe": stripe_folders(stripe),
        "memory": memory, "threads": threads, "workdir": workdir, "force": force,
    }  # fmt: skip
    with ProgressBar() as bar:
        report, assumed = update_files(store, new, add or [], remove or [], given, bar)
    for line in (*assumed, *report.notes):
        note(line)
    if json:
        print_json(report.as_dict())
        return
    edges = edges_line(report.edges, report.out_edges or report.in_edges, report.directed)
    print_pairs([
        ("graph", f"{show_things(report.vertices, 'vertex')}, {edges}"),
        ("changes", f"{show_things(report.added_edges, 'edge')} to add, {report.removed_edges:,} removed; the graph "
                    f"had {show_things(report.edges_before, 'edge')}"),
        ("store", f"{report.path}: {show_bytes(report.store_bytes)}"),
        ("took", f"{show_seconds(report.seconds)}, peak memory {show_bytes(report.peak_memory_bytes)}"),
    ])  # fmt: skip
