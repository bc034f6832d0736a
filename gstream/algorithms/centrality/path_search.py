"""Searches from one source after the other that count shortest paths, level by level, and carry sums along them.

One GPU that has the attributes finds the vertices of a level by their distances, which takes it no time. Cores keep the
order in which vertices were reached, and one of them alone goes on from level to level where these are small.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gstream.algorithms.centrality import paths
from gstream.algorithms.support.lists import OneThread
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import FAR
from gstream.algorithms.support.simple import Simple
from gstream.hostcode.bitmaps import bitmap, list_bits, set_bits
from gstream.records import RecordKernel

Arrays = tuple[np.ndarray, ...]


class PathSearch(ABC):
    """The attributes of all vertices, used for one source after the other.

    onward: the kernel from one level to the next, alone: the same by one thread, as `paths.count_paths` and
    `paths.count_alone`; they work with distances and `carried`, which begins with the numbers of paths. held: other
    arrays of the searches. lasting: those of both that `close` leaves as they are, or adds to; it clears the others.
    """

    onward: RecordKernel
    alone: Any

    def __init__(
        self, session: Session, lists: Simple, carried: Arrays, held: Arrays = (), lasting: Arrays = ()
    ) -> None:
        self.session, self.lists, vertices = session, lists, session.meta.vertices
        self.distance = np.full(vertices, FAR, np.uint32)
        self.paths, self.carried, self.held = carried[0], carried, held
        stay = {id(array) for array in lasting}
        self.passing = [array for array in (*carried, *held) if id(array) not in stay]
        self.order = np.empty(vertices, session.id_dtype)  # reached vertices, level by level
        self.here, self.following, self.last = bitmap(vertices), bitmap(vertices), np.zeros(1, np.uint64)
        session.reserve(self.distance, *carried, *held, self.order, self.here, self.following)
        self.thread = OneThread(session, [lists.name], 0)
        self.most_levels = 0

    @abstractmethod
    def close(self, resident: Resident, source: int) -> None:
        """Take up what the search from `source` found, and make ready for the next one."""

    def go_back_by_rounds(self, resident: Resident, levels: int) -> None:
        """What follows a search by a GPU, before `close`: nothing, unless sums are carried the way back."""
        return

    def go_back_by_order(self, resident: Resident, levels: int, count: int) -> None:
        """The same of a search by cores that reached `count` vertices."""
        return

    def from_sources(self, sources: np.ndarray, drawn: bool = False) -> int:
        """Search from each source (store IDs); all levels. drawn: they are kept, as others would be drawn again."""
        # done: sources, levels: of them; forth: the last level that is found of the next one, back: the last one that
        # the way back took up; -1: none yet
        self.kept = self.session.keep(
            distance=self.distance, **self.named(), sources=sources if drawn else sources[:0],
            done=0, levels=0, most_levels=0, forth=-1, back=-1,
        )  # fmt: skip
        self.kept.source_count = len(sources)
        arrays = (self.distance, *self.carried, *self.held, self.here, self.following, self.last)
        with self.thread:
            if self.kept.forth >= 0:
                self._go_on(sources[: self.kept.done + 1])
            self._go_on(sources, *arrays, self.lists.hubs, self.lists.ends)
            if self.kept.done < len(sources):  # this one has too many levels for a GPU
                self.distance[:] = FAR
                for array in self.passing:
                    array[:] = 0
                self.kept.forth = -1
                self._go_on(sources)
        self.kept.end()
        self.most_levels = self.kept.most_levels
        return int(self.kept.levels)

    def named(self) -> dict[str, Any]:
        """What a checkpoint keeps beside distances, by name."""
        return {}

    def _go_on(self, sources: np.ndarray, *arrays: np.ndarray) -> None:
        """Search from the sources that are not done yet; arrays: those that a GPU has meanwhile."""
        kept = self.kept
        with Resident(self.session, *arrays) as resident:
            most = self.thread.rounds_before() if resident.on_gpu else None
            for source in sources[kept.done :].tolist():
                made = self._by_rounds(resident, source, most) if resident.on_gpu else self._by_order(resident, source)
                if made == most:
                    return
                self.close(resident, source)
                kept.levels, kept.done, kept.most_levels = (
                    kept.levels + made,
                    kept.done + 1,
                    max(kept.most_levels, made),
                )
                kept.forth = kept.back = -1
                kept.boundary(resident)
            resident.forget(self.distance, *self.passing, self.here, self.following)

    def _by_rounds(self, resident: Resident, source: int, most: int | None) -> int:
        """Search from one source, by a GPU; levels. Where there are `most`, nothing is found."""
        words = -(-len(self.here) // paths.WORDS)
        resident.each(paths.begin_source, 1, source, self.distance, self.paths, self.following, items=1)
        resident.begin(self.last)
        for number in resident.rounds(self.last, most, self.kept):
            self.kept.forth = number
            resident.each(paths.step_on, words, number, self.here, self.following, self.last, items=len(self.here))
            self.sweep(resident, self.onward, number - 1, *self.carried, self.following)
        levels = int(self.last[0])
        if levels != most:
            self.go_back_by_rounds(resident, levels)
        return levels

    def _by_order(self, resident: Resident, source: int) -> int:
        """Search from one source, by cores; levels."""
        # at: where the last level begins in the order, where it ends, and its number
        at = self._begin(source) if self.kept.forth < 0 else self._take_up()
        while at[0] != at[1]:
            if not self.by_thread(self.alone, at[1] - at[0], *self.carried, at):
                begin, end, level = at.tolist()
                self.choose(begin, end)
                self.following[:] = 0
                self.sweep(resident, self.onward, level, *self.carried, self.following)
                reached = list_bits(self.following, 0, len(self.distance))
                at[:] = end, end + len(reached), level + 1
                self.order[at[0] : at[1]] = reached
            self.kept.forth = int(at[2])
            self.kept.boundary()
        self.go_back_by_order(resident, int(at[2]), int(at[1]))
        return int(at[2])

    def _begin(self, source: int) -> np.ndarray:
        """The order has the source alone, at level 0."""
        self.order[0], self.distance[source], self.paths[source] = source, 0, 1.0
        return np.array([0, 1, 0])

    def _take_up(self) -> np.ndarray:
        """The order of the vertices that a search had reached by level `forth`, which is empty if it was the end."""
        reached = np.flatnonzero(self.distance != FAR)
        reached = reached[np.argsort(self.distance[reached], kind="stable")]
        self.order[: len(reached)] = reached
        level = min(int(self.kept.forth), int(self.distance[reached[-1]]) + 1)
        return np.array([np.searchsorted(self.distance[reached], level), len(reached), level])

    def by_thread(self, kernel: Any, due: int, *arrays: np.ndarray) -> bool:
        """Whether one thread went on from where the last of the arrays says, over levels that are small."""
        at = arrays[-1]
        if not self.thread.is_for(due):
            return False
        assert self.thread.lists
        (lists,), before = self.thread.lists, at.copy()
        given = (lists.words, lists.places, self.distance, *arrays[:-1], self.order, at, self.thread.most)
        self.session.look(kernel, *given, items=0, long=True)
        return not np.array_equal(at, before)

    def choose(self, begin: int, end: int) -> None:
        """Set the bits of a stretch of the order in `here`, and no others."""
        self.here[:] = 0
        set_bits(self.here, self.order[begin:end].astype(np.uint64))

    def sweep(self, resident: Resident, kernel: RecordKernel, level: int, *arrays: np.ndarray) -> None:
        """Sweep the lists of the vertices of a level."""
        given = (self.lists.hubs, self.lists.ends, self.here, level, self.distance, *arrays)
        resident.sweep(self.lists.name, kernel, given, self.here)
