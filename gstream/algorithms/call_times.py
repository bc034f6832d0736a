"""How long a call of an algorithm should take, as a range with what it rests on; and what calls teach about that."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gstream.algorithms.declaration import Algorithm, flag
from gstream.planning.estimates import MEASURED, SHEET, estimate
from gstream.planning.lessons import Lesson, lesson_name, lesson_of
from gstream.planning.work import Three, Work
from pagestore.errors import GstreamError
from pagestore.sizes import show_things

if TYPE_CHECKING:
    from gstream.engine.engine import Engine
    from gstream.planning.plan import Plan

USUAL_TOL = {"hits": 1e-8}  # the default that Work.times are of; of others 1e-6
LEAST_EDGES, LEAST_S = 1 << 18, 1e-3  # of calls that teach: planning them again costs some ms
TAUGHT_BY = 3  # calls of an algorithm on an open graph
MOSTLY = 4  # a call that compiled or read pages teaches where it took so many times as long in all,
FIRST_S = 0.5  # and this long beside: memory is taken, too, and modules are imported
WRONG = 30.0  # a factor beyond it is of a graph that this work does not describe, such as one without a giant component
PREDECESSOR_BYTES = 4  # a vertex
# Of a process's first call on cores, beside its work (RMAT 14, two cores of an EPYC; 25 to 60 ms, and 35 to 140 ms):
# modules are imported, threads start, memory is fresh; and kernels that were compiled before are loaded.
FIRST_CALL_S, LOAD_S = 0.04, 0.1
NOTHING = 0, 0, 0  # is read for the first time
STEPS = " supersteps"  # follows a call's name where it is about their number


def key_of(algorithm: Algorithm, own: dict[str, Any]) -> str:
    """The name under which a machine keeps a call's factor: the algorithm, and the switches that change its work."""
    switches = (f"{name}={own[name]}" for name, default in algorithm.defaults.items()
                if isinstance(default, bool | str) and own.get(name, default) != default)  # fmt: skip
    return " ".join(("takes", algorithm.name, *switches))


def work_of(algorithm: Algorithm, own: dict[str, Any]) -> Work:
    """The work of a call with these options, all of them."""
    work = algorithm.work
    for name, times in work.switched:
        if own.get(name) != algorithm.defaults[name]:
            work = work.scaled(times)
    if (
        algorithm.program
    ):  # its values stay on a GPU; predecessors are found by page kernels, whose arrays are the host's
        work = work._replace(brought=PREDECESSOR_BYTES if own.get("predecessors") else 0)
    return work


def times_of(
    algorithm: Algorithm, own: dict[str, Any], vertices: int, counted: int | None = None, lesson: Lesson | None = None
) -> tuple[Three, str]:
    """(how often the work is done, what says so). own: all options. counted: supersteps of a call that was made.
    lesson: what calls taught of their number where a tolerance ends them."""
    work, name = algorithm.work, algorithm.name
    if work.per == "k":
        drawn = own.get("k") or (_count(own["source"]) if own.get("source") is not None else vertices)
        searches = math.ceil(min(drawn, vertices) / work.sources)
        fewer = "; --k takes fewer" if "k" in own and own["k"] is None and drawn == vertices else ""
        return (searches,) * 3, f"{drawn} sources{fewer}"
    known = own.get("iterations")
    if counted is not None and _counts_steps(algorithm, own):
        return (counted,) * 3, ""
    if known is not None:
        return (known,) * 3, f"{known} iterations"
    bound = own.get("depth_limit", own.get("radius"))
    if _counts_steps(algorithm, own):
        longer = max(0.1, _digits(own.get("tol")) / _digits(USUAL_TOL.get(name, 1e-6)))
        most, times = own["max_iter"] * algorithm.sweeps, work.times
        if lesson is not None:
            usual = times[1] * lesson.factor
            times = usual / lesson.off, usual, usual * lesson.off
        least, usual, many = (max(1, min(most, count * longer)) if most else 0 for count in times)
        said = f"{usual:.0f} supersteps until --tol, {least:.0f} to {many:.0f}"
        return (least, usual, many), f"{said}{', as of runs here' * (lesson is not None)}"
    if bound is not None and work.times != (1, 1, 1):
        least, usual, many = (min(float(bound), times) for times in work.times)
        return (least, usual, many), f"{flag('depth_limit')} {bound}"
    least, usual, many = work.times
    return work.times, f"{usual:g} passes, {least:g} to {many:g}" if many != least else ""


def _counts_steps(algorithm: Algorithm, own: dict[str, Any]) -> bool:
    """Whether the work is done once a superstep, of which a tolerance or an option says the number."""
    return algorithm.work.per == "iterations" or "max_iter" in own and "tol" in own


def _digits(tol: float | None) -> float:
    return -math.log(min(0.5, max(tol or 1e-16, 1e-16)))


def _count(source: Any) -> int:
    return 1 if isinstance(source, str) or not hasattr(source, "__len__") else max(1, len(source))


def usual_supersteps(algorithm: Algorithm, engine: Engine, planned: Plan, own: dict[str, Any]) -> tuple[int, str]:
    """(how many supersteps a call makes until its tolerance ends it, as `call_facts` reckons; "learnt" from runs here,
    or "assumed" by the declaration)."""
    own = algorithm.defaults | own
    lesson = lesson_of(engine.costs.lessons(), f"{key_of(algorithm, own)}{STEPS}", planned.graph)
    usual = times_of(algorithm, own, planned.graph.vertices, lesson=lesson)[0][1]
    return max(1, min(round(usual), own["max_iter"] * algorithm.sweeps)), "learnt" if lesson else "assumed"


