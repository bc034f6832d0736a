"""Sums for vertices of other ranks' slices go to those ranks while later pages are pulled.

Pages come in the order of their vertices, and a vertex outside of large pages has its list in one page. So the sums of
all vertices below the next page's first one are whole. They go piece by piece; the ranks of their slices take them
between batches of their own, as nothing else adds to these vertices (hubs are added up apart). Where those are behind,
sums wait in the array: what is on its way takes memory that no plan counts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gstream.devices.host.mirrors import Mirrors
from gstream.devices.job import Range
from gstream.devices.ranks import Ranks
from gstream.paging.own_ids import PIECE, WORD, OwnIds
from gstream.telemetry.trace import Trace

PIECES = 8  # of a slice, at least; and launches of pages that are in memory already
ENDLESS = 1 << 62
ON_THE_WAY = 64 << 20  # bytes that a rank has given and others have not taken, from which on it gives no more


class _Piece(NamedTuple):
    """until: its sums are whole when all vertices below this number are passed. there: by store IDs."""

    until: int
    to: int
    there: Range


class _Given(NamedTuple):
    """Sums on their way, which stay in memory until they are there."""

    request: Any
    sums: np.ndarray
    to: int
    began: float


class _Taken(NamedTuple):
    """Sums that are expected, and the numbers of their vertices."""

    request: Any
    room: np.ndarray
    mine: np.ndarray


class StreamedSums:
    """The exchange of one run's sums, superstep by superstep: `begin`, `passed` between batches, `finish`."""

    def __init__(self, ranks: Ranks, mirrors: Mirrors, ids: OwnIds, trace: Trace | None) -> None:
        self._ranks, self._mirrors, self._trace = ranks, mirrors, trace
        longest = max(last - first for first, last in ids.slices)
        step = min(PIECE, -(-longest // PIECES // WORD) * WORD)
        cut = [[(at, min(at + step, last)) for at in range(first, last, step)] for first, last in ids.slices]
        pieces = [(to, part) for to, parts in enumerate(cut) if to != ranks.rank for part in parts]
        self._order = sorted(_Piece(ids.range_of(part)[1], to, part) for to, part in pieces)
        self._own = cut[ranks.rank]
        self._array = np.empty(0)
        self._combine: Callable[..., Any] = np.add
        self._left = deque[_Piece]()
        self._given = list[_Given]()
        self._expected = dict[int, deque[Range]]()
        self._taken = dict[int, _Taken]()

    def begin(self, array: np.ndarray, combine: Callable[..., Any]) -> None:
        """A superstep begins, which sums into `array`, by numbers."""
        self._array, self._combine = array, combine
        self._left = deque(self._order)
        self._expected = {rank: deque(self._own) for rank in range(self._ranks.size) if rank != self._ranks.rank}
        for source in self._expected:
            self._expect(source)

    def passed(self, number: int) -> None:
        """Sums of all vertices below `number` are whole: give what is, and take what has come."""
        while self._left and self._left[0].until <= number and self._has_room():
            piece = self._left.popleft()
            sums = self._array[self._mirrors.written_there(piece.there)]
            if len(sums):
                began = time.perf_counter()
                self._given.append(_Given(self._ranks.begin_giving(sums, piece.to), sums, piece.to, began))
        self._look()

    def finish(self) -> None:
        """Return when the own slice has the sums of all ranks, and they have this rank's."""
        self.passed(ENDLESS)
        while self._given or self._taken or self._left:
            waiting = [one.request for one in self._given] + [one.request for one in self._taken.values()]
            self._ranks.wait_for_any(waiting)
            self.passed(ENDLESS)

    def _has_room(self) -> bool:
        if sum(one.sums.nbytes for one in self._given) < ON_THE_WAY:
            return True
        self._look()
        return sum(one.sums.nbytes for one in self._given) < ON_THE_WAY

    def _expect(self, source: int) -> None:
        """Take the next piece of the own slice that a rank gives something of."""
        pieces = self._expected[source]
        while pieces:
            mine = self._mirrors.written_here(source, pieces.popleft())
            if len(mine):
                room = np.empty((len(mine), *self._array.shape[1:]), self._array.dtype)
                self._taken[source] = _Taken(self._ranks.begin_taking(room, source), room, mine)
                return

    def _look(self) -> None:
        for source in list(self._taken):
            while source in self._taken and self._ranks.is_over(self._taken[source].request):
                _, room, mine = self._taken.pop(source)
                with np.errstate(over="ignore", invalid="ignore"):  # the end of a run names sums that diverge
                    self._array[mine] = self._combine(self._array[mine], room)
                self._expect(source)
        on_their_way = list[_Given]()
        for one in self._given:
            if not self._ranks.is_over(one.request):
                on_their_way.append(one)
            elif self._trace is not None:
                what = f"{len(one.sums)} sums to rank {one.to}"
                self._trace.span("ranks", f"to rank {one.to}", what, one.began, time.perf_counter())
        self._given = on_their_way
