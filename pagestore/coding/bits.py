"""Bit counts, and bit streams in arrays of words, for compiled code."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, extending, types
from numba.core.codegen import get_host_cpu_features

from pagestore.coding import plain_bits
from pagestore.jit import compiled

U0, U1, U6, U63 = (np.uint64(n) for n in (0, 1, 6, 63))
U32, LOW = np.uint64(32), np.uint64((1 << 32) - 1)


def intrinsic(make):
    """Numba's intrinsic, or what does the same in runs without compiled code."""
    return getattr(plain_bits, make.__name__) if config.DISABLE_JIT else extending.intrinsic(make)


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


def has_features(*names: str) -> bool:
    """Whether Numba compiles for cores with such instructions: NUMBA_CPU_NAME and NUMBA_CPU_FEATURES may say others
    than these, and LLVM ends the process at an instruction that they lack."""
    told = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    return not config.DISABLE_JIT and {f"+{name}" for name in names} <= set(told.split(","))


HAS_PDEP = has_features("bmi2")  # Numba keeps code for each set of features


def _of_two_words(name):
    """An instruction of x86 as a function (word, mask) of u64."""

    @extending.intrinsic
    def instruction(typingctx, word, mask):
        def generate(context, builder, sig, args):
            kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)] * 2)
            return builder.call(builder.module.declare_intrinsic(name, (), kind), args)

        return types.uint64(types.uint64, types.uint64), generate

    return instruction


_pdep, _pext = _of_two_words("llvm.x86.bmi.pdep.64"), _of_two_words("llvm.x86.bmi.pext.64")


def deposit_slowly(word, mask):
    """The lowest bits of a u64, each where the mask has its next 1; 0 where the mask has 0."""
    found = U0
    while mask:
        lowest = mask & (~mask + U1)
        found |= lowest if word & U1 else U0
        word, mask = word >> U1, mask ^ lowest
    return found


def extract_slowly(word, mask):
    """The bits of a u64 where the mask has a 1, side by side, the lowest first."""
    found, place = U0, U1
    while mask:
        lowest = mask & (~mask + U1)
        found |= place if word & lowest else U0
        place, mask = place << U1, mask ^ lowest
    return found


def apart_slowly(word, mask):
    """`deposit`, where the mask's ones are its lowest bits, or those of each half of it."""
    low = mask & LOW
    return (word & low) | (word >> population(low) & mask >> U32) << U32


@compiled(inline="always")
def _deposit(word, mask):
    return _pdep(word, mask)


@compiled(inline="always")
def _extract(word, mask):
    return _pext(word, mask)


deposit = _deposit if HAS_PDEP else compiled(deposit_slowly)
apart = _deposit if HAS_PDEP else compiled(apart_slowly)
extract = _extract if HAS_PDEP else compiled(extract_slowly)


@intrinsic
def unaligned(typingctx, stream, byte):
    """The u64 at a byte of a stream u8[n], which need not be a multiple of 8."""

    def generate(context, builder, sig, args):
        array = context.make_array(sig.args[0])(context, builder, args[0])
        begin = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        place = builder.bitcast(builder.gep(begin, [args[1]]), ir.IntType(64).as_pointer())
        return builder.load(place, align=1)

    return types.uint64(stream, types.uint64), generate


@intrinsic
def store_unaligned(typingctx, out, byte, word):
    """Write a u64 at a byte of an array, which need not be a multiple of 8."""

    def generate(context, builder, sig, args):
        array = context.make_array(sig.args[0])(context, builder, args[0])
        begin = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        place = builder.bitcast(builder.gep(begin, [args[1]]), ir.IntType(64).as_pointer())
        builder.store(args[2], place, align=1)
        return context.get_dummy_value()

    return types.void(out, types.uint64, types.uint64), generate


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
