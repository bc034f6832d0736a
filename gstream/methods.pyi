"""The methods of `Graph` that run an algorithm. Made from the declarations: `make stubs` writes this file."""

from abc import ABC, abstractmethod
from typing import Any

from gstream.results.result import Result

class Methods(ABC):
    """Every method takes RunOptions by name beside its own options, and `certify` to prove the answer."""

    @abstractmethod
    def execute(self, algorithm: str, own: dict[str, Any], certify: bool = False, **options: Any) -> Result:
        """Run an algorithm by name with its own options and RunOptions."""

    def bfs(
        self, source: Any = None, depth_limit: int | None = None, predecessors: bool = True, targets: Any = None,
        start: Any = None, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Breadth-first search: fewest edges from a source. Columns: vertex, distance, predecessor.

        From the nearest source along out-edges. Of several predecessors that are as near, the one of least ID is taken.

        - source: a user ID or several; start here.
        - depth_limit: go at most N edges far; default: to the end.
        - predecessors: the column predecessor, and the pass that finds it.
        - targets, or target: user IDs, or a file with vertices, one a line: end where the farthest of them is reached.
        - start: a result, a table, a mapping from user IDs, or a file with the answer of an earlier run, as of the
          store before an update, to go on from.
        - certify: prove the answer (exact).
        """

    def pagerank(
        self, alpha: float = 0.85, tol: float = 1e-06, max_iter: int = 100, iterations: int | None = None,
        personalization: Any = None, weighted: bool = False, float64: bool = False, active_above: float | None = None,
        execution: str = "sync", start: Any = None, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """PageRank, NetworkX's definition. Columns: vertex, pagerank.

        The sum over all vertices is 1. Vertices without a given weight have personalization 0.

        - alpha: share of rank that follows edges.
        - tol: end at this L1 change in all; NetworkX's tol is a vertex's.
        - max_iter: end after N iterations.
        - iterations: exactly N iterations.
        - personalization: a mapping from user IDs to numbers, or a file with lines of `vertex weight`, parted by a tab,
          comma or blanks; "a, b" 1.
        - weighted: edges count by their weights.
        - float64: values in double precision.
        - active_above: leave out changes of a rank that are no greater; default: none.
        - execution: async: new values are visible at once; fewer sweeps from disk.
        - start: a result, a table, a mapping from user IDs, or a file with the answer of an earlier run, as of the
          store before an update, to go on from.
        - certify: prove the answer (a bound of the error).

        Definition: dangling vertices give to all, or by personalization; repeated edges count, by weights if weighted.
        """

    def sssp(
        self, source: Any = None, predecessors: bool = True, float64: bool = False, cutoff: float | None = None,
        targets: Any = None, execution: str = "sync", start: Any = None, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Shortest paths by edge weight from a source. Columns: vertex, distance, predecessor.

        From the nearest source. Sums of integer weights are exact; of float weights float32, or float64 on request. Of
        several predecessors on shortest paths, the one of least distance is taken, then of fewest edges from there,
        then of least ID.

        - source: a user ID or several; start here.
        - predecessors: the column predecessor, and the pass that finds it.
        - float64: values in double precision.
        - cutoff: vertices farther away count as not reached.
        - targets, or target: user IDs, or a file with vertices, one a line: end where the farthest of them is reached.
        - execution: async: new values are visible at once; fewer sweeps from disk.
        - start: a result, a table, a mapping from user IDs, or a file with the answer of an earlier run, as of the
          store before an update, to go on from.
        - certify: prove the answer (exact; of float weights a bound of the error).
        """

    def wcc(self, start: Any = None, certify: bool = False, **options: Any) -> Result:
        """Weakly connected components, named by their least vertex. Columns: vertex, component.

        - start: a result, a table, a mapping from user IDs, or a file with the answer of an earlier run, as of the
          store before an update, to go on from.
        - certify: prove the answer (exact).
        """

    def khop(
        self, source: Any = None, radius: float = 1, undirected: bool = False, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Vertices within some edges of a source. Columns: vertex, distance.

        The distance is null elsewhere.

        - source: a user ID or several; start here.
        - radius: edges from the source; weighted: the most that a path weighs.
        - undirected: along edges in either direction.
        - certify: prove the answer (exact).
        """

    def levels(self, weighted: bool = False, certify: bool = False, **options: Any) -> Result:
        """Topological levels, and longest paths, of a graph without cycles. Columns: vertex, level, distance.

        The column distance, of the longest path by weight, is there if weighted.

        - weighted: longest paths by weight, too.
        - certify: prove the answer (exact).

        Definition: most edges of a path that leads to a vertex; weighted, too: greatest weight of one, at least 0.
        """

    def widest(self, source: Any = None, execution: str = "sync", certify: bool = False, **options: Any) -> Result:
        """Paths whose lightest edge weighs most. Columns: vertex, width.

        - source: a user ID or several; start here.
        - execution: async: new values are visible at once; fewer sweeps from disk.
        - certify: prove the answer (exact).

        Definition: the greatest least weight of a path from a source, infinite at a source.
        """

    def betweenness(
        self, k: int | None = None, normalized: bool = True, seed: int | None = None, source: Any = None,
        endpoints: bool = False, weighted: bool = False, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Betweenness centrality, as in NetworkX. Columns: vertex, betweenness.

        Without k and source every vertex is a source: two sweeps a level of each. With source, shortest paths from
        there alone count.

        - k: an estimate from N sources, drawn; default: all.
        - normalized: scaled by the pairs of vertices.
        - seed: of what is drawn; default: new each time.
        - source: a user ID or several; start here.
        - endpoints: a path's ends count as on it.
        - weighted: edges count by their weights.
        - certify: prove the answer (all values, but for a bound and a chance of 10^-6).

        Definition: paths by edges, or weights if weighted; ends count if endpoints; / (n-1)(n-2), with ends n(n-1).
        """

    def rwr(
        self, source: Any = None, alpha: float = 0.85, tol: float = 1e-06, max_iter: int = 100, weighted: bool = False,
        float64: bool = False, execution: str = "sync", certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Random walks with restart: PageRank personalised to sources. Columns: vertex, proximity.

        With out-pages alone, every superstep looks at all of them; with in-pages, too, at those of few vertices.

        - source: a user ID or several; start here.
        - alpha: share of rank that follows edges.
        - tol: end at this L1 change in all; NetworkX's tol is a vertex's.
        - max_iter: end after N iterations.
        - weighted: edges count by their weights.
        - float64: values in double precision.
        - execution: async: new values are visible at once; fewer sweeps from disk.
        - certify: prove the answer (a bound of the error).

        Definition: PageRank from sources, dangling vertices lead there; repeated edges count, by weights if weighted.
        """

    def katz(
        self, alpha: float = 0.1, beta: float = 1.0, max_iter: int = 1000, tol: float = 1e-06, normalized: bool = True,
        weighted: bool = False, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Katz centrality, as in NetworkX. Columns: vertex, katz.

        - alpha: share of a value that each edge carries on.
        - beta: what each vertex has by itself.
        - max_iter: end after N iterations.
        - tol: end at this L1 change in all; NetworkX's tol is a vertex's.
        - normalized: values of length 1.
        - weighted: edges count by their weights.
        - certify: prove the answer (residual).

        Definition: along in-edges, L2 length 1 if normalized; repeated edges count, by weights if weighted.
        """

    def eigenvector(
        self, max_iter: int = 100, tol: float = 1e-06, weighted: bool = False, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Eigenvector centrality by in-edges, as in NetworkX. Columns: vertex, eigenvector.

        - max_iter: end after N iterations.
        - tol: end at this L1 change in all; NetworkX's tol is a vertex's.
        - weighted: edges count by their weights.
        - certify: prove the answer (residual).

        Definition: along in-edges, of A^T + I, L2 length 1; repeated edges count, by weights if weighted.
        """

    def hits(
        self, max_iter: int = 100, tol: float = 1e-08, normalized: bool = True, weighted: bool = False,
        certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Hubs and authorities, as in NetworkX. Columns: vertex, hub, authority.

        - max_iter: end after N iterations.
        - tol: end at this L1 change in all; NetworkX's tol is a vertex's.
        - normalized: hubs and authorities of sum 1.
        - weighted: edges count by their weights.
        - certify: prove the answer (residual).

        Definition: hubs and authorities of sum 1 if normalized; repeated edges count, by weights if weighted.
        """

    def degrees(self, certify: bool = False, **options: Any) -> Result:
        """Degree distribution: vertices of each degree. Columns: degree, vertices.

        A row is a degree. Directed graphs have columns out and in, too: vertices of that out-degree and in-degree. No
        page is read.

        - certify: prove the answer (every list counted).

        Definition: in- and out-edges together, repeated ones each; an undirected self-loop counts once (NetworkX:
        twice).
        """

    def hyperball(
        self, log2m: int = 7, max_distance: int | None = None, seed: int = 0, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Closeness and harmonic centrality, estimated. Columns: vertex, harmonic, closeness, reachable.

        HyperBall: HyperLogLog counters of what leads to a vertex. Summary: neighbourhood_function from distance 0 on,
        distance_distribution from 1 on, average_distance, effective_diameter (90 %), and standard_error of a counter,
        1.06 / sqrt(2^log2m). The same on any number of devices.

        - log2m: 2^N registers a counter, a byte each, 4 to 12.
        - max_distance: end after N edges; default: when no counter changes.
        - seed: of what is drawn.

        Definition: over paths to a vertex, by edges, scaled by what is reached; reachable: vertices with such a path.
        """

    def radius(
        self, sketches: int = 32, max_iter: int = 256, seed: int = 0, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Effective radii and diameter, estimated. Columns: vertex, radius.

        Two sketches take one search of all edges. Summary: effective_diameter.

        - sketches: Flajolet-Martin sketches a vertex.
        - max_iter: end after N hops.
        - seed: of what is drawn.

        Definition: edges to 90 % of what a vertex reaches along out-edges, estimated by sketches (HADI).
        """

    def closeness(
        self, wf_improved: bool = True, k: int | None = None, seed: int = 0, weighted: bool = False,
        certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Closeness centrality by paths to a vertex, as in NetworkX. Columns: vertex, closeness.

        64 sources take one search of all edges; by weights each takes its own. A certificate takes 16 searches, of
        small graphs up to 256 that look at 4 million edges together.

        - wf_improved: scale by what is reached.
        - k: an estimate from N sources, drawn; default: all.
        - seed: of what is drawn.
        - weighted: edges count by their weights.
        - certify: prove the answer (16 to 256 vertices, searched for again).

        Definition: over paths to a vertex, by edges, or weights if weighted; as Wasserman and Faust if wf_improved.
        """

    def harmonic(
        self, k: int | None = None, seed: int = 0, weighted: bool = False, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Harmonic centrality by paths to a vertex, as in NetworkX. Columns: vertex, harmonic.

        64 sources take one search of all edges; by weights each takes its own. A certificate takes 16 searches, of
        small graphs up to 256 that look at 4 million edges together.

        - k: an estimate from N sources, drawn; default: all.
        - seed: of what is drawn.
        - weighted: edges count by their weights.
        - certify: prove the answer (16 to 256 vertices, searched for again).

        Definition: sum of 1 / distance to a vertex, by edges, or weights if weighted; not divided by their number.
        """

    def heat(
        self, initial: Any = None, iterations: int = 10, rate: float | None = None, certify: bool = False,
        **options: Any,
    ) -> Result:  # fmt: skip
        """Heat simulation (CuSha, Garaph). Columns: vertex, temperature.

        - initial: a mapping from user IDs to numbers, or a file with lines of `vertex value`, parted by a tab, comma or
          blanks.
        - iterations: exactly N iterations.
        - rate: share of a difference that flows by unit of weight and step; default: stable.
        - certify: prove the answer (all steps again).

        Definition: rate * weight * difference flows along in-edges, all at once, `iterations` times; repeated edges
        count.
        """

    def circuit(self, initial: Any = None, iterations: int = 10, certify: bool = False, **options: Any) -> Result:
        """Circuit simulation (CuSha, Garaph). Columns: vertex, voltage.

        Voltages that `initial` gives are held.

        - initial: a mapping from user IDs to numbers, or a file with lines of `vertex value`, parted by a tab, comma or
          blanks.
        - iterations: exactly N iterations.
        - certify: prove the answer (all steps again).

        Definition: mean of in-neighbours by weight, all at once, `iterations` times; given ones hold; repeated edges
        count.
        """

    def neural(self, initial: Any = None, iterations: int = 10, certify: bool = False, **options: Any) -> Result:
        """Neural network simulation (CuSha, Garaph). Columns: vertex, activation.

        - initial: a mapping from user IDs to numbers, or a file with lines of `vertex value`, parted by a tab, comma or
          blanks.
        - iterations: exactly N iterations.
        - certify: prove the answer (all steps again).

        Definition: tanh of the weighted sum of in-neighbours, all at once, `iterations` times; repeated edges count.
        """

    def stats(
        self, distances: bool = True, log2m: int = 7, seed: int = 0, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Figures of a graph, from degrees to distances. Columns: degree, vertices.

        A row is a degree, as of `degrees`. Summary: degree and, with weights, strength (mean, deviation, least, median,
        p90, p99, greatest), reciprocity of directed graphs, assortativity, transitivity, triangles; and by HyperBall
        average_distance, effective_diameter, standard_error and distance_distribution.

        - distances: the figures of distances, which take most of the time.
        - log2m: 2^N registers a counter, a byte each, 4 to 12.
        - seed: of what is drawn.
        - certify: prove the answer (degrees and strengths again; assortativity the other way).

        Definition: reciprocity, transitivity: simple graph, triangles either way; assortativity: out- and in-degree.
        """

    def msf(self, certify: bool = False, **options: Any) -> Result:
        """Edges of a minimum spanning forest. Columns: source, target, weight.

        There is one answer. Summary: total_weight, forest_edges, trees.

        - certify: prove the answer (exact).

        Definition: ties by the edges' ends, the lesser first; the lightest of repeated edges, no self-loops.
        """

    def scc(self, certify: bool = False, **options: Any) -> Result:
        """Strongly connected components, named by their least vertex. Columns: vertex, component.

        - certify: prove the answer (by its definition).
        """

    def hcc(self, execution: str = "sync", certify: bool = False, **options: Any) -> Result:
        """Components by label propagation. Columns: vertex, component.

        wcc is faster.

        - execution: async: new values are visible at once; fewer sweeps from disk.
        - certify: prove the answer (exact).
        """

    def lcc(self, weighted: bool = False, certify: bool = False, **options: Any) -> Result:
        """Local clustering coefficient, LDBC's definition. Columns: vertex, lcc.

        Of undirected graphs networkx.clustering's; by weights, of directed ones too. Weighted values have 7 digits, and
        each edge may be stored once only.

        - weighted: edges count by their weights.
        - certify: prove the answer (64 vertices, counted again; by weights 16).

        Definition: LDBC's: edges among neighbours either way / d(d - 1) (directed NetworkX: Fagiolo's); simple graph.
        """

    def kcore(self, k: int | None = None, certify: bool = False, **options: Any) -> Result:
        """Core number of every vertex, or with k the vertices of the k-core. Columns: vertex, core.

        As networkx.core_number. With k the column is in_core: 1 or 0.

        - k: the vertices of the N-core; default: all core numbers.
        - certify: prove the answer (by its definition).

        Definition: in- and out-neighbours added up; simple graph: no self-loops, repeated edges once.
        """

    def ktruss(self, k: int | None = None, certify: bool = False, **options: Any) -> Result:
        """Truss number of every edge, or with k the edges of the k-truss. Columns: source, target, truss.

        As in networkx.k_truss. With k there is no column truss.

        - k: the edges of the N-truss; default: all truss numbers.
        - certify: prove the answer (by its definition, whole lists).

        Definition: edges in k - 2 triangles of the k-truss or more, as NetworkX; simple graph.
        """

    def triangles(self, certify: bool = False, **options: Any) -> Result:
        """Triangles of every vertex. Columns: vertex, triangles.

        As networkx.triangles. Summary: triangles, all of them.

        - certify: prove the answer (64 vertices, counted again; the sum).

        Definition: simple graph: no self-loops, repeated edges once.
        """

    def cdlp(self, iterations: int = 10, certify: bool = False, **options: Any) -> Result:
        """Communities by label propagation, LDBC's definition. Columns: vertex, community.

        A community is named by a vertex of the graph.

        - iterations: N rounds, fewer where nothing changes.

        Definition: LDBC's: rounds all at once, ties to the least label; repeated edges and two-way neighbours count
        each.
        """

    def coloring(self, certify: bool = False, **options: Any) -> Result:
        """Greedy colouring, vertices of large degree first. Columns: vertex, color.

        As networkx.greedy_color, the largest first; colours count from 0.

        - certify: prove the answer (by its definition).

        Definition: greedy, large degrees as stored first, ties by a hash; neighbours either way, self-loops don't
        count.
        """

    def mis(self, certify: bool = False, **options: Any) -> Result:
        """A maximal independent set. Columns: vertex, in_set.

        The set, whose vertices have in_set 1 and others 0, is the same in any order of the store.

        - certify: prove the answer (by its definition).

        Definition: greedy, small degrees as stored first, ties by a hash; neighbours either way, self-loops don't
        count.
        """

    def modularity(
        self, partition: Any = None, weighted: bool = False, resolution: float = 1.0, undirected: bool = False,
        certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Modularity of given communities. Columns: community, vertices, inside, strength, modularity.

        A row is a community, named by its least vertex: its vertices, the weight inside, its strength (the mean of out-
        and in-strength), and what it adds to the modularity. Summary: modularity, communities, coverage (the share of
        weight inside).

        - partition: a result, a table, a mapping from user IDs, or a file with columns `vertex` and `community`:
          .parquet .arrow .npy .csv .tsv.
        - weighted: edges count by their weights.
        - resolution: more than 1: smaller communities.
        - undirected: along edges in either direction.
        - certify: prove the answer (weights between communities summed again, and strengths).

        Definition: directed: out- and in-strengths (Leicht, Newman); either way: strengths, self-loops count twice.
        """

    def leiden(
        self, weighted: bool = False, resolution: float = 1.0, seed: int = 0, max_levels: int = 32,
        certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Communities, each connected (Leiden). Columns: vertex, community.

        A community is named by its least vertex. Summary: communities, modularity, levels.

        - weighted: edges count by their weights.
        - resolution: more than 1: smaller communities.
        - seed: of what is drawn.
        - max_levels: end after N levels.
        - certify: prove the answer (modularity summed again, communities connected).

        Definition: edges count in either direction, repeated ones each; a self-loop counts twice at its vertex.
        """

    def louvain(
        self, weighted: bool = False, resolution: float = 1.0, seed: int = 0, max_levels: int = 32,
        certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Communities (Louvain). Columns: vertex, community.

        A community is named by its least vertex. Summary: communities, modularity, levels.

        - weighted: edges count by their weights.
        - resolution: more than 1: smaller communities.
        - seed: of what is drawn.
        - max_levels: end after N levels.
        - certify: prove the answer (modularity summed again).

        Definition: edges count in either direction, repeated ones each; a self-loop counts twice at its vertex.
        """

    def subgraph(self, nodes: Any = None, certify: bool = False, **options: Any) -> Result:
        """Edges among some vertices: the induced subgraph. Columns: source, target, weight.

        The column weight is there where the store has weights. Of an undirected edge the lesser end comes first.

        - nodes, or node: user IDs, or a file with vertices, one a line.
        - certify: prove the answer (exact, by hashes).

        Definition: edges with both ends in the set, repeated ones and self-loops each; an undirected edge is one row.
        """

    def egonet(
        self, source: Any = None, radius: float = 1, center: bool = True, undirected: bool = False,
        weighted: bool = False, certify: bool = False, **options: Any,
    ) -> Result:  # fmt: skip
        """Edges among the vertices within some edges of a source. Columns: source, target, weight.

        The column weight is there where the store has weights.

        - source: a user ID or several; start here.
        - radius: edges from the source; weighted: the most that a path weighs.
        - center: with its sources.
        - undirected: along edges in either direction.
        - weighted: edges count by their weights.
        - certify: prove the answer (exact, by hashes).

        Definition: edges among what lies within the radius, along out-edges or, undirected, any; weighted: of paths.
        """

    def cross(self, nodes: Any = None, targets: Any = None, certify: bool = False, **options: Any) -> Result:
        """Edges from some vertices to others. Columns: source, target, weight.

        The column weight is there where the store has weights. Of undirected stores the edges between the sets.

        - nodes, or node: user IDs, or a file with vertices, one a line.
        - targets, or target: user IDs, or a file with vertices that edges lead to, one a line; default: all others.
        - certify: prove the answer (exact, by hashes).

        Definition: edges from the first set to the second, repeated ones each; directed, not back (NetworkX: both
        ways).
        """
