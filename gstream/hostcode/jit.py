"""How host code is compiled: Numba's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import config, njit

from pagestore.errors import UsageError
from pagestore.jit import compiled

# error_model numpy: x / 0 is inf or nan and n // 0 is 0, as on a GPU; no fastmath: push and pull give the same bits.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
# Nothing is allocated, so references need no counts: an atomic for each array that a call is given took three quarters
# of a superstep of one vertex.
BORROWED = {**OPTIONS, "_nrt": False}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call, without the GIL, and keep the machine code on disk where a folder can be written.

    It may not make arrays.
    """
    return compiled(function, **BORROWED)


def helper(function: Callable[..., Any]) -> Any:
    """A function that only kernels call: it lives in their machine code, so nothing of it is cached, and without an
    entry from Python, which takes a third of the compile time. It may not make arrays."""
    return njit(nogil=True, no_cpython_wrapper=True, **BORROWED)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A helper whose text stands where it is called: a call with ten arrays takes 10 ns."""
    return njit(nogil=True, no_cpython_wrapper=True, inline="always", **BORROWED)(function)


def kernel_with_arrays(function: Callable[..., Any]) -> Any:
    """A kernel that makes arrays for itself."""
    return compiled(function, **OPTIONS)


def helper_with_arrays(function: Callable[..., Any]) -> Any:
    """A helper that makes arrays, for such kernels."""
    return njit(nogil=True, no_cpython_wrapper=True, **OPTIONS)(function)


def check_compiler() -> None:
    """UsageError where Numba is switched off: kernels would be Python, which has none of their atomics."""
    if config.DISABLE_JIT:
        raise UsageError(
            "NUMBA_DISABLE_JIT: is set, and gstream's kernels have to be compiled. Unset it, then start again."
        )
