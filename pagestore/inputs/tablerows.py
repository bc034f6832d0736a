"""Rows of tables: which types hold IDs and weights, which rows a condition leaves, which ones are no edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute as compute

from pagestore.errors import InputError
from pagestore.inputs.badlines import shown
from pagestore.inputs.columns import IdRange, checked_chunk, wrong_ids
from pagestore.sizes import show_row

SHOWN_ROWS = 3  # that a message shows, and a guess looks at
ENDS, WEIGHTS = "IDs are integers or text", "weights are numbers"
ROW = " row"  # the column of row numbers that a condition's rows keep
Rows = Any  # an int, or RowNumbers: `rows + k` is the number of the k-th row at hand, from 0


class RowNumbers:
    """Numbers int64[n] of rows that are left of a table; stands where the number of the first one does otherwise."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers

    def __add__(self, at: int) -> int:
        return int(self._numbers[at])

    def kept(self, which: np.ndarray) -> RowNumbers:
        """Those where `which` bool[n] is True."""
        return RowNumbers(self._numbers[which])


def kept_rows(rows: Rows, which: np.ndarray) -> RowNumbers:
    """Numbers of the rows where `which` bool[n] is True."""
    return rows.kept(which) if isinstance(rows, RowNumbers) else RowNumbers(rows + np.flatnonzero(which))


def check_types(name: str, schema: pyarrow.Schema, columns: list[str], remedies: tuple[str, str]) -> None:
    """InputError names the first of `columns` (source, target, perhaps weight) whose type can't be read.

    remedies: what helps where an end, and where a weight is wrong.
    """
    for at, column in enumerate(columns):
        kind = inner_type(schema.field(column).type)
        fits = is_number(kind) or pyarrow.types.is_null(kind)
        fits = fits or (pyarrow.types.is_boolean(kind) if at > 1 else is_string(kind) or is_bytes(kind))
        if not fits:
            due, remedy = (WEIGHTS, remedies[1]) if at > 1 else (ENDS, remedies[0])
            raise InputError(f"{name}: column {shown(column)} is of type {kind}; {due}. {remedy}")


def inner_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """Type of the values of a dictionary, else the type itself."""
    return kind.value_type if pyarrow.types.is_dictionary(kind) else kind


def is_string(kind: pyarrow.DataType) -> bool:
    """Text of any encoding, dictionaries of it too."""
    kind = inner_type(kind)
    types = pyarrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_bytes(kind: pyarrow.DataType) -> bool:
    """Bytes, which older writers of Parquet declare for text."""
    kind = inner_type(kind)
    types = pyarrow.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def is_number(kind: pyarrow.DataType) -> bool:
    """Integers, floating point and decimals."""
    types = pyarrow.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def plain(column: pyarrow.Array) -> pyarrow.Array:
    """A column without a dictionary."""
    if not pyarrow.types.is_dictionary(column.type):
        return column
    if pyarrow.types.is_string_view(column.type.value_type):  # of Polars; Arrow takes no values of it by their places
        column = pyarrow.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pyarrow.large_string()))
    return column.dictionary_decode()


