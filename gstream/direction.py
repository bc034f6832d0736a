"""Push or pull, by list or by bits: the choice made at the beginning of every superstep of a frontier program.

Programs with `done` (BFS) follow Beamer's rule: pull once the frontier's edges outnumber a share of the unexplored
ones, push again once the frontier is small and shrinks. Others (SSSP, labels) pull when that looks at less: a pull
tests every edge, a push settles those of the frontier with an atomic each (Garaph 4.2 puts the limit at half of all
edges). Where pages come from disk or over a link, the pages that each way would move decide instead: resident heads
are looked at first where that is cheap, and what they leave open is finished by a pull or by a push, whichever moves
less (both come to the same values).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gstream.devices.base import Device
from gstream.plan import Plan
from pagestore.layout import HEAD_NEIGHBOURS

ALPHA = 15  # pull when frontier edges > unexplored edges / ALPHA (Beamer's direction-optimising BFS; GAP uses 15)
BETA = 18  # push again when fewer than V / BETA vertices are active and they get fewer
LISTED = 32  # frontiers below V / LISTED are handled as a list of vertices instead of by tests of every bit
PUSH_COST = 2.0  # of an edge, against an edge of a pull: an atomic each (measured 1.5 to 3 on 2 cores)


@dataclass
class Frontier:
    """What is known of the active vertices: how many, the edges that leave them, and pages (int64[n], ascending) of the
    pushed topology that hold them, once somebody asks."""

    vertices: int
    edges: int
    listed: bool
    pages: np.ndarray | None = None


@dataclass
class Chooser:
    """Chooses directions over one run. `unexplored`: edges that no frontier had so far."""

    plan: Plan
    has_done: bool
    unexplored: int = field(init=False)
    streamed: bool = field(init=False)
    pulled: bool = False
    last_vertices: int = 0

    def __post_init__(self) -> None:
        self.unexplored = self.plan.graph.edges
        self.streamed = self.plan.copies or not all(source.resident for source in self.plan.sources.values())

    def look(self, device: Device) -> Frontier:
        """Measure the frontier on one device (bitmaps are the same on all). One that copies has its pages ready."""
        directions = self.plan.directions
        pushed = self.plan.table("push") if self.plan.copies and not self.plan.sweep and "push" in directions else None
        count, edges, pages = device.frontier(len(directions) > 1, pushed)
        return Frontier(count, edges, count <= max(64, self.plan.graph.vertices // LISTED), pages)

    def pushed_pages(self, frontier: Frontier, device: Device) -> np.ndarray:
        """The pages that a push from the frontier needs."""
        if frontier.pages is None:
            frontier.pages = device.pages_of("active", self.plan.table("push"))
        return frontier.pages

    def choose(self, frontier: Frontier, device: Device) -> str:
        """ "push" or "pull" for this superstep."""
        directions = self.plan.directions
        if len(directions) == 1:
            return directions[0]
        if not self.has_done:
            pull = frontier.edges * PUSH_COST > self.plan.graph.edges
        elif self.streamed:
            pull = self._pull_may_move_less(frontier, device)
        elif self.pulled:
            pull = frontier.vertices >= self.last_vertices or frontier.vertices > self.plan.graph.vertices // BETA
        else:
            pull = frontier.edges > self.unexplored // ALPHA
        self.unexplored = max(0, self.unexplored - frontier.edges)
        self.pulled, self.last_vertices = pull, frontier.vertices
        return "pull" if pull else "push"

    def _pull_may_move_less(self, frontier: Frontier, device: Device) -> bool:
        """By heads: when looking at all of them takes less time than moving the frontier's pages; else by pages."""
        push, pull, constants = self.plan.table("push"), self.plan.table("pull"), self.plan.constants
        pushed = len(self.pushed_pages(frontier, device)) * push.page_bytes
        if self.plan.heads is not None:
            rate = constants.c2 if self.plan.copies else constants.disk
            heads_bytes = self.plan.graph.head_rows[self.plan.heads] * HEAD_NEIGHBOURS * self.plan.graph.id_bytes
            return pushed / rate > heads_bytes / constants.scan
        return pushed >= len(device.pages_of("open", pull)) * pull.page_bytes

    def finish_by_push(self, frontier: Frontier, device: Device, left: np.ndarray) -> bool:
        """After the heads of a pull: whether pushing from the frontier moves less than the pages left to pull."""
        if not self.streamed or "push" not in self.plan.directions or len(left) == 0:
            return False
        push, pull = self.plan.table("push"), self.plan.table("pull")
        return len(self.pushed_pages(frontier, device)) * push.page_bytes < len(left) * pull.page_bytes
