"""Bit counts, and bit streams in arrays of words, for compiled code."""

from __future__ import annotations

import numpy as np
from llvmlite import binding, ir
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
def trailing_zeros(typingctx, word):
    """How many zeros are below the lowest set bit of a u64; 64 of 0."""

    def generate(context, builder, sig, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def population(typingctx, word):
    """How many bits of a u64 are set."""

    def generate(context, builder, sig, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


HAS_PDEP = bool(binding.get_host_cpu_features().get("bmi2"))  # Numba keeps code by these features


@intrinsic
def _pdep(typingctx, word, mask):
    """The instruction of x86."""

    def generate(context, builder, sig, args):
        kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)] * 2)
        function = builder.module.declare_intrinsic("llvm.x86.bmi.pdep.64", (), kind)
        return builder.call(function, args)

    return types.uint64(types.uint64, types.uint64), generate


def _deposit(word, mask):
    """The lowest bits of a u64, each where the mask has its next 1; 0 where the mask has 0."""
    found = U0
    while mask:
        lowest = mask & (~mask + U1)
        found |= lowest if word & U1 else U0
        word, mask = word >> U1, mask ^ lowest
    return found


@compiled(inline="always")
def _deposit_by_pdep(word, mask):
    return _pdep(word, mask)


deposit = _deposit_by_pdep if HAS_PDEP else compiled(_deposit)


@intrinsic
def unaligned(typingctx, stream, byte):
    """The u64 at a byte of a stream u8[n], which need not be a multiple of 8."""

    def generate(context, builder, sig, args):
        array = context.make_array(sig.args[0])(context, builder, args[0])
        begin = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        place = builder.bitcast(builder.gep(begin, [args[1]]), ir.IntType(64).as_pointer())
        return builder.load(place, align=1)

    return types.uint64(stream, types.uint64), generate


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
