"""`gstream plan ALGORITHM STORE`: what a run will hold, move and take, before it runs (thesis 3.6, the cost model)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gstream.cli.run import check_own, chosen, engine_options, parse_parameters
from gstream.cli.sizes import show_bytes, show_seconds
from gstream.cli.terminal import print_json, print_pairs
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from gstream.driver import Engine
    from gstream.plan import Plan
    from gstream.program import Program


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("plan", short_help="What a run will hold, move and take.")(plan)


def plan(
    algorithm: str = typer.Argument(..., metavar="ALGORITHM", help="bfs, pagerank, sssp, wcc or my.py:MyProgram."),
    store: Path = typer.Argument(..., metavar="STORE"),
    iterations: int = typer.Option(None, metavar="N", help="Supersteps to plan for. Default: 20 of pagerank, else 1."),
    float64: bool = typer.Option(None, "--float64", help="pagerank, sssp: values in double precision."),
    param: list[str] = typer.Option(None, metavar="NAME=VALUE", help="Parameter of a program of your own."),
    devices: list[str] = typer.Option(
        None, metavar="NAME", help="host[:N], cuda[:N,M...], fake:SEED[:N]. Default: host."
    ),
    gpus: int = typer.Option(None, metavar="N", help="Run on the first N GPUs: --devices cuda:0,1,... in short."),
    device_memory: str = typer.Option(None, metavar="SIZE", help="Memory of a device that the run may use."),
    host_memory: str = typer.Option(None, metavar="SIZE", help="Memory that the run may use; pages come from disk."),
    batch: str = typer.Option(None, metavar="SIZE", help="Pages moved and processed together. Default: 16MiB."),
    streams: int = typer.Option(None, metavar="N", help="Streams of a device that copies. Default: up to 32."),
    cache: str = typer.Option("auto", metavar="auto|lru|pinned|0", help="Policy of the page caches."),
    direction: str = typer.Option("auto", metavar="auto|push|pull", help="Fixed direction of all supersteps."),
    micro: str = typer.Option("hybrid", metavar="vertex|edge|hybrid|1..32", help="Lanes of a GPU that share a list."),
    no_heads: bool = typer.Option(False, "--no-heads", help="Do without the first neighbours of each vertex."),
    threads: int = typer.Option(None, metavar="N", help="Threads of the host. Default: all cores."),
    json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """Show what a run will hold in memory and move, and how long it should take; nothing is run."""
    from gstream.driver import Engine
    from gstream.options import RunOptions
    from pagestore.store import open_store

    options = engine_options(
        devices=devices,
        gpus=gpus,
        device_memory=device_memory,
        host_memory=host_memory,
        batch=batch,
        streams=streams,
        cache=cache,
        direction=direction,
        micro=micro,
        no_heads=no_heads,
        threads=threads,
    )
    with open_store(store) as opened, Engine(opened, RunOptions(**options)) as engine:
        program = program_of(algorithm, engine, chosen({"float64": float64 or None}), parse_parameters(param or []))
        facts = plan_facts(engine.plan(program), iterations or (20 if algorithm == "pagerank" else 1))
    facts = {"algorithm": algorithm, "store": str(store), **facts}
    if json:
        print_json(facts)
    else:
        print_pairs(plan_lines(facts))


def program_of(algorithm: str, engine: Engine, own: dict[str, Any], parameters: dict[str, str]) -> Program:
    """The program that `algorithm` runs; a source, which no plan depends on, is the store's first vertex."""
    from gstream.loading import is_program_path, load_program

    if is_program_path(algorithm):
        return load_program(algorithm)(**parameters)
    if parameters:
        raise UsageError(f"--param: is for programs of your own; {algorithm} has options. See gstream run --help.")
    check_own(algorithm, own)
    meta = engine.store.meta
    if meta.vertices == 0:
        raise UsageError(f"{engine.store.path}: has no vertices, so there is nothing to plan.")
    wide = bool(own.get("float64"))
    first = engine.store.user_ids(0, 1)[0]
    source = (first.as_py() if hasattr(first, "as_py") else int(first),)
    if algorithm == "bfs":
        from gstream.programs.bfs import BFS

        return BFS(source=source)
    if algorithm == "pagerank":
        from gstream.programs.pagerank import PageRank, PageRank64

        return (PageRank64 if wide else PageRank)()
    if algorithm == "sssp":
        from gstream.algorithms.session import Session
        from gstream.algorithms.sssp import check_weights, program_for

        with Session(engine) as session:
            check_weights(session)
        return program_for(meta, wide)(source=source)
    from gstream.programs.wcc import WCC, WCC64

    # Union-find visits each edge at most once: one sweep of label propagation is its upper bound.
    return WCC() if meta.id_bytes == 4 else WCC64()


def plan_facts(planned: Plan, supersteps: int) -> dict[str, Any]:
    """The plan as plain values; bytes and seconds of `supersteps` full sweeps (an upper bound with a frontier)."""
    tables = {table.name: table for table in planned.graph.tables.values()}
    sweep_bytes = sum(table.bytes_of(table.pages, planned.weights) for table in tables.values()) // len(tables)
    exact = planned.sweep_bytes(supersteps)
    return {
        "case": planned.case,
        "devices": planned.devices,
        "directions": planned.directions,
        "chunks": len(planned.chunks),
        "frontier": not planned.sweep,
        "copies": planned.copies,
        "heads": planned.heads,
        "batch_pages": planned.device.batch_pages,
        "streams": planned.device.streams if planned.copies else 0,
        "pages": {name: table.pages for name, table in tables.items()},
        "in_host_memory": {name: source.resident for name, source in planned.sources.items()},
        "device_bytes": planned.device_bytes,
        "host_bytes": planned.host_bytes,
        "supersteps": supersteps,
        "bytes_moved": exact if planned.sweep else supersteps * sweep_bytes * len(planned.chunks),
        "seconds": planned.seconds(supersteps),
    }


CASES = {
    1: "everything fits where it is processed",
    2: "attributes fit, pages are streamed",
    3: "neither fits: attributes by chunks, pages streamed for each",
}


def plan_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The plan, for people."""
    held = {**(facts["device_bytes"] if facts["copies"] else {}), **facts["host_bytes"]}
    most = "at most " if facts["frontier"] else ""
    resident = [name for name, whole in facts["in_host_memory"].items() if whole]
    read = [name for name, whole in facts["in_host_memory"].items() if not whole]
    places = [f"{', '.join(resident)}-pages in memory"] if resident else []
    places += [f"{', '.join(read)}-pages read from disk ahead of use"] if read else []
    streams = f" through {facts['streams']} streams" if facts["streams"] else ""
    lines = [
        ("run", f"{facts['algorithm']} on {facts['store']}, {facts['devices']} device(s)"),
        ("case", f"{facts['case']}: {CASES[facts['case']]}"),
        ("directions", " or ".join(facts["directions"]) + (", heads first" if facts["heads"] else "")),
        ("chunks", f"{facts['chunks']} of attributes"),
        ("pages", f"{', '.join(places)}; batches of {facts['batch_pages']}{streams}"),
    ]
    lines += [("holds", f"{show_bytes(size)} {name}") for name, size in held.items() if size]
    each = facts["frontier"] and facts["supersteps"] == 1
    steps = "a superstep, however many there will be" if each else f"in {facts['supersteps']} superstep(s)"
    lines += [
        ("moves", f"{most}{show_bytes(facts['bytes_moved'])} {steps}"),
        ("takes", f"{most}about {show_seconds(facts['seconds'])}{' each' if each else ''}"),
    ]
    return lines
