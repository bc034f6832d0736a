"""One topology's edges, sorted: degrees and, vertex after vertex, the ascending targets (a CSR in parts).

Part k holds the lists of the near vertices firsts[k]..firsts[k+1]-1, either as arrays or in files at its own place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pagestore.convert.storage import TempFile, Vector


class PartStore:
    """Element arrays of all parts (targets, or weights): in memory, or one file with room for each part's most."""

    def __init__(self, dtype: np.dtype, room: np.ndarray, path: Path | None, keep: bool = False):
        """`room` int64[parts]: most elements each part may get. With `keep` the file is there already."""
        self.dtype = np.dtype(dtype)
        self._arrays: list[np.ndarray] = [np.empty(0, self.dtype)] * len(room)
        self._places = (np.cumsum(room) - room) * self.dtype.itemsize
        self._file = None if path is None else TempFile(path, keep)

    def put(self, part: int, first: int, values: np.ndarray) -> None:
        """Elements [first, first + len(values)) of a part, which must come in order when kept in memory."""
        if self._file is not None:
            self._file.write(int(self._places[part]) + first * self.dtype.itemsize, values)
        else:
            before = self._arrays[part]
            self._arrays[part] = np.concatenate([before, values]) if len(before) else values

    def get(self, part: int, first: int, last: int) -> np.ndarray:
        """Elements [first, last) of a part."""
        if self._file is None:
            return self._arrays[part][first:last]
        return self._file.read(
            int(self._places[part]) + first * self.dtype.itemsize, np.empty(last - first, self.dtype)
        )

    def close(self) -> None:
        """Free the memory, or remove the file; safe to call twice."""
        self._arrays = []
        if self._file is not None:
            self._file.remove()


@dataclass
class SortedEdges:
    """Edges by (near, far). `counts` int64[parts]; edge number e is the e-th of all in that order.

    `hash`: a sum over edges (emit.py). `weight_range`: least and greatest weight.
    """

    vertices: int
    firsts: np.ndarray
    counts: np.ndarray
    degrees: Vector
    targets: PartStore
    weights: PartStore | None
    duplicates: int
    loops: int
    hash: int
    weight_range: tuple[float, float] | None

    def __post_init__(self) -> None:
        self.starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @property
    def edges(self) -> int:
        """Edges kept."""
        return int(self.starts[-1])

    def _read(self, store: PartStore, first: int, last: int) -> np.ndarray:
        pieces = []
        part = max(0, int(np.searchsorted(self.starts, first, "right")) - 1)
        while first < last:
            start, end = int(self.starts[part]), int(self.starts[part + 1])
            if end > first:
                pieces.append(store.get(part, first - start, min(last, end) - start))
                first = min(last, end)
            part += 1
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.empty(0, store.dtype)

    def read_targets(self, first: int, last: int) -> np.ndarray:
        """Far ends (u4 or u8) of the edges [first, last); may be a view."""
        return self._read(self.targets, first, last)

    def read_weights(self, first: int, last: int) -> np.ndarray | None:
        """Weights of the edges [first, last), None when there are none."""
        return None if self.weights is None else self._read(self.weights, first, last)

    def windows(self, size: int) -> Iterator[tuple[int, int]]:
        """Edge ranges of at most `size`."""
        for first in range(0, self.edges, size):
            yield first, min(first + size, self.edges)

    def close(self) -> None:
        """Free all of it."""
        self.degrees.close()
        self.targets.close()
        if self.weights is not None:
            self.weights.close()
