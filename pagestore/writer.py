"""Writing a store: NAME.partial at its final size first, then pages and arrays by pwrite in any order, then a rename.

    absent --create--> NAME.partial (every dataset, unfilled) --write_*--> --finish: CRCs, /meta, fsync, rename--> NAME

Invariants: NAME is absent, old or complete at any moment. The same calls give the same bytes, whatever their order or
thread.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np

from pagestore import hdf5
from pagestore.arrays import BLOCK_BYTES, checksum_name, datasets_of
from pagestore.crc import block_crcs, crc32, page_crcs
from pagestore.errors import UsageError
from pagestore.faults import disk_error, number_of
from pagestore.io import read_into, write_from
from pagestore.layout import HEADER, HEADER_BYTES, ROW
from pagestore.meta import FORMAT, Meta, encode_meta
from pagestore.planning import PagePlan
from pagestore.replacing import lock_file, sync_folder

MOST_ALIGNED = 1 << 20  # pages start at multiples of min(page, 1 MiB)
READ_BYTES = 16 * BLOCK_BYTES
_FIXED = ("uuid", "vertices", "edges", "directed", "weighted", "page_bytes", "id_bytes", "order")  # root's attributes


class StoreWriter:
    """One store being written. `write_pages` and `write_array` may be called from many threads at once.

    meta: the graph's facts; counts that come late may be replaced at `finish`. plans: one PagePlan for each of
    `meta.topologies`. names_bytes: length of all names in UTF-8 when `meta.id_kind` is "strings".
    Raises ResourceError when the disk is full, UsageError when another process is writing the store.
    """

    def __init__(self, path: str, meta: Meta, plans: dict[str, PagePlan], names_bytes: int = 0) -> None:
        self.path = os.fspath(path)
        self.partial = self.path + ".partial"
        self.meta, self.plans = meta, plans
        heads = {name: head_rows(meta, plan) for name, plan in plans.items()}
        self.datasets = datasets_of(meta, {name: plan.pages for name, plan in plans.items()}, heads, names_bytes)
        self.directories = {name: plan.directory.copy() for name, plan in plans.items()}
        if column_facts(plans) != {"columns": meta.columns, "padding_words": meta.padding_words}:
            raise ValueError("the description and the plans disagree about column pages")
        self._written = {name: np.zeros(plan.pages, bool) for name, plan in plans.items()}
        self._fd, self._extents = self._begin()
        for name, rows in self.directories.items():
            self.write_array(f"topology/{name}/directory", 0, rows)

    def write_pages(self, topology: str, first: int, pages: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Write pages first..first+n-1, uint8[n, page_bytes], with their weights uint8[n, weight_page_bytes]."""
        if len(pages) == 0:
            return
        rows = self.directories[topology][first : first + len(pages)]
        headers = pages[:, :HEADER_BYTES].copy().view(HEADER)[:, 0]
        if len(rows) != len(pages) or any(np.any(headers[key] != rows[key]) for key in HEADER.names or ()):
            raise ValueError(f"pages {first} to {first + len(pages)} are not those of the plan")
        rows["crc"] = page_crcs(first, pages)
        self._put(f"topology/{topology}/pages", first, pages)
        if self.meta.weighted:
            if weights is None:
                raise ValueError("a weighted store needs the weights of each page")
            rows["weights_crc"] = page_crcs(first, weights)
            self._put(f"topology/{topology}/weights", first, weights)
        self._put(f"topology/{topology}/directory", first, rows)
        self._written[topology][first : first + len(pages)] = True

    def write_array(self, name: str, first: int, rows: np.ndarray) -> None:
        """Write rows first..first+n-1 of an array, for example "vertices/out_degree" or "topology/out/heads"."""
        dtype = self._extents[name].dtype
        self._put(name, first, np.ascontiguousarray(rows, dtype))

    def finish(self, meta: Meta | None = None) -> None:
        """Write checksums and /meta, fsync, rename to the final name. `meta` replaces counts that came late."""
        meta = meta or self.meta
        if any(getattr(meta, name) != getattr(self.meta, name) for name in (*_FIXED, "columns", "padding_words")):
            raise ValueError("a fixed field of the description changed after the file was laid out")
        for name, written in self._written.items():
            if not written.all():
                raise ValueError(f"topology {name}: page {int(np.argmin(written))} was never written")
        checksums = {}
        for name in self._extents:
            if checksum_name(name) in self._extents:
                crcs = self._crcs(name)
                self._put(checksum_name(name), 0, crcs)
                checksums[name] = crc32(crcs.tobytes())
        self._put("meta", 0, np.frombuffer(encode_meta(meta, checksums), np.uint8))
        self._publish()
        self.close()

    def close(self) -> None:
        """Close the file; NAME.partial stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def abort(self) -> None:
        """Close and remove NAME.partial, unless it has become NAME: the sync after the rename may have failed."""
        if self._fd >= 0:
            with suppress(FileNotFoundError):
                os.unlink(self.partial)
        self.close()

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _begin(self) -> tuple[int, dict[str, hdf5.Extent]]:
        """The partial file's descriptor, locked, and where each dataset lies in it."""
        fd = self._locked()
        self._create(fd)
        return fd, hdf5.locate(self.partial)

    def _publish(self) -> None:
        """The partial file takes the store's name, for good."""
        try:
            os.fsync(self._fd)
            os.replace(self.partial, self.path)
            sync_folder(os.path.dirname(os.path.abspath(self.path)))
        except OSError as error:
            raise disk_error(error, self.path) from error

    def _create(self, fd: int) -> None:
        meta = self.meta
        attributes = {"format": FORMAT, "version": meta.version, **{name: getattr(meta, name) for name in _FIXED}}
        try:
            hdf5.create(self.partial, self.datasets, attributes, min(meta.page_bytes, MOST_ALIGNED))
        except (OSError, RuntimeError, ValueError) as error:  # h5py raises any of them where a disk is full or fails
            with suppress(OSError):
                os.unlink(self.partial)  # half a file: nobody can go on from it
            os.close(fd)
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

    def _put(self, name: str, first: int, data: np.ndarray) -> None:
        extent = self._extents[name]
        row = extent.nbytes // max(extent.shape[0], 1)
        if first < 0 or first * row + data.nbytes > extent.nbytes:
            raise ValueError(f"rows {first}.. of {name}: outside its {extent.shape[0]} rows")
        write_from(self._fd, extent.offset + first * row, data, self.partial)

    def _crcs(self, name: str) -> np.ndarray:
        """CRCs of an array's blocks, read back: several writes may have shared a block."""
        extent, crcs = self._extents[name], [np.empty(0, "<u4")]
        for begin in range(0, extent.nbytes, READ_BYTES):
            data = np.empty(min(READ_BYTES, extent.nbytes - begin), np.uint8)
            read_into(self._fd, extent.offset + begin, data, self.partial)
            crcs.append(block_crcs(data, begin // BLOCK_BYTES, BLOCK_BYTES))
        return np.concatenate(crcs).astype("<u4")


def column_facts(plans: dict[str, PagePlan]) -> dict[str, Any]:
    """The fields of Meta about column pages."""
    columns = max((int(plan.directory["layout"].max(initial=ROW)) for plan in plans.values()), default=ROW)
    if columns == ROW:
        return {"columns": 1, "padding_words": {}}
    return {"columns": columns, "padding_words": {name: plan.padding_words for name, plan in plans.items()}}


def head_rows(meta: Meta, plan: PagePlan) -> int:
    """Rows of a topology's heads: every vertex in natural order, else up to the last vertex that has edges."""
    return meta.vertices if meta.order == "natural" else plan.last_with_edges + 1
