"""How host code is compiled: Numba options, and what to do where nothing can be cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

# error_model numpy: x / 0 is inf or nan and n // 0 is 0, as on a GPU; no fastmath: push and pull give the same bits.
OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call, without the GIL, and keep the machine code on disk where a folder can be written."""
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no cache folder (read-only installation, no home): compile anew in each process
        return njit(**OPTIONS)(function)


def helper(function: Callable[..., Any]) -> Any:
    """A function that only kernels call: it lives in their machine code, so nothing of it is cached."""
    return njit(no_cpython_wrapper=True, **OPTIONS)(function)  # no entry from Python: a third of the compile time
