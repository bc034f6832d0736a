"""Threads that read pages ahead of use: a pool for each file of a store, as its stripes lie on disks of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

QUIET: Any = (np.seterr, ("ignore",))  # how threads of a pool begin: where warnings are errors, none ends a run


class Readers:
    """Pools of `threads` threads, one for each of `files` files; a pool's threads start with its work.

    A slow disk does not keep the reads of others waiting in its queue.
    """

    def __init__(self, files: int, threads: int) -> None:
        self.files, self.threads = files, threads
        self._pools = self._made()

    def _made(self) -> list[ThreadPoolExecutor]:
        return [ThreadPoolExecutor(self.threads, f"read-ahead-{file}", *QUIET) for file in range(self.files)]

    @property
    def at_once(self) -> int:
        """Reads that are under way at a time."""
        return self.files * self.threads

    def submit(self, file: int, call: Callable[..., None], *given: Any) -> Future[None]:
        """call(*given) by a thread of a file's pool."""
        return self._pools[file].submit(call, *given)

    def resize(self, threads: int) -> None:
        """From now on so many threads a file; reads under way are waited for. No thread may hand out work meanwhile."""
        if threads != self.threads:
            self.close()
            self.threads = threads
            self._pools = self._made()

    def close(self) -> None:
        """Wait for all reads and end the threads."""
        for pool in self._pools:
            pool.shutdown()


class Read:
    """The reading of one batch: a part from each file that holds some of its pages."""

    def __init__(self, parts: Sequence[Future[None]]) -> None:
        self._parts = parts

    def result(self) -> None:
        """Wait for all parts, so that no thread writes into the batch's rows afterwards. Raises a part's error."""
        wait(self._parts)
        for part in self._parts:
            part.result()

    def done(self) -> bool:
        return all(part.done() for part in self._parts)

    def end(self) -> None:
        """Cancel parts that have not begun and wait for the others."""
        wait([part for part in self._parts if not part.cancel()])

    @property
    def failed(self) -> bool:
        """Of a read that has ended: whether some of its pages were not read."""
        return any(part.cancelled() or part.exception() is not None for part in self._parts)
