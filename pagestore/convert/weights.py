"""Weights on their way to the store, as unsigned codes that sort like the weights themselves.

One kernel for each width then serves all dtypes, and equal codes mean equal bytes. u1 and u4 are their own codes; an
i4 gets its sign bit turned; an f4's bits are turned whole when it is negative, else only its sign bit.
"""

from __future__ import annotations

import numpy as np

SIGN = np.uint32(1 << 31)


def code_dtype(dtype: np.dtype | None) -> np.dtype | None:
    """Dtype of the codes: u1 for u1, u4 for the others, None for None."""
    if dtype is None:
        return None
    return np.dtype(np.uint8 if dtype.itemsize == 1 else np.uint32)


def encode(weight: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Codes of weights (any numbers) that are to be stored as `dtype` (u1, i4, u4 or f4); -0.0 counts as 0.0."""
    stored = weight.astype(dtype)
    if dtype.kind == "u":
        return stored
    if dtype.kind == "i":
        return stored.view(np.uint32) ^ SIGN
    bits = (stored + dtype.type(0)).view(np.uint32)
    return bits ^ ((bits.view(np.int32) >> 31).view(np.uint32) | SIGN)


def decode(codes: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The weights, as `dtype`, that `encode` gave these codes."""
    if dtype.kind == "u":
        return codes
    if dtype.kind == "i":
        return (codes ^ SIGN).view(dtype)
    return (codes ^ (~(codes.view(np.int32) >> 31).view(np.uint32) | SIGN)).view(dtype)
