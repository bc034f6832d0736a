"""Methods of `Graph` for the algorithms that are page kernels (gstream.sweep), streamed by the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gstream.results import Result


class PageKernels:
    """What `Graph` inherits. Every method takes RunOptions by name beside its own."""

    def execute(self, algorithm: str, own: dict[str, Any], certify: bool = False, **options: Any) -> Result:
        """`Graph.execute`."""
        raise NotImplementedError

    def kcore(self, k: int | None = None, certify: bool = False, **options: Any) -> Result:
        """Core numbers as networkx.core_number: columns vertex, core; with k: vertex, in_core (1 or 0).

        Self-loops don't count and duplicate edges count once; of directed graphs in- and out-neighbours are added up,
        which needs both topologies.
        """
        return self.execute("kcore", {"k": k}, certify, **options)

    def cdlp(self, iterations: int = 10, certify: bool = False, **options: Any) -> Result:
        """Communities by label propagation, LDBC's definition: columns vertex, community (a vertex of the graph).

        iterations: rounds, of which those are left out that change nothing. Ties go to the least label.
        """
        return self.execute("cdlp", {"iterations": iterations}, certify, **options)

    def triangles(self, certify: bool = False, **options: Any) -> Result:
        """Triangles as networkx.triangles, of undirected stores: columns vertex, triangles; summary: all of them."""
        return self.execute("triangles", {}, certify, **options)

    def lcc(self, certify: bool = False, **options: Any) -> Result:
        """Local clustering coefficients, LDBC's definition (undirected: networkx.clustering): columns vertex, lcc."""
        return self.execute("lcc", {}, certify, **options)

    def betweenness(
        self, k: int | None = None, normalized: bool = True, seed: int | None = None, source: Any = None,
        certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Betweenness centrality as NetworkX defines and scales it: columns vertex, betweenness.

        k: estimate it from so many sources drawn at random (seed: always the same ones); source: a user ID or several,
        whose shortest paths alone count. Without both, every vertex is a source: two sweeps a level of each.
        """
        own = {"k": k, "normalized": normalized, "seed": seed, "source": source}
        return self.execute("betweenness", own, certify, **options)

    def mis(self, certify: bool = False, **options: Any) -> Result:
        """A maximal independent set, always the same one: columns vertex, in_set (1 or 0)."""
        return self.execute("mis", {}, certify, **options)

    def coloring(self, certify: bool = False, **options: Any) -> Result:
        """Greedy colouring as networkx.greedy_color, the largest first: columns vertex, color (from 0)."""
        return self.execute("coloring", {}, certify, **options)

    def scc(self, certify: bool = False, **options: Any) -> Result:
        """Strongly connected components: columns vertex, component (the least vertex of the component)."""
        return self.execute("scc", {}, certify, **options)
