"""Answers whose rows are no vertices: degrees of a distribution, edges. The same tables and files as `Result`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.options.wording import in_python
from gstream.results.column import Column
from gstream.results.result import Result, row_count
from gstream.results.vertex_names import Naming, plain

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Table(Result):
    """Rows of the columns alone, in their order; `len(table)` is their number. No value is missing.

    Columns hold numbers, or vertices, which are shown as user IDs.
    """

    def __init__(self, store: Any, columns: list[Column], summary: dict[str, Any]) -> None:
        super().__init__(store, columns, summary)
        self.columns = [column.name for column in columns]

    def __len__(self) -> int:
        return len(self._columns[0].values)

    @in_python()
    def to_pandas(self) -> pandas.DataFrame:
        """DataFrame of the columns."""
        return self.to_arrow().to_pandas()

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

    def _parts(self) -> Iterator[list[np.ndarray]]:
        """Values of the columns, rows of CHUNK_ROWS or fewer."""
        for first, last in self._chunks():
            yield [column.values[first:last] for column in self._columns]

    def arrow_schema(self) -> pyarrow.Schema:
        """Names and types of the columns."""
        import pyarrow as pa

        ids = pa.string() if self._strings else pa.int64()
        return pa.schema([(c.name, ids if c.vertices else pa.from_numpy_dtype(c.dtype)) for c in self._columns])

    def arrow_batches(self) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        schema, naming = self.arrow_schema(), Naming(self._store)
        for part in self._parts():
            arrays = []
            for column, values in zip(self._columns, part, strict=True):
                if column.vertices:
                    arrays.append(naming.arrow(column, values, None).cast(schema.field(column.name).type))
                else:
                    arrays.append(pa.array(values.astype(column.dtype, copy=False)))
            yield pa.record_batch(arrays, schema=schema)

    def numpy_rows(self) -> Iterator[tuple[int, np.ndarray]]:
        dtype, naming, first = self.numpy_dtype(), Naming(self._store), 0
        for part in self._parts():
            rows = np.empty(len(part[0]), dtype)
            for column, values in zip(self._columns, part, strict=True):
                rows[column.name] = naming.numpy(column, values, None) if column.vertices else values
            yield first, rows
            first += len(rows)

    def numpy_dtype(self) -> np.dtype:
        """Of structured rows."""
        ids = super().numpy_dtype()["vertex"] if any(column.vertices for column in self._columns) else None
        return np.dtype([(c.name, ids if c.vertices else c.dtype) for c in self._columns])
