"""Whether pages are stored coded, and how large each one is then: found before the store's file is made.

Datasets have their sizes when the file is made, and a coded page has one that only its edges tell. So the pages are
packed twice: here they are measured, in memory, and then they are written. `--compress auto` decides in between.
Heads lie in a temporary file in between, as their blocks span what threads pack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pagestore.arrays import coded_name
from pagestore.coding.blocks import BlockCoders
from pagestore.coding.encode import Coders, weights_bytes
from pagestore.coding.form import block_rows
from pagestore.coding.places import Places
from pagestore.convert.storage import Vector
from pagestore.cores import in_order
from pagestore.layout import PageLayout
from pagestore.planning import PagePlan

LEAST_SAVED = 0.25  # of the pages' bytes, by `--compress auto`
WINDOW_BLOCKS = 256  # of an array that a thread codes at a time


class Measure:
    """Takes pages as a StoreWriter does, and notes how large each one is when it is coded; heads are kept."""

    def __init__(
        self, plans: Mapping[str, PagePlan], weight_dtype: np.dtype | None, heads: Mapping[str, RowVector]
    ) -> None:
        self.plans, self.weight_dtype, self.heads = plans, weight_dtype, heads
        self.sizes = {name: np.zeros((2, plan.pages), np.int64) for name, plan in plans.items()}
        self._coders = Coders(next(iter(plans.values())).layout)

    def head_rows(self, topology: str) -> int:
        """Rows of a topology's heads."""
        name = f"topology/{topology}/heads"
        return self.heads[name].rows if name in self.heads else 0

    def write_array(self, name: str, first: int, rows: np.ndarray) -> None:
        """Rows first..first+n-1 of heads."""
        self.heads[name].write(first, rows)

    def write_pages(self, topology: str, first: int, pages: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Pages first..first+n-1, with their weights."""
        rows, layout = self.plans[topology].directory, self.plans[topology].layout
        for number in range(first, first + len(pages)):
            counts = int(rows["records"][number]), int(rows["edges"][number])
            sizes = self.sizes[topology]
            sizes[0, number] = self._coders.own.code(pages[number - first], *counts, write=False)
            if weights is not None and self.weight_dtype is not None:
                begin = layout.header_words
                sizes[1, number] = weights_bytes(weights[number - first], self.weight_dtype, begin, begin + sum(counts))

    def places(self) -> dict[str, Places]:
        """Where all pages will lie, by topology."""
        found = {}
        for name, sizes in self.sizes.items():
            begins = np.concatenate([np.zeros((2, 1), np.int64), np.cumsum(sizes, axis=1)], axis=1)
            found[name] = Places(begins[0], None if self.weight_dtype is None else begins[1])
        return found


class RowVector:
    """Rows id[n, 4], or numbers [n], in a vector of a conversion."""

    def __init__(self, vector: Vector, columns: int = 1) -> None:
        self.vector, self.columns, self.rows = vector, columns, len(vector) // columns

    def write(self, first: int, rows: np.ndarray) -> None:
        """Rows first..first+n-1."""
        self.vector.write(first * self.columns, rows.reshape(-1))

    def read(self, first: int, last: int) -> np.ndarray:
        """Rows [first, last)."""
        found = self.vector.read(first * self.columns, last * self.columns)
        return found.reshape(-1, self.columns) if self.columns > 1 else found


class CodedRows:
    """Heads or degrees as they will be stored: measured when it is made, and coded again to be written.

    sizes: words of each block, u2[blocks].
    """

    def __init__(self, name: str, rows: RowVector, dtype: np.dtype, threads: int) -> None:
        self.name, self.rows, self.dtype, self.threads = name, rows, dtype, threads
        self._block = block_rows(heads=rows.columns > 1)
        self._coders = BlockCoders(dtype, rows.columns > 1)
        found = [sizes for _, sizes in in_order(self._windows(), self._measure, threads)]
        self.sizes = np.concatenate([np.empty(0, np.uint16), *found])

    @property
    def facts(self) -> list[int]:
        """Of Meta.coded_arrays: rows, and words."""
        return [self.rows.rows, int(self.sizes.sum(dtype=np.int64))]

    def write(self, put: Callable[[str, int, np.ndarray], None]) -> None:
        """put(name, first, rows): as StoreWriter.write_array."""
        put(coded_name(self.name), 0, self.sizes)
        at = 0
        for _, words in in_order(self._windows(), self._code, self.threads):
            put(self.name, at, words)
            at += len(words)

    def _windows(self) -> range:
        return range(0, self.rows.rows, WINDOW_BLOCKS * self._block)

    def _blocks(self, first: int) -> Iterator[tuple[int, np.ndarray]]:
        rows = self.rows.read(first, min(first + WINDOW_BLOCKS * self._block, self.rows.rows)).astype(self.dtype)
        for at in range(0, len(rows), self._block):
            yield first + at, rows[at : at + self._block]

    def _measure(self, first: int) -> np.ndarray:
        coder = self._coders.own
        return np.array([len(coder.code(rows, at, write=False)) for at, rows in self._blocks(first)], np.uint16)

    def _code(self, first: int) -> np.ndarray:
        coder = self._coders.own
        return np.concatenate([coder.code(rows, at).copy() for at, rows in self._blocks(first)])


def raw_bytes(plans: Mapping[str, PagePlan], weight_dtype: np.dtype | None) -> int:
    """Of all pages and weights, not coded."""

    def width(layout: PageLayout) -> int:
        return layout.page_bytes + (0 if weight_dtype is None else layout.weight_page_bytes(weight_dtype.itemsize))

    return sum(plan.pages * width(plan.layout) for plan in plans.values())


def coded_bytes(places: Mapping[str, Places]) -> int:
    """Of all pages and weights, coded."""
    return sum(int(place.sizes(weights=True).sum()) for place in places.values())


@dataclass(frozen=True)
class Coding:
    """What of a store is coded: pages, by where they lie in each topology, heads, degrees. Nothing without places.

    floats: weights are coded, and f4.
    """

    places: Mapping[str, Places] = field(default_factory=dict)
    arrays: Sequence[CodedRows] = ()
    floats: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of Meta."""
        if not self.places:
            return {}
        weights = {name: int(place.weights[-1]) for name, place in self.places.items() if place.weights is not None}
        return {
            "stored_bytes": {name: int(place.pages[-1]) for name, place in self.places.items()},
            "stored_weights": weights, "coded_arrays": {array.name: array.facts for array in self.arrays},
            "coded_floats": self.floats,
        }  # fmt: skip
