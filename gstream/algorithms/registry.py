"""The algorithms by name: what each takes, needs and gives. The command line and `Graph` both read this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gstream.algorithms.program_algorithms import ENTRIES, EXTRACTS
from gstream.options import values as given
from gstream.options.wording import KEYWORDS
from pagestore.concurrency import LOADING
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from gstream.options.run_options import RunOptions
    from gstream.results.result import Result

LIKE = 0.75  # how like a name must be to be meant: k-core is kcore, dfs not bfs
KINDS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("depth_limit", "iterations", "max_iter", "radius", "k", "seed", "sketches"), given.whole),
    **dict.fromkeys(("alpha", "beta", "tol", "rate", "cutoff"), given.number),
    **dict.fromkeys(
        (
            "predecessors",
            "normalized",
            "float64",
            "weighted",
            "wf_improved",
            "center",
            "endpoints",
            "undirected",
        ),
        given.switch,
    ),
}  # of options; vertices, and files or mappings of them, are read where they are used
ENDS = (  # may be others when a run is gone on with
    "depth_limit", "radius", "max_iter", "iterations", "tol", "predecessors", "normalized", "cutoff",
)  # fmt: skip
WORDS_BYTES = 8 * 8  # that the bitmaps of a certificate have in their last words
# Those whose answer is one run of one program; others are several runs, or page kernels.
KEPT = ("bfs", "khop", "pagerank", "rwr", "sssp", "widest", "hcc", "katz", "eigenvector")

PROOF_BYTES = {  # a vertex, that the certificate holds at most beside pages, of 4-byte IDs; ktruss knows that of edges
    "bfs": 8, "pagerank": 36, "sssp": 24, "wcc": 8, "rwr": 36, "katz": 16, "eigenvector": 32, "hits": 64, "degrees": 32,
    "khop": 9, "hcc": 8, "widest": 9, "levels": 32, "closeness": 9, "harmonic": 9, "heat": 56, "circuit": 56,
    "neural": 56, "subgraph": 4, "egonet": 11, "cross": 4, "kcore": 17, "triangles": 16, "betweenness": 61, "mis": 2,
    "coloring": 12, "scc": 36, "msf": 37, "ktruss": 20, "lcc": 16,
}  # fmt: skip


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    options: name -> default (None: left out; bfs and sssp must be given a `source`). columns: those of the result,
    after "vertex". weights: reads edge weights. best, groups: how Result.top ranks rows.
    runs, proves: "module:function" of the run and of its certificate ("": it has none).
    shows: "module:class" of the program that its supersteps run ("": page kernels). plans: "module:function" that
    makes it from the run's options. table: what rows are where not vertices: "rows" of the columns alone, or "edges"
    that stay in the store's pages (gstream.algorithms.subgraphs.edge_table). definition: which one is used, where
    packages have several.
    """

    name: str
    title: str
    runs: str
    proves: str
    options: dict[str, Any]
    columns: tuple[str, ...]
    weights: bool = False
    best: str = "least"
    groups: bool = False
    shows: str = ""
    plans: str = ""
    table: str = ""
    definition: str = ""

    def checked(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options of their types. Raises UsageError for one that this algorithm does not have, or of no such type.

        None is for those alone whose default it is.
        """
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise UsageError(f"{self.name}: has no option {name!r}; it has {known}. Check the spelling.")
        return {
            name: value if name not in KINDS or value is self.options[name] else KINDS[name](_flag(name), value)
            for name, value in options.items()
        }

    def check_certificate(self) -> None:
        """Raise UsageError where the answer can't be proved."""
        if not self.proves:
            raise UsageError(f"--certify: {self.name} has no certificate. Leave it out.")

    def check_checkpoint(self, options: dict[str, Any]) -> None:
        """Raise UsageError where a run with these options can't be gone on with from a checkpoint."""
        if self.name in KEPT and options.get("undirected"):
            raise UsageError(
                f"--checkpoint and --undirected contradict each other: {self.name} along edges either way keeps no "
                "checkpoints. Leave one of the two out."
            )
        if self.name not in KEPT:
            other = " Components of undirected stores are hcc's, too." if self.name == "wcc" else ""
            raise UsageError(
                f"--checkpoint: {self.name} is not one run of one program, which is what can be kept; "
                f"{', '.join(KEPT)} are, and programs of your own. Leave it out.{other}"
            )

    def check_ends(self, options: RunOptions) -> None:
        """Raise UsageError where the driver's options would end a run before its answer is right."""
        if options.max_supersteps is not None:
            ends = {"bfs": " (bfs has --depth-limit)", "pagerank": " (pagerank has --iterations and --max-iter)"}
            raise UsageError(
                f"--max-supersteps: is for programs of your own; {self.name} would stop before its answer is right. "
                f"Leave it out{ends.get(self.name, '')}."
            )

    def program(self, session: Any, options: dict[str, Any]) -> Any:
        """The program that a run with these options begins with, for its plan."""
        return _function(self.plans)(session, **(self.options | options))

    def execute(self, engine: Any, options: dict[str, Any], certify: bool = False) -> Result:
        """Run on an engine; certify: prove the answer in one more sweep (CertificateError if it is not right)."""
        from gstream.algorithms.subgraphs.edge_table import EdgeTable
        from gstream.algorithms.support.session import Session
        from gstream.results.result import Result
        from gstream.results.tables import Table

        options = self.checked(options)
        if certify:
            self.check_certificate()
        self.check_ends(engine.options)
        if engine.options.checkpoint is not None:
            self.check_checkpoint(options)
        asked = {name: value for name, value in (self.options | options).items() if name not in ENDS}
        with Session(engine, self.name, asked) as session:
            if certify:
                a_vertex = PROOF_BYTES[self.name] * (session.id_dtype.itemsize // 4)
                session.proof_bytes = a_vertex * session.meta.vertices + WORDS_BYTES
                weights = self.weights or self.table == "edges" or "weighted" in self.options
                session.proof_bytes += session.least_pages(session.meta.weighted and weights)
            columns, found = _function(self.runs)(session, **options)
            summary = {"algorithm": self.name, "store": session.store.path, "options": _shown(options)} | found
            if self.definition:
                summary["definition"] = self.definition + (f"; {found['definition']}" if "definition" in found else "")
            if certify:
                summary["certificate"] = session.prove(_function(self.proves), columns, options, found)
        if self.table:
            return (EdgeTable if self.table == "edges" else Table)(session.store, columns, summary)
        return Result(session.store, columns, summary, self.best, self.groups)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _function(path: str) -> Callable[..., Any]:
    module, name = path.split(":")
    with LOADING:
        return getattr(import_module(f"gstream.algorithms.{module}"), name)


def _shown(options: dict[str, Any]) -> dict[str, Any]:
    """Options as plain values; a personalization and sets of vertices by their size."""
    shown = {name: value for name, value in options.items() if value is not None}
    for name in ("personalization", "nodes", "targets"):
        if hasattr(shown.get(name), "__len__") and not isinstance(shown[name], str):
            shown[name] = f"{len(shown[name])} vertices"
    return shown


ALGORITHMS = {
    entry.name: entry
    for entry in (
        Algorithm(
            "bfs", "breadth-first search: fewest edges from a source", "traversal.bfs:run_bfs",
            "traversal.distance_proofs:certify_bfs",
            {"source": None, "depth_limit": None, "predecessors": True}, ("distance", "predecessor"),
            shows="bfs:BFS",
        ),
        Algorithm(
            "pagerank", "PageRank, NetworkX's definition with weight=None", "centrality.pagerank:run_pagerank",
            "centrality.residual_proofs:certify_pagerank",
            {"alpha": 0.85, "tol": 1e-6, "max_iter": 100, "iterations": None, "personalization": None,
             "float64": False},
            ("pagerank",), best="largest", shows="pagerank:PageRank",
            definition="dangling vertices give to all, or by personalization; no weights, repeated edges count; tol: "
            "absolute L1",
        ),
        Algorithm(
            "sssp", "shortest paths by edge weight from a source", "traversal.sssp:run_sssp",
            "traversal.distance_proofs:certify_sssp",
            {"source": None, "predecessors": True, "float64": False, "cutoff": None}, ("distance", "predecessor"),
            weights=True, shows="sssp:SSSP",
        ),
        Algorithm(
            "wcc", "weakly connected components, named by their least vertex", "components.wcc:run_wcc",
            "components.component_proofs:certify_wcc",
            {}, ("component",), groups=True,
        ),
        *(Algorithm(**entry) for entry in ENTRIES),
        *(Algorithm(**entry) for entry in EXTRACTS),
        Algorithm(
            "kcore", "core number of every vertex, or with k who is in the k-core", "density.kcore:run_kcore",
            "density.kcore:certify_kcore", {"k": None}, ("core",), best="largest",
            definition="in- and out-neighbours added up; simple graph: no self-loops, repeated edges once",
        ),
        Algorithm(
            "cdlp", "communities by label propagation, LDBC's definition", "labelling.cdlp:run_cdlp", "",
            {"iterations": 10}, ("community",), groups=True,
            definition="LDBC's: rounds all at once, ties to the least label; repeated edges and two-way neighbours "
            "count each",
        ),
        Algorithm(
            "triangles", "triangles of every vertex of an undirected graph", "density.triangles:run_triangles",
            "density.triangle_proofs:certify_triangles",
            {}, ("triangles",), best="largest",
            definition="simple graph: no self-loops, repeated edges once",
        ),
        Algorithm(
            "betweenness", "betweenness centrality, NetworkX's definition", "centrality.betweenness:run_betweenness",
            "centrality.betweenness_proof:certify_betweenness",
            {"k": None, "normalized": True, "seed": None, "source": None, "endpoints": False}, ("betweenness",),
            best="largest",
            definition="paths by edges, ends count if endpoints; / (n-1)(n-2), with ends n(n-1), if normalized; simple "
            "graph",
        ),
        Algorithm(
            "mis", "a maximal independent set", "labelling.mis:run_mis", "labelling.mis:certify_mis", {}, ("in_set",),
            best="largest",
            definition="greedy, small degrees as stored first, ties by a hash; neighbours either way, self-loops don't "
            "count",
        ),
        Algorithm(
            "coloring", "greedy colouring, vertices of large degree first", "labelling.coloring:run_coloring",
            "labelling.coloring:certify_coloring", {}, ("color",), best="first",
            definition="greedy, large degrees as stored first, ties by a hash; neighbours either way, self-loops don't "
            "count",
        ),
        Algorithm(
            "scc", "strongly connected components, named by their least vertex", "components.scc:run_scc",
            "components.scc:certify_scc", {},
            ("component",), groups=True,
        ),
        Algorithm(
            "msf", "minimum spanning forest of an undirected graph: a row an edge", "components.msf:run_msf",
            "components.msf:certify_msf",
            {}, ("target", "weight"), weights=True, table="rows",
            definition="ties by the edges' ends, the lesser first; the lightest of repeated edges, no self-loops",
        ),
        Algorithm(
            "ktruss", "truss number of every edge, or with k the edges of the k-truss", "density.ktruss:run_ktruss",
            "density.truss_proof:certify_ktruss", {"k": None}, ("target", "truss"), table="rows",
            definition="edges in k - 2 triangles of the k-truss or more, as NetworkX; simple graph",
        ),
        Algorithm(
            "lcc", "local clustering coefficient, LDBC's definition", "density.triangles:run_lcc",
            "density.triangle_proofs:certify_lcc", {},
            ("lcc",),
            best="largest",
            definition="LDBC's: edges among neighbours either way / d(d - 1) (directed NetworkX: Fagiolo's); simple "
            "graph",
        ),
    )
}  # fmt: skip


KEYWORDS.update(name for algorithm in ALGORITHMS.values() for name in algorithm.options)


def find_algorithm(name: str) -> Algorithm:
    """The algorithm called `name`. Raises UsageError naming the ones there are."""
    if name not in ALGORITHMS:
        like = get_close_matches(name.lower().replace("-", "").replace("_", ""), ALGORITHMS, 1, LIKE)
        if like:
            raise UsageError(f"{name}: no such algorithm. Did you mean {like[0]}?")
        known = ", ".join(ALGORITHMS)
        raise UsageError(f"{name}: no such algorithm; there are {known}, and your own as FILE.py:CLASS.")
    return ALGORITHMS[name]
