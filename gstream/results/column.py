"""A column of an answer: values by store ID, and what stands where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Column:
    """One column of an answer beside `vertex`.

    values: one value a vertex, in store order. missing: the value that stands for "none" (null in tables, empty in
    CSV); None when every vertex has a value. holds: "numbers", or vertices as "store" IDs or "natural" indices, which
    are shown as user IDs. dtype: what tables and `.npy` hold; None: int64, or the type of the values if that is a
    float. ldbc_missing: what Graphalytics writes for "none". npy_missing: what `.npy` holds for "none", if that is not
    what result.py has.
    """

    name: str
    values: np.ndarray
    missing: int | float | None = None
    holds: str = "numbers"
    dtype: Any = None
    ldbc_missing: str = ""
    npy_missing: float | None = None

    def __post_init__(self) -> None:
        if self.dtype is None:
            object.__setattr__(
                self, "dtype", self.values.dtype if self.values.dtype.kind == "f" else np.dtype(np.int64)
            )

    @property
    def vertices(self) -> bool:
        """Whether the values are vertices."""
        return self.holds != "numbers"

    def absent(self, values: np.ndarray) -> np.ndarray | None:
        """bool[n]: which of `values` stand for none; None when none can."""
        return None if self.missing is None else values == values.dtype.type(self.missing)


Answer = tuple[list[Column], dict[str, Any]]  # what an algorithm gives: columns, and the summary
