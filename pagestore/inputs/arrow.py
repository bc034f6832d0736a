"""Tables: Parquet, Arrow IPC (files, streams, Feather), objects that give an Arrow stream, read batch by batch.

Columns as options name them, or by name (source/target, src/dst, from/to, ... and weight), else, of three or fewer, the
first two and a third of fractions, or of integers when it is called like a weight. IDs are integers or strings; a null
is refused.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions, split_chunk
from pagestore.inputs.columnnames import asked_ends, likely_ends, named, names_one_end
from pagestore.inputs.columns import checked_chunk, checked_weights, option_range
from pagestore.inputs.linesource import NameChunk
from pagestore.inputs.signatures import INTEGER_WEIGHTS, WEIGHT_NAMES
from pagestore.inputs.usedcolumns import MOST_COLUMNS, MOST_NAMED, SHOWN_ROWS, refuse_unnamed

BATCH_ROWS = 1 << 17
DAMAGE = (pyarrow.ArrowException, OSError, ValueError, KeyError)  # KeyError: of columns that have one name


class TableSource(EdgeSource):
    """Base of all: `schema` and `batches` differ. `strings` is True when the IDs are names (then `names_of_edges`)."""

    remedy = "Write it again."  # for a table that can't be read

    def __init__(self, name: str, options: InputOptions, total_bytes: int | None, replayable: bool = True) -> None:
        super().__init__()
        self._options, self._ids = options, option_range(options)
        self.name, self.replayable = name, replayable
        self.total_bytes = total_bytes
        self._done, self._rows = 0, 0
        self._left_out: str | None = None
        try:
            schema = self.schema()
            self._columns = self._find_columns(schema)
            kinds = [schema.field(column).type for column in self._columns[:2]]
        except DAMAGE as error:
            raise self._damaged(error) from None
        self.weighted = len(self._columns) > 2
        self.strings = options.string_ids or any(_is_string(kind) for kind in kinds)
        if self.strings and options.num_vertices is not None:
            raise UsageError(
                f"{self.name}: --num-vertices is about numbers, but the IDs here are text. Drop the option."
            )
        self.vertices, self.id_base = options.num_vertices, self._ids.low

    @abstractmethod
    def schema(self) -> pyarrow.Schema:
        """Columns of the table."""

    @abstractmethod
    def batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        """Record batches of up to BATCH_ROWS rows or as the file has them; keeps `_done` up to date."""

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"{self.name}: can't be read as a table ({shown(_first_line(error), 300)}). {self.remedy}")

    def _find_columns(self, schema: pyarrow.Schema) -> list[str]:
        names = schema.names
        if len(names) < 2:
            raise InputError(
                f"{self.name}: has the columns {', '.join(map(shown, names))}; edges need a source and a target."
            )
        ends = asked_ends(self.name, self._options, names, len(names)) or likely_ends(names)
        if ends is None and (len(names) > MOST_COLUMNS or names_one_end(names)):
            raise self.unnamed(names)
        source, target = (names[at] for at in ends or (0, 1))
        weight = self._find_weight(schema, (source, target))
        return [source, target] + ([] if weight is None else [weight])

    def unnamed(self, names: list[str]) -> InputError:
        """The error where no known name says which columns hold the ends."""
        return refuse_unnamed(self.name, names, self._first_rows(names[:2]), len(names))

    def _first_rows(self, columns: list[str]) -> list[list[str]]:
        """A few rows, as text."""
        for batch in self.batches(columns):
            if batch.num_rows:
                rows = batch.select(columns).slice(0, SHOWN_ROWS).to_pylist()
                return [[str(row[name]) for name in columns] for row in rows]
        return []

    def _find_weight(self, schema: pyarrow.Schema, used: tuple[str, str]) -> str | None:
        if not self._options.weights:
            return None
        asked = self._options.weight_column
        if isinstance(asked, int):
            if not 1 <= asked <= len(schema.names):
                raise UsageError(f"{self.name}: --weight-column {asked}: there are {len(schema.names)} columns.")
            asked = schema.names[asked - 1]
        if asked is not None:
            if asked not in schema.names or asked in used:
                raise UsageError(
                    f"{self.name}: --weight-column {shown(str(asked))}: no such column of weights "
                    f"({', '.join(map(shown, schema.names))}). "
                    f"Give its name or number."
                )
            return asked
        at = named(schema.names, WEIGHT_NAMES, -1)
        if at >= 0 and schema.names[at] not in used:
            return schema.names[at]
        third = schema.names[2] if len(schema.names) > 2 and schema.names[2] not in used else None
        if third is None or not _is_number(kind := schema.field(third).type):
            return None
        if pyarrow.types.is_integer(kind) and third.lower() not in INTEGER_WEIGHTS:
            self._left_out = third
            return None
        return third

    def _rows_of(self) -> Iterator[list[Any]]:
        """Columns of one batch after the other; InputError for nulls and for a damaged file."""
        row = 0
        batches = self.batches(self._columns)
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                columns = batch.select(self._columns).columns  # Parquet leaves out records without fields
            except DAMAGE as error:
                raise self._damaged(error) from None
            for name, column in zip(self._columns, columns, strict=True):
                if column.null_count:
                    at = row + compute.index(column.is_null(), True).as_py()
                    raise InputError(
                        f"{self.name}: row {at}: {shown(name)} is null; an edge has a value there. Drop the row."
                    )
            self._rows = row
            yield columns
            row += batch.num_rows

    def chunks(self) -> Iterator[EdgeChunk]:
        for columns in self._rows_of():
            source, target, *weight = (_to_numpy(self.name, column) for column in columns)
            chunk = checked_chunk(self.name, self._rows, source, target, weight[0] if weight else None, self._ids)
            yield from split_chunk(chunk, self._options.chunk_edges)

    def names_of_edges(self) -> Iterator[NameChunk]:
        """Edges as pairs of names, when `strings`."""
        kind = pyarrow.large_string()
        for columns in self._rows_of():
            try:
                source, target = (column.cast(kind) for column in columns[:2])
            except pyarrow.ArrowException as error:
                raise self._damaged(error) from None
            weight = None
            if len(columns) > 2:
                weight = checked_weights(self.name, self._rows, _to_numpy(self.name, columns[2]))
            yield NameChunk(source, target, weight)

    def assumed(self) -> str:
        options, columns = self._options, [shown(name) for name in self._columns]
        found = [f"columns {columns[0]} and {columns[1]} are source and target"]
        if self.strings and not options.string_ids:
            found[0] += " by name"
        found.append(f"column {columns[2]} is the weight" if self.weighted else "no weights")
        if self._left_out is not None:
            found[-1] += f" (column {shown(self._left_out)} is none unless --weight-column says so)"
        return ", ".join(found)

    def position(self) -> int:
        return self._done


def _first_line(error: Exception) -> str:
    """What an exception says first."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _is_string(kind: pyarrow.DataType) -> bool:
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind) or pyarrow.types.is_string_view(kind)
    )


