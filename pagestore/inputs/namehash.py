"""Compiled hashing of names, and the cache that lets through a name only when it is (probably) new.

A name stands for its 64-bit hash until its rank is known; a second hash guards the cache. Two names with one hash are
found when the ranks are tabled (names.py) and then another seed is taken: 1.4 in 100,000 for 2^24 names.
"""

from __future__ import annotations

import numpy as np

from pagestore.inputs.idtable import EMPTY, slot_of
from pagestore.jit import compiled

ODD_1, ODD_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
U0, U1, U8, SHIFT = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(29)
WORD_BYTES = np.uint64(8)


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
            stop = min(i + WORD_BYTES, end)
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
