"""Edge sources over what Python holds: arrays, tables, matrices, graphs of NetworkX and igraph. Nothing is copied that
need not be; the maker of an object has loaded its library."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np

from pagestore.errors import InputError, UsageError, plain
from pagestore.inputs.base import CHUNK_EDGES, EdgeChunk, NumberedSource, StringNames
from pagestore.inputs.columns import IdRange, checked_weights
from pagestore.io import Buffers
from pagestore.memory import ArraySource

STRINGS = "a vertex is a whole number from 0 to 2^63-1, or a string; all of them are of one kind"


def edges_source(source: Any, target: Any, weight: Any = None, name: str = "edges") -> ArraySource:
    """Edges source[i] -> target[i]: integers or strings, in anything that NumPy or Arrow takes for a column.

    Raises UsageError for columns of other kinds and of different lengths, InputError for a missing value.
    """
    ends = [_column(name, what, values) for what, values in (("source", source), ("target", target))]
    weight = None if weight is None else checked_weights(name, 0, np.asarray(weight))
    if len({len(end) for end in ends}) > 1 or (weight is not None and len(weight) != len(ends[0])):
        lengths = [len(end) for end in ends] + ([] if weight is None else [len(weight)])
        raise UsageError(f"{name}: source, target and weight have different lengths: {', '.join(map(str, lengths))}.")
    if all(isinstance(end, np.ndarray) for end in ends):
        return ArraySource(ends[0], ends[1], weight, name=name)
    if any(isinstance(end, np.ndarray) for end in ends):
        raise UsageError(f"{name}: one end has numbers, the other strings; {STRINGS}. Convert one of them.")
    names, indices = numbered_names(ends)
    return ArraySource(indices[0], indices[1], weight, name=name, names=names)


def _column(name: str, what: str, values: Any) -> Any:
    """Integers as a NumPy array, strings as an Arrow large_string array."""
    found = values if hasattr(values, "__arrow_array__") else np.asarray(values)
    if isinstance(found, np.ndarray) and (found.dtype.kind in "iu" or not len(found)):
        return found.astype(np.int64) if found.dtype.kind not in "iu" else found
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column = pa.array(found if not isinstance(found, np.ndarray) or found.dtype.kind != "U" else found.tolist())
    except (pa.ArrowException, OverflowError):
        column = pa.nulls(0, pa.null())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count:
        at = pc.index(column.is_null(), True).as_py()
        raise InputError(f"{name}: row {at}: {what} is missing; an edge has a value there. Drop the row.")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type):
        return column.to_numpy(zero_copy_only=False)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    kind = found.dtype if isinstance(found, np.ndarray) else column.type
    raise UsageError(f"{name}: {what} is of type {kind}; {STRINGS}. Convert the column.")


def numbered_names(columns: list[Any]) -> tuple[StringNames, list[np.ndarray]]:
    """Distinct strings of Arrow large_string arrays, ascending by UTF-8 bytes, and each column as numbers of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pa.concat_arrays([pa.array([], pa.large_string()), *columns]).dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    numbers = rank[encoded.indices.to_numpy()] if len(encoded) else np.empty(0, np.int64)
    cuts = np.cumsum([len(column) for column in columns])[:-1]
    return string_names(encoded.dictionary.take(pa.array(order))), np.split(numbers, cuts) if columns else []


def string_names(ascending: Any) -> StringNames:
    """Names of an Arrow large_string array without nulls."""
    _, offsets, data = ascending.buffers()
    ends = np.frombuffer(offsets, np.int64)[ascending.offset :][: len(ascending) + 1]
    characters = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return StringNames((ends - ends[0]).astype(np.uint64), characters[ends[0] : ends[-1]])


def vertices_source(
    vertices: list[Any], source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, name: str
) -> ArraySource:
    """Edges between places in a list of distinct vertices, all integers or all strings. Those without edges stay.

    Raises UsageError where a vertex is something else.
    """
    if all(isinstance(vertex, Integral) and not isinstance(vertex, bool) for vertex in vertices):
        try:
            ids = np.array(vertices, np.int64)
        except OverflowError:
            raise UsageError(f"{name}: a vertex is past 2^63-1; {STRINGS}. Renumber the vertices.") from None
        if len(ids) and int(ids.min()) < 0:
            raise UsageError(f"{name}: vertex {ids.min()} is negative; {STRINGS}. Renumber the vertices.")
        order = np.argsort(ids)
        more: dict[str, Any] = {"ids": ids[order]}
    elif all(isinstance(vertex, str) for vertex in vertices):
        import pyarrow as pa

        try:
            names = pa.array(vertices, pa.large_string())
        except UnicodeEncodeError:
            raise UsageError(f"{name}: a vertex has lone surrogates, which no UTF-8 has. Rename it.") from None
        order = pa.compute.array_sort_indices(names).to_numpy().astype(np.int64)
        more = {"names": string_names(names.take(pa.array(order)))}
    else:
        odd = next(
            v for v in vertices if isinstance(v, bool) or not isinstance(v, str | Integral) or _unlike(v, vertices)
        )
        raise UsageError(
            f"{name}: vertex {plain(repr(odd))} is a {type(odd).__name__}; {STRINGS}. Renumber them, as "
            "networkx.convert_node_labels_to_integers does."
        )
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return ArraySource(place[source], place[target], weight, name=name, **more)


def _unlike(vertex: Any, vertices: list[Any]) -> bool:
    """Whether a vertex is a string where the first one is none, or the other way round."""
    return isinstance(vertex, str) != isinstance(vertices[0], str)


