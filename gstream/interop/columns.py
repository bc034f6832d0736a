"""Columns that Python holds, as they become edges: arrays, lists and columns of other libraries, nulls among them.

A row is no edge where it has a null, an ID that can't be, or a weight that is no finite number: `bad_lines` says what
becomes of it, as of a line of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np

from pagestore.errors import InputError, UsageError, plain
from pagestore.inputs.badlines import BadLines
from pagestore.inputs.columns import IdRange, checked_ids, checked_weights, wrong_ids
from pagestore.sizes import show_row

STRINGS = "a vertex is a whole number from 0 to 2^63-1, or a string; all of them are of one kind"
NO_WEIGHT = "weights are finite numbers"


@dataclass(frozen=True)
class Given:
    """A column. values: numbers [n], or an Arrow large_string array. absent: bool[n], True where there is none; None:
    all are there. shown: the values as they came, where `values` has NaN for some."""

    what: str
    values: Any
    absent: np.ndarray | None = None
    shown: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def numbers(self) -> bool:
        """Whether it holds numbers."""
        return isinstance(self.values, np.ndarray)

    def left(self, keep: np.ndarray) -> Any:
        """The values where `keep` bool[n] is True."""
        if self.numbers:
            return self.values[keep]
        import pyarrow as pa

        return self.values.filter(pa.array(keep))

    def text(self, at: int) -> str:
        """One value, for people."""
        if self.absent is not None and self.absent[at]:
            return ""
        return str(self.values[at] if self.shown is None else self.shown[at])


def end_column(name: str, what: str, values: Any) -> Given:
    """IDs: integers, floats that may be whole, or strings. Raises UsageError for other columns."""
    if isinstance(values, Iterator):
        values = list(values)
    if not _of_strings(values) and not _of_library(values):
        found = _array(name, what, values)
        if found.dtype.kind in "iuf" and not isinstance(found, np.ma.MaskedArray):
            return Given(what, found)
        if not len(found):
            return Given(what, found.astype(np.int64))
    return _of_arrow(name, what, _arrow(name, what, values))


def weight_column(name: str, values: Any) -> Given | None:
    """A column of weights as numbers, or None if `values` is None.

    Raises UsageError if `values` is no column, InputError if it holds something else than numbers.
    """
    if values is None:
        return None
    if isinstance(values, Iterator):
        values = list(values)
    if _of_library(values):
        return _arrow_weights(name, _arrow(name, "weight", values))
    if isinstance(values, list):
        found = _numbers(values)
        if found is None:
            return _weights_one_by_one(name, values)
    else:
        found = _array(name, "weight", values)
    if found.dtype.kind == "O":
        return _weights_one_by_one(name, values)
    if isinstance(found, np.ma.MaskedArray):
        return Given("weight", found.filled(0), np.ma.getmaskarray(found))
    if len(found):
        checked_weights(name, 0, found[:0])  # the type
    return Given("weight", found)


def edges_left(
    name: str, columns: Sequence[Given], ids: IdRange | None, bad: BadLines, where: Callable[[int], str] | None = None,
) -> list[Any]:  # fmt: skip
    """Values of source, target and perhaps weight of the rows that are edges; ends that are numbers as integers.

    ids: those that numbers may be; None: the ends are right as they are. where: what calls a row, else its number does.
    Raises InputError for the first row that is no edge unless bad lines are skipped, and where no row is one.
    """
    bad.begin()
    looked_at = (_odd(column, ids if at < 2 else None, at) for at, column in enumerate(columns))
    odd = [found for found in looked_at if found is not None]
    if not odd:
        return [_whole(column.values) if at < 2 else column.values for at, column in enumerate(columns)]
    wrong, first = reduce(np.logical_or, odd), ""
    told = columns if ids is not None else columns[2:]  # others are places in a list
    try:
        for at in np.flatnonzero(wrong).tolist():
            place, reason = show_row(at) if where is None else where(at), _why(name, columns, ids, at)
            if not bad.skips:
                raise InputError(f"{name}: {place}: {reason}. Correct it, or pass --bad-lines skip.")
            bad.add(f"{name}: {place}", reason, ", ".join(column.text(at) for column in told))
            first = first or f"{place}: {reason}"
        if wrong.all():
            raise InputError(f"{name}: not one of its rows is an edge; the first one: {first}.")
    finally:
        bad.close()
    left = [column.left(~wrong) for column in columns]
    return [_whole(values) if at < 2 else values for at, values in enumerate(left)]


def _odd(column: Given, ids: IdRange | None, at: int) -> np.ndarray | None:
    """bool[n]: rows whose value is null, or can't be an ID of `ids` or a weight; None: there are none."""
    values, wrong = column.values, None
    if not column.numbers or not len(values):
        pass
    elif at < 2:
        if ids is not None and (values.dtype.kind == "f" or values.min() < ids.low or values.max() > ids.high):
            wrong = wrong_ids(values, ids)
    elif values.dtype.kind == "f":
        finite = np.isfinite(values)
        wrong = None if finite.all() else ~finite
    odd = [one for one in (column.absent, wrong) if one is not None and one.any()]
    return reduce(np.logical_or, odd) if odd else None


def _why(name: str, columns: Sequence[Given], ids: IdRange | None, at: int) -> str:
    """What is wrong with a row."""
    for place, column in enumerate(columns):
        if column.absent is not None and column.absent[at]:
            empty = not column.numbers and column.values[at].is_valid
            return f"{column.what} is {'empty' if empty else 'null'}; an edge has a value there"
        if not column.numbers:
            continue
        value = column.values[at : at + 1]
        if place == 2 and not np.isfinite(value).all():
            shown = value[0] if column.shown is None else repr(column.shown[at])
            return f"weight {plain(str(shown))} is not finite; {NO_WEIGHT}"
        try:
            if place < 2 and ids is not None:
                checked_ids(name, column.what, 0, value, ids)
        except InputError as error:
            return error.line.removeprefix(f"{name}: {show_row(0)}: ").partition(". ")[0]
    return "is no edge"


