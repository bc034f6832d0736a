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
from gstream.devices.job import Step
from gstream.devices.vertices import Vertices
from gstream.engine.demand import Demand
from gstream.paging.page_table import NO_PAGES, PageTable
from gstream.planning.plan import Plan
from pagestore.layout import HEAD_NEIGHBOURS

ALPHA = 15  # pull when frontier edges > unexplored edges / ALPHA (Beamer's direction-optimising BFS; GAP uses 15)
BETA = 18  # push again when fewer than V / BETA vertices are active and they get fewer
LISTED = 32  # frontiers below V / LISTED are handled as a list of vertices instead of by tests of every bit
PUSH_COST = 2.0  # of an edge, against an edge of a pull: an atomic each (measured 1.5 to 3 on 2 cores)
VECTOR_PUSH_COST = 8.0  # an atomic for each number that improves (measured 6 to 10 on 2 cores, of u8[128])


@dataclass
class Frontier:
    """What is known of the active vertices: how many, the edges that leave them, and how many others are held back.

    lists: how many of them lie in each page that a push would need (integers[pages]), if the devices know at once.
    """

    vertices: int
    edges: int
    held: int = 0
    lists: np.ndarray | None = None
    demand: Demand | None = None


@dataclass
class Chooser:
    """Chooses directions over one run, and pages, and which of these come whole.

    zero_copy: devices can read pages where they lie in host memory. unexplored: edges that no frontier had so far.
    stale: open bits may hold vertices that are done. forced: the next superstep's direction; its pages come to stay.
    """

    plan: Plan
    has_done: bool
    exchange: Exchange
    zero_copy: bool = False
    push_cost: float = PUSH_COST
    unexplored: int = field(init=False)
    streamed: bool = field(init=False)
    pulled: bool = False
    last_vertices: int = 0
    stale: bool = False
    forced: str | None = None

    def __post_init__(self) -> None:
        plan = self.plan
        self.unexplored = plan.graph.edges
        self.streamed = plan.copies or not all(source.resident for source in plan.sources.values())
        self.most_listed = max(64, plan.graph.vertices // LISTED)
        self.counts_edges = len(plan.directions) > 1
        self.counted = plan.table("push") if plan.copies and not plan.sweep and "push" in plan.directions else None
        self._all: Demand | None = None

    @property
    def state(self) -> Vertices:
        """Of the device that is asked about bitmaps, which are the same on all (but where `apply` sends)."""
        return self.exchange.devices[0].state

    def next_pages(self, frontier: Frontier) -> tuple[Step, Demand, np.ndarray]:
        """What a superstep does, the pages that it needs, and those of them (int64[k]) to be read in host memory."""
        way = self._push if self.choose(frontier) == "push" else self._pull
        step, demand = way(frontier)
        return step, demand, NO_PAGES if self.forced else self.in_place(demand)

    def _push(self, frontier: Frontier) -> tuple[Step, Demand]:
        """From the frontier: the pages that hold it."""
        self.stale = True
        few = frontier.vertices <= self.most_listed
        listed = self.state.list_vertices("active", frontier.vertices) if few else None
        return Step("push", self.plan.table("push"), listed), self.pushed(frontier)

    def _pull(self, frontier: Frontier) -> tuple[Step, Demand]:
        """To vertices that are not done. What the heads leave open may be finished by a push."""
        table, state = self.plan.table("pull"), self.state
        step = Step("pull", table)
        if not self.has_done or not self.plan.device.resident:
            self._all = self._all or Demand.whole(table)
            return step, self._all
        if self.stale:
            self.exchange.reopen()
        which = "open"
        if self.plan.heads is not None:
            which, step.remain = "remain", True
            self._settle_by_heads(step)
        left = Demand.of(table, state.lists_of(which, table))
        if step.remain and not self.forced and self._finish_by_push(frontier, left):
            return self._push(frontier)
        if len(left.numbers):
            step.listed = state.list_vertices(which, self.plan.graph.vertices // LISTED)
            step.skip = 4 if step.remain and step.listed is not None else 0
        self.stale = len(left.numbers) > 0
        return step, left

    def _settle_by_heads(self, step: Step) -> None:
        """Let the resident heads settle vertices. Those that stay open, and have more neighbours, get a remain bit."""
        rows = self.plan.graph.head_rows[step.table.name]
        slices = [(first, min(last, rows)) for first, last in self.plan.slices((0, self.plan.graph.vertices), 64)]
        self.exchange.each(lambda device, d: device.state.heads(step, slices[d]) if slices[d][0] < slices[d][1] else 0)
        self.exchange.gather(slices, values=True)
        self.exchange.order()

    def pushed(self, frontier: Frontier) -> Demand:
        """What a push from the frontier needs."""
        if frontier.demand is None:
            table, lists = self.plan.table("push"), frontier.lists
            frontier.demand = Demand.of(table, self.state.lists_of("active", table) if lists is None else lists)
        return frontier.demand

    def in_place(self, demand: Demand) -> np.ndarray:
        """int64[k]: the pages that no device holds, and that are better read in host memory than copied."""
        missing = self.missing(demand) if self._reads_in_place(demand.table) else None
        if missing is None or len(missing.numbers) == 0:
            return demand.numbers[:0]
        return missing.in_place(self.plan.constants, self.plan.weights, self.plan.moved_bytes(demand.table, 1))

    def missing(self, demand: Demand) -> Demand:
        """The pages of it that must come."""
        if not self.plan.copies:
            return demand
        table, numbers, devices = demand.table, demand.numbers, self.exchange.devices
        shares = demand.shares(self.exchange.partition, self.exchange.first)
        parts = [device.absent(table, part.numbers) for device, part in zip(devices, shares, strict=False)]
        absent = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if len(absent) == 0:
            return Demand(table, absent, absent)
        return demand if len(absent) == len(numbers) else demand.among(absent)

    def _reads_in_place(self, table: PageTable) -> bool:
        """Only where all values are on the device: a streamed RA comes with whole pages."""
        return self.zero_copy and self.plan.device.resident and self.plan.sources[table.name].readable

    def _seconds(self, demand: Demand) -> float:
        """Time in which what must come does so; of ranks, which go the same way, the longest."""
        seconds = self._own_seconds(self.missing(demand))
        ranks = self.exchange.ranks
        return seconds if ranks is None or not self.plan.copies else ranks.most(seconds)

    def _own_seconds(self, demand: Demand) -> float:
        if len(demand.numbers) == 0:
            return 0.0
        constants, zero_copy = self.plan.constants, self._reads_in_place(demand.table)
        rate = constants.c2 if self.plan.copies else constants.disk
        page = self.plan.moved_bytes(demand.table, 1)
        return demand.seconds(constants, self.plan.weights, zero_copy, rate, page)

    @property
    def chooses(self) -> bool:
        """Whether both directions can be. Pushes look at each edge about once where vertices are held back: no pull."""
        return len(self.plan.directions) > 1 and not self.plan.device.held_bits

    @property
    def most_pushed(self) -> int:
        """Edges of a frontier that a push is for, where they alone decide."""
        return int(self.plan.graph.edges / self.push_cost) if self.chooses and not self.has_done else 1 << 62

    def choose(self, frontier: Frontier) -> str:
        """ "push" or "pull" for this superstep; a forced one was chosen elsewhere, by the same rules."""
        if not self.chooses:
            return self.plan.directions[0] if len(self.plan.directions) == 1 else "push"
        pull = self.exchange.agreed(self.pulls(frontier)) if self.forced is None else self.forced == "pull"
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
            return frontier.vertices >= self.last_vertices or frontier.vertices > self.plan.graph.whole // BETA
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

    def _finish_by_push(self, frontier: Frontier, left: Demand) -> bool:
        """After the heads of a pull: whether the pages for a push come sooner than those `left` for the pull."""
        if not self.streamed or "push" not in self.plan.directions or len(left.numbers) == 0:
            return False
        return self._seconds(self.pushed(frontier)) < self._seconds(left)
