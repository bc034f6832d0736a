"""Certificates of distances: one more sweep over all edges that proves an answer, whatever program computed it.

Distances are right if three things hold. (1) Sources, and only they, are at 0 without a predecessor among the reached.
(2) No edge u -> v from a reached u leads to a v farther than distance[u] + weight. (3) Every other reached vertex has a
predecessor over an edge that is exactly as long as the difference, without cycles. (2) bounds the distance from above
by every path, (3) gives a path that reaches it; both in the arithmetic of the answer. How far rounded sums are off is
proven apart (float_proof.py).

failure: see gstream.algorithms.support.shared.note; store IDs. u -> v is an edge. With `pull` pages have in-lists,
whose vertex is v; otherwise u.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.arguments import limit_of, source_ids, unreached
from gstream.algorithms.support.part_sweeps import check_part_edges, own_part, refuse_own
from gstream.algorithms.support.refusal import check_edges, check_said, refuse, refuse_vertices
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import BLOCK, note, onward
from gstream.algorithms.traversal import bothways
from gstream.algorithms.traversal.bfs import count_reached
from gstream.algorithms.traversal.float_proof import distance_error
from gstream.algorithms.traversal.predecessors import find_predecessors
from gstream.algorithms.traversal.slice_predecessors import predecessors_of_slices, proves_slices
from gstream.devices.host.rank_values import RankValues
from gstream.hostcode.bitmaps import bitmap, list_bits, set_bit
from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper, kernel
from gstream.records import record_kernel
from gstream.records.held import on_host
from gstream.results.column import Column

FARTHER = "vertex {v} is at {at_v}, but there is an edge from {u} at {at_u}"


@helper
def check_step(distance, none, last, predecessor, proven, u, v, reach, failure):
    """For an edge whose `reach` is v's distance or less: v must not be farther, unless `reach` is past `last`. If u is
    v's predecessor, that is proven."""
    if distance[u] == none:
        return
    if reach <= last and reach < distance[v]:
        note(failure, u, v)
    if u64(predecessor[v]) == u and reach == distance[v]:
        set_bit(proven, v)


@record_kernel(distance="length[]", none="length", last="length", proven="or", failure="note")
def check_paths(record, distance, none, last, predecessor, proven, pull, failure):
    """Distances in their own arithmetic. last: the greatest distance that counts as reached. proven: bits of vertices
    at the distance of their predecessor plus the edge from there."""
    for other in record.neighbours():
        u, v = (other, record.vertex) if pull else (record.vertex, other)
        reach = onward(distance, u, record.weight())
        if reach <= distance[v]:  # false for most edges, which then need no call: it costs 30 ns with seven arrays
            check_step(distance, none, last, predecessor, proven, u, v, reach, failure)


check_hops = check_paths.of_unit_weights("check_hops", distance="uint32[]", none="uint32", last="uint32")


@kernel
def find_cycle(predecessor, distance, seen):
    """A vertex on a cycle of predecessors of equal distance, or V. seen: u1[V], zero. No cycle leads through a nearer
    one."""
    none, count = ~predecessor.dtype.type(0), u64(len(predecessor))
    for start in range(count):
        v = start
        while seen[v] == 0:
            seen[v] = 1
            above = predecessor[v]
            if above == none or distance[above] != distance[v]:
                break
            v = u64(above)
            if seen[v] == 1:
                return v
        v = start
        while seen[v] == 1:
            seen[v] = 2
            above = predecessor[v]
            if above == none or distance[above] != distance[v]:
                break
            v = u64(above)
    return count


