"""What others make of the graph that an algorithm was measured on: their times, and whether our answer is theirs.

Each function takes (case, own options, our answer), refuses a wrong answer and returns what it found; who is timed with
it does the same work, unless its name says otherwise. Peers run as bench.peers says: building their graphs is not
timed. Where a peer defines things in another way, the definition itself runs on scipy's mat-vec: networkit's Katz
centralities are of another fixed point (it scales the vector in each round), its eigenvectors stop by another rule.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bench import peers, stores
from bench.components import named_by_least
from bench.context import Context
from bench.figures import Samples, check, timed
from bench.graphs import Csr, Graph, directed_csr

RUNS = 3
ENOUGH_SECONDS = 2.0  # a first run that takes longer is not repeated: there are 28 rows, some with several peers
ORDER = "degree"  # what the docs advise for graphs with hubs; bench.bfs and others show both
LEAST_SCALE = 6  # of a graph that is made smaller
MOST_SEARCHED_EDGES = 1 << 33  # networkit's exact closeness beyond: V * E edges at some 10^8 a second and core
DRAWN = 32  # vertices whose distances to all others check closeness and radii
HALF_AN_EDGE = 0.5  # of an effective diameter: 32 sketches and 32 sources are two samples
ROUNDING = 1e-9  # relative, between float64 sums in different orders
FLOAT32_L1 = 1e-4  # of shares of sum 1, kept as float32 and run to 1e-6


@dataclass(frozen=True)
class Found:
    """Seconds of each peer, and what our answer was compared with."""

    times: dict[str, Samples] = field(default_factory=dict)
    checked: str = ""


def repeated(runs: int, call: Callable[[], Any]) -> tuple[Samples, Any]:
    """Run `call` `runs` times, or once where that takes long; the seconds of each run and the last answer."""
    first, answer = timed(1, call)
    if runs <= 1 or first.median > ENOUGH_SECONDS:
        return first, answer
    del answer
    rest, answer = timed(runs - 1, call)
    return Samples(first.seconds + rest.seconds), answer


class Case:
    """A graph as an algorithm takes it: one of KINDS, `below` scales smaller than the context's RMAT graph."""

    def __init__(self, context: Context, kind: str, below: int) -> None:
        self.context, self.kind = context, kind
        self.graph = context.graph
        if below and self.graph.scale is not None:
            least = min(self.graph.scale, LEAST_SCALE)
            self.graph = Graph(f"rmat-{max(least, self.graph.scale - below)}", self.graph.seed)
        self.directed, self.weighted = kind in ("directed", "acyclic"), kind == "weighted"
        self._held: tuple[str, Any] = ("", None)

    @property
    def words(self) -> str:
        return f"{self.graph.name} {KINDS[self.kind].words}, {ORDER} order"

    @property
    def path(self) -> Path:
        return KINDS[self.kind].store(self.graph)

    @cached_property
    def csr(self) -> Csr:
        return KINDS[self.kind].csr(self.graph)

    def repeated(self, call: Callable[[], Any]) -> tuple[Samples, Any]:
        return repeated(self.context.times(RUNS), call)

    def _peer(self, name: str, build: Callable[[], Any]) -> Any:
        if self._held[0] != name:
            self._held = ("", None)  # one at a time: igraph's alone may take 10 GiB
            self._held = (name, build())
        return self._held[1]

    @property
    def networkit(self) -> Any:
        threads = self.context.threads
        return self._peer("networkit", lambda: peers.networkit_graph(self.csr, threads, self.weighted, self.directed))

    @property
    def igraph(self) -> Any:
        return self._peer("igraph", lambda: peers.igraph_graph(self.csr, self.weighted, self.directed)[0])

    @property
    def matrix(self) -> Any:
        """scipy's matrix of float64, row u holding the edges from u."""
        return self._peer("scipy", lambda: peers.scipy_matrix(self.csr, "float64", self.weighted))


@dataclass(frozen=True)
class Kind:
    """A form of a graph: its words in the table, its edges for peers, its store."""

    words: str
    csr: Callable[[Graph], Csr]
    store: Callable[[Graph], Path]


KINDS = {
    "undirected": Kind("undirected", lambda graph: graph.kron, lambda graph: stores.kron(graph, ORDER)),
    "weighted": Kind(
        "undirected, weights 1..255",
        lambda graph: graph.kron,
        lambda graph: stores.kron(graph, ORDER, weighted=True),
    ),
    "directed": Kind(
        "directed, edges once",
        lambda graph: directed_csr(graph.edges, graph.vertices),
        lambda graph: stores.directed(graph, ORDER),
    ),
    "acyclic": Kind(
        "directed from lesser to greater vertices",
        lambda graph: graph.kron.upward(),
        lambda graph: stores.acyclic(graph, ORDER),
    ),
}


