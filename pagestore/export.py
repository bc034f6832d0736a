"""A store back to an edge list by the user's IDs: `gstream export`.

The file's name says the format (pagestore/rowtext.py). Edges come in page order, which --order changes: sort the lines
to compare two exports. An undirected edge is written once, from the lesser of its user IDs. Memory holds a page and its
translation, and 8 bytes a vertex when IDs are sparse or reordered, or the names. An edge list can't hold vertices
without edges: the report counts them. The file appears whole under its name (pagestore/replacing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pagestore.arrays import BLOCK_BYTES
from pagestore.decode import decode_topology
from pagestore.errors import UsageError
from pagestore.faults import disk_error
from pagestore.replacing import replacing
from pagestore.rowtext import ENDINGS, STDOUT, parted_name, row_file
from pagestore.store import Store

FORMATS = ("text", "el", "wel", "csv", "parquet")
_ENDINGS = {**ENDINGS, ".parquet": "parquet"}
MOST_WHOLE = 2.0**63


@dataclass(frozen=True)
class ExportReport:
    """`edges` written (an undirected edge counts once); `isolated`: vertices that no written edge names.

    `weights_left_out`: the store has weights, and the format holds none.
    """

    edges: int
    isolated: int
    weights_left_out: bool = False


def export_edges(
    store: Store, destination: str, format: str | None = None, weights: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> ExportReport:  # fmt: skip
    """Write all edges of `store` to `destination`; `format` overrides what the name says.

    `progress(pages done, pages in all)`. The file appears under its name when it is complete. Raises UsageError for
    contradictory options, StoreError for a damaged page, ResourceError when the disk is full.
    """
    kind, compression = _kind_of(destination, format)
    weighted = store.meta.weighted and weights and kind != "el"
    if kind == "wel" and not weighted:
        raise UsageError(f"{destination}: .wel has weights, {store.path} has none here. Export to .el instead.")
    edges, pages = 0, store.topology(store.meta.topologies[0]).pages
    with _written(destination) as path, row_file(path, kind, compression, edge_schema(store, weighted)) as rows:
        for number, batch in _edges_of_pages(store, weighted):
            if weighted and kind != "parquet":
                batch = batch.set_column(2, "weight", _in_digits(batch.column(2).to_numpy()))
            rows.put(rows.made(batch))
            edges += len(batch)
            if progress is not None:
                progress(number + 1, pages)
    return ExportReport(edges, _isolated(store), weights and store.meta.weighted and not weighted)


def edge_schema(store: Store, weighted: bool) -> Any:
    """pyarrow.Schema of edges by the user's IDs."""
    import pyarrow as pa

    ids = pa.large_string() if store.meta.id_kind == "strings" else pa.int64()
    weight = [("weight", pa.from_numpy_dtype(store.meta.weight_dtype))] if weighted else []
    return pa.schema([("source", ids), ("target", ids), *weight])


def edge_batches(store: Store, weights: bool, rows: int) -> Iterator[Any]:
    """Edges by the user's IDs as pyarrow.RecordBatches of about `rows` rows, in page order; undirected ones once."""
    import pyarrow as pa

    weighted = store.meta.weighted and weights
    waiting: list[Any] = []
    for _, batch in _edges_of_pages(store, weighted):
        waiting.append(batch)
        if sum(map(len, waiting)) >= rows:
            yield from _cut(waiting, rows)
            waiting = []
    yield from _cut(waiting, rows) if waiting else [pa.RecordBatch.from_pylist([], edge_schema(store, weighted))]


def _cut(batches: list[Any], rows: int) -> Iterator[Any]:
    """The same rows in batches of up to `rows`."""
    import pyarrow as pa

    yield from pa.Table.from_batches(batches).combine_chunks().to_batches(rows)