def to_numpy(name: str, called: str, column: pyarrow.Array, is_end: bool) -> np.ndarray:
    """Numbers of a column without nulls; decimals become int64 as ends, float64 as weights."""
    if pyarrow.types.is_decimal(column.type) and is_end:
        try:
            column = column.cast(pyarrow.int64())
        except pyarrow.ArrowException:
            raise InputError(
                f"{name}: column {shown(called)} of {column.type} holds numbers that are no integers up to 2^63-1; "
                f"IDs are. Convert the column."
            ) from None
    elif pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    elif pyarrow.types.is_null(column.type):
        column = column.cast(pyarrow.int64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def rows_where(
    batch: pyarrow.RecordBatch, first: int, condition: Any, wrong: np.ndarray | None
) -> tuple[dict[str, pyarrow.Array], Rows]:
    """Columns by name of the rows for which `condition` (a pyarrow expression) is true, and their numbers.

    wrong: bool[n], rows to leave out before that, if any.
    """
    numbers = pyarrow.array(np.arange(first, first + batch.num_rows))
    left = pyarrow.Table.from_batches([batch]).append_column(ROW, numbers)
    left = (left if wrong is None else left.filter(pyarrow.array(~wrong))).filter(condition)
    columns = {name: left[name].combine_chunks() for name in left.column_names}
    return columns, RowNumbers(columns[ROW].to_numpy())


def null_rows(columns: list[pyarrow.Array]) -> np.ndarray | None:
    """bool[n]: rows with a null; None where there is none."""
    empty = [column.is_null() for column in columns if column.null_count]
    if not empty:
        return None
    found = np.asarray(empty[0].to_numpy(zero_copy_only=False))
    for more in empty[1:]:
        found = found | more.to_numpy(zero_copy_only=False)
    return found


def wrong_rows(columns: list[np.ndarray], ids: IdRange | None) -> np.ndarray:
    """bool[n]: rows that are no edges. ids: the ends are numbers of it, or else not looked at."""
    wrong = np.zeros(len(columns[0]), bool)
    if ids is not None:
        for column in columns[:2]:
            wrong |= wrong_ids(column, ids)
    for weight in columns[2:]:
        wrong |= ~np.isfinite(weight.astype(np.float64))
    return wrong


def why_wrong(name: str, columns: list[np.ndarray], at: int, ids: IdRange) -> str:
    """What is wrong with row `at`, as a failure would say it."""
    source, target, *weight = (column[at : at + 1] for column in columns)
    try:
        checked_chunk(name, 0, source, target, weight[0] if weight else None, ids)
    except InputError as error:
        return str(error).removeprefix(f"{name}: {show_row(0)}: ").partition(". ")[0]
    return "is no edge"


def row_text(columns: list[Any], at: int) -> str:
    """A row as text, for the list of what was skipped."""
    return ", ".join(str(shown_values(column[at : at + 1])[0]) for column in columns)


def text_of_rows(batch: pyarrow.RecordBatch, columns: list[str]) -> list[list[str]]:
    """The first few rows of a batch, as text; "" for a null."""
    held = [shown_values(batch.column(name).slice(0, SHOWN_ROWS)) for name in columns]
    texts = [[_text(value) for value in values] for values in held]
    return [list(row) for row in zip(*texts, strict=True)]


def shown_values(column: Any) -> list[Any]:
    """Python's values of an Arrow or NumPy array, to be shown; of times without nanoseconds, which Python's have not:
    Arrow would ask for pandas."""
    if isinstance(column, np.ndarray):
        return list(column)
    kind = column.type
    if getattr(kind, "unit", None) == "ns":
        is_stamp, is_time = pyarrow.types.is_timestamp(kind), pyarrow.types.is_time64(kind)
        coarser = (
            pyarrow.timestamp("us", kind.tz) if is_stamp else (pyarrow.time64 if is_time else pyarrow.duration)("us")
        )
        column = column.cast(coarser, safe=False)
    return column.to_pylist()


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def nulls_for_empty(column: pyarrow.Array) -> pyarrow.Array:
    """A column of names with nulls for texts without a character: what is not known is often written so."""
    if not (is_string(column.type) or is_bytes(column.type)):
        return column
    held = column if is_bytes(column.type) else column.cast(pyarrow.large_string())
    empty = compute.equal(compute.binary_length(held), 0)
    if not compute.any(empty).as_py():
        return column
    return compute.if_else(empty, pyarrow.scalar(None, held.type), held)


def what_lacks(names: list[str], columns: list[pyarrow.Array], at: int) -> str:
    """The name of the column that has nothing in row `at`, and what stands there."""
    for name, column in zip(names, columns, strict=True):
        if not column[at].is_valid:
            return f"{shown(name)} is null"
    empty = next(name for name, column in zip(names, columns, strict=True) if not column[at].as_py())
    return f"{shown(empty)} is empty"
