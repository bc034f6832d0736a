"""Near first: of a large frontier only the least values send; the others are held back until they are the least.

Shortest paths by supersteps push most vertices several times: a path with more edges may be shorter. Values that lie
near the least one change seldom any more, so near ones go first and most edges are looked at once (delta-stepping of
Meyer and Sanders, the near and far piles of Davidson et al.). Small frontiers are not cut: what they repeat is cheap.

The step is max weight / (4 * mean list) at first: a vertex has a quarter of an edge that is shorter, so that near ones
hardly improve each other. It grows by half as often as some are held back in a row, which bounds the supersteps.
Simulated on RMAT 22 (weights 1 to 255, 8 sources): 1.04 of all edges looked at and 12 supersteps (all at once: 1.1 to
1.8, and 11 to 13); with pages that are copied sending whole, and others read in place, 0.4 of the link's time.
"""

from __future__ import annotations

from gstream.planning.plan import Plan

CUT_FROM = 16  # frontiers of at least 1/16 of all edges are cut
# None of fewer edges than that is: a cut makes a superstep more, which takes cores 0.3 ms, as pushing along 100,000
# edges does, and saves a third of the frontier's edges at best. Both are shorter on a GPU.
FEWEST_EDGES = 300_000
GROWTH = 1.5


def first_step(plan: Plan) -> float:
    """How far above the least value vertices may send at first."""
    table = plan.graph.tables.get("out") or plan.table("pull")  # lists are about as long the other way round
    mean = plan.graph.edges / max(1, int(table.records[: table.small_pages].sum()))
    return plan.graph.max_weight / (4 * max(1.0, mean))


class Near:
    """How far above the least value vertices may send; for plans with `device.held_bits`."""

    def __init__(self, plan: Plan) -> None:
        self.least_edges = max(plan.graph.edges // CUT_FROM, FEWEST_EDGES)
        self.first = self.step = first_step(plan)
        self.cut = self.first  # the step that the present frontier was cut with

    def note(self, held: int) -> None:
        """How many were held back with the step as it was."""
        self.cut = self.step
        self.step = self.step * GROWTH if held else self.first
