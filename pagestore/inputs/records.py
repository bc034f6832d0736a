"""Files of equal records, read in chunks by number, from any thread, in reused buffers; and Graph500's edges.

As Graph500's reference code writes them: no header, a file of equal records, an undirected graph.

    graph500        {u32 low half of v0, u32 low half of v1, u16 high part of v0, u16 high part of v1}: 48-bit IDs
    graph500-int64  {i64 v0, i64 v1}

The vertices are 0..2^scale-1: --num-vertices, or the least power of two above all IDs, for which the file is read once.
"""

from __future__ import annotations

import os
import weakref
from abc import abstractmethod
from pathlib import Path

import numpy as np

from pagestore.errors import InputError
from pagestore.faults import read_error
from pagestore.inputs.base import EdgeChunk, InputOptions, NumberedSource
from pagestore.inputs.columns import checked_ids_into, checked_weights, option_range
from pagestore.io import Buffers, fill

CHUNK_SHARE = 8  # chunks in flight, with their records and keys, take this part of the budget
WORK_BYTES = 40  # an edge in flight, beside its record: two IDs, a weight and keys
LEAST_CHUNK_EDGES = 1 << 12
HALF = np.uint64(32)


class RecordSource(NumberedSource):
    """Edges that lie in a file as `edge_count` records; `_chunk` reads some of them."""

    record_bytes: int

    def __init__(self, path: str | Path, options: InputOptions, memory_bytes: int) -> None:
        super().__init__()
        self._path, self._options, self._ids = Path(path), options, option_range(options)
        self._memory = memory_bytes
        self.name = str(path)
        self.vertices, self.id_base = options.num_vertices, self._ids.low
        self._descriptor = os.open(path, os.O_RDONLY)
        self._closed = weakref.finalize(self, os.close, self._descriptor)  # also of a source that could not be opened
        self._reached = 0

    @property
    def chunk_edges(self) -> int:  # type: ignore[override]
        """Records a chunk: fewer than asked for where memory is short."""
        share = self._memory // (CHUNK_SHARE * self._options.threads * (self.record_bytes + WORK_BYTES))
        return min(self._options.chunk_edges, max(share, LEAST_CHUNK_EDGES))

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """See NumberedSource."""
        first = number * self.chunk_edges
        count = min(self.chunk_edges, self.edge_count - first)
        chunk = self._chunk(first, count, buffers or Buffers())
        self._reached = max(self._reached, first + count)
        return chunk

    @abstractmethod
    def _chunk(self, first: int, count: int, buffers: Buffers) -> EdgeChunk:
        """Records first..first+count-1 as edges."""

    def read(self, offset: int, dtype: np.dtype, count: int, end: str, buffers: Buffers, name: str) -> np.ndarray:
        """`count` items from byte `offset`; InputError, which names `end`, when the file ends before."""
        data = buffers.get(name, count * dtype.itemsize, np.uint8)

        def failed(error: OSError, byte: int) -> Exception:
            return read_error(error, f"{self.name}: can't be read at byte {byte}", "Check the path and its rights.")

        if fill(self._descriptor, offset, data, failed) < len(data):
            raise InputError(f"{self.name}: ends before {end}. The file was cut: write it again.")
        return data.view(dtype)

    def edges(
        self, first: int, source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, buffers: Buffers
    ) -> EdgeChunk:
        """Columns of records first.. as a chunk; raises InputError at the first record that is no edge."""
        near, far = (buffers.get(end, len(source), np.uint64) for end in ("source", "target"))
        checked_ids_into(self.name, "source", first, source, self._ids, near)
        checked_ids_into(self.name, "target", first, target, self._ids, far)
        return EdgeChunk(near, far, None if weight is None else checked_weights(self.name, first, weight))

    def position(self) -> int:
        """See EdgeSource."""
        return self._reached * self.record_bytes

    def close(self) -> None:
        """See EdgeSource."""
        self._closed()


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
