"""A sweep that nobody repeats, made a portion of its pages after the other where the call keeps checkpoints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.engine.sweep_state import Brings, SweepState

PORTIONS = 16  # of a topology's pages: each costs some 100 us beside its pages


def portions(
    session: Session, kept: SweepState, name: str, wanted: np.ndarray | None, resident: Brings | None = None
) -> Iterator[np.ndarray | None]:
    """The pages of a topology that are still to be swept, bool[pages], a portion at a time; None: all. A boundary
    follows each. kept.page: the first page that was not swept. wanted: bool[pages]; None: all."""
    pages = session.engine.graph.tables[name].pages
    if session.engine.keeper is None:
        yield wanted
        return
    step = max(1, -(-pages // PORTIONS))
    for first in range(kept.page, pages, step):
        portion = np.zeros(pages, np.bool_)
        portion[first : first + step] = True if wanted is None else wanted[first : first + step]
        if portion.any():
            yield portion
        kept.page = min(first + step, pages)
        kept.boundary(resident)
