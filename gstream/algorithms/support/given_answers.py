"""Answers that a call is given: a Result, a table, a mapping, or a file that `-o` wrote.

A table has a column `vertex` with the user's IDs, and a column of values. It is read by batches, so what is held is one
batch beside the arrays that are made of it. Parquet and Arrow files of gstream say which run they are of (`about`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.results.files import ABOUT, about_run
from gstream.results.result import Result
from pagestore.errors import GstreamError, InputError, UsageError
from pagestore.rowtext import DELIMITERS, ENDINGS, parted_name
from pagestore.sizes import show_row

VERTEX = "vertex"
READ = {".parquet": "_parquet", ".arrow": "_arrow", ".npy": "_numpy", **dict.fromkeys(ENDINGS, "_text")}
BATCH_ROWS = 1 << 18
MOST_ID = (1 << 63) - 1
Batches = Iterator[tuple[np.ndarray, Any]]


class GivenAnswer:
    """names: of the columns. about: which run it is of (gstream.results.files.about_run); None where nobody knows."""

    def __init__(self, given: Any, option: str) -> None:
        """option: its name in messages. Raises UsageError for a value, InputError for a file, that holds no answer."""
        self.option, self.about, self.where = option, None, option
        self._by_names = False  # texts have names of vertices, also where these look like numbers
        if isinstance(given, Result):
            self.about = about_run(given)
            self.names, self._open = given.columns, given.arrow_batches
        elif isinstance(given, (str, os.PathLike)):
            self.where = os.fspath(given)
            self._open_file(self.where)
        else:
            self._open_table(_table_of(given, option))

    def _open_table(self, table: Any) -> None:
        self.names, self._open = table.column_names, lambda: iter(table.to_batches(BATCH_ROWS))

    def _open_file(self, path: str) -> None:
        ending = parted_name(path)[0]
        if ending not in READ:
            raise UsageError(f"{self.option} {path}: the ending says the format; known are {', '.join(READ)}.")
        if not os.path.exists(path):
            raise InputError(f"{path}: no such file. Name one with columns {VERTEX} and a value.")
        with self.reading():
            getattr(self, READ[ending])(path)

    def _parquet(self, path: str) -> None:
        from pyarrow import parquet

        file = parquet.ParquetFile(path)
        self.names, self._open = file.schema_arrow.names, lambda: file.iter_batches(BATCH_ROWS)
        self.about = _read_about(file.schema_arrow.metadata)

    def _arrow(self, path: str) -> None:
        import pyarrow as pa

        file = pa.ipc.open_file(pa.memory_map(path))
        self.names = file.schema.names
        self._open = lambda: (file.get_batch(number) for number in range(file.num_record_batches))
        self.about = _read_about(file.schema.metadata)

    def _numpy(self, path: str) -> None:
        import pyarrow as pa

        rows = np.load(path, mmap_mode="r")
        self.names = list(rows.dtype.names or ())

        def opened() -> Iterator[Any]:
            for first in range(0, len(rows), BATCH_ROWS):
                some = rows[first : first + BATCH_ROWS]
                yield pa.record_batch({name: pa.array(np.ascontiguousarray(some[name])) for name in self.names})

        self._open = opened

    def _text(self, path: str) -> None:
        import pyarrow as pa
        from pyarrow import csv

        kind = ENDINGS[parted_name(path)[0]]
        parsing = csv.ParseOptions(delimiter=DELIMITERS[kind], newlines_in_values=True)

        def opened(**names: Any) -> Any:
            stream = pa.input_stream(path, compression="detect")
            types = csv.ConvertOptions(column_types={VERTEX: pa.string()} if self._by_names else None)
            return csv.open_csv(stream, csv.ReadOptions(**names), parsing, types)

        names: dict[str, Any] = {}
        with opened() as reader:
            self.names = reader.schema.names
        if kind != "csv" and VERTEX not in self.names:  # no line of names
            others = [f"column {number}" for number in range(2, len(self.names) + 1)]
            names["column_names"] = self.names = [VERTEX, *(others if len(others) > 1 else ["value"])]
        self._open = lambda: iter(opened(**names))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Errors of the libraries that read become one line."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, GstreamError):
                raise
            said, ending = str(error).splitlines()[0].rstrip("."), " as its ending says" * (self.where != self.option)
            raise InputError(f"{self.where}: can't be read{ending}: {said}. Name another answer.") from None

    @property
    def said(self) -> str:
        """How messages about the option call it: with the file's name, if it is one."""
        return self.option if self.where == self.option else f"{self.option} {self.where}"

    def numbers(self, values: Any) -> np.ndarray:
        """float64[n] of an Arrow array, nan for null. Raises InputError for a value that is not a number."""
        import pyarrow as pa

        with self.reading():
            return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)

    def column(self, *wanted: str) -> str:
        """The first of these names that there is, else the one column beside `vertex`. Raises InputError."""
        others = [name for name in self.names if name != VERTEX]
        found = next((name for name in wanted if name in others), others[0] if len(others) == 1 else None)
        if VERTEX not in self.names or found is None:
            raise InputError(
                f"{self.where}: has columns {', '.join(self.names) or 'without names'}; needed are {VERTEX} and "
                f"{' or '.join(wanted)}. Name another file, or rename its columns."
            )
        return found

    def batches(self, session: Session, name: str) -> Batches:
        """(store IDs u8[n], Arrow array of the column) of all rows, by batches. Raises InputError for a row of a vertex
        that the graph does not have, or of one that had a row before."""
        seen, first, last = np.zeros(session.meta.vertices, bool), 0, -1
        session.reserve(seen)
        self._by_names = session.meta.id_kind == "strings"
        with self.reading():
            for batch in self._open():
                ids = batch.column(batch.schema.get_field_index(VERTEX))
                listed: Any = ids.to_pylist() if ids.null_count or not is_whole(ids) else ids.to_numpy()
                found = session.store.lookup(
                    listed, VERTEX, InputError, lambda at, first=first: f"{self.where}: {show_row(first + at)}: "
                )
                ascends = isinstance(listed, np.ndarray) and _ascends(listed, last)  # as gstream writes answers
                last = MOST_ID if not ascends else int(listed[-1]) if len(listed) else last
                if not ascends and (seen[found].any() or not _ascends(np.sort(found), -1)):
                    alone = np.zeros(len(found), bool)
                    alone[np.unique(found, return_index=True)[1]] = True
                    at = int(np.flatnonzero(seen[found] | ~alone)[0])
                    raise InputError(
                        f"{self.where}: {show_row(first + at)}: vertex {listed[at]} has a row before. Drop one."
                    )
                seen[found] = True
                yield found, batch.column(batch.schema.get_field_index(name))
                first += len(found)
        session.release(seen)


