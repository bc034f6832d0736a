"""What a call will hold, move and take, before it runs: of an algorithm by its first program (thesis 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from gstream.algorithms.declaration import Algorithm
from gstream.algorithms.execute import session_of
from gstream.algorithms.registry import ALGORITHMS, find_algorithm
from pagestore.errors import CapError, GstreamError, UsageError

if TYPE_CHECKING:
    from gstream.algorithms.support.session import Session
    from gstream.engine.engine import Engine
    from gstream.planning.plan import Plan

EASY = 1.25  # times the memory that a program needs at least, where a machine lacks it: with that alone chunks are tiny
OF_PAGES = "pages (", "work lists"  # what names of their bytes begin with: page_sources.bytes_of_pages
OTHERS = "other arrays of the algorithm"
STAND_IN = 32  # bytes a vertex at most of a program that stands in for page kernels, which a plan does not show
USUAL_STEPS = 20  # an example where nobody knows how many, as of users' programs


def planned_supersteps(
    algorithm: str, own: dict[str, Any], max_supersteps: int | None, program: Any = None
) -> tuple[int | None, str]:
    """(supersteps to plan for, "exact" or "most" if options say how many, "assumed" for an example). None: as many as
    the frontier lasts, or until a tolerance is met (usual_supersteps), or USUAL_STEPS as an example of a program that
    visits all pages each time.

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
    return None, "assumed"


def plan_of_own(program: Any, engine: Engine, parameters: dict[str, str]) -> Plan:
    """What a program of the user's will hold and move, or a record kernel: as a program over the same lists, with the
    kernel's arrays beside it. Raises UsageError for an algorithm, whose sweeps only a run knows."""
    from gstream.language.program import Program  # loads NumPy, which `gstream --help` has no use for

    if isinstance(program, type):
        program = program(**parameters)
    if isinstance(program, Program):
        return _lifted(engine, lambda: engine.plan(program, stay=engine.in_ranks))
    if not hasattr(program, "merges"):
        raise UsageError(
            f"{program.name}: has no plan, as its sweeps depend on what they find. Plan one of its kernels."
        )
    from gstream.algorithms.support.own_runs import stand_in_for
    from gstream.algorithms.support.session import Session

    before = engine.options
    try:
        with Session(engine) as session:
            stand_in = stand_in_for(session, program, parameters)
            return _lifted(engine, lambda: engine.plan(stand_in))
    finally:
        engine.options = before


def plan_of(algorithm: str, engine: Engine, own: dict[str, Any], certify: bool = False) -> Plan:
    """What the first program of `algorithm` will hold and move, beside all else that the call takes; no plan depends on
    the source, so one that is not named is the first vertex. An algorithm of page kernels has a program that stands in
    for them. Raises UsageError, and CapError as the run would."""
    meta = engine.store.meta
    if meta.vertices == 0:
        raise UsageError(f"{engine.store.path}: has no vertices, so there is nothing to plan.")
    found = find_algorithm(algorithm)
    options = found.defaults | own
    if "source" in options and not options["source"]:
        options["source"] = _first_id(engine.store)
    with session_of(found, engine, options, certify) as session:
        program = found.load(found.plan)(session, **options) if found.plan else _stand_in(session, found, options)
        session.foresee(beside=_arrays_of(session) if session.stands_in and session.holds is None else 0)
        planned = _lifted(engine, lambda: _with_all_held(session, program), session.stands_in)
        if session.stands_in and engine.plans_only:  # what the program that stands in would hold is not needed
            need = sum(planned.host_bytes.values())
            session.engine.lacks = need if need > engine.host_memory else 0
        return planned


def _lifted(engine: Engine, make: Callable[[], Plan], any_cap: bool = False) -> Plan:
    """What `make` gives, with memory that a machine lacks, or beyond any cap where its program stands in for others."""
    with engine.caps_kept():
        while True:
            try:
                return make()
            except CapError as error:
                if not (any_cap or engine.lacks_for(error)):
                    raise
                engine.lift_cap(error, 1.0 if any_cap else EASY)


def _with_all_held(session: Session, program: Any) -> Plan:
    """The plan with what the call holds beside its first program, and after it, among the bytes of host memory."""
    engine = session.engine
    planned: Plan = engine.plan(program, stay=session.stays)
    if session.holds is not None and planned.graph.of:  # in place of what the program holds
        from gstream.algorithms.support.part_sweeps import pages_beside  # loads NumPy

        arrays = session.holds(planned.graph)
        planned = replace(planned, host_bytes=arrays | pages_beside(session, planned, sum(arrays.values())))
    elif session.stands_in:  # the same
        session.foresee(beside=0 if session.holds is None else _arrays_of(session))
        of_pages = OF_PAGES if session.sweeps else ()
        if_wanted = {name: session.swept_if for name in planned.host_bytes if name.startswith(of_pages)}
        pages = {f"{name}{when}": planned.host_bytes[name] for name, when in if_wanted.items()}
        planned = replace(planned, host_bytes=pages)
    if engine.options.host_memory is None:  # pages that programs before it read stay
        planned = replace(planned, host_bytes=planned.host_bytes | _pages_of_others(session, planned.host_bytes))
    beside, held = engine.beside_bytes, sum(planned.host_bytes.values())
    after = max(0, engine.later_bytes - beside - held)
    arrays_of = (
        ("values of all ranks" if engine.in_ranks else "arrays of the algorithm") if session.stands_in else OTHERS
    )
    more = {arrays_of: beside, "more after the supersteps": after}
    return replace(planned, host_bytes=planned.host_bytes | {name: size for name, size in more.items() if size})


