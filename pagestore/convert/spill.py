"""The spill log: edges of an input that can be read only once (text, a pipe), kept for the second pass.

A segment is what one chunk held: source u4[n], target u4[n] (u8 both when an ID needs it), weight f8[n] when weighted.
Segments stay in memory up to a limit; past it all of them go to one file, so that a killed conversion can resume.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pagestore.convert.buffers import Buffers
from pagestore.convert.storage import disk_errors, read_all, write_all
from pagestore.inputs.base import EdgeChunk, EdgeSource

NARROW = 1 << 32  # IDs below take 4 bytes


class SpillLog(EdgeSource):
    """A replayable copy of another source's edges, in any order. `chunk(i)` may be called from several threads."""

    replayable = True

    def __init__(self, origin: EdgeSource, weighted: bool, path: Path, memory_bytes: int):
        super().__init__()
        self.name, self.directed, self.weighted = origin.name, origin.directed, weighted
        self.vertices, self.id_base, self.closed = origin.vertices, origin.id_base, origin.closed
        self.ids, self.names, self.skipped = origin.ids, origin.names, origin.skipped
        self.origin = origin
        self.total_bytes = origin.total_bytes
        self.path = path
        self.memory_bytes = memory_bytes
        self.segments: list[tuple[int, int, int]] = []  # edges, bytes an ID, byte offset in the file
        self._held: list[list[np.ndarray]] = []  # the segments themselves while they are in memory
        self._file = -1
        self._end = 0
        self._lock = threading.Lock()

    def append(self, chunk: EdgeChunk) -> None:
        """Keep a chunk; thread-safe."""
        if len(chunk) == 0:
            return
        wide = max(int(chunk.source.max()), int(chunk.target.max())) >= NARROW
        dtype = np.uint64 if wide else np.uint32
        parts = [chunk.source.astype(dtype), chunk.target.astype(dtype)]
        if self.weighted:
            parts.append(np.array(chunk.weight, np.float64))
        size = sum(part.nbytes for part in parts)
        with self._lock:
            at = self._end
            self._end += size
            self.segments.append((len(chunk), np.dtype(dtype).itemsize, at))
            if self._file < 0 and self._end <= self.memory_bytes:
                self._held.append(parts)
                return
            if self._file < 0:
                self._to_file()
        self._write(parts, at)

    def _to_file(self) -> None:
        with disk_errors(self.path):
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        for segment, parts in zip(self.segments, self._held, strict=False):
            self._write(parts, segment[2])
        self._held = []

    def _write(self, parts: list[np.ndarray], at: int) -> None:
        for part in parts:
            write_all(self._file, part, at, self.path)
            at += part.nbytes

    @property
    def in_file(self) -> bool:
        """True when the segments are in the file (and survive this process)."""
        return self._file >= 0

    @property
    def held_bytes(self) -> int:
        """Bytes held in memory."""
        return 0 if self.in_file else self._end

    def reopen(self, segments: list[list[int]]) -> None:
        """Go on with the file of an earlier run."""
        with disk_errors(self.path):
            self._file = os.open(self.path, os.O_RDWR)
        self.segments = [(int(edges), int(width), int(at)) for edges, width, at in segments]

    @property
    def chunk_count(self) -> int:
        """Chunks that `chunk` can be asked for."""
        return len(self.segments)

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """Segment `number` as uint64 and float64; in `buffers`, when given, until the next call."""
        empty = (buffers or Buffers()).get
        edges, width, at = self.segments[number]
        if self._held:
            parts = self._held[number]
        else:
            parts = [empty(f"spilled {end}", edges, np.dtype(f"u{width}")) for end in ("source", "target")]
            parts += [empty("spilled weight", edges, np.float64)] if self.weighted else []
            for part in parts:
                read_all(self._file, part, at, self.path)
                at += part.nbytes
        weight = parts[2] if self.weighted else None
        source, target = empty("source", edges, np.uint64), empty("target", edges, np.uint64)
        source[:], target[:] = parts[0], parts[1]
        return EdgeChunk(source, target, weight)

    def chunks(self) -> Iterator[EdgeChunk]:
        """All segments."""
        return (self.chunk(number) for number in range(self.chunk_count))

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        """The original source's."""
        return self.origin.vertex_ids()

    def close(self) -> None:
        """Free the memory and remove the file."""
        self._held = []
        if self._file >= 0:
            file, self._file = self._file, -1  # first: a signal's handler may raise in whatever is called
            os.close(file)
            self.path.unlink(missing_ok=True)
