"""User IDs of a few vertices of a store, whatever its IDs are."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pagestore.store import Store

WINDOW = 1 << 16  # natural indices whose IDs are read together: half a block of int64


def user_ids(store: Store, store_ids: np.ndarray) -> Any:
    """User IDs in ascending order: int64[n], or a list of strings."""
    natural = np.sort(store.natural_of(store_ids).astype(np.int64))
    return ids_of(store, natural)


def ids_of(store: Store, natural: np.ndarray) -> Any:
    """User IDs of ascending natural indices, in that order."""
    meta = store.meta
    if meta.id_kind == "range":
        return natural + meta.id_base
    parts: list[Any] = []
    for window in np.split(natural, np.flatnonzero(np.diff(natural // WINDOW)) + 1) if len(natural) else []:
        first, last = int(window[0]), int(window[-1]) + 1
        ids = store.user_ids(first, last)
        parts.append(ids.take(window - first))
    if meta.id_kind == "integers":
        return np.concatenate([np.empty(0, np.int64), *parts])
    return [name for part in parts for name in part.to_pylist()]


def store_id(store: Store, vertex: Any) -> int:
    """The store ID of a user's vertex. Raises UsageError where it is none."""
    return int(store.lookup([vertex], "vertex")[0])


def is_vertex(store: Store, vertex: Any) -> bool:
    """Whether the user's ID is a vertex of the graph."""
    from pagestore.errors import UsageError

    kind: type = str if store.meta.id_kind == "strings" else Real
    if not isinstance(vertex, kind) or isinstance(vertex, bool):
        return False
    try:
        store_id(store, vertex)
    except UsageError:
        return False
    return True
