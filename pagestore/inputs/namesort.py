"""Names in memory: hashes, order by bytes, which of them are equal, and into which range of names each falls.

A batch of names is offsets int64[n + 1] into data uint8[]. Sorting takes eight bytes at a time: names are ordered by
their first word, then, as long as some agree so far, those by their next one. A name stands for its 64-bit hash until
its rank is known; a second hash guards the cache of names seen lately. Two names with one hash are found when the ranks
are tabled (names.py) and then another seed is taken: 1.4 in 100,000 for 2^24 names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pagestore.inputs.idtable import EMPTY, slot_of
from pagestore.inputs.lines import gather_fields
from pagestore.jit import compiled

U0, U1, U8 = np.uint64(0), np.uint64(1), np.uint64(8)
WORD_BYTES = 8
ODD_1, ODD_2, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(29)


@dataclass(frozen=True)
class NameBatch:
    """Names data[offsets[k]:offsets[k + 1]] and their hashes uint64[n]."""

    offsets: np.ndarray
    data: np.ndarray
    hashes: np.ndarray

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def take(self, which: np.ndarray) -> NameBatch:
        """The names `which` (int64), copied."""
        first, end = self.offsets[which], self.offsets[which + 1]
        offsets = np.empty(len(which) + 1, dtype=np.int64)
        data = np.empty(int((end - first).sum()), dtype=np.uint8)
        gather_fields(self.data, first, end, offsets, data)
        return NameBatch(offsets, data, self.hashes[which])


@compiled
def words_at(data: np.ndarray, offsets: np.ndarray, which: np.ndarray, depth: int, words: np.ndarray) -> None:
    """Bytes depth..depth+7 of the names `which` as big-endian uint64, zeros behind the end."""
    for k in range(np.uint64(len(which))):
        begin, end = np.uint64(offsets[which[k]]) + np.uint64(depth), np.uint64(offsets[which[k] + 1])
        word = U0
        for step in range(U8):
            word <<= U8
            if begin + step < end:
                word |= np.uint64(data[begin + step])
        words[k] = word


def sort_order(names: NameBatch) -> tuple[np.ndarray, np.ndarray]:
    """Order int64[n] of the names by their bytes, and bool[n]: in this order, is the name equal to the one before."""
    order = np.arange(len(names), dtype=np.int64)
    tied = np.zeros(len(names), dtype=bool)  # tied[k]: name k of the order agrees with k - 1 as far as was looked
    tied[1:] = True
    longest = int(names.lengths.max(initial=0))
    for depth in [*range(0, longest, WORD_BYTES), longest]:
        if not tied.any():
            break
        places = np.flatnonzero(tied | np.append(tied[1:], False))  # members of groups of two and more
        group = np.cumsum(~tied[places])
        words = np.empty(len(places), dtype=np.uint64)
        if depth < longest:
            words_at(names.data, names.offsets, order[places], depth, words)
        else:  # names that agree in all their bytes may still differ in zero bytes at their ends
            words[:] = names.lengths[order[places]]
        ranked = np.argsort(words) if group[-1] == group[0] else np.lexsort((words, group))
        order[places] = order[places][ranked]
        words = words[ranked]
        same = np.zeros(len(places), dtype=bool)
        same[1:] = (words[1:] == words[:-1]) & tied[places[1:]]
        tied[places] = same
    return order, tied


@compiled
def _before(a: np.ndarray, a_first: int, a_end: int, b: np.ndarray, b_first: int, b_end: int) -> bool:
    """Whether the bytes a[a_first:a_end] come before b[b_first:b_end]."""
    while a_first < a_end and b_first < b_end:
        if a[a_first] != b[b_first]:
            return bool(a[a_first] < b[b_first])
        a_first += 1
        b_first += 1
    return bool(a_first == a_end and b_first < b_end)


@compiled
def ranges_of(
    data: np.ndarray, offsets: np.ndarray, split_data: np.ndarray, split_offsets: np.ndarray, out: np.ndarray
) -> None:
    """out[k] (uint8) = number of splitters, ascending names, that are not after name k."""
    for k in range(len(out)):
        low, high = 0, len(split_offsets) - 1
        while low < high:
            middle = (low + high) >> 1
            begin, end = split_offsets[middle], split_offsets[middle + 1]
            if _before(data, offsets[k], offsets[k + 1], split_data, begin, end):
                high = middle
            else:
                low = middle + 1
        out[k] = low


def pick_splitters(names: NameBatch, parts: int) -> NameBatch:
    """Up to parts - 1 distinct names, ascending, that cut `names` into about equal parts."""
    order, equal = sort_order(names)
    order = order[~equal]
    picked = np.linspace(0, len(order), parts, endpoint=False).astype(np.int64)[1:]
    return names.take(order[np.flatnonzero(np.bincount(picked, minlength=max(len(order), 1)))])


@compiled
def hash_names(data: np.ndarray, offsets: np.ndarray, seed: np.uint64, first: np.ndarray, second: np.ndarray) -> None:
    """Hashes uint64[n] of the names data[offsets[k]:offsets[k + 1]] (uint8, int64[n + 1]); `first` is never EMPTY."""
    for k in range(np.uint64(len(first))):
        a, b = seed * ODD_1 + U1, seed ^ ODD_2
        i, end = np.uint64(offsets[k]), np.uint64(offsets[k + U1])
        length = end - i
        while i < end:
            word = U0
            shift = U0
            stop = min(i + U8, end)
            while i < stop:
                word |= np.uint64(data[i]) << shift
                shift += U8
                i += U1
            a = (a ^ word) * ODD_1
            a ^= a >> SHIFT
            b = (b + word) * ODD_2
            b ^= b >> SHIFT
        a = (a ^ length) * ODD_2
        a ^= a >> SHIFT
        a *= ODD_1
        first[k] = a if a != EMPTY else U0
        second[k] = (b ^ length) * ODD_1


@compiled
def new_names(first: np.ndarray, second: np.ndarray, cache: np.ndarray, new: np.ndarray) -> int:
    """Indices of names that the cache (uint64[slots, 2], EMPTY at first) does not hold, into new[:returned].

    One name a slot, the latest: a name that lost its slot is taken for new again.
    """
    slots = np.uint64(len(cache))
    count = U0
    for k in range(np.uint64(len(first))):
        slot = slot_of(first[k], slots)
        if cache[slot, 0] != first[k] or cache[slot, 1] != second[k]:
            cache[slot, 0], cache[slot, 1] = first[k], second[k]
            new[count] = k
            count += U1
    return int(count)
