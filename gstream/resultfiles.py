"""Results as files: Parquet, Arrow, CSV, NumPy, and LDBC Graphalytics' text; complete or absent, never half-written.

Parquet, Arrow (IPC file, what Feather v2 is) and CSV hold what Result.to_arrow holds: null, in CSV an empty field,
where there is no value. `.npy` is a structured array, as Result.to_numpy. Graphalytics: `vertex value` a line, the
first column only, with the benchmark's own words for "not reached".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pagestore.errors import UsageError
from pagestore.replacing import refuse_replacing, replacing

if TYPE_CHECKING:
    from gstream.results import Result


def check_output(path: str | os.PathLike, ldbc: bool = False) -> None:
    """Raise, before anything is computed, what `write_result` would raise about the path."""
    target = Path(path)
    if not ldbc and target.suffix.lower() not in WRITERS:
        known = ", ".join(WRITERS)
        raise UsageError(f"{path}: the ending says the format; known are {known}. Rename it, or pass --ldbc for text.")
    if target.is_dir():
        raise UsageError(f"{path}: is a folder; a result is one file. Name a file in it.")
    folder = target.parent
    if not folder.is_dir():
        raise UsageError(f"{path}: its folder {folder} does not exist. Make it first.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: its folder {folder} can't be written. Choose another.")


def write_result(result: Result, path: str | os.PathLike, ldbc: bool = False, force: bool = False) -> None:
    """Write `result` to `path` in the format that its ending names, or as Graphalytics' text; force: over what exists.

    Raises UsageError, ResourceError.
    """
    check_output(path, ldbc)
    refuse_replacing(Path(path), force)
    if ldbc and result.columns[0] != "vertex":
        raise UsageError("--ldbc: is for answers with a row a vertex, which this one's are not. Leave it out.")
    writer = _write_ldbc if ldbc else WRITERS[Path(path).suffix.lower()]
    with replacing(path) as stream:
        writer(result, stream)


def _write_parquet(result: Result, stream: IO[bytes]) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(stream, result._schema()) as writer:
        for batch in result._batches():
            writer.write_batch(batch)


def _write_arrow(result: Result, stream: IO[bytes]) -> None:
    import pyarrow as pa

    with pa.ipc.new_file(stream, result._schema()) as writer:
        for batch in result._batches():
            writer.write_batch(batch)


def _write_csv(result: Result, stream: IO[bytes]) -> None:
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    stream.write((",".join(result.columns) + "\n").encode())
    with csv.CSVWriter(stream, result._schema(), write_options=options) as writer:
        for batch in result._batches():
            writer.write_batch(batch)


def _write_npy(result: Result, stream: IO[bytes]) -> None:
    dtype = result._numpy_dtype()
    header: dict[str, Any] = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": (len(result),),
    }
    np.lib.format.write_array_header_2_0(stream, header)
    for _, rows in result._rows():
        stream.write(rows.tobytes())


def _write_ldbc(result: Result, stream: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = result._columns[0].ldbc_missing
    for batch in result._batches():
        values = pc.fill_null(pc.cast(batch.column(1), pa.string()), missing)
        lines = pc.binary_join_element_wise(pc.cast(batch.column(0), pa.string()), values, " ")
        stream.write("\n".join(lines.to_pylist()).encode() + b"\n")


WRITERS: dict[str, Callable[[Any, IO[bytes]], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".npy": _write_npy,
    ".arrow": _write_arrow,
}
