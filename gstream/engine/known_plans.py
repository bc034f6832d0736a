"""Plans that an engine has made: the next run of a program in the same circumstances takes the last one's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gstream.options.run_options import RunOptions
from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable
from gstream.planning.cost_equations import Constants
from gstream.planning.memory_fit import Graph
from gstream.planning.plan import Plan
from gstream.planning.planner import Place, make_plan


class KnownPlans:
    """The last plan for each kind of compiled program; making one takes as long as a short search."""

    def __init__(self) -> None:
        self._last: dict[tuple[Any, ...], tuple[tuple[Any, ...], Plan]] = {}

    def plan(
        self, code: Any, graph: Graph, options: RunOptions, places: Sequence[Place], partition: Partition,
        host_memory: int, known: dict[str, PageTable], beside: tuple[int, int], cores: bool, tells: bool,
        reads: tuple[int, Callable[[], int]], decodes: bool,
    ) -> Plan:  # fmt: skip
        """As of make_plan. beside: its `taken` and `later`; reads: how many are under way, and who may change that."""
        of = graph.turned, graph.apart, graph.vertices, graph.own, graph.stays
        kind = type(code.program), code.in_place, *of, len(places), tells
        rest = (
            options.direction, options.chunk_vertices, tuple(places), partition, host_memory, tuple(sorted(known)),
            beside, cores, reads[0], decodes, code.own.shape,
        )  # fmt: skip
        last = self._last.get(kind)
        if last is not None and last[0] == rest:
            return last[1]
        plan = make_plan(
            code, graph, options, places, partition, host_memory, Constants(), known, *beside, cores, tells, reads[1],
            decodes,
        )  # fmt: skip
        self._last[kind] = rest, plan
        return plan
