"""User IDs for the store IDs and natural indices that results hold (pagestore/ids.py says what the three are)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gstream.results.column import Column
    from pagestore.store import Store

STEP = 1 << 20  # names that are looked at together


class Naming:
    """User IDs of one store, loaded when a column of vertices first needs them out of order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._all: Any = None

    def range(self, first: int, last: int) -> Any:
        """User IDs of natural indices [first, last): int64[n] or a pyarrow string array."""
        return self._store.user_ids(first, last)

    def numpy_range(self, first: int, last: int) -> np.ndarray:
        """The same as a NumPy array: int64[n] or str objects."""
        return _as_numpy(self.range(first, last))

    @property
    def longest(self) -> int:
        """Characters of the longest name of a store with string IDs."""
        import pyarrow.compute as pc

        count, longest = self._store.meta.vertices, 0
        for first in range(0, count, STEP):
            names = self.range(first, min(first + STEP, count))
            longest = max(longest, pc.max(pc.utf8_length(names)).as_py() or 0)
        return longest

    def one(self, column: Column, vertex: Any) -> Any:
        """User ID of one value of a column of vertices, as int or str."""
        natural = int(self._natural(column, np.array([vertex]))[0])
        return plain(self.range(natural, natural + 1)[0])

    def arrow(self, column: Column, vertices: np.ndarray, absent: np.ndarray | None) -> Any:
        """pyarrow array of the user IDs of a column's values, null where `absent`."""
        import pyarrow as pa

        ids = self._take(column, vertices, absent)
        return pa.array(ids, mask=absent) if isinstance(ids, np.ndarray) else ids

    def numpy(self, column: Column, vertices: np.ndarray, absent: np.ndarray | None) -> np.ndarray:
        """User IDs of a column's values: int64[n] with -1, or str objects with "", where `absent`."""
        ids = self._take(column, vertices, absent)
        strings = not isinstance(ids, np.ndarray)
        ids = _as_numpy(ids)
        if absent is not None:
            ids[absent] = "" if strings else -1
        return ids

    def _natural(self, column: Column, vertices: np.ndarray) -> np.ndarray:
        return vertices if column.holds == "natural" else self._store.natural_of(vertices)

    def _take(self, column: Column, vertices: np.ndarray, absent: np.ndarray | None) -> Any:
        """User IDs; where `absent`, null among strings and anything among numbers."""
        store = self._store
        natural = self._natural(column, vertices if absent is None else np.where(absent, 0, vertices))
        if store.meta.id_kind == "range":
            return np.add(natural, store.meta.id_base, dtype=np.int64)
        if self._all is None:
            self._all = store.user_ids()
        if isinstance(self._all, np.ndarray):
            return self._all[natural]
        import pyarrow as pa

        return self._all.take(pa.array(natural.astype(np.int64), mask=absent))


def _as_numpy(ids: Any) -> np.ndarray:
    return ids if isinstance(ids, np.ndarray) else np.array(ids.to_pylist(), object)


def plain(value: Any) -> Any:
    """A NumPy or Arrow scalar as Python's int, float or str."""
    return value.as_py() if hasattr(value, "as_py") else value.item()