def column(answer: Any, name: str) -> np.ndarray:
    """A column of an answer in vertex order."""
    return answer.to_numpy()[name]


def _check_l1(name: str, mine: np.ndarray, theirs: Any, allowed: float) -> None:
    off = float(np.abs(mine.astype(np.float64) - np.asarray(theirs)).sum())
    check(off <= allowed, f"{name}: values differ by {off:.3g} in L1; {allowed:.3g} is allowed")


def _check_close(name: str, mine: np.ndarray, theirs: Any) -> None:
    expected = np.asarray(theirs, dtype=np.float64)
    off, most = float(np.abs(mine - expected).max(initial=0.0)), float(np.abs(expected).max(initial=0.0))
    check(off <= ROUNDING * most, f"{name}: a value differs by {off:.3g}, and {most:.3g} is the greatest")


def by_networkit(case: Case, make: Callable[[Any], Any]) -> tuple[Samples, Any]:
    """Seconds of an algorithm of networkit's, made anew for each run, and the algorithm after its last."""
    graph = case.networkit
    return case.repeated(lambda: make(graph).run())


def rwr(case: Case, own: dict[str, Any], answer: Any) -> Found:
    graph, source = case.igraph, own["source"]
    samples, theirs = case.repeated(lambda: graph.personalized_pagerank(damping=0.85, reset_vertices=[source]))
    _check_l1("rwr", column(answer, "proximity"), theirs, FLOAT32_L1)
    return Found({"igraph personalized_pagerank": samples}, f"igraph's within {FLOAT32_L1} in L1")


def _powers(case: Case, step: Callable[[np.ndarray], np.ndarray], x: np.ndarray, own: dict[str, Any]) -> Any:
    """(seconds, vector) of x = step(x) until it moves by less than `tol` in L1, or `max_iter` times."""

    def iterate() -> np.ndarray:
        now = x
        for _ in range(own["max_iter"]):
            last, now = now, step(now)
            if np.abs(now - last).sum() < own["tol"]:
                break
        return now

    return case.repeated(iterate)


def katz(case: Case, own: dict[str, Any], answer: Any) -> Found:
    matrix, alpha = case.matrix, own["alpha"]
    samples, x = _powers(case, lambda x: 1.0 + alpha * (matrix @ x), np.zeros(case.csr.vertices), own)
    _check_close("katz", column(answer, "katz"), x / np.linalg.norm(x))
    return Found({"scipy mat-vec, until it converges": samples}, "the same iteration by scipy's mat-vec")


def eigenvector(case: Case, own: dict[str, Any], answer: Any) -> Found:
    matrix, vertices = case.matrix, case.csr.vertices

    def step(x: np.ndarray) -> np.ndarray:
        following = x + matrix @ x
        return following / np.linalg.norm(following)

    samples, x = _powers(case, step, np.full(vertices, vertices**-0.5), own)
    _check_l1("eigenvector", column(answer, "eigenvector"), x, vertices**0.5 * own["tol"])
    from networkit import centrality

    theirs, _ = by_networkit(case, lambda graph: centrality.EigenvectorCentrality(graph, own["tol"]))
    times = {"scipy mat-vec, until it converges": samples, "networkit, its own stopping rule": theirs}
    return Found(times, "the same iteration by scipy's mat-vec")


def hits(case: Case, own: dict[str, Any], answer: Any) -> Found:
    matrix, vertices = case.matrix, case.csr.vertices
    transposed = matrix.T.tocsr()

    def step(hub: np.ndarray) -> np.ndarray:
        authority = transposed @ hub
        following = matrix @ (authority / (authority.sum() or 1.0))
        return following / (following.sum() or 1.0)

    samples, hub = _powers(case, step, np.full(vertices, 1 / vertices), own)
    _check_l1("hits", column(answer, "hub"), hub, 2 * own["tol"])
    graph = case.igraph
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of zeros: vertices without an edge have them
        theirs, _ = case.repeated(graph.hub_score)
    times = {"scipy mat-vec, until it converges": samples, "igraph hub_score, hubs alone": theirs}
    return Found(times, "hubs of the same iteration by scipy's mat-vec")


def kcore(case: Case, own: dict[str, Any], answer: Any) -> Found:
    from networkit import centrality

    samples, theirs = by_networkit(case, centrality.CoreDecomposition)
    check(np.array_equal(column(answer, "core"), theirs.scores()), "kcore: numbers differ from networkit's")
    graph = case.igraph
    others, cores = case.repeated(graph.coreness)
    check(np.array_equal(column(answer, "core"), cores), "kcore: numbers differ from igraph's")
    return Found({"networkit CoreDecomposition": samples, "igraph coreness": others}, "networkit's and igraph's")


