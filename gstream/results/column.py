"""A column of an answer: values by store ID, and what stands where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gstream.records.held import Held

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Column:
    """One column of an answer beside `vertex`.

    values: one value a vertex, in store order, which a device may hold (Held) until somebody asks for them; of vectors
    one row a vertex, and dtype a subarray. missing:
    the value that stands for "none" (null in tables, empty in CSV); None when every vertex has a value.
    holds: "numbers", or vertices as "store" IDs or "natural" indices, which
    are shown as user IDs. dtype: what tables and `.npy` hold; None: int64, or the type of the values if that is a
    float. ldbc_missing: what Graphalytics writes for "none". npy_missing: what `.npy` holds for "none", if that is not
    what result.py has.
    """

    name: str
    values: Any
    missing: int | float | None = None
    holds: str = "numbers"
    dtype: Any = None
    ldbc_missing: str = ""
    npy_missing: float | None = None

    def __post_init__(self) -> None:
        values = self.values
        if isinstance(values, Held):
            vars(self)["_held"] = vars(self).pop("values")
        if self.dtype is None:
            object.__setattr__(self, "dtype", values.dtype if values.dtype.kind == "f" else np.dtype(np.int64))

    def __getattr__(self, name: str) -> Any:
        """`values` that a device holds: they come to host memory when they are asked for."""
        if name == "values" and self.held is not None:
            return self.held.host()
        raise AttributeError(name)

    def __getstate__(self) -> dict[str, Any]:
        """For a copy elsewhere, where no device holds anything."""
        return {name: value for name, value in vars(self).items() if name != "_held"} | {"values": self.values}

    def __len__(self) -> int:
        return len(self.held or self.values)

    @property
    def held(self) -> Held | None:
        """What a device holds of it; None where the values lie in host memory."""
        return vars(self).get("_held")

    def take(self, places: np.ndarray) -> np.ndarray:
        """The values at some places, by store ID (integers[n])."""
        return self.values[places] if self.held is None else self.held.take(places)

    @property
    def vertices(self) -> bool:
        """Whether the values are vertices."""
        return self.holds != "numbers"

    @property
    def length(self) -> int:
        """Numbers of a vector; 0: values are no vectors."""
        return self.dtype.shape[0] if self.dtype.shape else 0

    def arrow_type(self) -> pyarrow.DataType:
        """Of a column of numbers: lists of a fixed size for vectors."""
        import pyarrow as pa

        number = pa.from_numpy_dtype(self.dtype.base)
        return pa.list_(number, self.length) if self.length else number

    def arrow(self, values: np.ndarray) -> pyarrow.Array:
        """Values of a column of numbers, null where there is none: of vectors the numbers of a list."""
        import pyarrow as pa

        absent = self.absent(values)
        mask = None if absent is None else absent.reshape(-1)
        numbers = pa.array(values.astype(self.dtype.base, copy=False).reshape(-1), mask=mask)
        return pa.FixedSizeListArray.from_arrays(numbers, self.length) if self.length else numbers

    def absent(self, values: np.ndarray) -> np.ndarray | None:
        """bool[n], or bool[n, length]: which of `values` stand for none; None when none can."""
        return None if self.missing is None else values == values.dtype.type(self.missing)


Answer = tuple[list[Column], dict[str, Any]]  # what an algorithm gives: columns, and the summary
