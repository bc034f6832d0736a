"""`gstream plan ALGORITHM STORE`: what a run will hold, move and take, before it runs (thesis 3.6, the cost model)."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import typer

from gstream.algorithms.execute import check_ends, session_of
from gstream.algorithms.registry import ALGORITHMS, find_algorithm
from gstream.cli.quick import skip_blas_for
from gstream.cli.run_arguments import check_asked, engine_options, own_options, parse_parameters, takes_run_options
from gstream.cli.run_help import RunCommand
from gstream.cli.terminal import print_json, print_pairs
from gstream.language.loading import is_program_path, load_program
from pagestore.errors import CapError, UsageError
from pagestore.sizes import show_bytes, show_seconds

if TYPE_CHECKING:
    from gstream.engine.engine import Engine
    from gstream.planning.plan import Plan

USUAL_STEPS = 20  # an example where nobody knows how many: PageRank takes about so many until the default --tol


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("plan", cls=RunCommand, short_help="What a run will hold, move and take.")(plan)


@takes_run_options
def plan(**given: Any) -> None:
    """Show what a run will hold in memory and move, and how long it should take; nothing is run.

    Takes the options of run: change that word of a command line. Files (-o, --trace) are not written. What the extra
    passes for predecessors and --certify move is not planned; a memory cap has to be enough for them, too.
    """
    skip_blas_for(given["algorithm"])
    from gstream.engine.engine import Engine
    from gstream.options.run_options import RunOptions
    from pagestore.store import open_store

    algorithm, store, own = given["algorithm"], given["store"], own_options(given)
    parameters = parse_parameters(given["param"] or [])
    check_asked(given, own, parameters)
    supersteps, what = planned_supersteps(algorithm, own, given["max_supersteps"])
    with open_store(store) as opened, Engine(opened, RunOptions(**engine_options(given))) as engine:
        if is_program_path(algorithm):
            planned = plan_of_own(load_program(algorithm), engine, parameters)
        else:
            planned = plan_of(algorithm, engine, own, given["certify"])
        facts = plan_facts(planned, supersteps, what)
    facts = {"algorithm": algorithm, "store": str(store), **facts}
    if given["json"]:
        print_json(facts)
    else:
        print_pairs(plan_lines(facts))


def planned_supersteps(algorithm: str, own: dict[str, Any], max_supersteps: int | None) -> tuple[int | None, str]:
    """(supersteps to plan for, "exact" or "most" if options say how many, "assumed" for an example). None: as many as
    the frontier lasts, or USUAL_STEPS as an example of a program that visits all pages each time."""
    known = ALGORITHMS[algorithm].defaults | own if algorithm in ALGORITHMS else {}
    if known.get("iterations") is not None:
        return known["iterations"], "exact"
    bounds = [known.get("depth_limit"), known.get("radius"), max_supersteps]
    bound = next((number for number in bounds if number is not None), None)
    if bound is not None:
        return bound, "most"
    if "max_iter" in known:
        return min(USUAL_STEPS, known["max_iter"]), "assumed"
    return None, "assumed"


def plan_of_own(program: Any, engine: Engine, parameters: dict[str, str]) -> Plan:
    """What a program of the user's will hold and move, or a record kernel: as a program over the same lists, with the
    kernel's arrays beside it. Raises UsageError for an algorithm, whose sweeps only a run knows."""
    if isinstance(program, type):
        return engine.plan(program(**parameters))
    if not hasattr(program, "merges"):
        raise UsageError(
            f"{program.name}: has no plan, as its sweeps depend on what they find. Plan one of its kernels."
        )
    from gstream.algorithms.support.own_runs import stand_in_for
    from gstream.algorithms.support.session import Session

    with Session(engine) as session:
        return engine.plan(stand_in_for(session, program, parameters))


def plan_of(algorithm: str, engine: Engine, own: dict[str, Any], certify: bool = False) -> Plan:
    """What the first program of `algorithm` will hold and move, beside all else that the call takes; no plan depends on
    the source, so one that is not named is the first vertex. Raises UsageError, and CapError as the run would."""
    meta = engine.store.meta
    if meta.vertices == 0:
        raise UsageError(f"{engine.store.path}: has no vertices, so there is nothing to plan.")
    found = find_algorithm(algorithm)
    if not found.plan:
        check_ends(found, engine.options)
        names = ", ".join(one.name for one in ALGORITHMS.values() if one.plan)
        raise UsageError(f"{algorithm}: has no plan; {names} and programs of your own have one. Run it.")
    options = found.defaults | own
    if "source" in options and not options["source"]:
        first = engine.store.user_ids(0, 1)[0]
        options["source"] = first.as_py() if hasattr(first, "as_py") else int(first)
    with session_of(found, engine, options, certify) as session:
        program = found.load(found.plan)(session, **options)
        session.foresee()
        while True:
            try:
                return engine.plan(program)
            except CapError as error:
                if not session.stands_in:
                    raise
                given: Any = {error.option.removeprefix("--").replace("-", "_"): error.need}
                engine.options = replace(engine.options, **given)


