"""Arrays in memory as a store, through the same pipeline as any file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pagestore.convert.options import ConvertOptions, ProgressHook, Report
from pagestore.convert.pipeline import convert
from pagestore.crc import crc32
from pagestore.errors import InputError, UsageError
from pagestore.inputs.base import CHUNK_EDGES, EdgeChunk, NumberedSource, StringNames
from pagestore.io import Buffers


class ArraySource(NumberedSource):
    """Edges source[i] -> target[i], int or uint[n] user IDs, with finite weights [n] or None.

    With `ids` (ascending int64[V]), or `names`, the arrays hold indices into it; else `vertices` = N promises IDs
    id_base..id_base+N-1, and None means "those that occur". Raises InputError for IDs or weights that can't be.
    """

    replayable = True

    def __init__(
        self, source: Any, target: Any, weight: Any = None, vertices: int | None = None, ids: Any = None,
        id_base: int = 0, name: str = "arrays", chunk_edges: int = CHUNK_EDGES, names: StringNames | None = None,
    ):  # fmt: skip
        super().__init__()
        self.name, self.id_base, self.chunk_edges = name, id_base, chunk_edges
        self.source, self.target = self._ids(source), self._ids(target)
        self.weight = None if weight is None else np.asarray(weight)
        self.weighted = weight is not None
        lengths = {len(self.source), len(self.target), len(self.source if self.weight is None else self.weight)}
        if len(lengths) > 1:
            raise UsageError(f"{name}: source, target and weight have different lengths: {sorted(lengths)}.")
        if self.weight is not None and len(self.weight) and not np.isfinite(self.weight).all():
            at = int(np.flatnonzero(~np.isfinite(self.weight))[0])
            raise InputError(f"{name}: weight {self.weight[at]} of edge {at} is no finite number. Correct it.")
        self.vertices, self.edge_count = vertices, len(self.source)
        self.total_bytes = self.source.nbytes + self.target.nbytes
        if ids is not None:
            self.ids = np.ascontiguousarray(ids, np.int64)
            if len(self.ids) > 1 and not (self.ids[1:] > self.ids[:-1]).all():
                raise UsageError(f"{name}: ids must ascend without repeats. Sort them.")
            self.vertices, self.id_base = len(self.ids), 0
        if names is not None:
            self.names, self.vertices, self.id_base = names, len(names), 0

    @property
    def fingerprint(self) -> Any:
        """CRCs of the arrays: made at memory speed, so only when asked for."""
        arrays = [array for array in (self.source, self.target, self.weight, self.ids) if array is not None]
        data = [[str(array.dtype), len(array), crc32(np.ascontiguousarray(array))] for array in arrays]
        shape = {"weighted": self.weighted, "dense": self.ids is not None, "vertices": self.vertices}
        return {"arrays": data, **shape, "id_base": self.id_base}

    def _ids(self, values: Any) -> np.ndarray:
        array = np.ascontiguousarray(values)
        if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
            raise UsageError(f"{self.name}: vertex IDs must be vectors of integers, not {array.dtype}.")
        if array.dtype.kind == "i" and len(array) and int(array.min()) < 0:
            raise InputError(f"{self.name}: vertex ID {int(array.min())} is negative; IDs run from 0 to 2^63-1.")
        return array

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """See NumberedSource."""
        empty = (buffers or Buffers()).get
        part = slice(number * self.chunk_edges, (number + 1) * self.chunk_edges)
        weight = None if self.weight is None else self.weight[part].astype(np.float64)
        count = len(self.source[part])
        source, target = empty("source", count, np.uint64), empty("target", count, np.uint64)
        source[:], target[:] = self.source[part], self.target[part]
        return EdgeChunk(source, target, weight)


def convert_arrays(
    path: str | os.PathLike, source: Any, target: Any, weight: Any = None, *, vertices: int | None = None,
    ids: Any = None, progress: ProgressHook | None = None, **options: Any,
) -> Report:  # fmt: skip
    """Write edges source[i] -> target[i] as a store at `path`; see ArraySource for the arrays.

    options: fields of ConvertOptions (sizes may be text there, as "2GiB"). The arrays themselves are not counted in
    `memory_bytes`.
    """
    return convert(ArraySource(source, target, weight, vertices, ids), path, ConvertOptions(**options), progress)
