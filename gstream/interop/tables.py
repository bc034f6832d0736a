"""Tables that Python holds, or streams: columns by name or known names, read batch by batch as a file's are."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.graph import Graph
from gstream.interop.files import gone_on_failure, skipped_file
from gstream.interop.options import split_options
from gstream.interop.sources import arrow_stream, numbered_names
from gstream.interop.storing import converted, graph_of, place_of, removed_on_failure, work_shown
from gstream.options.written import refuse_existing
from pagestore.errors import UsageError
from pagestore.inmemory import MOST_EDGES
from pagestore.inputs.base import EdgeChunk
from pagestore.inputs.streamtable import StreamTable
from pagestore.memory import ArraySource

if TYPE_CHECKING:
    from pagestore.convert.options import ConvertOptions
    from pagestore.inputs.base import InputOptions


class PandasTable:
    """A pandas.DataFrame as an Arrow stream without its index, BATCH_ROWS at a time."""

    BATCH_ROWS = 1 << 20

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
            raise UsageError(f"frame: a {type(frame).__name__} is no pandas.DataFrame. Pass one.")
        self.frame = frame

    def stream(self) -> tuple[Callable[[], Any], bool, int | None]:
        """As gstream.interop.sources.arrow_stream."""
        return self._reader, True, len(self.frame)

    def _reader(self) -> Any:
        import pyarrow as pa

        frame = self.frame
        schema = pa.Schema.from_pandas(frame, preserve_index=False)
        steps = range(0, len(frame), self.BATCH_ROWS)
        rows = (frame.iloc[at : at + self.BATCH_ROWS] for at in steps)
        batches = (pa.RecordBatch.from_pandas(part, schema, preserve_index=False) for part in rows)
        return pa.RecordBatchReader.from_batches(schema, batches)


def graph_of_table(
    data: Any, columns: tuple[Any, Any, Any], rows_left: tuple[str | None, str], store: str | os.PathLike | None,
    num_vertices: int | None, given: Mapping[str, Any],
) -> Graph:  # fmt: skip
    """The graph of a table or a stream; columns: source, target and weight, None where they are to be found.

    rows_left: the condition on rows, None for all; and "skip" or "fail" for rows that are no edges.
    """
    where, bad_lines = rows_left
    source_column, target_column, weight = columns
    asked = dict(given) | {"source_column": source_column, "target_column": target_column, "num_vertices": num_vertices}
    asked |= {"weights": weight is not False, "where": where}
    asked["bad_lines"] = bad_lines
    if weight is not None and not isinstance(weight, bool):
        asked["weight_column"] = weight
    path = Path(store) if bad_lines == "skip" and isinstance(store, str | os.PathLike) else None
    skipped = None if path is None else skipped_file(path)
    storing, reading = split_options(asked, skipped)
    if path is None or skipped is None:
        return _graph(data, reading, store, storing, given)
    refuse_existing(skipped, storing.replace)
    with gone_on_failure(skipped, path):
        return _graph(data, reading, store, storing, given)


def _graph(data: Any, reading: InputOptions, store: Any, storing: ConvertOptions, given: Mapping[str, Any]) -> Graph:
    """The same with checked options."""
    opened, again, rows = data.stream() if isinstance(data, PandasTable) else arrow_stream(data)
    table = StreamTable("table", opened, again, reading)
    table.assumptions = (f"table: {table.assumed()}",)
    if store is None and rows is not None and rows <= MOST_EDGES:
        return graph_of(_in_arrays(table), None, storing, given)
    if not table.strings:
        return graph_of(table, store, storing, given)
    return _named(table, store, storing, given)


def _in_arrays(table: StreamTable) -> ArraySource:
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


def _joined(chunks: list[EdgeChunk], table: StreamTable, **more: Any) -> ArraySource:
    """All chunks of a table."""
    none = np.empty(0, np.uint64)
    edges = EdgeChunk.joined([EdgeChunk(none, none, np.empty(0) if table.weighted else None), *chunks])
    return ArraySource(edges.source, edges.target, edges.weight, name=table.name, **more)


def _named(table: StreamTable, store: Any, storing: Any, given: Mapping[str, Any]) -> Graph:
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
