"""The page cache of a device that copies: how many slots each page set gets of the memory that remains.

Page sets of runs and sweeps before, `known`, keep their slots where there is room for all of them: a device then goes
on with what it holds when an algorithm turns from one topology to the other, or from a program to a page kernel.
"""

from __future__ import annotations

from gstream.paging.ownership import Partition
from gstream.paging.page_table import PageTable
from gstream.planning.memory_fit import work_list_bytes

PageSets = dict[str, PageTable]
Owner = tuple[Partition, int]  # which of the devices it is


def slots_of_run(tables: PageSets, known: PageSets, spare: int, owner: Owner, weights: bool) -> dict[str, int]:
    """Slots by page set for a run over `tables`; spare: bytes that the device has for them."""
    if (slots := _slots_of_all(tables, known, spare, owner, weights)) is not None:
        return slots
    owned = _owned(tables, owner)
    spare = min(spare, sum(table.bytes_of(table.pages, weights) for table in tables.values()))
    pages = max(1, sum(table.pages for table in tables.values()))
    return {
        name: min(owned[name], int(spare * table.pages // pages) // table.bytes_of(1, weights))
        for name, table in tables.items()
    }


def slots_of_sweep(tables: PageSets, known: PageSets, spare: int, owner: Owner, weights: bool) -> dict[str, int]:
    """The same for sweeps over `tables` in turn: each has its part."""
    if (slots := _slots_of_all(tables, known, spare, owner, weights)) is not None:
        return slots
    owned = _owned(tables, owner)
    page = max(table.bytes_of(1, weights) for table in tables.values())
    part = min(1.0, spare // page / max(1, sum(owned.values())))
    return {name: int(pages * part) for name, pages in owned.items()}


def _slots_of_all(tables: PageSets, known: PageSets, spare: int, owner: Owner, weights: bool) -> dict[str, int] | None:
    """A slot for every page that the device owns, of those that are known too; None where there is no room."""
    every = {**known, **tables}
    owned = _owned(every, owner)
    needed = sum(table.bytes_of(owned[name], weights) for name, table in every.items()) + other_lists(every, tables)
    return owned if needed <= spare else None


def _owned(tables: PageSets, owner: Owner) -> dict[str, int]:
    partition, number = owner
    return {name: partition.count(table.pages, table.stretch, number) for name, table in tables.items()}


def other_lists(every: PageSets, tables: PageSets) -> int:
    """Bytes that a device holds of the directories of the page sets that are not among `tables`."""
    return sum(work_list_bytes(table) for name, table in every.items() if name not in tables)
