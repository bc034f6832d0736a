"""Whole tables of many rows, by compiled code on all cores: structured arrays, and Arrow's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.hostcode.rows import take_rows
from gstream.paging.kept_memory import MEMORY
from gstream.results.column import Column
from gstream.results.pieces import in_pieces

if TYPE_CHECKING:
    import pyarrow

    from pagestore.store import Store

WORD = np.dtype(np.uint32)
NONE = np.uint64(0)
NO_BITS, NO_NAMES, NO_WORDS = np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.uint64)


@dataclass(frozen=True)
class Target:
    """Where a column's rows go: out is u4[rows, words of a row], `word` the first of the column's words; wide: it
    has two. none: what stands there for "none", as a number of the table's type. valid: the bitmap, or of no
    element."""

    out: np.ndarray
    word: int
    wide: bool
    none: Any
    valid: np.ndarray


class WholeRows:
    """Rows in ascending order of vertex, or of the columns where rows are none of vertices, of one result.

    Names are numbers: int64, or as many as there are vertices from the store's base on.
    """

    def __init__(self, store: Store, columns: list[Column], by_vertex: bool, threads: int) -> None:
        self._store, self._columns, self._by_vertex, self._threads = store, columns, by_vertex, threads
        self.in_order = store.meta.order == "natural" or not by_vertex
        ids, ranged = store.layout.id_dtype, store.meta.id_kind == "range"
        some, stored = any(one.vertices for one in columns), any(one.holds == "store" for one in columns)
        self._base = np.uint64((store.meta.id_base if ranged else 0) % (1 << 64))
        self._names = NO_NAMES if ranged or not some else store.user_ids()
        self._no_ids = np.empty(0, ids)
        turned = stored and store.meta.order != "natural"
        self._natural = store.natural_ids() if turned else self._no_ids

    def numpy(self, count: int, dtype: np.dtype, nones: dict[str, Any]) -> np.ndarray:
        """Structured rows; nones: what stands for "none" in each column of numbers."""
        table = MEMORY.take(count, dtype)
        assert dtype.fields is not None
        out = table.view(WORD).reshape(count, dtype.itemsize // WORD.itemsize)
        places = {name: field[1] // WORD.itemsize for name, field in dtype.fields.items()}

        def target(name: str, none: Any) -> Target:
            return Target(out, places[name], dtype[name].itemsize == 8, none, NO_BITS)

        given = [target(one.name, -1 if one.vertices else nones[one.name]) for one in self._columns]
        self._fill(count, target("vertex", 0) if self._by_vertex else None, given)
        return table

    def arrow(self, count: int, schema: pyarrow.Schema) -> pyarrow.Table:
        """A table of one chunk. A column that is in order, and has the table's type, is not copied."""
        import pyarrow as pa

        vertex = MEMORY.take(count if self._by_vertex else 0, np.int64)
        values, valid, targets = [], [], list[Target | None]()
        for column in self._columns:
            dtype = np.dtype(np.int64) if column.vertices else column.dtype
            same = self.in_order and not column.vertices and column.values.dtype == dtype
            values.append(column.values if same else MEMORY.take(count, dtype))
            valid.append(NO_BITS if column.missing is None else MEMORY.take(-(-count // 8), np.uint8))
            if same and column.missing is not None:
                present = column.values != column.values.dtype.type(column.missing)
                valid[-1][:] = np.packbits(present, bitorder="little")
            targets.append(None if same else _target(values[-1], valid[-1]))
        self._fill(count, _target(vertex, NO_BITS) if self._by_vertex else None, targets)
        arrays = [pa.array(vertex)] if self._by_vertex else []
        for column, numbers, bits in zip(self._columns, values, valid, strict=True):
            buffers = [None if column.missing is None else pa.py_buffer(bits), pa.py_buffer(numbers)]
            arrays.append(pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), count, buffers))
        return pa.Table.from_arrays(arrays, schema=schema)

    def _fill(self, count: int, vertex: Target | None, targets: list[Any]) -> None:
        sources = [_Source(one, self) for one in self._columns]
        wanted = [(source, target) for source, target in zip(sources, targets, strict=True) if target is not None]

        stored = self._store.keep_order() if wanted and not self.in_order else self._no_ids

        def fill(first: int, last: int) -> None:
            if vertex is not None:
                _take(*self._vertices(first, last), vertex, first, last)
            if not wanted:
                return
            order = self._no_ids if self.in_order else stored[first:last]
            for source, target in wanted:
                words = source.words[first:last] if self.in_order else source.words
                _take(words, order, source.rule(target.none), target, first, last)

        in_pieces(count, self._threads, fill)

    def _vertices(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        """Words, order and rule of the user IDs of rows [first, last)."""
        ranged = self._store.meta.id_kind == "range"
        ids = NO_WORDS if ranged else self._store.user_ids(first, last).view(np.uint64)
        base = np.uint64((int(self._base) + first) % (1 << 64)) if ranged else NONE
        return ids, self._no_ids, (NONE, NONE, False, False, self._no_ids, NO_NAMES, base)


class _Source:
    """A column as `take_rows` reads it: words are the bits of its values, of the table's type if they are no integers
    of 32 or 64 bits."""

    def __init__(self, column: Column, rows: WholeRows) -> None:
        values, kind = column.values, column.values.dtype.kind
        self._dtype = np.dtype(np.int64) if column.vertices else column.dtype
        whole = kind in "iu" and self._dtype.kind in "iu" and self._dtype.itemsize == 8 and values.itemsize >= 4
        missing = values.dtype.type(0 if column.missing is None else column.missing)
        if not whole and values.dtype != self._dtype:
            values, missing = values.astype(self._dtype), self._dtype.type(missing)
        self.words = values.view(f"u{values.itemsize}")
        bits = np.array([missing], values.dtype).view(self.words.dtype).astype(np.uint64)[0]
        self._nullable, self._missing = column.missing is not None, bits
        self._signed = kind == "i" and values.itemsize == 4 and self._dtype.itemsize == 8
        named = (rows._no_ids, NO_NAMES, NONE)
        if column.vertices:
            named = (rows._natural if column.holds == "store" else rows._no_ids, rows._names, rows._base)
        self._named = named

    def rule(self, none: Any) -> tuple[Any, ...]:
        """What `take_rows` does to each word."""
        bits = np.array([none], self._dtype).view(f"u{self._dtype.itemsize}").astype(np.uint64)[0]
        return self._missing, bits, self._nullable, self._signed, *self._named


def _target(array: np.ndarray, valid: np.ndarray) -> Target:
    """A column of its own."""
    words = array.dtype.itemsize // WORD.itemsize
    return Target(array.view(WORD).reshape(len(array), words), 0, words == 2, 0, valid)


def _take(words: np.ndarray, order: np.ndarray, rule: tuple[Any, ...], target: Target, first: int, last: int) -> None:
    """Rows [first, last) of one column; words: from row `first` on where order is empty."""
    valid = target.valid[first >> 3 : (last + 7) >> 3]
    scratch = np.empty(last - first, np.uint64)
    take_rows(words, order, *rule, target.out[first:last], np.uint64(target.word), target.wide, valid, scratch)
