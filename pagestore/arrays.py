"""Names, shapes and checksums of the arrays beside the pages (degrees, IDs, heads, directories).

CRC k of /checksums/NAME (with "/" as ".") covers the k-th MiB of an array, computed as for page number k. The CRC of
these checksums is in /meta.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from contextlib import suppress

import numpy as np

from pagestore.coding.form import block_rows
from pagestore.crc import block_crcs
from pagestore.errors import StoreError
from pagestore.hdf5 import Extent, StoreFile
from pagestore.io import read_into
from pagestore.layout import DIRECTORY, HEAD_NEIGHBOURS, PageLayout
from pagestore.meta import META_BYTES, REBUILD, Meta, scrub_first
from pagestore.stripes import page_datasets, spread_of

BLOCK_BYTES = 1 << 20
CACHED_BLOCKS = 8  # checked blocks that an array keeps: a binary search returns to the first few


def checksum_name(name: str) -> str:
    """Dataset that holds the block CRCs of array `name`."""
    return "checksums/" + name.replace("/", ".")


def coded_name(name: str) -> str:
    """Dataset that holds the sizes of the blocks of a coded array `name` (pagestore/coding/blocks.py)."""
    return "coded/" + name.replace("/", ".")


def block_count(nbytes: int) -> int:
    return -(-nbytes // BLOCK_BYTES)


def degree_dtype(max_degree: int) -> np.dtype:
    """u4, or u8 once a degree reaches 2^32."""
    return np.dtype("<u4") if max_degree < 1 << 32 else np.dtype("<u8")


def datasets_of(meta: Meta, pages: dict[str, int], head_rows: dict[str, int], names_bytes: int) -> dict[str, tuple]:
    """All datasets of a store's main file: name -> (dtype, shape). `pages`, `head_rows`: how many each topology has."""
    layout = PageLayout(meta.page_bytes, meta.id_bytes)
    sets: dict[str, tuple] = {}
    here = {name: spread_of(meta).here(count) for name, count in pages.items()}
    paged = {} if meta.stripes else page_datasets(meta, here)
    for topology in meta.topologies:
        base = f"topology/{topology}"
        sets[f"{base}/directory"] = (DIRECTORY, (pages[topology],))
        if meta.compressed:
            sets[f"{base}/stored"] = (np.dtype("<u4"), (pages[topology],))
            if meta.weighted:
                sets[f"{base}/stored_weights"] = (np.dtype("<u4"), (pages[topology],))
        if meta.heads:
            sets[f"{base}/heads"] = (layout.id_dtype, (head_rows[topology], HEAD_NEIGHBOURS))
        if meta.parts:
            sets[f"{base}/reads"] = (np.dtype("<u8"), (-(-meta.vertices // 64),))
    sets["vertices/out_degree"] = (degree_dtype(meta.max_out_degree), (meta.vertices,))
    if meta.directed:
        sets["vertices/in_degree"] = (degree_dtype(meta.max_in_degree), (meta.vertices,))
    if meta.id_kind == "integers":
        sets["vertices/ids"] = (np.dtype("<i8"), (meta.vertices,))
    if meta.id_kind == "strings":
        sets["vertices/names/offsets"] = (np.dtype("<u8"), (meta.vertices + 1,))
        sets["vertices/names/bytes"] = (np.dtype("u1"), (names_bytes,))
    if meta.order != "natural":
        sets["vertices/store_of"] = (layout.id_dtype, (meta.vertices,))
    for name, (_, words) in meta.coded_arrays.items():
        _, shape = sets[name]
        sets[name] = (np.dtype("<u4"), (words,))
        sets[coded_name(name)] = (np.dtype("<u2"), (-(-shape[0] // block_rows(heads=len(shape) == 2)),))
    sums = {}
    for name, (dtype, shape) in sets.items():
        nbytes = math.prod(shape) * dtype.itemsize
        sums[checksum_name(name)] = (np.dtype("<u4"), (block_count(nbytes),))
    return {"meta": (np.dtype("u1"), (META_BYTES,)), **sums, **sets, **paged}


class StoredArray(ABC):
    """An array of the store, read by ranges of rows of one dtype."""

    def __init__(self, path: str, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        self.path, self.name, self.dtype = path, name, dtype
        self.rows = shape[0]
        self._row_shape = shape[1:]
        self._row_bytes = dtype.itemsize * math.prod(self._row_shape)

    @property
    def nbytes(self) -> int:
        """Of all rows, as they are read."""
        return self.rows * self._row_bytes

    @property
    def stored_bytes(self) -> int:
        """Of all rows, as they lie in the file."""
        return self.nbytes

    @abstractmethod
    def read(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """Rows [first, last) as a new array. Raises StoreError on a wrong CRC."""

    @abstractmethod
    def keep(self) -> None:
        """Load an array of up to CACHED_BLOCKS blocks of bytes into memory, for when the file is not there."""

    def block_rows(self) -> tuple[int, int]:
        """(rows, blocks): the fewest rows that take whole blocks of bytes, and how many."""
        shared = math.gcd(BLOCK_BYTES, max(1, self._row_bytes))
        return BLOCK_BYTES // shared, max(1, self._row_bytes // shared)

    def _range(self, first: int, last: int | None) -> int:
        """The end of a range that is to be read."""
        last = self.rows if last is None else last
        if not 0 <= first <= last <= self.rows:
            raise IndexError(f"rows {first} to {last} of {self.name}, which has {self.rows}")
        return last


class CheckedArray(StoredArray):
    """One that lies in the file as it is read; each read checks the CRCs of the blocks it touches.

    Threads may share it. It needs no lock, which a forked child might find taken: each step on the cache is a single
    one of the interpreter.
    """

    def __init__(self, path: str, name: str, file: StoreFile, extent: Extent, crcs: np.ndarray):
        super().__init__(path, name, extent.dtype, extent.shape)
        self._file, self._extent, self._crcs = file, extent, crcs
        self._cache: OrderedDict[int, np.ndarray] = OrderedDict()
        self._whole: np.ndarray | None = None  # all bytes, once `keep` was called

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_cache": OrderedDict()}

    def read(self, first: int = 0, last: int | None = None) -> np.ndarray:
        last = self._range(first, last)
        begin, end = first * self._row_bytes, last * self._row_bytes
        low, high = begin // BLOCK_BYTES, -(-end // BLOCK_BYTES)
        if begin == end:
            data = np.empty(0, np.uint8)
        elif self._whole is not None:
            data = self._whole[begin:end].copy()
        elif high - low == 1:
            data = self._block(low)[begin - low * BLOCK_BYTES : end - low * BLOCK_BYTES].copy()
        else:
            data = self._blocks(low, high)[begin - low * BLOCK_BYTES : end - low * BLOCK_BYTES]
        return data.view(self.dtype).reshape(last - first, *self._row_shape)

    def _block(self, number: int) -> np.ndarray:
        block = self._cache.get(number)
        if block is None:
            block = self._cache[number] = self._blocks(number, number + 1)
        with suppress(KeyError):  # another thread may have dropped it, or the last one that is too many
            self._cache.move_to_end(number)
            while len(self._cache) > CACHED_BLOCKS:
                self._cache.popitem(last=False)
        return block

    def keep(self) -> None:
        if len(self._crcs) <= CACHED_BLOCKS and self._whole is None:
            self._whole = self._blocks(0, len(self._crcs))

    def _blocks(self, first: int, last: int) -> np.ndarray:
        """Bytes of blocks [first, last), checked."""
        begin = first * BLOCK_BYTES
        data = np.empty(min(last * BLOCK_BYTES, self._extent.nbytes) - begin, np.uint8)
        opened = self._file.opened()
        read_into(opened.fileno(), self._extent.offset + begin, data, f"{self.path}: {self.name}")
        wrong = np.flatnonzero(block_crcs(data, first, BLOCK_BYTES) != self._crcs[first:last])
        if len(wrong):
            number = first + int(wrong[0])
            low = number * BLOCK_BYTES // max(self._row_bytes, 1)
            high = min((number + 1) * BLOCK_BYTES // max(self._row_bytes, 1), self.rows)
            # directories are read when a store is opened: a scrub could say no more of it
            remedy = REBUILD if self.name.endswith("/directory") else scrub_first(self.path) + REBUILD
            raise StoreError(f"{self.path}: {self.name}, rows {low} to {high} fail their checksum. {remedy}")
        return data
