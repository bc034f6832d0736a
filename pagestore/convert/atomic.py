"""Atomic updates for Numba code that runs on several threads (llvmlite's `atomicrmw`; Numba has none on the CPU)."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _atomic(operation: str) -> Any:
    def typed(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
        if not (isinstance(array, types.Array) and isinstance(array.dtype, types.Integer) and array.ndim == 1):
            return None

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = context.cast(builder, arguments[1], signature.args[1], types.uintp)
            operand = context.cast(builder, arguments[2], signature.args[2], signature.args[0].dtype)
            builder.atomic_rmw(operation, builder.gep(vector.data, [place], inbounds=True), operand, "monotonic")
            return context.get_dummy_value()

        return types.void(array, index, value), generate

    typed.__name__ = f"atomic_{operation}"
    return intrinsic(typed)


# atomic_or(array, index, value), atomic_add(array, index, value): array[index] |= or += value in one step, relaxed
# order. `array` is a contiguous vector of integers; the index is not checked.
atomic_or = _atomic("or")
atomic_add = _atomic("add")
