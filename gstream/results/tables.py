"""Answers whose rows are no vertices: degrees of a distribution, edges. The same tables and files as `Result`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.options.wording import in_python
from gstream.results.best_rows import least, sort_keys
from gstream.results.result import Result, row_count
from gstream.results.vertex_names import Naming, plain


class Table(Result):
    """Rows of the columns alone, in their order; `len(table)` is their number. No value is missing. Columns have
    numbers, or vertices, which are shown as user IDs."""

    _by_vertex = False

    def __len__(self) -> int:
        return len(self._columns[0].values)

    @in_python()
    def top(self, count: int = 20) -> list[dict[str, Any]]:
        """The first `count` rows as dictionaries; of trusses those of the largest, ties in order. Raises UsageError
        where `count` is no whole number of at least 0."""
        count = row_count(count)
        if count and self._best == "largest" and not self._columns[-1].vertices:
            return self._largest(count)
        found: list[dict[str, Any]] = []
        for _, rows in self.numpy_rows():
            found += [{name: plain(row[name]) for name in self.columns} for row in rows[: max(0, count - len(found))]]
            if len(found) >= count:
                break
        return found

    def _largest(self, count: int) -> list[dict[str, Any]]:
        """The rows with the largest values of the last column."""
        kept: list[np.ndarray] = []
        for parts in self._parts():
            kept = [np.concatenate(pair) for pair in zip(kept, parts, strict=True)] if kept else parts
            chosen = least(sort_keys(kept[-1], True), np.arange(len(kept[-1])), count)
            kept = [values[chosen] for values in kept]
        rows = np.empty(len(kept[-1]) if kept else 0, self.numpy_dtype())
        if kept:
            self._write_rows(rows, 0, kept, Naming(self._store))
        return [{name: plain(row[name]) for name in self.columns} for row in rows]
