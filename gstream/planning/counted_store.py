"""A store that is not there: counts of a graph and the pages that it would have, for plans without a file.

Lists are taken to be alike, so that a page holds as many as fit; a real graph's pages differ by a few in a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from pagestore.errors import UsageError
from pagestore.layout import DEFAULT_PAGE_BYTES, DIRECTORY, GROUP_SIZES, ROW, SLOT_WORDS, SMALL, PageLayout
from pagestore.meta import Meta
from pagestore.sizes import show_things
from pagestore.spread import Spread

MOST_EDGES = 1 << 42  # stored ones: the directory of their pages takes a minute and some GiB beyond
MOST_VERTICES = 1 << 40
LIST_WORDS = 1 + SLOT_WORDS  # beside its neighbours
WEIGHT = "f4"


@dataclass(frozen=True)
class CountedTopology:
    """What a plan reads of a topology. head_rows: vertices whose first neighbours are kept."""

    name: str
    layout: PageLayout
    directory: np.ndarray
    small_pages: int
    head_rows: int
    weight_dtype: np.dtype | None
    weight_page_bytes: int
    vertices: int
    places: None = None  # pages are not coded
    spread: Spread = Spread()


class CountedStore:
    """A store of so many vertices and edges, as plans see it. edges: of the graph, an undirected one once.

    Raises UsageError for counts that no store has.
    """

    def __init__(
        self, vertices: int, edges: int, weighted: bool = False, directed: bool = True, order: str = "natural",
        topology: str = "both", page_bytes: int = DEFAULT_PAGE_BYTES,
    ) -> None:  # fmt: skip
        stored = edges if directed else 2 * edges
        for flag, count, least, most in (("vertices", vertices, 1, MOST_VERTICES), ("edges", edges, 1, MOST_EDGES)):
            if not least <= count <= most:
                raise UsageError(f"{flag} {count}: must be {least} to {most}. Count the graph's own.")
        counted = show_things(edges, "edge" if directed else "undirected edge")
        counted += "" if directed else f" ({stored:,} stored)"
        self.path, self.stripes = f"{show_things(vertices, 'vertex')}, {counted}", ()
        names = ("out",) if not directed else {"both": ("out", "in")}.get(topology, (topology,))
        id_bytes = 4 if vertices < (1 << 32) - 1 else 8
        self.meta = Meta(
            vertices=vertices, edges=stored, directed=directed, page_bytes=page_bytes, id_bytes=id_bytes,
            weighted=weighted, weight_dtype=WEIGHT if weighted else None, order=order, topologies=names,
            min_weight=0.0 if weighted else None, max_weight=1.0 if weighted else None,
        )  # fmt: skip
        self.layout = PageLayout(page_bytes, id_bytes)
        directory = directory_of(self.layout, vertices, stored)
        self._topologies = {
            name: CountedTopology(
                name, self.layout, directory, len(directory), min(vertices, stored),
                np.dtype(WEIGHT) if weighted else None, self.layout.weight_page_bytes(4) if weighted else 0, vertices,
            )
            for name in names
        }  # fmt: skip

    def __enter__(self) -> CountedStore:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""

    def has(self, name: str) -> bool:
        """Whether it has out- or in-pages; an undirected graph's serve both ways."""
        return name in self._topologies or not self.meta.directed

    def topology(self, name: str) -> Any:
        """The topology of that name. Raises UsageError as an open store does."""
        if not self.has(name):
            raise UsageError(f"{self.path}: has no {name}-pages. Plan with both topologies.")
        return self._topologies[name if name in self._topologies else "out"]

    def out_degree(self, first: int, last: int) -> np.ndarray:
        """Of the width that a store has: zeros."""
        return np.zeros(last - first, np.uint32 if self.meta.edges < 1 << 32 else np.uint64)

    def user_ids(self, first: int, last: int) -> list[Any]:
        """IDs of vertices: their numbers."""
        return [SimpleNamespace(as_py=lambda n=n: n) for n in range(first, last)]

    def natural_of(self, store_ids: np.ndarray) -> np.ndarray:
        """The same numbers: no plan depends on which vertex it is."""
        return store_ids

    def lookup(self, ids: Any, *_: Any) -> np.ndarray:
        """Any ID is taken for the first vertex: no plan depends on the source."""
        return np.zeros(len(ids), np.uint64)


def directory_of(layout: PageLayout, vertices: int, edges: int) -> np.ndarray:
    """DIRECTORY[pages] of lists of mean length: vertices and edges spread evenly over as many pages as they take."""
    records = min(vertices, edges)
    room = layout.words - layout.header_words
    pages = max(1, -(-(edges + LIST_WORDS * records) // room))
    rows = np.zeros(pages, DIRECTORY)
    ends = _spread(edges, pages)
    lists = _spread(records, pages)
    rows["kind"], rows["layout"] = SMALL, ROW
    mean = edges // max(1, records)
    rows["group"] = max([size for size in GROUP_SIZES if size <= max(1, mean)], default=1)
    rows["records"] = np.maximum(1, np.diff(lists)).clip(max=np.iinfo(np.uint32).max)
    last = _spread(vertices, pages)
    rows["first_vertex"] = np.minimum(last[:-1], vertices - 1)
    rows["last_vertex"] = np.maximum(last[1:] - 1, rows["first_vertex"])
    rows["edges"], rows["edges_before"] = np.diff(ends), ends[:-1]
    return rows


def _spread(count: int, parts: int) -> np.ndarray:
    """int64[parts + 1]: where each of `parts` even parts of so many things begins, and the end."""
    whole, rest = divmod(count, parts)
    numbers = np.arange(parts + 1, dtype=np.int64)
    return numbers * whole + np.minimum(numbers, rest)
