"""Bisection for kernels."""

from __future__ import annotations

from typing import Any

from gstream.hostcode.casts import u64
from gstream.hostcode.jit import helper


@helper
def lower_bound(values: Any, low: Any, high: Any, v: Any) -> Any:
    """The first index of [low, high) whose value is v or more, high where there is none; values ascend, all uint64."""
    while low < high:
        middle = (low + high) >> u64(1)
        if u64(values[middle]) < v:
            low = middle + u64(1)
        else:
            high = middle
    return low
