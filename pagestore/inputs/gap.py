"""Serialized graphs of the GAP benchmark suite (its src/writer.h, reader.h): .sg and, with weights, .wsg.

Encoding, little-endian, no magic: directed u8, entries i64, vertices i64; offsets i64[vertices + 1]; the neighbours of
all vertices, i32 each or {i32 neighbour, i32 weight}; directed graphs repeat offsets and neighbours for the in-edges,
which are not read. An undirected edge stands in the lists of both ends; it is yielded once, from its lower end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from pagestore.errors import InputError
from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions
from pagestore.inputs.columns import IdRange, checked_ids, csr_rows
from pagestore.inputs.headers import promised_vertices

HEADER_BYTES = 17
OFFSET = np.dtype("<i8")
REMEDY = "Write it again with GAP's converter (-b), or name the right format with --format."


class GapSource(EdgeSource):
    """An .sg file, replayable; `vertices` and `directed` as its header says."""

    neighbour = np.dtype([("v", "<i4")])

    def __init__(self, path: str | Path, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        super().__init__()
        self._path, self._options = path, options
        self.name, self.replayable = str(path), True
        size = Path(path).stat().st_size
        if size < HEADER_BYTES:
            raise InputError(f"{self.name}: has {size} bytes; the header of a serialized graph takes 17. {REMEDY}")
        with open(path, "rb") as file:
            flag, edges, vertices = np.frombuffer(file.read(HEADER_BYTES), dtype="u1,<i8,<i8")[0].tolist()
        if flag not in (0, 1) or edges < 0 or not 0 <= vertices <= 1 << 31:
            raise InputError(
                f"{self.name}: the header says directed {flag}, {edges} edges, {vertices} vertices; that is no "
                f"serialized graph of GAP with 32-bit IDs. {REMEDY}"
            )
        self.directed = bool(flag)
        self.vertices = promised_vertices(self.name, vertices, options)
        self._lists = edges
        one_way = (vertices + 1) * OFFSET.itemsize + self._lists * self.neighbour.itemsize
        expected = HEADER_BYTES + one_way * (2 if self.directed else 1)
        if size != expected:
            raise InputError(
                f"{self.name}: has {size} bytes; {vertices} vertices and {edges} entries of "
                f"{'a directed' if self.directed else 'an undirected'} graph take {expected}. It was cut, or is of "
                f"another type. {REMEDY}"
            )
        self.total_bytes = HEADER_BYTES + one_way
        self.weighted = "weight" in (self.neighbour.names or ()) and options.weights
        self._done = 0

    def chunks(self) -> Iterator[EdgeChunk]:
        assert self.vertices is not None
        ids = IdRange(0, self.vertices - 1, f"the header lets IDs run from 0 to {self.vertices - 1}")
        one_sided = 0
        with open(self._path, "rb", buffering=0) as offsets, open(self._path, "rb", buffering=0) as lists:
            offsets.seek(HEADER_BYTES)
            lists.seek(HEADER_BYTES + (self.vertices + 1) * OFFSET.itemsize)

            def take(count: int, file: IO[bytes] = offsets, dtype: np.dtype = OFFSET) -> np.ndarray:
                array = np.fromfile(file, dtype, count)
                if len(array) < count:
                    raise InputError(f"{self.name}: another program cut it while it was read. {REMEDY}")
                return array

            for source, edges in csr_rows(self.name, take, self.vertices, self._lists, self._options.chunk_edges):
                records = take(len(source), lists, self.neighbour)
                target = checked_ids(self.name, "target", edges.start, np.ascontiguousarray(records["v"]), ids)
                weight = records["weight"].astype(np.float64) if self.weighted else None
                self._done = lists.tell()
                if not self.directed:
                    once = source <= target
                    one_sided += int((source < target).sum()) - int((~once).sum())
                    source, target = source[once], target[once]
                    weight = None if weight is None else weight[once]
                yield EdgeChunk(source, target, weight)
        if one_sided:
            raise InputError(
                f"{self.name}: says it is undirected, but {abs(one_sided)} more edges stand at one end than at the "
                f"other. {REMEDY}"
            )

    def position(self) -> int:
        return self._done


class WeightedGapSource(GapSource):
    """A .wsg file: neighbours with int32 weights."""

    neighbour = np.dtype([("v", "<i4"), ("weight", "<i4")])
