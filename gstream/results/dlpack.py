"""Memory as a DLPack capsule, which PyTorch, JAX, CuPy and cuDF take without a copy (DLPack, dlpack.h, version 0.8).

    capsule "dltensor" --taken: "used_dltensor"--> the taker calls the deleter when it is done
                       --not taken-->              the capsule's end does

Until then `_GIVEN` refers to the owner of the memory.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

CUDA = 2  # kDLCUDA: memory of a GPU
CODES = {"i": 0, "u": 1, "f": 2}  # of types, by NumPy's kind
NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_GIVEN: dict[int, tuple[_Managed, Any]] = {}  # address of what was given -> it, and the owner of its memory


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(address: int) -> None:
    _GIVEN.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _end(capsule: int) -> None:
    """A capsule ends. Memory that nobody took is let go of here; a taker calls the deleter itself."""
    if ctypes.pythonapi.PyCapsule_IsValid(ctypes.c_void_p(capsule), NAME):
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
        _delete(get(capsule, NAME))


def capsule_of(owner: Any, address: int, count: int, dtype: np.dtype, device: tuple[int, int]) -> Any:
    """A capsule of `count` elements from `address`. owner: whatever the memory lasts as long as. device: (kind, number)
    as DLPack has them. Raises BufferError for a type that DLPack does not know."""
    if dtype.kind not in CODES:
        raise BufferError(f"{dtype}: DLPack holds whole numbers and floats")
    managed, shape = _Managed(), (ctypes.c_int64 * 1)(count)
    tensor = managed.tensor
    tensor.data, (tensor.device_type, tensor.device_id) = address, device
    tensor.ndim, tensor.code, tensor.bits, tensor.lanes = 1, CODES[dtype.kind], 8 * dtype.itemsize, 1
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = ctypes.cast(_delete, ctypes.c_void_p).value
    where = ctypes.addressof(managed)
    _GIVEN[where] = managed, (owner, shape)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(where, NAME, ctypes.cast(_end, ctypes.c_void_p))
