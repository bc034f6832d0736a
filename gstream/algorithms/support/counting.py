"""Figures of a summary, counted where the values are."""

from __future__ import annotations

from typing import Any

import numpy as np

from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import count_unlike
from gstream.records.held import Held

AT_ONCE = 1 << 16  # values that stay in a core's cache
MANY = 1 << 22  # values that all cores count: of fewer, one counts in 1 ms, without compiled code


def count_others(session: Session, values: np.ndarray | Held, none: Any) -> int:
    """How many values are not `none`: by the device that holds them, or by the host's cores."""
    if isinstance(values, Held):
        return values.count_unlike(none)
    if len(values) >= MANY:
        words = values.view(f"u{values.itemsize}")
        return session.each(count_unlike, words, np.array([none], values.dtype).view(words.dtype)[0], items=len(words))
    parts = (values[first : first + AT_ONCE] for first in range(0, len(values), AT_ONCE))
    return sum(int(np.count_nonzero(part != none)) for part in parts)
