"""The pages of one topology: where they lie in the store's files, and how messages name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pagestore.coding.places import Places
from pagestore.hdf5 import StoreFile
from pagestore.layout import LARGE, PageLayout
from pagestore.meta import REBUILD, scrub_first
from pagestore.spread import Spread


@dataclass(frozen=True, eq=False)
class PageSet:
    """Where the pages of one topology lie, and its directory.

    directory: DIRECTORY[pages], CRC and structure checked. files: the store's only one, or its stripes; spread: which
    of them holds which pages. pages_offsets, weights_offsets: of each file, the byte at which its first page starts (0
    when there are no pages or weights). weight_dtype, weight_page_bytes: None and 0 without weights. places: of coded
    pages; None where pages are stored as they are.
    """

    path: str
    name: str  # "out" or "in"
    layout: PageLayout
    directory: np.ndarray
    vertices: int
    files: tuple[StoreFile, ...]
    spread: Spread
    pages_offsets: tuple[int, ...]
    weight_dtype: np.dtype | None
    weight_page_bytes: int
    weights_offsets: tuple[int, ...]
    places: Places | None
    _in_order: bool  # store IDs follow the order of the user's
    _user_ids: Callable[[list[int], bool], list[str]]  # UserIds.names

    @property
    def pages(self) -> int:
        return len(self.directory)

    @property
    def width(self) -> int:
        """Bytes of a page with its weights."""
        return self.layout.page_bytes + self.weight_page_bytes

    @property
    def stored_bytes(self) -> int:
        """Bytes of all pages and weights in the store's files, of a part those that it has."""
        return self.stored_between(0, self.spread.here(self.pages))

    def stored_between(self, first: int, end: int) -> int:
        """The same of pages [first, end)."""
        if self.places is None:
            return (end - first) * self.width
        begins = [self.places.pages] + ([] if self.places.weights is None else [self.places.weights])
        return sum(int(begin[end] - begin[first]) for begin in begins)

    @property
    def last_id(self) -> np.unsignedinteger:
        """The last vertex, as the pages' words are."""
        return self.layout.id_dtype.type(max(self.vertices, 1) - 1)

    @property
    def remedy(self) -> str:
        """What can be done about a damaged page, for messages."""
        return scrub_first(self.path) + REBUILD

    def name_page(self, number: int, search: bool = False) -> str:
        """How messages name a page: topology, number, vertices by store IDs, and by the user's where they differ.

        search: also in a reordered store, where finding the user's IDs means to read an array.
        """
        return self.name_pages([number], search)[0]

    def name_pages(self, numbers: list[int], search: bool = False) -> list[str]:
        """The same for several pages: a search reads the array once."""
        rows = self.directory[numbers]
        first = self._user_ids(rows["first_vertex"].tolist() + rows["last_vertex"].tolist(), search)
        last = first[len(numbers) :]
        return [self._name_page(number, *ends) for number, *ends in zip(numbers, first, last, strict=False)]

    def _name_page(self, number: int, first: str, last: str) -> str:
        row = self.directory[number]
        ends = int(row["first_vertex"]), int(row["last_vertex"])
        vertices = f"vertices {ends[0]} to {ends[1]}"
        yours = f", your vertices {first} to {last}," if self._in_order else f", your vertices {first}, ..., {last},"
        if row["kind"] == LARGE:
            vertices, yours = f"vertex {ends[0]} from neighbour {row['position']} on", f", your vertex {first},"
        same = not (first and last) or (first, last) == (str(ends[0]), str(ends[1]))
        file = next(self.spread.runs(number, 1)).file
        place = f" in {self.files[file].path}" if len(self.files) > 1 else ""
        return (
            f"{self.path}: page {number} of topology {self.name} ({vertices}, store IDs){'' if same else yours}{place}"
        )
