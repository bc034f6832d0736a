"""Lanes that share a record, by classes of pages: what is fastest on a machine's GPUs (SIMD paper, 5.4).

The model (pagestore.simd) counts idle lanes. It knows neither which reads share a sector of memory nor how many warps
wait for theirs, so that a GPU is asked as well (gstream.devices.gpu.lane_probe). A class is the group size that the
model says, which tells how lists of a page differ, and the power of two below their mean length. Pulls and pushes have
tables of their own. Names of constants that are kept: "pull lanes 4 16" is the class of group size 4 and 16 to 31
neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pagestore.layout import GROUP_SIZES

LENGTHS = (1, 2, 4, 8, 16, 32, 64)  # mean lengths from which classes begin; a warp shares lists of twice the last
WARP_LANES = 32
EDGES_A_LANE = 4  # to 8, where nothing was measured: with more, reads of lanes lie too far apart
LEAST_UNLIKE = 8  # group size of pages whose lists differ: they take no fewer, as real tails are longer than drawn ones
Row = tuple[int, ...]


def name_of(direction: str, group: int, length: int) -> str:
    """The name of a class's constant; its value is the number of lanes."""
    return f"{direction} lanes {group} {length}"


@dataclass(frozen=True)
class PageLanes:
    """Lanes a record, a row for each of GROUP_SIZES, an entry for each of LENGTHS."""

    pull: tuple[Row, ...]
    push: tuple[Row, ...]

    @classmethod
    def measured(cls, known: Mapping[str, float]) -> PageLanes:
        """From constants of a file; a class that was not measured is taken as the nearest one of lists as long."""
        return cls(_table(known, "pull", USUAL.pull), _table(known, "push", USUAL.push))

    def of(self, direction: str, group: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """uint32[n]: lanes of pages, by the group size of the directory (uint8[n]) and the mean length (uint64[n])."""
        table = np.array(getattr(self, direction), np.uint32)
        length = np.log2(np.maximum(mean, 1)).astype(np.int64)
        found = table[np.searchsorted(GROUP_SIZES, group), np.minimum(length, len(LENGTHS) - 1)]
        return np.where(length < len(LENGTHS), found, np.uint32(WARP_LANES)).astype(np.uint32)


def _table(known: Mapping[str, float], direction: str, usual: tuple[Row, ...]) -> tuple[Row, ...]:
    rows = []
    for place, group in enumerate(GROUP_SIZES):
        row = []
        for at, length in enumerate(LENGTHS):
            near = sorted(GROUP_SIZES, key=lambda other: (abs(np.log2(other / group)), -other))
            found = (known.get(name_of(direction, other, length)) for other in near)
            lanes = next((int(lanes) for lanes in found if lanes in GROUP_SIZES), usual[place][at])
            row.append(max(lanes, group) if group >= LEAST_UNLIKE else lanes)
        rows.append(tuple(row))
    return tuple(rows)


def _by_length(group: int) -> Row:
    return tuple(max(group, min(WARP_LANES, length // EDGES_A_LANE)) for length in LENGTHS)


# Of pages whose lists are alike, as measured on an H100; of others as the model says.
ALIKE = {
    "pull": ((1, 1, 1, 4, 8, 8, 16), (1, 1, 1, 4, 8, 8, 16), (1, 2, 2, 4, 8, 8, 16)),
    "push": ((1, 2, 1, 4, 8, 32, 32), (2, 2, 1, 4, 8, 32, 32), (2, 2, 2, 4, 16, 32, 32)),
}
_UNLIKE = tuple(_by_length(group) for group in GROUP_SIZES if group >= LEAST_UNLIKE)
USUAL = PageLanes(pull=(*ALIKE["pull"], *_UNLIKE), push=(*ALIKE["push"], *_UNLIKE))
