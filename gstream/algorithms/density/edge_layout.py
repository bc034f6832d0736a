"""Where edges are in arrays of all edges: block after block, each beginning at a word of bits of its own.

before: uint64[V + 1], the entries of the lists of all lower vertices. bounds: the first vertices of the blocks, and V.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from gstream.hostcode.bitmaps import bitmap

BITS = 64  # of a word


def firsts_of(before: np.ndarray, bounds: Sequence[int]) -> list[int]:
    """The first edge of each block, and the end of the last one."""
    counts = (int(before[end]) - int(before[first]) for first, end in pairwise(bounds))
    return [0, *accumulate(-(-count // BITS) * BITS for count in counts)]


def move_edges(values: np.ndarray, before: np.ndarray, old: Sequence[int], new: Sequence[int]) -> np.ndarray:
    """A value of each edge, for other bounds: all of the old ones and maybe more."""
    moved = np.zeros(firsts_of(before, new)[-1], values.dtype)
    for source, target, count in _stretches(before, old, new):
        moved[target : target + count] = values[source : source + count]
    return moved


def move_bits(bits: np.ndarray, before: np.ndarray, old: Sequence[int], new: Sequence[int]) -> np.ndarray:
    """A bit of each edge, uint64 words, as `move_edges`."""
    moved, given = bitmap(firsts_of(before, new)[-1]), bits.view(np.uint8)
    for source, target, count in _stretches(before, old, new):
        found = np.unpackbits(given[source // 8 : -(-(source + count) // 8)], bitorder="little")
        packed = np.packbits(found[source % 8 :][:count], bitorder="little")
        moved.view(np.uint8)[target // 8 : target // 8 + len(packed)] = packed
    return moved


def _stretches(before: np.ndarray, old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(first edge by the old bounds, first edge by the new ones, how many) of each new block."""
    firsts, place = firsts_of(before, old), 0
    for target, (first, end) in zip(firsts_of(before, new), pairwise(new), strict=False):
        while old[place + 1] <= first:
            place += 1
        beside = int(before[first]) - int(before[old[place]])
        yield firsts[place] + beside, target, int(before[end]) - int(before[first])
