"""Bitmaps of vertices (bit v & 63 of u64 word v >> 6) and lists of vertices: count, list, sum of degrees, pages."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.hostcode.casts import i64, u64
from gstream.hostcode.intrinsics import atomic_or, population, trailing_zeros
from gstream.hostcode.jit import helper, kernel

__all__ = [
    "bitmap",
    "bits_where",
    "clear_bits",
    "count_bits",
    "count_pages",
    "is_set",
    "list_bits",
    "set_bit",
    "set_bits",
]


def bitmap(vertices: int) -> np.ndarray:
    """An empty bitmap of `vertices` bits: uint64[ceil(vertices / 64)]."""
    return np.zeros((vertices + 63) >> 6, np.uint64)


def bitmap_bytes(vertices: int) -> int:
    """Bytes of a `bitmap` of this many bits."""
    return 8 * ((vertices + 63) >> 6)


def bits_where(mask: np.ndarray) -> np.ndarray:
    """The bitmap of bool[vertices]."""
    bits = bitmap(len(mask))
    packed = np.packbits(mask, bitorder="little")
    bits.view(np.uint8)[: len(packed)] = packed
    return bits


@helper
def is_set(bits: Any, v: Any) -> Any:
    """Whether the bit of v is set."""
    return (bits[v >> u64(6)] >> (v & u64(63))) & u64(1) != u64(0)


@helper
def set_bit(bits: Any, v: Any) -> Any:
    """Set the bit of v, by an atomic where it is not there yet: words are shared between threads."""
    if not is_set(bits, v):
        atomic_or(bits, v >> u64(6), u64(1) << (v & u64(63)))


@kernel
def count_bits(bits: Any) -> Any:
    """How many bits are set."""
    count = u64(0)
    for word in bits:
        count += population(word)
    return i64(count)


@kernel
def _fill_list(bits: Any, first: Any, last: Any, out: Any) -> Any:
    count = u64(0)
    for index in range(u64(first) >> u64(6), (u64(last) + u64(63)) >> u64(6)):
        word = bits[index]
        while word != u64(0):
            v = (index << u64(6)) + trailing_zeros(word)
            word &= word - u64(1)
            if v >= u64(first) and v < u64(last):
                out[count] = v
                count += u64(1)
    return count


def list_bits(bits: np.ndarray, first: int, last: int) -> np.ndarray:
    """The set bits in [first, last), ascending: uint64[k]."""
    out = np.empty(count_bits(bits[first >> 6 : (last + 63) >> 6]), np.uint64)
    return out[: _fill_list(bits, first, last, out)]


@kernel
def set_bits(bits: Any, vertices: Any) -> Any:
    """Set the bits of `vertices` (uint64[k]); one thread."""
    for v in vertices:
        bits[v >> u64(6)] |= u64(1) << (v & u64(63))


@kernel
def clear_bits(bits: Any, vertices: Any) -> Any:
    """Clear the bits of `vertices` (uint64[k], or int64[k]); one thread."""
    for v in vertices:
        bits[u64(v) >> u64(6)] &= ~(u64(1) << (u64(v) & u64(63)))


@kernel
def count_pages(bits: Any, first_vertex: Any, last_vertex: Any, lists: Any) -> Any:
    """lists[row] = how many bits of [first_vertex[row], last_vertex[row]] are set; returns how many rows have any."""
    rows = 0
    for row in range(u64(len(first_vertex))):
        low, high = u64(first_vertex[row]), u64(last_vertex[row])
        index, end = low >> u64(6), high >> u64(6)
        count = u64(0)
        while index <= end:
            word = bits[index]
            if index == low >> u64(6):
                word &= ~u64(0) << (low & u64(63))
            if index == end:
                word &= ~u64(0) >> (u64(63) - (high & u64(63)))
            count += population(word)
            index += u64(1)
        lists[row] = count
        rows += count != u64(0)
    return rows
