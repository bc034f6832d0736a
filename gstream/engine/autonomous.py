"""Supersteps that a device makes by itself, while the driver only looks on.

Between the supersteps of an in-core traversal the driver waits for one number, chooses, and queues again: a GPU rests
for longer than it works. Where all that the choice needs is on the device, the device makes it (cuda/ahead.cu), and the
driver reads afterwards what was done: the same directions, the same values.
"""

from __future__ import annotations

import time

from gstream.devices.base import Device
from gstream.devices.job import DIRECTIONS, Made, Rules
from gstream.engine.direction import ALPHA, BETA, Frontier
from gstream.engine.run_state import RunState
from gstream.paging.page_table import PageTable
from gstream.telemetry.stats import StepStats


class Autonomous:
    """Those of one run."""

    def __init__(self, state: RunState) -> None:
        self._state, self._may = state, True
        self._blocked = False  # the driver makes the next one

    @classmethod
    def of(cls, state: RunState) -> Autonomous | None:
        """None where somebody has to see the state between supersteps, or one device can't hold all that they need."""
        program, plan = type(state.code.program), state.plan
        seen = any(one is not None for one in (state.watch, state.keeper, state.trace, state.near))
        simple = state.code.in_place and "halt" not in program.methods
        alone = len(state.devices) == 1 and plan.case == 1 and plan.copies
        return cls(state) if simple and alone and not seen else None

    def step(self, frontier: Frontier, supersteps: int, limit: int | None) -> tuple[int, Frontier]:
        """Make the supersteps that the device makes by itself, perhaps none (gstream.engine.run_state.FastPath).

        If the run has not ended, the driver makes the next superstep. On a device that holds pages of earlier runs,
        state.forced fixes its direction, and its pages stay on the device. A first run moves as few pages as it can.
        """
        if self._blocked or not self._may:
            self._blocked = False
            return 0, frontier
        state, began = self._state, time.perf_counter()
        plan, chooser = state.plan, state.chooser
        push, pull = (plan.table(way) if way in plan.directions else None for way in DIRECTIONS)
        if not state.warm and not _holds(state.devices[0], push, pull):  # the driver moves fewer pages
            return 0, frontier
        rules = Rules(
            tables=(push, pull), heads=plan.graph.head_rows[pull.name] if plan.heads is not None and pull else 0,
            all_edges=plan.graph.edges, few=plan.graph.vertices // BETA, alpha=ALPHA, vertices=frontier.vertices,
            edges=frontier.edges, unexplored=chooser.unexplored, pulled=chooser.pulled,
            last_vertices=chooser.last_vertices, stale=state.stale,
        )  # fmt: skip
        made = state.devices[0].run_ahead(rules, supersteps + 1, limit)
        if made is None:
            self._may = False
            return 0, frontier
        state.forced = made.blocked if state.warm else None
        chooser.unexplored, chooser.last_vertices = rules.unexplored, rules.last_vertices
        chooser.pulled, state.stale = bool(rules.pulled), bool(rules.stale)
        _note(state, made, time.perf_counter() - began)
        self._blocked = made.count > 0 and made.blocked is not None
        return made.count, chooser.frontier_of(rules.vertices, rules.edges) if made.count else frontier


def _holds(device: Device, *tables: PageTable | None) -> bool:
    """Whether a device has every page."""
    return not any(len(device.absent(table, table.all_pages())) for table in tables if table is not None)


def _note(state: RunState, made: Made, seconds: float) -> None:
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
        state.seconds_in_vain = rest
    for step in steps:
        state.note(step)
