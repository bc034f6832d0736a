"""Answers as Python holds them: rows, columns, dictionaries, and the tables of other libraries. Mixed into Result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gstream.options.wording import in_python
from gstream.results.vertex_names import Naming, plain
from pagestore.errors import LibraryMissingError, UsageError
from pagestore.errors import plain as shown
from pagestore.faults import not_installed
from pagestore.sizes import show_seconds, show_things

if TYPE_CHECKING:
    import cupy
    import matplotlib.axes
    import polars
    import pyarrow
    import scipy.sparse

    from gstream.results.column import Column
    from gstream.results.gpu_column import GpuColumn
    from pagestore.store import Store

SHOWN_ROWS = 10  # of a result in a notebook


class ColumnError(UsageError, KeyError):
    """A result has no column of that name."""


class Rows(ABC):
    """What Result offers beside tables and files. Rows are in ascending order of vertex."""

    columns: list[str]
    summary: dict[str, Any]
    _store: Store
    _columns: list[Column]
    _by_vertex: bool

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def arrow_schema(self) -> pyarrow.Schema:
        """Names and types of the columns."""

    @abstractmethod
    def arrow_batches(self) -> Iterator[pyarrow.RecordBatch]:
        """All rows in order."""

    @abstractmethod
    def numpy_rows(self) -> Iterator[tuple[int, np.ndarray]]:
        """(number of the first row, structured rows), in order."""

    @abstractmethod
    def numpy_dtype(self) -> np.dtype:
        """Of structured rows."""

    @abstractmethod
    def _gpu_columns(self, names: Sequence[str]) -> dict[str, GpuColumn] | None:
        """Columns in GPU memory; None where no GPU holds the answer, or has room for them."""

    @abstractmethod
    def top(self, count: int = 20) -> list[dict[str, Any]]:
        """The rows that matter most."""

    def __bool__(self) -> bool:
        """A result is one without rows, too."""
        return True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Rows as tuples of int, float or str; None where there is no value."""
        for batch in self.arrow_batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def __getattr__(self, name: str) -> Any:
        """dict(result) asks for `keys` first: a result of several columns of values has no single one to give."""
        if name == "keys" and len(vars(self).get("columns", ())) != 2:
            return self._not_a_dict
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _not_a_dict(self) -> NoReturn:
        first = next((name for name in self.columns[1:]), self.columns[0])
        raise TypeError(
            f"dict(result): the result has the columns {', '.join(self.columns)}, and a dictionary one value a key. "
            f"Name it, as result.to_dict({first!r})."
        )

    @in_python()
    def __getitem__(self, column: str) -> np.ndarray:
        """A column's values in the order of rows: float, int64 or str objects; "none" is as in `to_numpy`.

        Raises ColumnError, a KeyError, for a column that is not there.
        """
        self._check_column(column)
        parts = [rows[column] for _, rows in self.numpy_rows()]
        return np.concatenate(parts) if parts else np.empty(0, self.numpy_dtype()[column])

    def _check_column(self, column: Any) -> None:
        if column not in self.columns:
            remedy = "" if isinstance(column, str) else " For a vertex's row call result.at(vertex)."
            raise ColumnError(f"{column!r}: no such column; there are {', '.join(self.columns)}.{remedy}")

    @in_python()
    def at(self, vertex: Any) -> dict[str, Any]:
        """The row of one vertex, as a dictionary; None where there is no value. Raises UsageError for no vertex."""
        if not self._by_vertex:
            raise UsageError(
                f"result.at: rows of {', '.join(self.columns)} are not of vertices. Iterate over the result."
            )
        stored, naming = self._store.lookup([vertex], "vertex").astype(np.int64), Naming(self._store)
        row: dict[str, Any] = {"vertex": str(vertex) if self._store.meta.id_kind == "strings" else int(vertex)}
        for column in self._columns:
            values = column.take(stored)
            absent = column.absent(values)
            if column.length:
                row[column.name] = column.arrow(values).to_pylist()[0]
            elif absent is not None and absent[0]:
                row[column.name] = None
            else:
                row[column.name] = (
                    naming.one(column, values[0]) if column.vertices else plain(values.astype(column.dtype)[0])
                )
        return row

    @in_python()
    def to_dict(self, column: str | None = None) -> dict[Any, Any]:
        """{vertex: value} of a column, by default the only one of values; None where there is no value."""
        if column is None and len(self.columns) != 2:
            self._not_a_dict()
        column = self.columns[1] if column is None else column
        self._check_column(column)
        found: dict[Any, Any] = {}
        for batch in self.arrow_batches():
            found.update(zip(batch.column(0).to_pylist(), batch.column(column).to_pylist(), strict=True))
        return found

    def __arrow_c_schema__(self) -> Any:
        """Names and types for Arrow's PyCapsule interface."""
        return self.arrow_schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All rows, as pyarrow, pandas, Polars and DuckDB take them; rows are made while they are read."""
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self.arrow_schema(), self.arrow_batches())
        return reader.__arrow_c_stream__(requested_schema)

    @in_python()
    def to_polars(self) -> polars.DataFrame:
        """A polars.DataFrame of all rows."""
        return _library("polars").DataFrame(self)

    @in_python()
    def to_cupy(self) -> dict[str, cupy.ndarray]:
        """{column: cupy.ndarray} of the columns of numbers; "none" is as in `to_numpy`.

        Where a GPU holds the answer, they are those of `to_gpu`; otherwise they are copied to the current GPU.
        """
        library = _library("cupy")
        numbers = [name for name in self.columns if self.numpy_dtype()[name].base.kind in "iuf"]
        there = self._gpu_columns(numbers)
        return {name: library.asarray(self[name] if there is None else there[name]) for name in numbers}

    @in_python()
    def to_scipy(self) -> scipy.sparse.coo_array:
        """Of edges (subgraph, egonet, ...): a square scipy.sparse.coo_array, its rows the graph's vertices in order.

        Values are the weights, 1 where there are none. Raises UsageError for results whose rows are no edges.
        """
        from scipy import sparse

        if self.columns[:2] != ["source", "target"]:
            raise UsageError("result.to_scipy: the rows are no edges, and a matrix holds edges. Call to_numpy.")
        ends: list[list[np.ndarray]] = [[], []]
        values = []
        for parts in self._parts():
            for one, part in zip(ends, parts, strict=False):
                one.append(self._store.natural_of(part).astype(np.int64))
            values.append(parts[2] if len(parts) > 2 else np.ones(len(parts[0]), np.int64))
        count = self._store.meta.vertices
        if not values:
            return sparse.coo_array((count, count))
        return sparse.coo_array(
            (np.concatenate(values), (np.concatenate(ends[0]), np.concatenate(ends[1]))), shape=(count, count)
        )

    @in_python(force="force")
    def plot(self, column: str | None = None, path: Any = None, force: bool = False) -> matplotlib.axes.Axes:
        """The distribution of a column's numbers, both axes logarithmic: rows by value. By default the first column of
        numbers, of components their sizes, and of up to 2,000 edges (egonet) a drawing.

        path: a file to write as well, .png .svg .pdf ...; force: one that exists is replaced. Returns matplotlib's
        Axes, which a notebook shows. Raises UsageError where matplotlib is not there, the column holds no numbers or,
        without force, the file exists.
        """
        from gstream.reporting.plots import plot_result

        return plot_result(self, column, path, force)

    def _repr_html_(self) -> str:
        """The top rows and the run's line, for notebooks: a table without any style or script."""
        rows = self.top(SHOWN_ROWS)
        names = list(rows[0]) if rows else self.columns
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{_cell(row[name])}</td>' for name in names)}</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        remarks = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks())
        return f"{table}<p>{escape(self.run_line())}</p>{remarks}"

    def remarks(self) -> list[str]:
        """What the command line notes of a run: that it did not converge, and other notes."""
        found = []
        if self.summary.get("converged") is False:
            found.append(f"not converged after {show_things(self.summary.get('supersteps', 0), 'superstep')}")
        if "note" in self.summary:
            found.append(self.summary["note"])
        return found

    def run_line(self) -> str:
        """What was run, and what it took, in a line."""
        summary, rows = self.summary, show_things(len(self), "row")
        stats = summary.get("stats") or {}
        words = [str(summary.get("algorithm", "a program")), rows]
        if "supersteps" in summary:
            words.append(show_things(summary["supersteps"], "superstep"))
        if summary.get("converged") is False:
            words.append("not converged")
        if "seconds" in stats:
            words.append(show_seconds(stats["seconds"]))
        return f"{', '.join(words)}; {shown(summary.get('store', ''))}"


def _cell(value: Any) -> str:
    """A value in a table: escaped, and cut where it is long."""
    if value is None:
        return ""
    return escape(f"{value:.6g}" if isinstance(value, float) else shown(value))


def _library(name: str) -> Any:
    """A library that not everybody has. Raises LibraryMissingError."""
    from importlib import import_module

    load: Callable[[str], Any] = import_module
    try:
        return load(name)
    except ImportError:
        raise LibraryMissingError(not_installed(name, f"to_{name}")) from None
