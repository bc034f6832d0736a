"""Push or pull, by list or by bits: the choice made at the beginning of every superstep of a frontier program.

Programs with `done` (BFS) follow Beamer's rule: pull once the frontier's edges outnumber a share of the unexplored
ones, push again once the frontier is small and shrinks. Others (SSSP, labels) pull when that looks at less: a pull
tests every edge, a push settles those of the frontier with an atomic each (Garaph 4.2 puts the limit at half of all
edges). Where pages come from disk or over a link, the pages that each way would move decide instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gstream.devices.base import Device
from gstream.plan import Plan

ALPHA = 15  # pull when frontier edges > unexplored edges / ALPHA (Beamer's direction-optimising BFS; GAP uses 15)
BETA = 18  # push again when fewer than V / BETA vertices are active and they get fewer
LISTED = 32  # frontiers below V / LISTED are handled as a list of vertices instead of by tests of every bit
PUSH_COST = 2.0  # of an edge, against an edge of a pull: an atomic each (measured 1.5 to 3 on 2 cores)
PAGES_COST = 0.05  # a pull by heads is tried when a push would move more than that share of the pages


@dataclass
class Frontier:
    """What is known of the active vertices: how many, and the edges that leave them."""

    vertices: int
    edges: int
    listed: bool


@dataclass
class Chooser:
    """Chooses directions over one run. `unexplored`: edges that no frontier had so far."""

    plan: Plan
    has_done: bool
    unexplored: int = field(init=False)
    pulled: bool = False
    last_vertices: int = 0

    def __post_init__(self) -> None:
        self.unexplored = self.plan.graph.edges

    def look(self, device: Device) -> Frontier:
        """Measure the frontier on one device (bitmaps are the same on all)."""
        count = device.count("active")
        small = count <= max(64, self.plan.graph.vertices // LISTED)
        one_way = len(self.plan.directions) == 1
        edges = 0 if one_way or count == 0 else device.active_edges()
        return Frontier(count, edges, small)

    def choose(self, frontier: Frontier, device: Device) -> str:
        """ "push" or "pull" for this superstep."""
        directions = self.plan.directions
        if len(directions) == 1:
            return directions[0]
        streamed = self.plan.copies or not all(source.resident for source in self.plan.sources.values())
        if not self.has_done:
            pull = frontier.edges * PUSH_COST > self.plan.graph.edges
        elif streamed:
            pull = self._pull_moves_less(device)
        elif self.pulled:
            pull = frontier.vertices >= self.last_vertices or frontier.vertices > self.plan.graph.vertices // BETA
        else:
            pull = frontier.edges > self.unexplored // ALPHA
        self.unexplored = max(0, self.unexplored - frontier.edges)
        self.pulled, self.last_vertices = pull, frontier.vertices
        return "pull" if pull else "push"

    def _pull_moves_less(self, device: Device) -> bool:
        push, pull = self.plan.table("push"), self.plan.table("pull")
        pushed = len(device.pages_of("active", push)) * push.page_bytes
        if self.plan.heads is not None:
            return pushed > PAGES_COST * pull.pages * pull.page_bytes
        return pushed > len(device.pages_of("open", pull)) * pull.page_bytes
