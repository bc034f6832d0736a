"""Minimum spanning forest: edges of least total weight that connect whatever the graph connects (Boruvka 1926).

In each round every vertex finds its least edge out of its component, every component the least of those, and joins
along it. There are log2(V) rounds at most. A round reads the pages of vertices whose edge came to lie inside a
component. Edges of equal weight are ordered by their ends' user IDs, so the forest is the same in any order of store
and work.

Certificate: (1) the forest's edges close no cycle; (2) no edge of the graph joins two of its trees; (3) every edge of
the graph is in the forest, or comes after the greatest edge on the forest's path between its ends (Tarjan 1983, Data
Structures and Network Algorithms, chapter 6).

Its kernels take vertices by natural index. The forest's edges are joined in ascending order, the smaller tree under the
larger one, never shortened, so ways up have at most log2(V) steps. up: id[V], a root is its own; link: id[V], the place
in the order of the edge that joined v to up[v], all bits set at a root. Links ascend on the way up. So the greatest
edge on the path between two vertices is the last one climbed until the ways from both meet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.components import boruvka
from gstream.algorithms.declaration import ANY, EDGE, Algorithm, Work
from gstream.algorithms.support.edgerows import check_ascending, edge_columns, natural_bytes, natural_names
from gstream.algorithms.support.refusal import check_said, refuse, refuse_edge
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import named, note
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, count_bits, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.jit import kernel
from gstream.records import record_kernel
from gstream.results.column import Answer, Column
from pagestore.sizes import show_things

ALGORITHM = Algorithm(
    "msf", "edges of a minimum spanning forest",
    "There is one answer. Summary: total_weight, forest_edges, trees.",
    definition="ties by the edges' ends, the lesser first; the lightest of repeated edges, no self-loops",
    columns=("source", "target", "weight"), rows=EDGE,
    proof="certify_msf", proof_bytes=45, certificate="exact", weights=ANY,
    directed=False, otherwise="spanning forests are those of undirected graphs. Convert with --undirected.",
    kept="18 to 32: components, least edges of vertices, edges of the forest",
    check="check_msf", holds="26 to 32, reordered 4 more; of the answer 22 to 28 an edge",
    units=(".boruvka:scan_lists settle_shared",), proof_units=("check_edges",),
    work=Work(edges=10.5, gpu_edges=150.0, moved=(4.0, 8.0), spread=1.6, answer=24),
)  # fmt: skip

WAYS = 64  # times that ways to roots are halved: as many as bits of their lengths
SUMMED = 1 << 20  # weights whose sum is taken at once: no sum of so many 4-byte integers leaves 64 bits


@kernel
def join_trees(source, target, up, link, size):
    """Join the forest's edges in their order, by one thread; size: id[V] of ones. Returns how many came before the
    first one that closes a cycle."""
    for place in range(u64(len(source))):
        a, b = u64(source[place]), u64(target[place])
        while up[a] != a:
            a = u64(up[a])
        while up[b] != b:
            b = u64(up[b])
        if a == b:
            return place
        if size[a] > size[b]:
            a, b = b, a
        up[a], link[a] = b, place
        size[b] += size[a]
    return u64(len(source))


@record_kernel(met="or", across="note", less="note")
def check_edges(record, natural, up, link, source, target, weight, met, across, less):
    """Compare every edge with the greatest one on the forest's path between its ends, in the order of (weight, lesser
    end, greater end). across: edges that join two trees; less: edges that come before that one (failure, as of `note`).
    met: bits of the forest's edges that are in the graph."""
    v, none = record.vertex, ~link.dtype.type(0)
    mine = named(natural, v)
    for u in record.neighbours():
        theirs, heavy = named(natural, u), record.weight()
        if theirs <= mine:  # the other end's list has it
            continue
        a, b, last = mine, theirs, none
        while a != b and (link[a] != none or link[b] != none):
            if link[a] < link[b]:
                last, a = link[a], u64(up[a])
            else:
                last, b = link[b], u64(up[b])
        if a != b:
            note(across, v, u)
            continue
        place = u64(last)
        if heavy != weight[place]:
            if heavy < weight[place]:
                note(less, v, u)
        elif (mine, theirs) < (u64(source[place]), u64(target[place])):
            note(less, v, u)
        elif mine == source[place] and theirs == target[place]:
            set_bit(met, place)


def run_msf(session: Session) -> Answer:
    """Columns source, target (the lesser end first) and weight, a row for each edge of the forest, rows ascending.

    Summary: total_weight, forest_edges, trees. Raises UsageError (a directed store, or one without weights),
    ResourceError.
    """
    check_msf(session)
    source, target, weight, rounds = _grow(session)
    chosen = source != session.none
    source, target, weight = source[chosen], target[chosen], weight[chosen]
    session.reserve(source, target, weight, weight)
    columns, order = edge_columns(session, source, target)
    weight = weight[order]
    found: dict[str, Any] = {"total_weight": total_of(weight), "forest_edges": len(weight)}
    found["trees"] = session.meta.vertices - len(weight)
    columns.append(Column("weight", weight))
    return columns, found | session.finish(rounds, True)


