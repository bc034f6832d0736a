"""Memory of large arrays that is used again: by the next call, or the next table, once nobody refers to it.

A fresh array costs page faults: 0.1 to 1 ns a byte, as much as filling it several times over. `take` hands memory out
as an array. When that array and all its views are gone, the memory goes back to the shelf of its size by itself, so
what a user still holds is never written to. Views made by NumPy, Arrow, DLPack or a memoryview all keep the array
alive. `release` gives the shelves back to the system.

Threads may share it; no lock is taken, as arrays may die at any moment, and a forked child has a copy of its own.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gstream.paging.page_source import nothing
from pagestore.errors import ResourceError
from pagestore.io import HUGE_BYTES, aligned_empty

LEAST_BYTES = 1 << 16  # of an array whose memory is kept: smaller ones stay in the heap
KEPT = 8  # pieces of memory of one size that are kept at most: the arrays of a call, and some answers


class Piece(NamedTuple):
    """Memory from the system, and what undoes its pinning."""

    memory: memoryview
    unpin: Callable[[], None]


class KeptMemory:
    """Memory by size. keeps: whether it comes back to a shelf. made: how many pieces were taken from the system.

    pin: pins an array for a GPU, and returns what undoes that; `take`, `release` and `close` call these, within the
    GPU's context. Memory whose pinning is refused is used as it is.
    """

    def __init__(self, keeps: bool = True, pin: Callable[[np.ndarray], Callable[[], None]] | None = None) -> None:
        self._keeps, self._pin, self._most = keeps, pin, KEPT
        self._shelves: dict[int, deque[Piece]] = {}
        self._lent: dict[int, tuple[weakref.ref[np.ndarray], Piece]] = {}
        self._left: deque[Piece] = deque()  # past what is kept: to be unpinned
        self.made = 0

    @property
    def free_bytes(self) -> int:
        """Bytes on the shelves: in use by nobody."""
        return sum(size * len(shelf) for size, shelf in list(self._shelves.items()))

    def take(self, count: int, dtype: Any, fill: Any = None) -> np.ndarray:
        """A vector of `count` elements, all `fill`; None: holding anything. Of a subarray dtype: as many rows. Raises
        MemoryError."""
        dtype = np.dtype(dtype)
        size = count * dtype.itemsize
        if size < LEAST_BYTES or not self._keeps:
            return np.empty(count, dtype) if fill is None else np.full(count, fill, dtype)
        room = -(-size // HUGE_BYTES) * HUGE_BYTES if size > HUGE_BYTES else -(-size // LEAST_BYTES) * LEAST_BYTES
        self._unpin(self._left)
        shelf = self._shelves.setdefault(room, deque())
        try:
            piece = shelf.pop()
        except IndexError:
            piece, self.made = self._from_system(room), self.made + 1
        # Views of views refer to the first array whose memory is no array's: to this one.
        root = np.frombuffer(piece.memory, np.uint8)
        key = id(root)
        self._lent[key] = weakref.ref(root, lambda _: self._back(key, shelf)), piece
        array = elements_of(root[:size], dtype)
        if fill is not None:
            array.fill(fill)
        return array

    def _back(self, key: int, shelf: deque[Piece]) -> None:
        """Nobody refers to an array any more. Reads no global name: arrays die after those at the end of a process."""
        piece = self._lent.pop(key)[1]
        if self._keeps and len(shelf) < self._most:
            shelf.append(piece)
        elif self._pin is not None:
            self._left.append(piece)

    def has(self, array: np.ndarray) -> bool:
        """Whether the array is one that `take` gave."""
        return id(array.base) in self._lent

    def release(self) -> None:
        """Give back to the system what nobody uses. Memory that is in use comes back later, and is kept again."""
        for shelf in [*list(self._shelves.values()), self._left]:
            self._unpin(shelf)

    def close(self) -> None:
        """Unpin all, and keep nothing from now on. Arrays that are in use stay."""
        self._keeps = False
        self.release()
        for key, (reference, piece) in list(self._lent.items()):
            piece.unpin()
            self._lent[key] = reference, Piece(piece.memory, nothing)

    def _unpin(self, pieces: deque[Piece]) -> None:
        while True:
            try:
                piece = pieces.pop()
            except IndexError:  # maybe another thread took the last one
                return
            piece.unpin()

    def _from_system(self, size: int) -> Piece:
        try:
            array = aligned_empty(size)
        except OSError as error:
            raise MemoryError(f"{size} bytes") from error
        try:
            unpin = nothing if self._pin is None else self._pin(array)
        except ResourceError:
            unpin = nothing
        return Piece(array.data, unpin)


def elements_of(memory: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Memory, uint8[n], as an array of a dtype; of a subarray, which NumPy views nothing as, the first axis is rows."""
    return memory.view(dtype.base).reshape(-1, *dtype.shape)


MEMORY = KeptMemory()  # of this process
FRESH = KeptMemory(keeps=False)  # for runs under a cap: their plan counts no unused memory
