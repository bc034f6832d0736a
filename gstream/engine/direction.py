"""Push or pull, by list or by bits: the choice made at the beginning of every superstep of a frontier program.

Programs with `done` (BFS) follow Beamer's rule: pull once the frontier's edges outnumber a share of the unexplored
ones, push again once the frontier is small and shrinks. Others (SSSP, labels) pull when that looks at less: a pull
tests every edge, a push settles those of the frontier with an atomic each (Garaph 4.2 puts the limit at half of all
edges). Where pages must come from disk or over a link, what each way would move decides instead: resident heads are
looked at first where that is cheap, and what they leave open is finished by a pull or by a push, whichever takes less
time (both come to the same values). Pages that devices hold cost nothing then.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gstream.devices.base import Exchange
from gstream.devices.vertices import Vertices
from gstream.engine.demand import Demand
from gstream.paging.page_table import PageTable
from gstream.planning.plan import Plan
from pagestore.layout import HEAD_NEIGHBOURS

ALPHA = 15  # pull when frontier edges > unexplored edges / ALPHA (Beamer's direction-optimising BFS; GAP uses 15)
BETA = 18  # push again when fewer than V / BETA vertices are active and they get fewer
LISTED = 32  # frontiers below V / LISTED are handled as a list of vertices instead of by tests of every bit
PUSH_COST = 2.0  # of an edge, against an edge of a pull: an atomic each (measured 1.5 to 3 on 2 cores)


@dataclass
class Frontier:
    """What is known of the active vertices: how many, the edges that leave them, how many others are held back, and
    what a push from them demands, once somebody asks."""

    vertices: int
    edges: int
    held: int
    listed: bool
    demand: Demand | None = None


@dataclass
class Chooser:
    """Chooses directions over one run, and which pages come whole. `unexplored`: edges that no frontier had so far.

    zero_copy: devices can read pages where they lie in host memory. near: vertices are held back, so that edges are
    looked at about once: by a push, which looks at those of the frontier alone.
    """

    plan: Plan
    has_done: bool
    exchange: Exchange
    zero_copy: bool = False
    near: bool = False
    unexplored: int = field(init=False)
    streamed: bool = field(init=False)
    pulled: bool = False
    last_vertices: int = 0

    def __post_init__(self) -> None:
        self.unexplored = self.plan.graph.edges
        self.streamed = self.plan.copies or not all(source.resident for source in self.plan.sources.values())

    @property
    def state(self) -> Vertices:
        """Of the device that is asked about bitmaps, which are the same on all (but where `apply` sends)."""
        return self.exchange.devices[0].state

    def look(self) -> Frontier:
        """Measure the frontier, and have what all devices count. Devices that copy know its pages at once."""
        directions = self.plan.directions
        pushed = self.plan.table("push") if self.plan.copies and not self.plan.sweep and "push" in directions else None
        count, edges, held, lists = self.exchange.frontier(len(directions) > 1, pushed)
        demand = None if pushed is None or lists is None else Demand.of(pushed, lists)
        return self.frontier_of(count, edges, held, demand)

    def frontier_of(self, vertices: int, edges: int, held: int = 0, demand: Demand | None = None) -> Frontier:
        """A frontier of so many vertices."""
        return Frontier(vertices, edges, held, vertices <= max(64, self.plan.graph.vertices // LISTED), demand)

    def pushed(self, frontier: Frontier) -> Demand:
        """What a push from the frontier needs."""
        if frontier.demand is None:
            table = self.plan.table("push")
            frontier.demand = Demand.of(table, self.state.lists_of("active", table))
        return frontier.demand

    def in_place(self, demand: Demand) -> np.ndarray:
        """int64[k]: the pages that no device holds, and that are better read in host memory than copied."""
        missing = self.missing(demand) if self._reads_in_place(demand.table) else None
        if missing is None or len(missing.numbers) == 0:
            return demand.numbers[:0]
        return missing.in_place(self.plan.constants, self.plan.weights)

    def missing(self, demand: Demand) -> Demand:
        """The pages of it that must come."""
        if not self.plan.copies:
            return demand
        table, numbers, devices = demand.table, demand.numbers, self.exchange.devices
        shares = demand.shares(self.exchange.partition)
        parts = [device.absent(table, part.numbers) for device, part in zip(devices, shares, strict=True)]
        absent = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if len(absent) == 0:
            return Demand(table, absent, absent)
        return demand if len(absent) == len(numbers) else demand.among(absent)

    def _reads_in_place(self, table: PageTable) -> bool:
        """Only where all values are on the device: a streamed RA comes with whole pages."""
        return self.zero_copy and self.plan.device.resident and self.plan.sources[table.name].resident

    def _seconds(self, demand: Demand) -> float:
        """Time in which what must come does so."""
        demand = self.missing(demand)
        if len(demand.numbers) == 0:
            return 0.0
        constants, zero_copy = self.plan.constants, self._reads_in_place(demand.table)
        rate = constants.c2 if self.plan.copies else constants.disk
        return demand.seconds(constants, self.plan.weights, zero_copy, rate)

    @property
    def chooses(self) -> bool:
        """Whether both directions can be."""
        return len(self.plan.directions) > 1 and not self.near

    @property
    def most_pushed(self) -> int:
        """Edges of a frontier that a push is for, where they alone decide."""
        return int(self.plan.graph.edges / PUSH_COST) if self.chooses and not self.has_done else 1 << 62

    def choose(self, frontier: Frontier, forced: str | None = None) -> str:
        """ "push" or "pull" for this superstep; forced: it was chosen elsewhere, by the same rules."""
        if not self.chooses:
            return self.plan.directions[0] if len(self.plan.directions) == 1 else "push"
        pull = self.pulls(frontier) if forced is None else forced == "pull"
        self.unexplored = max(0, self.unexplored - frontier.edges)
        self.pulled, self.last_vertices = pull, frontier.vertices
        return "pull" if pull else "push"

    def pulls(self, frontier: Frontier) -> bool:
        """Whether the superstep is better a pull."""
        if not self.chooses:
            return self.plan.directions == ("pull",)
        if not self.has_done:
            return frontier.edges > self.most_pushed
        if self.streamed and (moving := self._seconds(self.pushed(frontier))) > 0:
            return self._pull_may_move_less(moving)
        if self.pulled:
            return frontier.vertices >= self.last_vertices or frontier.vertices > self.plan.graph.vertices // BETA
        return frontier.edges > self.unexplored // ALPHA

    def pushed_on(self, unexplored: int, last_vertices: int) -> None:
        """Pushes were made that `choose` was not asked for: edges that no frontier had, vertices of the last one."""
        if self.chooses:
            self.unexplored, self.pulled, self.last_vertices = unexplored, False, last_vertices

    def _pull_may_move_less(self, pushed: float) -> bool:
        """By heads: when looking at all of them takes less time than moving for a push does; else by pages."""
        if self.plan.heads is not None:
            heads_bytes = self.plan.graph.head_rows[self.plan.heads] * HEAD_NEIGHBOURS * self.plan.graph.id_bytes
            return pushed > heads_bytes / self.plan.constants.scan
        pull = self.plan.table("pull")
        return pushed >= self._seconds(Demand.of(pull, self.state.lists_of("open", pull)))

    def finish_by_push(self, frontier: Frontier, left: Demand) -> bool:
        """After the heads of a pull: whether what a push from the frontier needs comes sooner than what is left."""
        if not self.streamed or "push" not in self.plan.directions or len(left.numbers) == 0:
            return False
        return self._seconds(self.pushed(frontier)) < self._seconds(left)
