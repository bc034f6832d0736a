"""Reading many pages per call, past h5py and the GIL: one preadv for the run, one compiled call for its CRCs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

import numpy as np

from pagestore.crc import page_crcs
from pagestore.errors import StoreError
from pagestore.io import DIRECT_ALIGN, aligned_empty, cut, not_read, read_into
from pagestore.layout import PageLayout


class PageSet(Protocol):
    """What a reader needs to know of its topology; see pagestore.topology.Topology."""

    @property
    def layout(self) -> PageLayout: ...

    @property
    def directory(self) -> np.ndarray: ...

    @property
    def pages_offset(self) -> int: ...

    @property
    def weight_dtype(self) -> np.dtype | None: ...

    @property
    def weight_page_bytes(self) -> int: ...

    @property
    def weights_offset(self) -> int: ...

    @property
    def pages(self) -> int: ...

    @property
    def last_id(self) -> np.unsignedinteger: ...

    @property
    def remedy(self) -> str: ...

    def name_page(self, number: int, search: bool = False) -> str: ...


class PageReader:
    """Reads pages of one topology. Thread-safe: it keeps no position, and each call works in its own buffer.

    With `direct`, pages come by O_DIRECT at a tenth of the CPU and don't fill the page cache; where the file system
    has no O_DIRECT, `direct` is False afterwards and reads are ordinary. Pass `out` buffers from
    `pagestore.io.aligned_empty`, else direct reads go through a copy.
    """

    def __init__(self, topology: PageSet, fd: int, direct: bool = False):
        self.topology = topology
        self.direct = False
        if direct:
            self.direct = self._open_direct(fd)
        if not self.direct:
            self._fd = os.dup(fd)

    def read(self, first: int, count: int, out: np.ndarray | None = None, check: bool = True) -> np.ndarray:
        """Pages first..first+count-1 as uint8[count, page_bytes], in `out` when given.

        `check` compares CRCs, then lists with their bounds, together at 5 GB/s a core; StoreError names the first bad
        page and its vertices.
        """
        topology = self.topology
        return self._read(first, count, topology.pages_offset, topology.layout.page_bytes, out, check, "crc")

    def read_weights(self, first: int, count: int, out: np.ndarray | None = None, check: bool = True) -> np.ndarray:
        """Weights of the same pages as uint8[count, weight_page_bytes]; view them with `topology.weight_dtype`."""
        topology = self.topology
        if topology.weight_dtype is None:
            raise ValueError("the store has no weights")
        return self._read(first, count, topology.weights_offset, topology.weight_page_bytes, out, check, "weights_crc")

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> PageReader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def _open_direct(self, fd: int) -> bool:
        """Open the same file with O_DIRECT and try it: some file systems accept the flag and then refuse to read."""
        try:
            self._fd = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_DIRECT)
        except OSError:
            return False
        try:
            os.preadv(self._fd, [aligned_empty(DIRECT_ALIGN).data], 0)
        except OSError:
            os.close(self._fd)
            return False
        return True

    def _read(
        self, first: int, count: int, offset: int, width: int, out: np.ndarray | None, check: bool, crc_name: str
    ) -> np.ndarray:
        topology = self.topology
        if first < 0 or count < 0 or first + count > topology.pages:
            raise IndexError(f"pages {first} to {first + count} of {topology.pages}")
        if out is None:
            out = aligned_empty(count * width).reshape(count, width)
        if out.shape != (count, width) or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise ValueError(f"the buffer must be a contiguous uint8[{count}, {width}]")
        if count == 0:
            return out
        begin, end = offset + first * width, offset + (first + count) * width

        def where(byte: int) -> str:
            return topology.name_page(first + (byte - begin) // width, search=True)

        if not self.direct or not (begin % DIRECT_ALIGN or end % DIRECT_ALIGN or out.ctypes.data % DIRECT_ALIGN):
            read_into(self._fd, begin, out, where)
        else:
            self._read_rounded(begin, end, out, where)
        if check:
            self._check(first, out, crc_name)
        return out

    def _check(self, first: int, pages: np.ndarray, crc_name: str) -> None:
        """Raise StoreError for the first of the pages that is damaged, or that is not what its directory row says."""
        topology = self.topology
        wrong = np.flatnonzero(page_crcs(first, pages) != topology.directory[crc_name][first : first + len(pages)])
        if len(wrong):
            fails = "fails its checksum" if crc_name == "crc" else "has weights that fail their checksum"
            raise StoreError(f"{topology.name_page(first + int(wrong[0]), search=True)} {fails}. {topology.remedy}")
        if crc_name == "crc":
            from pagestore.check import unsound  # Numba, which those who only ask what is in a store don't need

            rows = topology.directory[first : first + len(pages)]
            if (at := unsound(topology.layout, rows, topology.last_id, pages)) is not None:
                raise StoreError(
                    f"{topology.name_page(first + at, search=True)} breaks the format though its checksum is right: no "
                    f"accident made it so. {topology.remedy}"
                )

    def _read_rounded(self, begin: int, end: int, out: np.ndarray, where: Callable[[int], str]) -> None:
        """A direct read of the aligned range around [begin, end), then a copy; the file may end inside a block."""
        low, high = begin // DIRECT_ALIGN * DIRECT_ALIGN, -(-end // DIRECT_ALIGN) * DIRECT_ALIGN
        high = min(high, os.fstat(self._fd).st_size)
        buffer = aligned_empty(-(-(high - low) // DIRECT_ALIGN) * DIRECT_ALIGN)
        view, done = buffer.data, 0
        while done < end - low:
            try:
                moved = os.preadv(self._fd, [view[done:]], low + done)
            except OSError as error:
                raise not_read(error, where, min(max(begin, low + done), end - 1)) from error
            if moved == 0:
                raise cut(where, min(max(begin, low + done), end - 1))
            done += moved
        out.reshape(-1)[:] = buffer[begin - low : end - low]
