"""Pages to devices: what a device holds is processed there, the rest comes by batches, batch by batch."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from gstream.devices.base import Device, Feeding
from gstream.engine.demand import Demand
from gstream.paging.page_source import PageSource


def feed(
    device: Device, source: PageSource, demand: Demand, weights: bool, again: bool, in_place: np.ndarray
) -> Feeding:
    """Submit pages to a device, a batch a step; does not wait for the last ones.

    again: the next call will be for the same pages, so that reading and copying go on meanwhile. in_place: int64[k],
    pages to be read in host memory, if they are there and the device does not hold them.
    """
    table = demand.table
    others = device.submit_held(table, demand.numbers)
    if len(in_place) and len(others):
        others = read_in_place(device, source, demand, weights, others, in_place)
    yield  # other devices may begin
    if len(others) == 0:
        return
    with closing(source.batches(others, device.in_place, device.make_room, weights, again)) as batches:
        for batch in batches:
            device.submit(batch)
            yield
    for batch in source.first_again(device.absent(table, others), weights) if again else ():
        if not device.submit_ahead(batch):
            break
        yield


def read_in_place(
    device: Device, source: PageSource, demand: Demand, weights: bool, others: np.ndarray, in_place: np.ndarray
) -> np.ndarray:
    """Submit those of the pages `others` (int64[n]) that are to be read in host memory; returns the rest."""
    sparse = source.lying(others[np.isin(others, in_place, assume_unique=True)], weights)
    if len(sparse.numbers) == 0:
        return others
    device.stats.bytes_moved += int(demand.among(sparse.numbers).bytes_in_place(weights).sum())
    device.stats.pages_in_place += len(sparse.numbers)
    device.submit_in_place(sparse)
    return others[np.isin(others, sparse.numbers, assume_unique=True, invert=True)]
