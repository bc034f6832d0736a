"""An answer as the judge looks at it, and how two columns are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

VERTICES = ("vertex", "predecessor", "component", "community", "source", "target")


@dataclass(frozen=True)
class Answer:
    """columns: by name, vertices as 0..V-1 (-1: none), the rest as tables have it; summary: as Result.summary."""

    columns: dict[str, np.ndarray]
    summary: dict[str, Any]

    @property
    def steps(self) -> int:
        return int(self.summary["supersteps"])


def answer_of(result: Any, names: np.ndarray) -> Answer:
    """A Result as an answer. names: what each vertex is called, ascending."""
    table = result.to_numpy()
    columns = {name: table[name] for name in table.dtype.names}
    for name in VERTICES:
        if name in columns:
            columns[name] = _places(columns[name], names)
    return Answer(columns, result.summary)


def _places(given: np.ndarray, names: np.ndarray) -> np.ndarray:
    """int64[n]: the vertex of each name, -1 for none; -2 for a name that there is not."""
    if len(names) == 0:
        return np.full(len(given), -2, np.int64)
    found = np.minimum(np.searchsorted(names, given), len(names) - 1)
    none = given == ("" if names.dtype.kind == "U" else -1)
    return np.where(none, -1, np.where(names[found] == given, found, -2))


def differ(given: np.ndarray, wanted: np.ndarray, bound: Any = 0.0) -> str:
    """The first value that is farther off than its bound; "" where none is. inf and NaN stand where they must."""
    given, wanted = np.asarray(given), np.asarray(wanted)
    if given.shape != wanted.shape:
        return f"{len(given)} values, {len(wanted)} are right"
    with np.errstate(invalid="ignore"):
        right = (given == wanted) | (np.abs(given - wanted) <= bound) | ((given != given) & (wanted != wanted))
    return "" if right.all() else _first(~right, given, wanted)


def _first(wrong: np.ndarray, given: np.ndarray, wanted: np.ndarray) -> str:
    at = int(np.flatnonzero(wrong)[0])
    return f"vertex {at} has {given[at]!r}, {wanted[at]!r} is right ({np.count_nonzero(wrong)} of {len(wrong)} differ)"


def told(summary: dict[str, Any], problem: str, **wanted: Any) -> str:
    """The problem, else a figure of the summary that is not what is wanted."""
    odd = [f"the summary says {name}={summary.get(name)!r}, {value!r} is right"
           for name, value in wanted.items() if summary.get(name) != value]  # fmt: skip
    return problem or (odd[0] if odd else "")
