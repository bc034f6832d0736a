"""The three names of a vertex: the user's ID, its natural index, its store ID.

natural index: rank among the user's IDs in ascending order (numbers by value, strings by UTF-8 bytes), 0..V-1.
store ID: the index inside the store's arrays and pages; equal to the natural index unless vertices were reordered.
User IDs that are base + 0..V-1 take no space; others are kept sorted, so a lookup is a binary search over blocks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pagestore.arrays import BLOCK_BYTES, StoredArray
from pagestore.errors import GstreamError, StoreError, UsageError, plain
from pagestore.inputs.idspelling import meant
from pagestore.inputs.signatures import INTEGER
from pagestore.layout import PageLayout
from pagestore.meta import REBUILD, Meta, scrub_first

Where = Callable[[int], str]  # what stands ahead of a message about the ID of that index

BLOCK_IDS = BLOCK_BYTES // 8  # IDs that are looked for at once: one checked block of int64
TABLE_SHARE = 16  # a table of places has at most so many rows for each ID, and as many at most for each one wanted
SEARCHED = 1 << 20  # store IDs that are in memory at once while one is looked for
SLIPS_OF = 1 << 22  # names, at most: slips are looked for in most of their blocks
FEW_SHIFT = 6  # up to 1/64 of a block's names are searched for one by one
UNREADABLE = (GstreamError, OSError, ValueError, IndexError)  # of damaged or closed files


def nowhere(index: int) -> str:
    """IDs that no file says."""
    return ""


class UserIds:
    """Translates between the three names of the vertices of one open store. arrays: the store's, by dataset."""

    def __init__(self, path: str, meta: Meta, arrays: dict[str, StoredArray]):
        self._path, self._meta, self._arrays = path, meta, arrays
        self.graph = path  # what messages about a vertex call it
        self._id_dtype = PageLayout(meta.page_bytes, meta.id_bytes).id_dtype
        self._inverse: np.ndarray | None = None
        self._order: np.ndarray | None = None
        self._block: tuple[tuple[int, int], _Names] | None = None  # the block of names looked into last

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made again when needed."""
        return {**vars(self), "_inverse": None, "_order": None, "_block": None}

    def user_ids(self, first: int, last: int) -> Any:
        """User IDs of natural indices [first, last): int64[n], or a pyarrow large_string array."""
        meta = self._meta
        if not 0 <= first <= last <= meta.vertices:
            raise IndexError(f"vertices {first} to {last} of {meta.vertices}")
        if meta.id_kind == "range":
            return np.arange(meta.id_base + first, meta.id_base + last, dtype=np.int64)
        if meta.id_kind == "integers":
            return self._arrays["vertices/ids"].read(first, last)
        return self._strings(first, last)

    def store_ids(self, first: int, last: int) -> np.ndarray:
        """Store IDs (u4 or u8[n]) of natural indices [first, last)."""
        if self._meta.order == "natural":
            return np.arange(first, last, dtype=self._id_dtype)
        order = self._order  # another thread may forget it
        if order is not None:
            return order[first:last]
        ids = self._arrays["vertices/store_of"].read(first, last)
        if ids.size and int(ids.max()) >= self._meta.vertices:
            raise self._damaged("vertices/store_of holds an ID past the last vertex")
        return ids

    def keep_order(self) -> np.ndarray:
        """Store IDs (u4 or u8[V]) of all natural indices, which stay in memory from now on; not to be written to."""
        order = self._order
        if order is None:
            order = self._order = self.store_ids(0, self._meta.vertices)
        return order

    def forget(self) -> None:
        """Give the memory back of names that stay in memory; they are read again when needed."""
        self._order = self._inverse = self._block = None

    def natural_of(self, store_ids: np.ndarray) -> np.ndarray:
        """Natural indices (u4 or u8[n]) of store IDs. Reordered stores build the inverse once: id_bytes a vertex."""
        if self._meta.order == "natural":
            return np.asarray(store_ids, self._id_dtype)
        return self._all_natural().take(np.asarray(store_ids, np.intp))

    def natural_ids(self, first: int, last: int) -> np.ndarray:
        """Natural indices (u4 or u8[n]) of store IDs [first, last); of a reordered store, a view of the inverse."""
        if self._meta.order == "natural":
            return np.arange(first, last, dtype=self._id_dtype)
        return self._all_natural()[first:last]

    def names(self, store_ids: Sequence[int], search: bool = False) -> list[str]:
        """The user's IDs of store IDs, for messages about damage: "" for those that can't be read.

        Of a reordered store also "", unless the inverse is in memory or `search` allows to read vertices/store_of.
        """
        try:
            natural = np.array(store_ids, np.int64)
            if self._inverse is not None:
                natural = self._inverse[natural]
            elif self._meta.order != "natural":
                natural = self._searched(natural) if search else np.full(len(natural), -1)
        except UNREADABLE:
            return [""] * len(store_ids)
        return [self._name(number) for number in natural.tolist()]

    def _name(self, natural: int) -> str:
        try:
            return plain(self.user_ids(natural, natural + 1)[0])
        except UNREADABLE:
            return ""

    def _searched(self, store_ids: np.ndarray) -> np.ndarray:
        """Natural indices of a few store IDs, without the inverse; -1 where there is none."""
        wanted, where = np.unique(store_ids, return_inverse=True)
        natural, count = np.full(len(wanted), -1), self._meta.vertices
        for first in range(0, count, SEARCHED):
            ids = self.store_ids(first, min(first + SEARCHED, count))
            places = np.flatnonzero(np.isin(ids, wanted))
            natural[np.searchsorted(wanted, ids[places])] = first + places
        return natural[where]

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"{self._path}: {what}. {scrub_first(self._path)}{REBUILD}")

    def _all_natural(self) -> np.ndarray:
        inverse = self._inverse
        if inverse is None:
            count = self._meta.vertices
            store_of = self.store_ids(0, count)
            inverse = np.empty(count, self._id_dtype)
            inverse[store_of] = np.arange(count, dtype=inverse.dtype)
            self._inverse = inverse
        return inverse

    def lookup(
        self, ids: Sequence[Any], what: str = "source", error: type[GstreamError] = UsageError, where: Where = nowhere
    ) -> np.ndarray:
        """Store IDs (u8[n]) of the user's IDs, given as integers or strings (numbers in strings are converted).

        An integer array is translated without a Python loop. Raises `error` for the first ID that is not a vertex:
        the message begins with `where` of its index (a file and a line) and calls it `what`.
        """
        meta = self._meta
        wanted: Any
        if meta.id_kind == "strings":
            wanted = np.array([str(value) for value in ids], object)
            natural = self._search(wanted, self._string_block)
        else:
            wanted = self._numbers(ids, what, error, where)
            if wanted.dtype == object:
                known = np.array([v if -1 <= v < 1 << 63 else -1 for v in wanted], np.int64)
            else:
                known = wanted.astype(np.int64)  # an unsigned value past the limit turns negative: no vertex either
            if meta.id_kind == "range":
                natural = known - meta.id_base
                natural = np.where((known < 0) | (natural >= meta.vertices), -1, natural)
            else:
                natural = self._search(known, self._arrays["vertices/ids"].read)
        missing = np.flatnonzero(natural < 0)
        if len(missing):
            at = missing[0]
            said = self._range_text(wanted[at])
            raise error(f"{where(at)}{what} {plain(wanted[at])} is not a vertex of {self.graph}{said}")
        return self._stored(natural.astype(np.int64, copy=False)).astype(np.uint64, copy=False)

    def _numbers(self, ids: Sequence[Any], what: str, error: type[GstreamError], where: Where) -> np.ndarray:
        """Integers as they are in an integer array, else Python's, which have no limit."""
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
            return ids
        if all(type(value) is int and 0 <= value < 1 << 63 for value in ids):
            return np.fromiter(ids, np.int64, len(ids))
        return np.array([self._number(value, what, error, where, at) for at, value in enumerate(ids)], object)

    def _number(self, value: Any, what: str, error: type[GstreamError], where: Where, at: int) -> int:
        text = None
        try:
            text = value.decode() if isinstance(value, bytes) else value
            odd = isinstance(text, str) and not INTEGER.match(text)  # Python's int takes "1_000", too
            number = None if odd else int(text)
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is not None and (isinstance(value, str | bytes) or number == value):
            return number
        other = meant(text) if isinstance(text, str) else None
        spelled = "" if other is None else f" written in digits, and this would be {other}. Type {other}"
        raise error(
            f"{where(at)}{what} {value!r} is not a vertex of {self.graph}, whose IDs are whole numbers{spelled}."
        )

    def _range_text(self, wanted: Any) -> str:
        count = self._meta.vertices
        if count == 0:
            return ", which has no vertices."
        first, last = self.user_ids(0, 1)[0], self.user_ids(count - 1, count)[0]
        near = self._like(wanted) if self._meta.id_kind == "strings" else []
        remedy = f"Did you mean {' or '.join(map(plain, near))}?" if near else "Name one of them."
        return f"; its {count} IDs run from {plain(first)} to {plain(last)}. {remedy}"

    def _like(self, word: str) -> list[str]:
        """Names that a word may stand for."""
        from pagestore.nearnames import names_like

        def known(words: list[str]) -> list[bool]:
            return (self._search(np.array(words, object), self._string_block) >= 0).tolist()

        def name_of(at: int) -> str:
            return str(self._strings(at, at + 1)[0].as_py())

        return names_like(word, name_of, self._meta.vertices, known, self._meta.vertices <= SLIPS_OF)

    def _stored(self, natural: np.ndarray) -> np.ndarray:
        if self._meta.order == "natural":
            return natural
        order: Any = slice(None) if _ascends(natural) else np.argsort(natural, kind="stable")
        wanted, places = natural[order], np.empty(len(natural), np.uint64)
        at = 0
        while at < len(wanted):
            first = int(wanted[at])
            end = at + int(np.searchsorted(wanted[at:], first // BLOCK_IDS * BLOCK_IDS + BLOCK_IDS))
            part = wanted[at:end]  # of one stretch, from the least to the greatest: a single ID is one element
            places[at:end] = self.store_ids(first, int(part[-1]) + 1)[part - first]
            at = end
        return _put_back(places, order)

    def _search(self, wanted: np.ndarray, block_of: Callable[[int, int], Any]) -> np.ndarray:
        """Natural indices of `wanted` (-1 where absent), looked up in the sorted IDs that `block_of(a, b)` returns.

        A block of names is turned into Python's strings only where many of them are wanted.
        """
        count = self._meta.vertices
        blocks = -(-count // BLOCK_IDS)
        order: Any = slice(None) if _ascends(wanted) else np.argsort(wanted, kind="stable")
        ascending, places = wanted[order], np.full(len(wanted), -1, np.int64)
        at, block = 0, 0
        while at < len(ascending) and blocks:
            target = ascending[at]
            low, high = block, blocks  # the last block whose first ID is not past the target
            while high - low > 1:
                middle = (low + high) // 2
                if block_of(middle * BLOCK_IDS, middle * BLOCK_IDS + 1)[0] <= target:
                    low = middle
                else:
                    high = middle
            block = low
            ids = block_of(block * BLOCK_IDS, min((block + 1) * BLOCK_IDS, count))
            end = at + max(1, int(np.searchsorted(ascending[at:], ids[-1], "right")))
            part = ascending[at:end]
            if isinstance(ids, _Names) and len(part) < len(ids) >> FEW_SHIFT:
                place = np.array([min(bisect_left(ids, name), len(ids) - 1) for name in part])
                found = np.array([ids[at] for at in place.tolist()], object)
            else:
                values = np.asarray(ids)
                place = _places(values, part)
                found = values[place]
            places[at:end] = np.where(found == part, block * BLOCK_IDS + place, -1)
            at = end
        return _put_back(places, order)

    def _strings(self, first: int, last: int) -> Any:
        import pyarrow as pa

        offsets = self._arrays["vertices/names/offsets"].read(first, last + 1).astype(np.int64)
        names = self._arrays["vertices/names/bytes"]
        if np.any(offsets[1:] < offsets[:-1]) or offsets[0] < 0 or offsets[-1] > names.rows:  # differences wrap
            raise self._damaged("vertices/names/offsets are not ascending")
        data = names.read(int(offsets[0]), int(offsets[-1]))
        buffers = [None, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(data)]
        array = pa.Array.from_buffers(pa.large_string(), last - first, buffers)
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            raise self._damaged("vertices/names/bytes are not UTF-8") from None
        return array

    def _string_block(self, first: int, last: int) -> _Names:
        block = self._block  # another thread may replace it
        if block is None or block[0] != (first, last):
            block = self._block = ((first, last), _Names(self._strings(first, last)))
        return block[1]


def _put_back(values: np.ndarray, order: Any) -> np.ndarray:
    """Values of sorted items in these items' order before; order: slice(None), or what sorted them."""
    if isinstance(order, slice):
        return values
    back = np.empty_like(values)
    back[order] = values
    return back


def _ascends(ids: np.ndarray) -> bool:
    return ids.dtype != object and bool((ids[1:] >= ids[:-1]).all())


def _places(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each of `wanted` is among `values`, both ascending; any place where it is not one of them."""
    dense = _ascends(values) and int(values[-1]) - int(values[0]) < len(values) * TABLE_SHARE
    if not dense or len(wanted) * TABLE_SHARE < len(values):
        return np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    span = int(values[-1]) - int(values[0]) + 1
    table = np.zeros(span, np.int32)  # many are found in a fifth of the time
    table[values - values[0]] = np.arange(len(values), dtype=np.int32)
    return table[np.clip(wanted - values[0], 0, span - 1)]


class _Names:
    """A pyarrow array of names as a sequence of Python's strings: code points order them as UTF-8 bytes do."""

    def __init__(self, array: Any):
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: int) -> str:
        return self._array[index].as_py()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._array.to_pylist(), object)
