"""Edges that stay in the store's pages: rows of a table, read when they are asked for, a few pages at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gstream.algorithms.subgraphs.extract import copy_edges
from gstream.hostcode.parts import make_parts
from gstream.results.column import Column
from gstream.results.tables import Table
from pagestore.errors import StoreError

STEP_BYTES = 4 << 20  # pages that are read at once
WHOLE_PAGE = 1 << 62  # edges a part: more than any page has


@dataclass(frozen=True)
class Chosen:
    """Which edges: those of topology `name` that extract.py takes with near, far, once and natural. pull: the pages
    hold in-lists. counts: int64[pages], edges of each page."""

    name: str
    pull: bool
    near: np.ndarray
    far: np.ndarray
    once: bool
    natural: np.ndarray
    counts: np.ndarray


class EdgeTable(Table):
    """Columns source, target and, of a store with weights, weight; a row an edge, in the order of the store's pages.

    Pages without a row are not read; the others are read each time that rows are asked for, 4 MiB or one page at a
    time.
    """

    _whole = False

    def __init__(self, store: Any, chosen: Chosen, summary: dict[str, Any]) -> None:
        ends, kind = np.empty(0, store.layout.id_dtype), store.topology(chosen.name).weight_dtype
        columns = [Column("source", ends, holds="store"), Column("target", ends, holds="store")]
        if kind is not None:
            columns.append(Column("weight", np.empty(0, kind)))
        super().__init__(store, columns, summary)
        self._chosen = chosen

    def __len__(self) -> int:
        return int(self._chosen.counts.sum())

    def _parts(self) -> Iterator[list[np.ndarray]]:
        """source, target (store IDs) and weight of the rows of a few pages. StoreError: a damaged or changed page."""
        chosen, topology = self._chosen, self._store.topology(self._chosen.name)
        step = max(1, STEP_BYTES // topology.layout.page_bytes)
        with topology.reader() as reader:
            for first, end in _runs(np.flatnonzero(chosen.counts), step):
                words = reader.read(first, end - first).view(topology.layout.id_dtype)
                rows, weights = int(chosen.counts[first:end].sum()), words
                if topology.weight_dtype is not None:
                    weights = reader.read_weights(first, end - first).view(topology.weight_dtype)
                owner, other = (np.empty(rows, words.dtype) for _ in range(2))
                weight = np.empty(rows, weights.dtype)
                parts = make_parts(words, np.arange(end - first), WHOLE_PAGE)
                lists = (chosen.near, chosen.far, chosen.once, chosen.natural)
                copied = copy_edges(words, weights, parts, *lists, len(self._columns) > 2, owner, other, weight)
                if copied != rows:
                    raise StoreError(
                        f"{topology.name_page(first)} and those up to {end - 1} have {copied} of the edges asked for; "
                        f"{rows} were counted. The store has changed since: run again."
                    )
                ends = [other, owner] if chosen.pull else [owner, other]
                yield [*ends, weight][: len(self._columns)]


def _runs(pages: np.ndarray, step: int) -> Iterator[tuple[int, int]]:
    """(first, end) of runs of neighbouring pages, `step` of them at most."""
    breaks = np.flatnonzero(np.diff(pages) != 1) + 1
    for run in np.split(pages, breaks):
        for at in range(0, len(run), step):
            part = run[at : at + step]
            yield int(part[0]), int(part[-1]) + 1
