"""Pages that stay in memory between look-ups, least recently used ones giving way; nothing is read ahead.

room: | page 17 | page 4 | page 203 | ...     slot_of: page -> place in the room, -1: not there
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from pagestore.io import aligned_empty

if TYPE_CHECKING:
    from pagestore.topology import Topology

READ_THREADS = 8  # random reads of pages in flight: what one NVMe disk needs to give most of its rate


class KeptPages:
    """Pages of a topology, or their weights, in at most `most_bytes` of memory, but at least one page.

    Not thread-safe: one thread at a time calls `hold` and reads the room.
    """

    def __init__(self, topology: Topology, most_bytes: int, weights: bool = False) -> None:
        self.topology, self.weights = topology, weights
        width = topology.weight_page_bytes if weights else topology.layout.page_bytes
        kind = topology.layout.id_dtype
        if weights and topology.weight_dtype is not None:
            kind = topology.weight_dtype
        self.slots = max(1, min(topology.pages, most_bytes // max(1, width)))
        self._bytes = aligned_empty(self.slots * width).reshape(self.slots, width)  # the system gives what is touched
        self.room = self._bytes.view(kind)  # id or weight[slots, words]
        self._slot_of = np.full(topology.pages, -1, np.int32)
        self._page_of = np.full(self.slots, -1, np.int64)
        self._used = np.zeros(self.slots, np.int64)  # the call that used the slot last
        self._calls = 0
        self._reader = topology.reader()

    def close(self) -> None:
        """Give memory and descriptor back."""
        self._reader.close()
        self.room = self._bytes = np.empty((0, 0), np.uint8)

    def hold(self, pages: np.ndarray) -> np.ndarray:
        """int64[n]: the slots of ascending pages, each once and at most `slots` of them; missing ones are read.

        Raises StoreError for a damaged page.
        """
        self._calls += 1
        found = self._slot_of[pages]
        self._used[found[found >= 0]] = self._calls
        missing = pages[found < 0]
        if len(missing):
            self._read(missing)
        return self._slot_of[pages].astype(np.int64)

    def _read(self, missing: np.ndarray) -> None:
        """Read pages into the slots that were used longest ago: a read for each run of pages and slots."""
        places = np.argpartition(self._used, len(missing) - 1)[: len(missing)]
        places.sort()
        left = self._page_of[places]
        self._slot_of[left[left >= 0]] = -1
        self._page_of[places] = -1
        cuts = np.flatnonzero((np.diff(missing) != 1) | (np.diff(places) != 1)) + 1
        runs = list(zip(np.split(missing, cuts), np.split(places, cuts), strict=True))
        if len(runs) == 1:
            self._read_run(*runs[0])
        else:
            with ThreadPoolExecutor(min(READ_THREADS, len(runs))) as pool:
                list(pool.map(self._read_run, *zip(*runs, strict=True)))
        self._page_of[places] = missing
        self._slot_of[missing] = places
        self._used[places] = self._calls

    def _read_run(self, pages: np.ndarray, places: np.ndarray) -> None:
        read = self._reader.read_weights if self.weights else self._reader.read
        read(int(pages[0]), len(pages), self._bytes[places[0] : places[-1] + 1])
