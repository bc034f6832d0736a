"""Edges in temporary files: appended by any thread, read by segments or forward; and the sources made of them.

A segment is source, target u4[n] (u8 both when an ID needs it), and weight f8[n] when weighted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence, Sized
from pathlib import Path
from typing import TypeVar

import numpy as np

from pagestore.convert.storage import TempFile, Vector
from pagestore.inputs.base import CHUNK_EDGES, EdgeChunk, EdgeSource, NumberedSource, StringNames
from pagestore.io import Buffers, large_empty

NARROW = 1 << 32  # IDs below take 4 bytes
READ_EDGES = 1 << 18  # short segments are read together: each costs a few microseconds of interpreter

Item = TypeVar("Item", bound=Sized)


def narrowed(chunk: EdgeChunk, weighted: bool, copy: bool = False) -> EdgeChunk:
    """The chunk with 4 bytes an ID where these do. Unless `copy`, arrays may be those of `chunk`."""
    wide = len(chunk) and max(int(chunk.source.max()), int(chunk.target.max())) >= NARROW

    def made(values: np.ndarray, dtype: str) -> np.ndarray:
        if not copy:
            return values.astype(dtype, copy=False)
        kept = large_empty(len(values), np.dtype(dtype))
        np.copyto(kept, values, casting="unsafe")
        return kept

    source, target = (made(ids, "<u8" if wide else "<u4") for ids in (chunk.source, chunk.target))
    return EdgeChunk(source, target, made(chunk.weight, "<f8") if weighted and chunk.weight is not None else None)


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
    """A growing file of edges. `segments`: edges, bytes an ID and byte offset of each; if given, they are there."""

    def __init__(self, path: Path, weighted: bool, segments: Sequence[Sequence[int]] | None = None) -> None:
        self.path, self.weighted = path, weighted
        self.segments = [(edges, width, at) for edges, width, at in segments or ()]
        self.nbytes = self.read_bytes = 0
        self._file, self._lock = TempFile(path, keep=segments is not None), threading.Lock()

    def append(self, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> None:
        """Add edges: arrays of one length, integers and float64; thread-safe."""
        for first in range(0, len(source), CHUNK_EDGES):
            part = slice(first, first + CHUNK_EDGES)
            edges = EdgeChunk(source[part], target[part], None if weight is None else weight[part])
            chunk = narrowed(edges, self.weighted)
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
    """Edges of `origin` between dense IDs, from an EdgeFile that is whole, with the user's IDs beside it; replayable.

    Chunks may be asked for by number, as of a NumberedSource.
    """

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
        lengths = [range(edges) for edges, _, _ in edges.segments]  # stand for the segments
        self._groups, at = list[range](), 0
        for group in grouped(iter(lengths), READ_EDGES):
            self._groups.append(range(at, at + len(group)))
            at += len(group)

    @property
    def chunk_count(self) -> int:
        """Chunks that `chunk` can be asked for."""
        return len(self._groups)

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """Chunk `number`, from any thread; in `buffers`, when given, until the next call."""
        empty = (buffers or Buffers()).get
        group = self._groups[number]
        edges = sum(self._edges.segments[at][0] for at in group)
        source, target = empty("source", edges, np.uint64), empty("target", edges, np.uint64)
        weight = empty("weight", edges, np.float64) if self._edges.weighted else None
        end = 0
        for at in group:
            stored = self._edges.segment(at, buffers)
            part = slice(end, end := end + len(stored))
            source[part], target[part] = stored.source, stored.target
            if weight is not None and stored.weight is not None:
                weight[part] = stored.weight
        return EdgeChunk(source, target, weight)

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


class SpillLog(NumberedSource):
    """A replayable copy of another source's edges, in any order. `chunk(i)` may be called from several threads.

    file: holds the edges once they are more than `memory_bytes`, and survives this process; held_bytes: in memory.
    """

    def __init__(self, origin: EdgeSource, weighted: bool, path: Path, memory_bytes: int):
        super().__init__()
        self.name, self.directed, self.weighted = origin.name, origin.directed, origin.weighted
        self.vertices, self.id_base, self.closed = origin.vertices, origin.id_base, origin.closed
        self.ids, self.names, self.skipped = origin.ids, origin.names, origin.skipped
        self.origin, self.weighted = origin, weighted
        self.total_bytes = origin.total_bytes
        self.memory_bytes, self.held_bytes = memory_bytes, 0
        self.file: EdgeFile | None = None
        self._path, self._chunks, self._lock = path, list[EdgeChunk](), threading.Lock()

    def append(self, chunk: EdgeChunk) -> None:
        """Keep a chunk; thread-safe."""
        if len(chunk) == 0:
            return
        kept = narrowed(chunk, self.weighted, copy=True)
        with self._lock:
            if self.file is None:
                self._chunks.append(kept)
                self.held_bytes += kept.nbytes
                if self.held_bytes > self.memory_bytes:
                    self._to_file()
                return
        self.file.append(kept.source, kept.target, kept.weight)

    def _to_file(self) -> None:
        file = EdgeFile(self._path, self.weighted)
        for chunk in self._chunks:
            file.append(chunk.source, chunk.target, chunk.weight)
        self.file, self._chunks, self.held_bytes = file, [], 0

    def reopen(self, segments: Sequence[Sequence[int]]) -> None:
        """Go on with the file of an earlier run."""
        self.file = EdgeFile(self._path, self.weighted, segments)

    @property
    def chunk_count(self) -> int:
        """Chunks that `chunk` can be asked for."""
        return len(self._chunks if self.file is None else self.file.segments)

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """See NumberedSource."""
        empty = (buffers or Buffers()).get
        stored = self._chunks[number] if self.file is None else self.file.segment(number, buffers)
        source, target = empty("source", len(stored), np.uint64), empty("target", len(stored), np.uint64)
        source[:], target[:] = stored.source, stored.target
        return EdgeChunk(source, target, stored.weight)

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        """The original source's."""
        return self.origin.vertex_ids()

    def close(self) -> None:
        """Free the memory and remove the file."""
        self._chunks = []
        if self.file is not None:
            self.file.remove()


class HeldEdges(SpillLog):
    """The same of a replayable source, in memory alone: to parse its edges again would cost more.

    whole: all edges are there; not so once they were more than `memory_bytes`. once: chunks are let go as they are
    handed out, so that what is made of the edges takes their place.
    """

    def __init__(self, origin: EdgeSource, weighted: bool, memory_bytes: int):
        super().__init__(origin, weighted, Path(), memory_bytes)
        self.whole, self.once, self._gone = True, False, set[int]()

    def append(self, chunk: EdgeChunk) -> None:
        """See SpillLog."""
        if self.whole:
            super().append(chunk)

    def _to_file(self) -> None:
        self._chunks, self.held_bytes, self.whole = [], 0, False

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """See NumberedSource. Raises IndexError for a chunk that was let go."""
        if number in self._gone:
            raise IndexError(f"chunk {number} was let go")
        chunk = super().chunk(number, buffers)
        if self.once:
            self._gone.add(number)
            self.whole, self._chunks[number] = False, EdgeChunk(*np.empty((2, 0), np.uint64))
        return chunk
