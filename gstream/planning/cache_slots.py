"""The page cache of a device that copies: how many slots each page set gets of the memory that remains.

Page sets of runs and sweeps before, `known`, keep their slots where there is room for all of them: a device then goes
on with what it holds when an algorithm turns from one topology to the other, or from a program to a page kernel.
"""

from __future__ import annotations

from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable
from gstream.planning.memory_fit import work_list_bytes

PageSets = dict[str, PageTable]


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


def other_lists(every: PageSets, tables: PageSets) -> int:
    """Bytes that a device holds of the directories of the page sets that are not among `tables`."""
    return sum(work_list_bytes(table) for name, table in every.items() if name not in tables)
