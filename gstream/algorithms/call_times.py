"""How long a call of an algorithm should take, as a range with what it rests on; and what calls teach about that."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from gstream.algorithms.declaration import Algorithm, flag
from gstream.planning.estimates import LEARNT, MEASURED, SHEET, estimate
from gstream.planning.work import Three, Work
from pagestore.errors import GstreamError

if TYPE_CHECKING:
    from gstream.engine.engine import Engine
    from gstream.planning.plan import Plan

USUAL_TOL = {"hits": 1e-8}  # the default that Work.times are of; of others 1e-6
LEAST_EDGES, LEAST_S = 1 << 21, 5e-3  # of calls that teach: of shorter ones it is the calls that take the time
TAUGHT_BY = 2  # calls of an algorithm on an open graph, after the first: planning them again costs some ms
WRONG = 30.0  # a factor beyond it is of a graph that this work does not describe, such as one without a giant component
PREDECESSOR_BYTES = 4  # a vertex
HOLDS = re.compile(r"([\d.]+)(?: to ([\d.]+))?( an edge)?")


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


def times_of(algorithm: Algorithm, own: dict[str, Any], vertices: int, counted: int | None = None) -> tuple[Three, str]:
    """(how often the work is done, what says so). own: all options. counted: supersteps of a call that was made."""
    work, name = algorithm.work, algorithm.name
    if work.per == "k":
        drawn = own.get("k") or (_count(own["source"]) if own.get("source") is not None else vertices)
        searches = math.ceil(min(drawn, vertices) / work.sources)
        return (searches,) * 3, f"{drawn} sources"
    known = own.get("iterations")
    limits_steps = work.per == "iterations" or "max_iter" in own and "tol" in own
    if counted is not None and limits_steps:
        return (counted,) * 3, ""
    if known is not None:
        return (known,) * 3, f"{known} iterations"
    bound = own.get("depth_limit", own.get("radius"))
    if limits_steps:
        longer = max(0.1, _digits(own.get("tol")) / _digits(USUAL_TOL.get(name, 1e-6)))
        most = own["max_iter"] * algorithm.sweeps
        least, usual, many = (max(1, min(most, times * longer)) if most else 0 for times in work.times)
        return (least, usual, many), f"{usual:.0f} supersteps until --tol, {least:.0f} to {many:.0f}"
    if bound is not None and work.times != (1, 1, 1):
        least, usual, many = (min(float(bound), times) for times in work.times)
        return (least, usual, many), f"{flag('depth_limit')} {bound}"
    least, usual, many = work.times
    return work.times, f"{usual:g} passes, {least:g} to {many:g}" if many != least else ""


def _digits(tol: float | None) -> float:
    return -math.log(min(0.5, max(tol or 1e-16, 1e-16)))


def _count(source: Any) -> int:
    return 1 if isinstance(source, str) or not hasattr(source, "__len__") else max(1, len(source))


def call_facts(algorithm: Algorithm, engine: Engine, planned: Plan, own: dict[str, Any]) -> dict[str, Any]:
    """{"call_seconds": {"least", "usual", "most"}, "rests_on": [...]} of a call on an open graph."""
    own = algorithm.defaults | own
    gpus = engine.on_gpus
    times, said = times_of(algorithm, own, planned.graph.vertices)
    factor = engine.costs.factor(key_of(algorithm, own))
    sheet = engine.sheet
    found = estimate(work_of(algorithm, own), times, planned, gpus, factor, SHEET if sheet else MEASURED)
    where = f"{'a GPU' if gpus else 'the cores'}"
    if factor is not None:
        rests = f"runs of {algorithm.name} here, within {LEARNT:g} times"
    elif sheet:
        rests = f"figures of {where} from data sheets, within {SHEET:g} times"
    else:
        rests = f"rates of {where} as measured, within {MEASURED:g} times"
    if factor is None:
        rests += f", and {algorithm.name} on RMAT graphs, from which others differ by {algorithm.work.spread:g} times"
    return {
        "call_seconds": {"least": found.least, "usual": found.usual, "most": found.most},
        "rests_on": [rests, *filter(None, [said])],
    }


def own_call_facts(engine: Engine, planned: Plan, supersteps: int) -> dict[str, Any]:
    """The same of a program of the user's, which is taken to cost what PageRank costs."""
    sheet = engine.sheet
    found = estimate(Work(spread=2.0), (supersteps,) * 3, planned, engine.on_gpus, None, SHEET if sheet else MEASURED)
    return {
        "call_seconds": {"least": found.least, "usual": found.usual, "most": found.most},
        "rests_on": [f"{supersteps} superstep(s) of a program that takes what PageRank does, within 2 times"],
    }


def held_bytes(algorithm: Algorithm, vertices: int, edges: int) -> int:
    """What an algorithm without a program holds beside pages, by what its declaration says (Algorithm.holds)."""
    total = 0.0
    for part in algorithm.holds.split(";"):
        if (said := HOLDS.search(part)) is not None:
            total += float(said[2] or said[1]) * (edges if said[3] or "an edge" in part else vertices)
    return int(total)


def teach(algorithm: Algorithm, engine: Engine, own: dict[str, Any], summary: dict[str, Any], plan: Any) -> None:
    """Let a call that read no page from disk teach how long calls like it take here. plan(): makes its plan."""
    stats, key = summary["stats"], key_of(algorithm, own)
    small = engine.graph.edges < LEAST_EDGES or stats["seconds"] < LEAST_S
    if small or stats["bytes_read_disk"] or engine.ranks is not None:
        return
    if not engine.costs.may_teach(key, TAUGHT_BY):
        return
    times, _ = times_of(algorithm, own, engine.graph.vertices, summary["supersteps"])
    try:
        found = estimate(work_of(algorithm, own), times, plan(), engine.on_gpus, None, MEASURED)
    except GstreamError:
        return
    factor = stats["seconds"] / found.usual if found.usual else 0.0
    if 1 / WRONG < factor < WRONG:
        engine.costs.teach(key, factor)
