"""From sorted keys to what is kept of them: targets, weights and degrees (compiled, releases the GIL).

Weights are sorted and kept as unsigned codes that sort like the weights themselves. One kernel for each width then
serves all dtypes, and equal codes mean equal bytes. u1 and u4 are their own codes; an i4 gets its sign bit turned; an
f4's bits are turned whole when it is negative, else only its sign bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pagestore.convert.rounding import rounded
from pagestore.jit import compiled

U0, U1, HALF = np.uint64(0), np.uint64(1), np.uint64(32)
KEPT, DUPLICATES, LOOPS, HASH, LAST_KEY, STARTED = range(6)  # of `state` u8[6]
SIGN = np.uint32(1 << 31)


@compiled(inline="always")
def mix(x):
    """A bijection of uint64 that spreads every bit (splitmix64's finaliser)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _emit(keys, weights, count, bits, first, dedupe, mirrored, targets, kept_weights, degrees, state):
    mask = (U1 << bits) - U1
    kept, begun, local = U0, U0, U0  # edges kept, those up to the current near vertex, and its number
    duplicates, loops, total = U0, U0, state[HASH]
    started, last = state[STARTED] != U0, state[LAST_KEY]
    for i in range(count):
        key = keys[i]
        far = key & mask
        if started and key == last:
            if not mirrored or first + (key >> bits) <= far:
                duplicates += U1
            if dedupe:
                continue
        if key >> bits != local:
            degrees[local] += kept - begun
            begun, local = kept, key >> bits
        started, last = True, key
        near = first + local
        loops += np.uint64(near == far)
        edge = ((near << HALF) | (near >> HALF)) ^ far  # one to one below 2^32 vertices
        targets[kept] = far
        if weights is not None:
            kept_weights[kept] = weights[i]
            edge ^= mix(np.uint64(weights[i]) + U1)
        total += mix(edge)
        kept += U1
    if kept > begun:
        degrees[local] += kept - begun
    state[KEPT] += kept
    state[DUPLICATES] += duplicates
    state[LOOPS] += loops
    state[HASH], state[LAST_KEY], state[STARTED] = total, last, np.uint64(started)
    return kept


@compiled
def _take(keys, count, bits, targets, degrees):
    """Write targets and degrees of keys of which none is dropped, without counting duplicates or loops."""
    mask = (U1 << bits) - U1
    begun, local = U0, U0
    for at in range(count):
        i, key = np.uint64(at), keys[at]
        if key >> bits != local:
            degrees[local] += i - begun
            begun, local = i, key >> bits
        targets[i] = key & mask
    if count > begun:
        degrees[local] += count - begun


@dataclass
class Tail:
    """What a bucket's keys added up to: `kept` edges, duplicates met, self-loops kept, and a hash of the edges kept.

    The hash is a sum over edges, so it depends neither on the buckets nor on their order.
    """

    kept: int
    duplicates: int
    loops: int
    hash: int
    weights: tuple[float, float] | None  # least and greatest kept


def merged_range(first: tuple[float, float] | None, second: tuple[float, float] | None) -> tuple[float, float] | None:
    """The range that covers both; None covers nothing."""
    if first is None or second is None:
        return second if first is None else first
    return min(first[0], second[0]), max(first[1], second[1])


class Emitter:
    """Takes the sorted keys of one bucket, in one or more ascending parts.

    `bits`: target bits of a key; `first`: the bucket's first near vertex; `degrees`: u4 or u8[near vertices], which
    the kept edges are added to. With `mirrored` (undirected) a duplicate is counted in one direction only. `told`: else
    all edges are kept, and the tail has their number alone.
    """

    def __init__(self, bits: int, first: int, degrees: np.ndarray, dedupe: bool, mirrored: bool, told: bool):
        self.bits, self.first = np.uint64(bits), np.uint64(first)
        self.degrees, self.dedupe, self.mirrored, self.told = degrees, dedupe, mirrored, told
        self.state = np.zeros(6, np.uint64)
        self.weights: tuple[float, float] | None = None

    def emit(
        self, keys: np.ndarray, weights: np.ndarray | None, targets: np.ndarray, kept_weights: np.ndarray | None,
    ) -> int:  # fmt: skip
        """Write the targets (u4 or u8) and weights (codes) of the edges kept; returns how many there are."""
        if not self.told:
            _take(keys, np.uint64(len(keys)), self.bits, targets, self.degrees)
            if weights is not None and kept_weights is not None:
                kept_weights[:] = weights
            self.state[KEPT] += np.uint64(len(keys))
            return len(keys)
        return int(
            _emit(
                keys, weights, np.uint64(len(keys)), self.bits, self.first, self.dedupe, self.mirrored, targets,
                kept_weights, self.degrees, self.state,
            )
        )  # fmt: skip

    def note_weights(self, kept: np.ndarray) -> None:
        """Widen the range of weights by those kept."""
        if self.told and len(kept):
            low, high = float(kept.min()), float(kept.max())
            self.weights = merged_range(self.weights, (low, high))

    def tail(self) -> Tail:
        """The sums, after the last part."""
        state = [int(value) for value in self.state]
        return Tail(state[KEPT], state[DUPLICATES], state[LOOPS], state[HASH], self.weights)


def code_dtype(dtype: np.dtype | None) -> np.dtype | None:
    """Dtype of the codes: u1 for u1, u4 for the others, None for None."""
    if dtype is None:
        return None
    return np.dtype(np.uint8 if dtype.itemsize == 1 else np.uint32)


def encode(weight: np.ndarray, dtype: np.dtype, round_bits: int | None = None) -> np.ndarray:
    """Codes of weights (any numbers) that are to be stored as `dtype` (u1, i4, u4 or f4); -0.0 counts as 0.0.

    round_bits: significant bits that f4 keeps, None: all.
    """
    stored = weight.astype(dtype)
    if dtype.kind == "u":
        return stored
    if dtype.kind == "i":
        return stored.view(np.uint32) ^ SIGN
    stored = stored if round_bits is None else rounded(stored, round_bits)
    bits = (stored + dtype.type(0)).view(np.uint32)
    return bits ^ ((bits.view(np.int32) >> 31).view(np.uint32) | SIGN)


def decode(codes: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The weights, as `dtype`, that `encode` gave these codes."""
    if dtype.kind == "u":
        return codes
    if dtype.kind == "i":
        return (codes ^ SIGN).view(dtype)
    return (codes ^ (~(codes.view(np.int32) >> 31).view(np.uint32) | SIGN)).view(dtype)
