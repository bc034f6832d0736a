"""Entries of a scipy.sparse matrix as edges. Its maker has loaded SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.interop.columns import Given, edges_left
from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import BadLines
from pagestore.inputs.base import CHUNK_EDGES, EdgeChunk, NumberedSource
from pagestore.inputs.columns import IdRange, checked_ids, checked_weights
from pagestore.io import Buffers
from pagestore.memory import ArraySource


class MatrixSource(NumberedSource):
    """Entries (i, j) of a compressed scipy.sparse matrix as edges i -> j, or j -> i where it is compressed by columns.

    A stretch of the entries becomes edges when it is asked for, from any thread.
    """

    def __init__(self, matrix: Any, weighted: bool, name: str) -> None:
        super().__init__()
        self._matrix, self._by_columns = matrix, matrix.format == "csc"
        self.name, self.weighted, self.chunk_edges = name, weighted, CHUNK_EDGES
        self.vertices, self.edge_count = matrix.shape[0], int(matrix.indptr[-1])
        self._ids = IdRange(0, max(self.vertices - 1, 0), f"the matrix has {self.vertices} rows and columns")

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """See NumberedSource."""
        matrix, first = self._matrix, number * self.chunk_edges
        last = min(first + self.chunk_edges, self.edge_count)
        near = _lines(matrix, first, last).astype(np.uint64)
        far = checked_ids(self.name, "index", first, matrix.indices[first:last], self._ids)
        weight = checked_weights(self.name, first, matrix.data[first:last]) if self.weighted else None
        return EdgeChunk(far, near, weight) if self._by_columns else EdgeChunk(near, far, weight)


def _lines(matrix: Any, first: int, last: int) -> np.ndarray:
    """int64[last - first]: the rows that entries of a compressed matrix are in, or the columns."""
    line = max(int(np.searchsorted(matrix.indptr, first, "right")) - 1, 0)
    end = int(np.searchsorted(matrix.indptr, last, "left"))
    return np.repeat(np.arange(line, end), np.diff(np.clip(matrix.indptr[line : end + 1], first, last)))


def matrix_source(
    matrix: Any, weights: bool, directed: bool | None, bad: BadLines, name: str = "matrix"
) -> NumberedSource:
    """Entries of a scipy.sparse matrix or array; boolean ones are no weights. For directed=False each edge once.

    bad: what is done with entries that are no finite numbers. Raises UsageError for other objects, a matrix that is
    not square, or is neither symmetric nor a triangle where directed=False; InputError for a damaged one, and for an
    entry that is no weight.
    """
    if not hasattr(matrix, "tocoo") or not hasattr(matrix, "format"):
        raise UsageError(
            f"{name}: a {type(matrix).__name__} is no matrix of scipy.sparse. Pass scipy.sparse.csr_array(matrix)."
        )
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise UsageError(
            f"{name}: has the shape {matrix.shape}; the matrix of a graph is square. Pad it with empty rows."
        )
    if matrix.format in ("csr", "csc"):
        _check_lines(matrix, name)
    weights = weights and matrix.dtype.kind != "b"
    if weights and _odd_entry(matrix, name):
        matrix = _finite(matrix, name, bad)
    if directed is False:
        matrix = _one_triangle(matrix if weights else _pattern(matrix), name)
    if matrix.format in ("csr", "csc"):
        return MatrixSource(matrix, weights, name)
    entries = matrix.tocoo()
    data = checked_weights(name, 0, entries.data) if weights else None
    return ArraySource(entries.coords[0], entries.coords[1], data, vertices=matrix.shape[0], name=name)


def _check_lines(matrix: Any, name: str) -> None:
    """Raise InputError where the lines of a compressed matrix do not follow each other in its entries."""
    bounds, room = matrix.indptr, min(len(matrix.indices), len(matrix.data))
    fits = len(bounds) == matrix.shape[0] + 1 and bounds[0] == 0 and bounds[-1] <= room
    if not fits or (bounds[1:] < bounds[:-1]).any():
        raise InputError(
            f"{name}: its indptr does not rise from 0 to the number of its entries. Make the matrix again; "
            "matrix.check_format() says what is wrong."
        )


def _odd_entry(matrix: Any, name: str) -> bool:
    """Whether an entry is no finite number. Raises InputError for entries of other types."""
    data = matrix.data if matrix.format in ("csr", "csc", "coo") else matrix.tocoo().data
    checked_weights(name, 0, data[:0])  # the type
    parts = (data[first : first + CHUNK_EDGES] for first in range(0, len(data), CHUNK_EDGES))
    return data.dtype.kind == "f" and not all(np.isfinite(part).all() for part in parts)


def _finite(matrix: Any, name: str, bad: BadLines) -> Any:
    """The matrix without the entries that are no finite numbers. Raises InputError unless bad lines are skipped."""
    from scipy import sparse

    entries = matrix.tocoo()
    rows, columns = entries.coords
    given = [Given("row", rows), Given("column", columns), Given("weight", entries.data)]
    *ends, data = edges_left(name, given, None, bad, lambda at: f"entry ({rows[at]}, {columns[at]})")
    return sparse.coo_array((data, tuple(ends)), shape=matrix.shape)


def _pattern(matrix: Any) -> Any:
    """Where a matrix has entries, whatever they are."""
    from scipy import sparse

    lines = matrix.tocsr()
    return sparse.csr_array((np.ones(len(lines.data), bool), lines.indices, lines.indptr), shape=matrix.shape)


def _one_triangle(matrix: Any, name: str) -> Any:
    """The entries on and above the diagonal where the matrix is symmetric; all where they are on one side of it."""
    from scipy import sparse

    upper, lower = sparse.triu(matrix, 1, "csr"), sparse.tril(matrix, -1, "csr")
    if not upper.nnz or not lower.nnz:
        return matrix
    if (upper != lower.T.tocsr()).nnz:
        raise UsageError(
            f"{name}: is not symmetric, so its edges have a direction. Leave directed=False out, or pass one triangle, "
            "as of matrix + matrix.T."
        )
    return sparse.triu(matrix, 0, "csr")