def plan_facts(planned: Plan, supersteps: int | None, what: str) -> dict[str, Any]:
    """The plan as plain values; bytes and seconds of a full sweep, and of `supersteps` of them. With a frontier, or a
    cache, a superstep moves as much at most. what: as planned_supersteps has it."""
    if supersteps is None:
        supersteps = USUAL_STEPS if planned.sweep else 1
    tables = {table.name: table for table in planned.graph.tables.values()}
    sweep_bytes = sum(table.stored_bytes(table.pages, planned.weights) for table in tables.values()) // len(tables)
    frontier = not planned.sweep

    def moved(steps: int) -> int:
        return steps * sweep_bytes * len(planned.chunks) if frontier else planned.sweep_bytes(steps)

    return {
        "case": planned.case,
        "devices": planned.devices,
        "directions": planned.directions,
        "chunks": len(planned.chunks),
        "frontier": frontier,
        "copies": planned.copies,
        "heads": planned.heads,
        "batch_pages": planned.device.batch_pages,
        "streams": planned.device.streams if planned.copies else 0,
        "pages": {name: table.pages for name, table in tables.items()},
        "in_host_memory": {name: source.resident for name, source in planned.sources.items()},
        "device_bytes": planned.device_bytes,
        "host_bytes": planned.host_bytes,
        "cores": planned.cores is not None,
        "cores_idle": planned.idle,
        "supersteps": supersteps,
        "supersteps_are": what,
        "bytes_a_superstep": moved(1),
        "seconds_a_superstep": planned.seconds(1),
        "bytes_moved": moved(supersteps),
        "seconds": planned.seconds(supersteps),
        "constants": asdict(planned.constants),
    }


CASES = {
    1: "everything fits where it is processed",
    2: "attributes fit, pages are streamed",
    3: "neither fits: attributes by chunks, pages streamed for each",
}


def plan_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The plan, for people."""
    held = {**(facts["device_bytes"] if facts["copies"] else {}), **facts["host_bytes"]}
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
    if facts["cores"] or facts["cores_idle"]:
        idle = f"idle: {facts['cores_idle']}"
        lines.append(("cores", "take pages beside the devices, where that is faster" if facts["cores"] else idle))
    lines += [("holds", f"{show_bytes(size)} {name}") for name, size in held.items() if size]
    return [*lines, *_work_lines(facts), ("by", _rates(facts["constants"], facts["copies"], facts["devices"]))]


def _rates(constants: dict[str, float], copies: bool, devices: int) -> str:
    """What the cost model reckons with."""
    link = f"a link of {constants['c2'] / 1e9:.3g} GB/s, " if copies else ""
    lists = f"{1e9 * constants['list_s']:.3g} ns a list read in place, " if copies else ""
    merges = f", merges of {constants['merge'] / 1e9:.3g} GB/s" if devices > 1 else ""
    return (
        f"{link}a disk of {constants['disk'] / 1e9:.3g} GB/s, {lists}{1e6 * constants['call_s']:.3g} us a batch, "
        f"{constants['pull_edges'] / 1e9:.3g} G edges/s pulled, {constants['push_edges'] / 1e9:.3g} pushed{merges}"
    )


def _work_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What moves and how long that takes: in all where options say how many supersteps there are, else in each."""
    count, what = facts["supersteps"], facts["supersteps_are"]
    moved, seconds = show_bytes(facts["bytes_moved"]), show_seconds(facts["seconds"])
    if what != "assumed":
        most = "at most " if facts["frontier"] or what == "most" else ""
        return [("moves", f"{most}{moved} in {count} superstep(s)"), ("takes", f"{most}about {seconds}")]
    less = facts["frontier"] or facts["bytes_moved"] < count * facts["bytes_a_superstep"]
    most = "at most " if less else ""
    example = f"; {moved} for {count} supersteps, if it takes so many" if count != 1 else ", however many there will be"
    longer = f"; {seconds} for {count}" if count != 1 else ""
    return [
        ("moves", f"{most}{show_bytes(facts['bytes_a_superstep'])} a superstep{example}"),
        ("takes", f"{most}about {show_seconds(facts['seconds_a_superstep'])} each{longer}"),
    ]
