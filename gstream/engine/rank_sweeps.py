"""Sweeps of page kernels over ranks: each looks at its own pages, and then all have what the arrays came to.

Arrays that a record kernel writes say how copies of them become one (gstream.records): before a sweep they are copied,
and after it what each rank made of them is merged as that of several GPUs. Kernels of other kinds bring their own way
(`across`), or can't be run by ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gstream.devices.base import Device
from gstream.devices.job import DeviceMemoryError
from gstream.devices.ranks import Ranks
from gstream.options.memory import spare_memory
from gstream.planning.cost_model import CostModel
from gstream.records import merge_copies
from pagestore.errors import UsageError

LESS = 0.75  # of what a device had no room for: the next try
PIECE = 1 << 20  # elements of which all ranks' copies are held at once
REDUCED = ("or", "min", "max")  # which MPI does by itself


def agreed_room(ranks: Ranks | None, costs: CostModel) -> tuple[float, int]:
    """When an engine looked at the memory that is free, and the bytes: never yet, or once for all, as ranks plan alike
    and go by the rank that has least. They go by the first rank's constants, too."""
    if ranks is None:
        return float("-inf"), 0
    costs.agree(ranks.of_first(costs.constants if ranks.first else None))
    return float("inf"), ranks.least(spare_memory() // ranks.local_size)


def agreed_capacity(ranks: Ranks | None, devices: Sequence[Device]) -> int | None:
    """Bytes that a device of any rank may hold, as ranks plan alike; None: no limit, or no ranks."""
    found = [size for device in devices if ranks is not None and (size := device.capacity()) is not None]
    return None if ranks is None or not found else ranks.least(min(found))


def less_room(ranks: Ranks | None, error: DeviceMemoryError, lacking: int) -> int:
    """Bytes to try next where a device had no room for so many. Raises the error for ranks, which plan alike."""
    if ranks is not None:
        raise error
    return int(lacking * LESS)


@contextmanager
def over_ranks(ranks: Ranks | None, kernel: Any) -> Iterator[None]:
    """While the block lasts, this rank sweeps its share of the pages; afterwards all have the arrays of all.

    kernel: of gstream.devices.page_kernel. Raises UsageError for one that ranks can't merge.
    """
    if ranks is None:
        yield
        return
    across = getattr(kernel, "across", None)
    if across is not None:
        yield
        across(ranks)
        return
    merges, arrays = getattr(kernel, "merges", None), getattr(kernel, "named", {})
    if merges is None:
        raise UsageError(
            f"{getattr(kernel, 'name', 'this run')}: its threads go by what others have just written, which ranks "
            "can't see. Leave --execution async out, or let one process do the run."
        )
    written = {name: arrays[name] for name in merges or ()}
    before = {name: array.copy() for name, array in written.items()}
    yield
    if "own" in merges.values():
        _join_own(ranks, kernel, merges, before)
        return
    done = set[int]()  # an array may be given twice: it becomes one once
    for name, how in merges.items():
        if id(written[name]) not in done:
            done.add(id(written[name]))
            merge(ranks, how, written[name], before[name])


def merge(ranks: Ranks, how: str, array: np.ndarray, before: np.ndarray) -> None:
    """array becomes what all ranks' come to, each made of `before`. how: as gstream.records says."""
    if how in REDUCED:
        ranks.combine(array, how)
    elif how == "sum":
        with np.errstate(over="ignore", invalid="ignore"):
            change = array - before
            ranks.combine(change, how)
            np.add(before, change, out=array)
    elif how == "note":
        array[:], copies = before, ranks.everybody(array.copy())
        merge_copies(how, array, copies)
    else:
        flat, old = array.reshape(-1), before.reshape(-1)
        for first in range(0, len(flat), PIECE):
            part = slice(first, first + PIECE)
            made = ranks.joined(flat[part])
            flat[part] = old[part]
            merge_copies(how, flat[part], np.split(made, ranks.size))


def _join_own(ranks: Ranks, kernel: Any, merges: dict[str, str], before: dict[str, np.ndarray]) -> None:
    """Merge by the algorithm's own way, which takes all ranks' copies at once."""
    assert kernel.join is not None, f"{kernel.name}: nobody merges its arrays"
    arrays = kernel.named
    copies: list[dict[str, Any]] = [{} for _ in range(ranks.size)]
    for name in merges:
        made = ranks.joined(arrays[name])
        for copy, part in zip(copies, np.split(made, ranks.size), strict=True):
            copy[name] = part
    for name, array in before.items():
        arrays[name][...] = array
    for name, how in merges.items():
        if how != "own":
            merge_copies(how, arrays[name], [copy[name] for copy in copies])
    kernel.join(arrays, copies)
