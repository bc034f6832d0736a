"""`gstream plan ALGORITHM STORE`: what a run will hold, move and take, before it runs (thesis 3.6, the cost model)."""

from __future__ import annotations

from typing import Any

import typer

from gstream.cli.quick import skip_blas_for
from gstream.cli.run_arguments import (
    check_asked,
    checkpoint_options,
    engine_options,
    own_options,
    parse_parameters,
    takes_run_options,
)
from gstream.cli.run_help import RunCommand
from gstream.cli.terminal import print_json, print_pairs
from gstream.language.loading import is_program_path, load_program
from gstream.options.written import stripe_folders
from pagestore.sizes import show_bytes, show_seconds, show_things


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
    from gstream.algorithms.plans import plan_facts, plan_of, plan_of_own, planned_supersteps
    from gstream.engine.engine import Engine
    from gstream.options.run_options import RunOptions
    from pagestore.store import open_store

    algorithm, store, own = given["algorithm"], given["store"], own_options(given)
    parameters = parse_parameters(given["param"] or [])
    check_asked(given, own, parameters)
    program = load_program(algorithm) if is_program_path(algorithm) else None
    supersteps, what = planned_supersteps(algorithm, own, given["max_supersteps"], program)
    opening, options = open_store(store, stripe_folders(given["stripe"])), engine_options(given)
    options |= checkpoint_options(given)
    with opening as opened, Engine(opened, RunOptions(**options)) as engine:
        if program is not None:
            planned = plan_of_own(program, engine, parameters)
        else:
            planned = plan_of(algorithm, engine, own, given["certify"])
        facts = plan_facts(planned, supersteps, what)
    facts = {"algorithm": algorithm, "store": str(store), **facts}
    if given["json"]:
        print_json(facts)
    else:
        print_pairs(plan_lines(facts))


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
    disks = f"{facts['disks']} disks" if facts["disks"] > 1 else "disk"
    threads = show_things(facts["read_threads"], "thread") + (" each" if facts["disks"] > 1 else "")
    places += [f"{', '.join(read)}-pages read from {disks} ahead of use, by {threads}"] if read else []
    fewer = f" ({facts['fewer_streams']})" if facts["fewer_streams"] else ""
    streams = f" through {show_things(facts['streams'], 'stream')}{fewer}" if facts["streams"] else ""
    ways = " or ".join(facts["directions"]) + (", heads first" if facts["heads"] else "")
    ways += ", at notified vertices alone where few are active" if facts["notifies"] else ""
    lines = [
        ("run", f"{facts['algorithm']} on {facts['store']}, {facts['devices']} device(s)"),
        ("case", f"{facts['case']}: {CASES[facts['case']]}"),
        ("directions", ways),
        ("chunks", f"{facts['chunks']} of attributes"),
        ("pages", f"{', '.join(places)}; batches of {facts['batch_pages']}{streams}"),
    ]
    if facts["devices_spared"]:
        lines.append(("spared", f"{facts['devices_spared']} device(s): together they would take longer"))
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
