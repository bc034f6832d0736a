"""The spill log: edges of an input that can be read only once (text, a pipe), kept for the second pass.

Chunks stay in memory up to a limit. Past it all of them go to one file, so that a killed conversion can resume.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pagestore.convert.buffers import Buffers
from pagestore.inputs.base import EdgeChunk, EdgeSource
from pagestore.inputs.edgefile import EdgeFile, narrowed


class SpillLog(EdgeSource):
    """A replayable copy of another source's edges, in any order. `chunk(i)` may be called from several threads.

    file: holds the edges once they are more than `memory_bytes`, and survives this process; held_bytes: in memory.
    """

    replayable = True

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
        """Chunk `number`; in `buffers`, when given, until the next call."""
        empty = (buffers or Buffers()).get
        stored = self._chunks[number] if self.file is None else self.file.segment(number, buffers)
        source, target = empty("source", len(stored), np.uint64), empty("target", len(stored), np.uint64)
        source[:], target[:] = stored.source, stored.target
        return EdgeChunk(source, target, stored.weight)

    def chunks(self) -> Iterator[EdgeChunk]:
        """All chunks."""
        return (self.chunk(number) for number in range(self.chunk_count))

    def vertex_ids(self) -> Iterator[np.ndarray] | None:
        """The original source's."""
        return self.origin.vertex_ids()

    def close(self) -> None:
        """Free the memory and remove the file."""
        self._chunks = []
        if self.file is not None:
            self.file.remove()
