"""Pages to devices: what a device holds is processed there, the rest comes by batches, batch by batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import ExitStack, closing

import numpy as np

from gstream.devices.base import Device
from gstream.pages import PageSource
from gstream.pagetable import PageTable


def feed(
    device: Device, source: PageSource, table: PageTable, pages: np.ndarray, weights: bool, again: bool
) -> Generator[None, None, None]:
    """Submit pages (int64[n], ascending) to a device, a batch a step; does not wait for the last ones.

    again: the next call will be for the same pages, so that reading and copying go on meanwhile.
    """
    others = device.submit_held(table, pages)
    with closing(source.batches(others, device.in_place, device.make_room, weights, again)) as batches:
        for batch in batches:
            device.submit(batch)
            yield
    for batch in source.first_again(device.absent(table, others), weights) if again else ():
        if not device.submit_ahead(batch):
            break
        yield


def exhaust(feeding: Generator[None, None, None]) -> None:
    """All steps, one after the other."""
    deque(feeding, maxlen=0)


def in_turn(feedings: list[Generator[None, None, None]]) -> None:
    """A step of each at a time, all from this thread: threads that feed GPUs wait for each other's interpreter.

    A batch takes a thread some 60 us beside 300 us of the link's time; two threads took 340 us each for it (measured).
    """
    with ExitStack() as stack:
        going = deque(stack.enter_context(closing(feeding)) for feeding in feedings)
        while going:
            feeding = going.popleft()
            try:
                next(feeding)
            except StopIteration:
                continue
            going.append(feeding)
