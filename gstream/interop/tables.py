"""Tables that Python holds, or streams: columns by name or known names, read batch by batch as a file's are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.graph import Graph
from gstream.interop.sources import numbered_names
from gstream.interop.storing import converted, graph_of, place_of, removed_on_failure, with_bad_lines, work_shown
from pagestore.errors import InputError, UsageError
from pagestore.inmemory import MOST_EDGES
from pagestore.inputs.arrow import BATCH_ROWS, TableSource
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import EdgeChunk
from pagestore.inputs.streamtable import ROW_BYTES, StreamTable, unnamed_columns
from pagestore.memory import ArraySource

if TYPE_CHECKING:
    from pagestore.convert.options import ConvertOptions
    from pagestore.inputs.base import InputOptions


class PandasRows(TableSource):
    """Rows of a pandas.DataFrame without its index, BATCH_ROWS at a time. Only columns that are read are converted."""

    BATCH_ROWS = 1 << 20
    remedy = "Correct the table."

    def __init__(self, name: str, frame: Any, options: InputOptions) -> None:
        self._frame, self._mixed = frame, dict[str, str]()
        self._sparse: set[str] = set()
        super().__init__(name, options, len(frame) * ROW_BYTES)

    def schema(self) -> Any:
        """See TableSource. A column that Arrow has no type for has one that nothing is read of."""
        import pyarrow as pa

        self._frame = self._frame.set_axis([str(label) for label in self._frame.columns], axis=1)
        names = list(self._frame.columns)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{self.name}: two columns are called {shown(twice)}. Rename one.")
        try:
            self._schema = pa.Schema.from_pandas(self._frame, preserve_index=False)
        except (pa.ArrowException, UnicodeEncodeError, TypeError):  # TypeError: a sparse column
            self._schema = pa.schema([(name, self._type_of(name)) for name in names])
        return self._schema

    def _type_of(self, name: str) -> Any:
        import pyarrow as pa

        if hasattr(self._frame[name].dtype, "fill_value"):
            self._sparse.add(name)
            return pa.struct([])
        try:
            return pa.array(self._frame[name], from_pandas=True).type
        except (pa.ArrowException, UnicodeEncodeError) as error:
            self._mixed[name] = str(error.args[0]) if isinstance(error, pa.ArrowException) else "lone surrogates"
            return pa.struct([])

    def _find_columns(self, schema: Any) -> list[str]:
        try:
            found = super()._find_columns(schema)
        except InputError as error:
            if not any(name is not None for name in self._frame.index.names):
                raise
            raise InputError(f"{error} If the index holds an end, pass frame.reset_index().") from None
        for name in found:
            if name in self._sparse:
                raise InputError(
                    f"{self.name}: column {shown(name)} is sparse, which Arrow can't read. Pass frame.assign("
                    f"**{{{name!r}: frame[{name!r}].sparse.to_dense()}})."
                )
            if name in self._mixed:
                raise InputError(
                    f"{self.name}: column {shown(name)} holds values of several kinds "
                    f"({shown(self._mixed[name], 100)}). Convert it, as frame[{name!r}].astype(str)."
                )
        return found

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """See TableSource."""
        import pyarrow as pa

        part, self._done = self._frame[columns], 0
        schema = pa.schema([self._schema.field(name) for name in columns])
        for at in range(0, len(part), self.BATCH_ROWS):
            rows = pa.Table.from_pandas(part.iloc[at : at + self.BATCH_ROWS], schema, preserve_index=False)
            for batch in rows.to_batches(BATCH_ROWS):  # columns of pandas may be in several pieces
                self._done += batch.num_rows * ROW_BYTES
                yield batch

    def unnamed(self, names: list[str]) -> InputError:
        """See TableSource."""
        rows = [
            [str(value) for value in row] for row in zip(*(self._frame[one].head(3) for one in names[:2]), strict=True)
        ]
        return unnamed_columns(self.name, names, rows)


def label_numbers(frame: Any, columns: Sequence[Any]) -> list[Any]:
    """Columns of a pandas.DataFrame as they are asked for; whole numbers that are labels of it, as their numbers."""
    labels = list(frame.columns)
    return [
        labels.index(one) + 1 if isinstance(one, Integral) and not isinstance(one, bool) and one in labels else one
        for one in columns
    ]


def graph_of_table(
    data: Any, columns: tuple[Any, Any, Any], rows_left: tuple[str | None, str], store: str | os.PathLike | None,
    num_vertices: int | None, given: Mapping[str, Any], pandas: bool = False,
) -> Graph:  # fmt: skip
    """The graph of a table or a stream; columns: source, target and weight, None where they are to be found.

    rows_left: the condition on rows, None for all; and "skip" or "fail" for rows that are no edges. pandas: it is a
    pandas.DataFrame.
    """
    if pandas and not (hasattr(data, "iloc") and hasattr(data, "columns")):
        raise UsageError(f"frame: a {type(data).__name__} is no pandas.DataFrame. Pass one.")
    where, bad_lines = rows_left
    source_column, target_column, weight = label_numbers(data, columns) if pandas else columns
    asked = dict(given) | {"source_column": source_column, "target_column": target_column, "num_vertices": num_vertices}
    asked |= {"weights": weight is not False, "where": where}
    if weight is not None and not isinstance(weight, bool):
        asked["weight_column"] = weight

    def made(storing: ConvertOptions, reading: InputOptions) -> Graph:
        if pandas:
            return _graph(PandasRows("table", data, reading), len(data), store, storing, given)
        opened, again, rows = arrow_stream(data)
        return _graph(StreamTable("table", opened, again, reading, rows), rows, store, storing, given)

    return with_bad_lines(store, bad_lines, asked, made)


def _graph(
    table: TableSource, rows: int | None, store: Any, storing: ConvertOptions, given: Mapping[str, Any]
) -> Graph:
    """The same with checked options. rows: how many there are, if known."""
    table.assumptions = (f"table: {table.assumed()}",)
    if store is None and rows is not None and rows <= MOST_EDGES:
        return graph_of(_in_arrays(table), None, storing, given)
    if not table.strings:
        return graph_of(table, store, storing, given)
    return _named(table, store, storing, given)


def arrow_stream(data: Any) -> tuple[Callable[[], Any], bool, int | None]:
    """(what opens a pyarrow.RecordBatchReader, whether it may be called again, rows if known) of an object that has
    `__arrow_c_stream__`. Raises UsageError for another one."""
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not hasattr(data, "__arrow_c_stream__"):
        raise UsageError(
            f"data: a {type(data).__name__} gives no Arrow stream. Pass a table of pandas, Polars, DuckDB or pyarrow, "
            "a LazyFrame to gstream.from_polars, or two arrays to gstream.from_edges."
        )
    again = isinstance(data, pa.Table) or type(data).__module__.partition(".")[0] in ("pandas", "polars")
    return lambda: pa.RecordBatchReader.from_stream(data), again, len(data) if again else None


def _in_arrays(table: TableSource) -> ArraySource:
    """All of a small table."""
    if table.strings:
        found = list(table.names_of_edges())
        names, indices = numbered_names([column for chunk in found for column in (chunk.source, chunk.target)])
        edges = [
            EdgeChunk(source, target, chunk.weight)
            for source, target, chunk in zip(indices[::2], indices[1::2], found, strict=True)
        ]
        whole = _joined(edges, table, names=names)
    else:
        whole = _joined(list(table.chunks()), table, vertices=table.vertices)
    whole.assumptions, whole.skipped = table.assumptions, table.skipped
    return whole


def _joined(chunks: list[EdgeChunk], table: TableSource, **more: Any) -> ArraySource:
    """All chunks of a table."""
    none = np.empty(0, np.uint64)
    edges = EdgeChunk.joined([EdgeChunk(none, none, np.empty(0) if table.weighted else None), *chunks])
    return ArraySource(edges.source, edges.target, edges.weight, name=table.name, **more)


def _named(table: TableSource, store: Any, storing: Any, given: Mapping[str, Any]) -> Graph:
    """A table whose IDs are strings: they become numbers on disk first."""
    from gstream.interop.files import reading_folder
    from pagestore.inputs.names import dictionary_strings

    path, folder = place_of(store, given.get("workdir"))
    hook = work_shown(given.get("progress"))
    with removed_on_failure(folder), reading_folder(path, storing.workdir) as scratch:
        named = dictionary_strings([table], scratch, storing.memory_bytes, hook, storing.workers)
        try:
            named.assumptions = table.assumptions
            return converted(named, path, folder, storing, given, hook)
        finally:
            named.close()
