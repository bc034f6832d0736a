"""The rows of a table that come first by the values of a column: looked for in store order, on all cores.

Values that come after the best of so far are passed over by one comparison, so that names are looked up of few.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gstream.records.held import HeldRows
from gstream.results.column import Column
from gstream.results.pieces import in_stretches

if TYPE_CHECKING:
    from pagestore.store import Store

STEP = 1 << 16  # values at a time, that stay in a core's cache


def best_rows(store: Store, column: Column, count: int, largest: bool, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """(natural indices, store IDs), int64[<= count], best first: the least values or the largest, ties by natural
    index; rows without a value are left out."""
    if column.held is not None and column.held.of_ranks:
        return _best_of_ranks(store, column, count, largest, column.held.rows(store))
    names = None if store.meta.order == "natural" else store.natural_ids()
    found = in_stretches(len(column.values), threads, partial(_best_among, column, names, count, largest))
    keys, natural, places = (np.concatenate(each) for each in zip(*found, strict=True))
    chosen = least(keys, natural, count)
    return natural[chosen], places[chosen]


def frequent_values(column: Column, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(the `count` most frequent values of a column of natural indices, how often each is there), ties by value."""
    if column.held is not None and column.held.of_ranks:
        return column.held.frequent(count)
    values = column.values
    sizes = np.zeros(len(values), values.dtype)  # a group has no more vertices than IDs can count
    one = sizes.dtype.type(1)  # of another type it takes 15 times as long
    for first in range(0, len(values), STEP):
        np.add.at(sizes, values[first : first + STEP], one)
    found = np.flatnonzero(sizes)
    chosen = found[least(~sizes[found], found, count)]
    return chosen, sizes[chosen]


def _best_of_ranks(
    store: Store, column: Column, count: int, largest: bool, share: HeldRows
) -> tuple[np.ndarray, np.ndarray]:
    """The same of values that ranks have: each looks at its own rows."""
    own = replace(column, values=share.values)
    keys, natural, _ = _best_among(own, None, count, largest, 0, len(share.values))
    all_keys, all_natural = zip(*share.everybody((keys, natural + share.first)), strict=True)
    keys, natural = np.concatenate(all_keys), np.concatenate(all_natural)
    chosen = natural[least(keys, natural, count)]
    places = np.empty(len(chosen), np.int64)
    for at, row in enumerate(chosen.tolist()):
        places[at] = store.store_ids(row, row + 1)[0]
    return chosen, places


def _best_among(
    column: Column, names: np.ndarray | None, count: int, largest: bool, first: int, last: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(keys, natural indices, store IDs) of the best of store IDs [first, last)."""
    kept = column.values[:0], np.empty(0, np.int64), np.empty(0, np.int64)
    for begin in range(first, last, STEP):
        values = column.values[begin : min(begin + STEP, last)]
        keys, absent = sort_keys(values, largest), column.absent(values)
        wanted = np.ones(len(keys), np.bool_) if absent is None else ~absent
        if len(kept[0]) == count:
            wanted &= keys <= kept[0][-1]
        at = np.flatnonzero(wanted)
        if len(at):
            places = begin + at
            natural = places if names is None else names[places].astype(np.int64)
            new = zip(kept, (keys[at], natural, places), strict=True)
            together = [np.concatenate(each) for each in new]
            chosen = least(together[0], together[1], count)
            kept = together[0][chosen], together[1][chosen], together[2][chosen]
    return kept


def sort_keys(values: np.ndarray, descending: bool) -> np.ndarray:
    """Keys of the same kind of number whose ascending order is the wanted one; NaN comes last."""
    if values.dtype.kind != "f":
        return ~values if descending else values
    keys = -values if descending else values
    return np.where(np.isnan(keys), np.inf, keys).astype(values.dtype, copy=False)


def least(keys: np.ndarray, names: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` least keys, least first, ties by name."""
    chosen = np.arange(len(keys))
    if len(keys) > count:
        bound = np.partition(keys, count - 1)[count - 1]
        below, equal = np.flatnonzero(keys < bound), np.flatnonzero(keys == bound)
        left = count - len(below)
        if left < len(equal):
            equal = equal[np.argpartition(names[equal], left - 1)[:left]]
        chosen = np.concatenate([below, equal])
    return chosen[np.lexsort((names[chosen], keys[chosen]))]
