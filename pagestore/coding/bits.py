"""Bit counts, and bit streams in arrays of words, for compiled code."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pagestore.jit import compiled

U0, U1, U6, U63 = (np.uint64(n) for n in (0, 1, 6, 63))
FULL = np.uint64((1 << 64) - 1)


@intrinsic
def leading_zeros(typingctx, word):
    """How many zeros are above the highest set bit of a u64; 64 of 0."""

    def generate(context, builder, sig, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def population(typingctx, word):
    """How many bits of a u64 are set."""

    def generate(context, builder, sig, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@compiled(inline="always")
def bit_length(word):
    """Bits of a u64 without its leading zeros."""
    return np.uint64(64) - leading_zeros(word)


@compiled(inline="always")
def below(width):
    """The `width` lowest bits, of up to 63."""
    return (U1 << width) - U1


@compiled(inline="always")
def window(stream, bit):
    """64 bits of a stream u8[n] from a bit on, which lies before the last word."""
    at, shift = bit >> U6, bit & U63
    return (stream[at] >> shift) | ((stream[at + U1] << (U63 - shift)) << U1)
