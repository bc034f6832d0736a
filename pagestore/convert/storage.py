"""Temporary data of a conversion: vectors in memory or in a file, and reads and writes that finish or explain."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from pagestore.errors import ResourceError
from pagestore.faults import FAILING, REFUSED, disk_error, no_space, shortage

WINDOW = 1 << 18  # elements that a sequential pass over a vector handles at a time
MAX_IO_BYTES = 1 << 30  # Linux moves at most 2^31 - 4096 bytes a call
MAPPED_BYTES = 1 << 18  # arrays from this size on get a mapping of their own
OPEN_FILES = 1 << 15
TRIMMED_BYTES = 128 << 10  # of free memory at the heap's end are kept: glibc's DEFAULT_TRIM_THRESHOLD
KEPT_BYTES = 32 << 20  # after a conversion arrays from this size on: glibc's DEFAULT_MMAP_THRESHOLD_MAX
_RETURNING, _OPEN = threading.Lock(), [0]
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


@contextmanager
def returning_freed_memory() -> Iterator[None]:
    """A block in which glibc hands large freed arrays back to the system at once.

    It would otherwise raise its threshold to 32 MiB as such arrays are freed and keep them: measured at a budget of
    64 MiB, 91 MiB are held instead of 52, and at 512 MiB 527 instead of 384. After it the thresholds are what glibc
    would have raised them to, as runs make such arrays in every superstep, and new mappings took them half as long
    again. Several blocks may be open, in threads: the last one ends it. Other C libraries are left alone.
    """
    with _RETURNING:
        _set_thresholds(MAPPED_BYTES, TRIMMED_BYTES)
        _OPEN[0] += 1
    try:
        yield
    finally:
        with _RETURNING:
            _OPEN[0] -= 1
            if not _OPEN[0]:
                _set_thresholds(KEPT_BYTES, 2 * KEPT_BYTES)


def _set_thresholds(mapped: int, trimmed: int) -> None:
    """From which size on arrays get mappings of their own, and how many free bytes the heap may end with."""
    with suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, mapped)
        libc.mallopt(_M_TRIM_THRESHOLD, trimmed)
        libc.malloc_trim(0)


def allow_many_files() -> None:
    """Raise the soft limit on open files: a shuffle keeps a file a bucket open, up to some hundreds a thread."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def free_bytes(folder: Path) -> int:
    """Bytes that may still be written in `folder`'s file system."""
    return shutil.disk_usage(folder).free


@contextmanager
def disk_errors(path: Path, needed: int = 0) -> Iterator[None]:
    """Turn what ran out and I/O errors into ResourceError, missing permission into UsageError."""
    try:
        yield
    except OSError as error:
        full = no_space(error)
        if full is not None:
            folder = path if path.is_dir() else path.parent
            free = free_bytes(folder) if folder.exists() else 0
            amount = f" while writing {needed:,} bytes" if needed else ""
            raise ResourceError(
                f"{path}: {full[0]}{amount}; {free:,} bytes are free in {folder.resolve()}. "
                f"{full[1]}, or put temporary files on another disk with --workdir."
            ) from error
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise ResourceError(f"{path}: too many open files. Raise the limit (ulimit -n), or --memory.") from error
        if error.errno in REFUSED or shortage(error) is not None:
            raise disk_error(error, str(path)) from error
        if error.errno in FAILING:
            raise ResourceError(f"{path}: the disk reports an input/output error. Check it, then run again.") from error
        raise


def write_all(file: int, data: np.ndarray, offset: int, path: Path) -> None:
    """Write a contiguous array at byte `offset`, in as many calls as it takes; thread-safe."""
    view = data.reshape(-1).view(np.uint8).data
    with disk_errors(path, len(view)):
        while view:
            written = os.pwrite(file, view[:MAX_IO_BYTES], offset)
            view, offset = view[written:], offset + written


def read_all(file: int, out: np.ndarray, offset: int, path: Path) -> None:
    """Fill a contiguous array from byte `offset`; raises ResourceError when the file is shorter than expected."""
    view = out.reshape(-1).view(np.uint8).data
    with disk_errors(path):
        while view:
            count = os.preadv(file, [view[:MAX_IO_BYTES]], offset)
            if count == 0:
                raise ResourceError(f"{path}: a temporary file was cut short. Run again without --resume.")
            view, offset = view[count:], offset + count


def save_array(path: Path, array: np.ndarray) -> None:
    """numpy.save that says why it failed: NumPy's own error tells how many items were written, and no more."""
    with disk_errors(path, array.nbytes), open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(np.ascontiguousarray(array).data)


class Vector:
    """A fixed number of elements, in memory (path None) or in a sparse file; unwritten ones are zero.

    Different ranges may be read and written from different threads.
    """

    def __init__(self, length: int, dtype: np.dtype | type, path: Path | None = None, keep: bool = False):
        """With `keep`, an existing file is opened as it is; else it starts as zeros."""
        self.length = length
        self.dtype = np.dtype(dtype)
        self.path = path
        self._array: np.ndarray | None = None
        self._file = -1
        if path is None:
            self._array = np.zeros(length, self.dtype)
        else:
            with disk_errors(path, length * self.dtype.itemsize):
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | (0 if keep else os.O_TRUNC), 0o666)
                os.ftruncate(self._file, length * self.dtype.itemsize)

    @property
    def array(self) -> np.ndarray | None:
        """The elements themselves when they are in memory."""
        return self._array

    def write(self, first: int, values: np.ndarray) -> None:
        """Elements [first, first + len(values)) become `values`."""
        if self._array is not None:
            self._array[first : first + len(values)] = values
        elif len(values):
            data = np.ascontiguousarray(values, self.dtype)
            assert self.path is not None
            write_all(self._file, data, first * self.dtype.itemsize, self.path)

    def read(self, first: int, last: int) -> np.ndarray:
        """Elements [first, last): a view when in memory (don't write to it), else a fresh array."""
        if self._array is not None:
            return self._array[first:last]
        out = np.empty(max(0, last - first), self.dtype)
        if len(out):
            assert self.path is not None
            read_all(self._file, out, first * self.dtype.itemsize, self.path)
        return out

    def windows(self, size: int = WINDOW) -> Iterator[tuple[int, np.ndarray]]:
        """(first, elements) of consecutive windows."""
        for first in range(0, self.length, size):
            yield first, self.read(first, min(first + size, self.length))

    def close(self) -> None:
        """Drop the memory or the file; safe to call twice."""
        self._array = None
        if self.path is not None and self._file >= 0:
            file, self._file = self._file, -1  # first: a signal's handler may raise in whatever is called
            os.close(file)
            self.path.unlink(missing_ok=True)
