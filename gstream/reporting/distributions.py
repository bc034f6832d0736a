"""How the numbers of an answer are distributed: counts by value or class, made a part at a time.

Memory: one part of a column, and 64 Ki counts. Groups (components, communities) are counted by their sizes, which takes
an array of the column's length, as `Result.top` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

CLASSES = 64  # of values that are no small whole numbers
MOST_WHOLE = 1 << 16  # whole numbers below are counted one by one
PART = 1 << 18  # values at a time

Parts = Callable[[], Iterator[np.ndarray]]  # gives all values that are there, each time anew


@dataclass(frozen=True)
class Distribution:
    """How many rows have each value. of: what is counted ("rows", "components"); values: float64[k], ascending, or the
    geometric middles of classes where `whole` is False; counts: int64[k], all above 0. left_out: rows without a finite
    value of 0 or more (of classes: above 0), which logarithmic axes do not show."""

    label: str
    of: str
    whole: bool
    values: np.ndarray
    counts: np.ndarray
    left_out: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as a trace and a report hold them."""
        return {**vars(self), "values": self.values.tolist(), "counts": self.counts.tolist()}


def distributions(result: Any, name: str | None = None) -> list[Distribution]:
    """Of a Result's column `name`, by default of its first numbers or of its groups' sizes; of a table of degrees one
    each of its columns of counts. None where it holds no numbers."""
    columns = {column.name: column for column in result._columns}
    if not result._by_vertex and "degree" in columns and name is None:
        return _counted(columns)
    if result._groups and name in (None, result.columns[1]):
        return [_group_sizes(columns[result.columns[1]])]
    chosen = [one for one in columns.values() if not (one.vertices or one.length) and name in (None, one.name)]
    if not chosen:
        return []
    column = chosen[0]
    place = result.columns.index(column.name) - int(result._by_vertex)
    return [distribution(column.name, "rows", len(result), lambda: _parts(result, column, place))]


def distribution(label: str, of: str, rows: int, parts: Parts) -> Distribution:
    """Of all numbers that `parts` gives: two passes. rows: how many there would be if none were missing."""
    low, high, whole = np.inf, -np.inf, True
    for part in parts():
        whole = whole and part.dtype.kind in "iub"
        shown = _shown(part, zero=whole)
        if len(shown):
            low, high = min(low, float(shown.min())), max(high, float(shown.max()))
    if high < low:
        empty = np.empty(0)
        return Distribution(label, of, whole, empty, empty.astype(np.int64), rows)
    if whole and high < MOST_WHOLE:
        counts = np.zeros(int(high) + 1, np.int64)
        for part in parts():
            counts += np.bincount(_shown(part, zero=True).astype(np.int64), minlength=len(counts))
        values = np.arange(len(counts), dtype=np.float64)
    else:
        low = max(low, 1.0) if whole else low
        edges = np.geomspace(low, max(high, low * (1 + 1e-9)), CLASSES + 1)
        edges[0], edges[-1] = low, max(high, edges[-1])  # geomspace rounds
        counts = np.zeros(CLASSES, np.int64)
        for part in parts():
            counts += np.histogram(_shown(part, zero=False).astype(np.float64), edges)[0]
        values, whole = np.sqrt(edges[:-1] * edges[1:]), False
    there = counts > 0
    return Distribution(label, of, whole, values[there], counts[there], rows - int(counts.sum()))


def _shown(part: np.ndarray, zero: bool) -> np.ndarray:
    """The values of a part that have a place on the axis."""
    part = part.view(np.uint8) if part.dtype.kind == "b" else part
    if part.dtype.kind == "f":
        part = part[np.isfinite(part)]
    return part[part >= 0] if zero else part[part > 0]


def _parts(result: Any, column: Any, place: int) -> Iterator[np.ndarray]:
    """A column's values that are there; in store order, as no order is needed. Edges come as their pages are read."""
    if len(column.values) == len(result):
        for first in range(0, len(result), PART):
            values = column.values[first : first + PART]
            absent = column.absent(values)
            yield values if absent is None else values[~absent]
        return
    for parts in result._parts():
        yield parts[place]


def _group_sizes(column: Any) -> Distribution:
    sizes = np.zeros(len(column.values), np.int64)
    for first in range(0, len(sizes), PART):
        np.add.at(sizes, column.values[first : first + PART], 1)

    def parts() -> Iterator[np.ndarray]:
        for first in range(0, len(sizes), PART):
            part = sizes[first : first + PART]
            yield part[part > 0]

    groups = int(np.count_nonzero(sizes))
    return distribution(f"vertices of a {column.name}", _plural(column.name), groups, parts)


def _plural(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _counted(columns: dict[str, Any]) -> list[Distribution]:
    """Of a table that counts vertices already: each row is a degree."""
    degrees = columns["degree"].values.astype(np.float64)
    found = []
    for name, label in (("vertices", "degree"), ("out", "out-degree"), ("in", "in-degree")):
        if name in columns:
            counts = columns[name].values
            there = counts > 0
            found.append(Distribution(label, "vertices", True, degrees[there], counts[there], 0))
    return found
