"""Writing a generated graph as an edge list: .npy, .parquet, or text (.txt, .el, .tsv, .csv; .wel with weights).

.npy is [edges, 2] of u4 or u8 without weights, a structured array (source, target, weight u1) with them. The file is
whole or absent (pagestore/replacing.py); chunks are made on several threads, written in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from pagestore.convert.crew import Ticker
from pagestore.convert.options import ProgressHook
from pagestore.cores import checked_threads, in_order
from pagestore.errors import UsageError
from pagestore.generate import GeneratedSource
from pagestore.inputs.base import EdgeChunk
from pagestore.replacing import replacing

SEPARATORS = {".txt": "\t", ".tsv": "\t", ".el": " ", ".wel": " ", ".csv": ","}
Make = Callable[[EdgeChunk], Any]


def write_edge_list(
    source: GeneratedSource, path: str | os.PathLike, threads: int | None = None, progress: ProgressHook | None = None
) -> int:
    """Write all edges; returns the bytes of the file. Raises UsageError for other suffixes, ResourceError."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (".npy", ".parquet", *SEPARATORS):
        known = ", ".join([".npy", ".parquet", *SEPARATORS])
        raise UsageError(f"{target}: unknown kind of edge list. Name it {known}, or .gs for a store.")
    if (suffix, source.weighted) in ((".el", True), (".wel", False)):
        other = ".wel" if source.weighted else ".el"
        raise UsageError(f"{target}: .el has no weights and .wel has them. Name it {other}.")
    threads = checked_threads(threads)
    ticker = Ticker(progress, "write", source.edge_count, "edges")
    with replacing(target) as file:
        sink = _sink(suffix, file, source)
        try:
            for number, made in in_order(range(source.chunk_count), lambda at: sink.make(source.chunk(at)), threads):
                sink.put(made)
                ticker.set(min((number + 1) * source.chunk_edges, source.edge_count))
            sink.close()
        except BaseException:
            sink.drop()
            raise
        size = file.tell()  # of this one: another writer's may stand under the name by the end
    ticker.finish()
    return size


class _Sink(NamedTuple):
    """`make` turns a chunk, in any thread, into what `put` writes, in order; `close` ends it, `drop` leaves it."""

    make: Make
    put: Callable[[Any], Any]
    close: Callable[[], None] = lambda: None
    drop: Callable[[], None] = lambda: None


def _sink(suffix: str, file: IO[bytes], source: GeneratedSource) -> _Sink:
    if suffix == ".npy":
        return _npy(file, source)
    if suffix == ".parquet":
        return _parquet(file, source)
    return _text(file, source, SEPARATORS[suffix], header=suffix == ".csv")


def _npy(file: IO[bytes], source: GeneratedSource) -> _Sink:
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

    return _Sink(make, file.write)


def _columns(chunk: EdgeChunk) -> dict[str, Any]:
    columns: dict[str, Any] = {"source": chunk.source.view(np.int64), "target": chunk.target.view(np.int64)}
    if chunk.weight is not None:
        columns["weight"] = chunk.weight.astype(np.uint8)
    return columns


def _parquet(file: IO[bytes], source: GeneratedSource) -> _Sink:
    import pyarrow as pa
    import pyarrow.parquet

    fields = [("source", pa.int64()), ("target", pa.int64())]
    schema = pa.schema([*fields, ("weight", pa.uint8())] if source.weighted else fields)
    writer = pyarrow.parquet.ParquetWriter(file, schema, compression="zstd")

    def drop() -> None:
        writer.is_open = False  # else it writes its end as it goes, to a file that is closed, and prints a traceback

    return _Sink(lambda chunk: pa.table(_columns(chunk), schema=schema), writer.write_table, writer.close, drop)


def _text(file: IO[bytes], source: GeneratedSource, separator: str, header: bool) -> _Sink:
    import pyarrow as pa
    import pyarrow.csv

    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=separator)
    if header:
        file.write(b"source,target,weight\n" if source.weighted else b"source,target\n")

    def make(chunk: EdgeChunk) -> Any:
        lines = pa.BufferOutputStream()
        pyarrow.csv.write_csv(pa.table(_columns(chunk)), lines, options)
        return lines.getvalue()

    return _Sink(make, file.write)
