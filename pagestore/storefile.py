"""The file of an open store: a descriptor that is given back while nobody works with the graph, and opened again.

Results outlive their graph, and are pickled: the little that they read of the store then, they read by its name. What
stands there must be the same store: its description, which ends every chain of checksums, has the same CRC.
"""

from __future__ import annotations

import os
from io import FileIO
from typing import Any

from pagestore.errors import StoreError

REMEDY = "Keep a store where it is until its results are written, or write them before."


class Descriptor(FileIO):
    """A file that closes itself when nobody has it any more, which for a store's is no slip of anybody's."""

    def __del__(self) -> None:
        self.close()


class StoreFile:
    """`opened` is the file, for as long as the caller has it; threads may share it while another lets it go."""

    def __init__(self, path: str, file: Descriptor, meta_offset: int) -> None:
        self.path = path
        try:
            self.place = os.path.abspath(path)  # whatever folder the process, or another one, works in later
        except OSError:  # the folder it works in is gone
            self.place = path
        self._file: Descriptor | None = file
        self._meta_offset = meta_offset
        self.seal = b""  # how the store's description begins

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_file": None}

    def opened(self) -> Descriptor:
        """The file, opened again if it was let go. Raises StoreError where it is not there, or another store is."""
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
            seal = os.pread(file.fileno(), len(self.seal), self._meta_offset)
        except OSError as error:
            raise StoreError(
                f"{self.path}: the graph was closed, and its store can't be opened again ({error.strerror}). {REMEDY}"
            ) from error
        if seal != self.seal:
            raise StoreError(f"{self.path}: the graph was closed, and another store is there since. {REMEDY}")
        return file
