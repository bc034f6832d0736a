"""Whole reads and writes at file offsets: retries short transfers, and says in plain words what went wrong."""

from __future__ import annotations

import errno
import mmap
import os
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pagestore.cores import usable_cores
from pagestore.errors import GstreamError, ResourceError, StoreError, UsageError

DIRECT_ALIGN = 4096  # O_DIRECT: buffer, offset and length are multiples of it (the largest block size in use)
TOUCHED_AT_ONCE = 8 << 20
HUGE_BYTES = 2 << 20
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR)
FULL = {  # what an error number means, and the remedy
    errno.ENOSPC: ("no space left", "Free some space"),
    errno.EDQUOT: ("no space left in the disk quota", "Free some space"),
    errno.EFBIG: ("no space left in the file, whose size is limited", "Raise the limit (ulimit -f)"),
}
_MOST = 1 << 30  # bytes a system call: Linux moves at most 2^31 - 4096


def read_into(fd: int, offset: int, out: np.ndarray, where: str) -> None:
    """Fill `out` (contiguous uint8) from `offset`. Raises StoreError when the file ends first or the disk fails."""
    view, done = _bytes(out), 0
    while done < len(view):
        try:
            count = os.preadv(fd, [view[done : done + _MOST]], offset + done)
        except OSError as error:
            raise StoreError(f"{where}: reading at byte {offset + done} failed ({error.strerror}).") from error
        if count == 0:
            raise StoreError(f"{where}: the file ends at byte {offset + done}; it was cut. Convert the graph again.")
        done += count


def write_from(fd: int, offset: int, data: np.ndarray, where: str) -> None:
    """Write all of `data` (contiguous) at `offset`. Raises ResourceError when the disk is full or fails."""
    view, done = _bytes(data), 0
    while done < len(view):
        try:
            done += os.pwritev(fd, [view[done : done + _MOST]], offset + done)
        except OSError as error:
            raise disk_error(error, where) from error


def no_space(error: BaseException) -> tuple[str, str] | None:
    """What is full, in plain words, and the remedy, where an error says that nothing more can be written; else None.

    HDF5 and Arrow put the system's number into a text that is for their own developers.
    """
    number = getattr(error, "errno", None) or next(iter(re.findall(r"errno (?:= )?(\d+)", str(error))), 0)
    return FULL.get(int(number))


def disk_error(error: Exception, where: str) -> GstreamError:
    """ResourceError, which tells a full disk, a quota or a size limit from a failing device, or UsageError (rights)."""
    full = no_space(error)
    if full is not None:
        return ResourceError(f"{where}: {full[0]}. {full[1]}, or write to another disk.")
    reason = getattr(error, "strerror", None) or str(error)
    if getattr(error, "errno", None) in REFUSED:
        return UsageError(f"{where}: can't be written ({reason}). Choose another folder.")
    return ResourceError(f"{where}: writing failed ({reason.splitlines()[0]}). Check the disk, then run again.")


def aligned_empty(nbytes: int) -> np.ndarray:
    """uint8[nbytes] whose address suits O_DIRECT; an anonymous mapping of its own, zeroed, freed with the array.

    In huge pages where they fit: a fault of 4 KiB took 4 us here, 1 ns a byte; one of 2 MiB takes a ninth of that.
    """
    whole = nbytes // HUGE_BYTES * HUGE_BYTES  # the rest of the last huge page would be memory that nobody uses
    spare = HUGE_BYTES if whole else 0  # Linux puts a mapping on a huge page's bound only if its length is whole too
    memory = mmap.mmap(-1, max(nbytes, 1) + spare, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    array = np.frombuffer(memory, np.uint8)
    first = -array.ctypes.data % HUGE_BYTES if whole else 0
    if whole and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE, first, whole)
    return array[first : first + nbytes]


def touch(array: np.ndarray) -> None:
    """Make the system give an array's memory, as it is; several threads, without the GIL."""
    flat = array.reshape(-1).view(np.uint8)
    pieces = [flat[low : low + TOUCHED_AT_ONCE : mmap.PAGESIZE] for low in range(0, len(flat), TOUCHED_AT_ONCE)]
    with ThreadPoolExecutor(min(8, usable_cores())) as threads:
        list(threads.map(lambda piece: np.bitwise_or(piece, 0, out=piece), pieces))


def _bytes(data: np.ndarray) -> memoryview:
    if not data.flags.c_contiguous:
        raise ValueError("only contiguous arrays are moved")
    return data.reshape(-1).view(np.uint8).data
