"""Which user IDs occur, and the dense ID of each: its rank among them (monotone, so sorts don't care).

Encoding: a bitmap of one bit an ID up to a fixed limit (uint64 words; pages of it that no ID touches cost nothing),
and from it a rank table uint64[words, 2]: the word, and how many bits are set before it, side by side so that a rank
costs one cache line (0.25 bytes an ID).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pagestore.jit import atomic_or, compiled

WORD_BITS = 64
READ_WORDS = 1 << 14  # words turned into IDs at a time: at most 1 Mi IDs, 8 MiB
U1, U6, U63 = np.uint64(1), np.uint64(6), np.uint64(63)


@compiled
def mark(ids, bitmap):
    """Set the bit of every ID; all must be below 64 * len(bitmap). Several threads may mark at once."""
    for i in range(ids.size):
        bit = U1 << (ids[i] & U63)
        if not bitmap[ids[i] >> U6] & bit:
            atomic_or(bitmap, ids[i] >> U6, bit)


@compiled(inline="always")
def bits_set(word):
    """Number of ones in a uint64 (LLVM makes it one instruction where the CPU has it)."""
    word -= (word >> U1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def _rank_table(bitmap, table):
    total = np.uint64(0)
    for i in range(bitmap.size):
        table[i, 0] = bitmap[i]
        table[i, 1] = total
        total += bits_set(bitmap[i])
    return total


@compiled(inline="always")
def rank(table, identity):
    """How many IDs below `identity` occur."""
    word = table[identity >> U6, 0]
    below = (U1 << (identity & U63)) - U1
    return table[identity >> U6, 1] + bits_set(word & below)


@compiled
def ranks(table, ids, out):
    """out[i] = rank of ids[i]; IDs past the table rank last (how many occur at all)."""
    end = np.uint64(table.shape[0]) << U6
    for i in range(ids.size):
        if ids[i] < end:
            out[i] = rank(table, ids[i])
        else:
            last = np.uint64(table.shape[0]) - U1
            out[i] = table[last, 1] + bits_set(table[last, 0])


class Presence:
    """The bitmap of IDs 0..limit-1, of which parts that are never marked take no memory."""

    def __init__(self, limit: int):
        self.limit = limit
        # numpy's zeros come from calloc: untouched pages of it are never backed by memory.
        self.bitmap = np.zeros(-(-max(limit, 1) // WORD_BITS), np.uint64)

    def mark(self, ids: np.ndarray) -> None:
        """Note the IDs (uint64[n], each below `limit`); thread-safe."""
        mark(ids, self.bitmap)

    def count(self, end: int | None = None) -> int:
        """How many IDs below `end` (rounded up to a multiple of 64) occur."""
        words = len(self.bitmap) if end is None else -(-end // WORD_BITS)
        windows = (self.bitmap[first : min(first + READ_WORDS, words)] for first in range(0, words, READ_WORDS))
        return sum(int(np.bitwise_count(window).sum()) for window in windows)

    def first_not_in(self, other: Presence) -> int | None:
        """The least ID that occurs here but not in `other` (of the same limit)."""
        for first in range(0, len(self.bitmap), READ_WORDS):
            alone = self.bitmap[first : first + READ_WORDS] & ~other.bitmap[first : first + READ_WORDS]
            words = np.flatnonzero(alone)
            if len(words):
                word = int(alone[words[0]])
                return (first + int(words[0])) * WORD_BITS + (word & -word).bit_length() - 1
        return None

    def table(self, end: int) -> np.ndarray:
        """Rank table uint64[words, 2] of the IDs below `end`; none may occur above."""
        words = max(1, -(-end // WORD_BITS))
        table = np.empty((words, 2), np.uint64)
        _rank_table(self.bitmap[:words], table)
        return table


def ids_of_table(table: np.ndarray) -> Iterator[np.ndarray]:
    """The IDs that occur, ascending: int64 arrays of at most 1 Mi."""
    for first in range(0, len(table), READ_WORDS):
        words = np.ascontiguousarray(table[first : first + READ_WORDS, 0], "<u8").view(np.uint8)
        ids = np.flatnonzero(np.unpackbits(words, bitorder="little"))
        if len(ids):
            yield first * WORD_BITS + ids
