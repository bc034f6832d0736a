"""Tables and best rows of columns that a GPU holds: permuted, renamed and masked there, in one pass over the link.

The same rows as gstream.results.whole_rows and gstream.results.result make. Where vertices have names, not numbers, the
host makes the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.devices.gpu.kept_values import GpuValues, KeptValues
from gstream.devices.gpu.row_kernels import DESCENDING, FLOATS, NULLABLE, SIGNED, WIDE, Part, Source
from gstream.paging.kept_memory import MEMORY
from gstream.results.best_rows import least
from gstream.results.column import Column
from gstream.results.gpu_column import GpuColumn
from gstream.results.vertex_names import Naming

if TYPE_CHECKING:
    import pyarrow

    from pagestore.store import Store

WORD_BITS = 32
LAST = (1 << 64) - 1  # no key and no name comes after it


def held_rows(store: Store, columns: list[Column], by_vertex: bool) -> HeldRows | None:
    """What makes tables of columns that one GPU holds; None where the host has to."""
    held = [column.held for column in columns]
    one = held[0]
    if not isinstance(one, GpuValues) or store.meta.id_kind == "strings" or not store.meta.vertices:
        return None
    there = all(isinstance(each, GpuValues) and each.memory is not None and each.kept is one.kept for each in held)
    return HeldRows(store, columns, by_vertex, one.kept) if there and all(map(_is_bits, columns)) else None


def _is_bits(column: Column) -> bool:
    """Whether the table has the bits of a value, of 4 or 8 bytes, or a whole number made longer."""
    assert column.held is not None
    dtype, wanted = column.held.dtype, _dtype(column)
    whole = dtype.kind in "iu" and wanted.kind in "iu" and wanted.itemsize == 8
    return dtype.itemsize in (4, 8) and (whole or dtype == wanted)


class HeldRows:
    """Rows in ascending order of vertex, or of the columns."""

    def __init__(self, store: Store, columns: list[Column], by_vertex: bool, kept: KeptValues) -> None:
        self._store, self._columns, self._by_vertex, self._kept = store, columns, by_vertex, kept
        self._ranged = store.meta.id_kind == "range"
        self._in_order = store.meta.order == "natural"

    def numpy(self, count: int, dtype: np.dtype, nones: dict[str, Any]) -> np.ndarray:
        """Structured rows; nones: what stands for "none" in each column of numbers."""
        assert dtype.fields is not None
        places = {name: field[1] * 8 // WORD_BITS for name, field in dtype.fields.items()}
        with self._sources() as given:
            table = self._take(count, dtype)
            parts = [Part(self._vertices(given), 0, places["vertex"])] if self._by_vertex else []
            for column in self._columns:
                none = -1 if column.vertices else nones[column.name]
                parts.append(Part(self._source(given, column, none), 0, places[column.name]))
            self._kept.rows.fill(count, [(table.view(np.uint8), 8 * dtype.itemsize)], parts)
        return table

    def arrow(self, count: int, schema: pyarrow.Schema) -> pyarrow.Table:
        """A table of one chunk."""
        import pyarrow as pa

        outputs: list[tuple[np.ndarray, int]] = []
        parts: list[Part] = []
        arrays: list[tuple[np.ndarray, np.ndarray | None]] = []
        with self._sources() as given:
            named = [None, *self._columns] if self._by_vertex else [*self._columns]
            for column in named:
                values = self._take(count, np.dtype(np.int64) if column is None else _dtype(column))
                valid, number = None, len(outputs)
                outputs.append((values.view(np.uint8), 8 * values.itemsize))
                if column is not None and column.missing is not None:
                    valid = self._take(-(-count // 8), np.dtype(np.uint8))
                    outputs.append((valid, 1))
                source = self._vertices(given) if column is None else self._source(given, column, 0)
                parts.append(Part(source, number, 0, None if valid is None else number + 1))
                arrays.append((values, valid))
            self._kept.rows.fill(count, outputs, parts)
        made = [
            pa.Array.from_buffers(
                pa.from_numpy_dtype(values.dtype), count,
                [None if valid is None else pa.py_buffer(valid), pa.py_buffer(values)],
            )
            for values, valid in arrays
        ]  # fmt: skip
        return pa.Table.from_arrays(made, schema=schema)

    def columns(self, count: int, dtype: np.dtype, nones: dict[str, Any], names: Sequence[str]) -> list[GpuColumn]:
        """Columns of those names, each as in `numpy`; without a copy where the values lie as the table has them."""
        by_name, kept = {column.name: column for column in self._columns}, self._kept
        found = []
        with self._sources() as given:
            for name in names:
                column = by_name.get(name)
                none = -1 if column is None or column.vertices else nones[name]
                if column is not None and self._lies_so(column, none):
                    lease = column.held.lease  # type: ignore[union-attr]
                else:
                    source = self._vertices(given) if column is None else self._source(given, column, none)
                    lease = kept.make(count, dtype[name]).lease
                    assert lease is not None
                    kept.rows.place(count, lease.array, source)
                found.append(GpuColumn(lease, count, kept.gpu.index))
        return found

    def _lies_so(self, column: Column, none: Any) -> bool:
        """Whether a column's memory is that of the table's column. none: what stands for "none" there."""
        dtype, wanted = column.held.dtype, _dtype(column)  # type: ignore[union-attr]
        if column.vertices or dtype != wanted or (self._by_vertex and not self._in_order):
            return False
        return column.missing is None or _bits(column.missing, dtype) == _bits(none, wanted)

    def best(self, count: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
        """(natural indices, store IDs), int64, of the rows whose value in the first column comes first, in order; None
        where the host has to look for them."""
        column = self._columns[0]
        with self._sources(named=False) as given:
            source = self._source(given, column, 0)
            flags = source.flags & ~WIDE | (DESCENDING if largest else 0) | _order_of(given[column.name].dtype)
            source = Source(
                source.values, source.value_bytes, id_bytes=source.id_bytes, missing=source.missing, flags=flags
            )
            return self._least(source, given.natural, count)

    def _least(self, source: Source, names: int, count: int) -> tuple[np.ndarray, np.ndarray] | None:
        """(names, places), int64, of the `count` values that come first, in order. names: address of IDs; 0: places.

        The best values of `count` warps are a bound that few other values are within."""
        rows, vertices = self._kept.rows, self._store.meta.vertices
        keys, named = rows.best_of_warps(source, names, vertices)
        bound = (LAST, LAST)
        if len(keys) > count:
            worst = least(keys, named, count)[-1]
            bound = int(keys[worst]), int(named[worst])
        found = rows.find_better(source, names, vertices, bound)
        if found is None:
            return None
        chosen = least(found[0], found[1], count)[:count]
        return found[1][chosen].astype(np.int64), found[2][chosen].astype(np.int64)

    def largest_groups(self, count: int) -> list[dict[str, Any]] | None:
        """The groups that the first column names with most vertices: {column name: its ID, "vertices": how many}; None
        where the host has to look for them."""
        column, vertices = self._columns[0], self._store.meta.vertices
        with self._sources(named=False) as given:
            labels = self._source(given, column, 0)
            sizes = self._kept.rows.group_sizes(labels, vertices)
            source = Source(sizes.address, labels.value_bytes, flags=DESCENDING | NULLABLE)
            best = self._least(source, 0, count)
            if best is None:
                return None
            named, dtype = best[0], np.dtype(f"u{labels.value_bytes}")
            found = self._kept.rows.pick(sizes.of(dtype), named.astype(np.uint64)) if len(named) else np.empty(0, dtype)
        naming = Naming(self._store)
        return [
            {column.name: naming.one(column, label), "vertices": int(size)}
            for label, size in zip(named, found, strict=True)
        ]

    @contextmanager
    def _sources(self, named: bool = True) -> Iterator[_Given]:
        """The columns' memory and the store's permutations, which stay on the GPU within the block. named: rows, which
        need store IDs and names, too."""
        with self._kept.lock, ExitStack() as undo:
            given = _Given({c.name: undo.enter_context(c.held.in_use()) for c in self._columns})  # type: ignore[union-attr]
            store = self._store
            if not self._in_order:
                natural = self._kept.there("natural_ids", store.natural_ids)
                given.natural = undo.enter_context(natural.in_use()).address
            if not self._in_order and named:
                stored = self._kept.there("store_ids", store.store_ids)
                given.stored = undo.enter_context(stored.in_use()).address
            if not self._ranged and named and (self._by_vertex or any(column.vertices for column in self._columns)):
                names = self._kept.there("user_ids", store.user_ids)
                given.names = undo.enter_context(names.in_use()).address
            undo.enter_context(self._kept.gpu)
            yield given

    def _take(self, count: int, dtype: np.dtype) -> np.ndarray:
        """Host memory that the GPU copies to."""
        return (self._kept.gpu.answers or MEMORY).take(count, dtype)

    def _vertices(self, given: _Given) -> Source:
        """User IDs of the rows."""
        return Source(values=given.names, base=self._base, flags=WIDE)

    @property
    def _base(self) -> int:
        return int(self._store.meta.id_base) % (1 << 64) if self._ranged else 0

    def _source(self, given: _Given, column: Column, none: Any) -> Source:
        """A column's words; none: what stands for "none"."""
        array, wanted = given[column.name], _dtype(column)
        missing = 0 if column.missing is None else column.missing
        flags = NULLABLE if column.missing is not None else 0
        flags |= WIDE if wanted.itemsize == 8 else 0
        flags |= SIGNED if array.dtype.kind == "i" and array.dtype.itemsize == 4 and wanted.itemsize == 8 else 0
        renamed = given.natural if column.holds == "store" else 0
        return Source(
            array.address, array.dtype.itemsize, given.stored if self._by_vertex else 0, renamed,
            given.names if column.vertices else 0, self._store.layout.id_dtype.itemsize,
            self._base if column.vertices else 0, _bits(missing, array.dtype), _bits(none, wanted), flags,
        )  # fmt: skip


class _Given(dict[str, Any]):
    """Columns' memory by name; addresses of the store's permutations and names, 0 where there are none."""

    natural = stored = names = 0


def _dtype(column: Column) -> np.dtype:
    """Of the column in a table."""
    return np.dtype(np.int64) if column.vertices else np.dtype(column.dtype)


def _bits(value: Any, dtype: np.dtype) -> int:
    return int(np.array([value], dtype).view(f"u{dtype.itemsize}")[0])


def _order_of(dtype: np.dtype) -> int:
    """How words of a type are ordered."""
    return {"f": FLOATS, "i": SIGNED}.get(dtype.kind, 0)
