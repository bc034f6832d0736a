"""Answers whose rows are no vertices: degrees of a distribution, edges. The same tables and files as `Result`."""

from __future__ import annotations

from typing import Any

from gstream.options.wording import in_python
from gstream.results.result import Result, row_count
from gstream.results.vertex_names import plain


class Table(Result):
    """Rows of the columns alone, in their order; `len(table)` is their number. No value is missing. Columns have
    numbers, or vertices, which are shown as user IDs."""

    _by_vertex = False

    def __len__(self) -> int:
        return len(self._columns[0].values)

    @in_python()
    def top(self, count: int = 20) -> list[dict[str, Any]]:
        """The first `count` rows as dictionaries. Raises UsageError where `count` is no whole number of at least 0."""
        count = row_count(count)
        found: list[dict[str, Any]] = []
        for _, rows in self.numpy_rows():
            found += [{name: plain(row[name]) for name in self.columns} for row in rows[: max(0, count - len(found))]]
            if len(found) >= count:
                break
        return found
