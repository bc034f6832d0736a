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

    def from_sources(self, sources: np.ndarray) -> int:
        """Search from each source (store IDs); all levels."""
        arrays = (self.distance, *self.carried, *self.held, self.here, self.following, self.last)
        with self.thread:
            done, levels = self._go_on(sources, *arrays, self.lists.hubs, self.lists.ends)
            if done < len(sources):  # this one has too many levels for a GPU
                self.distance[:] = FAR
                for array in self.passing:
                    array[:] = 0
                levels += self._go_on(sources[done:])[1]
        return levels

    def _go_on(self, sources: np.ndarray, *kept: np.ndarray) -> tuple[int, int]:
        """(sources that are done, their levels); kept: arrays that a GPU has meanwhile."""
        levels, done = 0, 0
        with Resident(self.session, *kept) as resident:
            most = self.thread.rounds_before() if resident.on_gpu else None
            for source in sources.tolist():
                made = self._by_rounds(resident, source, most) if resident.on_gpu else self._by_order(resident, source)
                if made == most:
                    return done, levels
                self.close(resident, source)
                levels, done, self.most_levels = levels + made, done + 1, max(self.most_levels, made)
            resident.forget(self.distance, *self.passing, self.here, self.following)
        return done, levels

    def _by_rounds(self, resident: Resident, source: int, most: int | None) -> int:
        """Search from one source, by a GPU; levels. Where there are `most`, nothing is found."""
        words = -(-len(self.here) // paths.WORDS)
        resident.each(paths.begin_source, 1, source, self.distance, self.paths, self.following, items=1)
        for number in resident.rounds(self.last, most):
            resident.each(paths.step_on, words, number, self.here, self.following, self.last, items=len(self.here))
            self.sweep(resident, self.onward, number - 1, *self.carried, self.following)
        levels = int(self.last[0])
        if levels != most:
            self.go_back_by_rounds(resident, levels)
        return levels

    def _by_order(self, resident: Resident, source: int) -> int:
        """Search from one source, by cores; levels."""
        self.order[0], self.distance[source], self.paths[source] = source, 0, 1.0
        at = np.array([0, 1, 0])  # where the last level begins in the order, where it ends, and its number
        while at[0] != at[1]:
            if not self.by_thread(self.alone, at[1] - at[0], *self.carried, at):
                begin, end, level = at.tolist()
                self.choose(begin, end)
                self.following[:] = 0
                self.sweep(resident, self.onward, level, *self.carried, self.following)
                reached = list_bits(self.following, 0, len(self.distance))
                at[:] = end, end + len(reached), level + 1
                self.order[at[0] : at[1]] = reached
        self.go_back_by_order(resident, int(at[2]), int(at[1]))
        return int(at[2])

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
