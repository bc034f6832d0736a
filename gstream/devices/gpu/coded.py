"""Coded pages on a GPU: they cross the link as they are stored, and become pages in its memory (cuda/coded.cu)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gstream.cudacode.generate import UnitShape, unit_of_page_kernels
from gstream.devices.gpu.memory import Memory
from gstream.paging.page_table import PageTable
from pagestore.coding.form import CHUNK

CODED_PAGE = np.dtype(
    [
        (name, "<u8")
        for name in (
            "begin", "weights_begin", "vertex_tasks", "edge_tasks", "weight_tasks", "first_vertex", "last_vertex",
        )
    ]
    + [("records", "<u4"), ("edges", "<u4")]
)  # struct CodedPage of cuda/coded.cu  # fmt: skip
WEIGHTS_AT_ONCE = 1024  # the same constant there


class Decoder:
    """Decodes pages of one topology in a GPU's memory. Made in the GPU's context.

    wrong: set by the GPU where a field names no vertex; `told` reads it.
    """

    def __init__(self, memory: Memory, table: PageTable) -> None:
        """memory: what its arrays are given back with."""
        assert table.places is not None, "pages are not coded"
        self.gpu, self.table, self._last_vertex = memory.gpu, table, max(table.vertices, 1) - 1
        weight = table.weight_dtype
        shape = UnitShape(table.id_dtype, None, np.dtype(np.uint32))
        kernels = self.gpu.load(unit_of_page_kernels("coded", ("coded.cu",), shape))
        self._vertices, self._lists = kernels["decode_vertices_kernel"], kernels["decode_lists_kernel"]
        self._bytes, self._words = kernels["decode_bytes_kernel"], kernels["decode_words_kernel"]
        self._wide, self._zigzag = (
            weight is not None and weight.itemsize == 4,
            weight is not None and weight.kind == "i",
        )
        rows = coded_pages(table)
        self._tasks = {name: rows[name].astype(np.int64) for name in ("vertex_tasks", "edge_tasks", "weight_tasks")}
        self._rows, self._wrong = memory.upload(rows), memory.upload(np.zeros(1, np.uint64))

    def decode(self, first: int, end: int, coded: int, pages: int, stream: Any) -> None:
        """Queue that pages [first, end), whose coded ones lie from address `coded` on, come to lie from `pages` on."""
        given = (coded, pages, self.table.layout.words, self._rows.address, first, end)
        self._vertices(stream, self._blocks(self._vertices, "vertex_tasks", first, end), *given, self._wrong.address)
        blocks = self._blocks(self._lists, "edge_tasks", first, end)
        self._lists(stream, blocks, *given, self._last_vertex, self._wrong.address)

    def decode_weights(self, first: int, end: int, coded: int, pages: int, stream: Any) -> None:
        """The same of their weights."""
        given = (coded, pages, self.table.layout.words, self._rows.address, first, end)
        kernel = self._words if self._wide else self._bytes
        more = (int(self._zigzag),) if self._wide else ()
        kernel(stream, self._blocks(kernel, "weight_tasks", first, end), *given, *more)

    def told(self, stream: Any) -> bool:
        """Whether a field named no vertex, in what is queued on `stream` and before."""
        return bool(self.gpu.fetch(self._wrong.address, 1, np.uint64, stream)[0])

    def _blocks(self, kernel: Any, tasks: str, first: int, end: int) -> int:
        return int(kernel.blocks(int(self._tasks[tasks][end] - self._tasks[tasks][first])))


@dataclass(frozen=True)
class Copied:
    """Queued copies: so many pages and bytes cross the link; work: what queues the rest on the stream it is given."""

    pages: int
    nbytes: int
    work: list[partial[None]]


class KeptCoded:
    """Coded pages of one topology that stay in a GPU's memory, with their weights: the first that come, as long as
    there is room."""

    def __init__(self, memory: Memory, table: PageTable, nbytes: int, weights: bool) -> None:
        """memory: what its array is given back with. nbytes: room."""
        self._sizes = [table.coded_sizes(of) for of in (False, True)[: 1 + weights]]
        self._begins = [np.full(table.pages, -1, np.int64) for _ in self._sizes]
        self._room, self._used = memory.take(nbytes, np.uint8), 0

    def admit(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(bool[n]: which pages are here, bool[n]: which have a place from now on, where the caller puts them)."""
        here = self._begins[0][numbers] >= 0
        sizes = [np.where(here, 0, of[numbers]) for of in self._sizes]
        fresh = ~here & (self._used + np.cumsum(np.sum(sizes, axis=0)) <= self._room.nbytes)
        for of, begins in zip(sizes, self._begins, strict=True):
            ends = self._used + np.cumsum(of[fresh])
            begins[numbers[fresh]] = ends - of[fresh]
            self._used = int(ends[-1]) if len(ends) else self._used
        return here, fresh

    def places(self, numbers: np.ndarray, weights: bool) -> np.ndarray:
        """Addresses, int64[n], of pages that have a place, or of their weights; of others below 0."""
        begins = self._begins[int(weights)][numbers]
        return np.where(begins < 0, begins, begins + self._room.address)


def coded_pages(table: PageTable) -> np.ndarray:
    """CODED_PAGE[pages + 1] of a topology."""
    assert table.places is not None, "pages are not coded"
    rows = np.zeros(table.pages + 1, CODED_PAGE)
    rows["begin"] = table.places.pages // 4
    if table.places.weights is not None:
        rows["weights_begin"] = table.places.weights // 4
    counts = {"vertex_tasks": table.records, "edge_tasks": table.edges}
    for name, items in counts.items():
        rows[name][1:] = np.cumsum(-(-items.astype(np.int64) // CHUNK))
    rows["weight_tasks"] = np.arange(table.pages + 1) * -(-table.layout.words // WEIGHTS_AT_ONCE)
    for name in ("first_vertex", "last_vertex", "records", "edges"):
        rows[name][:-1] = getattr(table, name)
    return rows


def coded_runs(
    numbers: np.ndarray, to: np.ndarray, sizes: np.ndarray, begins: np.ndarray, kept: np.ndarray, here: np.ndarray
) -> list[tuple[int, int]]:
    """Ranges of indices in which pages, their rows and their coded bytes follow each other.

    begins: int64[n], in host memory; kept: their addresses on the GPU, below 0 of those that have none there; here:
    bool[n], which of these hold them.
    """
    apart = (np.diff(numbers) != 1) | (np.diff(to) != 1) | (begins[:-1] + sizes[:-1] != begins[1:])
    apart |= (here[1:] != here[:-1]) | ((kept[:-1] < 0) != (kept[1:] < 0))
    apart |= (kept[1:] >= 0) & (kept[:-1] + sizes[:-1] != kept[1:])
    breaks = (np.flatnonzero(apart) + 1).tolist()
    return list(zip([0, *breaks], [*breaks, len(numbers)], strict=True))
