"""The page cache of a device that copies: how many slots each page set gets of the memory that remains.

Page sets of runs and sweeps before, `known`, keep their slots where there is room for all of them: a device then goes
on with what it holds when an algorithm turns from one topology to the other, or from a program to a page kernel.
"""

from __future__ import annotations

import numpy as np

from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable
from gstream.planning.memory_fit import work_list_bytes

PageSets = dict[str, PageTable]
DECODED_EDGES = 98e9  # a second, measured on an H100; the rate only says which of two ways is taken


def slots_of(
    tables: PageSets, known: PageSets, spare: int, partition: Partition, number: int, weights: bool
) -> dict[str, int]:
    """Slots by page set for a run or sweeps over `tables`, of device `number`; spare: bytes that it has for them.

    Where there is no room for all pages that it owns, each page set has its part.
    """
    every = {**known, **tables}
    owned = {name: partition.count(table.pages, table.stretch, number) for name, table in every.items()}
    needed = sum(table.bytes_of(owned[name], weights) for name, table in every.items()) + other_lists(every, tables)
    if needed <= spare:
        return owned
    pages = max(1, sum(table.pages for table in tables.values()))
    return {
        name: min(owned[name], spare * table.pages // pages // table.bytes_of(1, weights))
        for name, table in tables.items()
    }


def keeps_all(table: PageTable, cached: list[dict[str, int]], partition: Partition, first: int) -> bool:
    """Whether devices, from number `first` on, have slots for all pages that they own: each crosses the link once.
    cached: slots by page set, one a device."""
    owned = (partition.count(table.pages, table.stretch, number) for number in range(first, first + len(cached)))
    return all(slots.get(table.name, 0) >= count for slots, count in zip(cached, owned, strict=True))


def other_lists(every: PageSets, tables: PageSets) -> int:
    """Bytes that a device holds of the directories of the page sets that are not among `tables`."""
    return sum(work_list_bytes(table) for name, table in every.items() if name not in tables)


def coded_room(
    tables: PageSets, slots: dict[str, int], spare: int, owned: dict[str, np.ndarray], weights: bool, link: float
) -> dict[str, int]:
    """Bytes by page set for coded pages that a device keeps as they are stored, and decodes in every sweep; none where
    the slots for pages as kernels read them, with the others streamed, take less time.

    spare: bytes for both. owned: the device's pages, int64[n]. link: bytes a second that come to it.
    """
    stored = {name: table.stored_bytes_of(owned[name], weights) for name, table in tables.items()}
    whole, edges, missing = sum(stored.values()), 0, 0.0
    for name, table in tables.items():
        edges += int(table.edges[owned[name]].sum())
        missing += stored[name] * (1 - slots.get(name, 0) / max(1, len(owned[name])))
    part = min(1.0, spare / max(1, whole))
    if missing / link <= (1 - part) * whole / link + part * edges / DECODED_EDGES:
        return {}
    return {name: int(part * size) for name, size in stored.items()}
