"""A small graph as a store without a file: its datasets lie one after the other in memory that has no name.

    arrays --the steps of any conversion--> MemoryWriter --> Store over a MemoryFile

Everything that reads a store reads this one: by a descriptor, at the offsets of its datasets, with the same checksums.
There is no HDF5 around them, no temporary folder and no sync. Measured, 100 edges, both topologies: 4 ms of processor
time to convert and open; by way of a file 22 ms, and what its disk takes to sync.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pagestore.coding.places import Places
from pagestore.convert.options import ConvertOptions, ProgressHook, Report
from pagestore.convert.pipeline import Conversion
from pagestore.convert.workfolder import WorkFolder
from pagestore.errors import StoreError
from pagestore.hdf5 import Descriptor, Extent, StoreFile
from pagestore.inputs.base import NumberedSource
from pagestore.io import DIRECT_ALIGN, drain, fill
from pagestore.layout import DEFAULT_PAGE_BYTES, MIN_PAGE_BYTES
from pagestore.meta import Meta
from pagestore.partialfile import PartialFile
from pagestore.planning import PagePlan
from pagestore.store import Store
from pagestore.writer import StoreWriter

NAME = "graph in memory"
MOST_EDGES = 1 << 16  # of a graph that is kept so: 1 MiB of pages; a file costs such a graph little
PAGES = 8  # of a topology, aimed at: few enough to be quick, and the graph takes what it needs


class MemoryFile(StoreFile):
    """Bytes of a store in memory. It is never let go, as it has no name to be opened by; pickled, it is its bytes."""

    has_name = False

    def __init__(self, path: str, nbytes: int) -> None:
        super().__init__(path, Descriptor(os.memfd_create("gstream", os.MFD_CLOEXEC)))
        self.place = path
        os.ftruncate(self.opened().fileno(), nbytes)

    def let_go(self) -> None:
        """Nothing: see above."""

    def __getstate__(self) -> dict[str, Any]:
        fd = self.opened().fileno()
        data = np.empty(os.fstat(fd).st_size, np.uint8)
        fill(fd, 0, data)
        return {"path": self.path, "seal": (self._seal_offset, self._seal), "data": data}

    def __setstate__(self, state: dict[str, Any]) -> None:
        MemoryFile.__init__(self, state["path"], state["data"].nbytes)
        self.seal_at(*state["seal"])
        drain(self.opened().fileno(), 0, state["data"])

    def _again(self) -> Descriptor:
        raise StoreError(f"{self.path}: the graph was closed, and there is no file of it. Make it again.")


class _MemoryPart(PartialFile):
    """A MemoryFile with room for all datasets, one behind the other."""

    def __init__(self, path: str, datasets: dict[str, tuple]) -> None:
        extents, end = {}, 0
        for name, (dtype, shape) in datasets.items():
            extents[name] = Extent(end, dtype, shape)
            end += -(-prod(shape) * dtype.itemsize // DIRECT_ALIGN) * DIRECT_ALIGN
        self.path = self.partial = path
        self.extents, self.published, self.file = extents, False, MemoryFile(path, end)
        self._fd = self.file.opened().fileno()

    def publish(self) -> None:
        """It has no name to take."""

    def close(self) -> None:
        """The file lasts as long as the store."""

    def abort(self, withdraw: bool = False) -> None:
        """The same."""


class MemoryWriter(StoreWriter):
    """Writes a store to a MemoryFile, which `store` opens."""

    main: _MemoryPart

    def make_file(self, path: str, datasets: dict[str, tuple], attributes: dict[str, Any]) -> PartialFile:
        return _MemoryPart(path, datasets)

    def store(self) -> Store:
        """The store, once `finish` was called."""
        return Store(self.path, file=self.main.file, extents=self.main.extents)


class _NoFolder(WorkFolder):
    """Of a conversion that has no temporary files."""

    def open(self, resume: bool, fingerprint: dict[str, Any]) -> None:
        """Nothing is there."""

    def maybe_file(self, name: str) -> Path | None:
        """None."""
        return None

    def used_bytes(self) -> int:
        """None."""
        return 0

    def close(self, keep: bool = False) -> None:
        """Nothing is there."""


class _InMemory(Conversion):
    writer: MemoryWriter

    def check_target(self) -> None:
        """There is always room."""

    def work_folder(self) -> WorkFolder:
        return _NoFolder(self.path, None, keep=False)

    def new_writer(
        self, meta: Meta, plans: dict[str, PagePlan], names_bytes: int, places: dict[str, Places]
    ) -> StoreWriter:
        self.writer = MemoryWriter(str(self.path), meta, plans, names_bytes, places=places)
        return self.writer

    def check_space(self, sizes: Mapping[Path, int], work_size: int, kept: int) -> None:
        """There is always room."""

    def written_bytes(self) -> int:
        return os.fstat(self.writer.main.file.opened().fileno()).st_size


def convert_in_memory(
    source: NumberedSource, options: ConvertOptions, progress: ProgressHook | None = None, name: str = NAME
) -> tuple[Store, Report]:
    """A store without a file, of up to MOST_EDGES edges whose vertices are known (`vertices`, `ids` or `names`).

    name: what messages call it, in place of a path.

    Pages are smaller than the default where that leaves fewer than PAGES of them.
    Raises InputError and UsageError as `pagestore.convert.convert`.
    """
    page_bytes = options.page_bytes
    if page_bytes == DEFAULT_PAGE_BYTES:
        words = 4 * source.edge_count // PAGES
        page_bytes = min(max(1 << max(words - 1, 1).bit_length(), MIN_PAGE_BYTES), DEFAULT_PAGE_BYTES)
    options = replace(options, page_bytes=page_bytes, threads=1, workdir=None, resume=False, replace=True, stripe=())
    with np.errstate(all="ignore"):  # as pagestore.convert.pipeline
        job = _InMemory(source, Path(name), options, progress)
        report = job.run()
        return job.writer.store(), report
