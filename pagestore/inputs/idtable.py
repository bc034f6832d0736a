"""Hash tables of 64-bit IDs, compiled: the set of IDs that occur, and the rank of each.

Open addressing with linear probing; a slot holds EMPTY (all bits set, which is no ID) or an ID. The capacity is any
number below 2^32: a slot is the upper half of a mixed hash times the capacity, so a table is never larger than asked.
"""

from __future__ import annotations

import numpy as np

from pagestore.jit import compiled

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
FULLEST = 0.65  # load at which a set grows: beyond 0.7 linear probes lengthen quickly
GROWTH = 1.6
LEAST_CAPACITY = 1 << 12
MIX_1, MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
U0, U1, HALF, FOLD = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(33)


@compiled(inline="always")
def mixed(key: np.uint64) -> np.uint64:
    """A hash: MurmurHash3's finaliser."""
    key = (key ^ (key >> FOLD)) * MIX_1
    key = (key ^ (key >> FOLD)) * MIX_2
    return key ^ (key >> FOLD)


@compiled(inline="always")
def slot_of(key: np.uint64, capacity: np.uint64) -> np.uint64:
    return ((mixed(key) >> HALF) * capacity) >> HALF


@compiled
def place_of(table: np.ndarray, key: np.uint64) -> np.uint64:
    """The slot that holds `key`, or the EMPTY one where it belongs."""
    capacity = np.uint64(len(table))
    slot = slot_of(key, capacity)
    while table[slot] != EMPTY and table[slot] != key:
        slot += U1
        if slot == capacity:
            slot = U0
    return slot


@compiled
def insert_all(table: np.ndarray, ids: np.ndarray, first: int, room: int) -> tuple:
    """Insert ids[first:] (uint64) until `room` new ones are in: (index of the first not looked at, new ones)."""
    added = 0
    k = np.uint64(first)
    while k < np.uint64(len(ids)) and added < room:
        slot = place_of(table, ids[k])
        if table[slot] == EMPTY:
            table[slot] = ids[k]
            added += 1
        k += U1
    return k, added


@compiled
def fill_ranks(table: np.ndarray, slots: np.ndarray, ids: np.ndarray, base: int, ranks: np.ndarray) -> int:
    """Make `table` and `slots` map ids[k] to ranks[k], or to base + k when there are no `ranks`.

    The table is all EMPTY before. Returns how many IDs were repeated.
    """
    repeated = 0
    for k in range(np.uint64(len(ids))):
        slot = place_of(table, ids[k])
        repeated += table[slot] != EMPTY
        table[slot] = ids[k]
        slots[slot] = ranks[k] if len(ranks) else np.uint64(base) + np.uint64(k)
    return repeated


@compiled
def look_up(table: np.ndarray, ranks: np.ndarray, ids: np.ndarray, out: np.ndarray) -> int:
    """out[k] = rank of ids[k]; returns the index of the first ID that is missing, or len(ids)."""
    for k in range(np.uint64(len(ids))):
        slot = place_of(table, ids[k])
        if table[slot] == EMPTY:
            return k
        out[k] = ranks[slot]
    return len(ids)


def distinct(ids: np.ndarray) -> np.ndarray:
    """The distinct values of `ids`, ascending. (numpy.unique hashes integers: 15 times as slow, numpy 2.4.)"""
    ids = np.sort(ids)
    return ids[np.concatenate([ids[:1] == ids[:1], ids[1:] != ids[:-1]])]


class IdSet:
    """A growing set of IDs, up to `limit` of them."""

    def __init__(self, limit: int) -> None:
        self.count, self._limit = 0, limit
        self._table = np.full(LEAST_CAPACITY, EMPTY, dtype=np.uint64)

    def add(self, ids: np.ndarray) -> bool:
        """Insert uint64 IDs; False when that would take more than `limit`: the set then lacks some of them."""
        at = 0
        while at < len(ids):
            room = int(len(self._table) * FULLEST) - self.count
            if room <= 0:
                if self.count >= self._limit:
                    return False
                self._grow()
                continue
            at, added = (int(n) for n in insert_all(self._table, ids, at, room))
            self.count += added
        return self.count <= self._limit

    def _grow(self) -> None:
        old = self._table[self._table != EMPTY]
        capacity = int(len(self._table) * GROWTH)
        self._table = np.full(capacity, EMPTY, dtype=np.uint64)
        insert_all(self._table, old, 0, len(old))

    def sorted(self) -> np.ndarray:
        """All IDs, ascending, uint64[count]; the set is empty afterwards."""
        ids = self._table[self._table != EMPTY]
        self._table = np.full(LEAST_CAPACITY, EMPTY, dtype=np.uint64)
        self.count = 0
        ids.sort()
        return ids


class RankTable:
    """Rank of each of `ids` (uint64): its place plus `base`, or `ranks` (uint64). 12 bytes a slot, 16 past 2^32.

    `repeated`: an ID occurs twice, so the table is of no use.
    """

    def __init__(self, ids: np.ndarray, base: int = 0, ranks: np.ndarray | None = None) -> None:
        given = np.empty(0, dtype=np.uint64) if ranks is None else ranks
        greatest = base + len(ids) if ranks is None else int(ranks.max(initial=0))
        capacity = int(len(ids) / FULLEST) + 2
        self._table = np.full(capacity, EMPTY, dtype=np.uint64)
        self._slots = np.empty(capacity, dtype=np.uint64 if greatest >= 1 << 32 else np.uint32)
        self.repeated = bool(fill_ranks(self._table, self._slots, np.ascontiguousarray(ids), base, given))

    def ranks(self, ids: np.ndarray) -> tuple[np.ndarray, int]:
        """Uint64[n] ranks, and the index of the first ID that has none (n when all have)."""
        out = np.empty(len(ids), dtype=np.uint64)
        return out, int(look_up(self._table, self._slots, ids, out))
