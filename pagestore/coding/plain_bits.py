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
