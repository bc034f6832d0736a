"""The first edges between names, for `convert --dry-run`: hashes stand for the names, and no dictionary is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pagestore.inputs.base import MAX_ID, EdgeChunk, EdgeSource
from pagestore.inputs.idtable import IdSet
from pagestore.inputs.names import hashes_of
from pagestore.inputs.several import SeveralSources

MOST_NAMES = 1 << 24  # told apart: 400 MB at most; `convert.estimate` ends the sample long before


class NameSample(EdgeSource):
    """Edges of `sources` (readers with `names_of_edges`) between hashes of names, as far as they are asked for.

    `distinct_names`, `name_bytes`: different names so far, and the bytes of all ends of edges so far.
    """

    def __init__(self, sources: Sequence[Any]) -> None:
        super().__init__()
        self._sources = sources
        self._union: Any = SeveralSources(sources) if len(sources) > 1 else sources[0]
        self.name, self.directed, self.weighted = self._union.name, self._union.directed, self._union.weighted
        self.total_bytes, self.skipped = self._union.total_bytes, self._union.skipped
        self._seen = IdSet(MOST_NAMES)
        self.name_bytes = 0

    @property
    def distinct_names(self) -> int:
        """Different names among the edges so far."""
        return self._seen.count

    def chunks(self) -> Iterator[EdgeChunk]:
        """See EdgeSource; IDs are hashes."""
        for source in self._sources:
            for chunk in source.names_of_edges():
                ends = []
                for column in (chunk.source, chunk.target):
                    names, _ = hashes_of(column, np.uint64(0))
                    self._seen.add(names.hashes)
                    self.name_bytes += int(names.offsets[-1] - names.offsets[0])
                    ends.append(names.hashes & np.uint64(MAX_ID))
                yield EdgeChunk(ends[0], ends[1], chunk.weight)

    def position(self) -> int:
        """See EdgeSource."""
        return self._union.position()

    def close(self) -> None:
        """See EdgeSource."""
        self._union.close()
