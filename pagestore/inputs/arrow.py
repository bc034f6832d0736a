"""Tables, read batch by batch: what all have in common, and Arrow IPC (files, streams, Feather).

Columns as options name them, or by name (source/target, src/dst, from/to, ...), else, of three or fewer, the
first two. The weight is the column that is called like one, else a third of fractions. IDs are integers or strings. A
row with a null is a bad line.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import BadLines, shown
from pagestore.inputs.base import EdgeChunk, EdgeSource, InputOptions, split_chunk
from pagestore.inputs.columnnames import (
    asked_ends,
    leaves_ends_open,
    likely_ends,
    named_ends,
    refuse_twice,
    typed_path,
)
from pagestore.inputs.columns import checked_chunk, checked_weights, option_range
from pagestore.inputs.conditions import Condition
from pagestore.inputs.folders import partitions
from pagestore.inputs.headerwords import names_an_end
from pagestore.inputs.linesource import NameChunk
from pagestore.inputs.tablecolumns import find_weight, may_be_others, refuse_fractions, to_names
from pagestore.inputs.tablerows import (
    Rows,
    check_types,
    inner_type,
    is_bytes,
    is_string,
    kept_rows,
    null_rows,
    nulls_for_empty,
    plain,
    row_text,
    rows_where,
    text_of_rows,
    to_numpy,
    what_lacks,
    why_wrong,
    wrong_rows,
)
from pagestore.inputs.times import no_times, why_no_time
from pagestore.inputs.usedcolumns import MOST_COLUMNS, refuse_unnamed
from pagestore.sizes import show_row

BATCH_ROWS = 1 << 17
DAMAGE = (pyarrow.ArrowException, OSError, ValueError, KeyError)  # KeyError: of columns that have one name


class TableSource(EdgeSource):
    """Base of all: `schema` and `batches` differ. `strings` is True when the IDs are names (then `names_of_edges`).

    columns: names of source, target and perhaps weight. all_columns: names of all that there are.
    """

    remedy = "Write it again."  # for a table that can't be read

    def __init__(
        self, name: str, options: InputOptions, total_bytes: int | None, replayable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self._options, self._ids = options, option_range(options)
        self.name, self.replayable = name, replayable
        self.total_bytes = total_bytes
        self.bad, self.owns_bad = BadLines(options.bad_lines, options.skipped_path, self.skipped), True
        self._done = 0
        self._prunes = False
        self._passed = 0  # rows of this reading that were not read, as --where holds for none of them
        self._left_out: str | None = None
        self._guessed = False  # the ends are not named for sure
        try:
            schema = self.schema()
            self.all_columns = schema.names
            self.columns = self._find_columns(schema)
            self._condition = self._bind_condition(schema)
            kinds = [schema.field(column).type for column in self.columns[:2]]
            check_types(name, schema, self.columns, (self._end_remedy(), "Convert the column, or pass --no-weights."))
        except DAMAGE as error:
            raise self._damaged(error) from None
        self.weighted = len(self.columns) > 2
        texts = [is_string(kind) or is_bytes(kind) for kind in kinds]
        text = any(texts)
        self._numbers = self.columns[texts.index(False)] if text and not all(texts) else ""  # an end beside text
        self.strings = text or bool(options.string_ids)
        if text and options.string_ids is False:
            raise UsageError(f"{self.name}: --number-ids is about numbers, but the IDs here are text. Drop the option.")
        if self.strings and options.num_vertices is not None:
            raise UsageError(
                f"{self.name}: --num-vertices is about numbers, but the IDs here are text. Drop the option."
            )
        self.vertices, self.id_base = options.num_vertices, self._ids.low

    def _end_remedy(self) -> str:
        return "Convert the column, or name another one with --source-column and --target-column."

    def _bind_condition(self, schema: pyarrow.Schema) -> Any:
        """The expression of --where, and into `_wanted` the columns to read."""
        self._wanted = list(self.columns)
        if self._options.where is None:
            return None
        condition, kinds = Condition(self._options.where), {field.name: field.type for field in schema}
        found = condition.expression(kinds)
        self._times = condition.times
        self._prunes = condition.may_prune(kinds)
        self._wanted += [name for name in condition.columns if name not in self._wanted]
        return found

    @abstractmethod
    def schema(self) -> pyarrow.Schema:
        """Columns of the table."""

    @abstractmethod
    def batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        """Record batches of up to BATCH_ROWS rows or as the file has them; keeps `_done` up to date."""

    def _damaged(self, error: Exception) -> InputError:
        return InputError(f"{self.name}: can't be read as a table ({shown(_first_line(error), 300)}). {self.remedy}")

    def _find_columns(self, schema: pyarrow.Schema) -> list[str]:
        names = schema.names[: self.own_columns(schema)]
        if (ends := asked_ends(self.name, self._options, schema.names, len(schema.names))) is not None:
            names = schema.names
        if len(names) < 2:
            has = f"has the columns {', '.join(map(shown, names))}" if names else "has no columns"
            raise InputError(f"{self.name}: {has}; edges need a source and a target.")
        ends = ends or likely_ends(names)
        whole = all(pyarrow.types.is_integer(inner_type(schema.field(at).type)) for at in range(len(names)))
        weighed = self._options.third_weighs or self._options.weight_column is not None
        if ends is None and (len(names) > MOST_COLUMNS or leaves_ends_open(names, whole, weighed)):
            raise self.unnamed(names)
        of_path = schema.names[len(names) :]
        if named_ends(names) is None and any(map(names_an_end, of_path)):
            raise self.unnamed([*names, *of_path])  # an end may be the folder's name: source=7
        if ends is None and may_be_others(schema, names, self._first_values, weighed):
            raise self.unnamed(names)
        source, target = (names[at] for at in ends or (0, 1))
        self._guessed = ends is None or (self._options.source_column is None and named_ends(names) is None)
        own, values = self.own_columns(schema), self._first_values
        weight, self._left_out = find_weight(self.name, self._options, schema, own, (source, target), values)
        found = [source, target] + ([] if weight is None else [weight])
        for column in found:
            refuse_twice(self.name, column, schema.names, "Rename one of them.")
        return found

    def own_columns(self, schema: pyarrow.Schema) -> int:
        """How many of the columns, the first ones, are the file's own; others are of its path."""
        return len(schema.names)

    def unnamed(self, names: list[str]) -> InputError:
        """The error where no known name says which columns hold the ends."""
        for column in names[:2]:
            refuse_twice(self.name, column, names, "Rename one of them.")
        return refuse_unnamed(self.name, names, self._first_rows(names[:2]), len(names))

    def _command(self) -> str:
        """What names the ends instead of those that are none."""
        return "Name both ends with --source-column and --target-column, and perhaps --weight-column."

    def _first_values(self, column: str) -> list[str]:
        """A few values of a column, as text; nulls are none."""
        return [text for (text,) in self._first_rows([column]) if text]

    def _first_rows(self, columns: list[str]) -> list[list[str]]:
        """A few rows, as text."""
        for batch in self.batches(columns):
            if batch.num_rows:
                return text_of_rows(batch, columns)
        return []

    def _rows_of(self) -> Iterator[tuple[Rows, list[Any]]]:
        """Of one batch after the other the numbers of its rows and their columns, without nulls.

        InputError for a null unless bad lines are skipped, and for a damaged file.
        """
        row = edges = self._passed = 0
        batches = self.batches(self._wanted)
        if self.owns_bad:
            self.bad.begin()
        before = self.skipped.count
        try:
            while True:
                try:
                    batch = next(batches, None)
                    if batch is None:
                        break
                    rows, columns = self._left(batch, row + self._passed)
                except DAMAGE as error:
                    raise self._damaged(error) from None
                row += batch.num_rows
                rows, columns = self._without_nulls(rows, columns)
                edges += len(columns[0])
                yield rows, columns
            if not edges and self.skipped.count > before:
                raise InputError(
                    f"{self.name}: not one of its rows is an edge; the first one: {self.skipped.first[0]}."
                )
        finally:
            if self.owns_bad:
                self.bad.close()

    def _left(self, batch: pyarrow.RecordBatch, row: int) -> tuple[Rows, list[Any]]:
        """Numbers and columns of the rows for which --where holds."""
        if self._condition is None:
            return row, [plain(column) for column in batch.select(self.columns).columns]
        batch = batch.select(self._wanted)
        wrong = self._without_times(batch, row)
        named, rows = rows_where(batch, row, self._condition, wrong)
        columns = [plain(named[name]) for name in self.columns]
        self.bad.pass_rows(batch.num_rows - len(columns[0]) - (0 if wrong is None else int(wrong.sum())))
        return rows, columns

    def _without_times(self, batch: pyarrow.RecordBatch, row: int) -> np.ndarray | None:
        """bool[n]: rows with text that --where reads as a date and that is none; None where there is none.

        InputError for the first one unless bad lines are skipped.
        """
        found = np.zeros(batch.num_rows, bool)
        for name in self._times:
            wrong = no_times(batch.column(name))
            for at in np.flatnonzero(wrong & ~found).tolist() if wrong is not None else ():
                where, why = f"{self.name}: {show_row(row + at)}", why_no_time(batch.column(name)[at].as_py())
                if not self.bad.skips:
                    raise InputError(f"{where}: {shown(name)}: {why}. Correct the row, or pass --bad-lines skip.")
                self.bad.add(where, f"{shown(name)}: {why}", row_text([batch.column(one) for one in self.columns], at))
                found[at] = True
        return found if found.any() else None

    def _without_nulls(self, rows: Rows, columns: list[Any]) -> tuple[Rows, list[Any]]:
        given, columns = columns, [*map(nulls_for_empty, columns[:2]), *columns[2:]]
        empty = null_rows(columns)
        if empty is None:
            return rows, columns
        for at in np.flatnonzero(empty).tolist():
            where, lacks = f"{self.name}: {show_row(rows + at)}", what_lacks(self.columns, given, at)
            if not self.bad.skips:
                raise InputError(
                    f"{where}: {lacks}; an edge has a value there. Drop the row, or pass --bad-lines skip."
                )
            self.bad.add(where, lacks, row_text(given, at))
        mask = pyarrow.array(~empty)
        return kept_rows(rows, ~empty), [column.filter(mask) for column in columns]

    def _without_wrong(self, rows: Rows, columns: list[np.ndarray]) -> tuple[Rows, list[np.ndarray], Any]:
        """Rows that are edges where bad lines are skipped, and which ones of those given; `columns`: numbers."""
        wrong = wrong_rows(columns, None if self.strings else self._ids) if self.bad.skips else None
        if wrong is None or not wrong.any():
            return rows, columns, None
        for at in np.flatnonzero(wrong).tolist():
            reason = why_wrong(self.name, columns, at, self._ids)
            self.bad.add(f"{self.name}: {show_row(rows + at)}", reason, row_text(columns, at))
        return kept_rows(rows, ~wrong), [column[~wrong] for column in columns], ~wrong

    def chunks(self) -> Iterator[EdgeChunk]:
        for rows, found in self._rows_of():
            if self._guessed:
                refuse_fractions(self.name, self.columns, found, self._command())
            columns = [
                to_numpy(self.name, name, column, at < 2)
                for at, (name, column) in enumerate(zip(self.columns, found, strict=True))
            ]
            rows, (source, target, *weight), _ = self._without_wrong(rows, columns)
            chunk = checked_chunk(self.name, rows, source, target, weight[0] if weight else None, self._ids)
            yield from split_chunk(chunk, self._options.chunk_edges)

    def names_of_edges(self) -> Iterator[NameChunk]:
        """Edges as pairs of names, when `strings`."""
        for rows, columns in self._rows_of():
            refuse_fractions(self.name, self.columns, columns, self._command())
            try:
                source, target = (to_names(self.name, *end) for end in zip(self.columns[:2], columns, strict=False))
            except pyarrow.ArrowException as error:
                raise self._damaged(error) from None
            weight = None
            if len(columns) > 2:
                weight = to_numpy(self.name, self.columns[2], columns[2], False)
                blank = np.zeros(len(weight), np.int64)
                rows, (_, _, weight), kept = self._without_wrong(rows, [blank, blank, weight])
                if kept is not None:
                    source, target = (column.filter(pyarrow.array(kept)) for column in (source, target))
                weight = checked_weights(self.name, rows, weight)
            yield NameChunk(source, target, weight)

    def assumed(self) -> str:
        options, columns = self._options, [shown(name) for name in self.columns]
        found = [f"columns {columns[0]} and {columns[1]} are source and target"]
        if self.strings and not options.string_ids:
            found[0] += " by name"
            found[0] += f" (numbers of {shown(self._numbers)} in digits)" if self._numbers else ""
        found.append(f"column {columns[2]} is the weight" if self.weighted else "no weights")
        if self._left_out is not None:
            found[-1] += f" (column {shown(self._left_out)} is none unless --weight-column says so)"
        if options.where is not None:
            found.append(f"rows where {shown(options.where, 80)}")
        return ", ".join(found)

    def position(self) -> int:
        return self._done


