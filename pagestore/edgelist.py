"""Writing a generated graph as an edge list: .npy, .parquet, or text (.txt, .el, .tsv, .csv; .wel with weights).

.npy is [edges, 2] of u4 or u8 without weights, a structured array (source, target, weight u1) with them. The file is
whole or absent (pagestore/replacing.py); chunks are made on several threads, written in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from pagestore.convert.crew import Ticker
from pagestore.convert.options import ProgressHook
from pagestore.cores import checked_threads, in_order
from pagestore.errors import UsageError
from pagestore.generate import GeneratedSource
from pagestore.inputs.base import EdgeChunk
from pagestore.replacing import replacing
from pagestore.rowtext import ENDINGS, row_file

KINDS = {".npy": "npy", ".parquet": "parquet", **ENDINGS}
Make = Callable[[EdgeChunk], Any]


def write_edge_list(
    source: GeneratedSource, path: str | os.PathLike, threads: int | None = None, progress: ProgressHook | None = None
) -> int:
    """Write all edges; returns the bytes of the file. Raises UsageError for other suffixes, ResourceError."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in KINDS:
        raise UsageError(f"{target}: unknown kind of edge list. Name it {', '.join(KINDS)}, or .gs for a store.")
    if (suffix, source.weighted) in ((".el", True), (".wel", False)):
        other = ".wel" if source.weighted else ".el"
        raise UsageError(f"{target}: .el has no weights and .wel has them. Name it {other}.")
    threads = checked_threads(threads)
    ticker = Ticker(progress, "write", source.edge_count, "edges")
    with replacing(target) as file:
        with _sink(KINDS[suffix], file, source) as (make, put):
            for number, made in in_order(range(source.chunk_count), lambda at: make(source.chunk(at)), threads):
                put(made)
                ticker.set(min((number + 1) * source.chunk_edges, source.edge_count))
        file.flush()
        size = os.fstat(file.fileno()).st_size  # of this one: another writer's may stand under the name by the end
    ticker.finish()
    return size


@contextmanager
def _sink(kind: str, file: IO[bytes], source: GeneratedSource) -> Iterator[tuple[Make, Callable[[Any], Any]]]:
    """What turns a chunk into rows, in any thread, and what writes these, in order."""
    if kind == "npy":
        yield _npy(file, source), file.write
        return
    import pyarrow as pa

    fields = [("source", pa.int64()), ("target", pa.int64()), ("weight", pa.uint8())]
    schema = pa.schema(fields if source.weighted else fields[:2])

    def batch(chunk: EdgeChunk) -> pa.RecordBatch:
        columns = [chunk.source.view(np.int64), chunk.target.view(np.int64)]
        if chunk.weight is not None:
            columns.append(chunk.weight.astype(np.uint8))
        return pa.record_batch(columns, schema=schema)

    with row_file(file.name, kind, None, schema) as rows:
        yield lambda chunk: rows.made(batch(chunk)), rows.put


def _npy(file: IO[bytes], source: GeneratedSource) -> Make:
    width = "<u4" if source.scale <= 32 else "<u8"
    dtype = np.dtype([("source", width), ("target", width), ("weight", "u1")]) if source.weighted else np.dtype(width)
    shape = (source.edge_count,) if source.weighted else (source.edge_count, 2)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)

    def make(chunk: EdgeChunk) -> Any:
        rows = np.empty((len(chunk), *shape[1:]), dtype)
        if chunk.weight is None:
            rows[:, 0], rows[:, 1] = chunk.source, chunk.target
        else:
            rows["source"], rows["target"], rows["weight"] = chunk.source, chunk.target, chunk.weight
        return rows.data

    return make
