"""`gstream.convert`, `generate` and `from_*`: graphs from files, tables, arrays and other libraries' graphs.

Each gives an open Graph; `graph.conversion` says what was read for what, and how long it took. Without `store` the
graph lies in memory, or in a temporary folder that goes with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from gstream.interop.options import ReadOptions, StoreOptions, UpdateOptions, refuse_unknown, split_options, spoken
from gstream.options.values import switch
from gstream.options.wording import in_python
from pagestore.errors import UsageError

if TYPE_CHECKING:
    from gstream.graph import Graph
    from pagestore.generate import GeneratedSource

PathLike = str | os.PathLike
M = TypeVar("M", bound=Callable[..., Any])
KINDS = ("rmat", "uniform", "grid")
ENDS = {"source_column": "source", "target_column": "target", "weight_column": "weight", "weights": "weight"}


def door(options: Any = StoreOptions, **others: str) -> Callable[[M], M]:
    """Decorates a function of the Python package: unknown keywords are refused, errors name the keywords of the call.

    options: the TypedDict of further keywords. others: those that are called otherwise than the flag.
    """

    def around(function: M) -> M:
        own = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]

        @wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            with in_python(spoken(**others)):
                refuse_unknown(named, [*own, *options.__annotations__])
                return function(*arguments, **named)

        return called  # type: ignore[return-value]

    return around


@door(ReadOptions)
def convert(
    inputs: PathLike | Sequence[PathLike], store: PathLike | None = None, **options: Unpack[ReadOptions]
) -> Graph:
    """A graph of one or several files, as `gstream convert`: text, CSV, Parquet, NumPy, Matrix Market, ...

    inputs: names of files of one graph. store: the store to write; None: a temporary one. options: the command line's,
    with _ for -; `--no-weights` is weights=False, `--undirected` directed=False, `--no-header` header=False.
    Lines that were skipped, and what may be read otherwise than was meant, are warnings; `graph.conversion` has the
    whole report. Raises InputError for files that are no graph, UsageError, ResourceError.
    """
    from gstream.interop.files import opened_files, paths_of, skipped_file
    from gstream.interop.storing import (
        converted,
        place_of,
        refuse_stripes_without_name,
        removed_on_failure,
        work_shown,
    )

    given = paths_of(inputs)
    hook = work_shown(options.get("progress"))
    path, folder = place_of(store, options.get("workdir"))
    with removed_on_failure(folder):
        skipped = skipped_file(path) if options.get("bad_lines") == "skip" and folder is None else None
        storing, reading = split_options(options, skipped)
        refuse_stripes_without_name(store, storing)
        with opened_files(given, path, storing, reading, hook) as (source, stale):
            graph = converted(source, path, folder, storing, options, hook)
        if stale is not None and not graph.conversion["skipped_lines"]:
            stale.unlink(missing_ok=True)
    return graph


@door(UpdateOptions)
def update(
    store: PathLike, new: PathLike, *, add: PathLike | Sequence[PathLike] = (),
    remove: PathLike | Sequence[PathLike] = (), **options: Unpack[UpdateOptions],
) -> Graph:  # fmt: skip
    """The graph of `store` with the edges of files added and removed, written as the store `new`; as `gstream update`.

    Removals come first, and take all edges of their two ends. Raises UsageError, InputError, ResourceError.
    """
    from gstream.graph import Graph
    from gstream.interop.files import SEVERAL, path_of
    from gstream.interop.storing import warn, work_shown
    from gstream.interop.updating import update_files
    from pagestore.store import open_store

    added, removed = (
        [path_of(one, name) for one in (each if isinstance(each, SEVERAL) and not isinstance(each, str) else [each])]
        for each, name in ((add, "add"), (remove, "remove"))
    )
    hook = work_shown(options.get("progress"))
    report, assumed = update_files(path_of(store, "store"), path_of(new, "new"), added, removed, options, hook)
    graph = Graph(open_store(new))
    say = spoken()
    graph.conversion = {**report.as_dict(), "notes": list(map(say, [*assumed, *report.notes]))}
    for line in map(say, report.notes):
        warn(line)
    return graph


@door()
def generate(
    kind: str, store: PathLike | None = None, *, scale: int = 20, edge_factor: int = 16, seed: int = 1,
    scramble: bool = False, weights: bool = False, **options: Unpack[StoreOptions],
) -> Graph:  # fmt: skip
    """A graph from a seed: "rmat" (Graph500's), "uniform" or "grid", of 2^scale vertices.

    edge_factor: edges a vertex; a grid has its own. scramble: number the vertices at random. weights: integers from 1
    to 255. store: the store to write; None: a temporary one. Raises UsageError.
    """
    from gstream.interop.storing import graph_of

    source = generated_source(kind, scale, edge_factor, seed, scramble, weights)
    storing, _ = split_options(options)
    return graph_of(source, store, storing, options)


def generated_source(
    kind: str, scale: int, edge_factor: int, seed: int, scramble: bool, weights: bool
) -> GeneratedSource:
    """The edges of `generate`. Raises UsageError."""
    from pagestore import generate as generators

    if kind not in KINDS:
        raise UsageError(f"{kind}: no such graph; it is one of {', '.join(KINDS)}.")
    if kind == "grid":
        return generators.grid(scale, seed, scramble=scramble, weights=weights)
    make = generators.rmat if kind == "rmat" else generators.uniform
    return make(scale, edge_factor, seed, scramble=scramble, weights=weights)


@door(StoreOptions, **ENDS)
def from_edges(
    source: Any, target: Any = None, weight: Any = None, *, bad_lines: str = "fail", store: PathLike | None = None,
    num_vertices: int | None = None, **options: Unpack[StoreOptions],
) -> Graph:  # fmt: skip
    """A graph of edges source[i] -> target[i]: arrays, lists or columns of integers, or of strings.

    weight: one finite number an edge; None: no weights. num_vertices: the vertices are 0..N-1, edges or not.
    bad_lines: "skip" leaves out rows that are no edges: a null, an ID below 0, a weight that is not finite. A warning
    counts them; beside a named store, a file lists them. store: the store to write; None: a temporary one. Raises
    UsageError for columns that do not fit together, InputError for a row that is no edge.
    """
    from gstream.interop.sources import edges_source
    from gstream.interop.storing import graph_of_edges

    if target is None:
        raise UsageError("from_edges takes sources and targets apart: from_edges(*zip(*pairs)), or of an array [n, 2] "
                         "from_edges(*edges.T).")  # fmt: skip

    def made(bad: Any, ids: Any) -> Any:
        edges = edges_source(source, target, None if weight is False else weight, bad, ids)
        if num_vertices is not None and edges.names is not None:
            raise UsageError("--num-vertices: is about numbers, but the IDs here are text. Drop the option.")
        if num_vertices is not None:
            edges.vertices = num_vertices
        return edges

    return graph_of_edges(made, store, bad_lines, options, num_vertices=num_vertices)


@door(StoreOptions, **ENDS)
def from_arrow(
    data: Any, source: int | str | None = None, target: int | str | None = None, weight: int | str | bool | None = None,
    *, where: str | None = None, bad_lines: str = "fail", store: PathLike | None = None,
    num_vertices: int | None = None, **options: Unpack[StoreOptions],
) -> Graph:  # fmt: skip
    """A graph of a table's rows. data: anything with `__arrow_c_stream__`: pyarrow, pandas, Polars, DuckDB relations.

    A stream is read once, batch by batch, within `memory`. source, target, weight: columns by name, or by number from
    1; None: by known names (src/dst, from/to, ..., weight), or the first ones of two or three. weight=False leaves
    weights out. IDs are integers or strings.
    where: a condition on rows, as "amount > 100". bad_lines: "skip" leaves out rows that are no edges: a null, an ID
    below 0, a weight that is not finite. A warning counts them; beside a named store, a file lists them.
    store: the store to write; None: a temporary one. Raises InputError for rows that are no edges, UsageError for
    columns that are not there.
    """
    from gstream.interop.tables import graph_of_table

    return graph_of_table(data, (source, target, weight), (where, bad_lines), store, num_vertices, options)


@door(StoreOptions, **ENDS)
def from_pandas(
    frame: Any, source: int | str | None = None, target: int | str | None = None,
    weight: int | str | bool | None = None, *, where: str | None = None, bad_lines: str = "fail",
    store: PathLike | None = None, num_vertices: int | None = None, **options: Unpack[StoreOptions],
) -> Graph:  # fmt: skip
    """A graph of the rows of a pandas.DataFrame, without its index; otherwise as `from_arrow`.

    A whole number that is a label of the frame names that column.
    """
    from gstream.interop.tables import graph_of_table

    return graph_of_table(
        frame, (source, target, weight), (where, bad_lines), store, num_vertices, options, pandas=True
    )


@door(StoreOptions, **ENDS)
def from_polars(
    frame: Any, source: int | str | None = None, target: int | str | None = None,
    weight: int | str | bool | None = None, *, where: str | None = None, bad_lines: str = "fail",
    store: PathLike | None = None, num_vertices: int | None = None, **options: Unpack[StoreOptions],
) -> Graph:  # fmt: skip
    """A graph of the rows of a polars.DataFrame, or of a LazyFrame once it is collected; otherwise as `from_arrow`."""
    from gstream.interop.tables import graph_of_table

    table = frame.collect() if hasattr(frame, "collect") else frame
    return graph_of_table(table, (source, target, weight), (where, bad_lines), store, num_vertices, options)


@door(StoreOptions, **ENDS)
def from_networkx(
    graph: Any, weight: str | bool | None = "weight", *, bad_lines: str = "fail", store: PathLike | None = None,
    **options: Unpack[StoreOptions],
) -> Graph:  # fmt: skip
    """A graph of NetworkX: its nodes, integers from 0 up or strings, and edges, with or without a direction.

    weight: the edge attribute; edges without it weigh 1. False or None: no weights; so if no edge has "weight".
    bad_lines: "skip" leaves out edges whose weight is no finite number, as `from_edges`. Raises UsageError for nodes of
    other kinds, and for another attribute that no edge has, InputError for a weight that is no finite number.
    """
    from gstream.interop.graphs import check_networkx, networkx_source
    from gstream.interop.storing import graph_of_edges

    check_networkx(graph)
    return graph_of_edges(
        lambda bad, _: networkx_source(graph, weight, bad), store, bad_lines, options, directed=graph.is_directed()
    )


@door(StoreOptions, **ENDS)
def from_scipy(
    matrix: Any, weight: bool = True, *, bad_lines: str = "fail", store: PathLike | None = None,
    **options: Unpack[StoreOptions],
) -> Graph:  # fmt: skip
    """A graph of a scipy.sparse matrix or array: entry (i, j) is an edge from i to j with that weight.

    The vertices are 0..n-1. weight=False leaves the values out, as those of boolean matrices are. directed=False takes
    a symmetric matrix, or one triangle of it, for undirected edges. Entries at one place, as a COO matrix may have, are
    parallel edges: call matrix.sum_duplicates() before, to add them up. bad_lines: "skip" leaves out entries that are
    no finite numbers, as `from_edges`. Raises UsageError for a matrix that is not square, InputError for a damaged one
    and for an entry that is no finite number.
    """
    from gstream.interop.matrices import matrix_source
    from gstream.interop.storing import graph_of_edges

    read = switch("weight", weight)
    return graph_of_edges(
        lambda bad, _: matrix_source(matrix, read, options.get("directed"), bad), store, bad_lines, options
    )


@door(StoreOptions, **ENDS)
def from_igraph(
    graph: Any, weight: str | bool | None = "weight", *, bad_lines: str = "fail", store: PathLike | None = None,
    **options: Unpack[StoreOptions],
) -> Graph:  # fmt: skip
    """A graph of igraph. IDs are the vertices' names where all are different strings, else igraph's numbers.

    weight, bad_lines: as `from_networkx`. Raises UsageError and InputError as it does.
    """
    from gstream.interop.graphs import check_igraph, igraph_source
    from gstream.interop.storing import graph_of_edges

    check_igraph(graph)
    return graph_of_edges(
        lambda bad, _: igraph_source(graph, weight, bad), store, bad_lines, options, directed=graph.is_directed()
    )
