"""Answers keyed by the user's own vertex IDs, rows in ascending vertex order; a row is made when it is asked for.

A `Result` holds one array a column in store order. Tables and `top` are made by pieces of rows in ascending order of
user IDs (numbers by value, strings by UTF-8 bytes), on all cores, in memory that is used again once nobody refers to it
(gstream.paging.kept_memory). Files walk the rows `CHUNK_ROWS` at a time, so a written file takes the memory of one
chunk beside the columns (stores with listed IDs: and of the IDs, when a column holds vertices).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gstream.devices.job import DeviceMemoryError
from gstream.options.values import whole
from gstream.options.wording import in_python
from gstream.results.column import Column
from gstream.results.pieces import PIECE_ROWS, in_stretches
from gstream.results.rows import Rows
from gstream.results.vertex_names import Naming, plain
from pagestore.cores import usable_cores
from pagestore.errors import UsageError

if TYPE_CHECKING:
    import pandas
    import pyarrow

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
        part._span = len(self) * number // count, len(self) * (number + 1) // count
        return part

    def __repr__(self) -> str:
        return f"<Result of {self.summary.get('algorithm', 'a program')}: {len(self)} rows, {', '.join(self.columns)}>"

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
        if few and self._best != "first":
            best = self._on_device(lambda rows: rows.best(count, self._best == "largest"))
            if best is not None:
                return self._describe(*best)
        return self._describe(self._best_natural(count))

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
        kinds = [(c.name, ids if c.vertices else pa.from_numpy_dtype(c.dtype)) for c in self._columns]
        return pa.schema([*([("vertex", ids)] if self._by_vertex else []), *kinds])

    def arrow_batches(self) -> Iterator[pyarrow.RecordBatch]:
        """All rows in order, as record batches of CHUNK_ROWS rows or fewer."""
        import pyarrow as pa

        schema, naming, last = self.arrow_schema(), Naming(self._store), self._begin
        for parts in self._parts():
            first, last = last, last + len(parts[0])
            arrays = [pa.array(naming.range(first, last)).cast(schema.field(0).type)] if self._by_vertex else []
            for column, values in zip(self._columns, parts, strict=True):
                absent = column.absent(values)
                if column.vertices:
                    arrays.append(naming.arrow(column, values, absent).cast(schema.field(column.name).type))
                else:
                    arrays.append(pa.array(values.astype(column.dtype, copy=False), mask=absent))
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
        if self._in_order:
            return [column.values[first:last] for column in columns]
        stored = self._store.store_ids(first, last).astype(np.intp)
        return [column.values.take(stored) for column in columns]

    @property
    def _large(self) -> bool:
        """Whether whole tables are made by all cores, which takes compiled code."""
        return self._whole and not self._strings and len(self) >= LARGE_ROWS

    def _on_device(self, call: Callable[[HeldRows], T]) -> T | None:
        """call(what makes rows where a device holds the columns); None where it does not, or has no room for more."""
        if (
            not self._whole
            or self._span is not None
            or not self._columns
            or any(column.held is None for column in self._columns)
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
        return _missing_number(column.dtype) if column.npy_missing is None else column.npy_missing

    def _best_natural(self, count: int) -> np.ndarray:
        """Natural indices int64[<= count] of the best rows, best first."""
        column = self._columns[0]
        if self._best == "first":
            return np.arange(min(count, len(self)))
        found = in_stretches(len(self), self._threads, partial(self._best_among, column, count))
        keys, natural = (np.concatenate(each) for each in zip(*found, strict=True))
        return natural[_least(keys, count)]

    def _best_among(self, column: Column, count: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """(keys, natural indices) of the best of rows [first, last), best first."""
        kept_keys, kept = column.values[:0], np.empty(0, np.int64)
        for begin in range(first, last, PIECE_ROWS):
            (values,) = self._gather([column], begin, min(begin + PIECE_ROWS, last))
            keys, wanted = _sort_keys(values, self._best == "largest"), column.absent(values)
            wanted = None if wanted is None else ~wanted
            if len(kept) == count:  # rows that come later lose ties
                better = keys < kept_keys[-1]
                wanted = better if wanted is None else better & wanted
            natural = np.flatnonzero(wanted) if wanted is not None else np.arange(len(keys))
            if len(natural):
                keys, natural = np.concatenate([kept_keys, keys[natural]]), np.concatenate([kept, begin + natural])
                chosen = _least(keys, count)
                kept_keys, kept = keys[chosen], natural[chosen]
        return kept_keys, kept

    def _describe(self, natural: np.ndarray, stored: np.ndarray | None = None) -> list[dict[str, Any]]:
        """Rows of the given natural indices. stored: their store IDs, where they are known."""
        naming = Naming(self._store)
        if stored is None:
            stored = np.array([int(self._store.store_ids(int(n), int(n) + 1)[0]) for n in natural], np.int64)
        found = [{"vertex": plain(naming.range(int(n), int(n) + 1)[0])} for n in natural]
        for column in self._columns:
            values = column.take(stored)
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
        sizes = np.zeros(len(self), column.values.dtype)  # a group has no more vertices than IDs can count
        one = sizes.dtype.type(1)  # of another type it takes 15 times as long
        for first in range(0, len(self), CHUNK_ROWS):
            np.add.at(sizes, column.values[first : first + CHUNK_ROWS], one)
        labels = np.flatnonzero(sizes)  # natural indices, as all that name groups
        chosen = labels[_least(-sizes[labels].astype(np.float64), count)]
        return [{column.name: naming.one(column, label), "vertices": int(sizes[label])} for label in chosen]


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


def _sort_keys(values: np.ndarray, descending: bool) -> np.ndarray:
    """Keys of the same kind of number whose ascending order is the wanted one; NaN comes last."""
    if values.dtype.kind != "f":
        return ~values if descending else values
    keys = -values if descending else values
    return np.where(np.isnan(keys), np.inf, keys).astype(values.dtype, copy=False)


def _least(keys: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` least keys, least first, ties by position."""
    if len(keys) > count:
        bound = np.partition(keys, count - 1)[count - 1]
        below = np.flatnonzero(keys < bound)
        chosen = np.union1d(below, np.flatnonzero(keys == bound)[: count - len(below)])
    else:
        chosen = np.arange(len(keys))
    return chosen[np.argsort(keys[chosen], kind="stable")][:count]


def count_not_finite(values: np.ndarray, identity: Any) -> int:
    """How many values are inf or NaN, the identity apart. One pass: 0.5 s for 10^9 float32 on one core."""
    if values.dtype.kind != "f":
        return 0
    found = 0
    for first in range(0, len(values), LOOKED_AT_ONCE):
        part = values[first : first + LOOKED_AT_ONCE]
        odd = part[~np.isfinite(part)]
        found += int(np.count_nonzero(odd != identity))
    return found
