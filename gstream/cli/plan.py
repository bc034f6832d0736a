"""`gstream plan ALGORITHM STORE`: what a run will hold, move and take, before it runs (thesis 3.6, the cost model)."""

from __future__ import annotations

from typing import Any

import typer

from gstream.algorithms.registry import find_algorithm
from gstream.cli.edge_files import is_edge_list
from gstream.cli.quick import leave_out_nothing_for
from gstream.cli.ranks import CHOICES
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
from gstream.options.wording import held_in_words
from gstream.options.written import stripe_folders
from pagestore.errors import UsageError
from pagestore.sizes import show_bytes, show_seconds, show_things


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("plan", cls=RunCommand, short_help="What a run will hold, move and take.")(plan)


def plan(**given: Any) -> None:
    """Show what a run will hold in memory and move, and how long it should take; nothing is run.

    Takes the options of run: change that word of a command line. Files (-o, --trace) are not written. What the extra
    passes for predecessors and --certify move is not planned; a memory cap has to be enough for them, too.

    Without a store, for a graph of --vertices and --edges; --weighted and --undirected say what it is. With --machine,
    for another machine, such as one with GPUs. With --ranks N, for N such machines that share the run on a graph in
    parts, with their cores. A graph in parts is planned for as many ranks.
    """
    leave_out_nothing_for(given["algorithm"])
    given |= {name: whole_number(f"--{name}", given[name]) for name in ("vertices", "edges")}
    # others are of run, which a plan is not about
    ranks = None if given["ranks"] in CHOICES else whole_number("--ranks", given["ranks"])
    algorithm, store, own = given["algorithm"], given["store"], own_options(given)
    parameters = parse_parameters(given["param"] or [])
    is_counted = store is None
    graph = {name: bool(own.pop(name, False)) for name in ("weighted", "undirected")} if is_counted else {}
    if is_counted and not is_program_path(algorithm):
        takes = find_algorithm(algorithm).defaults
        own |= {name: True for name, given_one in graph.items() if given_one and name in takes and name == "weighted"}
    elif not is_counted:
        refuse_counts(given)
        ranks = parts_of(store) if ranks is None else ranks
    check_asked(given, own, parameters)
    program = load_program(algorithm) if is_program_path(algorithm) else None
    options = engine_options(given) | checkpoint_options(given)
    if is_counted or given["machine"] is not None or ranks is not None:
        facts = _elsewhere(given, graph, own, options, program, parameters, ranks)
    else:
        facts = _here(given, own, options, program, parameters)
    facts = {"algorithm": algorithm, "execution": own.get("execution", "sync"), **facts}
    if given["json"]:
        print_json(facts)
    elif ranks is not None:
        from gstream.algorithms.rank_plans import rank_lines

        print_pairs(rank_lines(facts))
    else:
        print_pairs(plan_lines(facts))


plan.counted = True  # type: ignore[attr-defined]
plan = takes_run_options(plan)


def whole_number(flag: str, given: str | None) -> int | None:
    """A count as people write it: 6000000000, or 6e9. Raises UsageError."""
    if given is None:
        return None
    try:
        number = float(given)
        if number == int(number):
            return int(given) if given.isdecimal() else int(number)
    except (ValueError, OverflowError):
        pass
    raise UsageError(f"{flag} {given}: must be a whole number, as 6000000000 or 6e9.")


def refuse_counts(given: dict[str, Any]) -> None:
    """UsageError for counts beside a store, and for an edge list in a store's place."""
    store = given["store"]
    for name in ("vertices", "edges"):
        if given[name] is not None:
            raise UsageError(f"--{name}: {store} says how many there are. Leave it out, or leave {store} out.")
    if is_edge_list(store):
        from gstream.interop.store_cache import store_name

        raise UsageError(
            f"{store}: is an edge list, and its size does not say how many vertices and edges it has. Ask "
            f"gstream convert {store} {store_name(store)} --dry-run, then pass --vertices N --edges N; or convert it, "
            f"and plan {store_name(store)}."
        )


def parts_of(store: str) -> int | None:
    """How many ranks a graph in parts takes, which one process may not run; None: it is no such graph."""
    from pagestore.manifest import is_parts, read_manifest

    return len(read_manifest(store).parts) if is_parts(store) else None


def _here(
    given: dict[str, Any], own: dict[str, Any], options: dict[str, Any], program: Any, parameters: dict[str, Any]
) -> dict[str, Any]:
    """The plan of a store on this machine."""
    from gstream.algorithms.plans import facts_of, facts_of_own
    from gstream.engine.engine import Engine
    from gstream.options.run_options import RunOptions
    from pagestore.parts import open_whole

    store, limit = given["store"], given["max_supersteps"]
    opening = open_whole(store, stripe_folders(given["stripe"]))
    with opening as opened, Engine(opened, RunOptions(**options)) as engine:
        if program is not None:
            found = facts_of_own(program, engine, parameters, limit)
        else:
            found = facts_of(given["algorithm"], engine, own, limit, given["certify"])
    return {"store": str(store), **found}


