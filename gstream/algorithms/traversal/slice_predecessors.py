"""Predecessors of BFS and SSSP where each rank has the distances of its own slice alone.

The predecessor of v is its in-neighbour of least (distance, natural index) on edges that are as long as the difference.
A rank finds the least among the lists of its part. Then owners take the least of what all ranks found: by distance, and
of the same distance by natural index. That takes weights above 0, without which predecessors might go in circles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.part_sweeps import own_part, sweep_part
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import BLOCK
from gstream.algorithms.traversal import nearest
from gstream.devices.host.rank_values import RankValues
from gstream.engine.part_arrays import PartArrays
from gstream.hostcode.bitmaps import bitmap_bytes, bits_where
from gstream.planning.memory_fit import Graph

HOPS = np.dtype(np.uint32)


def keep_slices(session: Session, weighted: bool) -> bool:
    """Whether ranks may keep distances by slices, and find predecessors so."""
    meta = session.meta
    whole_numbers = np.dtype(meta.weight_dtype).kind in "iu" if weighted and meta.weight_dtype else not weighted
    return bool(session.engine.own.splits) and whole_numbers and (not weighted or (meta.min_weight or 0) > 0)


def held_by_predecessors(session: Session, distance: np.dtype, weighted: bool, graph: Graph) -> int:
    """Bytes that `predecessors_of_slices` holds at most beside pages and the mirrors' bitmaps. graph: of a plan of
    slices."""
    near, found = distance.itemsize, session.id_dtype.itemsize
    each = near + 2 * found + (HOPS.itemsize + near if weighted else 0)
    naturals = 0 if session.meta.order == "natural" else 8
    return graph.vertices * each + bitmap_bytes(graph.vertices) + graph.slice * (near + found + naturals)


def predecessors_of_slices(session: Session, distance: Any, weighted: bool) -> RankValues | None:
    """Natural indices of predecessors by rank, `session.none` for sources and vertices that are not reached; None where
    no rank has distances of its own slice alone, or memory is capped below what it takes.

    distance: u4[V] or i8[V], 0 at sources alone. All ranks make this call alike.
    """
    if not (isinstance(distance, RankValues) and distance.of_ranks and keep_slices(session, weighted)):
        return None
    part = own_part(session, *session.meta.topologies)
    if part is None or not part.fits(session.engine, _need(session, distance.dtype, weighted, part)):
        return None
    dtype, none, own = session.id_dtype, unreached(distance.dtype), distance.own
    in_order, (name, pull) = session.meta.order == "natural", session.gathers()
    session.reserve(own)
    near, found = part.spread(own, none), np.full(part.count, session.none, dtype)
    names = part.store_ids(dtype) if in_order else part.spread(distance.naturals(session.store).astype(dtype))
    natural = names[:0] if in_order else names
    offers = near != none  # vertices that look for a neighbour, or offer themselves
    bits = bits_where(offers & (near != 0) if pull or weighted else offers)
    del offers
    session.reserve(near, found, names, bits)
    if weighted:
        hops = np.zeros(part.count, HOPS)
        session.reserve(hops, near)  # and the least distances
        sweep_part(session, part, name, nearest.nearest_by_weight, (near, hops, natural, found, bits, pull))
        session.release(hops)
        del hops
        _keep_nearest(part, near, found, none)
        session.release(near)
    else:
        sweep_part(session, part, name, nearest.nearest_by_hops, (near, natural, found, bits, pull))
    for begin in range(0, part.count, BLOCK):
        some = found[begin : begin + BLOCK]
        there = some != dtype.type(session.none)
        some[there] = names[some[there]]
    part.mirrors.reduce(found, np.minimum)
    session.reserve(found[part.own])
    own_found = found[part.own].copy()
    session.release(near, found, names, bits)
    return distance.alike(own_found)


def _need(session: Session, dtype: np.dtype, weighted: bool, part: PartArrays) -> int:
    graph = part.graph(session.engine.graph)
    return held_by_predecessors(session, dtype, weighted, graph) + part.nbytes + session.least_pages(weighted)


def _keep_nearest(part: PartArrays, near: np.ndarray, found: np.ndarray, none: Any) -> None:
    """Leave what this rank found for a vertex only where no rank found one of less distance."""
    least, missing = np.full_like(near, none), ~found.dtype.type(0)
    for begin in range(0, part.count, BLOCK):
        some = found[begin : begin + BLOCK]
        there = np.flatnonzero(some != missing)
        least[there + begin] = near[some[there]]
    part.mirrors.reduce(least, np.minimum)
    part.mirrors.gather(least)
    for begin in range(0, part.count, BLOCK):
        some = found[begin : begin + BLOCK]
        there = np.flatnonzero(some != missing)
        some[there[near[some[there]] != least[there + begin]]] = missing
