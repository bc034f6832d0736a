"""The HDF5 shell of a store: made once with every dataset at its final size, and read for offsets only.

The one file that imports h5py. libver v110: its metadata is checksummed, so a flipped bit there is refused, and the
h5dump of distributions reads it. Datasets are contiguous, early-allocated and never filled: creating terabytes takes a
millisecond, and pwrite and preadv move the bytes at `offset` past h5py's interpreter-wide lock. No object times are
stored: the same graph gives the same bytes.

An open store gives its descriptor back while the graph is not in use, and opens the file again by its name: results
outlive their graph, and are pickled. The file must then be the same store: its description has the same CRC.
"""

from __future__ import annotations

import math
import os
import re
import stat
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from io import FileIO, RawIOBase
from typing import Any

import numpy as np

from pagestore.errors import StoreError, interruption
from pagestore.faults import FAILING, number_of, read_error, reason_of, shortage
from pagestore.meta import REBUILD

REMEDY = "Keep a store where it is until its results are written, or write them before."
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


class Descriptor(FileIO):
    """A file that closes itself when nobody has it any more, without a ResourceWarning."""

    def __del__(self) -> None:
        self.close()


class StoreFile:
    """`opened` gives the file for as long as the caller has it; threads may share it while another lets it go.

    has_name: whether it can be opened again, by `place`.
    """

    has_name = True

    def __init__(self, path: str, file: Descriptor) -> None:
        self.path = path
        try:
            self.place = os.path.abspath(path)  # whatever folder the process, or another one, works in later
        except OSError:  # the folder it works in is gone
            self.place = path
        self._file: Descriptor | None = file
        self._seal, self._seal_offset = b"", 0

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_file": None}

    @property
    def seal(self) -> bytes:
        """How its description begins, with the CRC."""
        return self._seal

    def seal_at(self, offset: int, seal: bytes) -> None:
        """Tell the file by what is at a byte: how its description begins, with the CRC."""
        self._seal_offset, self._seal = offset, seal

    def opened(self) -> Descriptor:
        """The file, opened again if it was let go. Raises StoreError where it is gone, or another store is there."""
        file = self._file  # another thread may let it go
        return self._again() if file is None else file

    def let_go(self) -> None:
        """Close the descriptor, once no thread reads by it."""
        self._file = None

    def close(self) -> None:
        """Close the descriptor at once: nothing can be read afterwards."""
        if self._file is not None:
            self._file.close()

    def _again(self) -> Descriptor:
        try:
            file = Descriptor(os.open(self.place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))  # a FIFO would wait
            seal = os.pread(file.fileno(), len(self._seal), self._seal_offset)
        except OSError as error:
            raise StoreError(
                f"{self.path}: the graph was closed, and its store can't be opened again ({error.strerror}). {REMEDY}"
            ) from error
        if seal != self._seal:
            raise StoreError(f"{self.path}: the graph was closed, and another store is there since. {REMEDY}")
        return file


@dataclass(frozen=True)
class Extent:
    """Where a dataset's bytes lie: `offset` in the file, element dtype and shape."""

    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize


def create(path: str, datasets: dict[str, tuple[np.dtype, tuple[int, ...]]], attributes: dict, alignment: int) -> None:
    """Write a new HDF5 file with these datasets (name -> dtype, shape) unfilled and these root attributes."""
    import h5py

    fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    fapl.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    fapl.set_alignment(alignment, alignment)
    fapl.set_fapl_sec2()
    fapl.set_file_locking(False, True)
    fcpl = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    fcpl.set_obj_track_times(False)
    file_id = h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, fcpl, fapl)
    with h5py.File(file_id) as file:
        for name, value in attributes.items():
            # Fixed-length strings stay in the checksummed object header; variable ones would go to an unchecked heap.
            file.attrs[name] = np.bytes_(value.encode()) if isinstance(value, str) else value
        gcpl = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        gcpl.set_obj_track_times(False)
        for group in sorted({name[:at] for name in datasets for at in range(len(name)) if name[at] == "/"}):
            h5py.h5g.create(file.id, group.encode(), None, gcpl)
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_layout(h5py.h5d.CONTIGUOUS)
        dcpl.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        dcpl.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        dcpl.set_obj_track_times(False)
        for name, (dtype, shape) in datasets.items():
            space = h5py.h5s.create_simple(shape)
            h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(dtype), space, dcpl)


def locate(path: str) -> dict[str, Extent]:
    """Extents of all datasets. Raises as `open_located`."""
    file, extents = open_located(path)
    file.close()
    return extents


