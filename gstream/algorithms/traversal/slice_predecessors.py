"""Predecessors of BFS and SSSP where each rank has the distances of its own slice alone.

The predecessor of v is its in-neighbour of least (distance, hops, natural index) on edges that are as long as the
difference (gstream.algorithms.traversal.predecessors). A rank finds the least among the lists of its part. Then owners
take the least of what all ranks found: by distance, of the same distance by hops, and of the same hops by natural
index. Hops are 0 but on plateaus, where rounds of all ranks count them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.part_sweeps import own_part, sweep_part
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import BLOCK, FAR
from gstream.algorithms.traversal import nearest
from gstream.algorithms.traversal.plateaus import HOPS, find_by_weight
from gstream.devices.host.rank_values import RankValues
from gstream.engine.part_arrays import PartArrays
from gstream.hostcode.bitmaps import bitmap_bytes, bits_where
from gstream.planning.memory_fit import Graph

AT_ONCE = 1 << 20  # vertices that ranks are asked about together


def keep_slices(session: Session) -> bool:
    """Whether ranks may keep distances by slices, and find predecessors so."""
    return bool(session.engine.own.splits)


def proves_slices(session: Session, weighted: bool) -> bool:
    """Whether a certificate does with slices, too: predecessors make no circle, and sums are exact."""
    meta = session.meta
    whole_numbers = np.dtype(meta.weight_dtype).kind in "iu" if weighted and meta.weight_dtype else not weighted
    return keep_slices(session) and whole_numbers and (not weighted or (meta.min_weight or 0) > 0)


def held_by_predecessors(session: Session, distance: np.dtype, weighted: bool, graph: Graph) -> int:
    """Bytes that `predecessors_of_slices` holds at most beside pages and the mirrors' bitmaps. graph: of a plan of
    slices."""
    near, found = distance.itemsize, session.id_dtype.itemsize
    each = near + 2 * found + (HOPS.itemsize + near if weighted else 0)
    naturals = 0 if session.meta.order == "natural" else 8
    return graph.vertices * each + bitmap_bytes(graph.vertices) + graph.slice * (near + found + naturals)


def predecessors_of_slices(session: Session, distance: Any, sources: np.ndarray, weighted: bool) -> RankValues | None:
    """Natural indices of predecessors by rank, `session.none` for sources and vertices that are not reached; None where
    no rank has distances of its own slice alone, or memory is capped below what it takes.

    distance: u4[V] of BFS, or as of SSSP. sources: store IDs. All ranks make this call alike.
    """
    if not (isinstance(distance, RankValues) and distance.of_ranks and keep_slices(session)):
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
    looks = near != none  # vertices that look for a neighbour, or offer themselves
    if pull or weighted:
        roots = part.ids.numbers_or(sources.astype(dtype), session.none)
        looks[roots[roots != dtype.type(session.none)]] = False
    bits = bits_where(looks)
    del looks
    session.reserve(near, found, names, bits)
    if weighted:
        hops = np.zeros(part.count, HOPS)
        session.reserve(hops, near)  # and the least distances

        def agree(changed: bool) -> bool:
            part.mirrors.reduce(hops, np.minimum)
            part.mirrors.gather(hops)
            return part.ranks.any(changed)

        plateaus = find_by_weight(
            lambda kernel, arrays, _: sweep_part(session, part, name, kernel, arrays), found,
            (near, hops, natural, found, bits, pull), lambda: _unsettled(part, found, bits), agree,
        )  # fmt: skip
        _keep_least(part, near, found, none)
        if plateaus:
            _keep_least(part, hops, found, FAR)
        session.release(hops, near)
        del hops, agree
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


def _unsettled(part: PartArrays, found: np.ndarray, bits: np.ndarray) -> np.ndarray | None:
    """Bits by numbers: vertices that look for a predecessor (bits), of which no rank found one; None: there is none on
    any rank."""
    settled = (found != ~found.dtype.type(0)).view(np.uint8)
    part.mirrors.reduce(settled, np.bitwise_or)
    part.mirrors.gather(settled)
    looks = np.unpackbits(bits.view(np.uint8), count=part.count, bitorder="little")
    left = (looks & ~settled).view(np.bool_)
    return bits_where(left) if part.ranks.any(bool(left.any())) else None


def _keep_least(part: PartArrays, key: np.ndarray, found: np.ndarray, most: Any) -> None:
    """Leave what this rank found for a vertex only where no rank found one of less `key`. most: no key is greater."""
    least, missing = np.full_like(key, most), ~found.dtype.type(0)
    for begin in range(0, part.count, BLOCK):
        some = found[begin : begin + BLOCK]
        there = np.flatnonzero(some != missing)
        least[there + begin] = key[some[there]]
    part.mirrors.reduce(least, np.minimum)
    part.mirrors.gather(least)
    for begin in range(0, part.count, BLOCK):
        some = found[begin : begin + BLOCK]
        there = np.flatnonzero(some != missing)
        some[there[key[some[there]] != least[there + begin]]] = missing


def is_deep(session: Session, above: RankValues, doublings: int) -> bool:
    """Whether a vertex has more than 2^doublings vertices above it. above: as of `predecessors_of_slices`. All ranks
    make this call alike, with some vertices at a time."""
    none, step = above.dtype.type(session.none), AT_ONCE
    longest = max(above.ranks.everybody(len(above.own)))
    up = np.full_like(above.own, none)
    session.reserve(up, up, up)
    pieces = [slice(first, first + step) for first in range(0, longest, step)]
    for piece in pieces:
        some = above.own[piece]
        there = some != none
        up[piece][there] = above.stored(session.store, some[there].astype(np.uint64))
    reach = above.alike(up)
    for doubled in range(doublings + 1):
        last = above.alike(up) if doubled == doublings else reach  # one edge more
        far = np.full_like(above.own, none)
        for piece in pieces:
            some = reach.own[piece]
            there = some != none
            far[piece][there] = last.of(some[there])
        reach = above.alike(far)
    deep = above.ranks.any(bool((reach.own != none).any()))
    session.release(up, up, up)
    return deep