def _edges_of_pages(store: Store, weighted: bool) -> Iterator[tuple[int, Any]]:
    """(page number, pyarrow.RecordBatch of its edges)."""
    import pyarrow as pa

    topology, names, schema = store.topology(store.meta.topologies[0]), _Names(store), edge_schema(store, weighted)
    for number, page in decode_topology(topology):
        source, target, weight = page.source, page.target, page.weight
        if topology.name == "in":
            source, target = target, source
        if not store.meta.directed:
            once = names.ascend(source, target)
            source, target = source[once], target[once]
            weight = None if weight is None else weight[once]
        columns = [names.of(source), names.of(target)]
        if weight is not None and weighted:
            columns.append(pa.array(weight))
        yield number, pa.record_batch(columns, schema=schema)


@contextmanager
def _written(destination: str) -> Iterator[str]:
    """What to write to: "-" for stdout, else a file that becomes `destination` when the block ends well."""
    if destination != STDOUT:
        with replacing(destination) as stream:
            yield stream.name  # Arrow opens it itself: its streams in C++ close what they are given
        return
    try:
        yield destination
    except BrokenPipeError:
        raise
    except OSError as error:
        raise disk_error(error, destination) from error


def _kind_of(destination: str, format: str | None) -> tuple[str, str | None]:
    """Format and compression by name, for example ("csv", "gzip") for edges.csv.gz."""
    ending, compression = parted_name(destination)
    kind = format or ("text" if destination == STDOUT else _ENDINGS.get(ending))
    if kind is None:
        raise UsageError(
            f"{destination}: the ending says the format; known are {', '.join(_ENDINGS)}, also with .gz or .zst. "
            f"Rename it, or pass --format."
        )
    if kind not in FORMATS:
        raise UsageError(f"--format {kind}: unknown; it is one of {', '.join(FORMATS)}.")
    if kind == "parquet" and (compression or destination == STDOUT):
        raise UsageError(
            f"{destination}: parquet compresses itself and needs a plain file name. Export to NAME.parquet."
        )
    return kind, compression


def _isolated(store: Store) -> int:
    """Vertices with neither out- nor in-edges."""
    count = 0
    for first in range(0, store.meta.vertices, BLOCK_BYTES):
        last = min(first + BLOCK_BYTES, store.meta.vertices)
        count += int(np.count_nonzero((store.out_degree(first, last) == 0) & (store.in_degree(first, last) == 0)))
    return count


class _Names:
    """User IDs of store IDs, as pyarrow arrays."""

    def __init__(self, store: Store):
        self._store, meta = store, store.meta
        self._table: Any = None
        if meta.id_kind == "strings":
            self._table = store.user_ids()
        elif meta.id_kind == "integers" or meta.order != "natural":
            self._table = np.empty(meta.vertices, np.int64)
            for first in range(0, meta.vertices, BLOCK_BYTES):
                last = min(first + BLOCK_BYTES, meta.vertices)
                self._table[store.store_ids(first, last)] = store.user_ids(first, last)

    def ascend(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """bool[n]: where the user's ID of the source is not greater than that of the target."""
        if isinstance(self._table, np.ndarray):
            return self._table[source] <= self._table[target]
        return self._store.natural_of(source) <= self._store.natural_of(target)

    def of(self, store_ids: np.ndarray) -> Any:
        import pyarrow as pa

        if self._table is None:
            return pa.array(store_ids.astype(np.int64) + self._store.meta.id_base)
        if isinstance(self._table, np.ndarray):
            return pa.array(self._table[store_ids])
        return self._table.take(pa.array(self._store.natural_of(store_ids)))


def _in_digits(weight: np.ndarray) -> Any:
    """Weights as an array that pyarrow writes exactly: the fewest digits that tell a float32, but integers whole.

    pyarrow writes float32 123456792 as 123456790, and float64 from 10^10 on with exponents.
    """
    import pyarrow as pa

    if weight.dtype != np.float32:
        return pa.array(weight)
    wide = weight.astype(np.float64)
    whole = (wide == np.rint(wide)) & (np.abs(wide) < MOST_WHOLE)
    if whole.all():
        return pa.array(wide.astype(np.int64))
    fewest = np.asarray(pa.array(weight).cast(pa.string()).cast(pa.float64()))
    return pa.array(np.where(whole, wide, fewest))
