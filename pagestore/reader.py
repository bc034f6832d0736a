"""The pages of a topology in the store's files, and reading many of them per call, past h5py and the GIL.

A read is one preadv for each run of pages that lies in one file, and one compiled call for the CRCs of all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pagestore.crc import page_crcs
from pagestore.errors import StoreError
from pagestore.hdf5 import StoreFile
from pagestore.io import DIRECT_ALIGN, aligned_empty, cut, fill, not_read
from pagestore.layout import LARGE, PageLayout
from pagestore.meta import REBUILD, scrub_first
from pagestore.spread import Run, Spread


@dataclass(frozen=True, eq=False)
class PageSet:
    """Where the pages of one topology lie, and its directory.

    directory: DIRECTORY[pages], CRC and structure checked. files: the store's only one, or its stripes; spread: which
    of them holds which pages. pages_offsets, weights_offsets: of each file, the byte at which its first page starts (0
    when there are no pages or weights). weight_dtype, weight_page_bytes: None and 0 without weights.
    """

    path: str
    name: str  # "out" or "in"
    layout: PageLayout
    directory: np.ndarray
    vertices: int
    files: tuple[StoreFile, ...]
    spread: Spread
    pages_offsets: tuple[int, ...]
    weight_dtype: np.dtype | None
    weight_page_bytes: int
    weights_offsets: tuple[int, ...]
    _in_order: bool  # store IDs follow the order of the user's
    _user_ids: Callable[[list[int], bool], list[str]]  # UserIds.names

    @property
    def pages(self) -> int:
        return len(self.directory)

    @property
    def width(self) -> int:
        """Bytes of a page with its weights."""
        return self.layout.page_bytes + self.weight_page_bytes

    @property
    def last_id(self) -> np.unsignedinteger:
        """The last vertex, as the pages' words are."""
        return self.layout.id_dtype.type(max(self.vertices, 1) - 1)

    @property
    def remedy(self) -> str:
        """What can be done about a damaged page, for messages."""
        return scrub_first(self.path) + REBUILD

    def name_page(self, number: int, search: bool = False) -> str:
        """How messages name a page: topology, number, vertices by store IDs, and by the user's where they differ.

        search: also in a reordered store, where finding the user's IDs means to read an array.
        """
        return self.name_pages([number], search)[0]

    def name_pages(self, numbers: list[int], search: bool = False) -> list[str]:
        """The same for several pages: a search reads the array once."""
        rows = self.directory[numbers]
        first = self._user_ids(rows["first_vertex"].tolist() + rows["last_vertex"].tolist(), search)
        last = first[len(numbers) :]
        return [self._name_page(number, *ends) for number, *ends in zip(numbers, first, last, strict=False)]

    def _name_page(self, number: int, first: str, last: str) -> str:
        row = self.directory[number]
        ends = int(row["first_vertex"]), int(row["last_vertex"])
        vertices = f"vertices {ends[0]} to {ends[1]}"
        yours = f", your vertices {first} to {last}," if self._in_order else f", your vertices {first}, ..., {last},"
        if row["kind"] == LARGE:
            vertices, yours = f"vertex {ends[0]} from neighbour {row['position']} on", f", your vertex {first},"
        same = not (first and last) or (first, last) == (str(ends[0]), str(ends[1]))
        file = next(self.spread.runs(number, 1)).file
        place = f" in {self.files[file].path}" if len(self.files) > 1 else ""
        return (
            f"{self.path}: page {number} of topology {self.name} ({vertices}, store IDs){'' if same else yours}{place}"
        )


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
        if first < 0 or count < 0 or first + count > topology.pages:
            raise IndexError(f"pages {first} to {first + count} of {topology.pages}")
        if out is None:
            out = aligned_empty(count * width).reshape(count, width)
        if out.shape != (count, width) or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise ValueError(f"the buffer must be a contiguous uint8[{count}, {width}]")
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
            from pagestore.check import unsound  # Numba, which those who only ask what is in a store don't need

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
