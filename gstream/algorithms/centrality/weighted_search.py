"""Searches from one source after the other that count shortest paths by weight (tight_paths.py).

A program finds the lengths of one source, wherever pages are. Then sweeps count paths level by level: one GPU keeps the
attributes meanwhile. A checkpoint keeps what the sources so far came to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gstream.algorithms.centrality import paths, tight_paths
from gstream.algorithms.centrality.lengths import lengths_from, program_of_lengths
from gstream.algorithms.support.caps import check_run_memory
from gstream.algorithms.support.resident import Resident
from gstream.algorithms.support.session import Session
from gstream.algorithms.support.shared import FAR
from gstream.algorithms.support.simple import simple_lists
from gstream.hostcode.bitmaps import bitmap, bitmap_bytes
from gstream.records import RecordKernel
from pagestore.errors import InputError, UsageError

Arrays = tuple[np.ndarray, ...]
PROOF_BYTES = 32  # a vertex, of a certificate's search: levels, edges left, paths, two sums


class WeightedSearch(ABC):
    """onward: the kernel from one level to the next. carried: its arrays, numbers of paths first. held: others. added:
    the one that adds up what all sources come to."""

    onward: RecordKernel

    def __init__(self, session: Session, carried: Arrays, held: Arrays, added: np.ndarray) -> None:
        self.session, self.carried, self.held, self.added = session, carried, held, added
        vertices = session.meta.vertices
        arrays = (*carried, *held)
        own = 8 * vertices + bitmap_bytes(vertices)  # levels, edges left
        session.foresee(beside=own + sum(array.nbytes for array in arrays))
        program, later = program_of_lengths(session), session.engine.beside_bytes + 8 * vertices
        proof = vertices * PROOF_BYTES + bitmap_bytes(vertices)
        least = session.least_pages(weights=True)
        check_run_memory(session, program, later=later + least, proof=(program,), beside_proof=proof)
        self.paths, self.last, self.most_levels = carried[0], np.zeros(1, np.uint64), 0
        self.distance, self.left = np.full(vertices, FAR, np.uint32), np.zeros(vertices, np.uint32)
        self.length, self.here = np.zeros(0), bitmap(vertices)
        self.lists = simple_lists(session, "out")

    @abstractmethod
    def close(self, resident: Resident, source: int, levels: int) -> None:
        """Take up what the search from `source` found, and make ready for the next one."""

    def from_sources(self, sources: np.ndarray, drawn: bool = False) -> int:
        """Search from each source (store IDs); all levels. drawn: they are kept, as others would be drawn again."""
        kept = self.session.keep(added=self.added, sources=sources if drawn else sources[:0], done=0, levels=0, most=0)
        kept.source_count = len(sources)
        for source in sources[kept.done :].tolist():
            self.length, steps = lengths_from(self.session, source)
            levels = self._count(source)
            kept.done, kept.levels, kept.most = kept.done + 1, kept.levels + levels, max(kept.most, levels)
            kept.boundary(rounds=steps + levels)
        kept.end()
        self.most_levels = kept.most
        return int(kept.levels)

    def _count(self, source: int) -> int:
        """Count the paths from one source; levels."""
        session, words = self.session, -(-len(self.here) // paths.WORDS)
        session.reserve(self.length)
        self.paths[source], self.last[0] = 1.0, 0
        kept = (self.length, self.distance, self.left, *self.carried, *self.held, self.here, self.last)
        with Resident(session, *kept, self.lists.hubs, self.lists.ends) as resident:
            given = (self.lists.hubs, self.lists.ends, self.length, self.left)
            resident.sweep(self.lists.name, tight_paths.count_tight, given)
            for number in resident.rounds(self.last):
                found = (number, self.length, self.left, self.distance, self.here, self.last)
                resident.each(tight_paths.find_ready, words, *found, items=len(self.distance))
                self.sweep(resident, self.onward, number - 1, self.length, self.left, *self.carried)
            levels = int(self.last[0])
            if np.count_nonzero(resident.read(self.distance) == 0) > 1:
                raise self._absorbed()
            self.close(resident, source, levels)
            resident.forget(self.length, self.distance, self.left, *self.carried, self.here)
        session.release(self.length)
        self.distance[:] = FAR
        for array in (*self.carried, *self.held):
            if array is not self.added and len(array) == len(self.distance):
                array[:] = 0
        return levels

    def sweep(self, resident: Resident, kernel: RecordKernel, *arrays: Any) -> None:
        """Sweep the lists of the vertices in `here`."""
        given = (self.lists.hubs, self.lists.ends, self.here, *arrays)
        resident.sweep(self.lists.name, kernel, given, self.here)

    def _absorbed(self) -> UsageError:
        return UsageError(
            f"{self.session.store.path}: a weight is so small beside the length of a path that their sum in double "
            "precision is that length, so shortest paths can't be counted. Convert again with weights nearer together."
        )


def check_positive(session: Session) -> None:
    """Raise InputError for a weight of 0: paths over it may go round without end."""
    if session.meta.edges and session.meta.min_weight == 0:
        raise InputError(
            f"{session.store.path}: has an edge of weight 0, and betweenness by weights needs weights above 0, as "
            "equally short paths could go round without end. Convert again without such edges, or with small weights."
        )
