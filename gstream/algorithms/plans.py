"""What a call will hold, move and take, before it runs: of an algorithm by its first program (thesis 3.6)."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from gstream.algorithms.execute import check_ends, session_of
from gstream.algorithms.registry import ALGORITHMS, find_algorithm
from pagestore.errors import CapError, GstreamError, UsageError

if TYPE_CHECKING:
    from gstream.engine.engine import Engine
    from gstream.planning.plan import Plan

USUAL_STEPS = 20  # an example where nobody knows how many: PageRank takes about so many until the default --tol


def planned_supersteps(
    algorithm: str, own: dict[str, Any], max_supersteps: int | None, program: Any = None
) -> tuple[int | None, str]:
    """(supersteps to plan for, "exact" or "most" if options say how many, "assumed" for an example). None: as many as
    the frontier lasts, or USUAL_STEPS as an example of a program that visits all pages each time.

    program: of the user's own, or None.
    """
    if hasattr(program, "merges") and "frontier" not in program.parameters:
        return 1, "exact"  # a record kernel that sweeps once
    known = ALGORITHMS[algorithm].defaults | own if algorithm in ALGORITHMS else {}
    if known.get("iterations") is not None:
        return known["iterations"], "exact"
    bounds = [known.get("depth_limit"), known.get("radius"), max_supersteps]
    bound = next((number for number in bounds if number is not None), None)
    if bound is not None:
        return bound, "most"
    if "max_iter" in known:
        return ALGORITHMS[algorithm].sweeps * min(USUAL_STEPS, known["max_iter"]), "assumed"
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

    before = engine.options
    try:
        with Session(engine) as session:
            return engine.plan(stand_in_for(session, program, parameters))
    finally:
        engine.options = before


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
        options_before = engine.options
        try:
            while True:
                try:
                    return engine.plan(program)
                except CapError as error:
                    if not session.stands_in:
                        raise
                    given: Any = {error.option.removeprefix("--").replace("-", "_"): error.need}
                    engine.options = replace(engine.options, **given)
        finally:
            engine.options = options_before  # a run that follows goes by the caps that were given


def plan_before(graph: Any, algorithm: Any, own: dict[str, Any]) -> dict[str, Any] | None:
    """What was planned of a run that is to be reported: `Graph.plan` with the options of the run; None without a plan,
    and where the run itself will say why it can't be."""
    try:
        return graph.plan(algorithm.name, **own) if algorithm.plan else None
    except GstreamError:
        return None


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
        "devices_spared": planned.spared,
        "directions": planned.directions,
        "chunks": len(planned.chunks),
        "frontier": frontier,
        "copies": planned.copies,
        "heads": planned.heads,
        "notifies": planned.notifies,
        "batch_pages": planned.device.batch_pages,
        "streams": planned.device.streams if planned.copies else 0,
        "fewer_streams": planned.device.fewer,
        "pages": {name: table.pages for name, table in tables.items()},
        "read_threads": planned.read_threads,
        "disks": planned.disks,
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
