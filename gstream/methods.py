"""The methods of `Graph` for gstream.algorithms.program_algorithms and page kernels: each runs an algorithm by its
name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from gstream.results.result import Result


class Methods(ABC):
    """Every method takes RunOptions by name beside its own options, and `certify` to prove the answer."""

    @abstractmethod
    def execute(self, algorithm: str, own: dict[str, Any], certify: bool = False, **options: Any) -> Result:
        """Run an algorithm by name with its own options and RunOptions."""

    def rwr(
        self, source: Any = None, alpha: float = 0.85, tol: float = 1e-6, max_iter: int = 100, float64: bool = False,
        certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Random walks with restart, PageRank personalised to one or several sources: columns vertex, proximity.

        Edge weights are not read.
        """
        own = {"source": source, "alpha": alpha, "tol": tol, "max_iter": max_iter, "float64": float64}
        return self.execute("rwr", own, certify, **options)

    def katz(
        self, alpha: float = 0.1, beta: float = 1.0, max_iter: int = 1000, tol: float = 1e-6, normalized: bool = True,
        certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Katz centrality: columns vertex, katz. tol is the absolute L1 change; normalized: of length 1 (L2)."""
        own = {"alpha": alpha, "beta": beta, "max_iter": max_iter, "tol": tol, "normalized": normalized}
        return self.execute("katz", own, certify, **options)

    def eigenvector(self, max_iter: int = 100, tol: float = 1e-6, certify: bool = False, **options: Any) -> Result:
        """Eigenvector centrality over in-edges: columns vertex, eigenvector (length 1: L2)."""
        return self.execute("eigenvector", {"max_iter": max_iter, "tol": tol}, certify, **options)

    def hits(
        self, max_iter: int = 100, tol: float = 1e-8, normalized: bool = True, certify: bool = False, **options: Any
    ) -> Result:
        """Hubs and authorities (Kleinberg): columns vertex, hub, authority, each of sum 1."""
        return self.execute("hits", {"max_iter": max_iter, "tol": tol, "normalized": normalized}, certify, **options)

    def degrees(self, certify: bool = False, **options: Any) -> Result:
        """Degree distribution: columns degree, vertices, and of directed graphs out and in; a row a degree."""
        return self.execute("degrees", {}, certify, **options)

    def khop(
        self, source: Any = None, radius: int = 1, undirected: bool = False, certify: bool = False, **options: Any
    ) -> Result:
        """Vertices within `radius` edges of one or several sources: columns vertex, distance (null elsewhere).

        undirected: along edges of a directed graph in either direction.
        """
        own = {"source": source, "radius": radius, "undirected": undirected}
        return self.execute("khop", own, certify, **options)

    def hcc(self, certify: bool = False, **options: Any) -> Result:
        """Components by label propagation (undirected stores): columns vertex, component. `wcc` is faster."""
        return self.execute("hcc", {}, certify, **options)

    def widest(self, source: Any = None, certify: bool = False, **options: Any) -> Result:
        """Greatest least weight of a path from one of the sources: columns vertex, width (inf at a source)."""
        return self.execute("widest", {"source": source}, certify, **options)

    def levels(self, weighted: bool = False, certify: bool = False, **options: Any) -> Result:
        """Topological levels: columns vertex, level; weighted: and distance, of the longest path by weight."""
        return self.execute("levels", {"weighted": weighted}, certify, **options)

    def closeness(self, wf_improved: bool = True, k: int | None = None, seed: int = 0, **options: Any) -> Result:
        """Closeness centrality over paths to a vertex: columns vertex, closeness. k: estimated from so many sources."""
        return self.execute("closeness", {"wf_improved": wf_improved, "k": k, "seed": seed}, **options)

    def harmonic(self, k: int | None = None, seed: int = 0, **options: Any) -> Result:
        """Harmonic centrality over paths to a vertex: columns vertex, harmonic. k: estimated from so many sources."""
        return self.execute("harmonic", {"k": k, "seed": seed}, **options)

    def radius(self, sketches: int = 32, max_iter: int = 256, seed: int = 0, **options: Any) -> Result:
        """Effective radii by Flajolet-Martin sketches (HADI): columns vertex, radius; summary: effective_diameter."""
        return self.execute("radius", {"sketches": sketches, "max_iter": max_iter, "seed": seed}, **options)

    def heat(self, initial: Any = None, iterations: int = 10, rate: float | None = None, **options: Any) -> Result:
        """Heat simulation from first temperatures (a mapping, or a file): columns vertex, temperature."""
        return self.execute("heat", {"initial": initial, "iterations": iterations, "rate": rate}, **options)

    def circuit(self, initial: Any = None, iterations: int = 10, **options: Any) -> Result:
        """Circuit simulation; `initial` voltages are held: columns vertex, voltage."""
        return self.execute("circuit", {"initial": initial, "iterations": iterations}, **options)

    def neural(self, initial: Any = None, iterations: int = 10, **options: Any) -> Result:
        """Neural network simulation from first activations: columns vertex, activation."""
        return self.execute("neural", {"initial": initial, "iterations": iterations}, **options)

    # Page kernels (gstream.devices.page_kernel), streamed by the driver

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
        endpoints: bool = False, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Betweenness centrality as NetworkX defines and scales it: columns vertex, betweenness.

        endpoints: a path's ends count as on it.

        k: estimate it from so many sources drawn at random (seed: always the same ones); source: a user ID or several,
        whose shortest paths alone count. Without both, every vertex is a source: two sweeps a level of each.
        """
        own = {"k": k, "normalized": normalized, "seed": seed, "source": source, "endpoints": endpoints}
        return self.execute("betweenness", own, certify, **options)

    def mis(self, certify: bool = False, **options: Any) -> Result:
        """A maximal independent set, the same one in any order of the store: columns vertex, in_set (1 or 0)."""
        return self.execute("mis", {}, certify, **options)

    def coloring(self, certify: bool = False, **options: Any) -> Result:
        """Greedy colouring as networkx.greedy_color, the largest first: columns vertex, color (from 0)."""
        return self.execute("coloring", {}, certify, **options)

    def scc(self, certify: bool = False, **options: Any) -> Result:
        """Strongly connected components: columns vertex, component (the least vertex of the component)."""
        return self.execute("scc", {}, certify, **options)

    def msf(self, certify: bool = False, **options: Any) -> Result:
        """Minimum spanning forest of an undirected store with weights: columns source, target, weight, a row an edge.

        Edges of equal weight go by their ends, so there is one answer. Summary: total_weight, forest_edges, trees.
        """
        return self.execute("msf", {}, certify, **options)

    def ktruss(self, k: int | None = None, certify: bool = False, **options: Any) -> Result:
        """Truss numbers of an undirected store's edges: columns source, target, truss; with k: those of the k-truss.

        As networkx.k_truss, each edge in k - 2 triangles of the k-truss. Self-loops and duplicates don't count.
        """
        return self.execute("ktruss", {"k": k}, certify, **options)

    # Edges between chosen vertices: rows stay in the pages, and are read when they are asked for or written

    def subgraph(self, nodes: Any = None, certify: bool = False, **options: Any) -> Result:
        """The edges among `nodes` (user IDs, or the path of a file of them): columns source, target and weight.

        An undirected edge is one row, the lesser end first. `weight`: where the store has weights.
        """
        return self.execute("subgraph", {"nodes": kept(nodes)}, certify, **options)

    def egonet(
        self, source: Any = None, radius: int = 1, center: bool = True, undirected: bool = False, certify: bool = False,
        **options: Any,
    ) -> Result:  # fmt: skip
        """The edges among the vertices within `radius` edges of one or several sources: columns as of `subgraph`.

        center: the sources are among those vertices. undirected: near along edges in either direction.
        """
        own = {"source": source, "radius": radius, "center": center, "undirected": undirected}
        return self.execute("egonet", own, certify, **options)

    def cross(self, nodes: Any = None, targets: Any = None, certify: bool = False, **options: Any) -> Result:
        """The edges from `nodes` to `targets` (user IDs, or files of them; None: all others): columns as of `subgraph`.

        Of undirected stores the edges between them; `source` is one of `nodes`.
        """
        return self.execute("cross", {"nodes": kept(nodes), "targets": kept(targets)}, certify, **options)


def kept(vertices: Any) -> Any:
    """`vertices` as they are, an iterator's as a list: the certificate asks for them again."""
    return list(vertices) if isinstance(vertices, Iterator) else vertices