def is_taught(algorithm: Algorithm, engine: Engine, planned: Plan, own: dict[str, Any]) -> bool:
    """Whether runs here say how long a call takes, rather than rates."""
    key = key_of(algorithm, algorithm.defaults | own)
    return lesson_of(engine.costs.lessons(), key, planned.graph) is not None


def call_facts(algorithm: Algorithm, engine: Engine, planned: Plan, own: dict[str, Any]) -> dict[str, Any]:
    """{"call_seconds": {"least", "usual", "most"}, "rests_on": [...]} of a call on an open graph."""
    own = algorithm.defaults | own
    gpus, sheet, key = engine.on_gpus, engine.sheet, key_of(algorithm, own)
    known, graph = engine.costs.lessons(), planned.graph
    work = work_of(algorithm, own)
    if key in engine.costs.calls:  # its pages are where they are wanted
        work = work._replace(read=NOTHING)
    lesson = lesson_of(known, key, graph)
    times, said = times_of(algorithm, own, graph.vertices, lesson=lesson_of(known, f"{key}{STEPS}", graph))
    if lesson is not None:
        planned = at_usual_rates(engine, planned)
        if algorithm.work.per != "k" and not _counts_steps(algorithm, own):  # passes of a search are in the factor
            times, said = (times[1],) * 3, ""
    found = estimate(work, times, planned, gpus, lesson, SHEET if sheet else MEASURED)
    where = f"{'a GPU' if gpus else 'the cores'}"
    if lesson is not None:
        rests = f"runs of {algorithm.name} here, within {lesson.off:.2g} times"
    elif sheet:
        rests = f"figures of {where} from data sheets, within {SHEET:g} times"
    else:
        rests = f"rates of {where} as measured, within {MEASURED:g} times"
    if lesson is None:
        rests += f", and {algorithm.name} on RMAT graphs, from which others differ by {algorithm.work.spread:g} times"
    return {
        "call_seconds": {"least": found.least, "usual": found.usual, "most": found.most},
        "rests_on": [rests, *filter(None, [said])],
        **first_call(engine),
    }


def first_call(engine: Engine) -> dict[str, dict[str, float]]:
    """{"first_call_seconds": ...}: what the first call of a process takes beside its work; of GPUs nobody knows."""
    if engine.on_gpus:
        return {}
    return {"first_call_seconds": {"start": FIRST_CALL_S, "load_kernels": LOAD_S}}


def own_call_facts(engine: Engine, planned: Plan, supersteps: int) -> dict[str, Any]:
    """The same of a program of the user's, which is taken to cost what PageRank costs."""
    sheet = engine.sheet
    found = estimate(Work(spread=2.0), (supersteps,) * 3, planned, engine.on_gpus, None, SHEET if sheet else MEASURED)
    return {
        "call_seconds": {"least": found.least, "usual": found.usual, "most": found.most},
        "rests_on": [
            f"{show_things(supersteps, 'superstep')} of a program that takes what PageRank does, within 2 times"
        ],
        **first_call(engine),
    }


def at_usual_rates(engine: Engine, planned: Plan) -> Plan:
    """The plan by kernels' rates of a usual machine, by which lessons are taught and taken: what runs of other
    algorithms teach about these rates later does not change them."""
    here, usual = engine.measure(), type(engine.measure())()
    rates = {
        name: getattr(planned.constants, name) * getattr(usual, name) / getattr(here, name)
        for name in ("pull_edges", "push_edges")
    }
    return replace(planned, constants=replace(planned.constants, **rates))


def teach(
    algorithm: Algorithm, engine: Engine, own: dict[str, Any], summary: dict[str, Any], compiled: float, plan: Any
) -> None:
    """Let a call teach how long calls like it take here, and how many supersteps, where most of its time went to its
    work. compiled: seconds that went to compiling. plan(): makes its plan."""
    key = key_of(algorithm, own)
    engine.costs.note_call(key)
    if engine.ranks is not None or engine.graph.edges < LEAST_EDGES:
        return
    stats, graph = summary["stats"], engine.graph
    beside = compiled + stats["bytes_read_disk"] / engine.measure().load
    seconds = stats["seconds"] - beside
    if seconds < max(LEAST_S, (MOSTLY - 1) * beside, FIRST_S if beside else 0.0) or beside and engine.on_gpus:
        return
    name = lesson_name(key, graph)
    if not engine.on_gpus < engine.costs.calls[key] <= TAUGHT_BY + 1:  # nothing tells how long GPUs' kernels compiled
        return
    times, _ = times_of(algorithm, own, graph.vertices, summary["supersteps"])
    try:
        planned = plan()
    except GstreamError:
        return
    expected, at_usual = (
        estimate(work_of(algorithm, own)._replace(read=NOTHING), times, one, engine.on_gpus, None, MEASURED).usual
        for one in (planned, at_usual_rates(engine, planned))
    )
    if expected / WRONG < seconds < expected * WRONG:
        engine.costs.teach(name, seconds / at_usual)
        ended = summary.get("converged", True)  # and not by a limit, which says nothing of the next call
        if ended and _counts_steps(algorithm, own) and own.get("iterations") is None:
            declared, _ = times_of(algorithm, own, graph.vertices)
            engine.costs.teach(lesson_name(f"{key}{STEPS}", graph), times[1] / max(1, declared[1]))
