"""Arrays that a compressed store holds as blocks (pagestore/coding/blocks.py), read by rows as others are."""

from __future__ import annotations

import numpy as np

from pagestore.arrays import CheckedArray, StoredArray
from pagestore.coding.form import block_rows
from pagestore.cores import in_order, usable_cores
from pagestore.errors import StoreError
from pagestore.meta import REBUILD

WINDOW_BLOCKS = 1024  # that a thread decodes at a time


class CodedArray(StoredArray):
    """Heads id[n, 4], or degrees [n]. words: the blocks, u4; sizes: words of each, u2[blocks]."""

    def __init__(self, words: CheckedArray, sizes: np.ndarray, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        super().__init__(words.path, words.name, dtype, shape)
        self._words = words
        self._block = block_rows(heads=len(shape) == 2)
        self._begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        if len(sizes) != -(-self.rows // self._block) or self._begins[-1] != words.rows:
            raise StoreError(f"{self.path}: {self.name} has blocks of sizes that are not its own. {REBUILD}")

    @property
    def stored_bytes(self) -> int:
        return self._words.nbytes

    def read(self, first: int = 0, last: int | None = None) -> np.ndarray:
        """Also raises StoreError on a block that no converter writes."""
        last = self._range(first, last)
        low, high = first // self._block, -(-last // self._block)  # blocks
        if first == last:
            return np.empty((0, *self._row_shape), self.dtype)
        begin = low * self._block
        out = np.empty((min(high * self._block, self.rows) - begin, *self._row_shape), self.dtype)

        def decode(at: int) -> None:
            end = min(at + WINDOW_BLOCKS, high)
            self._decode(at, end, out[at * self._block - begin : end * self._block - begin])

        windows = range(low, high, WINDOW_BLOCKS)
        if len(windows) == 1:
            decode(low)
        else:
            for _ in in_order(windows, decode, min(usable_cores(), len(windows))):
                pass
        return out[first - begin : last - begin]

    def keep(self) -> None:
        self._words.keep()

    def _decode(self, low: int, high: int, out: np.ndarray) -> None:
        """Rows of the blocks [low, high)."""
        from pagestore.coding.blocks import decode_blocks  # Numba: as in pagestore.reader

        begins = self._begins[low : high + 1]
        coded = self._words.read(int(begins[0]), int(begins[-1]))
        wrong = decode_blocks(coded, begins - begins[0], low * self._block, out)
        if wrong >= 0:
            row = (low + wrong) * self._block
            raise StoreError(
                f"{self.path}: {self.name}, rows {row} to {min(row + self._block, self.rows)} break the format, though "
                f"their checksum is right: no accident made them so. {REBUILD}"
            )
