"""Reading the pages of a topology, many per call, past h5py and the GIL.

A read is one preadv for each run of pages that lies in one file, and one compiled call for the CRCs of all. Coded pages
are decoded where they were read, so that callers see pages alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from pagestore.coding.reading import begins_of, check_crcs, check_sound, decode_all
from pagestore.crc import page_crcs
from pagestore.errors import StoreError, UsageError
from pagestore.io import DIRECT_ALIGN, aligned_empty, cut, fill, not_read
from pagestore.layout import other_headers
from pagestore.pageset import PageSet
from pagestore.spread import Run


class PageReader:
    """Reads pages of one topology. Thread-safe: it keeps no position, and each call works in its own buffer.

    With `direct`, pages come by O_DIRECT at a tenth of the CPU and don't fill the page cache; where the file system
    has no O_DIRECT, `direct` is False afterwards and reads are ordinary. Pass `out` buffers from
    `pagestore.io.aligned_empty`, else direct reads go through a copy.
    """

    def __init__(self, topology: PageSet, fds: Sequence[int], direct: bool = False):
        """fds: descriptors of topology.files, which stay the caller's."""
        self.topology, self.spread = topology, topology.spread
        self._fds: list[int] = []
        self._past_cache: list[bool] = []  # of each file: by O_DIRECT
        for fd in fds:
            opened = _open_direct(fd) if direct else None
            self._past_cache.append(opened is not None)
            self._fds.append(os.dup(fd) if opened is None else opened)

    @property
    def direct(self) -> bool:
        """Whether the files are read by O_DIRECT, all of them."""
        return all(self._past_cache)

    def read(self, first: int, count: int, out: np.ndarray | None = None, check: bool = True) -> np.ndarray:
        """Pages first..first+count-1 as uint8[count, page_bytes], in `out` when given.

        `check` compares CRCs, then lists with their bounds, together at 5 GB/s a core; StoreError names the first bad
        page and its vertices.
        """
        topology = self.topology
        return self._read(first, count, topology.pages_offsets, topology.layout.page_bytes, out, check, "crc")

    def read_weights(self, first: int, count: int, out: np.ndarray | None = None, check: bool = True) -> np.ndarray:
        """Weights of the same pages as uint8[count, weight_page_bytes]; view them with `topology.weight_dtype`."""
        topology = self.topology
        if topology.weight_dtype is None:
            raise ValueError("the store has no weights")
        return self._read(first, count, topology.weights_offsets, topology.weight_page_bytes, out, check, "weights_crc")

    def read_coded(
        self, first: int, count: int, weights: bool = False, check: bool = True, room: np.ndarray | None = None
    ) -> np.ndarray:
        """Stored bytes of coded pages first..first+count-1, or of their weights, back to back, uint8[n].

        check: their CRCs. room: uint8[*], at whose end they come to lie if it suits. Raises StoreError.
        """
        self._expect(first, count)
        topology = self.topology
        begins, offset = begins_of(topology, weights), (topology.weights_offsets if weights else topology.pages_offsets)
        begin, end = (offset[0] + int(begins[at]) for at in (first, first + count))

        def where(byte: int) -> str:
            at = int(np.searchsorted(begins, byte - offset[0], "right")) - 1
            return topology.name_page(min(max(at, first), first + count - 1), search=True)

        low, high = begin, end
        if self._past_cache[0]:  # the blocks around
            low, high = begin // DIRECT_ALIGN * DIRECT_ALIGN, -(-end // DIRECT_ALIGN) * DIRECT_ALIGN
        if room is None or not self._suits(room, high - low, np.diff(begins[first : first + count + 1])):
            room = aligned_empty(high - low)
        target = room[room.nbytes - (high - low) :]
        done = fill(self._fds[0], low, target, lambda error, byte: not_read(error, where, byte), end - low)
        if done < end - low:
            raise cut(where, low + done)
        coded = target[begin - low : end - low]
        if check:
            check_crcs(topology, first, coded, weights)
        return coded

    def read_sound(self, first: int, count: int, weights: bool, room: np.ndarray) -> np.ndarray:
        """The same into uint8[stored bytes], checked so far that a GPU may decode them. Raises StoreError."""
        coded = self.read_coded(first, count, weights, room=room)
        if coded.ctypes.data != room.ctypes.data:
            room[:] = coded
        check_sound(self.topology, first, room, weights)
        return room

    def _suits(self, room: np.ndarray, nbytes: int, sizes: np.ndarray) -> bool:
        """Whether coded pages of these sizes may lie at the end of room for the pages, and be decoded from there."""
        spare = DIRECT_ALIGN if self._past_cache[0] else 0  # up to so many bytes are read behind them
        if nbytes == room.nbytes and not spare:
            return True
        aligned = not spare or (room.ctypes.data + room.nbytes) % spare == 0
        return aligned and len(sizes) > 0 and nbytes <= room.nbytes and sizes.max() + spare <= room.nbytes // len(sizes)

    def _expect(self, first: int, count: int) -> None:
        if first < 0 or count < 0 or first + count > self.topology.pages:
            raise IndexError(f"pages {first} to {first + count} of {self.topology.pages}")
        if (other := self.spread.foreign(first, count)) is not None:
            there = self.spread.file_of(other // self.spread.stretch)
            raise UsageError(
                f"{self.topology.path}: is part {self.spread.only} of {self.spread.files}; page {other} of topology "
                f"{self.topology.name} is in part {there}. Run it on the store that was split."
            )

    def close(self) -> None:
        fds, self._fds = self._fds, []
        for fd in fds:
            os.close(fd)

    def __enter__(self) -> PageReader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_fds"):
            self.close()

    def _read(
        self, first: int, count: int, offsets: tuple[int, ...], width: int, out: np.ndarray | None, check: bool,
        crc_name: str,
    ) -> np.ndarray:  # fmt: skip
        topology = self.topology
        self._expect(first, count)
        if out is None:
            out = aligned_empty(count * width).reshape(count, width)
        if out.shape != (count, width) or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise ValueError(f"the buffer must be a contiguous uint8[{count}, {width}]")
        if topology.places is not None:
            weights = crc_name != "crc"
            coded = self.read_coded(first, count, weights, check, room=out.reshape(-1))
            unknown = decode_all(topology, first, coded, weights, out)
            if check and count and not weights:
                unknown |= other_headers(topology.directory[first : first + count], out)
                for at in np.flatnonzero(unknown).tolist():  # hardly any: pages that are no smaller coded
                    self._check_lists(first + at, out[at : at + 1])
            return out
        for run in self.spread.runs(first, count):
            self._read_run(run, offsets[run.file] + run.row * width, out[run.first - first :][: run.pages])
        if check and count:
            self._check(first, out, crc_name)
        return out

    def _read_run(self, run: Run, begin: int, out: np.ndarray) -> None:
        """Fill uint8[run.pages, width] from byte `begin` of the run's file."""
        width, end = out.shape[1], begin + out.nbytes

        def where(byte: int) -> str:
            return self.topology.name_page(run.first + (min(max(begin, byte), end - 1) - begin) // width, search=True)

        low, target = begin, out
        aligned = begin % DIRECT_ALIGN == 0 and end % DIRECT_ALIGN == 0 and out.ctypes.data % DIRECT_ALIGN == 0
        if self._past_cache[run.file] and not aligned:
            low = begin // DIRECT_ALIGN * DIRECT_ALIGN  # the blocks around, then a copy
            target = aligned_empty(-(-(end - low) // DIRECT_ALIGN) * DIRECT_ALIGN)
        done = fill(self._fds[run.file], low, target, lambda error, byte: not_read(error, where, byte), end - low)
        if done < end - low:
            raise cut(where, low + done)
        if target is not out:
            out.reshape(-1)[:] = target[begin - low : end - low]

    def _check(self, first: int, pages: np.ndarray, crc_name: str) -> None:
        """Raise StoreError for the first of the pages that is damaged, or that is not what its directory row says."""
        topology = self.topology
        wrong = np.flatnonzero(page_crcs(first, pages) != topology.directory[crc_name][first : first + len(pages)])
        if len(wrong):
            fails = "fails its checksum" if crc_name == "crc" else "has weights that fail their checksum"
            raise StoreError(f"{topology.name_page(first + int(wrong[0]), search=True)} {fails}. {topology.remedy}")
        if crc_name == "crc":
            self._check_lists(first, pages)

    def _check_lists(self, first: int, pages: np.ndarray) -> None:
        """Raise StoreError for the first of the pages whose lists are not within its bounds, whatever its checksum."""
        from pagestore.check import unsound  # Numba, which those who only ask what is in a store don't need

        topology = self.topology
        rows = topology.directory[first : first + len(pages)]
        if (at := unsound(topology.layout, rows, topology.last_id, pages)) is not None:
            raise StoreError(
                f"{topology.name_page(first + at, search=True)} breaks the format though its checksum is right: no "
                f"accident made it so. {topology.remedy}"
            )


def _open_direct(fd: int) -> int | None:
    """The same file opened with O_DIRECT, and tried: some file systems accept the flag and then refuse to read."""
    try:
        direct = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_DIRECT)
    except OSError:
        return None
    try:
        os.preadv(direct, [aligned_empty(DIRECT_ALIGN).data], 0)
    except OSError:
        os.close(direct)
        return None
    return direct
