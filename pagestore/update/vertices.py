"""The vertices of a store and those that changes bring: which are new, and where each goes in the new store.

In a store of natural order a new vertex goes between the others by its ID: the j-th new one is inserted before natural
index `points[j]`, so store ID i becomes i + (points up to i). In a store of another order all keep their store IDs, and
new ones come last.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pagestore.convert.identity import ID_WINDOW, Identity
from pagestore.convert.presence import Presence
from pagestore.convert.storage import Vector
from pagestore.errors import UsageError
from pagestore.ids import BLOCK_IDS
from pagestore.inputs.base import StringNames
from pagestore.store import Store
from pagestore.update import kernels


class Moves(NamedTuple):
    """How far store IDs move: old ID i becomes i + further[rank of i + 1 in table] (pagestore.convert.presence).

    further: u8[places + 1], how many new vertices come at the first places where any do; empty where no ID moves.
    """

    table: np.ndarray
    further: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, old: int) -> Moves:
        """Of new vertices ahead of these old ones, ascending."""
        if len(points) == 0 or int(points[0]) >= old:
            return cls(np.empty((0, 2), np.uint64), np.empty(0, np.uint64))
        places, counts = np.unique(points, return_counts=True)
        seen = Presence(old + 1)
        seen.mark(places.astype(np.uint64))
        return cls(seen.table(old + 1), np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64))

    def one(self, old: int) -> int:
        """The new store ID of an old one; -1 stays."""
        return int(self.many(np.array([old]))[0]) if old >= 0 else old

    def many(self, old: np.ndarray) -> np.ndarray:
        """The same of integers[n], as int64[n]."""
        moved = np.empty(len(old), np.int64)
        kernels.move(old, self.table, self.further, moved)
        return moved


class Vertices:
    """Translates the user's IDs to store IDs of the new store. most_ids: IDs below it get a bitmap.

    Call `add` with all IDs that changes add, then `settle`; `store_ids` is for afterwards.
    """

    def __init__(self, store: Store, most_ids: int) -> None:
        meta = store.meta
        self.store, self.old = store, meta.vertices
        self.strings, self.natural = meta.id_kind == "strings", meta.order == "natural"
        self._table: np.ndarray | None = None
        if meta.id_kind == "integers" and meta.vertices:
            most = int(store.user_ids(meta.vertices - 1, meta.vertices)[0])
            if most < most_ids:
                seen = Presence(most + 1)
                for window in self._windows():
                    seen.mark(window.astype(np.uint64))
                self._table = seen.table(most + 1)
        self.new: np.ndarray = np.empty(0, object if self.strings else np.uint64)
        self.points = np.empty(0, np.int64)
        self.moves = Moves.of(self.points, self.old)

    @property
    def vertices(self) -> int:
        """Of the new store."""
        return self.old + len(self.new)

    @property
    def held_bytes(self) -> int:
        """Of the tables, which take memory until the end."""
        return sum(table.nbytes for table in (*self.moves, self._table) if table is not None)

    def add(self, ids: np.ndarray) -> None:
        """Note IDs, uint64 or names as objects, that the new store has."""
        unknown = np.unique(ids[self._find(ids) < 0])
        if len(unknown):
            self.new = np.union1d(self.new, unknown)

    def settle(self) -> None:
        """All IDs were added."""
        self.points = self._positions(self.new)[0]
        if self.natural:
            self.moves = Moves.of(self.points, self.old)

    def store_ids(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Store IDs uint64[n], and which IDs are vertices, bool[n]."""
        found = self._find(ids)
        known = found >= 0
        if self.natural:
            places = self.moves.many(np.maximum(found, 0))
        else:
            places = self.store.keep_order()[np.maximum(found, 0)].astype(np.int64) if self.old else found
        if not known.all() and len(self.new):
            others = ids[~known]
            at = np.minimum(np.searchsorted(self.new, others), len(self.new) - 1)
            places = places.copy()
            places[~known] = (self.points[at] if self.natural else self.old) + at
            known = known.copy()
            known[~known] = self.new[at] == others
        return places.astype(np.uint64), known

    def _find(self, ids: np.ndarray) -> np.ndarray:
        """Natural indices in the old store, int64[n]; -1 where there is none."""
        meta = self.store.meta
        if meta.id_kind == "range":
            natural = ids.astype(np.int64) - meta.id_base
            return np.where((natural >= 0) & (natural < meta.vertices), natural, -1)
        if self._table is not None:
            found = np.empty(len(ids), np.int64)
            kernels.find(ids, self._table, found)
            return found
        distinct, back = np.unique(ids, return_inverse=True)
        at, found = self._positions(distinct)
        return np.where(found, at, -1)[back]

    def _positions(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of ascending IDs: how many of the old ones are less, int64[n], and which are old ones, bool[n]."""
        meta = self.store.meta
        if meta.id_kind == "range":
            below = wanted.astype(np.int64) - meta.id_base
            return np.clip(below, 0, self.old), (below >= 0) & (below < self.old)
        at, found = np.full(len(wanted), self.old, np.int64), np.zeros(len(wanted), bool)
        begin = 0
        for first in range(0, self.old, BLOCK_IDS):
            if begin == len(wanted):
                break
            ids = self.store.user_ids(first, min(first + BLOCK_IDS, self.old))
            ids = np.array(ids.to_pylist(), object) if self.strings else ids.astype(np.uint64)
            end = int(np.searchsorted(wanted, ids[-1], "right"))
            part = slice(begin, end)
            place = np.searchsorted(ids, wanted[part])
            at[part], found[part] = first + place, ids[place] == wanted[part]
            begin = end
        return at, found

    def _windows(self) -> Iterator[Any]:
        for first in range(0, self.old, ID_WINDOW):
            yield self.store.user_ids(first, min(first + ID_WINDOW, self.old))

    def identity(self, folder: Path | None) -> Identity:
        """The names of all vertices; in files of `folder`, or in memory."""
        count = self.vertices
        if self.strings:
            return Identity(count, 0, None, "strings", names=self._names(folder))
        ids = Vector(count, np.int64, None if folder is None else folder / "ids")
        for first, window in self._merged():
            ids.write(first, window)
        least, most = (int(ids[0]), int(ids[count - 1])) if count else (self.store.meta.id_base, -1)
        if count == 0 or most - least == count - 1:
            ids.close()
            return Identity(count, 0, None, "range", id_base=least)
        return Identity(count, 0, None, "integers", ids=ids)

    def _merged(self) -> Iterator[tuple[int, Any]]:
        """(first natural index, IDs) of consecutive windows of old and new IDs in ascending order."""
        first = 0
        for begin in range(0, max(self.old, 1), ID_WINDOW):
            end = min(begin + ID_WINDOW, self.old)
            low = int(np.searchsorted(self.points, begin))
            high = len(self.points) if end == self.old else int(np.searchsorted(self.points, end))
            old = self.store.user_ids(begin, end)
            order = np.insert(np.arange(len(old)), self.points[low:high] - begin, len(old) + np.arange(high - low))
            yield first, _both(old, self.new[low:high], order)
            first += len(order)

    def _names(self, folder: Path | None) -> StringNames:
        nbytes = self.store.array("vertices/names/bytes").rows + sum(len(name.encode()) for name in self.new.tolist())
        offsets = Vector(self.vertices + 1, np.uint64, None if folder is None else folder / "offsets")
        data = Vector(nbytes, np.uint8, None if folder is None else folder / "names")
        at = 0
        for first, names in self._merged():
            _, ends, text = names.buffers()
            own = np.frombuffer(ends, np.int64, len(names) + 1, names.offset * 8)
            used = np.frombuffer(text, np.uint8)[own[0] : own[-1]] if text is not None else np.empty(0, np.uint8)
            offsets.write(first, (own - own[0] + at).astype(np.uint64))
            data.write(at, used)
            at += len(used)
        return StringNames(offsets, data)

    def order(self, dtype: np.dtype, folder: Path | None) -> Vector | None:
        """Store IDs by natural index of a store that is not in natural order."""
        if self.natural:
            return None
        place = Vector(self.vertices, dtype, None if folder is None else folder / "place")
        first = 0
        for begin in range(0, max(self.old, 1), ID_WINDOW):
            end = min(begin + ID_WINDOW, self.old)
            low = int(np.searchsorted(self.points, begin))
            high = len(self.points) if end == self.old else int(np.searchsorted(self.points, end))
            fresh = (self.old + np.arange(low, high)).astype(dtype)
            window = np.insert(self.store.store_ids(begin, end).astype(dtype), self.points[low:high] - begin, fresh)
            place.write(first, window)
            first += len(window)
        return place


def _both(old: Any, new: np.ndarray, order: np.ndarray) -> Any:
    """Old and new IDs in an order, as an array of the old ones' kind."""
    if isinstance(old, np.ndarray):
        return np.concatenate([old, new.astype(np.int64)])[order]
    import pyarrow as pa

    names = pa.concat_arrays([old, pa.array(new.tolist(), pa.large_string())])
    return names.take(pa.array(order))


def ids_of(source: Any, store: Store) -> Any:
    """What turns the IDs of a source's chunks into the user's: a function of uint64[n]. Raises UsageError where one
    has names and the other numbers."""
    strings = store.meta.id_kind == "strings"
    if strings != (source.names is not None):
        has = ("names", "numbers") if strings else ("numbers", "names")
        raise UsageError(f"{source.name}: its IDs are {has[1]}; those of {store.path} are {has[0]}.")
    if source.names is not None:
        names = np.array([source.names[at] for at in range(len(source.names))], object)
        return lambda ids: names[ids.astype(np.int64)]
    if source.ids is not None:
        return lambda ids: np.asarray(source.ids)[ids.astype(np.int64)].astype(np.uint64)
    return lambda ids: ids.astype(np.uint64, copy=False)
