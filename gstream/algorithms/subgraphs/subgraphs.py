"""Edges among chosen vertices: induced subgraphs, egonets, and the cross-edges between two sets (GStream thesis, 2).

| | edges | in NetworkX |
|---|---|---|
| subgraph | with both ends in the set | subgraph |
| egonet | of the vertices within `radius` edges, or weights, of the sources | ego_graph |
| cross | from the first set to the second, or to all other vertices | edge_boundary, which also takes edges back |

One sweep over the pages that have lists of chosen vertices counts each page's rows. Rows are read page by page when
they are asked for or written (edge_table.py), so only what is written grows with the answer. Of two topologies the one
with fewer such pages is read.

Certificate: the sets are looked up again, an egonet's proved by its distances. All pages are read again; they must have
as many edges as there are rows, with the same sum of hashes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.declaration import (
    EITHER_WAY,
    NODES,
    NOT_NEGATIVE,
    RADIUS,
    SOURCE,
    STORED_EDGE,
    SWITCH,
    VERTEX_SET,
    WEIGHTED,
    Algorithm,
    Option,
    Work,
)
from gstream.algorithms.subgraphs import extract
from gstream.algorithms.subgraphs.edge_table import Chosen, EdgeTable
from gstream.algorithms.support.arguments import source_ids, unreached
from gstream.algorithms.support.caps import check_run_memory, count_one_topology
from gstream.algorithms.support.edgerows import natural_names
from gstream.algorithms.support.portions import portions
from gstream.algorithms.support.refusal import check_said, refuse
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.vertex_files import given_vertices
from gstream.algorithms.traversal.bfs import run_khop, whole_radius
from gstream.algorithms.traversal.distance_proofs import certify_khop, certify_sssp
from gstream.algorithms.traversal.sssp import program_for, run_sssp
from gstream.engine.sweep_state import Arrays
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, bits_where, count_bits
from gstream.language.program import Program
from gstream.programs.bfs import BFS
from gstream.results.column import Answer
from pagestore.errors import UsageError

ALGORITHMS = (
    Algorithm(
        "subgraph", "edges among some vertices: the induced subgraph",
        "The column weight is there where the store has weights. Of an undirected edge the lesser end comes first.",
        definition="edges with both ends in the set, repeated ones and self-loops each; an undirected edge is one "
        "row",
        columns=("source", "target", "weight"), rows=STORED_EDGE, options=(NODES,),
        proof="certify_subgraph", proof_bytes=8, certificate="exact, by hashes",
        kept="0.25: sets; rows of each page",
        check="check_sets", holds="2, reordered and undirected 4 more",
        units=(".extract:count_edges",), proof_units=(".extract:sum_edges sum_plain_edges",),
        work=Work(edges=1.55, gpu_edges=50.0, moved=(1.0, 1.0), spread=3.0, answer=2),
    ),
    Algorithm(
        "egonet", "edges among the vertices within some edges of a source",
        "The column weight is there where the store has weights.",
        definition="edges among what lies within the radius, along out-edges or, undirected, any; weighted: of paths",
        columns=("source", "target", "weight"), rows=STORED_EDGE,
        options=(
            SOURCE, RADIUS, Option("center", SWITCH, True, "with its sources"), EITHER_WAY, WEIGHTED,
        ),
        proof="certify_egonet", proof_bytes=15, certificate="exact, by hashes",
        kept="4, weighted 8, then 0.25: distances, then sets; rows of each page", weights=NOT_NEGATIVE,
        check="check_egonet", holds="as bfs or sssp, and 2",
        units=(
            "gstream.programs.bfs:BFS", "gstream.programs.sssp:SSSP64 SSSPInteger", "..traversal.bothways:step_both",
            ".extract:count_edges",
        ),
        proof_units=(
            "..traversal.nearest:nearest_by_hops", "..traversal.distance_proofs:check_hops",
            "..traversal.bothways:check_both", "..traversal.distance_proofs:check_paths",
            "..traversal.float_proof:check_lengths", "..traversal.nearest:nearest_by_weight spread_hops",
            ".extract:sum_edges sum_plain_edges",
        ),
        work=Work(edges=3.7, gpu_edges=10.0, moved=(1.0, 1.5), spread=6.0, answer=2),
    ),
    Algorithm(
        "cross", "edges from some vertices to others",
        "The column weight is there where the store has weights. Of undirected stores the edges between the sets.",
        definition="edges from the first set to the second, repeated ones each; directed, not back (NetworkX: both "
        "ways)",
        columns=("source", "target", "weight"), rows=STORED_EDGE,
        options=(
            NODES, Option("targets", VERTEX_SET, None, "vertices that edges lead to, one a line; default: all others"),
        ),
        proof="certify_cross", proof_bytes=8, certificate="exact, by hashes",
        kept="0.25: sets; rows of each page",
        check="check_sets", holds="2, reordered and undirected 4 more",
        units=(".extract:count_edges",), proof_units=(".extract:sum_edges sum_plain_edges",),
        work=Work(edges=1.1, gpu_edges=50.0, moved=(1.0, 1.0), spread=3.0, answer=2),
    ),
)  # fmt: skip


def run_subgraph(session: Session, nodes: Any) -> tuple[Chosen, dict[str, Any]]:
    """The edges among `nodes`: user IDs, or the path of a file with a vertex a line.

    Raises UsageError (no vertices, or one that is not in the graph), InputError (a file that can't be read).
    """
    check_sets(session)
    inside = _bits(session, nodes, "subgraph", "node")
    return _choose(session, inside, inside, 1, of=(inside,))


def run_egonet(
    session: Session, source: Any, radius: float = 1, center: bool = True, undirected: bool = False,
    weighted: bool = False,
) -> tuple[Chosen, dict[str, Any]]:  # fmt: skip
    """The edges among the vertices within `radius` edges of a source, or weighted: within paths that weigh so much,
    along out-edges or, undirected, either way; center: sources are among them.

    Raises UsageError (no source, or one that is not in the graph; a radius that means nothing).
    """
    check_egonet(session, source, radius, undirected=undirected, weighted=weighted)
    if session.resumes("sources"):  # the search is over
        inside, rounds = bitmap(session.meta.vertices), 0
    else:
        own = {"radius": radius, "undirected": undirected, "weighted": weighted}
        inside, rounds = _near(session, source, center, own)
    return _choose(session, inside, inside, rounds + 1, of=())


def check_egonet(
    session: Session, source: Any, radius: float = 1, center: bool = True, undirected: bool = False,
    weighted: bool = False,
) -> Program | None:  # fmt: skip
    """Too little memory is said before any work. Returns the program that searches. Raises UsageError as the run."""
    _check_ego(session, radius, undirected, weighted)
    swept = session.meta.vertices + _sets_bytes(session)
    if undirected and session.meta.directed:  # distances, too
        session.check_memory(4 * session.meta.vertices + swept)
        return None
    search = (program_for(session.meta, float64=True) if weighted else BFS)(source=source_ids(source, "egonet"))
    check_run_memory(session, search, later=swept + session.least_pages())
    return search


def run_cross(session: Session, nodes: Any, targets: Any = None) -> tuple[Chosen, dict[str, Any]]:
    """The edges from `nodes` to `targets`, or to all other vertices; each user IDs, or the path of a file of them.

    Raises UsageError (no vertices, or one that is not in the graph), InputError (a file that can't be read).
    """
    check_sets(session)
    here = _bits(session, nodes, "cross", "node")
    there = ~here if targets is None else _bits(session, targets, "cross", "target")
    return _choose(session, here, there, 1, of=(here, there))


def _choose(
    session: Session, sources: np.ndarray, targets: np.ndarray, rounds: int, of: tuple[np.ndarray, ...]
) -> tuple[Chosen, dict[str, Any]]:
    """Count the edges from one set to the other, page by page. of: the sets, where users gave them."""
    sets = {"out": (sources, targets), "in": (targets, sources)}
    session.reserve(sources, targets)
    kept = session.keep(of=of, sources=sources, targets=targets, counts=Arrays(), rounds=rounds, page=0)
    wanted = {name: session.pages_of(name, sets[name][0]) for name in session.meta.topologies}
    name = min(wanted, key=lambda each: int(wanted[each].sum()))
    once, table = not session.meta.directed, session.engine.graph.tables[name]
    natural = natural_names(session) if once else np.empty(0, session.id_dtype)
    kept.counts = kept.counts or Arrays([np.zeros(table.pages, np.int64)])
    chosen = Chosen(name, name == "in", *sets[name], once, natural, kept.counts[0])
    arrays = (chosen.near, chosen.far, once, natural, table.first_vertex, table.small_pages, chosen.counts)
    for pages in portions(session, kept, name, wanted[name]):
        session.sweep(name, extract.count_edges, arrays, pages)
    kept.end()
    found = {"chosen_vertices": int(count_bits(sources))} if sources is targets else {}
    found["chosen_edges"] = int(chosen.counts.sum())
    return chosen, found | session.finish(kept.rounds, True)


def check_sets(session: Session, **_: Any) -> None:
    """Raise ResourceError if memory lacks room for two sets and names beside pages, or for one set while it is read."""
    vertices = session.meta.vertices
    count_one_topology(session)
    session.check_memory(_sets_bytes(session), vertices + bitmap_bytes(vertices))


def _sets_bytes(session: Session) -> int:
    """Bytes of two sets, and of names where they tell which end of an edge comes first."""
    vertices, named = session.meta.vertices, not session.meta.directed and session.meta.order != "natural"
    return 2 * bitmap_bytes(vertices) + vertices * session.id_dtype.itemsize * named


def _bits(session: Session, given: Any, algorithm: str, word: str) -> np.ndarray:
    """uint64[ceil(V / 64)]: the vertices that are given, as `_members`."""
    members = _members(session, given, algorithm, word)
    bits = bits_where(members)
    session.release(members)
    return bits


def _check_ego(session: Session, radius: float, undirected: bool, weighted: bool) -> None:
    """Raise UsageError for a radius that means nothing, and for weighted paths that edges of a directed graph make
    either way."""
    if not weighted:
        whole_radius(radius)
        return
    if not radius >= 0:
        raise UsageError(f"--radius {radius}: must be at least 0; it is the weight of the longest paths.")
    if undirected and session.meta.directed:
        raise UsageError(
            "egonet: --weighted takes out-edges alone on a directed store, and --undirected takes both ways. Drop one, "
            "or convert with --undirected."
        )


def _search(session: Session, source: Any, own: dict[str, Any]) -> Answer:
    """Distances of the vertices of an egonet. own: radius, undirected, weighted."""
    if own.get("weighted"):
        return run_sssp(session, source, predecessors=False, float64=True, cutoff=own.get("radius", 1))
    return run_khop(session, source, own.get("radius", 1), own.get("undirected", False))


def _near(session: Session, source: Any, center: bool, own: dict[str, Any]) -> tuple[np.ndarray, int]:
    """(bits of the vertices of an egonet, supersteps of the search). own: as of _search."""
    sources = session.store.lookup(source_ids(source, "egonet"))
    columns, found = _search(session, source, own)
    distance = columns[0].values
    inside = distance != unreached(distance.dtype)
    inside[sources] = center
    session.reserve(inside)
    return bits_where(inside), found["supersteps"]


def _members(session: Session, given: Any, algorithm: str, word: str) -> np.ndarray:
    """bool[V]: the vertices that are given, by user IDs or the path of a file with a vertex a line."""
    stored = given_vertices(session.store, given, algorithm, word)
    members = np.zeros(session.meta.vertices, np.bool_)
    session.reserve(members)
    members[stored] = True
    return members


def certify_subgraph(session: Session, chosen: Chosen, options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the rows of an induced subgraph. Raises CertificateError."""
    inside = _members(session, options.get("nodes"), "subgraph", "node")
    return _certify(session, chosen, inside, inside, found)


def certify_cross(session: Session, chosen: Chosen, options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove the rows of the edges between two sets. Raises CertificateError."""
    here, targets = _members(session, options.get("nodes"), "cross", "node"), options.get("targets")
    there = ~here if targets is None else _members(session, targets, "cross", "target")
    return _certify(session, chosen, here, there, found)


def certify_egonet(session: Session, chosen: Chosen, options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove an egonet: its vertices by their distances, then its rows. Raises CertificateError."""
    columns, again = _search(session, options["source"], options)
    if options.get("weighted"):
        own = {"source": options["source"], "float64": True, "cutoff": options.get("radius", 1), "predecessors": False}
        certify_sssp(session, columns, own, again)
    else:
        own = {name: options[name] for name in ("source", "radius", "undirected") if name in options}
        certify_khop(session, columns, own, again)
    inside = columns[0].values != unreached(columns[0].values.dtype)
    inside[session.store.lookup(source_ids(options["source"], "egonet"))] = options.get("center", True)
    return _certify(session, chosen, inside, inside, found)


def _certify(session: Session, chosen: Chosen, sources: np.ndarray, targets: np.ndarray, found: dict[str, Any]) -> dict:
    """Hold the rows, and the summary, against all edges of the graph that lead from one set (bool[V]) to the other."""
    directed, weighted, name = session.meta.directed, session.meta.weighted, session.meta.topologies[0]
    rows, seen, table = np.zeros(2, np.uint64), np.zeros(2, np.uint64), EdgeTable(session.store, chosen, {})
    kind = np.empty(0, f"u{session.engine.graph.tables[name].weight_dtype.itemsize}" if weighted else session.id_dtype)
    for part in table._parts():
        extract.sum_rows(part[0], part[1], part[-1], weighted, kind, rows)
    session.reserve(sources, targets)
    natural = np.empty(0, session.id_dtype) if directed else natural_names(session)
    sets = sources.view(np.uint8), targets.view(np.uint8)
    function = extract.sum_edges if weighted else extract.sum_plain_edges
    session.sweep(name, function, (*sets, directed, natural, name == "in", seen))
    if rows[0] != seen[0]:
        raise refuse(f"there are {rows[0]} rows and {seen[0]} such edges")
    if rows[1] != seen[1]:
        raise refuse("the rows are not the edges of the graph")
    check_said(found, chosen_edges=int(seen[0]))
    if sources is targets:
        check_said(found, chosen_vertices=int(np.count_nonzero(sources)))
    return {"holds": True, "proves": f"the rows are all {seen[0]} such edges of the graph"}
