"""Results as files: Parquet, Arrow, text, NumPy, and LDBC Graphalytics' text; complete or absent, never half-written.

Parquet, Arrow (IPC file, what Feather v2 is) and text (pagestore.rowtext has its endings; "-" is CSV on standard
output) hold what Result.to_arrow holds: null, in text an empty field, where there is no value. Text has a column for
each number of a vector, value_0 and so on. `.npy` is a structured
array, as Result.to_numpy. Graphalytics: `vertex value` a line, the first column only, with the benchmark's own words
for "not reached".
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from gstream.telemetry.plain_values import plain_values
from pagestore.errors import UsageError
from pagestore.faults import disk_error
from pagestore.replacing import refuse_replacing, replacing
from pagestore.rowtext import ENDINGS, STDOUT, RowText, parted_name

ABOUT = "gstream"  # the key of `about_run` in a file's metadata


def check_output(path: str | os.PathLike, ldbc: bool = False, edges: bool = True) -> None:
    """Raise, before anything is computed, what `write_result` would raise about the path. edges: what rows are."""
    name, target = os.fspath(path), Path(path)
    if name == STDOUT:
        return
    ending, compression = parted_name(name)
    if not ldbc and ending not in KNOWN:
        known = f"{', '.join(KNOWN)}, text also with .gz or .zst"
        raise UsageError(f"{path}: the ending says the format; known are {known}. Rename it, or pass --ldbc for text.")
    if not ldbc and compression and ending in BINARY:
        raise UsageError(f"{path}: {ending} is not compressed from outside. Write to NAME{ending}, or NAME.csv.gz.")
    if not ldbc and ending in EDGE_COLUMNS and not edges:
        raise UsageError(f"{path}: {ending} is for edges, which this answer's rows are not. Write to NAME.csv.")
    if target.is_dir():
        raise UsageError(f"{path}: is a folder; a result is one file. Name a file in it.")
    folder = target.parent
    if not folder.is_dir():
        raise UsageError(f"{path}: its folder {folder} does not exist. Make it first.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: its folder {folder} can't be written. Choose another.")


def check_edge_columns(path: str | os.PathLike, names: Sequence[str]) -> None:
    """Raise UsageError where the path's format has more columns of an edge than `names`."""
    ending = parted_name(os.fspath(path))[0]
    if len(names) < EDGE_COLUMNS.get(ending, 0):
        raise UsageError(f"{ending} has a number for each edge, this answer has {', '.join(names)}. Write to NAME.el.")


def write_result(result: Any, path: str | os.PathLike, ldbc: bool = False, force: bool = False) -> None:
    """Write a Result to `path` in the format that its ending names, or as Graphalytics' text; "-": as CSV, or
    Graphalytics' text, on standard output. force: over what exists. Raises UsageError, ResourceError."""
    check_output(path, ldbc, result.columns[0] == "source")
    if ldbc and result.columns[0] != "vertex":
        raise UsageError("--ldbc: is for answers with a row a vertex, which this one's are not. Leave it out.")
    name = os.fspath(path)
    ending, compression = parted_name(name)
    if name == STDOUT:
        try:
            _write_ldbc(result, sys.stdout.buffer) if ldbc else _write_text(result, STDOUT, "csv", None)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise disk_error(error, STDOUT) from error
        return
    if not ldbc:
        check_edge_columns(path, result.columns)
    elif any(column.length for column in result._columns):
        raise UsageError("--ldbc: has one number a vertex, and this answer has vectors. Leave it out.")
    refuse_replacing(Path(path), force)
    with replacing(path) as stream:
        if ldbc:
            _write_ldbc(result, stream)
        elif ending in BINARY:
            BINARY[ending](result, stream)
        else:
            _write_text(result, stream.name, ENDINGS[ending], compression)


def _write_text(result: Any, path: str, kind: str, compression: str | None) -> None:
    chosen = result.columns[: EDGE_COLUMNS.get(f".{kind}")]
    schema = result.arrow_schema()
    schema = schema.remove(len(chosen)) if len(chosen) < len(schema) else schema
    with RowText(path, kind, compression, _without_lists(schema.empty_table()).schema) as text:
        for batch in result.arrow_batches():
            text.write(_without_lists(batch.select(schema.names)))


def _without_lists(rows: Any) -> Any:
    """A record batch, or a table, with a column for each number of a list of a fixed size."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns: dict[str, Any] = {}
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if pa.types.is_fixed_size_list(field.type):
            several = range(field.type.list_size)
            columns |= {f"{field.name}_{number}": pc.list_element(column, number) for number in several}
        else:
            columns[field.name] = column
    return type(rows).from_arrays(list(columns.values()), names=list(columns))


def about_run(result: Any) -> dict[str, Any]:
    """What a later run asks of an answer that it begins with: the algorithm, its options, the store's UUID."""
    return {**{name: result.summary.get(name) for name in ("algorithm", "options")}, "uuid": result._store.meta.uuid}


def _told_schema(result: Any) -> Any:
    """The schema with `about_run` in its metadata."""
    about = plain_values(about_run(result))
    return result.arrow_schema().with_metadata({ABOUT: json.dumps(about, allow_nan=False)})


def _write_parquet(result: Any, stream: IO[bytes]) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(stream, _told_schema(result)) as writer:
        for batch in result.arrow_batches():
            writer.write_batch(batch)


def _write_arrow(result: Any, stream: IO[bytes]) -> None:
    import pyarrow as pa

    schema = _told_schema(result)
    with pa.ipc.new_file(stream, schema) as writer:
        for batch in result.arrow_batches():
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))


def _write_npy(result: Any, stream: IO[bytes]) -> None:
    dtype = result.numpy_dtype()
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (len(result),)}
    np.lib.format.write_array_header_2_0(stream, header)
    for _, rows in result.numpy_rows():
        stream.write(rows.tobytes())


def _write_ldbc(result: Any, stream: IO[bytes]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = result.ldbc_missing
    for batch in result.arrow_batches():
        values = pc.fill_null(pc.cast(batch.column(1), pa.string()), missing)
        lines = pc.binary_join_element_wise(pc.cast(batch.column(0), pa.string()), values, " ")
        stream.write("\n".join(lines.to_pylist()).encode() + b"\n")


BINARY = {".parquet": _write_parquet, ".npy": _write_npy, ".arrow": _write_arrow}
KNOWN = (*BINARY, *ENDINGS)
EDGE_COLUMNS = {".el": 2, ".wel": 3}
