"""Large arrays that cost few page faults: huge pages where they fit, and buffers that a thread uses again and again.

Measured here: a fault of 4 KiB takes 4 us, so memory used once costs 1 ns a byte, four times as much as sorting it; a
fault of 2 MiB takes 230 us, a ninth of that. numpy asks for huge pages too, but its arrays start off their bounds.
"""

from __future__ import annotations

import mmap

import numpy as np

HUGE_BYTES = 2 << 20


def large_empty(count: int, dtype: np.dtype | type) -> np.ndarray:
    """An uninitialised vector; from 2 MiB on in a mapping of its own, which goes back to the system with the array."""
    size = count * np.dtype(dtype).itemsize
    if size < HUGE_BYTES or not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.empty(count, dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # Whole huge pages only: the rest of the last one would be memory that nobody uses.
        memory.madvise(mmap.MADV_HUGEPAGE, 0, size // HUGE_BYTES * HUGE_BYTES)
    return np.frombuffer(memory, dtype, count)


class Buffers:
    """One thread's arrays by name, each as long as the longest that was asked for."""

    def __init__(self) -> None:
        self._held: dict[str, np.ndarray] = {}

    def get(self, name: str, count: int, dtype: np.dtype | type) -> np.ndarray:
        """An uninitialised vector; what an earlier call with this name returned is overwritten."""
        size = count * np.dtype(dtype).itemsize
        held = self._held.get(name)
        if held is None or len(held) < size:
            self._held.pop(name, None)  # let go of the old one first
            held = self._held[name] = large_empty(size, np.uint8)
        return held[:size].view(dtype)
