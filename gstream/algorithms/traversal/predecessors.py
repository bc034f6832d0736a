"""Predecessors of BFS and SSSP in a pass of their own: the in-neighbour of least (distance, hops, natural index).

The candidates of v are its in-neighbours u on tight edges (distance[u] + weight == distance[v]) that come before v in
(distance, hops). If every weight counts, they are nearer than v, and predecessors form trees with the sources as roots.
Zero weights, and weights that rounding absorbs, leave plateaus of equal distance. There `hops` counts the edges from a
vertex that has a nearer candidate or is a source. Rounds over the plateaus' pages find them; of long plateaus one host
thread does, by breadth-first search. Predecessors go down in (distance, hops), so there is no cycle, and they do not
depend on devices, threads, batches or the order of the store. In natural order lists ascend, so that a list is read
up to its first candidate. In another order all candidates are looked at: in breadth-first search vertices pull from
some, and others push (gstream.algorithms.traversal.shares).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support import lists
from gstream.algorithms.support.arguments import unreached
from gstream.algorithms.support.counting import count_others
from gstream.algorithms.support.edgerows import natural_bytes, natural_names
from gstream.algorithms.support.part_sweeps import bytes_beside, plan_of_slices
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import FAR
from gstream.algorithms.traversal import nearest
from gstream.algorithms.traversal.plateaus import HOPS, find_by_weight
from gstream.algorithms.traversal.shares import Shares, Way
from gstream.algorithms.traversal.slice_predecessors import (
    held_by_predecessors,
    keep_slices,
    predecessors_of_slices,
)
from gstream.devices.job import DeviceMemoryError
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes, count_bits, set_bits
from gstream.records import bytes_of
from gstream.records.held import on_host


def find_predecessors(session: Session, distance: Any, sources: np.ndarray, weighted: bool) -> tuple[Any, int]:
    """(id[V] in store order, `session.none` for sources and vertices that are not reached; vertices that are).

    Where each rank has the distances of its slice, they are natural indices, and held so, too.
    distance: u4[V] (BFS) or the distances of SSSP; sources: uint64[k] store IDs. Where a device holds the distances,
    and finds the predecessors, it holds these, too.
    """
    vertices, device = len(distance), session.engine.devices[0]
    if (own := predecessors_of_slices(session, distance, sources, weighted)) is not None:
        return own, count_others(session, distance, unreached(distance.dtype))
    if not weighted and (found := _on_gpu(session, distance)) is not None:
        return found, count_others(session, distance, unreached(distance.dtype))
    distance, predecessor = on_host(distance), device.take(vertices, session.id_dtype)
    is_source, open_bits = bitmap(vertices), bitmap(vertices)
    session.reserve(distance, predecessor, is_source, open_bits)
    set_bits(is_source, np.asarray(sources, np.uint64))
    predecessor.fill(session.none)
    session.each(nearest.open_vertices, distance, unreached(distance.dtype), is_source, open_bits)
    reached = int(count_bits(open_bits) + count_bits(is_source))
    natural = natural_names(session)
    if weighted:
        _by_weight(session, distance, natural, predecessor, open_bits)
    else:
        _by_hops(session, distance, natural, predecessor, open_bits)
    session.names_done()
    return predecessor, reached


def predecessor_bytes(session: Session, program: Any, weighted: bool) -> int:
    """Bytes that `find_predecessors` takes in all, as many at least, and a look at the depth of their tree. program:
    that finds the distances."""
    distance, cap = program.value.dtype, session.engine.options.host_memory
    if session.stays and keep_slices(session) and (planned := plan_of_slices(session, program)) is not None:
        need = held_by_predecessors(session, distance, weighted, planned.graph) + bytes_beside(session, planned)
        if cap is None or need <= cap:
            return need  # else whole columns may take less
    return held_bytes(session, distance, weighted) + max(session.least_pages(weighted), session.meta.vertices)


def held_bytes(session: Session, distance: np.dtype, weighted: bool = True, looked_for: bool = True) -> int:
    """Bytes of distances and predecessors; looked_for: with what `find_predecessors` holds beside them."""
    vertices = session.meta.vertices
    both = vertices * (np.dtype(distance).itemsize + session.id_dtype.itemsize)
    beside = vertices * (HOPS.itemsize if weighted else 0) + 3 * bitmap_bytes(vertices)
    return both + (beside + 3 * natural_bytes(session) if looked_for else 0)  # names both ways, and keys


def _on_gpu(session: Session, distance: Any) -> Any:
    """Breadth-first search on one GPU that keeps all pages: it looks through them, in few launches, and keeps what it
    finds. None: it does not."""
    device, tables = session.engine.devices[0], session.engine.graph.tables
    if not session.on_one_gpu or not device.keeps_all(tables[session.gathers()[0]]):
        return None
    natural, shift = natural_names(session), key_shift(session)
    if len(natural) and shift is not None:
        found = _keys_on_gpu(session, distance, natural, shift)
        if found is not None:
            return found
    return _hops_on_gpu(session, distance, natural)


def _hold(session: Session, names: tuple[np.ndarray, ...], *sizes: tuple[int, Any]) -> list[Any] | None:
    """Values of so many elements on the one GPU; None where they, with copies of `names`, would make pages go."""
    device, room = session.engine.devices[0], session.engine.device_memory
    held = sum(count * np.dtype(dtype).itemsize for count, dtype in sizes) + bytes_of(names)
    if room is not None and device.memory_bytes + held > room:
        return None
    try:
        return [device.hold(count, dtype) for count, dtype in sizes]
    except DeviceMemoryError:
        return None


def _keys_on_gpu(session: Session, distance: Any, natural: np.ndarray, shift: int) -> Any:
    """`_on_gpu` by keys."""
    vertices, store_of, beyond = len(distance), session.store_ids(), np.zeros(1, np.int64)
    made = _hold(session, (natural, store_of), (vertices, session.id_dtype), (vertices, np.uint32))
    if made is None:
        return None
    least, key = made
    try:
        names, stored = session.there("natural_ids", natural), session.there("store_ids", store_of)
        shares = Shares(session, distance, names, listed=False)
    except DeviceMemoryError:
        return None
    items = -(-vertices // nearest.LANES)
    session.reserve(distance, least)
    with Resident(session, distance, least, key, names, stored, beyond, *shares.arrays) as resident:
        if resident.on_gpu:
            resident.fill(least, 0xFF)
            resident.each(nearest.make_keys, items, distance, names, shift, key, beyond, items=vertices)
            if not resident.read(beyond)[0]:
                if shares.may_choose and session.engine.devices[0].keeps_all(session.engine.graph.tables["out"]):
                    shares.choose(resident)
                shares.sweep_all(resident, by_keys(key, least, shares.until, shift))
                resident.each(nearest.take_least, items, least, shift, stored, items=vertices)
                resident.forget(key)
                return least
    session.release(distance, least)
    return None


def _hops_on_gpu(session: Session, distance: Any, natural: np.ndarray) -> Any:
    """`_on_gpu` without keys: they, or distances in them, have no room, or lists are in natural order. Nobody
    chooses."""
    vertices, words = len(distance), len(bitmap(len(distance)))
    made = _hold(session, (natural,), (vertices, session.id_dtype), (words, np.uint64))
    if made is None:
        return None
    predecessor, bits = made
    try:
        names = session.there("natural_ids", natural)
        shares = Shares(session, distance, names, listed=False)
    except DeviceMemoryError:
        return None
    session.reserve(distance, predecessor)
    with Resident(session, distance, predecessor, bits, names, *shares.arrays) as resident:
        if resident.on_gpu:
            resident.fill(predecessor, 0xFF)
            items = -(-words // nearest.WORDS)
            if shares.pull:
                resident.each(nearest.open_orphans, items, distance, predecessor, bits, items=vertices)
            else:
                resident.each(nearest.open_pushing, items, distance, names, shares.until, bits, items=vertices)
            shares.sweep_all(resident, by_hops(distance, names, predecessor), bits)
            resident.forget(bits)
            return predecessor
    session.release(distance, predecessor)
    return None


def by_keys(key: Any, least: Any, until: np.ndarray, shift: int) -> Way:
    """Breadth-first search by keys."""
    return lambda bits, pull: (nearest.pull_key if pull else nearest.push_key, (key, least, until, shift))


def by_hops(distance: Any, natural: Any, predecessor: Any) -> Way:
    """Breadth-first search by distances and natural indices."""
    return lambda bits, pull: (nearest.nearest_by_hops, (distance, natural, predecessor, bits, pull))


def key_shift(session: Session) -> int | None:
    """Bits of a natural index in a key of 4 bytes; None where no distance has room beside it."""
    shift = max(session.meta.vertices - 1, 1).bit_length()
    return None if session.id_dtype.itemsize != 4 or 2 << shift > nearest.FAR else shift


def _by_hops(
    session: Session, distance: np.ndarray, natural: np.ndarray, predecessor: np.ndarray, open_bits: np.ndarray
) -> None:
    """Breadth-first search: in natural order the heads settle most vertices, then pages are swept."""
    name, pull = session.gathers()
    if pull and not len(natural):
        for first, heads in session.heads(name):
            session.look(nearest.nearest_heads, heads, first, distance, predecessor, open_bits)
    if not open_bits.any():
        return
    shares = Shares(session, distance, natural)
    session.reserve(shares.pushing)
    with Resident(session) as resident:
        if shares.may_choose and not session.on_gpus and session.engine.holds("out"):
            shares.choose(resident)
        if not (len(natural) and _by_keys(shares, resident, distance, natural, predecessor, open_bits)):

            def join(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
                for copy in copies:
                    session.each(nearest.take_equal_offers, predecessor, copy["predecessor"], natural)

            shares.sweep(resident, by_hops(distance, natural, predecessor), predecessor, open_bits, join)
    session.release(shares.pushing)


def _by_keys(
    shares: Shares, resident: Resident, distance: np.ndarray, natural: np.ndarray, predecessor: np.ndarray,
    open_bits: np.ndarray,
) -> bool:  # fmt: skip
    """Breadth-first search by keys of 4 bytes, if these have room for distances and natural indices. Whether it did."""
    session, vertices, beyond = shares.session, len(distance), np.zeros(1, np.int64)
    shift, items = key_shift(session), -(-vertices // nearest.LANES)
    if shift is None:
        return False
    key = np.empty(vertices, np.uint32)
    session.reserve(key)
    resident.each(nearest.make_keys, items, distance, natural, shift, key, beyond, items=vertices)
    if not beyond[0]:
        shares.sweep(resident, by_keys(key, predecessor, shares.until, shift), predecessor, open_bits)
        resident.each(nearest.take_least, items, predecessor, shift, session.store_ids(), items=vertices)
    session.release(key)
    return not beyond[0]


def _by_weight(
    session: Session, distance: np.ndarray, natural: np.ndarray, predecessor: np.ndarray, open_bits: np.ndarray
) -> None:
    """As find_by_weight; where rounds are many, one thread counts the hops."""
    name, pull = session.gathers()
    hops = np.zeros(len(distance), HOPS)
    session.reserve(hops)

    def join(arrays: dict[str, Any], copies: list[dict[str, Any]]) -> None:
        for copy in copies:
            session.each(nearest.take_offers, predecessor, copy["predecessor"], distance, hops, natural)

    def sweep(kernel: Any, arrays: tuple[Any, ...], bits: np.ndarray) -> None:
        joins = {"join": join} if kernel is nearest.nearest_by_weight else {}
        session.sweep_among(name, kernel, arrays, bits if pull else None, **joins)

    def unsettled() -> np.ndarray | None:
        plateau = np.empty_like(open_bits)
        return plateau if session.each(nearest.unsettled, predecessor, open_bits, plateau) else None

    def alone(number: int, plateau: np.ndarray, flat: np.ndarray) -> bool:
        if number != lists.FIRST_ROUNDS or not session.store.has("out"):
            return False
        with lists.lists_of(session, "out", len(hops) * session.id_dtype.itemsize, True) as there:
            if there is not None:
                hops[flat], queue = FAR, np.empty(len(hops), session.id_dtype)
                given = (there.words, there.weights, there.places, distance, unreached(distance.dtype))
                session.look(nearest.spread_hops_alone, *given, hops, plateau, queue, items=0, long=True)
        return there is not None

    find_by_weight(sweep, predecessor, (distance, hops, natural, predecessor, open_bits, pull), unsettled, bool, alone)
