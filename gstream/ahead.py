"""Supersteps that a device makes by itself, while the driver only looks on.

Between the supersteps of an in-core traversal the driver waits for one number, chooses, and queues again: a GPU rests
for longer than it works. Where all that the choice needs is on the device, the device makes it (cuda/ahead.cu), and the
driver reads afterwards what was done: the same directions, the same values.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gstream.devices.ahead import DIRECTIONS, Made, Rules
from gstream.direction import ALPHA, BETA, Frontier
from gstream.stats import StepStats

if TYPE_CHECKING:
    from gstream.devices.base import Device
    from gstream.pagetable import PageTable
    from gstream.superstep import Run


def may_run_ahead(run: Run) -> bool:
    """Whether nobody has to see the state between supersteps, and one device can hold all that they need."""
    program, plan = type(run.code.program), run.plan
    seen = run.watch is not None or run.keeper is not None or run.trace is not None or run.near is not None
    simple = run.code.in_place and "halt" not in program.methods
    return not seen and simple and len(run.devices) == 1 and plan.case == 1 and plan.copies


def run_ahead(run: Run, frontier: Frontier, supersteps: int, limit: int | None) -> tuple[int, Frontier, bool]:
    """(supersteps made, the frontier that follows, whether the run has ended or the limit is reached).

    As many as the device makes by itself, perhaps none; where the run has not ended, the driver makes the next one, in
    the direction of run.forced, if any: on a device that has pages of runs before, others come to stay, where a first
    run had better move little.
    """
    plan, chooser, began = run.plan, run.chooser, time.perf_counter()
    push, pull = (plan.table(way) if way in plan.directions else None for way in DIRECTIONS)
    if not run.warm and not _holds(run.devices[0], push, pull):  # what it wants had better come as moves least
        return 0, frontier, False
    rules = Rules(
        tables=(push, pull), heads=plan.graph.head_rows[pull.name] if plan.heads is not None and pull else 0,
        all_edges=plan.graph.edges, few=plan.graph.vertices // BETA, alpha=ALPHA, vertices=frontier.vertices,
        edges=frontier.edges, unexplored=chooser.unexplored, pulled=chooser.pulled,
        last_vertices=chooser.last_vertices, stale=run.stale,
    )  # fmt: skip
    made = run.devices[0].run_ahead(rules, supersteps + 1, limit)
    if made is None:
        run.runs_ahead = False
        return 0, frontier, False
    run.forced = made.blocked if run.warm else None
    chooser.unexplored, chooser.last_vertices = rules.unexplored, rules.last_vertices
    chooser.pulled, run.stale = bool(rules.pulled), bool(rules.stale)
    _note(run, made, time.perf_counter() - began)
    if made.count:
        frontier = chooser.frontier_of(rules.vertices, rules.edges)
    return made.count, frontier, made.blocked is None


def _holds(device: Device, *tables: PageTable | None) -> bool:
    """Whether a device has every page."""
    return not any(len(device.absent(table, table.all_pages())) for table in tables if table is not None)


def _note(run: Run, made: Made, seconds: float) -> None:
    """Figures of each superstep: times by the device's clock, and the driver's own time with the last one; where there
    is none, with the one that the driver makes."""
    steps = [
        StepStats(
            direction=DIRECTIONS[step["way"]], frontier=step["vertices"], pages=after["pages"],
            edges_visited=after["looked"], seconds=(after["nanoseconds"] - step["nanoseconds"]) / 1e9,
        )
        for step, after in zip(made.told[:-1], made.told[1:], strict=True)
    ]  # fmt: skip
    rest = max(0.0, seconds - sum(step.seconds for step in steps))
    if steps:
        steps[-1].seconds += rest
    else:
        run.seconds_in_vain = rest
    for step in steps:
        run.note(step)