def _whole(values: Any) -> Any:
    """Floats that are whole, as integers."""
    return values.astype(np.int64) if isinstance(values, np.ndarray) and values.dtype.kind == "f" else values


def _array(name: str, what: str, values: Any) -> np.ndarray:
    """As NumPy's array. Raises UsageError unless it has one dimension."""
    try:
        found = values if isinstance(values, np.ndarray) else np.asarray(values)
    except ValueError:  # lists of several lengths
        found = np.empty((0, 0))
    if found.ndim != 1:
        raise UsageError(
            f"{name}: {what} is no column, but {_described(values)}. Pass an array, a list, or a column of a table."
        )
    return found


def _described(values: Any) -> str:
    """What was given in place of a column."""
    shape = getattr(values, "shape", ())
    return f"a {type(values).__name__}" + (f" of the shape {shape}" if len(shape) else "")


def _of_strings(values: Any) -> bool:
    """Whether a list begins with a string: NumPy would make each as long as the longest."""
    return isinstance(values, list | tuple) and len(values) > 0 and isinstance(values[0], str)


def _of_library(values: Any) -> bool:
    """Whether a library other than NumPy has the column, and knows its nulls."""
    if isinstance(getattr(values, "dtype", None), np.dtype) and values.dtype.kind in "iu":
        return False  # of pandas, without nulls
    found = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_array__")
    return any(hasattr(values, one) for one in found) or type(values).__module__.partition(".")[0] == "pandas"


def _arrow(name: str, what: str, values: Any) -> Any:
    """As an Arrow array."""
    import pyarrow as pa

    try:
        if hasattr(values, "__arrow_c_stream__") and not isinstance(values, pa.Array | pa.ChunkedArray):
            found = pa.chunked_array(values)
        elif isinstance(values, np.ma.MaskedArray):
            found = pa.array(values.data, mask=np.ma.getmaskarray(values))
        elif isinstance(values, np.ndarray) and values.dtype.kind in "UT":
            found = pa.array(values.tolist())
        else:
            found = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError, TypeError) as error:
        if isinstance(error, UnicodeEncodeError):
            raise InputError(f"{name}: {what} has lone surrogates, which no UTF-8 has. Rename the vertex.") from None
        reason = plain(str(error.args[0] if error.args else error).splitlines()[0])
        raise UsageError(
            f"{name}: {what} holds other values than {'numbers' if what == 'weight' else 'IDs'}, or several kinds "
            f"({reason}); {'weights are numbers' if what == 'weight' else STRINGS}. Convert the column."
        ) from None
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _of_arrow(name: str, what: str, column: Any) -> Given:
    """IDs of an Arrow array."""
    import pyarrow as pa

    from pagestore.inputs.tablerows import is_string, nulls_for_empty
    from pagestore.inputs.tablerows import plain as without_dictionary

    column = without_dictionary(column)
    absent = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_null(column.type):
        return Given(what, np.zeros(len(column), np.int64), absent)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return Given(what, column.fill_null(0).to_numpy(zero_copy_only=False), absent)
    if is_string(column.type):
        names = column.cast(pa.large_string())
        lacking = nulls_for_empty(names)
        absent = lacking.is_null().to_numpy(zero_copy_only=False) if lacking.null_count else None
        return Given(what, names, absent)
    raise UsageError(f"{name}: {what} is of type {column.type}; {STRINGS}. Convert the column.")


def _arrow_weights(name: str, column: Any) -> Given:
    """Weights of an Arrow array."""
    import pyarrow as pa

    from pagestore.inputs.tablerows import is_number
    from pagestore.inputs.tablerows import plain as without_dictionary

    column = without_dictionary(column)
    absent = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_null(column.type):
        return Given("weight", np.zeros(len(column)), absent)
    if not is_number(column.type) and not pa.types.is_boolean(column.type):
        raise InputError(
            f"{name}: the weight is of type {column.type}; weights are real numbers. Convert the column, or pass "
            "--no-weights."
        )
    column = column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column
    return Given("weight", column.fill_null(0).to_numpy(zero_copy_only=False), absent)


def _weights_one_by_one(name: str, values: Any) -> Given:
    """Weights from Python's objects; NaN where one is no number."""
    listed = list(values)
    absent = np.fromiter((one is None or type(one).__name__ == "NAType" for one in listed), bool, len(listed))
    found = np.fromiter(map(_number, listed), np.float64, len(listed))
    if not absent.all() and not any(isinstance(one, Real | Decimal) for one in listed):
        kind = next(type(one).__name__ for one, none in zip(listed, absent, strict=True) if not none)
        raise InputError(
            f"{name}: the weight is of type {kind}; weights are real numbers. Convert the column, or pass --no-weights."
        )
    return Given("weight", found, absent, listed)


def _numbers(values: list[Any]) -> np.ndarray | None:
    """A list that NumPy makes numbers of; None: other things stand among them, of which it would make text."""
    try:
        found = np.array(values)
    except ValueError:  # lists of several lengths
        return None
    return found if found.ndim == 1 and (found.dtype.kind in "biufc" or not len(found)) else None


def _number(value: Any) -> float:
    if not isinstance(value, Real | Decimal):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf
