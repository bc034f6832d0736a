"""Scalar casts and helpers that emitted methods name (Numba versions)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gstream.hostcode.jit import helper

__all__ = [
    "f32", "f64", "i32", "i64", "int_power", "is_member", "math", "max2", "min2", "np", "saturate_i32", "saturate_i64",
    "saturate_u8", "saturate_u32", "saturate_u64", "u8", "u32", "u64", "wrap_add", "wrap_i32", "wrap_i64", "wrap_mul",
    "wrap_sub", "wrap_u8", "wrap_u32", "wrap_u64",
]  # fmt: skip

TYPES: tuple[Any, ...] = (np.uint8, np.uint32, np.uint64, np.int32, np.int64, np.float32, np.float64)  # Any: for mypy
u8, u32, u64, i32, i64, f32, f64 = TYPES
wrap_u8, wrap_u32, wrap_u64, wrap_i32, wrap_i64 = u8, u32, u64, i32, i64  # Numba's integer casts wrap


@helper
def saturate_u8(x):
    """As saturate_u32, to 8 bits."""
    if not x > 0.0:
        return u8(0)
    return u8(255) if x >= 255.0 else u8(i64(x))


@helper
def saturate_u32(x):
    """Cut off; below 0 and NaN give 0, too large gives the largest (as CUDA converts)."""
    if not x > 0.0:
        return u32(0)
    return u32(4294967295) if x >= 4294967295.0 else u32(i64(x))


@helper
def saturate_u64(x):
    """As saturate_u32, to 64 bits."""
    if not x > 0.0:
        return u64(0)
    return u64(18446744073709551615) if x >= 18446744073709551616.0 else u64(x)


@helper
def saturate_i32(x):
    """Cut off; too small and too large give the least and the largest, NaN gives 0."""
    if x != x:
        return i32(0)
    if x <= -2147483648.0:
        return i32(-2147483648)
    return i32(2147483647) if x >= 2147483647.0 else i32(i64(x))


@helper
def saturate_i64(x):
    """As saturate_i32, to 64 bits."""
    if x != x:
        return i64(0)
    if x <= -9223372036854775808.0:
        return i64(-9223372036854775808)
    return i64(9223372036854775807) if x >= 9223372036854775808.0 else i64(x)


@helper
def wrap_add(a, b):
    """a + b of i64, wrapping: unsigned, as Numba takes overflow of signed ones for impossible."""
    return i64(u64(a) + u64(b))


@helper
def wrap_sub(a, b):
    """a - b of i64, wrapping."""
    return i64(u64(a) - u64(b))


@helper
def wrap_mul(a, b):
    """a * b of i64, wrapping."""
    return i64(u64(a) * u64(b))


@helper
def int_power(x, n):
    """x to the constant n > 0, wrapping at 64 bits."""
    power = u64(x)
    for _ in range(n - 1):
        power = power * u64(x)
    return type(x)(power)


@helper
def min2(a, b):
    """Python's min: the first of equals."""
    return b if b < a else a


@helper
def max2(a, b):
    """Python's max: the first of equals."""
    return b if b > a else a


@helper
def is_member(members, first, end, v):
    """Whether v stands in members[first:end], ascending store IDs (u8)."""
    low, high, wanted = u64(first), u64(end), u64(v)
    # nearly every vertex is outside: without this line a start of one source took five times as long
    if low == high or wanted < members[low] or wanted > members[high - u64(1)]:
        return False
    while low < high:
        middle = (low + high) >> u64(1)
        if members[middle] < wanted:
            low = middle + u64(1)
        else:
            high = middle
    return members[low] == wanted
