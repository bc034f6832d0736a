"""Edge sources over columns, and over edges between listed vertices. Nothing is copied that need not be."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from gstream.interop.columns import STRINGS, Given, edges_left, end_column, weight_column
from pagestore.errors import UsageError, plain
from pagestore.inputs.badlines import BadLines
from pagestore.inputs.base import StringNames
from pagestore.inputs.columns import IdRange
from pagestore.memory import ArraySource


def edges_source(
    source: Any, target: Any, weight: Any, bad: BadLines, ids: IdRange, name: str = "edges"
) -> ArraySource:
    """Edges source[i] -> target[i]: integers or strings, in anything that NumPy or Arrow takes for a column.

    bad: what becomes of rows that are no edges. ids: those that numbers may be.
    Raises UsageError for columns of other kinds and of different lengths, InputError for a row that is no edge.
    """
    ends = [end_column(name, what, values) for what, values in (("source", source), ("target", target))]
    weights = weight_column(name, weight)
    columns = ends if weights is None else [*ends, weights]
    if len(lengths := [len(column) for column in columns]) != lengths.count(lengths[0]):
        raise UsageError(f"{name}: source, target and weight have different lengths: {', '.join(map(str, lengths))}.")
    numbers = [column.numbers for column in ends]
    if any(numbers) and not all(numbers):
        raise UsageError(f"{name}: one end has numbers, the other strings; {STRINGS}. Convert one of them.")
    one, other, left = [*edges_left(name, columns, ids, bad), None][:3]
    if all(numbers):
        return ArraySource(one, other, left, name=name)
    names, (one, other) = numbered_names([one, other])
    return ArraySource(one, other, left, name=name, names=names)


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
    vertices: list[Any], source: np.ndarray, target: np.ndarray, weight: Any, name: str, bad: BadLines
) -> ArraySource:
    """Edges between places in a list of distinct vertices, all integers or all strings. Those without edges stay.

    bad: what becomes of edges whose weight is no finite number. Raises UsageError where a vertex is something else,
    InputError for a weight that is no finite number.
    """
    kinds = set(map(type, vertices))
    if all(issubclass(kind, Integral) and kind is not bool for kind in kinds):
        try:
            ids = np.array(vertices, np.int64)
        except OverflowError:
            raise UsageError(f"{name}: a vertex is past 2^63-1; {STRINGS}. Renumber the vertices.") from None
        if len(ids) and int(ids.min()) < 0:
            raise UsageError(f"{name}: vertex {ids.min()} is negative; {STRINGS}. Renumber the vertices.")
        order = np.argsort(ids)
        more: dict[str, Any] = {"ids": ids[order]}
    elif all(issubclass(kind, str) for kind in kinds):
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
    if (weights := weight_column(name, weight)) is None:
        return ArraySource(place[source], place[target], name=name, **more)
    columns = [Given(what, ends) for what, ends in (("source", source), ("target", target))]
    source, target, weight = edges_left(
        name, [*columns, weights], None, bad,
        lambda at: f"edge {plain(repr(vertices[source[at]]))} to {plain(repr(vertices[target[at]]))}",
    )  # fmt: skip
    return ArraySource(place[source], place[target], weight, name=name, **more)


def _unlike(vertex: Any, vertices: list[Any]) -> bool:
    """Whether a vertex is a string where the first one is none, or the other way round."""
    return isinstance(vertex, str) != isinstance(vertices[0], str)
