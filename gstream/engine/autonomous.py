"""Supersteps that a device makes by itself, while the driver only looks on.

Between the supersteps of an in-core traversal the driver waits for one number, chooses, and queues again: a GPU rests
for longer than it works. Where all that the choice needs is on the device, the device makes it (cuda/ahead.cu), and the
driver reads afterwards what was done: the same directions, the same values.
"""

from __future__ import annotations

from gstream.devices.base import Device
from gstream.devices.job import DIRECTIONS, Made, Rules
from gstream.engine.direction import ALPHA, BETA, Frontier
from gstream.engine.run_state import RunState
from gstream.paging.page_table import PageTable
from gstream.telemetry.compiling import Stopwatch
from gstream.telemetry.stats import StepStats


class Autonomous:
    """Those of one run (gstream.engine.run_state.FastPath)."""

    def __init__(self, run: RunState) -> None:
        self._run, self._may = run, True
        self._blocked = False  # the driver makes the next one

    @classmethod
    def applies(cls, run: RunState) -> bool:
        """Nobody has to see the state between supersteps, and one device can hold all that they need. Devices end when
        nothing changes any more."""
        program, plan = type(run.code.program), run.plan
        seen = any(one is not None for one in (run.watch, run.keeper, run.trace)) or plan.device.held_bits
        simple = run.code.in_place and "halt" not in program.methods and not run.asked.exactly
        return simple and not seen and len(run.devices) == 1 and plan.case == 1 and plan.copies

    def step(self, frontier: Frontier) -> Frontier | None:
        """If the run has not ended afterwards, the driver makes the next superstep. On a device that holds pages of
        earlier runs, its direction is forced, and its pages stay on the device. A first run moves as few as it can."""
        if self._blocked or not self._may:
            self._blocked = False
            return None
        run, chooser, watch = self._run, self._run.chooser, Stopwatch()
        plan, device = run.plan, run.devices[0]
        push, pull = (plan.table(way) if way in plan.directions else None for way in DIRECTIONS)
        if not run.warm and not _holds(device, push, pull):  # the driver moves fewer pages
            return None
        rules = Rules(
            tables=(push, pull), heads=plan.graph.head_rows[pull.name] if plan.heads is not None and pull else 0,
            all_edges=plan.graph.edges, few=plan.graph.vertices // BETA, alpha=ALPHA, vertices=frontier.vertices,
            edges=frontier.edges, unexplored=chooser.unexplored, pulled=chooser.pulled,
            last_vertices=chooser.last_vertices, stale=chooser.stale,
        )  # fmt: skip
        ends = [run.limit, None if run.look_every is None else run.supersteps + run.look_every]
        end = min((end for end in ends if end is not None), default=None)
        made = device.run_ahead(rules, run.supersteps + 1, end)
        if made is None:
            self._may = False
            return None
        chooser.forced = made.blocked if run.warm else None
        chooser.unexplored, chooser.last_vertices = rules.unexplored, rules.last_vertices
        chooser.pulled, chooser.stale = bool(rules.pulled), bool(rules.stale)
        _note(run, made, watch.worked())
        self._blocked = made.count > 0 and made.blocked is not None
        return Frontier(rules.vertices, rules.edges) if made.count else None

    def cancel(self) -> None:
        """Nothing is begun."""


def _holds(device: Device, *tables: PageTable | None) -> bool:
    """Whether a device has every page."""
    return not any(len(device.absent(table, table.all_pages())) for table in tables if table is not None)


def _note(run: RunState, made: Made, seconds: float) -> None:
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
        run.vain_seconds = rest
    for step in steps:
        run.note(step)