def _is_number(kind: pyarrow.DataType) -> bool:
    return bool(pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind))


def _to_numpy(name: str, column: pyarrow.Array) -> np.ndarray:
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    if not (_is_number(column.type) or pyarrow.types.is_boolean(column.type)):
        raise InputError(f"{name}: a column is of type {column.type}; IDs and weights are numbers. Convert the column.")
    return np.asarray(column.to_numpy(zero_copy_only=False))


class TableFile(TableSource):
    """A table in a file, replayable."""

    def __init__(self, path: str | Path, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        self._path = path
        super().__init__(str(path), options, Path(path).stat().st_size)


class ParquetSource(TableFile):
    """A .parquet file, replayable; a row group is decoded in batches."""

    def schema(self) -> pyarrow.Schema:
        with parquet.ParquetFile(self._path) as file:
            return file.schema_arrow

    def batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        with parquet.ParquetFile(self._path, pre_buffer=False) as file:
            rows, total = 0, max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(BATCH_ROWS, columns=columns):
                rows += batch.num_rows
                self._done = (self.total_bytes or 0) * rows // total
                yield batch


class ArrowSource(TableFile):
    """An Arrow IPC file (Feather V2 too) or stream, replayable; batches as the file has them."""

    def _open(self, file: Any) -> tuple[pyarrow.Schema, Iterator[pyarrow.RecordBatch]]:
        head = file.read(6)
        file.seek(0)
        if head == b"ARROW1":
            reader = pyarrow.ipc.open_file(file)
            return reader.schema, (reader.get_batch(n) for n in range(reader.num_record_batches))
        stream = pyarrow.ipc.open_stream(file)
        return stream.schema, iter(stream)

    def schema(self) -> pyarrow.Schema:
        with pyarrow.OSFile(str(self._path)) as file:
            return self._open(file)[0]

    def batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        with pyarrow.OSFile(str(self._path)) as file:
            for batch in self._open(file)[1]:
                batch.select(columns).validate(full=True)  # what a file says of offsets is believed from here on
                self._done = file.tell()
                yield batch


class StreamTable(TableSource):
    """Record batches of the pyarrow.RecordBatchReader that `open_stream` gives: once, or more often if `replayable`."""

    remedy = "Correct the table."

    def __init__(
        self, name: str, open_stream: Callable[[], pyarrow.RecordBatchReader], replayable: bool, options: InputOptions
    ) -> None:
        self._open = open_stream
        self._stream: pyarrow.RecordBatchReader | None = None
        super().__init__(name, options, None, replayable)

    def schema(self) -> pyarrow.Schema:
        stream = self._stream = self._open()
        return stream.schema

    def batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        stream, self._stream = self._stream, None
        for batch in self._open() if stream is None else stream:
            for first in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.select(columns).slice(first, BATCH_ROWS)

    def unnamed(self, names: list[str]) -> InputError:
        listed = ", ".join(shown(name, 20) for name in names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)
        return InputError(
            f"{self.name}: has {len(names)} columns ({listed}), and no known name says which hold source and target. "
            f"Name both with --source-column and --target-column, and perhaps --weight-column."
        )
