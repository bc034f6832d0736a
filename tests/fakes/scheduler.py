"""A seeded scheduler of late operations: what a GPU's streams and events allow, one operation at a time."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

QUEUE_LIMIT = 12  # operations queued on one stream before more of it waits for some: bounds what is in flight


@dataclass
class Operation:
    """Something queued: done when `run` has been called; not before the batches in `waits` are over."""

    kind: str
    run: Callable[[], None]
    waits: list[int] = field(default_factory=list)
    ticket: int = -1  # the batch that is over when this is done


class Scheduler:
    """Operations by stream: each is done after those before it on its stream, and after the batches it waits for."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.random = name, random.Random(seed)
        self.streams: list[deque[Operation]] = [deque()]
        self._over: set[int] = set()

    def reset(self, streams: int) -> None:
        """So many streams, the last of which is that of vertices and cached pages; nothing is queued."""
        self.streams = [deque() for _ in range(streams)]
        self._over.clear()

    @property
    def queued(self) -> set[str]:
        """Kinds of what is queued. Copies ahead don't count: only the kernels behind them wait for them."""
        return {operation.kind for stream in self.streams for operation in stream} - {"ahead"}

    @property
    def empty(self) -> bool:
        return not any(self.streams)

    def put(self, stream: int, operation: Operation) -> None:
        self.streams[stream].append(operation)

    def bound(self, stream: int) -> None:
        """Do some operations, if the stream has many."""
        while len(self.streams[stream]) > QUEUE_LIMIT:
            self.do_one()

    def wait(self) -> None:
        while self.queued:
            self.do_one()
        self._over.clear()  # whoever waits for one of them now waits for ever

    def do_one(self) -> None:
        """Do one operation that may be done now: the first of a stream whose awaited batches are over."""
        ready = [stream for stream in self.streams if stream and self._over.issuperset(stream[0].waits)]
        if not ready:
            assert self.empty, f"{self.name}: every stream waits for another"
            return
        operation = self.random.choice(ready).popleft()
        operation.run()
        if operation.ticket >= 0:
            self._over.add(operation.ticket)
