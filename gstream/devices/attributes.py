"""Sizes of the arrays that devices hold for a run."""

from __future__ import annotations

from typing import Any

import numpy as np

PIECE_BYTES = 32 << 20  # at most, of a peer's attributes that can't be read in place


def piece_bytes(vertices: int) -> int:
    """Bytes of each buffer for a peer's attributes: a byte a vertex, PIECE_BYTES at most."""
    return min(PIECE_BYTES, max(4096, vertices // 8 * 8))


def needed_degrees(code: Any, resident: bool) -> set[str]:
    """Which degrees a device that copies holds: what the program reads, and out-degrees to weigh frontiers by."""
    frontier = {"degree"} if resident and code.idempotent else set()
    return (code.reads() & {"degree", "in_degree"}) | frontier


def whole_degrees(code: Any, source_copy: bool) -> set[str]:
    """Which degrees a device holds of all vertices where WA comes by chunks: those that `send` reads of any source."""
    return {"degree"} if source_copy and code.uses_degree else set()


def message_dtype(code: Any) -> np.dtype:
    """What a pull gathers: floats as wide as the values (half the traffic of the float64 sum), integers as the sum."""
    return code.value_dtype if code.value_dtype.base.kind == "f" else code.got_dtype
