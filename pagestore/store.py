"""An open store: small things checked at once, pages when they are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from pagestore import hdf5
from pagestore.arrays import CheckedArray, StoredArray, block_count, checksum_name, coded_name, datasets_of
from pagestore.coding.arrays import CodedArray
from pagestore.crc import crc32
from pagestore.errors import GstreamError, StoreError, UsageError
from pagestore.hdf5 import Extent, StoreFile
from pagestore.ids import UserIds, Where, nowhere
from pagestore.io import read_into
from pagestore.layout import PageLayout
from pagestore.manifest import refuse_folder
from pagestore.meta import META_BYTES, REBUILD, SEAL_BYTES, Meta, decode_meta
from pagestore.stripes import HEADER, Stripe, open_stripes, spread_of
from pagestore.topology import Topology, open_topology

ID_ARRAYS = {"vertices/ids", "vertices/names/offsets", "vertices/names/bytes", "vertices/store_of"}
ATTEMPTS = 3  # of opening a store that is replaced at the same time


def open_store(path: str | os.PathLike, stripes: Sequence[str | os.PathLike] = ()) -> Store:
    """Open the store at `path` for reading. stripes: folders with files of a striped store, beside those below its own.

    Raises StoreError when it is none, cut, damaged or of another version, or when a stripe is missing or another's,
    UsageError for a folder of parts, which ranks open (pagestore/parts.py).
    """
    name = os.fspath(path)
    refuse_folder(name)
    for _ in range(ATTEMPTS):
        before = _inode(name)
        try:
            return Store(name, stripes)
        except StoreError:  # a conversion may have put another store there, and removed the stripes of this one
            if _inode(name) == before:
                raise
    return Store(name, stripes)


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


class Store:
    """A store opened for reading; use it as a context manager or call `close`. Threads may share it.

    Pickled, it is its description and its place: a copy opens the file when it reads from it. So do results.
    path: as given. meta: Meta. layout: PageLayout. Vertices inside are store IDs 0..V-1; see pagestore/ids.py.
    file: the main one. stripes: the other files of a striped store. file_bytes: of all files. folders: absolute paths
    of those that the caller named for stripes.
    """

    def __init__(
        self, path: str, folders: Sequence[str | os.PathLike] = (), file: StoreFile | None = None,
        extents: dict[str, Extent] | None = None,
    ):  # fmt: skip
        """file, extents: of a store that has no name on disk (pagestore/inmemory.py); None: open `path`."""
        self.path, self.folders = path, tuple(os.path.abspath(folder) for folder in folders)
        if file is None or extents is None:
            opened, extents = hdf5.open_located(path)
            file = StoreFile(path, opened)
        self.file, self._extents = file, extents
        self.stripes: list[Stripe] = []
        try:
            self.meta, checksums = self._read_meta()
            self.layout = PageLayout(self.meta.page_bytes, self.meta.id_bytes)
            pages, coded = self._check_datasets()
            self.stripes = open_stripes(path, self.meta, pages, folders)
            nbytes = os.fstat(file.opened().fileno()).st_size
            self.file_bytes = nbytes + sum(stripe.nbytes for stripe in self.stripes)
            self._arrays = self._open_arrays(checksums, coded)
            self._ids = UserIds(path, self.meta, self._arrays)
            files = self.stripes or [Stripe(self.file, self._extents, self.file_bytes)]
            self._topologies = {
                name: open_topology(path, name, self.meta, self._arrays, files, self._ids.names, spread_of(self.meta))
                for name in self.meta.topologies
            }
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files. Readers made before keep working: they hold descriptors of their own."""
        for file in self._files():
            file.close()

    def _files(self) -> list[StoreFile]:
        return [self.file, *(stripe.file for stripe in self.stripes)]

    def let_go(self) -> None:
        """Close the files until the next read, which opens them for as long as it takes.

        ID arrays of up to CACHED_BLOCKS MiB stay in memory, so that results of small graphs need no file.
        """
        self._keep_ids()
        for file in self._files():
            file.let_go()

    def __getstate__(self) -> dict[str, Any]:
        self._keep_ids()
        return vars(self).copy()

    def __copy__(self) -> Store:
        """The same: a store does not change."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Store:
        return self

    def call(self, name: str) -> None:
        """Have messages about the graph name it so; those about a page or an array name its file."""
        self.path = self._ids.graph = name

    def _keep_ids(self) -> None:
        with suppress(GstreamError, OSError, ValueError):  # an unreadable array says so at its next read
            for name in ID_ARRAYS & self._arrays.keys():
                self._arrays[name].keep()

    def has(self, name: str) -> bool:
        """True when topology `name` ("out" or "in") is there; an undirected store has both in one."""
        return name in self._topologies or (not self.meta.directed and name == "in")

    def topology(self, name: str) -> Topology:
        """Topology "out" or "in" (the same object when the graph is undirected).

        Raises UsageError, naming the option of the converter, when the store was made without it.
        """
        if name not in ("out", "in"):
            raise ValueError(f"topology {name!r}: it is 'out' or 'in'")
        if not self.has(name):
            raise UsageError(
                f"{self.path}: has no {name}-topology. Convert again with --topology both (or --topology {name})."
            )
        return self._topologies[name if name in self._topologies else "out"]

    def out_degree(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """Out-degrees (u4 or u8[n]) of store IDs [first, last)."""
        return self.array("vertices/out_degree").read(first, last)

    def in_degree(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """In-degrees (u4 or u8[n]) of store IDs [first, last); an undirected graph's are its out-degrees."""
        return self.array("vertices/in_degree" if self.meta.directed else "vertices/out_degree").read(first, last)

    def user_ids(self, first: int = 0, last: int | None = None) -> Any:
        """User IDs of natural indices [first, last): int64[n], or a pyarrow large_string array for string IDs."""
        return self._ids.user_ids(first, self.meta.vertices if last is None else last)

    def store_ids(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """Store IDs (u4 or u8[n]) of natural indices [first, last)."""
        return self._ids.store_ids(first, self.meta.vertices if last is None else last)

    def keep_order(self) -> np.ndarray:
        """Store IDs (u4 or u8[V]) of all natural indices; those of reordered stores stay in memory from now on."""
        return self._ids.keep_order()

    def forget_names(self) -> None:
        """Give the memory back of natural indices and store IDs that stay in memory."""
        self._ids.forget()

    def natural_of(self, store_ids: np.ndarray) -> np.ndarray:
        """Natural indices of store IDs, as an array of the store's ID type."""
        return self._ids.natural_of(store_ids)

    def natural_ids(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """Natural indices (u4 or u8[n]) of store IDs [first, last); of reordered stores the inverse stays in memory."""
        return self._ids.natural_ids(first, self.meta.vertices if last is None else last)

    def lookup(
        self, ids: Sequence[Any], what: str = "source", error: type[GstreamError] = UsageError, where: Where = nowhere
    ) -> np.ndarray:
        """Store IDs (u8[n]) of user IDs. Raises `error` for one that is no vertex, beginning with where(its index)."""
        return self._ids.lookup(ids, what, error, where)

    def array(self, name: str) -> StoredArray:
        """An array of the store by its dataset's name, such as "vertices/out_degree"."""
        return self._arrays[name]

    @property
    def array_names(self) -> list[str]:
        return list(self._arrays)

    @property
    def extents(self) -> dict[str, Extent]:
        """Where each dataset lies in the main file."""
        return dict(self._extents)

    def _read_meta(self) -> tuple[Meta, dict[str, int]]:
        extent = self._extents.get("meta")
        if extent is None or extent.nbytes != META_BYTES:
            if HEADER in self._extents:
                raise StoreError(f"{self.path}: is a stripe, a part of a store. Name the store's main file.")
            raise StoreError(f"{self.path}: is an HDF5 file but no gstream store. Make one with `gstream convert`.")
        data = np.empty(META_BYTES, np.uint8)
        read_into(self.file.opened().fileno(), extent.offset, data, self.path)
        self.file.seal_at(extent.offset, data[:SEAL_BYTES].tobytes())
        return decode_meta(data.tobytes(), self.path)

    def _check_datasets(self) -> tuple[dict[str, int], dict[str, tuple]]:
        """Dtype and shape of every dataset follow from the description; sizes were held against the file's.

        Returns how many pages each topology has, and dtype and shape of each array that is coded.
        """
        found = {name: (extent.dtype, extent.shape) for name, extent in self._extents.items()}
        rows = {name: next(iter(shape), 0) for name, (_, shape) in found.items()}  # a shape may be ()
        pages, heads = {}, {}
        for name in self.meta.topologies:
            pages[name] = rows.get(f"topology/{name}/directory", 0)
            listed = self.meta.coded_arrays.get(f"topology/{name}/heads", [rows.get(f"topology/{name}/heads", 0)])[0]
            heads[name] = self.meta.vertices if self.meta.order == "natural" else min(listed, self.meta.vertices)
        names_bytes = rows.get("vertices/names/bytes", 0)
        for name, expected in datasets_of(self.meta, pages, heads, names_bytes).items():
            if found.get(name) != expected:
                raise StoreError(f"{self.path}: dataset {name} is missing or has another type or size. {REBUILD}")
        plain = datasets_of(replace(self.meta, coded_arrays={}), pages, heads, names_bytes)
        return pages, {name: plain[name] for name in self.meta.coded_arrays}

    def _open_arrays(self, checksums: dict[str, int], coded: dict[str, tuple]) -> dict[str, StoredArray]:
        arrays: dict[str, CheckedArray] = {}
        for name, extent in self._extents.items():
            sums = self._extents.get(checksum_name(name))
            if sums is None:
                continue
            crcs = np.empty(block_count(extent.nbytes), "<u4")
            if sums.nbytes != crcs.nbytes:
                raise StoreError(f"{self.path}: {checksum_name(name)} has {sums.count} entries. {REBUILD}")
            read_into(self.file.opened().fileno(), sums.offset, crcs, self.path)
            if checksums.get(name) != crc32(crcs.tobytes()):
                raise StoreError(f"{self.path}: {checksum_name(name)} fails its checksum. {REBUILD}")
            arrays[name] = CheckedArray(self.path, name, self.file, extent, crcs)
        sizes = {name: arrays.pop(coded_name(name)).read() for name in coded}
        return arrays | {name: CodedArray(arrays[name], sizes[name], *kind) for name, kind in coded.items()}