class _Stream(RawIOBase):
    """The file as HDF5 reads it. It does not own the descriptor: h5py keeps streams that failed for ever."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor, self._at = descriptor, 0

    def readinto(self, buffer: Any) -> int:
        count = os.preadv(self._descriptor, [buffer], self._at)
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}
        self._at = offset + (start[whence] if whence in start else os.fstat(self._descriptor).st_size)
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def open_located(path: str) -> tuple[Descriptor, dict[str, Extent]]:
    """A file opened to be read, and the extents of all its datasets.

    HDF5 reads by the returned descriptor, through a Python stream. So the store can't be replaced in between, and takes
    no locks: another process may have it open. Raises StoreError for anything that is no intact HDF5 file,
    ResourceError for a disk that fails and where files run out, MemoryError.
    """
    opened, handled = _open_file(path), sys.exc_info()[1]
    import h5py

    with ExitStack() as until_located:
        until_located.enter_context(opened)
        size = os.fstat(opened.fileno()).st_size
        try:
            fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
            fapl.set_fileobj_driver(h5py.h5fd.fileobj_driver, _Stream(opened.fileno()))
            with h5py.File(h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY, fapl)) as file:
                extents = _extents(path, file, size)
        except StoreError:
            raise
        except Exception as error:  # h5py raises OSError, RuntimeError, KeyError, ValueError, ... for damaged metadata
            if (stop := interruption(error, handled)) is not None:
                raise stop from None
            if isinstance(error, MemoryError) and getattr(error, "_total_size", 0) <= size:
                raise  # memory ran out; what is larger than the file is damage that says so
            if not isinstance(error, MemoryError) and (shortage(error) or number_of(error) in FAILING):
                raise read_error(error, f"{path}: can't be opened", REBUILD, StoreError) from error
            reason = reason_of(error)
            whole = re.search(r"truncated file: .*stored_eof = (\d+)", str(error), re.DOTALL)
            if whole:
                raise StoreError(f"{path}: is cut: {size} of its {whole[1]} bytes are there. {REBUILD}") from error
            raise StoreError(f"{path}: HDF5 can't read it ({reason}). {REBUILD}") from error
        until_located.pop_all()
    return opened, extents


def _extents(path: str, file: Any, size: int) -> dict[str, Extent]:
    """Extents by h5py's thin layer: `File.visititems` takes twice as long, 2.1 ms for 17 datasets.

    The root's attributes are for other tools. Nothing looks at them: a forged record in their B-tree or heap crashes
    HDF5 2.0 itself (H5Aiterate, and H5Ovisit, which asks their size).
    """
    import h5py

    extents: dict[str, Extent] = {}
    found: list[tuple[bytes, int]] = []  # opened later: what is raised while links are visited gets lost
    file.id.links.visit(lambda raw, link: found.append((raw, link.type)), info=True)
    for raw, kind in found:
        item = h5py.h5o.open(file.id, raw) if kind == h5py.h5l.TYPE_HARD else None
        if isinstance(item, h5py.h5d.DatasetID):
            name = raw.decode("utf-8", "backslashreplace")
            extents[name] = _extent(path, name, item, size)
    return extents


def _open_file(path: str) -> Descriptor:
    """The file at `path`, opened to be read. Raises StoreError if it is no store."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):  # to open a FIFO would wait for ever
            raise StoreError(f"{path}: is a pipe or a device; a store is a file. Name the file.")
        file = Descriptor(path)
        try:
            start, size = os.pread(file.fileno(), len(_SIGNATURE), 0), os.fstat(file.fileno()).st_size
            if size == 0:
                raise StoreError(f"{path}: is empty; a store is never empty. {REBUILD}")
            if start != _SIGNATURE:
                remedy = f"Convert it: `gstream convert {path} STORE`."
                raise StoreError(f"{path}: is not a store (no HDF5 signature). {remedy}")
        except BaseException:
            file.close()
            raise
        return file
    except FileNotFoundError:
        raise StoreError(f"{path}: no such file. Make a store with `gstream convert INPUT {path}`.") from None
    except IsADirectoryError:
        raise StoreError(f"{path}: is a folder; a store is one file. Name the file.") from None
    except OSError as error:
        raise read_error(error, f"{path}: can't be opened", "Check its permissions.", StoreError) from error


def _extent(path: str, name: str, dataset: Any, size: int) -> Extent:
    import h5py

    offset = dataset.get_offset()
    if offset is None:  # there are no bytes, or they don't lie in the file in one piece
        dcpl = dataset.get_create_plist()
        if dcpl.get_layout() != h5py.h5d.CONTIGUOUS or dcpl.get_external_count() or dcpl.get_nfilters():
            raise StoreError(f"{path}: dataset {name} is not plainly contiguous. {REBUILD}")
    extent = Extent(offset or 0, dataset.dtype, dataset.shape)
    if extent.dtype.hasobject or (extent.nbytes and not 0 < extent.offset <= size - extent.nbytes):
        raise StoreError(f"{path}: dataset {name} ends past the end of the file ({size} bytes). {REBUILD}")
    return extent
