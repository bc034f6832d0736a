"""One stream of a GPU with what its batches need beside pages, and the spans of a trace from the GPU's own clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from gstream.devices.gpu.driver import Gpu
from gstream.telemetry.trace import NO_SPAN, Trace

CLOCK_TRIES = 5
ENTRY = np.dtype([("end", "<u4"), ("row", "<u4"), ("shift", "<i8")])  # cuda/pages.cuh


class Lane:
    """One stream with its events, and buffers for the entries and the RA of its batch."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.stream, self.over, self.copied = gpu.stream(), gpu.event(), gpu.event()
        self.ticket, self.what = -1, ""  # the launch that `over` stands for
        self.claims = 0  # address of its launches' claims (cuda/pages.cuh): no two of them are under way at once
        self.used = False
        self._staged = np.zeros(0, ENTRY)
        self._entries = gpu.empty(0, ENTRY)
        self.value = self.degree = self.message = gpu.empty(0, np.uint8)

    def wait(self) -> None:
        """Return when its last batch is over; the GIL is free meanwhile."""
        if self.used:
            try:
                self.gpu.peer_wait.wait_event(self.over)
            except self.gpu.cuda.Error as error:
                raise self.gpu.failure(self.what, error) from error
            self.used = False

    def reserve(self, count: int) -> None:
        """Have room for so many entries. The last launch must be over."""
        if count > len(self._staged):
            self._entries.free()
            self._staged = self.gpu.pinned(count, ENTRY)
            self._entries = self.gpu.empty(count, ENTRY)

    def put_entries(self, entries: np.ndarray) -> tuple[int, int]:
        """Queue the copy of ENTRY[n], where a launch's pages lie; (address, n). The last launch must be over."""
        count = len(entries)
        if count > len(self._staged):
            self.reserve(2 * count)
        self._staged[:count] = entries
        self.gpu.write(self._entries.address, self._staged[:count], self.stream)
        return self._entries.address, count

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in (self._entries, self.value, self.degree, self.message))

    def free_source(self) -> None:
        """Give the memory of a streamed RA back."""
        for array in (self.value, self.degree, self.message):
            array.free()
        self.value = self.degree = self.message = self.gpu.empty(0, np.uint8)

    def free(self) -> None:
        """Give memory, stream and events back; nothing may be queued."""
        self.free_source()
        self._entries.free()
        self.stream = self.over = self.copied = None


class Mark:
    """How far a stream is, which streams of other GPUs may wait for. It keeps no stream alive.

    queued: names of kernels on it that are not known to be over.
    """

    def __init__(self, gpu: Gpu, queued: list[str]) -> None:
        self.gpu, self.queued = gpu, queued
        self.event = gpu.event()

    def look(self) -> None:
        """Raise DeviceError where the GPU has failed."""
        if self.event is not None:
            with self.gpu, self.gpu.suspecting(self.queued):
                self.event.query()

    def free(self) -> None:
        self.event = None


class Stopwatch:
    """How long a stream takes over what is queued within blocks, by the GPU's own clock."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._blocks: list[tuple[Any, Any]] = []

    @contextmanager
    def over(self, stream: Any) -> Iterator[None]:
        begin, end = self.gpu.event(timed=True), self.gpu.event(timed=True)
        begin.record(stream)
        yield
        end.record(stream)
        self._blocks.append((begin, end))

    def take(self) -> float:
        """Seconds of all blocks since the last call; they must be over."""
        blocks, self._blocks = self._blocks, []
        return sum(end.time_since(begin) for begin, end in blocks) / 1e3


class Spans:
    """Spans between events of a GPU's streams, as times of the host's clock.

    The clocks meet once, at the beginning, at an event that is over at once: the one of several tries that took least,
    for a busy system may let a thread wait. GPU clocks drift by some 10 us a second.
    """

    def __init__(self, gpu: Gpu, trace: Trace, process: str) -> None:
        self.gpu, self.trace, self.process = gpu, trace, process
        stream, least = gpu.stream(), float("inf")
        for _ in range(CLOCK_TRIES):
            base, before = gpu.event(timed=True), time.perf_counter()
            base.record(stream)
            base.synchronize()
            after = time.perf_counter()
            if after - before < least:
                self._base, self._began, least = base, after, after - before
        self._open: list[tuple[str, str, Any, Any]] = []

    def mark(self, stream: Any) -> Any:
        """An event at this point of a stream; None: of the default one, for copies that are over on return."""
        event = self.gpu.event(timed=True)
        event.record(stream)
        return event

    def add(self, track: str, name: str, begin: Any, end: Any) -> None:
        """Note a span between two marks, which may not be over yet."""
        self._open.append((track, name, begin, end))

    @contextmanager
    def around(self, track: str, name: str, stream: Any) -> Iterator[None]:
        """A span over what is queued on a stream within the block."""
        begin = self.mark(stream)
        yield
        self.add(track, name, begin, self.mark(stream))

    def flush(self) -> None:
        """Hand the spans that are over to the trace."""
        spans, self._open = self._open, []
        for track, name, begin, end in spans:
            if not end.query():  # a copy ahead
                self._open.append((track, name, begin, end))
                continue
            first, last = (self._began + event.time_since(self._base) / 1e3 for event in (begin, end))
            self.trace.span(self.process, track, name, first, last)


def span_of(spans: Spans | None, track: str, name: str, stream: Any) -> AbstractContextManager[None]:
    """A span over what is queued on a stream within the block, where there is a trace."""
    return NO_SPAN if spans is None else spans.around(track, name, stream)
