"""Which lists of a graph were joined with which, in words that do not depend on how they were cut into blocks.

Blocks are cut as memory allows, so a call that goes on from a checkpoint may cut others. What is kept are stretches of
vertices: the lists of vertices up to ends[i], from ends[i - 1] on, were joined with all lists from vertex beyond[i] on.
Blocks of the call that goes on begin at all of these vertices, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gstream.algorithms.support.blocks import Blocks
from gstream.engine.sweep_state import SweepState


def nothing_joined(vertices: int) -> dict[str, Any]:
    """What a state keeps at first."""
    return {"ends": [vertices], "beyond": [vertices]}


def cuts_of(kept: SweepState) -> set[int]:
    """Vertices with which blocks must begin."""
    return {*kept.ends, *kept.beyond} - {0}


def is_left(kept: SweepState, blocks: Blocks) -> Callable[[int, int], bool]:
    """Whether two blocks, the first one no later than the second one, are still to be joined."""

    def left(number: int, other: int) -> bool:
        place = next(place for place, end in enumerate(kept.ends) if end > blocks.bounds[number])
        return int(kept.beyond[place]) > blocks.bounds[other]

    return left


def note_joined(kept: SweepState, blocks: Blocks, number: int, other: int) -> None:
    """Two blocks were joined; of a block, those of higher vertices before, and itself last."""
    first, last = blocks.bounds[number], blocks.bounds[number + 1]
    beyond = 0 if number == other else blocks.bounds[other]  # all before it were its own turn
    stretches, begin = list[tuple[int, int]](), 0
    for end, seen in zip(kept.ends, kept.beyond, strict=True):
        for low, high, now in (
            (begin, min(end, first), seen), (max(begin, first), min(end, last), beyond), (max(begin, last), end, seen),
        ):  # fmt: skip
            if low < high and stretches and stretches[-1][1] == now:
                stretches[-1] = high, now
            elif low < high:
                stretches.append((high, now))
        begin = end
    kept.ends, kept.beyond = [high for high, _ in stretches], [now for _, now in stretches]