def _elsewhere(
    given: dict[str, Any], graph: dict[str, bool], own: dict[str, Any], options: dict[str, Any], program: Any,
    parameters: dict[str, Any], ranks: int | None,
) -> dict[str, Any]:  # fmt: skip
    """The plan of a graph that is only counted, or for another machine, or for several."""
    from gstream.algorithms.machine_plans import counted, machine_facts
    from gstream.algorithms.rank_plans import rank_facts
    from gstream.planning.machines import find_machine
    from pagestore.parts import open_whole

    algorithm, name = given["algorithm"], given["machine"]
    if given["store"] is None:
        opening: Any = counted(algorithm, own, given["vertices"], given["edges"], **graph, order=given["order"])
    else:
        opening = open_whole(given["store"], stripe_folders(given["stripe"]))
    if name is None:
        from gstream.planning.this_machine import this_machine

        machine = this_machine()
    else:
        machine = find_machine(name)
    with opening as store:
        if ranks is not None:
            return rank_facts(algorithm, store, machine, own, options, ranks, given["certify"], program, parameters)
        found = machine_facts(algorithm, store, machine, own, options, given["certify"], program, parameters)
        return {"store": str(store.path), **found}


ASYNC = {  # by whether the algorithm has a frontier
    False: "async: sweeps, not supersteps; what follows says of a superstep holds for a sweep over all pages",
    True: "async: a batch in memory is gone over again, so that there are fewer supersteps; each is planned as usual",
}
CASES = {
    1: "everything fits where it is processed",
    2: "attributes fit, pages are streamed",
    3: "neither fits: attributes by chunks, pages streamed for each",
}


def plan_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The plan, for people."""
    lacks = facts.get("lacks")
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
    where = f" of {facts['machine']} ({facts['devices_are']})" if "machine" in facts else ""
    lines = [
        ("run", f"{facts['algorithm']} on {facts['store']}, {show_things(facts['devices'], 'device')}{where}"),
        ("case", f"{facts['case']}: {CASES[facts['case']]}{', in the memory that is lacking' * bool(lacks)}"),
        ("directions", ways),
        ("chunks", f"{facts['chunks']} of attributes"),
        ("pages", f"{', '.join(places)}; batches of {facts['batch_pages']}{streams}"),
    ]
    if facts["execution"] == "async":
        lines.insert(1, ("execution", ASYNC[facts["frontier"]]))
    for name in facts["coded"]:
        stored, whole = show_bytes(facts["stored_bytes"][name]), show_bytes(facts["page_bytes"][name])
        if facts["coded"][name]:
            lines.append(("coded", f"{stored} of {name}-pages cross the link and become {whole}"))
        elif facts["decoded"][name]:
            lines.append(("coded", f"{stored} of {name}-pages become {whole}: the cores decode them as they are read"))
    if facts["devices_spared"]:
        lines.append(("spared", f"{show_things(facts['devices_spared'], 'device')}: together they would take longer"))
    if facts["cores"] or facts["cores_idle"]:
        idle = f"idle: {facts['cores_idle']}"
        lines.append(("cores", "take pages beside the devices, where that is faster" if facts["cores"] else idle))
    lines += [("holds", f"{show_bytes(size)} {held_in_words(name)}") for name, size in held.items() if size]
    if lacks:
        lines.append(("lacks", f"memory: {show_bytes(lacks)} are needed, more than {facts['machine']} has; so no time"))
    else:
        lines += [*_work_lines(facts), *_call_lines(facts)]
    lines += [(f"convert {kind}", f"{_range(seconds)} to a store of about {show_bytes(facts['store_bytes'])}")
              for kind, seconds in facts.get("convert_seconds", {}).items()]  # fmt: skip
    return [*lines, ("by", _rates(facts["constants"], facts["copies"], facts["devices"])), *_source_lines(facts)]


def _call_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """How long the whole call takes, and what that rests on."""
    rests = [("rests on", said) for said in facts["rests_on"]]
    first = facts.get("first_call_seconds")
    start = [] if first is None else [
        ("at first", f"about {show_seconds(first['start'])} more for the first run of a process, and "
                     f"{show_seconds(first['load_kernels'])} to load kernels, longer to compile new ones")
    ]  # fmt: skip
    return [("in all", f"{_range(facts['call_seconds'])}, with the first reading of the pages"), *start, *rests]


def _range(seconds: dict[str, float]) -> str:
    least, usual, most = (show_seconds(seconds[name]) for name in ("least", "usual", "most"))
    return f"about {usual}, {least} to {most}"


def _source_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the figures of a machine come from."""
    return [("of which", f"{name}: {said}") for name, said in facts.get("sources", {}).items()]


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
        as_before = ", by runs here" if what == "learnt" else ""
        steps = show_things(count, "superstep")
        return [("moves", f"{most}{moved} in {steps}{as_before}"), ("takes", f"{most}about {seconds}")]
    less = facts["frontier"] or facts["bytes_moved"] < count * facts["bytes_a_superstep"]
    most = "at most " if less else ""
    example = f"; {moved} for {count} supersteps, if it takes so many" if count != 1 else ", however many there will be"
    first, each = show_seconds(facts["first_seconds"]), show_seconds(facts["seconds_a_superstep"])
    takes = f"about {each} each"
    if count != 1:
        takes = f"about {each} each" if first == each else f"about {first} for the first, {each} for each other"
        takes += f"; {seconds} for {count}"
    return [
        ("moves", f"{most}{show_bytes(facts['bytes_a_superstep'])} a superstep{example}"),
        ("takes", most + takes),
    ]