def clustering(case: Case, own: dict[str, Any], answer: Any) -> Found:
    """LCC, and triangles, which follow from it."""
    from networkit import centrality

    samples, theirs = by_networkit(case, lambda graph: centrality.LocalClusteringCoefficient(graph, True))
    expected, degree = np.array(theirs.scores()), case.csr.degree.astype(np.float64)
    if "lcc" in answer.columns:
        _check_close("lcc", column(answer, "lcc"), expected)
    else:
        counted = np.rint(expected * degree * (degree - 1) / 2)
        check(np.array_equal(column(answer, "triangles"), counted), "triangles: numbers differ from networkit's")
    return Found({"networkit LocalClusteringCoefficient, turbo": samples}, "networkit's")


def coloring(case: Case, own: dict[str, Any], answer: Any) -> Found:
    graph = case.igraph
    samples, theirs = case.repeated(graph.vertex_coloring_greedy)
    mine = int(column(answer, "color").max(initial=-1)) + 1
    return Found({f"igraph vertex_coloring_greedy, {max(theirs) + 1} colours to {mine}": samples})


def betweenness(case: Case, own: dict[str, Any], answer: Any) -> Found:
    graph = case.igraph
    samples, theirs = case.repeated(lambda: graph.betweenness(sources=own["source"]))
    _check_close("betweenness", column(answer, "betweenness"), theirs)
    return Found({"igraph betweenness, the same sources": samples}, "igraph's from the same sources")


