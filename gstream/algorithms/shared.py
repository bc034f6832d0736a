"""What page kernels do to arrays that all threads change: bits of vertices, and values that only fall or only grow.

bits: uint64[ceil(V / 64)], bit v & 63 of word v >> 6.
"""

from __future__ import annotations

from gstream.algorithms.records import u64
from gstream.hostcode.intrinsics import atomic_or, compare_and_swap
from gstream.hostcode.jit import helper


@helper
def is_set(bits, v):
    """Whether the bit of v is set."""
    return (bits[v >> u64(6)] >> (v & u64(63))) & u64(1) != u64(0)


@helper
def set_bit(bits, v):
    """Set the bit of v, by an atomic where it is not there yet."""
    if not is_set(bits, v):
        atomic_or(bits, v >> u64(6), u64(1) << (v & u64(63)))


@helper
def lower(array, at, value):
    """array[at] = min(array[at], value); whether that changed it."""
    seen = array[at]
    while value < seen:
        written, seen = compare_and_swap(array, at, seen, array.dtype.type(value))
        if written:
            return True
    return False


@helper
def raise_to(array, at, value):
    """array[at] = max(array[at], value); whether that changed it."""
    seen = array[at]
    while seen < value:
        written, seen = compare_and_swap(array, at, seen, array.dtype.type(value))
        if written:
            return True
    return False
