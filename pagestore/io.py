"""Whole reads and writes at file offsets, and large arrays that cost few page faults.

Reads and writes retry short transfers, and say in plain words what went wrong. Large arrays lie in huge pages where
they fit, and a thread's `Buffers` are used again and again. Measured here: memory used once costs 1 ns a byte in pages
of 4 KiB, four times as much as sorting it, and a ninth of that in huge pages. NumPy asks for huge pages too, but its
arrays start off their bounds.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from pagestore.cores import usable_cores
from pagestore.errors import GstreamError, StoreError
from pagestore.faults import disk_error, read_error
from pagestore.meta import REBUILD

DIRECT_ALIGN = 4096  # O_DIRECT: buffer, offset and length are multiples of it (the largest block size in use)
MAP_NORESERVE = 0x4000  # Linux's; Python's mmap has no name for it before 3.13
TOUCHED_AT_ONCE = 8 << 20
HUGE_BYTES = 2 << 20
LEAST_STARTED = 1 << 20  # bytes: the call costs a few microseconds
WRITE_BEGINS = 2  # SYNC_FILE_RANGE_WRITE
_MOST = 1 << 30  # bytes a system call: Linux moves at most 2^31 - 4096


Where = str | Callable[[int], str]  # names what is read, or, given a byte, what lies there
Failed = Callable[[OSError, int], Exception]  # what to raise where the system refuses to read at a byte


def fill(fd: int, offset: int, out: np.ndarray, failed: Failed | None = None, least: int | None = None) -> int:
    """Read into a contiguous array from a byte offset; returns the bytes read: fewer only where the file ends.

    least: stop once so many are there, the length of `out` by default. failed: else an OSError goes on as it is.
    """
    view, done = _bytes(out), 0
    while done < (len(view) if least is None else least):
        try:
            count = os.preadv(fd, [view[done : done + _MOST]], offset + done)
        except OSError as error:
            if failed is None:
                raise
            raise failed(error, offset + done) from error
        if count == 0:
            break
        done += count
    return done


def drain(fd: int, offset: int, data: np.ndarray) -> None:
    """Write all of a contiguous array at a byte offset. Raises OSError."""
    view, done = _bytes(data), 0
    while done < len(view):
        done += os.pwritev(fd, [view[done : done + _MOST]], offset + done)


def read_into(fd: int, offset: int, out: np.ndarray, where: Where) -> None:
    """Fill `out` (contiguous uint8), of a store, from `offset`.

    Raises StoreError when the file ends first, ResourceError when the disk fails.
    """
    done = fill(fd, offset, out, lambda error, byte: not_read(error, where, byte))
    if done < out.nbytes:
        raise cut(where, offset + done)


def not_read(error: OSError, where: Where, byte: int) -> GstreamError:
    """The error to raise where a store can't be read at a byte."""
    what = f"{_name(where, byte)}: reading at byte {byte} failed"
    return read_error(error, what, REBUILD, StoreError)


def cut(where: Where, byte: int) -> StoreError:
    """The error to raise where a store ends at a byte, before its end."""
    return StoreError(f"{_name(where, byte)}: the file ends at byte {byte}; it was cut. Convert the graph again.")


def _name(where: Where, byte: int) -> str:
    return where if isinstance(where, str) else where(byte)


def write_from(fd: int, offset: int, data: np.ndarray, where: str) -> None:
    """Write all of `data` (contiguous) at `offset`. Raises ResourceError when the disk is full or fails."""
    try:
        drain(fd, offset, data)
    except OSError as error:
        raise disk_error(error, where) from error


def give_back(array: np.ndarray) -> None:
    """Let go of the memory behind the whole pages of the system's in a part of an `aligned_empty` array.

    They hold zeros afterwards.
    """
    first = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (array.ctypes.data + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if end > first:
        call = ctypes.CDLL(None).madvise
        call(ctypes.c_void_p(first), ctypes.c_size_t(end - first), ctypes.c_int(mmap.MADV_DONTNEED))


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    """Linux's call, which os has not; None elsewhere."""
    call = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if call is not None:
        call.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return call


def start_writing(fd: int, offset: int, nbytes: int) -> None:
    """Have the system begin to write a part of a file to the disk: else a later sync finds all of it still to do.

    What fails shows in that sync.
    """
    if nbytes >= LEAST_STARTED and (call := _sync_file_range()) is not None:
        call(fd, offset, nbytes, WRITE_BEGINS)


def aligned_empty(nbytes: int, reserve: bool = True) -> np.ndarray:
    """uint8[nbytes] whose address suits O_DIRECT; an anonymous mapping of its own, zeroed, freed with the array.

    reserve: the system counts all of it as taken; else what is touched, so that it may be longer than memory.
    """
    whole = nbytes // HUGE_BYTES * HUGE_BYTES  # the rest of the last huge page would be memory that nobody uses
    spare = HUGE_BYTES if whole else 0  # Linux puts a mapping on a huge page's bound only if its length is whole too
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (0 if reserve else MAP_NORESERVE)
    memory = mmap.mmap(-1, max(nbytes, 1) + spare, flags=flags)
    array = np.frombuffer(memory, np.uint8)
    first = -array.ctypes.data % HUGE_BYTES if whole else 0
    if whole and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE, first, whole)
    return array[first : first + nbytes]


def large_empty(count: int, dtype: np.dtype | type) -> np.ndarray:
    """An uninitialised vector; from 2 MiB on in a mapping of its own, which goes back to the system with the array."""
    size = count * np.dtype(dtype).itemsize
    return np.empty(count, dtype) if size < HUGE_BYTES else aligned_empty(size).view(dtype)


class Buffers:
    """One thread's arrays by name, each as long as the longest that was asked for."""

    def __init__(self) -> None:
        self._held: dict[str, np.ndarray] = {}

    def get(self, name: str, count: int, dtype: np.dtype | type | str) -> np.ndarray:
        """An uninitialised vector; what an earlier call with this name returned is overwritten."""
        size = count * np.dtype(dtype).itemsize
        held = self._held.get(name)
        if held is None or len(held) < size:
            self._held.pop(name, None)  # let go of the old one first
            held = self._held[name] = large_empty(size, np.uint8)
        return held[:size].view(dtype)


def touch(array: np.ndarray) -> None:
    """Touch every page of an array, so that the system backs it with memory; several threads, without the GIL."""
    flat = array.reshape(-1).view(np.uint8)
    pieces = [flat[low : low + TOUCHED_AT_ONCE : mmap.PAGESIZE] for low in range(0, len(flat), TOUCHED_AT_ONCE)]
    with ThreadPoolExecutor(min(8, usable_cores())) as threads:
        list(threads.map(lambda piece: np.bitwise_or(piece, 0, out=piece), pieces))


def _bytes(data: np.ndarray) -> memoryview:
    if not data.flags.c_contiguous:
        raise ValueError("only contiguous arrays are moved")
    return data.reshape(-1).view(np.uint8).data
