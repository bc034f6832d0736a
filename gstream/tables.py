"""Answers whose rows are no vertices: a distribution has a row a degree. The same tables and files as `Result`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.naming import plain
from gstream.results import CHUNK_ROWS, Column, Result

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Table(Result):
    """Rows of the columns alone, in their order; `len(table)` is their number. Columns hold numbers, none missing."""

    def __init__(self, store: Any, columns: list[Column], summary: dict[str, Any]) -> None:
        super().__init__(store, columns, summary)
        self.columns = [column.name for column in columns]

    def __len__(self) -> int:
        return len(self._columns[0].values)

    def to_pandas(self) -> pandas.DataFrame:
        """DataFrame of the columns."""
        return self.to_arrow().to_pandas()

    def top(self, count: int = 20) -> list[dict[str, Any]]:
        """The first `count` rows as dictionaries."""
        rows = self.to_numpy()[: max(0, count)]
        return [{name: plain(row[name]) for name in self.columns} for row in rows]

    def _schema(self) -> pyarrow.Schema:
        import pyarrow as pa

        return pa.schema([(column.name, pa.from_numpy_dtype(column.dtype)) for column in self._columns])

    def _batches(self) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for first, last in self._chunks():
            parts = [column.values[first:last].astype(column.dtype, copy=False) for column in self._columns]
            yield pa.record_batch([pa.array(part) for part in parts], schema=self._schema())

    def _rows(self) -> Iterator[tuple[int, np.ndarray]]:
        for first in range(0, len(self), CHUNK_ROWS):
            rows = np.empty(min(CHUNK_ROWS, len(self) - first), self._numpy_dtype())
            for column in self._columns:
                rows[column.name] = column.values[first : first + len(rows)]
            yield first, rows

    def _numpy_dtype(self) -> np.dtype:
        return np.dtype([(column.name, column.dtype) for column in self._columns])
