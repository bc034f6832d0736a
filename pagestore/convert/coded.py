"""Whether pages are stored coded, and how large each one is then: found before the store's file is made.

Datasets have their sizes when the file is made, and a coded page has one that only its edges tell. So the pages are
packed twice: here they are measured, in memory, and then they are written. `--compress auto` decides in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pagestore.coding.encode import Coders, weights_bytes
from pagestore.coding.places import Places
from pagestore.layout import PageLayout
from pagestore.planning import PagePlan

LEAST_SAVED = 0.25  # of the pages' bytes, by `--compress auto`


class Measure:
    """Takes pages as a StoreWriter does, and notes how large each one is when it is coded."""

    def __init__(self, plans: Mapping[str, PagePlan], weight_dtype: np.dtype | None) -> None:
        self.plans, self.weight_dtype = plans, weight_dtype
        self.sizes = {name: np.zeros((2, plan.pages), np.int64) for name, plan in plans.items()}
        self._coders = Coders(next(iter(plans.values())).layout)

    def head_rows(self, topology: str) -> int:
        """Heads are not measured."""
        return 0

    def write_array(self, name: str, first: int, rows: np.ndarray) -> None:
        """Nothing: arrays are not coded."""

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


def raw_bytes(plans: Mapping[str, PagePlan], weight_dtype: np.dtype | None) -> int:
    """Of all pages and weights, not coded."""

    def width(layout: PageLayout) -> int:
        return layout.page_bytes + (0 if weight_dtype is None else layout.weight_page_bytes(weight_dtype.itemsize))

    return sum(plan.pages * width(plan.layout) for plan in plans.values())


def coded_bytes(places: Mapping[str, Places]) -> int:
    """Of all pages and weights, coded."""
    return sum(int(place.sizes(weights=True).sum()) for place in places.values())


def coded_facts(places: Mapping[str, Places]) -> dict[str, Any]:
    """The fields of Meta about coded pages; none when `places` is empty."""
    if not places:
        return {}
    weights = {name: int(place.weights[-1]) for name, place in places.items() if place.weights is not None}
    return {"stored_bytes": {name: int(place.pages[-1]) for name, place in places.items()}, "stored_weights": weights}