def certify_bfs(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove distances (and predecessors); returns what was proven. Raises CertificateError."""
    return _certify_distances(session, columns, options, found, weighted=False)


def certify_khop(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove distances up to the radius; returns what was proven. Raises CertificateError."""
    if options.get("undirected", False) and session.meta.directed:
        check_said(found, reached=count_reached(session, columns[0].values))
        sources = np.unique(session.store.lookup(source_ids(options.get("source"), "certificate")))
        return _certify_both(session, columns[0].values, sources, options.get("radius", 1))
    own = {"source": options.get("source"), "depth_limit": options.get("radius", 1)}
    return _certify_distances(session, columns, own, found, weighted=False)


def _certify_both(session: Session, distance: np.ndarray, sources: np.ndarray, radius: int) -> dict[str, Any]:
    """Prove distances along edges either way (gstream.algorithms.traversal.bothways)."""
    nearer = bitmap(len(distance))
    session.reserve(distance, nearer)
    if not np.all(distance[sources] == 0):
        raise refuse("a source is not at distance 0")
    none, limit = unreached(distance.dtype), limit_of(distance.dtype, radius)
    said = "vertex {v} is at {at_v}, and its neighbour {u} at {at_u}"
    check_edges(session, session.meta.topologies[0], bothways.check_both, (limit, distance, nearer), said, distance)
    proven = np.unpackbits(nearer.view(np.uint8), bitorder="little")[: len(distance)].view(np.bool_)
    proven[sources] = True
    odd = (distance != none) & (~proven | (distance > limit))
    refuse_vertices(session, odd, "vertex {} is at {} without a way there", distance)
    return {"holds": True, "proves": "every distance is least"}


def certify_sssp(session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any]) -> dict:
    """Prove weighted distances (and predecessors); returns what was proven. Raises CertificateError."""
    return _certify_distances(session, columns, options, found, weighted=True)


def _certify_distances(
    session: Session, columns: list[Column], options: dict[str, Any], found: dict[str, Any], weighted: bool
) -> dict:
    """Prove distances in their own arithmetic, and of floats how far off they are."""
    held: Any = columns[0].held or columns[0].values
    dtype = held.dtype
    sources = np.unique(session.store.lookup(source_ids(options.get("source"), "certificate")))
    limit = limit_of(dtype, options.get("cutoff" if weighted else "depth_limit"))
    if "limit" in found:  # of targets, too
        limit = dtype.type(found["limit"])
    if by_slices(session, columns, sources, limit, weighted):
        check_said(found, reached=count_reached(session, held))
        return {"holds": True, "proves": f"every distance is least{_paths(columns)}"}
    distance, none = columns[0].values, unreached(dtype)
    if len(columns) > 1:
        predecessor = columns[1].values
        session.reserve(distance, predecessor)
    else:
        above, _ = find_predecessors(session, distance, sources, weighted)  # which holds both
        predecessor = on_host(above)
    _check_ends(session, distance, none, predecessor, sources, limit)
    name, pull = session.gathers()
    proven = bitmap(len(distance))
    arrays = (distance, none, none if limit is None else limit, predecessor, proven, pull)
    check_edges(session, name, check_paths if weighted else check_hops, arrays, FARTHER, distance)
    unproven = _unproven(predecessor, session.none, proven)
    if unproven is not None:
        raise refuse(f"the predecessor of vertex {session.user_ids([unproven])[0]} is not one edge before it")
    cyclic = int(find_cycle(predecessor, distance, np.zeros(len(distance), np.uint8)))
    if cyclic < len(distance):
        raise refuse(f"the predecessors of vertex {session.user_ids([cyclic])[0]} go in a circle")
    check_said(found, reached=count_reached(session, distance))
    paths = _paths(columns)
    if distance.dtype.kind != "f":
        return {"holds": True, "proves": f"every distance is least{paths}"}
    bound = distance_error(session, distance, predecessor, sources, limit)
    sums = f"least in {distance.dtype} sums, off by at most {bound:.2g} of itself"
    return {"holds": True, "proves": f"every distance is {sums}{paths.replace(' and', ', and')}", "error_bound": bound}


def _paths(columns: list[Column]) -> str:
    """What is proven of predecessors."""
    return " and every predecessor on a shortest path" if len(columns) > 1 else ""


