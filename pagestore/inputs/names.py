"""String IDs become dense integers, ascending by UTF-8 bytes, within a memory budget: by DuckDB, which spills to disk.

    chunks of names --> edges(source, target, weight) --distinct, ordered--> names file, ids(name, id)
    edges joined twice with ids --> edge file

DuckDB compares VARCHAR by bytes and sorts, hashes and joins in `memory_limit`, the rest in `temp_directory`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow

from pagestore.errors import InputError, ResourceError
from pagestore.inputs.base import EdgeSource, InputOptions, StringNames
from pagestore.inputs.edgefile import DenseSource, EdgeFile, map_file, write_array
from pagestore.inputs.several import SeveralSources

LEAST_LIMIT = 128 << 20  # DuckDB needs about this for a join that spills
BATCH_ROWS = 1 << 18


def dictionary_strings(
    sources: Sequence[Any], workdir: str | Path, memory_bytes: int, options: InputOptions
) -> EdgeSource:
    """Make the names in `sources` (readers with `names_of_edges`) dense: a replayable source with `names`.

    Takes about `memory_bytes` while it works, none to speak of later; temporary files in `workdir` last until
    `close()`. Raises InputError for a line that is no edge, ResourceError when memory or disk runs out.
    """
    union = SeveralSources(sources) if len(sources) > 1 else sources[0]
    folder = Path(tempfile.mkdtemp(prefix="names-", dir=workdir))
    try:
        database = duckdb.connect(
            str(folder / "names.duckdb"),
            config={
                "memory_limit": f"{max(memory_bytes // 2, LEAST_LIMIT) >> 20}MiB",
                "threads": options.threads,
                "temp_directory": str(folder / "spill"),
                "preserve_insertion_order": False,
            },
        )
        try:
            return _convert(database, sources, union, folder)
        except duckdb.OutOfMemoryException as error:
            raise ResourceError(
                f"{union.name}: the names don't fit in the memory or disk given ({str(error).splitlines()[0]}). "
                f"Pass a larger --memory, or name a larger folder with --workdir."
            ) from None
        except duckdb.IOException as error:
            raise ResourceError(f"{folder}: {str(error).splitlines()[0]}. Free some disk, or pass --workdir.") from None
        finally:
            database.close()
            shutil.rmtree(folder / "spill", ignore_errors=True)
            (folder / "names.duckdb").unlink(missing_ok=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _convert(database: Any, sources: Sequence[Any], union: EdgeSource, folder: Path) -> EdgeSource:
    _load(database, sources, union)
    database.execute(
        "CREATE TABLE names AS SELECT DISTINCT name FROM "
        "(SELECT source AS name FROM edges UNION ALL SELECT target FROM edges)"
    )
    names, paths = _write_names(database, folder)
    edges = EdgeFile(folder / "edges", 4 if len(names) <= 1 << 32 else 8, union.weighted)
    joined = "SELECT a.id, b.id, edges.weight FROM edges JOIN ids a ON source = a.name JOIN ids b ON target = b.name"
    count = 0
    for batch in _batches(database, joined):
        weight = _numbers(batch.column(2)) if union.weighted else None
        edges.append(_numbers(batch.column(0)), _numbers(batch.column(1)), weight)
        count += batch.num_rows
    edges.finish()
    expected = database.execute("SELECT count(*) FROM edges").fetchone()[0]
    if count != expected:
        raise InputError(f"{union.name}: {expected - count} edges lost their names in the dictionary. Report this.")
    return DenseSource(union, edges, None, names, paths)


def _load(database: Any, sources: Sequence[Any], union: EdgeSource) -> None:
    database.execute("CREATE TABLE edges (source VARCHAR, target VARCHAR, weight DOUBLE)")
    if isinstance(union, SeveralSources):
        union.begin_lines()
    for source in sources:
        for chunk in source.names_of_edges():
            weight = pyarrow.array(chunk.weight) if chunk.weight is not None else pyarrow.nulls(len(chunk.source))
            database.register("chunk", pyarrow.table([chunk.source, chunk.target, weight], names=["s", "t", "w"]))
            database.execute("INSERT INTO edges SELECT s, t, w FROM chunk")
            database.unregister("chunk")


def _batches(database: Any, query: str) -> Iterator[Any]:
    reader = database.execute(query).to_arrow_reader(BATCH_ROWS)
    yield from reader


def _numbers(column: Any) -> np.ndarray:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _write_names(database: Any, folder: Path) -> tuple[StringNames, list[Path]]:
    """Names in ascending order into files, and with their numbers into table `ids`."""
    database.execute("CREATE TABLE ids (name VARCHAR, id UBIGINT)")
    writer = database.cursor()  # the ordered query stays open meanwhile
    paths = [folder / "offsets", folder / "names"]
    count = size = 0
    with open(paths[0], "wb", buffering=0) as offsets, open(paths[1], "wb", buffering=0) as names:
        write_array(offsets, np.zeros(1, dtype="<u8"))
        for batch in _batches(database, "SELECT name FROM names ORDER BY name"):
            column = batch.column(0).cast(pyarrow.large_string())
            ends, data = _string_buffers(column)
            write_array(offsets, (ends[1:] - ends[0] + size).astype("<u8"))
            write_array(names, data[ends[0] : ends[-1]])
            numbers = pyarrow.array(np.arange(count, count + len(column), dtype=np.uint64))
            writer.register("batch", pyarrow.table([column, numbers], names=["n", "i"]))
            writer.execute("INSERT INTO ids SELECT n, i FROM batch")
            writer.unregister("batch")
            count, size = count + len(column), size + int(ends[-1] - ends[0])
    writer.close()
    return StringNames(map_file(paths[0], "<u8", count + 1), map_file(paths[1], "u1", size)), paths


def _string_buffers(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Offsets int64[n + 1] and bytes of a large_string array."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    return ends, np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