def _first_line(error: Exception) -> str:
    """What an exception says first."""
    return next(iter(str(error).splitlines()), type(error).__name__)


class TableFile(TableSource):
    """A table in a file, replayable: `own_schema` and `own_batches` differ.

    `key=value` in its path, below a folder that was named, is a column, too, unless the file has one of that name.
    """

    def __init__(self, path: str | Path, options: InputOptions, workdir: Path, memory_bytes: int) -> None:
        self._path, self._memory_bytes = path, memory_bytes
        self._of_path: dict[str, int | str | None] = {}
        super().__init__(str(path), options, Path(path).stat().st_size)

    @abstractmethod
    def own_schema(self) -> pyarrow.Schema:
        """Columns of the file."""

    @abstractmethod
    def own_batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        """As `batches`, of the file's columns."""

    def _command(self) -> str:
        """See TableSource."""
        asked = "--source-column NAME --target-column NAME --weight-column NAME"
        return f"Name both ends, and the weight: gstream convert {typed_path(self.name)} STORE {asked}."

    def own_columns(self, schema: pyarrow.Schema) -> int:
        """See TableSource."""
        return len(schema.names) - len(self._of_path)

    def schema(self) -> pyarrow.Schema:
        """See TableSource."""
        schema = self.own_schema()
        found = partitions(str(self._path), self._options.folders)
        self._of_path = {key: value for key, value in found.items() if key not in schema.names}
        for key, value in self._of_path.items():
            schema = schema.append(pyarrow.field(key, pyarrow.scalar(value).type))
        return schema

    def batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        """See TableSource."""
        of_path = {name: self._of_path[name] for name in columns if name in self._of_path}
        for batch in self.own_batches([name for name in columns if name not in of_path]):
            for name, value in of_path.items():
                batch = batch.append_column(name, pyarrow.repeat(pyarrow.scalar(value), batch.num_rows))
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

    def own_schema(self) -> pyarrow.Schema:
        """See TableFile."""
        with pyarrow.OSFile(os.fspath(self._path)) as file:
            return self._open(file)[0]

    def own_batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        """See TableFile."""
        with pyarrow.OSFile(os.fspath(self._path)) as file:
            for batch in self._open(file)[1]:
                part = batch.select(columns)
                part.validate(full=True)  # what a file says of offsets is believed from here on
                self._done = file.tell()
                yield part
