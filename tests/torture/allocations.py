"""NumPy's allocator with a fault: the n-th array of the first thread, or of all others, can't be had.

NumPy takes an allocator from a capsule (NEP 49). This one is C's malloc behind a counter, compiled by Numba so that it
needs no compiler. It is a thread's: those without it, and C libraries beside NumPy, have memory as ever. Threads share
a counter under the interpreter's lock, which NumPy holds as it makes an array.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, cfunc, types

from tests.torture.ordeals import counted

SET_HANDLER = 304  # place of PyDataMem_SetHandler in NumPy's table of C functions
UNCOUNTED = 1 << 60  # arrays that no action makes
TOO_MUCH = (1 << 62) - 1  # bytes


class Handler(ctypes.Structure):
    """PyDataMem_Handler of numpy/ndarraytypes.h; context: address of how many arrays can still be had, int64."""

    _fields_ = [
        ("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p), ("calloc", ctypes.c_void_p), ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    ]  # fmt: skip


def _of_c(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = result, arguments
    return function


_malloc = _of_c("malloc", ctypes.c_void_p, ctypes.c_size_t)
_calloc = _of_c("calloc", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_realloc = _of_c("realloc", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_free = _of_c("free", None, ctypes.c_void_p)


@cfunc(types.voidptr(types.voidptr, types.uintp))
def malloc(context: Any, size: Any) -> Any:
    left = carray(context, 1, np.int64)
    left[0] -= 1
    return _malloc(TOO_MUCH if left[0] == -1 else size)


@cfunc(types.voidptr(types.voidptr, types.uintp, types.uintp))
def calloc(context: Any, count: Any, size: Any) -> Any:
    left = carray(context, 1, np.int64)
    left[0] -= 1
    return _calloc(TOO_MUCH if left[0] == -1 else count, size)


@cfunc(types.voidptr(types.voidptr, types.voidptr, types.uintp))
def realloc(context: Any, memory: Any, size: Any) -> Any:
    left = carray(context, 1, np.int64)
    left[0] -= 1
    return _realloc(memory, TOO_MUCH if left[0] == -1 else size)


@cfunc(types.void(types.voidptr, types.voidptr, types.uintp))
def free(context: Any, memory: Any, size: Any) -> None:
    _free(memory)


def failing_array(number: int, action: Callable[[], int | None], others: bool = False) -> Callable[[], int | None]:
    """`action`, for a child of its own, but the number-th array (from 0) that its first thread makes can't be had.

    others: that its other threads make.
    """

    def run() -> int | None:
        left = ctypes.c_int64(number)
        if others:
            _install_in_others(left)
        else:
            _install(left)
        code = action()
        if number == UNCOUNTED:
            print(f"calls: {number - left.value}")
        return code

    return run


def arrays_of(action: Callable[[], int | None], others: bool = False) -> int:
    """How many arrays the first thread, or others, of an action make."""
    return int(counted(failing_array(UNCOUNTED, action, others)))


def _install_in_others(left: ctypes.c_int64) -> None:
    """The same for each thread that begins from now on."""
    usual = threading.Thread.run

    def run(self: threading.Thread) -> None:
        _install(left)
        usual(self)

    threading.Thread.run = run  # type: ignore[method-assign]


def _install(left: ctypes.c_int64) -> None:
    """Let this thread's arrays come from the counted allocator, until the process ends."""
    handler = Handler(
        b"counted", 1, ctypes.addressof(left), malloc.address, calloc.address, realloc.address, free.address
    )
    _KEPT.append(handler)
    api = ctypes.pythonapi
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = api.PyCapsule_GetPointer(np._core._multiarray_umath._ARRAY_API, None)
    address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[SET_HANDLER]
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
    set_handler(api.PyCapsule_New(ctypes.addressof(handler), b"mem_handler", None))


_KEPT: list[Handler] = []
