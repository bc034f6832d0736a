"""Rows by pieces that stay in a core's cache, on all cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from gstream.devices.host.threads import Workers

T = TypeVar("T")

PIECE_ROWS = 1 << 14  # a multiple of 8, so that no two pieces share a byte of a bitmap


class _Crew:
    """Threads of this process that make rows, for one caller at a time; kept, as starting them takes 0.1 ms each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: Workers | None = None

    def run(self, call: Callable[[], int], threads: int) -> None:
        """Call on so many threads at once; on this one alone where others work already."""
        if threads <= 1 or not self._lock.acquire(blocking=False):
            call()
            return
        try:
            if self._workers is None or self._workers.threads < threads:
                self.end()
                self._workers = Workers(threads, "rows")
            self._workers.run(call, limit=threads)
        finally:
            self._lock.release()

    def rest(self) -> None:
        """End the threads, unless they work."""
        if self._lock.acquire(blocking=False):
            try:
                self.end()
            finally:
                self._lock.release()

    def end(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    def begin_again(self) -> None:
        """In a forked child, which has none of the threads."""
        self._lock, self._workers = threading.Lock(), None


_CREW = _Crew()
rest = _CREW.rest
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_CREW.begin_again)


def in_pieces(count: int, threads: int, call: Callable[[int, int], object]) -> None:
    """call(first, last) for each piece of `count` rows, by so many threads."""
    pieces = iter([(first, min(first + PIECE_ROWS, count)) for first in range(0, count, PIECE_ROWS)])

    def work() -> int:
        for piece in pieces:  # threads share the iterator: each piece is taken once
            call(*piece)
        return 0

    _CREW.run(work, min(threads, -(-count // PIECE_ROWS)))


def in_stretches(count: int, threads: int, call: Callable[[int, int], T]) -> list[T]:
    """call(first, last) for neighbouring parts of `count` rows, one a thread and each of whole pieces; what the calls
    return, in order."""
    pieces = -(-count // PIECE_ROWS)
    parts = max(1, min(threads, pieces))
    bounds = [min(count, pieces * number // parts * PIECE_ROWS) for number in range(parts + 1)]
    numbers, found = iter(range(parts)), dict[int, T]()

    def work() -> int:
        for number in numbers:
            found[number] = call(bounds[number], bounds[number + 1])
        return 0

    _CREW.run(work, parts)
    return [found[number] for number in range(parts)]
