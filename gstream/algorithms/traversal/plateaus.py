"""Predecessors by weight, with hops of vertices behind edges of no length: by one process, or by ranks with slices.

A vertex is on a plateau where no in-neighbour is nearer to the source: all edges of least length that lead to it have
none. Hops count the edges since the last vertex that is on none, by rounds, so that predecessors make no circle.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from gstream.algorithms.support.shared import FAR
from gstream.algorithms.traversal import nearest

HOPS = np.dtype(np.uint32)
Sweep = Callable[[Any, tuple[Any, ...], np.ndarray], None]  # of a kernel over arrays, among vertices of some bits


def find_by_weight(
    sweep: Sweep, found: np.ndarray, arrays: tuple[Any, ...], unsettled: Callable[[], np.ndarray | None],
    agree: Callable[[bool], bool], alone: Callable[[int, np.ndarray, np.ndarray], bool] = lambda *_: False,
) -> bool:  # fmt: skip
    """One sweep where every reached vertex has a nearer candidate; else hops by rounds, and one more sweep. Returns
    whether there are plateaus.

    arrays: near, hops (0), natural, found (of bits set), open_bits, pull, as of nearest.nearest_by_weight. unsettled():
    bits of the plateaus, None where there is none. agree(changed): hops are merged, and whether any changed.
    alone(round, plateau, flat): whether it counted all hops instead.
    """
    near, hops, _, _, bits, pull = arrays
    sweep(nearest.nearest_by_weight, arrays, bits)
    plateau = unsettled()
    if plateau is None:
        return False
    flat = np.unpackbits(plateau.view(np.uint8), bitorder="little")[: len(hops)].view(np.bool_)
    hops[flat], changed = FAR, np.zeros(1, np.int64)
    for number in count():
        if alone(number, plateau, flat):
            break
        changed[0] = 0
        sweep(nearest.spread_hops, (near, hops, plateau, pull, changed), plateau)
        if not agree(bool(changed[0])):
            break
    del flat, plateau
    found[:] = ~found.dtype.type(0)
    sweep(nearest.nearest_by_weight, arrays, bits)
    return True