def _pages_of_others(session: Session, held: dict[str, int]) -> dict[str, int]:
    """Bytes of pages by name, of the program that reads most of them; held: of the planned one."""
    found: dict[str, int] = {}
    for program in session.programs:
        try:
            other: Plan = session.engine.plan(program, stay=session.stays)
        except CapError:  # of a machine that lacks memory: pages come from disk
            continue
        for name, size in other.host_bytes.items():
            if name.startswith(OF_PAGES):
                found[name] = max(size, found.get(name, 0), held.get(name, 0))
    return found


def _first_id(store: Any) -> int | str:
    first = store.user_ids(0, 1)[0]
    return first.as_py() if hasattr(first, "as_py") else int(first)


def _stand_in(session: Session, algorithm: Algorithm, own: dict[str, Any]) -> Any:
    """The program of an algorithm of page kernels that holds most, or one that reads the pages that they do. Raises
    CapError as the run would."""
    from gstream.programs.sssp import SSSP
    from gstream.programs.wcc import WCC, WCC64

    session.stands_in = True
    if algorithm.topology == "out":
        session.engine.way = "push"
    if (program := algorithm.load(algorithm.check)(session, **own)) is not None:
        session.stands_in, session.engine.way = False, ""
        tables = {table.name: table for table in session.engine.graph.tables.values()}.values()
        pages = sum(table.bytes_of(table.pages, session.weighs) for table in tables)
        session.foresee(later=session.most_bytes + pages if session.most_bytes else 0)
        return program
    if session.weighs or algorithm.reads_weights(own):
        return SSSP(source=[own["source"] if own.get("source") else _first_id(session.store)])
    return WCC() if session.meta.id_bytes == 4 else WCC64()


def _arrays_of(session: Session) -> int:
    """Bytes of the arrays of page kernels (Session.check_memory), which take less where memory is short."""
    room = session.engine.host_memory - session.least_pages(session.meta.weighted) - STAND_IN * session.meta.vertices
    return max(session.least_bytes, min(session.most_bytes, room))


def facts_of(
    algorithm: str, engine: Engine, own: dict[str, Any], max_supersteps: int | None = None, certify: bool = False
) -> dict[str, Any]:
    """What `gstream plan` says of an algorithm, as plain values: plan_facts, and the time of the whole call."""
    planned, found = plan_of(algorithm, engine, own, certify), find_algorithm(algorithm)
    from gstream.algorithms.call_times import call_facts, is_taught, usual_supersteps  # NumPy: `--help` needs none

    supersteps, what = planned_supersteps(algorithm, own, max_supersteps)
    if what == "assumed" and "max_iter" in found.defaults:
        supersteps, what = usual_supersteps(found, engine, planned, own)
    facts = plan_facts(planned, supersteps, what) | call_facts(found, engine, planned, own)
    whole = facts["call_seconds"]["usual"]
    if what != "most" and whole < facts["seconds"] and is_taught(found, engine, planned, own):
        share = whole / facts["seconds"]
        facts |= {name: share * facts[name] for name in ("first_seconds", "seconds_a_superstep", "seconds")}
    return facts


def facts_of_own(
    program: Any, engine: Engine, parameters: dict[str, Any], max_supersteps: int | None = None
) -> dict[str, Any]:
    """The same of a program of the user's, a class or an instance, or of a record kernel."""
    planned = plan_of_own(program, engine, parameters)
    facts = plan_facts(planned, *planned_supersteps("", {}, max_supersteps, program))
    from gstream.algorithms.call_times import own_call_facts

    return facts | own_call_facts(engine, planned, facts["supersteps"])


def plan_before(graph: Any, algorithm: Any, own: dict[str, Any]) -> dict[str, Any] | None:
    """What was planned of a run that is to be reported: `Graph.plan` with the options of the run; None without a plan,
    and where the run itself will say why it can't be."""
    try:
        return graph.plan(algorithm.name, **own)
    except GstreamError:
        return None


def plan_facts(planned: Plan, supersteps: int | None, what: str) -> dict[str, Any]:
    """The plan as plain values; bytes and seconds of a full sweep (the first reads pages that others find in memory),
    and of `supersteps` of them. With a frontier, or a cache, a superstep moves as much at most. what: as
    planned_supersteps and usual_supersteps have it."""
    if supersteps is None:
        supersteps = USUAL_STEPS if planned.sweep else 1
    tables = {table.name: table for table in planned.graph.tables.values()}
    sweep_bytes = sum(planned.moved_bytes(table, table.pages) for table in tables.values()) // len(tables)
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
        "decoded": {
            name: tables[name].places is not None and (source.twice or not source.coded)
            for name, source in planned.sources.items()
        },
        "coded": {name: source.coded for name, source in planned.sources.items()},
        "stored_bytes": {name: table.stored_bytes(table.pages, planned.weights) for name, table in tables.items()},
        "page_bytes": {name: table.bytes_of(table.pages, planned.weights) for name, table in tables.items()},
        "device_bytes": planned.device_bytes,
        "host_bytes": planned.host_bytes,
        "cores": planned.cores is not None,
        "cores_idle": planned.idle,
        "supersteps": supersteps,
        "supersteps_are": what,
        "bytes_a_superstep": moved(1),
        "first_seconds": planned.seconds(1),
        "seconds_a_superstep": planned.superstep_seconds() if supersteps > 1 else planned.seconds(1),
        "bytes_moved": moved(supersteps),
        "seconds": planned.seconds(supersteps),
        "constants": asdict(planned.constants),
    }
