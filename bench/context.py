"""What a measurement is given: the graph, how often to repeat, and the engine's own side of the bargain."""

from __future__ import annotations

from functools import cached_property

from bench.graphs import SEED, Graph
from bench.machine import cores


class Context:
    """One measurement's choices; `quick` trades repeats for time, never checks."""

    def __init__(self, graph_name: str, quick: bool) -> None:
        self.graph_name, self.quick = graph_name, quick
        self.threads = cores()

    @cached_property
    def graph(self) -> Graph:
        """The graph named on the command line."""
        return Graph(self.graph_name, SEED)

    def times(self, full: int) -> int:
        """`full` repeats, or 2 in a quick run."""
        return min(full, 2) if self.quick else full