def _own_adjacencies(graph: Any) -> bool:
    """Whether the class of a graph of NetworkX defines anew what a node's neighbours are."""
    named = ("__getitem__", "neighbors", "adjacency", "adj")
    return any(name in vars(kind) for kind in _kinds(type(graph)) for name in named)


def _kinds(kind: type) -> list[type]:
    """A class and those it inherits from, without NetworkX's own."""
    return [one for one in kind.__mro__[:-1] if not one.__module__.startswith("networkx.classes.")]


def networkx_edges(
    graph: Any, weight: str | None = "weight"
) -> tuple[list[Any], np.ndarray, np.ndarray, np.ndarray | None]:
    """(nodes in the graph's order, places of the sources, of the targets, weights): what any graph of NetworkX holds.

    weight: the edge attribute; edges without it weigh 1, as NetworkX has it. None, or no edge has it: no weights.
    Raises UsageError for a class that has adjacencies of its own.
    """
    if _own_adjacencies(graph):
        raise UsageError(
            f"NetworkX's graph: a {type(graph).__name__} has adjacencies of its own, which its edges may not show. "
            "Pass a copy, as networkx.Graph(graph.edges)."
        )
    nodes = list(graph)
    place = {node: at for at, node in enumerate(nodes)}
    pairs = chain.from_iterable((place[u], place[v]) for u, v in graph.edges())
    ends = np.fromiter(pairs, np.int64).reshape(-1, 2)
    weights = None
    if weight is not None:
        given = [value for _, _, value in graph.edges(data=weight)]
        if any(value is not None for value in given):
            weights = np.array([1 if value is None else value for value in given])
    return nodes, ends[:, 0], ends[:, 1], weights


class MatrixSource(NumberedSource):
    """Entries (i, j) of a compressed scipy.sparse matrix as edges i -> j, or j -> i where it is compressed by columns.

    A stretch of the entries becomes edges when it is asked for, from any thread.
    """

    def __init__(self, matrix: Any, by_columns: bool, weighted: bool, name: str) -> None:
        super().__init__()
        self._matrix, self._by_columns = matrix, by_columns
        self.name, self.weighted, self.chunk_edges = name, weighted, CHUNK_EDGES
        self.vertices, self.edge_count = matrix.shape[0], len(matrix.indices)
        self._ids = IdRange(0, max(self.vertices - 1, 0), f"the matrix has {self.vertices} rows")

    def chunk(self, number: int, buffers: Buffers | None = None) -> EdgeChunk:
        """See NumberedSource."""
        matrix, first = self._matrix, number * self.chunk_edges
        last = min(first + self.chunk_edges, self.edge_count)
        row = max(int(np.searchsorted(matrix.indptr, first, "right")) - 1, 0)
        end = int(np.searchsorted(matrix.indptr, last, "left"))
        bounds = np.clip(matrix.indptr[row : end + 1], first, last)
        near = np.repeat(np.arange(row, end, dtype=np.uint64), np.diff(bounds))
        far = matrix.indices[first:last].astype(np.uint64)
        weight = checked_weights(self.name, first, matrix.data[first:last]) if self.weighted else None
        return EdgeChunk(far, near, weight) if self._by_columns else EdgeChunk(near, far, weight)


def matrix_source(matrix: Any, weights: bool, directed: bool | None, name: str = "matrix") -> NumberedSource:
    """Entries of a scipy.sparse matrix or array; boolean ones are no weights. For directed=False each edge once.

    Raises UsageError for a matrix that is not square, or is neither symmetric nor a triangle where directed=False.
    """
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise UsageError(
            f"{name}: has the shape {matrix.shape}; the matrix of a graph is square. Pad it with empty rows."
        )
    if directed is False:
        matrix = _one_triangle(matrix, name)
    weights = weights and matrix.dtype.kind != "b"
    if matrix.format in ("csr", "csc"):
        return MatrixSource(matrix, matrix.format == "csc", weights, name)
    entries = matrix.tocoo()
    data = checked_weights(name, 0, entries.data) if weights else None
    return ArraySource(entries.coords[0], entries.coords[1], data, vertices=matrix.shape[0], name=name)


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


def igraph_source(graph: Any, weight: str | None) -> tuple[ArraySource, bool]:
    """Edges of an igraph.Graph, and whether it is directed. IDs: the attribute "name" where all names are different
    strings, else igraph's numbers."""
    count = graph.vcount()
    names = graph.vs["name"] if "name" in graph.vs.attributes() else []
    named = len(names) > 0 and all(isinstance(one, str) for one in names) and len(set(names)) == count
    ends = np.fromiter(chain.from_iterable(graph.get_edgelist()), np.int64).reshape(-1, 2)
    weights = None
    if weight is not None and weight in graph.es.attributes():
        weights = np.array([1 if value is None else value for value in graph.es[weight]])
    vertices = names if named else list(range(count))
    return vertices_source(vertices, ends[:, 0], ends[:, 1], weights, "igraph's graph"), graph.is_directed()


def arrow_stream(data: Any) -> tuple[Callable[[], Any], bool, int | None]:
    """(what opens a pyarrow.RecordBatchReader, whether it may be called again, rows if known) of an object that has
    `__arrow_c_stream__`. Raises UsageError for another one."""
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not hasattr(data, "__arrow_c_stream__"):
        raise UsageError(
            f"data: a {type(data).__name__} gives no Arrow stream. Pass a table of pandas, Polars, DuckDB or "
            "pyarrow, or two arrays to gstream.from_edges."
        )
    again = isinstance(data, pa.Table) or type(data).__module__.partition(".")[0] in ("pandas", "polars")
    return lambda: pa.RecordBatchReader.from_stream(data), again, len(data) if again else None
