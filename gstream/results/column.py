"""A column of an answer: values by store ID, and what stands where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Column:
    """One column of an answer beside `vertex`.

    values: one value a vertex, in store order. missing: the value that stands for "none" (null in tables, empty in
    CSV); None when every vertex has a value. holds: "numbers", or vertices as "store" IDs or "natural" indices, which
    are shown as user IDs. dtype: what tables and `.npy` hold. ldbc_missing: what Graphalytics writes for "none".
    npy_missing: what `.npy` holds for "none", where not what is usual.
    """

    name: str
    values: np.ndarray
    missing: int | float | None = None
    holds: str = "numbers"
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.int64))
    ldbc_missing: str = ""
    npy_missing: float | None = None

    @property
    def vertices(self) -> bool:
        """Whether the values are vertices."""
        return self.holds != "numbers"

    def absent(self, values: np.ndarray) -> np.ndarray | None:
        """bool[n]: which of `values` stand for none; None when none can."""
        return None if self.missing is None else values == values.dtype.type(self.missing)
