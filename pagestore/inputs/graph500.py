"""Edges as Graph500's reference code writes them: no header, a file of equal records, an undirected graph.

    graph500        {u32 low half of v0, u32 low half of v1, u16 high part of v0, u16 high part of v1}: 48-bit IDs
    graph500-int64  {i64 v0, i64 v1}

The vertices are 0..2^scale-1: --num-vertices, or the least power of two above all IDs, for which the file is read once.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pagestore.errors import InputError
from pagestore.inputs.base import EdgeChunk, InputOptions
from pagestore.inputs.records import RecordSource
from pagestore.io import Buffers

HALF = np.uint64(32)


class PackedEdgeSource(RecordSource):
    """Packed 12-byte edges."""

    directed = False
    record = np.dtype([("v0_low", "<u4"), ("v1_low", "<u4"), ("v0_high", "<u2"), ("v1_high", "<u2")])

    def __init__(self, path: str | Path, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        super().__init__(path, options, memory_bytes)
        self._greatest: int | None = None  # looked for where nothing says how many vertices there are
        self.total_bytes, self.record_bytes = self._path.stat().st_size, self.record.itemsize
        self.edge_count, rest = divmod(self.total_bytes, self.record_bytes)
        if rest:
            raise InputError(
                f"{self.name}: has {self.total_bytes} bytes, which is no multiple of {self.record_bytes}, the size "
                f"of an edge. It was cut, or its edges are of the other kind (--format graph500 or graph500-int64)."
            )
        if self.vertices is None:
            greatest = (
                max(int(max(chunk.source.max(), chunk.target.max())) for chunk in self.chunks())
                if self.edge_count
                else 0
            )
            self.vertices = 1 << greatest.bit_length()
            self._greatest = greatest

    def assumed(self) -> str:
        if self._greatest is None or self.vertices is None:
            return ""
        return (
            f"vertices 0 to {self.vertices - 1}, a power of two as Graph500 has it: the greatest ID is "
            f"{self._greatest}; --num-vertices says another number"
        )

    def decode(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Source and target of records."""
        source = records["v0_low"] | (records["v0_high"].astype(np.uint64) << HALF)
        return source, records["v1_low"] | (records["v1_high"].astype(np.uint64) << HALF)

    def _chunk(self, first: int, count: int, buffers: Buffers) -> EdgeChunk:
        end = f"edge {first + count} of {self.edge_count}"
        records = self.read(first * self.record_bytes, self.record, count, end, buffers, "records")
        return self.edges(first, *self.decode(records), None, buffers)


class Int64PairSource(PackedEdgeSource):
    """Pairs of int64."""

    record = np.dtype([("v0", "<i8"), ("v1", "<i8")])

    def decode(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return records["v0"], records["v1"]