def check_msf(session: Session) -> None:
    """Too little memory is said before any work, and what all of a call takes with it."""
    vertices, ids = session.meta.vertices, session.id_dtype.itemsize
    weights = np.dtype(session.engine.graph.tables["out"].weight_dtype).itemsize
    named = natural_bytes(session)
    answer = vertices * (3 * ids + 2 * weights + 16)
    session.check_memory(
        named + vertices * (6 * ids + 2 * weights) + bitmap_bytes(vertices), named + answer, weights=True
    )


def _grow(session: Session) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """(source, target, weight, rounds), by the root that joined another component along that edge; by store IDs."""
    vertices, name, table = session.meta.vertices, session.meta.topologies[0], session.engine.graph.tables["out"]
    comp, due = np.arange(vertices, dtype=session.id_dtype), ~bitmap(vertices)
    other, best, hook, source, target = (np.full(vertices, session.none, session.id_dtype) for _ in range(5))
    kind = table.weight_dtype
    top = kind.type(np.inf) if kind.kind == "f" else kind.type(np.iinfo(kind).max)
    least, weight = np.full(vertices, top, kind), np.empty(vertices, kind)
    session.reserve(comp, due, other, best, hook, source, target, least, weight)
    natural = natural_names(session)
    kept = session.keep(
        comp=comp, due=due, other=other, least=least, source=source, target=target, weight=weight, rounds=0
    )
    hubs = np.arange(table.pages) >= table.small_pages
    while True:
        wanted, lists = session.pages_of(name, due), (due, comp, natural, least, other)
        session.sweep(name, boruvka.scan_lists, lists, wanted)
        shared = wanted if session.copies_arrays else wanted & hubs
        if shared.any():
            session.sweep(name, boruvka.settle_shared, lists, shared, join=_join_ends)
        session.each(boruvka.offer_edges, comp, natural, least, other, best)
        if not session.each(boruvka.choose_edges, comp, least, other, best, hook, source, target, weight):
            kept.end()
            session.release(comp, due, other, best, hook, source, target, least, weight)
            return source, target, weight, kept.rounds
        kept.rounds += 1
        session.each(boruvka.join, comp, hook)
        for _ in range(WAYS):
            if not session.each(boruvka.shorten, comp):
                break
        session.each(boruvka.open_inner, comp, least, other, best, top, due)
        kept.boundary()


def _join_ends(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
    """The least by natural index of what GPUs' copies of `other` have."""
    other, natural = arrays["other"], arrays["natural"]

    def named(ends: np.ndarray) -> np.ndarray:  # all bits set where there is none
        return ends if len(natural) == 0 else np.append(natural, ~natural.dtype.type(0))[np.minimum(ends, len(natural))]

    for copy in copies:
        np.copyto(other, copy["other"], where=named(copy["other"]) < named(other))


def total_of(weight: np.ndarray) -> int | float:
    """The sum of weights: of integers exact, of floats in float64."""
    parts = (weight[first : first + SUMMED] for first in range(0, len(weight), SUMMED))
    if weight.dtype.kind == "f":
        return float(sum(float(part.sum(dtype=np.float64)) for part in parts))
    return sum(int(part.sum(dtype=np.int64)) for part in parts)


def certify_msf(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove a forest, by natural indices, in one sweep; returns what was proven. Raises CertificateError."""
    source, target, weight = (column.values for column in columns)
    vertices, edges = session.meta.vertices, len(source)
    if edges and (int(target.max()) >= vertices or np.any(source >= target)):
        raise refuse("an edge's ends are no vertices, or not the lesser one first")
    if np.isnan(weight).any() or total_of(weight) != found["total_weight"]:
        raise refuse("the weights are not those that were added up")
    check_ascending(source, target)
    order = np.lexsort((target, source, weight))
    source, target, weight = source[order], target[order], weight[order]
    up, size = np.arange(vertices, dtype=session.id_dtype), np.ones(vertices, session.id_dtype)
    link, met = np.full(vertices, session.none, session.id_dtype), bitmap(edges)
    session.reserve(order, source, target, weight, up, size, link, met)
    closing = int(join_trees(source, target, up, link, size))
    if closing < edges:
        names = session.store.user_ids
        ends = [names(int(v), int(v) + 1)[0] for v in (source[closing], target[closing])]
        raise refuse(f"the edge between {ends[0]} and {ends[1]} closes a cycle")
    across, less = np.zeros(3, np.int64), np.zeros(3, np.int64)
    arrays = (natural_names(session), up, link, source, target, weight, met, across, less)
    session.sweep(session.meta.topologies[0], check_edges, arrays)
    refuse_edge(session, across, "the edge between {u} and {v} joins two trees")
    refuse_edge(session, less, "the edge between {u} and {v} is less than one on the forest's path between them")
    if count_bits(met) != edges:
        raise refuse("the forest has an edge that is not in the graph")
    check_said(found, forest_edges=edges, trees=vertices - edges)
    trees = show_things(vertices - edges, "tree")
    spans = "spans" if vertices - edges == 1 else "span"
    return {"holds": True, "proves": f"{trees} that {spans} the graph, no edge lighter than theirs"}
