"""An open store: small things checked at once, pages when they are read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from pagestore import hdf5
from pagestore.arrays import CheckedArray, block_count, checksum_name, datasets_of
from pagestore.crc import crc32
from pagestore.errors import GstreamError, StoreError, UsageError
from pagestore.hdf5 import Extent, StoreFile
from pagestore.ids import UserIds, Where, nowhere
from pagestore.io import read_into
from pagestore.layout import PageLayout
from pagestore.meta import META_BYTES, REBUILD, SEAL_BYTES, Meta, decode_meta
from pagestore.topology import Topology, open_topology

ID_ARRAYS = {"vertices/ids", "vertices/names/offsets", "vertices/names/bytes", "vertices/store_of"}


def open_store(path: str | os.PathLike) -> Store:
    """Open the store at `path` for reading. Raises StoreError when it is none, cut, damaged or of another version."""
    return Store(os.fspath(path))


class Store:
    """A store opened for reading; use it as a context manager or call `close`. Threads may share it.

    Pickled, it is its description and its place: a copy opens the file when it reads from it. So do results.
    path: as given. meta: Meta. layout: PageLayout. Vertices inside are store IDs 0..V-1; see pagestore/ids.py.
    """

    def __init__(self, path: str, file: StoreFile | None = None, extents: dict[str, Extent] | None = None):
        """file, extents: of a store that has no name on disk (pagestore/inmemory.py); None: open `path`."""
        self.path = path
        if file is None or extents is None:
            opened, extents = hdf5.open_located(path)
            file = StoreFile(path, opened, extents["meta"].offset if "meta" in extents else 0)
        self.file, self._extents = file, extents
        self.file_bytes = os.fstat(file.opened().fileno()).st_size
        try:
            self.meta, checksums = self._read_meta()
            self.layout = PageLayout(self.meta.page_bytes, self.meta.id_bytes)
            self._check_datasets()
            self._arrays = self._open_arrays(checksums)
            self._ids = UserIds(path, self.meta, self._arrays)
            self._topologies = {
                name: open_topology(path, name, self.meta, self._extents, self._arrays, self.file, self._ids.names)
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
        """Close the file. Readers made before keep working: they hold descriptors of their own."""
        self.file.close()

    def let_go(self) -> None:
        """Close the file until the next read, which opens it for as long as it takes.

        ID arrays of up to CACHED_BLOCKS MiB stay in memory, so that results of small graphs need no file.
        """
        self._keep_ids()
        self.file.let_go()

    def __getstate__(self) -> dict[str, Any]:
        self._keep_ids()
        return vars(self).copy()

    def __copy__(self) -> Store:
        """The same: a store does not change."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Store:
        return self

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

    def array(self, name: str) -> CheckedArray:
        """An array of the store by its dataset's name, such as "vertices/out_degree"."""
        return self._arrays[name]

    @property
    def array_names(self) -> list[str]:
        return list(self._arrays)

    @property
    def extents(self) -> dict[str, Extent]:
        """Where each dataset lies in the file."""
        return dict(self._extents)

    def _read_meta(self) -> tuple[Meta, dict[str, int]]:
        extent = self._extents.get("meta")
        if extent is None or extent.nbytes != META_BYTES:
            raise StoreError(f"{self.path}: is an HDF5 file but no gstream store. Make one with `gstream convert`.")
        data = np.empty(META_BYTES, np.uint8)
        read_into(self.file.opened().fileno(), extent.offset, data, self.path)
        self.file.seal = data[:SEAL_BYTES].tobytes()
        return decode_meta(data.tobytes(), self.path)

    def _check_datasets(self) -> None:
        """Dtype and shape of every dataset follow from the description; sizes were held against the file's."""
        found = {name: (extent.dtype, extent.shape) for name, extent in self._extents.items()}
        rows = {name: next(iter(shape), 0) for name, (_, shape) in found.items()}  # a shape may be ()
        pages, heads = {}, {}
        for name in self.meta.topologies:
            pages[name] = rows.get(f"topology/{name}/directory", 0)
            listed = rows.get(f"topology/{name}/heads", 0)
            heads[name] = self.meta.vertices if self.meta.order == "natural" else min(listed, self.meta.vertices)
        names_bytes = rows.get("vertices/names/bytes", 0)
        for name, expected in datasets_of(self.meta, pages, heads, names_bytes).items():
            if found.get(name) != expected:
                raise StoreError(f"{self.path}: dataset {name} is missing or has another type or size. {REBUILD}")

    def _open_arrays(self, checksums: dict[str, int]) -> dict[str, CheckedArray]:
        arrays = {}
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
        return arrays
