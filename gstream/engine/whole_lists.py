"""Lists of single vertices for one thread: a topology's pages that lie in host memory, or their edges turned round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gstream.engine.run_state import RunState
from gstream.hostcode.transposed import transpose, transposed_bytes
from gstream.paging.page_table import PageTable


@dataclass(frozen=True)
class WholeLists:
    """Pages as kernels look lists up in them (gstream.hostcode.parts.place_of), row by row.

    words: id[pages, W]; weights: weight[pages, W], or none; rows: int64[pages]; first_vertex, last_vertex:
    uint64[pages]; small: small pages; read: bool[pages], those that were, or bool[0]: all. stored: they are the
    store's.
    """

    words: np.ndarray
    weights: np.ndarray
    rows: np.ndarray
    first_vertex: np.ndarray
    last_vertex: np.ndarray
    small: int
    read: np.ndarray
    stored: bool

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
        """Words, rows, first and last vertices, small pages."""
        return self.words, self.rows, self.first_vertex, self.last_vertex, self.small

    @property
    def nothing(self) -> WholeLists:
        """No pages, of the same types."""
        rest = self.rows[:0], self.first_vertex[:0], self.last_vertex[:0], 0, self.read, self.stored
        return WholeLists(self.words[:0], self.weights[:0], *rest)


def stored_lists(run: RunState, table: PageTable, wanted: np.ndarray | None = None) -> WholeLists:
    """Those of a page set that is resident. wanted: int64[n], pages that are read first; then all count as read."""
    plan = run.plan
    there = run.sources.in_memory(table, plan.weights, *(() if wanted is None else (wanted,)))
    weights = run.code.no_weights if there.weights is None else there.weights
    read = there.read if wanted is None else there.read[:0]
    first, last = table.first_vertex, table.last_vertex
    return WholeLists(there.words, weights, table.all_pages(), first, last, table.small_pages, read, True)


def turned_bytes(run: RunState, table: PageTable) -> int:
    """What `turned_lists` takes of host memory."""
    graph, dtype = run.plan.graph, table.weight_dtype if run.plan.weights else None
    return transposed_bytes(graph.vertices, graph.edges, graph.id_bytes, dtype.itemsize if dtype else 0)


def turned_lists(run: RunState, table: PageTable) -> WholeLists | None:
    """The lists of out-neighbours, where `table` has those of in-neighbours, and the other way round. None where the
    plan leaves no room for them."""
    taken = turned_bytes(run, table)
    if taken > run.plan.spare_bytes:
        return None
    there = stored_lists(run, table, table.all_pages())
    made = transpose(there.words, there.weights, table.small_pages, table.first_vertex, run.plan.graph.vertices)
    if made is None:
        return None
    run.engine.note_peak(taken)
    row = np.zeros(1, np.int64)
    return WholeLists(made.words, made.weights, row, made.first_vertex, made.last_vertex, 1, there.read, False)