def by_slices(session: Session, columns: list[Column], sources: np.ndarray, limit: Any, weighted: bool) -> bool:
    """Prove the distances where ranks have those of their slices; False where they have not, and nothing is proven.
    Weights are above 0, so that predecessors make no circle. Raises CertificateError."""
    distance = columns[0].held
    part = own_part(session, *session.meta.topologies) if proves_slices(session, weighted) else None
    if part is None or not isinstance(distance, RankValues) or not distance.of_ranks:
        return False
    found = columns[1].held if len(columns) > 1 else predecessors_of_slices(session, distance, sources, weighted)
    if not isinstance(found, RankValues) or not found.of_ranks:
        return False
    (first, last), own, natural, none = part.ids.own, distance.own, found.own, unreached(distance.dtype)
    rooted, reached = natural != natural.dtype.type(session.none), own != none
    is_source = np.zeros(len(own), np.bool_)
    is_source[sources[(sources >= first) & (sources < last)].astype(np.int64) - first] = True
    refuse_own(session, part, is_source & (own != 0), "source {} is not at distance 0")
    refuse_own(session, part, is_source & rooted, "source {} has a predecessor")
    refuse_own(session, part, reached != (rooted | is_source), "vertex {} is at {} without a way there", own)
    refuse_own(session, part, rooted & (natural >= session.meta.vertices), "the predecessor of vertex {} is no vertex")
    over = reached & (own > (none if limit is None else limit))
    refuse_own(session, part, over, f"vertex {{}} is at {{}}, over the limit of {limit}", own)
    stored = np.full(len(own), session.none, session.id_dtype)
    stored[rooted] = distance.stored(session.store, natural[rooted].astype(np.uint64))
    near, above, proven = part.spread(own, none), part.spread(stored, session.none), bitmap(part.count)
    for begin in range(0, part.count, BLOCK):
        above[begin : begin + BLOCK] = part.ids.numbers_or(above[begin : begin + BLOCK], session.none)
    session.reserve(near, above, proven, own, stored)
    name, pull = session.gathers()
    arrays = (near, none, none if limit is None else limit, above, proven, pull)
    check_part_edges(session, part, name, check_paths if weighted else check_hops, arrays, FARTHER, near)
    marks = np.unpackbits(proven.view(np.uint8), bitorder="little")[: part.count]
    part.mirrors.reduce(marks, np.bitwise_or)
    unproven = rooted & (marks[part.own] == 0)
    refuse_own(session, part, unproven, "the predecessor of vertex {} is not one edge before it")
    return True


def _check_ends(
    session: Session, distance: np.ndarray, none: Any, predecessor: np.ndarray, sources: np.ndarray, limit: Any
) -> None:
    """Condition (1), the limit, and that exactly the reached vertices beside the sources have predecessors."""
    if not np.all(distance[sources] == 0):
        raise refuse("a source is not at distance 0")
    if not np.all(predecessor[sources] == session.none):
        raise refuse("a source has a predecessor")
    reached = distance != none
    rooted = predecessor != predecessor.dtype.type(session.none)
    rooted[sources] = True
    refuse_vertices(session, reached != rooted, "vertex {} is at {} without a way there", distance)
    if np.any(predecessor[rooted & (predecessor != session.none)] >= len(distance)):
        raise refuse("a predecessor is no vertex")
    if limit is not None and np.any(distance[reached] > limit):
        raise refuse(f"a distance is over the limit of {limit}")


def _unproven(predecessor: np.ndarray, none: int, proven: np.ndarray) -> int | None:
    """A vertex that has a predecessor and no bit in `proven`."""
    wanted = np.zeros(len(proven) * 64, np.bool_)
    wanted[: len(predecessor)] = predecessor != none
    bits = np.packbits(wanted, bitorder="little").view(np.uint64) & ~proven
    left = list_bits(bits, 0, len(predecessor))
    return int(left[0]) if len(left) else None
