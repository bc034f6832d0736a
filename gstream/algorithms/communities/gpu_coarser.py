"""The next level of Louvain and Leiden, made by a GPU that holds a level's lists (kernels: gpu_groups.py).

Groups are done batch by batch, as many as have room for their tables. The host only adds up sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from gstream.algorithms.communities import gpu_groups as kernels
from gstream.algorithms.communities.gpu_moves import PIECE, empty_tables
from gstream.algorithms.communities.gpu_slices import shares, slots_within
from gstream.algorithms.communities.levels import Lists
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.records import bytes_of
from gstream.records.held import Scratch

BATCH_SLOTS = 1 << 28  # of the tables of a batch, where a larger group does not ask for more
HOST_SHARE = 16  # of the memory that is left, lists of a batch take so small a part


def add_groups(
    session: Session, lists: Lists, own: float, place: np.ndarray, count: int, add: Callable[..., None]
) -> bool:  # fmt: skip
    """add(groups, entries of each, ids, weights) for the lists of all groups (coarser.Found.add), batch by batch.
    False: the GPU has no room, and nothing was done."""
    kind, most = session.id_dtype, len(place) + len(lists.ids) // PIECE
    sizes, lows = np.zeros(count, np.uint64), np.zeros(count + 1, np.uint64)
    order, pieces, held = Scratch(most, kind), Scratch(most, np.uint32), np.zeros(1, np.uint64)
    scratch: list[Any] = [order, pieces, held]
    given = [lists.starts, lists.ids, lists.weights, place, sizes, lows]
    entry = kind.itemsize + 8
    left = (session.engine.host_memory - session.engine.beside_bytes) // (HOST_SHARE * entry)
    wanted = 2 * min(len(lists.ids), max(BATCH_SLOTS // 2, count), max(left, 1))
    slots = slots_within(session, bytes_of((*given, *scratch)), 1, wanted, entry // 2)
    keys, sums = Scratch(slots, kind), Scratch(slots, np.float64)
    ends, heavy = Scratch(slots // 2 + 1, kind), Scratch(slots // 2 + 1, np.float64)
    scratch += [keys, sums, ends, heavy]
    if not session.fits((*given, *scratch)):
        return False
    with Resident(session, *given, *scratch) as resident:
        if not resident.on_gpu:
            return False
        starts, every = lists.starts, shares(len(place))
        resident.each(kernels.size_groups, every, starts, place, sizes)
        room = 2 * np.minimum(resident.read(sizes), np.uint64(count))
        if int(room.max(initial=0)) > slots:
            resident.forget(sizes, *scratch)
            return False
        np.cumsum(room, out=lows[1:])
        resident.put(lows)
        sizes.fill(0)
        resident.put(sizes)
        for first, last in batches(lows, slots):
            held[0] = 0
            resident.put(held)
            batch, many = (np.uint64(first), np.uint64(last)), int(lows[last] - lows[first])
            resident.each(kernels.list_members, every, starts, place, *batch, order, pieces, held)
            resident.each(empty_tables, shares(many), np.uint64(many), keys, sums)
            listed = starts, lists.ids, lists.weights, order, pieces, place
            resident.each(kernels.fill_groups, int(resident.read(held)[0]), *listed, lows, batch[0], own, keys, sums)
            tables = lows, *batch, np.uint64(many), keys
            resident.each(kernels.count_groups, shares(many), *tables, sizes)
            there = resident.read(sizes)[first:last].copy()
            sizes[first:last] = np.cumsum(there) - there
            resident.put(sizes)
            resident.each(kernels.pack_groups, shares(many), *tables, sums, sizes, ends, heavy)
            entries = int(there.sum())
            lists_of = [resident.read_head(array, entries) for array in (ends, heavy)]
            session.reserve(*lists_of)
            add(np.arange(first, last), there, *lists_of)
            session.release(*lists_of)
        resident.forget(sizes, *scratch)
    return True


def batches(lows: np.ndarray, slots: int) -> list[tuple[int, int]]:
    """(first, last) of groups that together have no more slots, and of which none has more. lows: u8[G + 1]."""
    bounds, groups = [0], len(lows) - 1
    while bounds[-1] < groups:
        bounds.append(int(np.searchsorted(lows, lows[bounds[-1]] + np.uint64(slots), side="right")) - 1)
    return [*pairwise(bounds)]
