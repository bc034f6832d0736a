"""Atomic operations on array elements, and bit counts, as Numba intrinsics (LLVM atomicrmw, cmpxchg, cttz, ctpop).

Orders are relaxed (monotonic): kernels meet at their end, where the launching thread waits for all.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from pagestore.coding.bits import population

__all__ = [
    "atomic_add", "atomic_min", "atomic_or", "bits_of", "compare_and_swap", "f32_of_bits", "population", "scratch",
    "trailing_zeros",
]  # fmt: skip


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    struct = context.make_array(array_type)(context, builder, array)
    return builder.gep(struct.data, [index])


@intrinsic
def atomic_add(typingctx, array, index, value):
    """array[index] += value; returns what stood there before. Integers and floats; index unsigned or constant."""
    signature = array.dtype(array, types.uint64, array.dtype)
    operation = "fadd" if isinstance(array.dtype, types.Float) else "add"

    def generate(context, builder, sig, args):
        return builder.atomic_rmw(operation, _pointer(context, builder, sig.args[0], *args[:2]), args[2], "monotonic")

    return signature, generate


@intrinsic
def atomic_min(typingctx, array, index, value):
    """array[index] = min(array[index], value) of whole numbers; returns what stood there before."""
    signature = array.dtype(array, types.uint64, array.dtype)
    operation = "min" if array.dtype.signed else "umin"

    def generate(context, builder, sig, args):
        return builder.atomic_rmw(operation, _pointer(context, builder, sig.args[0], *args[:2]), args[2], "monotonic")

    return signature, generate


@intrinsic
def atomic_or(typingctx, array, index, value):
    """array[index] |= value; returns what stood there before."""
    signature = array.dtype(array, types.uint64, array.dtype)

    def generate(context, builder, sig, args):
        return builder.atomic_rmw("or", _pointer(context, builder, sig.args[0], *args[:2]), args[2], "monotonic")

    return signature, generate


@intrinsic
def compare_and_swap(typingctx, array, index, expected, new):
    """If array[index] has the bits of `expected`, write `new`; returns (written, what stood there before)."""
    result = types.Tuple((types.boolean, array.dtype))
    signature = result(array, types.uint64, array.dtype, array.dtype)

    def generate(context, builder, sig, args):
        dtype = sig.args[0].dtype
        where = _pointer(context, builder, sig.args[0], *args[:2])
        old, fresh = args[2], args[3]
        kind = context.get_value_type(dtype)
        if isinstance(dtype, types.Float):
            bits = ir.IntType(dtype.bitwidth)
            where = builder.bitcast(where, bits.as_pointer())
            old, fresh = builder.bitcast(old, bits), builder.bitcast(fresh, bits)
        pair = builder.cmpxchg(where, old, fresh, "monotonic", "monotonic")
        seen = builder.extract_value(pair, 0)
        if isinstance(dtype, types.Float):
            seen = builder.bitcast(seen, kind)
        written = builder.zext(builder.extract_value(pair, 1), context.get_value_type(types.boolean))
        return context.make_tuple(builder, result, (written, seen))

    return signature, generate


@intrinsic
def trailing_zeros(typingctx, word):
    """Index of the lowest set bit of a u64 that is not 0."""

    def generate(context, builder, sig, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def bits_of(typingctx, x):
    """The bits of an integer or a float, as u64."""

    def generate(context, builder, sig, args):
        bits = args[0]
        if isinstance(sig.args[0], types.Float):
            bits = builder.bitcast(bits, ir.IntType(sig.args[0].bitwidth))
        return bits if bits.type.width == 64 else builder.zext(bits, ir.IntType(64))

    return types.uint64(x), generate


@intrinsic
def f32_of_bits(typingctx, word):
    """The float32 that the lower 32 bits of a u64 are."""

    def generate(context, builder, sig, args):
        return builder.bitcast(builder.trunc(args[0], ir.IntType(32)), ir.FloatType())

    return types.float32(types.uint64), generate


@intrinsic(prefer_literal=True)
def scratch(typingctx, number, count):
    """number's type[count], count a constant: an array on the thread's stack, holding anything, while the kernel that
    asks for it runs. Asked for again by the same line, it is the same memory."""
    array = types.Array(number.dtype if isinstance(number, types.NumberClass) else number, 1, "C")

    def generate(context, builder, sig, args):
        length, kind = sig.args[1].literal_value, context.get_data_type(array.dtype)
        data = cgutils.alloca_once(builder, kind, size=ir.Constant(ir.IntType(64), length))
        made, width = context.make_array(array)(context, builder), context.get_abi_sizeof(kind)
        context.populate_array(
            made, data=data, shape=[context.get_constant(types.intp, length)],
            strides=[context.get_constant(types.intp, width)], itemsize=context.get_constant(types.intp, width),
            meminfo=None,
        )  # fmt: skip
        return made._getvalue()

    return array(number, count), generate
