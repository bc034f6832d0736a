"""Answers keyed by the user's own vertex IDs, rows in ascending vertex order; a row is made when it is asked for.

A `Result` holds one array a column in store order. Tables and `top` are made by pieces of rows in ascending order of
user IDs (numbers by value, strings by UTF-8 bytes), on all cores, in memory that is used again once nobody refers to it
(gstream.paging.kept_memory). Files walk the rows `CHUNK_ROWS` at a time, so a written file takes the memory of one
chunk beside the columns (stores with listed IDs: and of the IDs, when a column holds vertices).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gstream.devices.job import DeviceMemoryError
from gstream.options.values import whole
from gstream.options.wording import in_python
from gstream.records.held import Held
from gstream.results.best_rows import best_rows, frequent_values
from gstream.results.column import Column
from gstream.results.rows import Rows
from gstream.results.vertex_names import Naming, plain
from pagestore.cores import usable_cores
from pagestore.errors import UsageError

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from gstream.results.gpu_column import GpuColumn
    from gstream.results.held_rows import HeldRows
    from gstream.results.whole_rows import WholeRows
    from pagestore.store import Store

T = TypeVar("T")
CHUNK_ROWS = 1 << 18
LARGE_ROWS = 1 << 16  # of fewer, loading compiled code takes longer than the table
HELD_ROWS = 64  # best rows that a device looks for; for more the host sorts
LOOKED_AT_ONCE = 1 << 16  # values, that stay in a core's cache
LDBC_NO_HOPS = "9223372036854775807"  # LDBC Graphalytics: BFS distance of a vertex that is not reached
LDBC_NO_PATH = "Infinity"  # LDBC Graphalytics: SSSP distance of a vertex that is not reached


class Result(Rows):
    """An answer: one row a vertex, `vertex` and the algorithm's columns.

    columns: names in order, "vertex" first. summary: what was run, its options and figures (plain values, as --json).
    `len(result)` is the number of vertices. A result stays readable after its graph was closed.
    """

    _by_vertex = True
    _whole = True  # the columns hold all rows
    _span: tuple[int, int] | None = None  # of the rows of all vertices, those that a part has
    _own_rows = False  # the columns have the rows of the part alone, in their order

    def __init__(
        self, store: Store, columns: list[Column], summary: dict[str, Any], best: str = "first", groups: bool = False,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        """best: which values of the first column `top` shows first, "largest" or "least" ("first": vertex order).
        groups: the first column names groups of vertices, and `top` shows the largest groups. threads: that make
        tables; None: all cores."""
        self.summary = summary
        self.columns = [*(["vertex"] if self._by_vertex else []), *(column.name for column in columns)]
        self._store = store
        self._columns = columns
        self._best = best
        self._groups = groups
        self._threads = usable_cores() if threads is None else threads

    def __len__(self) -> int:
        return self._store.meta.vertices if self._span is None else self._span[1] - self._span[0]

    def part(self, number: int, count: int) -> Result | None:
        """Part `number` of `count` neighbouring parts of the rows, to be written; None: the part has none."""
        if not self._by_vertex:
            return self if number == 0 else None
        part = copy(self)
        held = [column.held for column in self._columns]
        shares = [one.rows(self._store) for one in held if one is not None and one.of_ranks]
        if shares and len(shares) == len(held):  # the part is this rank's, of as many
            pairs = zip(self._columns, shares, strict=True)
            part._columns = [replace(column, values=share.values) for column, share in pairs]
            part._own_rows, part._span = True, (shares[0].first, shares[0].first + len(shares[0].values))
            return part
        part._span = len(self) * number // count, len(self) * (number + 1) // count
        return part

    def become_whole(self) -> None:
        """Have all values, where ranks have some each. They all make this call, ahead of what one does alone."""
        for column in self._columns:
            if column.held is not None and column.held.of_ranks:
                column.held.host()

    def __repr__(self) -> str:
        said = f"Result of {self.summary.get('algorithm', 'a program')}: {len(self)} rows, {', '.join(self.columns)}"
        return f"<{'; '.join([said, *self.remarks()])}>"

    @in_python()
    def to_arrow(self) -> pyarrow.Table:
        """Arrow table: vertex IDs int64 or string, the other columns as `to_numpy`, null where there is no value."""
        import pyarrow as pa

        schema = self.arrow_schema()
        if (made := self._on_device(lambda rows: rows.arrow(len(self), schema))) is not None:
            return made
        if self._large:
            return self._whole_rows().arrow(len(self), schema)
        return pa.Table.from_batches(list(self.arrow_batches()), schema=schema)

    @in_python()
    def to_pandas(self) -> pandas.DataFrame:
        """DataFrame; integer columns that can be null have pandas' Int64, so that IDs stay whole numbers.

        Null is NaN in a column of floats. One that holds both has an Arrow-backed type, which tells them apart.
        """
        import pandas as pd
        import pyarrow as pa
        import pyarrow.compute as pc

        nullable = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
        table = self.to_arrow()
        frame = table.to_pandas(types_mapper=nullable.get)
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_floating(column.type) and column.null_count and pc.any(pc.is_nan(column)).as_py():
                frame[name] = column.to_pandas(types_mapper=pd.ArrowDtype)
        empty = {column.name for column in self._columns if column.missing is not None}
        full = [name for name in self.columns if name not in empty]
        return frame.astype(
            {name: frame[name].dtype.numpy_dtype for name in full if hasattr(frame[name].dtype, "numpy_dtype")}
        )

    @in_python()
    def to_numpy(self) -> np.ndarray:
        """Structured array, one field a column: "none" is -1 in integers, inf in floats and "" in string IDs.

        In signed values of a program it is the identity of `combine`, which no other value is.
        """
        nones = {column.name: self._none(column) for column in self._columns}
        if (made := self._on_device(lambda rows: rows.numpy(len(self), self.numpy_dtype(), nones))) is not None:
            return made
        if self._large:
            return self._whole_rows().numpy(len(self), self.numpy_dtype(), nones)
        table = np.empty(len(self), self.numpy_dtype())
        for first, rows in self.numpy_rows():
            table[first : first + len(rows)] = rows
        return table

    @in_python()
    def to_gpu(self, *columns: str) -> dict[str, GpuColumn]:
        """{column: its values in GPU memory}, of those names, or of all: in the order of rows, "none" as in `to_numpy`.

        CuPy, PyTorch, JAX and cuDF take them by `__cuda_array_interface__` or `__dlpack__`, without a copy. Where the
        store is in natural order and nothing is renamed, they are the answer's own memory: writing to them
        changes the answer. Raises ColumnError for a column that is not there, UsageError where no GPU holds the answer.
        """
        for name in columns:
            self._check_column(name)
        found = self._gpu_columns(columns or tuple(self.columns))
        if found is None:
            raise UsageError("result.to_gpu: no GPU holds the answer, or has room for its columns. Call to_numpy.")
        return found

    def _gpu_columns(self, names: Sequence[str]) -> dict[str, GpuColumn] | None:
        nones = {column.name: self._none(column) for column in self._columns}
        found = self._on_device(lambda rows: rows.columns(len(self), self.numpy_dtype(), nones, names))
        return None if found is None else dict(zip(names, found, strict=True))

    @in_python()
    def top(self, count: int = 20) -> list[dict[str, Any]]:
        """The `count` rows that matter most, as dictionaries (None where there is no value), best first.

        Ranks: the largest; distances: the nearest; components: the largest, as {"component", "vertices"}. Ties go by
        ascending vertex. Raises UsageError where `count` is no whole number of at least 0.
        """
        count = row_count(count)
        if not self._columns or count == 0:
            return []
        few = count <= HELD_ROWS
        if self._groups:
            found = self._on_device(lambda rows: rows.largest_groups(count)) if few else None
            return self._largest_groups(count) if found is None else found
        if self._best == "first":
            return self._describe(*self._first(count))
        largest = self._best == "largest"
        best = self._on_device(lambda rows: rows.best(count, largest)) if few else None
        return self._describe(*(best or best_rows(self._store, self._columns[0], count, largest, self._threads)))

    @in_python(force="force")
    def write(self, path: str | os.PathLike, ldbc: bool = False, force: bool = False) -> None:
        """Write every row to `path`: .parquet, .csv, .npy or .arrow by its ending; with ldbc, Graphalytics' text.

        The file is complete or absent: it is written beside its place under another name, then renamed. force: a file
        that exists is replaced. Raises UsageError for another ending, a folder that can't be written or, without force,
        a file that exists, ResourceError when the disk is full.
        """
        from gstream.results.files import write_result

        write_result(self, path, ldbc, force)

    # What follows is read by gstream.results.files.

    @property
    def ldbc_missing(self) -> str:
        """What Graphalytics' text has where there is no value."""
        return self._columns[0].ldbc_missing

    def arrow_schema(self) -> pyarrow.Schema:
        """Names and types of the columns."""
        import pyarrow as pa

        ids = pa.string() if self._strings else pa.int64()
        kinds = [(c.name, ids if c.vertices else c.arrow_type()) for c in self._columns]
        return pa.schema([*([("vertex", ids)] if self._by_vertex else []), *kinds])

    def arrow_batches(self) -> Iterator[pyarrow.RecordBatch]:
        """All rows in order, as record batches of CHUNK_ROWS rows or fewer."""
        import pyarrow as pa

        schema, naming, last = self.arrow_schema(), Naming(self._store), self._begin
        for parts in self._parts():
            first, last = last, last + len(parts[0])
            arrays = [pa.array(naming.range(first, last)).cast(schema.field(0).type)] if self._by_vertex else []
            for column, values in zip(self._columns, parts, strict=True):
                if column.vertices:
                    named = naming.arrow(column, values, column.absent(values))
                    arrays.append(named.cast(schema.field(column.name).type))
                else:
                    arrays.append(column.arrow(values))
            yield pa.record_batch(arrays, schema=schema)

    def numpy_rows(self) -> Iterator[tuple[int, np.ndarray]]:
        """(number of the first row, structured rows), in order."""
        dtype, naming, last = self.numpy_dtype(), Naming(self._store), self._begin
        for parts in self._parts():
            first, last = last, last + len(parts[0])
            rows = np.empty(last - first, dtype)
            self._write_rows(rows, first, parts, naming)
            yield first, rows

    def _write_rows(self, rows: np.ndarray, first: int, parts: list[np.ndarray], naming: Naming) -> None:
        """Fill structured rows, the first of them number `first`, from the columns' values."""
        if self._by_vertex:
            rows["vertex"] = naming.numpy_range(first, first + len(rows))
        for column, values in zip(self._columns, parts, strict=True):
            field, absent = rows[column.name], column.absent(values)
            if column.vertices:
                field[...] = naming.numpy(column, values, absent)
                continue
            field[...] = values
            if absent is not None:
                np.copyto(field, self._none(column), where=absent)

    def numpy_dtype(self) -> np.dtype:
        """Of structured rows."""
        ids = np.dtype(np.int64)
        if self._strings and (self._by_vertex or any(column.vertices for column in self._columns)):
            ids = np.dtype(f"U{max(1, Naming(self._store).longest)}")
        kinds = [(c.name, ids if c.vertices else c.dtype) for c in self._columns]
        return np.dtype([*([("vertex", ids)] if self._by_vertex else []), *kinds])

    @property
    def _strings(self) -> bool:
        return self._store.meta.id_kind == "strings"

    @property
    def _begin(self) -> int:
        """The first row, of those of all vertices."""
        return 0 if self._span is None else self._span[0]

    def _chunks(self) -> Iterator[tuple[int, int]]:
        end = self._begin + len(self)
        for first in range(self._begin, end, CHUNK_ROWS):
            yield first, min(first + CHUNK_ROWS, end)

    def _parts(self) -> Iterator[list[np.ndarray]]:
        """Values of each column, of CHUNK_ROWS rows or fewer at a time."""
        for first, last in self._chunks():
            yield self._part(first, last)

    def _part(self, first: int, last: int) -> list[np.ndarray]:
        """Values of each column, of rows [first, last)."""
        return self._gather(self._columns, first, last)

    @property
    def _in_order(self) -> bool:
        """Whether rows are in the order of the columns' values."""
        return self._store.meta.order == "natural" or not self._by_vertex

    def _gather(self, columns: list[Column], first: int, last: int) -> list[np.ndarray]:
        """Values of rows [first, last) of some columns."""
        if self._own_rows:
            return [column.values[first - self._begin : last - self._begin] for column in columns]
        if self._in_order:
            return [column.values[first:last] for column in columns]
        stored = self._store.store_ids(first, last).astype(np.intp)
        return [column.values.take(stored, axis=0) for column in columns]

    @property
    def _large(self) -> bool:
        """Whether whole tables are made by all cores, which takes compiled code."""
        simple = not self._strings and not any(column.length for column in self._columns)
        return self._whole and simple and len(self) >= LARGE_ROWS

    def _on_device(self, call: Callable[[HeldRows], T]) -> T | None:
        """call(what makes rows where a device holds the columns); None where it does not, or has no room for more."""
        if (
            not self._whole
            or self._span is not None
            or not self._columns
            or any(column.held is None or column.held.of_ranks for column in self._columns)
        ):
            return None
        from gstream.results.held_rows import held_rows

        rows = held_rows(self._store, self._columns, self._by_vertex)
        try:
            return None if rows is None else call(rows)
        except DeviceMemoryError:
            return None

    def _whole_rows(self) -> WholeRows:
        from gstream.results.whole_rows import WholeRows

        return WholeRows(self._store, self._columns, self._by_vertex, self._threads)

    def _none(self, column: Column) -> Any:
        """What stands for "none" in a NumPy field of numbers."""
        return _missing_number(column.dtype.base) if column.npy_missing is None else column.npy_missing

    def _first(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """(natural indices, store IDs), int64, of the first rows."""
        last = min(count, len(self))
        return np.arange(last), self._store.store_ids(0, last).astype(np.int64)

    def _describe(self, natural: np.ndarray, stored: np.ndarray) -> list[dict[str, Any]]:
        """Rows of the given natural indices, whose store IDs are given, too."""
        naming = Naming(self._store)
        found = [{"vertex": plain(naming.range(int(n), int(n) + 1)[0])} for n in natural]
        for column in self._columns:
            values = column.take(stored)
            if column.length:
                for row, vector in zip(found, column.arrow(values).to_pylist(), strict=True):
                    row[column.name] = vector
                continue
            absent = column.absent(values)
            for row, value, none in zip(
                found, values, absent if absent is not None else [False] * len(found), strict=True
            ):
                shown = naming.one(column, value) if column.vertices and not none else plain(value.astype(column.dtype))
                row[column.name] = None if none else shown
        return found

    def _largest_groups(self, count: int) -> list[dict[str, Any]]:
        """The groups with most vertices: {column name: its ID, "vertices": how many}."""
        column, naming = self._columns[0], Naming(self._store)
        labels, sizes = frequent_values(column, count)
        return [{column.name: naming.one(column, label), "vertices": int(size)}
                for label, size in zip(labels, sizes, strict=True)]  # fmt: skip


def row_count(count: Any) -> int:
    """How many rows `top` is asked for. Raises UsageError where it is no number of rows."""
    count = whole("count", count)
    if count < 0:
        raise UsageError(f"count {count}: must be 0 or more: top gives the first rows. Pass a number of rows.")
    return count


def _missing_number(dtype: np.dtype) -> float | int:
    """What stands for "none" in a NumPy field: -1, inf, or the largest number of an unsigned type."""
    if dtype.kind == "f":
        return np.inf
    return -1 if dtype.kind == "i" else int(np.iinfo(dtype).max)


def count_not_finite(values: np.ndarray | Held, identity: Any) -> int:
    """How many values are inf or NaN, the identity apart. One pass: 0.5 s for 10^9 float32 on one core."""
    if values.dtype.kind != "f":
        return 0
    if isinstance(values, Held):
        return values.count(lambda there: count_not_finite(there, identity))
    found = 0
    for first in range(0, len(values), LOOKED_AT_ONCE):
        part = values[first : first + LOOKED_AT_ONCE]
        odd = part[~np.isfinite(part)]
        found += int(np.count_nonzero(odd != identity))
    return found
