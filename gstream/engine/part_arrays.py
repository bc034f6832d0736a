"""Arrays of the vertices that a rank's part has to do with, for page kernels: its own slice, and mirrors.

Arrays go by numbers (gstream.paging.own_ids), and so do the pages that a kernel sees. What a rank wrote to mirrors goes
to their owners (`mirrors.reduce`), and what owners have to the mirrors (`mirrors.gather`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gstream.devices.host.mirrors import Mirrors
from gstream.devices.host.rank_values import RankValues
from gstream.devices.ranks import Ranks
from gstream.paging.own_ids import OwnIds
from gstream.paging.page_table import PageTable
from gstream.planning.memory_fit import Graph


@dataclass(frozen=True)
class PartArrays:
    """tables: page sets by numbers, by the name of the topology. mirrors: vertices that these name or list."""

    ranks: Ranks
    ids: OwnIds
    tables: dict[str, PageTable]
    mirrors: Mirrors

    @property
    def count(self) -> int:
        """Elements of an array by numbers, the same on all ranks."""
        return self.ids.count

    @property
    def own(self) -> slice:
        """Where the own slice lies in it."""
        return slice(*self.ids.own_numbers)

    @property
    def nbytes(self) -> int:
        """Of the bitmaps that say which vertices these are."""
        return self.ids.nbytes + self.mirrors.nbytes

    def graph(self, graph: Graph) -> Graph:
        """As a plan of slices has it. graph: of the engine."""
        first, last = self.ids.own
        return replace(graph, vertices=self.count, of=graph.vertices, slice=last - first)

    def fits(self, engine: Any, need: int) -> bool:
        """Whether all ranks may hold what each needs, in bytes: no cap is less. All ranks make this call."""
        cap = engine.options.host_memory
        return not self.ranks.any(cap is not None and need > cap)

    def store_ids(self, dtype: Any) -> np.ndarray:
        """By numbers; 0 where a number is unused."""
        return self.ids.select(lambda first, last: np.arange(first, last, dtype=dtype))

    def spread(self, own: np.ndarray, fill: Any = 0) -> np.ndarray:
        """By numbers, what the owners have; fill: where a number is unused."""
        found = np.full(self.count, fill, own.dtype)
        found[self.own] = own
        self.mirrors.gather(found)
        return found

    def values(self, own: np.ndarray) -> RankValues:
        """Of all vertices, of which this rank has those of its slice."""
        return RankValues(self.ranks, own, list(self.ids.slices))

    def lowered(self, array: np.ndarray, vertices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tell owners values of vertices, of which they keep the least: (what each had or has of them now, places in
        the own slice whose value fell). array: of the own slice. vertices: store IDs, ascending and distinct. All ranks
        make this call."""
        ranks, begin, told = self.ranks, self.ids.own[0], np.empty_like(values)
        cuts = np.searchsorted(vertices, [*(first for first, _ in self.ids.slices), self.ids.slices[-1][1]])
        counts, fell = ranks.everybody(np.diff(cuts).tolist()), [np.empty(0, np.int64)]
        for step in range(ranks.size):
            to, source = (ranks.rank + step) % ranks.size, (ranks.rank - step) % ranks.size
            mine, count = slice(cuts[to], cuts[to + 1]), counts[source][ranks.rank]
            theirs, offered = np.empty(count, vertices.dtype), np.empty(count, values.dtype)
            ranks.swap(vertices[mine], to, theirs, source)
            ranks.swap(values[mine], to, offered, source)
            places = theirs.astype(np.int64) - begin
            less = offered < array[places]
            fell.append(places[less])
            array[places[less]] = offered[less]
            ranks.swap(array[places], source, told[mine], to)
        return told, np.concatenate(fell)