def _ascends(numbers: np.ndarray, last: int) -> bool:
    """Whether each number is greater than the one before, and the first than `last`."""
    return len(numbers) == 0 or (int(numbers[0]) > last and bool((numbers[1:] > numbers[:-1]).all()))


def is_whole(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(column.type))


def _read_about(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any] | None:
    try:
        about = json.loads(metadata[ABOUT.encode()]) if metadata and ABOUT.encode() in metadata else None
    except ValueError:
        return None
    return about if isinstance(about, dict) and {"algorithm", "uuid"} <= about.keys() else None  # else another's


def _table_of(given: Any, option: str) -> Any:
    """A pyarrow.Table of what Python holds: another library's table, a mapping or Series, or groups of vertices."""
    import pyarrow as pa

    said = f"{option}: must be a result, a table with a column {VERTEX}, a mapping from vertices, or a file."
    try:
        if hasattr(given, "__arrow_c_stream__"):
            return pa.table(given)
        if hasattr(given, "columns") and hasattr(given, "iloc"):
            return pa.Table.from_pandas(given, preserve_index=False)
        if isinstance(given, Mapping) or hasattr(given, "items"):
            vertices = pa.array(_plain(vertex for vertex, _ in given.items()))
            return pa.table({VERTEX: vertices, "value": _plain(value for _, value in given.items())})
        if isinstance(given, Iterable):
            groups = [list(group) for group in given]
            numbers = [number for number, group in enumerate(groups) for _ in group]
            return pa.table({VERTEX: _plain([vertex for group in groups for vertex in group]), "value": numbers})
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{said[:-1]}: {str(error).splitlines()[0].rstrip('.')}.") from None
    raise UsageError(said)


def _plain(values: Iterable[Any]) -> list[Any]:
    return [value.item() if hasattr(value, "item") else value for value in values]


def _numbers_of(given: Any) -> np.ndarray | None:
    """integers[n], where that is what is given."""
    if isinstance(given, list | tuple) and given and all(isinstance(value, int | np.integer) for value in given):
        given = np.array(given)
    return given if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iu" else None


def given_communities(session: Session, given: Any) -> np.ndarray:
    """id[V]: communities by numbers from 0 on, each vertex's. given: GivenAnswer's, groups of vertices, or for each
    vertex a whole number, in the natural order. Raises UsageError (nothing given, or numbers that are not as many as
    vertices), InputError (a vertex without a community, or with two)."""
    if given is None:
        raise UsageError("modularity: no partition was given. Pass --partition FILE with columns vertex and community.")
    vertices = session.meta.vertices
    if (numbered := _numbers_of(given)) is not None:
        if len(numbered) != vertices:
            raise UsageError(
                f"--partition: has {len(numbered)} numbers, and the graph {vertices} vertices. Give one each."
            )
        side = np.unique(numbered, return_inverse=True)[1].astype(session.id_dtype)
        return side if session.meta.order == "natural" else side[session.natural_ids()]
    answer = GivenAnswer(given, "--partition")
    name = answer.column("community", "component", "value")
    label, there = np.zeros(vertices, np.int64), np.zeros(vertices, bool)
    session.reserve(label, there, label, label)
    numbers: dict[Any, int] = {}
    number: Callable[[Any], int] = lambda value: numbers.setdefault(value, len(numbers))  # noqa: E731
    for found, values in answer.batches(session, name):
        if values.null_count:
            where = int(np.flatnonzero(values.is_null())[0])
            raise InputError(
                f"{answer.where}: vertex {session.user_ids(found[[where]])[0]} has no {name}. Give it one."
            )
        if is_whole(values):
            label[found] = values.to_numpy()
        else:
            with answer.reading():
                coded = values.dictionary_encode()
            codes = np.array([number(value) for value in coded.dictionary.to_pylist()], np.int64)
            label[found] = codes[coded.indices.to_numpy()] if len(codes) else 0
        there[found] = True
    if not there.all():
        lacking = session.user_ids(np.flatnonzero(~there)[:1])[0]
        raise InputError(f"{answer.where}: has no {name} of vertex {lacking}. Give each vertex one.")
    side = np.unique(label, return_inverse=True)[1].reshape(vertices).astype(session.id_dtype)
    session.release(label, there, label, label)
    return side
