"""What a superstep wants of a page set, and how each page of it comes to a device that copies: whole, or list by list.

Pages in pinned host memory can be read by a GPU's kernels where they lie (zero-copy, as EMOGI does): only the wanted
lists cross the link then, at some 20 to 50 ns each whatever their length below 128 bytes, where a page of 1 MiB takes
19 us (measured on an H200). So a page with fewer than some hundreds of wanted lists is read in place, others are
copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable
from gstream.planning.cost_equations import Constants
from pagestore.layout import ROW

SECTOR_BYTES = 32  # the least that crosses the link for a read: a slot, the first words of a list, its first weights


@dataclass(frozen=True, eq=False)
class Demand:
    """Pages that hold wanted lists. numbers: int64[n], ascending; lists: int64[n], about how many of each page's."""

    table: PageTable
    numbers: np.ndarray
    lists: np.ndarray
    _shares: dict[Partition, list[Demand]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, table: PageTable, lists: np.ndarray) -> Demand:
        """From wanted lists a page, of all pages (integers[pages])."""
        numbers = np.flatnonzero(lists)
        return cls(table, numbers, lists[numbers].astype(np.int64))

    @classmethod
    def whole(cls, table: PageTable) -> Demand:
        """All of every page."""
        return cls(table, table.all_pages(), table.records.astype(np.int64))

    def shares(self, partition: Partition, first: int = 0) -> list[Demand]:
        """What each device, from number `first` on, owns of it: h(j), which is worked out once."""
        if partition.devices == 1:
            return [self]
        if partition not in self._shares:
            owner = partition.owners(self.numbers, self.table.stretch)
            self._shares[partition] = [self._part(owner == number) for number in range(partition.devices)]
        return self._shares[partition][first:] if first else self._shares[partition]

    def among(self, pages: np.ndarray) -> Demand:
        """The part of it in `pages` (int64[n])."""
        return self._part(np.isin(self.numbers, pages, assume_unique=True))

    def _part(self, inside: np.ndarray) -> Demand:
        return Demand(self.table, self.numbers[inside], self.lists[inside])

    @property
    def edges(self) -> np.ndarray:
        """float64[n]: edges of the wanted lists, as if all lists of a page were of its mean length."""
        records = np.maximum(self.table.records[self.numbers], 1)
        wanted = np.minimum(self.lists, records)
        return np.asarray(self.table.edges[self.numbers] * (wanted / records), np.float64)

    def bytes_in_place(self, weights: bool) -> np.ndarray:
        """float64[n]: bytes that cross the link where a page's wanted lists are read in place, about."""
        edge_bytes = self.table.layout.id_bytes
        if weights:
            edge_bytes += self.table.weight_page_bytes // self.table.layout.words
        return self.edges * edge_bytes + self.lists * (SECTOR_BYTES * (3 if weights else 2))

    def seconds_in_place(self, constants: Constants, weights: bool) -> np.ndarray:
        """float64[n]: time of reading each page's wanted lists in place."""
        visits = self.lists * constants.list_s * (2 if weights else 1)
        return np.asarray(visits + self.bytes_in_place(weights) / constants.c2)

    @property
    def _readable(self) -> np.ndarray:
        """bool[n]: pages whose lists are worth reading in place at all: small ones of rows."""
        return (self.numbers < self.table.small_pages) & (self.table.page_layout[self.numbers] == ROW)

    def in_place(self, constants: Constants, weights: bool, page: int) -> np.ndarray:
        """int64[k]: the small pages whose wanted lists are read sooner in place than the page is copied. page: bytes of
        a copy.

        Of columns, a list's neighbours lie apart: in place each of them would be a read of its own.
        """
        small = self._readable
        copied = page / constants.c2
        return self.numbers[small & (self.seconds_in_place(constants, weights) < copied)]

    def seconds(self, constants: Constants, weights: bool, zero_copy: bool, rate: float, page: int) -> float:
        """Time until all that is wanted has come: each page the way that takes least; rate: bytes/s of whole pages, of
        `page` bytes each."""
        copied = page / rate
        if not zero_copy:
            return len(self.numbers) * copied
        sparse = np.where(self._readable, self.seconds_in_place(constants, weights), np.inf)
        return float(np.minimum(sparse, copied).sum())
