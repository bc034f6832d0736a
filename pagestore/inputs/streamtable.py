"""Tables that Python holds: objects that give an Arrow stream, read batch by batch as a file's are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

import pyarrow

from pagestore.errors import InputError
from pagestore.inputs.arrow import BATCH_ROWS, TableSource
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.columnnames import MOST_NAMED
from pagestore.inputs.tablerows import text_of_rows
from pagestore.inputs.usedcolumns import read_so

ROW_BYTES = 16  # that a row counts for: two ends


class StreamTable(TableSource):
    """Record batches of the pyarrow.RecordBatchReader that `open_stream` gives: once, or more often if `replayable`.

    rows: how many there are, if known.
    """

    remedy = "Correct the table."

    def __init__(
        self, name: str, open_stream: Callable[[], pyarrow.RecordBatchReader], replayable: bool, options: InputOptions,
        rows: int | None = None,
    ) -> None:  # fmt: skip
        self._open = open_stream
        self._stream: Iterator[pyarrow.RecordBatch] | None = None
        super().__init__(name, options, None if rows is None else rows * ROW_BYTES, replayable)

    def schema(self) -> pyarrow.Schema:
        stream = self._open()
        self._stream = iter(stream)
        return stream.schema

    def _first_rows(self, columns: list[str]) -> list[list[str]]:
        """See TableSource. What is looked at is left for `batches`."""
        assert self._stream is not None  # before the first reading
        first = list[pyarrow.RecordBatch]()
        for batch in self._stream:
            first.append(batch)
            if batch.num_rows:
                break
        self._stream = chain(first, self._stream)
        return text_of_rows(first[-1], columns) if first else []

    def batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        stream, self._stream, self._done = self._stream, None, 0
        for batch in self._open() if stream is None else stream:
            for first in range(0, batch.num_rows, BATCH_ROWS):
                part = batch.select(columns).slice(first, BATCH_ROWS)
                self._done += part.num_rows * ROW_BYTES
                yield part

    def unnamed(self, names: list[str]) -> InputError:
        return unnamed_columns(self.name, names, self._first_rows(names[:2]))


def unnamed_columns(name: str, names: list[str], rows: list[list[str]]) -> InputError:
    """The error for a table of Python's whose columns no known name tells apart. rows: the first ones."""
    listed = ", ".join(shown(one, 20) for one in names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)
    return InputError(
        f"{name}: has {len(names)} columns ({listed}), and no known name says which hold source and target; "
        f"by the first two the first rows would be {read_so(rows)}. "
        f"Name both with --source-column and --target-column, and perhaps --weight-column."
    )
