"""Edges as Graph500's reference code writes them: no header, a file of equal records, an undirected graph.

    graph500        {u32 low half of v0, u32 low half of v1, u16 high part of v0, u16 high part of v1}: 48-bit IDs
    graph500-int64  {i64 v0, i64 v1}

The vertices are 0..2^scale-1: --num-vertices, or the least power of two above all IDs, for which the file is read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pagestore.errors import InputError
from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions
from pagestore.inputs.columns import checked_chunk, option_range
from pagestore.inputs.edgefile import read_array

HALF = np.uint64(32)


class PackedEdgeSource(EdgeSource):
    """Packed 12-byte edges, replayable."""

    record = np.dtype([("v0_low", "<u4"), ("v1_low", "<u4"), ("v0_high", "<u2"), ("v1_high", "<u2")])

    def __init__(self, path: str | Path, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        super().__init__()
        self._path, self._options = path, options
        self.name, self.replayable, self.directed = str(path), True, False
        self.total_bytes = Path(path).stat().st_size
        if self.total_bytes % self.record.itemsize:
            raise InputError(
                f"{self.name}: has {self.total_bytes} bytes, which is no multiple of {self.record.itemsize}, the size "
                f"of an edge. It was cut, or its edges are of the other kind (--format graph500 or graph500-int64)."
            )
        self._ids = option_range(options)
        self._done = 0
        if options.num_vertices is not None:
            self.vertices, self.id_base = options.num_vertices, self._ids.low
        else:
            greatest = max(int(max(c.source.max(), c.target.max())) for c in self.chunks())
            self.vertices = 1 << greatest.bit_length()
            self._done = 0

    def decode(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Source and target of records."""
        source = records["v0_low"] | (records["v0_high"].astype(np.uint64) << HALF)
        return source, records["v1_low"] | (records["v1_high"].astype(np.uint64) << HALF)

    def chunks(self) -> Iterator[EdgeChunk]:
        edges = (self.total_bytes or 0) // self.record.itemsize
        with open(self._path, "rb", buffering=0) as file:
            for first in range(0, edges, self._options.chunk_edges):
                records = read_array(file, self.record, min(self._options.chunk_edges, edges - first))
                self._done = file.tell()
                source, target = self.decode(records)
                yield checked_chunk(self.name, first, source, target, None, self._ids)

    def position(self) -> int:
        return self._done


class Int64PairSource(PackedEdgeSource):
    """Pairs of int64, replayable."""

    record = np.dtype([("v0", "<i8"), ("v1", "<i8")])

    def decode(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.ascontiguousarray(records["v0"]), np.ascontiguousarray(records["v1"])
