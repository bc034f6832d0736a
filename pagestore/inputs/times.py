"""Text that --where compares with dates: which values are none, as Arrow reads ISO 8601 without a zone."""

from __future__ import annotations

import numpy as np
import pyarrow
import pyarrow.compute as compute

from pagestore.inputs.badlines import quoted
from pagestore.inputs.conditions import UTC_MARK

ISO_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
MICRO = pyarrow.timestamp("us")


def no_times(column: pyarrow.Array) -> np.ndarray | None:
    """bool[n]: values of a column of text that are no date or time, null not among them; None where there is none."""
    column = _text(column)
    if _all_times(column):
        return None
    dated = compute.match_substring_regex(column, ISO_DATE).fill_null(True).to_numpy(zero_copy_only=False)
    wrong = ~dated
    parts = [np.flatnonzero(dated)]
    while parts:  # halves of what holds one, down to the value
        part = parts.pop()
        if not len(part) or _all_times(column.take(pyarrow.array(part))):
            continue
        if len(part) == 1:
            wrong[part] = True
        else:
            parts += [part[: len(part) // 2], part[len(part) // 2 :]]
    return wrong


def _text(column: pyarrow.Array) -> pyarrow.Array:
    """A column of text, in the one type that all of Arrow's functions read."""
    column = column.dictionary_decode() if pyarrow.types.is_dictionary(column.type) else column
    return column.cast(pyarrow.large_string())


def _all_times(column: pyarrow.Array) -> bool:
    try:
        compute.replace_substring_regex(column, **UTC_MARK).cast(MICRO)
    except pyarrow.ArrowException:
        return False
    return True


def without(column: pyarrow.Array, wrong: np.ndarray) -> pyarrow.Array:
    """A column of text with null where `wrong` bool[n] is True."""
    column = _text(column)
    return compute.if_else(pyarrow.array(wrong), pyarrow.scalar(None, column.type), column)


def why_no_time(text: str) -> str:
    """What is wrong with a value that is no date or time."""
    return f"{quoted(text)} is no date, as --where compares it with; one is written 2024-01-31 or 2024-01-31 23:59:59"
