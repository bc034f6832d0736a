"""`gstream generate rmat|uniform|grid OUT`: graphs from a seed, as a store or an edge list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gstream.cli import logs, surroundings
from gstream.cli.convert import COMPRESS_HELP, DEVICES_HELP, STRIPE_HELP, build
from gstream.cli.progress import ProgressBar
from gstream.cli.terminal import print_json
from gstream.interop.doors import generated_source
from gstream.interop.options import DEFAULT_ORDER, split_options
from gstream.options.written import (
    check_stripes,
    check_workdir,
    refuse_existing,
    refuse_existing_store,
    stripe_folders,
)
from gstream.telemetry.compiling import compile_time
from pagestore.errors import UsageError
from pagestore.sizes import show_bytes, show_things

if TYPE_CHECKING:
    from pagestore.generate import GeneratedSource

STORE_SUFFIX = ".gs"
LIST_OPTIONS = (
    "kind", "out", "scale", "edge_factor", "seed", "scramble", "weights", "threads", "force", "json",
    "progress", "log_file",
)  # fmt: skip


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("generate", short_help="Generate a graph from a seed.")(generate)


def generate(
    context: typer.Context,
    kind: str = typer.Argument(
        ..., metavar="rmat|uniform|grid", help="rmat: Graph500's; uniform: random; grid: a mesh."
    ),
    out: Path = typer.Argument(..., metavar="OUT", help="A store (.gs) or an edge list (.txt, .csv, .npy, .parquet)."),
    scale: int = typer.Option(20, metavar="N", help="2^N vertices."),
    edge_factor: int = typer.Option(16, metavar="N", help="Edges a vertex; a grid has its own."),
    seed: int = typer.Option(1, metavar="N", help="The same seed gives the same edges on any machine."),
    scramble: bool = typer.Option(False, "--scramble", help="Number the vertices at random."),
    weights: bool = typer.Option(False, "--weights", help="Integer weights from 1 to 255."),
    undirected: bool = typer.Option(False, "--undirected", help="Store every edge in both directions."),
    dedupe: bool = typer.Option(False, "--dedupe", help="Keep one of equal edges."),
    drop_self_loops: bool = typer.Option(False, "--drop-self-loops", help="Drop edges from a vertex to itself."),
    topology: str = typer.Option("both", metavar="both|out|in", help="Page sets of a directed graph."),
    order: str = typer.Option(DEFAULT_ORDER, metavar="auto|natural|degree|in|out|llp", help="Numbering in the store."),
    columns: int = typer.Option(1, metavar="N", help="Lists of a column page's group, 8 to 128: try 32; 1: rows only."),
    compress: str = typer.Option("off", metavar="auto|on|off", help=COMPRESS_HELP),
    page_size: str = typer.Option("1MiB", metavar="SIZE", help="Bytes of a page: a power of two from 4KiB."),
    id_bytes: int = typer.Option(None, metavar="4|8", help="Bytes of an ID in pages. Default: the fewest that do."),
    memory: str | None = typer.Option(None, metavar="SIZE", help="Memory to take at most; default: what is free."),
    threads: int = typer.Option(None, metavar="N", help="Threads. Default: all cores."),
    devices: str = typer.Option("auto", metavar="auto|host|cuda:N", help=DEVICES_HELP),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show sizes, free space and time; write nothing."),
    stripe: list[str] = typer.Option(None, metavar="A,B,...", help=STRIPE_HELP),
    resume: bool = typer.Option(False, "--resume", help="Go on from the finished parts of a killed run."),
    force: bool = typer.Option(False, "--force", help="Replace OUT if it exists."),
    workdir: Path = typer.Option(None, metavar="FOLDER", help="For temporary files. Default: beside OUT."),
    verify: bool = typer.Option(False, "--verify", help="Read the store back and check it, as gstream verify does."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
    progress: str = typer.Option("auto", metavar="auto|plain|json|off", help=logs.HELP),
    log_file: Path = typer.Option(None, metavar="FILE", help=logs.LOG_HELP),
) -> None:
    """Generate a graph: Graph500's RMAT, uniformly random edges, or a grid."""
    logs.begin(progress, log_file, surroundings.typed, [out])
    check_workdir(workdir)
    check_stripes(stripe)
    as_list = out.suffix.lower() != STORE_SUFFIX
    (refuse_existing if as_list else refuse_existing_store)(out, force)
    refuse_unused(context, kind, out if as_list else None)
    source = generated_source(kind, scale, edge_factor, seed, scramble, weights)
    if as_list:
        write_list(source, out, threads, json)
        return
    given: dict[str, Any] = {
        "memory": memory, "threads": threads, "devices": devices, "directed": False if undirected else None,
        "dedupe": dedupe, "drop_self_loops": drop_self_loops, "topology": topology, "order": order, "columns": columns,
        "compress": compress,
        "page_size": page_size, "id_bytes": id_bytes, "workdir": workdir, "resume": resume, "force": force,
        "stripe": stripe_folders(stripe),
    }  # fmt: skip
    options, _ = split_options(given)
    with compile_time() as compiled:
        build(source, out, options, dry_run, verify, json, compiled)


def refuse_unused(context: typer.Context, kind: str, edge_list: Path | None) -> None:
    """UsageError for an option that was given and would do nothing: for this kind of graph, or for an edge list."""
    origins = {name: getattr(context.get_parameter_source(name), "name", "") for name in context.params}
    given = [name for name, origin in origins.items() if origin == "COMMANDLINE"]
    if kind == "grid" and "edge_factor" in given:
        raise UsageError("--edge-factor: a grid has its own edges, one to the right and one down. Leave it out.")
    for name in given:
        if edge_list is not None and name not in LIST_OPTIONS:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{flag}: {edge_list} is an edge list, which holds the edges as they come; the option is for stores "
                f"(.gs). Leave it out, or make a store and export it: gstream export NAME.gs {edge_list}."
            )


def write_list(source: GeneratedSource, out: Path, threads: int | None, json: bool) -> None:
    """Write the edges as a file."""
    from pagestore.edgelist import write_edge_list

    with ProgressBar() as bar:
        size = write_edge_list(source, out, threads, bar)
    if json:
        print_json({"path": out, "edges": source.edge_count, "bytes": size})
    else:
        print(f"{out}: {show_things(source.edge_count, 'edge')}, {show_bytes(size)}")
