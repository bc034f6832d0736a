"""Values of all vertices, of which each rank has those of its own slice.

All ranks make the same calls, in the same order. What needs them whole asks for `host`: from then on each rank has them
all, and asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.devices.job import Range
from gstream.devices.ranks import Ranks
from gstream.records.held import Held, HeldRows
from pagestore import Store


class RankValues(Held):
    """own: of this rank's slice, which may be vectors; slices: of all ranks, by store IDs."""

    def __init__(self, ranks: Ranks, own: np.ndarray, slices: list[Range]) -> None:
        super().__init__(slices[-1][1], own.dtype)
        self.ranks, self._own, self._slices = ranks, own, slices
        self._host: np.ndarray | None = None
        self._rows: HeldRows | None = None

    @property
    def nbytes(self) -> int:
        return self._empty(1).nbytes * self.size

    @property
    def part(self) -> Range:
        """The slice of this rank, by store IDs."""
        return self._slices[self.ranks.rank]

    @property
    def own(self) -> np.ndarray:
        """The values of it."""
        return self._own

    def alike(self, own: np.ndarray) -> RankValues:
        """Other values of the same slices."""
        return RankValues(self.ranks, own, self._slices)

    def naturals(self, store: Store) -> np.ndarray:
        """uint64[n]: natural indices of the rank's slice; of another order than that, told by the ranks of the rows."""
        begin, end = self.part
        if store.meta.order == "natural":
            return np.arange(begin, end, dtype=np.uint64)
        first, stored, places = self._places(store)
        asked, found = self.ranks.everybody([len(one) for one in places]), np.empty(end - begin, np.uint64)
        for to, source in self._partners():
            room = np.empty((2, asked[source][self.ranks.rank]), np.uint64)
            self.ranks.swap(np.stack([stored[places[to]], places[to].astype(np.uint64) + first]), to, room, source)
            found[room[0].astype(np.int64) - begin] = room[1]
        return found

    def stored(self, store: Store, natural: np.ndarray) -> np.ndarray:
        """uint64[n]: store IDs of natural indices (uint64[n]), told by the ranks of their rows."""
        if store.meta.order == "natural":
            return natural
        values, back = np.unique(natural, return_inverse=True)
        bounds = [self.size * number // self.ranks.size for number in range(self.ranks.size + 1)]
        first, last = bounds[self.ranks.rank], bounds[self.ranks.rank + 1]
        rows = store.store_ids(first, last).astype(np.uint64)
        return self._told(values, np.searchsorted(values, bounds), rows, first)[back]

    def of(self, vertices: np.ndarray) -> np.ndarray:
        """Values of vertices that this rank asks for (store IDs), told by the ranks of their slices."""
        asked, back = np.unique(vertices, return_inverse=True)
        cuts = np.searchsorted(asked, [*(first for first, _ in self._slices), self.size])
        return self._told(asked, cuts, self._own, self.part[0])[back]

    def _told(self, asked: np.ndarray, cuts: np.ndarray, rows: np.ndarray, first: int) -> np.ndarray:
        """What ranks have at the numbers that are asked of them: of `asked`, ascending, those from a rank's cut to the
        next. rows: what this rank has, from number `first` on."""
        counts, found = self.ranks.everybody(np.diff(cuts).tolist()), np.empty(len(asked), rows.dtype)
        for to, source in self._partners():
            mine, theirs = slice(cuts[to], cuts[to + 1]), np.empty(counts[source][self.ranks.rank], asked.dtype)
            self.ranks.swap(asked[mine], to, theirs, source)
            self.ranks.swap(rows[theirs.astype(np.int64) - first], source, found[mine], to)
        return found

    def _empty(self, count: int) -> np.ndarray:
        """Room for values."""
        return np.empty((count, *self._own.shape[1:]), self.dtype)

    def count_unlike(self, none: Any) -> int:
        return self.count(lambda values: int(np.count_nonzero(values != none)))

    def each(self, call: Callable[[np.ndarray], Any]) -> list[Any]:
        return [call(self._host)] if self._host is not None else self.ranks.everybody(call(self._own))

    def take(self, places: np.ndarray) -> np.ndarray:
        if self._host is not None:
            return self._host[places]
        first, last = self._slices[self.ranks.rank]
        found, here = np.zeros_like(self._empty(len(places))), (places >= first) & (places < last)
        found[here] = self._own[places[here].astype(np.int64) - first]
        self.ranks.combine(found.view(np.uint8), "or")
        return found

    def leave(self) -> None:
        self.host()

    def changed(self) -> None:
        return None

    def host(self) -> np.ndarray:
        if self._host is None:
            self._host = self._empty(self.size)
            self._host[slice(*self._slices[self.ranks.rank])] = self._own
            self.ranks.gather(self._host, self._slices)
        return self._host

    @property
    def of_ranks(self) -> bool:
        return self._host is None

    def rows(self, store: Store) -> HeldRows:
        if self._rows is None:
            begin = self._slices[self.ranks.rank][0]
            in_order = store.meta.order == "natural"
            self._rows = HeldRows(begin, self._own, self.ranks.everybody) if in_order else self._rows_of(store)
        return self._rows

    def frequent(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        ranks, rank = self.ranks, self.ranks.rank
        values, times = np.unique(self._own, return_counts=True)
        bounds = [self.size * number // ranks.size for number in range(ranks.size + 1)]  # each rank adds up a range
        cuts = np.searchsorted(values, bounds)
        told, sizes = ranks.everybody(np.diff(cuts).tolist()), np.zeros(bounds[rank + 1] - bounds[rank], np.int64)
        for to, source in self._partners():
            mine, room = slice(cuts[to], cuts[to + 1]), told[source][rank]
            theirs, added = np.empty(room, values.dtype), np.empty(room, times.dtype)
            ranks.swap(values[mine], to, theirs, source)
            ranks.swap(times[mine], to, added, source)
            sizes[theirs.astype(np.int64) - bounds[rank]] += added
        best = np.argsort(-sizes, kind="stable")[:count]
        best = best[sizes[best] > 0]
        found = np.concatenate(ranks.everybody(np.stack([best + bounds[rank], sizes[best]])), axis=1)
        chosen = found[:, np.argsort(-found[1], kind="stable")[:count]]  # ranges are in order, so ties are, too
        return chosen[0], chosen[1]

    def _rows_of(self, store: Store) -> HeldRows:
        """Rows that have another order than the store: their values come from the ranks of their slices."""
        ranks, rank, begin = self.ranks, self.ranks.rank, self.part[0]
        first, wanted, places = self._places(store)
        asked, found = ranks.everybody([len(one) for one in places]), self._empty(len(wanted))
        for to, source in self._partners():
            others, values = np.empty(asked[source][rank], np.uint64), self._empty(len(places[to]))
            ranks.swap(wanted[places[to]], to, others, source)
            ranks.swap(self._own[others.astype(np.int64) - begin], source, values, to)
            found[places[to]] = values
        return HeldRows(first, found, ranks.everybody)

    def _places(self, store: Store) -> tuple[int, np.ndarray, list[np.ndarray]]:
        """(the rank's first row, uint64[n] store IDs of its rows, int64[k] of which each rank has the values)."""
        first, last = (self.size * number // self.ranks.size for number in (self.ranks.rank, self.ranks.rank + 1))
        stored = store.store_ids(first, last).astype(np.uint64)
        ends = np.array([end for _, end in self._slices], np.uint64)  # an empty slice ends where those before do
        owner = np.searchsorted(ends, stored, "right")
        return first, stored, [np.flatnonzero(owner == number) for number in range(self.ranks.size)]

    def _partners(self) -> list[tuple[int, int]]:
        """(whom to give, whom to take from), one after the other, itself at first."""
        rank, size = self.ranks.rank, self.ranks.size
        return [((rank + step) % size, (rank - step) % size) for step in range(size)]
