"""Arrays in a GPU's memory, and shelves for the memory of those that are taken again and again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

LARGEST_ADDRESS = (1 << 64) - 1
LARGEST_SHELVED = 1 << 30  # bytes: larger pieces go back to the driver, so that other sizes can have that memory


class Array:
    """`count` elements of `dtype` in a GPU's memory. shelf: where their memory waits for the next who needs as much."""

    def __init__(self, memory: Any, count: int, dtype: Any, shelf: deque[Any] | None = None) -> None:
        self._memory, self.count, self.dtype, self._shelf = memory, count, np.dtype(dtype), shelf
        self.nbytes = count * self.dtype.itemsize
        self.address = int(memory) if memory is not None else 0

    def at(self, index: int) -> int:
        """Address of an element; a negative index wraps around as addresses do."""
        return (self.address + index * self.dtype.itemsize) & LARGEST_ADDRESS

    def of(self, dtype: Any) -> Array:
        """The same memory as elements of another type, for as long as this one has it."""
        array = Array(None, self.nbytes // np.dtype(dtype).itemsize, dtype)
        array.address = self.address
        return array

    @property
    def shelved(self) -> bool:
        """Whether `free` calls nothing of CUDA's."""
        return self._shelf is not None or self._memory is None

    def free(self) -> None:
        """Give the memory back; what is queued must be over."""
        if self._memory is not None and self._shelf is not None:
            self._shelf.append(self._memory)
        elif self._memory is not None:
            self._memory.free()
        self._memory, self.address, self.nbytes = None, 0, 0


class Shelves:
    """Memory by size that waits for the next who takes as much: the driver needs 15 us for each piece, and as long to
    have it back. Arrays may be freed by any thread, as appending to a shelf takes no lock."""

    def __init__(self) -> None:
        self._shelves: dict[int, deque[Any]] = {}

    def take(self, count: int, dtype: np.dtype, allocate: Callable[[int], Any]) -> Array:
        """`count` elements, holding anything; allocate(size) is asked where the shelf is empty."""
        size = count * dtype.itemsize
        if size > LARGEST_SHELVED:
            return Array(allocate(size), count, dtype)
        shelf = self._shelves.setdefault(size, deque())
        try:
            memory = shelf.pop()
        except IndexError:
            memory = allocate(size)
        return Array(memory, count, dtype, shelf)

    def free(self) -> int:
        """Give what waits back to the driver; its bytes. What is queued must be over."""
        freed = 0
        for size, shelf in list(self._shelves.items()):
            while shelf:
                shelf.pop().free()
                freed += size
        return freed
