"""What intrinsics of bits.py do, in Python: for runs without compiled code (NUMBA_DISABLE_JIT), as fuzzers have."""

from __future__ import annotations

import numpy as np


def leading_zeros(word: np.uint64) -> np.uint64:
    return np.uint64(64 - int(word).bit_length())


def trailing_zeros(word: np.uint64) -> np.uint64:
    return np.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64)


def population(word: np.uint64) -> np.uint64:
    return np.uint64(int(word).bit_count())


def unaligned(stream: np.ndarray, byte: np.uint64) -> np.uint64:
    return np.uint64(int.from_bytes(stream.view(np.uint8)[int(byte) : int(byte) + 8].tobytes(), "little"))


def store_unaligned(out: np.ndarray, byte: np.uint64, word: np.uint64) -> None:
    out.view(np.uint8)[int(byte) : int(byte) + 8] = np.frombuffer(np.uint64(word).tobytes(), np.uint8)


def choose(
    out: np.ndarray, first: np.uint64, second: np.uint64, third: np.uint64, fourth: np.uint64, masks: tuple
) -> None:
    for i in range(64):
        out[i] = masks[sum(int(word) >> i & 1 for word in (first, second, third, fourth))]


def take(
    out: np.ndarray, first: np.uint64, stream: np.ndarray, bit: np.uint64, q0: np.uint64, q1: np.uint64, q2: np.uint64,
    q3: np.uint64, masks: tuple,
) -> np.uint64:  # fmt: skip
    choose(out[int(first) :], q0, q1, q2, q3, masks)
    for i in range(int(first), int(first) + 64):
        mask = out[i]
        out[i] = int(unaligned(stream, bit >> np.uint64(3))) >> (int(bit) & 7) & int(mask)
        bit += np.uint64(int(mask).bit_count())
    return bit


def sum_up(out: np.ndarray, value: np.ndarray, first: np.uint64, less: np.uint64, starts: np.uint64) -> np.uint64:
    total = 0
    for i in range(64):
        total += 0 if int(starts) >> i & 1 else int(value[int(first) + i]) + int(less)
        out[i] = total & ((1 << 8 * out.itemsize) - 1)
    return np.uint64(out[63])


def add_base(out: np.ndarray, at: np.uint64, sums: np.ndarray, first: np.uint64, base: np.uint64) -> None:
    held = sums[int(first) : int(first) + 16]
    out[int(at) : int(at) + 16] = held + out.dtype.type(int(base) & ((1 << 8 * out.itemsize) - 1))