def _distances(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """(vertices drawn from the seed, f8[drawn, V] of networkit's distances from them, negative: no path)."""
    vertices = case.csr.vertices
    drawn = np.random.default_rng(case.graph.seed).choice(vertices, size=min(DRAWN, vertices), replace=False)
    rows = []
    for vertex in drawn.tolist():
        search = peers.networkit_distances(case.networkit, vertex, weighted=False)
        search.run()
        rows.append(peers.finite(search.getDistances()))
    return drawn, np.array(rows)


def closeness(case: Case, own: dict[str, Any], answer: Any) -> Found:
    """Closeness and harmonic centrality."""
    from networkit import centrality

    drawn, distance = _distances(case)
    away, others = distance > 0, case.csr.vertices - 1
    reached, total = away.sum(axis=1), np.where(away, distance, 0).sum(axis=1)
    name = answer.columns[1]
    if name == "harmonic":
        expected = np.where(away, 1 / np.where(away, distance, 1), 0).sum(axis=1)
    else:
        expected = np.divide(reached * (reached / others), total, out=np.zeros(len(drawn)), where=total > 0)
    _check_close(name, column(answer, name)[drawn], expected)
    checked = f"networkit's distances of {len(drawn)} vertices"
    if case.csr.vertices * case.csr.edges > MOST_SEARCHED_EDGES:
        return Found({}, checked)
    generalized = centrality.ClosenessVariant.GENERALIZED
    kinds: dict[str, Callable[[Any], Any]] = {
        "harmonic": lambda graph: centrality.HarmonicCloseness(graph, False),
        "closeness": lambda graph: centrality.Closeness(graph, True, generalized),
    }
    samples, theirs = by_networkit(case, kinds[name])
    _check_close(name, column(answer, name), theirs.scores())
    return Found({f"networkit, exact {name}": samples}, f"networkit's, and {checked}")


def radius(case: Case, own: dict[str, Any], answer: Any) -> Found:
    """The effective diameter, against that of exact distances from a few vertices; radii themselves are estimates."""
    _, distance = _distances(case)
    within = np.cumsum(np.bincount(distance[distance >= 0].astype(np.int64)))
    wanted = 0.9 * within[-1]
    after = int(np.searchsorted(within, wanted))
    before = within[after - 1] if after else 0
    exact = after - 1 + (wanted - before) / (within[after] - before) if after else 0.0
    found = answer.summary["effective_diameter"]
    check(abs(found - exact) <= HALF_AN_EDGE, f"radius: effective diameter {found:.3g}, of {DRAWN} sources {exact:.3g}")
    return Found(
        {}, f"effective diameter {found:.2f}, by networkit's distances from {len(distance)} vertices {exact:.2f}"
    )


def cdlp(case: Case, own: dict[str, Any], answer: Any) -> Found:
    """By sorting (vertex, label of neighbour) pairs, each round anew."""
    csr = case.csr
    source, low = csr.sources().astype(np.uint64) << np.uint64(32), np.uint64(0xFFFFFFFF)
    label = np.arange(csr.vertices, dtype=np.uint64)
    for _ in range(own["iterations"]):
        pairs = np.sort(source | label[csr.indices])
        begins = np.flatnonzero(np.concatenate(([True], pairs[1:] != pairs[:-1])))
        times = np.diff(np.append(begins, len(pairs))).astype(np.uint64)
        vertex, seen = pairs[begins] >> np.uint64(32), pairs[begins] & low
        score = times << np.uint64(32) | (low - seen)  # the most frequent, of several the least
        lists = np.flatnonzero(np.concatenate(([True], vertex[1:] != vertex[:-1])))
        label[vertex[lists]] = low - (np.maximum.reduceat(score, lists) & low)
    check(np.array_equal(column(answer, "community"), label.astype(np.int64)), "cdlp: labels differ")
    return Found({}, "labels of the same rounds by sorting, in NumPy")


def hyperball(case: Case, own: dict[str, Any], answer: Any) -> Found:
    pairs, exact = answer.summary["neighbourhood_function"], case.csr.vertices + len(case.csr.indices)
    near = abs(pairs[1] - exact) <= 4 * answer.summary["standard_error"] * exact
    check(near, "hyperball: pairs within one edge are too many, or too few")
    return Found({}, "pairs within one edge, counted")


def stats(case: Case, own: dict[str, Any], answer: Any) -> Found:
    graph, said = case.igraph, answer.summary
    samples, theirs = case.repeated(lambda: (graph.transitivity_undirected(), graph.assortativity_degree(False)))
    for name, value in zip(("transitivity", "assortativity"), theirs, strict=True):
        check(abs(said[name] - value) <= 1e-9, f"stats: {name} differs from igraph's")
    counts = np.bincount(case.csr.degree)
    check(np.array_equal(column(answer, "vertices"), counts[counts > 0]), "stats: other counts of a degree")
    return Found({"igraph, transitivity and assortativity alone": samples}, "igraph's, degrees by counting")


def simulation(case: Case, own: dict[str, Any], answer: Any) -> Found:
    """Heat, circuit and neural network by the equations of gstream/programs/, on scipy's mat-vec."""
    matrix, vertices, name = case.matrix, case.csr.vertices, answer.columns[1]
    held = np.array(list(own["initial"]), dtype=np.int64)
    start = np.zeros(vertices)
    start[held] = list(own["initial"].values())

    def simulate() -> np.ndarray:
        x, inflow = start, matrix @ np.ones(vertices)
        rate = 1 / (inflow.max(initial=0.0) or 1.0)
        divisor = inflow.copy()
        divisor[held] = 0.0
        kept = divisor == 0
        divisor[kept] = 1.0
        for _ in range(own["iterations"]):
            got = matrix @ x  # symmetric: its rows are in-edges, too
            if name == "temperature":
                x = x + rate * (got - inflow * x)
            elif name == "voltage":
                x = np.where(kept, x, got / divisor)
            else:
                x = np.tanh(got)
        return x

    samples, x = case.repeated(simulate)
    _check_close(answer.summary["algorithm"], column(answer, name), x)
    return Found({"scipy mat-vec": samples}, "the same steps by scipy's mat-vec")


def msf(case: Case, own: dict[str, Any], answer: Any) -> Found:
    from networkit import graph as graphs
    from scipy.sparse.csgraph import minimum_spanning_tree

    weight = float(column(answer, "weight").sum())
    samples, theirs = by_networkit(case, graphs.KruskalMSF)
    check(weight == theirs.getTotalWeight(), f"msf: weighs {weight}, networkit's {theirs.getTotalWeight()}")
    matrix = case.matrix
    others, tree = case.repeated(lambda: minimum_spanning_tree(matrix))
    check((weight, len(answer)) == (tree.sum(), tree.nnz), f"msf: weighs {weight}, scipy's {tree.sum()}")
    times = {"networkit KruskalMSF": samples, "scipy minimum_spanning_tree": others}
    return Found(times, "edges and weight of scipy's, weight of networkit's")


def scc(case: Case, own: dict[str, Any], answer: Any) -> Found:
    from networkit import components
    from scipy.sparse.csgraph import connected_components

    samples, (_, label) = case.repeated(lambda m=case.matrix: connected_components(m, connection="strong"))
    ours = column(answer, "component").astype(np.int64)
    check(np.array_equal(ours, named_by_least(label)), "scc: labels differ from scipy's components")
    others, theirs = by_networkit(case, components.StronglyConnectedComponents)
    check(theirs.numberOfComponents() == label.max(initial=-1) + 1, "scc: networkit finds another number")
    times = {"scipy connected_components": samples, "networkit StronglyConnectedComponents": others}
    return Found(times, "labels of scipy's components, each named by its least vertex")


def levels(case: Case, own: dict[str, Any], answer: Any) -> Found:
    return Found({"igraph topological_sorting, no levels": case.repeated(case.igraph.topological_sorting)[0]})
