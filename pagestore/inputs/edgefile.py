"""Edges between dense vertices in a temporary file, written once, read forward any number of times.

Encoding: batches of [source][target][weight] arrays, each batch of known length; IDs take 4 bytes up to 2^32 vertices,
else 8; weights are float64. Nothing of it stays in memory.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from pagestore.convert.storage import disk_errors
from pagestore.errors import ResourceError
from pagestore.inputs.base import CHUNK_EDGES, EdgeChunk, EdgeSource, StringNames
from pagestore.storefile import Descriptor

READ_EDGES = 1 << 18  # small batches are read together: each costs a few microseconds of interpreter


def write_array(file: IO[bytes], array: np.ndarray) -> None:
    """Append the bytes of `array` to an unbuffered file; ResourceError when the disk is full."""
    left = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    with disk_errors(Path(file.name), len(left)):
        while left:
            left = left[file.write(left) :]


def read_array(file: IO[bytes], dtype: np.dtype, count: int) -> np.ndarray:
    """The next `count` elements of an unbuffered file."""
    array = np.empty(count, dtype=dtype)
    left = memoryview(array.view(np.uint8))  # type: ignore[arg-type]
    while left:
        taken = file.readinto(left)  # type: ignore[attr-defined]
        if not taken:
            raise ResourceError(f"{file.name}: a temporary file was cut by another program. Start again.")
        left = left[taken:]
    return array


class EdgeFile:
    """A growing file of edges. `id_bytes` is 4 or 8."""

    def __init__(self, path: Path, id_bytes: int, weighted: bool) -> None:
        self.path, self.weighted = path, weighted
        self.dtype = np.dtype("<u4") if id_bytes == 4 else np.dtype("<u8")
        self.batches: list[int] = []
        self._file: Any = Descriptor(path, "wb")
        self.read_bytes = 0

    def append(self, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> None:
        """Add edges: arrays of one length, integers and float64."""
        assert self._file is not None
        for first in range(0, len(source), CHUNK_EDGES):
            part = slice(first, first + CHUNK_EDGES)
            write_array(self._file, source[part].astype(self.dtype, copy=False))
            write_array(self._file, target[part].astype(self.dtype, copy=False))
            if self.weighted:
                assert weight is not None
                write_array(self._file, weight[part].astype("<f8", copy=False))
            self.batches.append(len(source[part]))

    @property
    def edges(self) -> int:
        return sum(self.batches)

    @property
    def nbytes(self) -> int:
        return self.edges * (2 * self.dtype.itemsize + 8 * self.weighted)

    def finish(self) -> None:
        """No more edges will come."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self) -> Iterator[EdgeChunk]:
        """All edges, up to CHUNK_EDGES at a time, IDs as uint64. Small batches are joined, to READ_EDGES or so."""
        self.read_bytes = 0
        waiting: list[EdgeChunk] = []
        edges = 0
        with open(self.path, "rb", buffering=0) as file:
            for count in self.batches:
                if waiting and (edges + count > CHUNK_EDGES or edges >= READ_EDGES):
                    yield _join(waiting)
                    waiting, edges = [], 0
                source, target = (read_array(file, self.dtype, count).astype(np.uint64, copy=False) for _ in "st")
                weight = read_array(file, np.dtype("<f8"), count) if self.weighted else None
                waiting.append(EdgeChunk(source, target, weight))
                edges += count
                self.read_bytes += count * (2 * self.dtype.itemsize + 8 * self.weighted)
        if waiting:
            yield _join(waiting)

    def remove(self) -> None:
        self.finish()
        self.path.unlink(missing_ok=True)


def _join(chunks: list[EdgeChunk]) -> EdgeChunk:
    if len(chunks) == 1:
        return chunks[0]
    weights = [chunk.weight for chunk in chunks if chunk.weight is not None]
    return EdgeChunk(
        np.concatenate([chunk.source for chunk in chunks]),
        np.concatenate([chunk.target for chunk in chunks]),
        np.concatenate(weights) if weights else None,
    )


class DenseSource(EdgeSource):
    """Edges of `origin` between dense IDs, from an EdgeFile, with the user's IDs beside it; replayable."""

    def __init__(
        self, origin: EdgeSource, edges: EdgeFile, ids: Any, names: StringNames | None, files: list[Path]
    ) -> None:
        super().__init__()
        self.name, self.directed, self.weighted = origin.name, origin.directed, origin.weighted
        self.skipped = origin.skipped
        self.ids, self.names, self.replayable = ids, names, True
        self.vertices = len(ids) if ids is not None else len(names) if names is not None else 0
        self.total_bytes = edges.nbytes
        self._origin, self._edges, self._files = origin, edges, files

    def chunks(self) -> Iterator[EdgeChunk]:
        return self._edges.read()

    def position(self) -> int:
        return self._edges.read_bytes

    def close(self) -> None:
        self._origin.close()
        self._edges.remove()
        for path in self._files:
            path.unlink(missing_ok=True)
        folder = self._edges.path.parent
        if folder.exists() and not os.listdir(folder):
            folder.rmdir()


class FileVector:
    """`count` elements of a file as a read-only vector: `len`, elements and slices are read when asked for.

    Not a memory map: pages of a map that were touched count as memory of the process.
    """

    def __init__(self, path: Path, dtype: str, count: int) -> None:
        self.dtype, self.shape = np.dtype(dtype), (count,)
        self._file = Descriptor(path)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            first, last, step = which.indices(len(self))
            return self._read(first, max(last - first, 0))[::step]
        at = operator.index(which)
        if not -len(self) <= at < len(self):
            raise IndexError(f"element {at} of {len(self)}")
        return self._read(at % len(self), 1)[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._read(0, len(self)).astype(dtype or self.dtype, copy=False)

    def _read(self, first: int, count: int) -> np.ndarray:
        array = np.empty(count, dtype=self.dtype)
        left = memoryview(array.view(np.uint8))  # type: ignore[arg-type]
        offset = first * self.dtype.itemsize
        while left:
            taken = os.preadv(self._file.fileno(), [left], offset)
            if not taken:
                raise ResourceError(f"{self._file.name}: a temporary file was cut by another program. Start again.")
            left, offset = left[taken:], offset + taken
        return array
