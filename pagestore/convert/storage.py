"""Temporary data of a conversion: vectors in memory or in a file, and reads and writes that finish or explain."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.errors import ResourceError
from pagestore.faults import FAILING, REFUSED, disk_error, no_space, shortage
from pagestore.io import drain, fill

WINDOW = 1 << 18  # elements that a sequential pass over a vector handles at a time
OPEN_FILES = 1 << 15


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
    with disk_errors(path, data.nbytes):
        drain(file, offset, data)


def read_all(file: int, out: np.ndarray, offset: int, path: Path) -> None:
    """Fill a contiguous array from byte `offset`; raises ResourceError when the file is shorter than expected."""
    with disk_errors(path):
        if fill(file, offset, out) < out.nbytes:
            raise ResourceError(f"{path}: a temporary file was cut short. Run again without --resume.")


def save_array(path: Path, array: np.ndarray) -> None:
    """numpy.save that says why it failed: NumPy's own error tells how many items were written, and no more."""
    with disk_errors(path, array.nbytes), open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(np.ascontiguousarray(array).data)


class TempFile:
    """A temporary file of arrays at byte offsets, which several threads may read and write."""

    def __init__(self, path: Path, keep: bool = False, nbytes: int = 0):
        """With `keep` an existing file is opened as it is; else it starts as `nbytes` zeros."""
        self.path, self._file = path, -1
        with disk_errors(path, nbytes):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | (0 if keep else os.O_TRUNC), 0o666)
            if nbytes:
                os.ftruncate(self._file, nbytes)

    def write(self, offset: int, data: np.ndarray) -> int:
        """Write a contiguous array; returns the offset behind it."""
        write_all(self._descriptor(), data, offset, self.path)
        return offset + data.nbytes

    def read(self, offset: int, out: np.ndarray) -> np.ndarray:
        """Fill a contiguous array, and return it. Raises ResourceError when the file ends first."""
        read_all(self._descriptor(), out, offset, self.path)
        return out

    def _descriptor(self) -> int:
        if self._file < 0:
            with disk_errors(self.path):
                self._file = os.open(self.path, os.O_RDWR)
        return self._file

    def close(self) -> None:
        """Give the descriptor back until the next read or write: a process may have only so many."""
        if self._file >= 0:
            file, self._file = self._file, -1  # first: a signal's handler may raise in whatever is called
            os.close(file)

    def remove(self) -> None:
        """Close and remove the file; safe to call twice."""
        self.close()
        self.path.unlink(missing_ok=True)

    def __del__(self) -> None:
        self.close()


class Vector:
    """A number of elements, in memory (path None) or in a sparse file; unwritten ones are zero.

    Different ranges may be read and written from different threads. `len`, elements and slices are those of a sequence.
    """

    def __init__(self, length: int, dtype: np.dtype | type | str, path: Path | None = None, keep: bool = False):
        """With `keep`, an existing file is opened as it is; else it starts as zeros."""
        self.length, self.dtype = length, np.dtype(dtype)
        self._array: np.ndarray | None = None
        self._file: TempFile | None = None
        if path is None:
            self._array = np.zeros(length, self.dtype)
        else:
            self._file = TempFile(path, keep, length * self.dtype.itemsize)

    @property
    def array(self) -> np.ndarray | None:
        """The elements themselves when they are in memory."""
        return self._array

    def write(self, first: int, values: np.ndarray) -> None:
        """Elements [first, first + len(values)) become `values`."""
        if self._array is not None:
            self._array[first : first + len(values)] = values
        elif len(values) and self._file is not None:
            self._file.write(first * self.dtype.itemsize, np.ascontiguousarray(values, self.dtype))

    def append(self, values: np.ndarray) -> None:
        """Make the vector longer; it has to be in a file."""
        first, self.length = self.length, self.length + len(values)
        self.write(first, values)

    def read(self, first: int, last: int) -> np.ndarray:
        """Elements [first, last): a view when in memory (don't write to it), else a fresh array."""
        if self._array is not None:
            return self._array[first:last]
        out = np.empty(max(0, last - first), self.dtype)
        if len(out) and self._file is not None:
            self._file.read(first * self.dtype.itemsize, out)
        return out

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            first, last, step = which.indices(self.length)
            return self.read(first, last)[::step]
        at = range(self.length)[which]
        return self.read(at, at + 1)[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.read(0, self.length).astype(dtype or self.dtype, copy=bool(copy))

    def windows(self, size: int = WINDOW) -> Iterator[tuple[int, np.ndarray]]:
        """(first, elements) of consecutive windows."""
        for first in range(0, self.length, size):
            yield first, self.read(first, min(first + size, self.length))

    def close(self) -> None:
        """Drop the memory or the file; safe to call twice."""
        self._array = None
        if self._file is not None:
            self._file.remove()
