"""Edges in a temporary file, appended by any thread, read by segments or forward, and the dense source made of them.

A segment is source, target u4[n] (u8 both when an ID needs it), and weight f8[n] when weighted. Nothing of the edges
stays in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence, Sized
from pathlib import Path
from typing import TypeVar

import numpy as np

from pagestore.convert.buffers import Buffers
from pagestore.convert.storage import TempFile, Vector
from pagestore.inputs.base import CHUNK_EDGES, EdgeChunk, EdgeSource, StringNames

NARROW = 1 << 32  # IDs below take 4 bytes
READ_EDGES = 1 << 18  # short segments are read together: each costs a few microseconds of interpreter

Item = TypeVar("Item", bound=Sized)


def narrowed(chunk: EdgeChunk, weighted: bool, copy: bool = False) -> EdgeChunk:
    """The chunk with 4 bytes an ID where these do. Unless `copy`, arrays may be those of `chunk`."""
    wide = len(chunk) and max(int(chunk.source.max()), int(chunk.target.max())) >= NARROW
    source, target = (ids.astype("<u8" if wide else "<u4", copy=copy) for ids in (chunk.source, chunk.target))
    weight = chunk.weight.astype("<f8", copy=copy) if weighted and chunk.weight is not None else None
    return EdgeChunk(source, target, weight)


def grouped(items: Iterator[Item], least: int) -> Iterator[list[Item]]:
    """Lists of consecutive items, each with `least` elements in all or a few more; an item of so many stays alone."""
    waiting: list[Item] = []
    elements = 0
    for item in items:
        if waiting and max(elements, len(item)) >= least:
            yield waiting
            waiting, elements = [], 0
        waiting.append(item)
        elements += len(item)
    if waiting:
        yield waiting


class EdgeFile:
    """A growing file of edges. `segments`: edges, bytes an ID and byte offset of each; given, they are there already."""

    def __init__(self, path: Path, weighted: bool, segments: Sequence[Sequence[int]] | None = None) -> None:
        self.path, self.weighted = path, weighted
        self.segments = [(edges, width, at) for edges, width, at in segments or ()]
        self.nbytes = self.read_bytes = 0
        self._file, self._lock = TempFile(path, keep=segments is not None), threading.Lock()

    def append(self, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> None:
        """Add edges: arrays of one length, integers and float64; thread-safe."""
        for first in range(0, len(source), CHUNK_EDGES):
            part = slice(first, first + CHUNK_EDGES)
            chunk = EdgeChunk(source[part], target[part], None if weight is None else weight[part])
            self._add(narrowed(chunk, self.weighted))

    def _add(self, chunk: EdgeChunk) -> None:
        with self._lock:
            at = self.nbytes
            self.segments.append((len(chunk), chunk.source.itemsize, at))
            self.nbytes += chunk.nbytes
        for array in chunk.arrays:
            at = self._file.write(at, np.ascontiguousarray(array))

    @property
    def edges(self) -> int:
        return sum(edges for edges, _, _ in self.segments)

    def segment(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """Segment `number` as it is stored; in `buffers`, when given, until the next call."""
        empty = (buffers or Buffers()).get
        edges, width, at = self.segments[number]
        source, target = (self._file.read(at + end * edges * width, empty(f"stored {end}", edges, f"<u{width}"))
                          for end in (0, 1))  # fmt: skip
        if not self.weighted:
            return EdgeChunk(source, target)
        return EdgeChunk(source, target, self._file.read(at + 2 * edges * width, empty("stored weight", edges, "<f8")))

    def read(self) -> Iterator[EdgeChunk]:
        """All edges in order, up to CHUNK_EDGES or so at a time, IDs as uint64."""
        self.read_bytes = 0
        for chunks in grouped(map(self.segment, range(len(self.segments))), READ_EDGES):
            self.read_bytes += sum(chunk.nbytes for chunk in chunks)
            yield EdgeChunk.joined(chunks)

    def remove(self) -> None:
        """Close and remove the file."""
        self._file.remove()


class DenseSource(EdgeSource):
    """Edges of `origin` between dense IDs, from an EdgeFile, with the user's IDs beside it; replayable."""

    def __init__(
        self, origin: EdgeSource, edges: EdgeFile, ids: Vector | None = None, names: StringNames | None = None
    ) -> None:
        super().__init__()
        self.name, self.directed, self.weighted = origin.name, origin.directed, origin.weighted
        self.skipped = origin.skipped
        self.ids, self.names, self.replayable = ids, names, True
        self.vertices = len(ids) if ids is not None else len(names) if names is not None else 0
        self.total_bytes = edges.nbytes
        self._origin, self._edges = origin, edges

    def chunks(self) -> Iterator[EdgeChunk]:
        return self._edges.read()

    def position(self) -> int:
        return self._edges.read_bytes

    def close(self) -> None:
        self._origin.close()
        self._edges.remove()
        for vector in (self.ids,) if self.names is None else (self.names.offsets, self.names.data):
            vector.close()
        folder = self._edges.path.parent
        if folder.exists() and not any(folder.iterdir()):
            folder.rmdir()
