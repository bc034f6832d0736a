"""One file of a store being written: NAME.partial at its final size, locked, and renamed to NAME once it is whole.

absent --create--> NAME.partial (every dataset, unfilled) --put--> --publish: fsync, rename, fsync folder--> NAME
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np

from pagestore import hdf5
from pagestore.errors import UsageError
from pagestore.faults import disk_error, number_of
from pagestore.hdf5 import Extent
from pagestore.io import read_into, start_writing, write_from
from pagestore.replacing import lock_file, sync_folder


class PartialFile:
    """An HDF5 file of datasets (name -> dtype, shape) that come in any order, from any thread.

    published: whether it has its name. Raises ResourceError when the disk is full, UsageError when another process is
    writing it.
    """

    def __init__(self, path: str, datasets: dict[str, tuple], attributes: dict[str, Any], alignment: int) -> None:
        self.path, self.partial, self.published = path, path + ".partial", False
        self._fd = self._locked()
        self._create(datasets, attributes, alignment)
        self.extents: dict[str, Extent] = hdf5.locate(self.partial)

    def put(self, name: str, first: int, data: np.ndarray) -> None:
        """Write rows first..first+n-1 of a dataset."""
        extent = self.extents[name]
        row = extent.nbytes // max(extent.shape[0], 1)
        if first < 0 or first * row + data.nbytes > extent.nbytes:
            raise ValueError(f"rows {first}.. of {name}: outside its {extent.shape[0]} rows")
        write_from(self._fd, extent.offset + first * row, data, self.partial)
        start_writing(self._fd, extent.offset + first * row, data.nbytes)

    def read(self, name: str, begin: int, nbytes: int) -> np.ndarray:
        """Bytes [begin, begin + nbytes) of a dataset, as they are in the file."""
        data = np.empty(nbytes, np.uint8)
        read_into(self._fd, self.extents[name].offset + begin, data, self.partial)
        return data

    def publish(self) -> None:
        """Sync the file, give it its name, sync the folder, close it."""
        try:
            os.fsync(self._fd)
            os.replace(self.partial, self.path)
            self.published = True
            sync_folder(os.path.dirname(os.path.abspath(self.path)))
        except OSError as error:
            raise disk_error(error, self.path) from error
        self.close()

    def close(self) -> None:
        """Close the file; NAME.partial stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def abort(self, withdraw: bool = False) -> None:
        """Close the file and remove NAME.partial; with `withdraw` also NAME, where that is what was written."""
        if self._fd >= 0 and not self.published:
            with suppress(FileNotFoundError):
                os.unlink(self.partial)
        self.close()
        if withdraw and self.published:
            with suppress(FileNotFoundError):
                os.unlink(self.path)

    def _create(self, datasets: dict[str, tuple], attributes: dict[str, Any], alignment: int) -> None:
        try:
            hdf5.create(self.partial, datasets, attributes, alignment)
        except (OSError, RuntimeError, ValueError) as error:  # h5py raises any of them where a disk is full or fails
            with suppress(OSError):
                os.unlink(self.partial)  # half a file: nobody can go on from it
            self.close()
            if not isinstance(error, OSError) and not number_of(error):
                raise
            raise disk_error(error, self.partial) from error

    def _locked(self) -> int:
        """Descriptor of the partial file, new or left by a killed process, with an exclusive lock."""
        try:
            fd = os.open(self.partial, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise disk_error(error, self.partial) from error
        try:
            if lock_file(fd, self.partial):  # else it has just become NAME
                return fd
        except BlockingIOError:
            pass
        except OSError as error:
            os.close(fd)
            raise disk_error(error, self.partial) from error
        os.close(fd)
        raise UsageError(f"{self.partial}: another process is writing it. Wait for it, or name another store.")
