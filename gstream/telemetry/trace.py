"""Spans of a run (read, kernel, merge, superstep) for `--trace run.json`: Chrome's trace format, opens in Perfetto.

One process a device (and one for reads from disk), one track a thread or stream. Times are of the host's monotonic
clock, in seconds; a device with a clock of its own converts.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from gstream.telemetry.plain_values import plain_values
from pagestore.replacing import replacing

NO_SPAN = nullcontext()  # where there is no trace


class Trace(Protocol):
    """Takes one finished span: `process` is a device or "disk", `track` a stream or thread, times in seconds."""

    def span(self, process: str, track: str, name: str, start_s: float, end_s: float) -> None:
        """Note a span; called from several threads."""


@contextmanager
def timed(trace: Trace | None, process: str, track: str, name: str) -> Iterator[None]:
    """A span around a block; nothing where `trace` is None. Blocks that raise leave no span."""
    began = time.perf_counter()
    yield
    if trace is not None:
        trace.span(process, track, name, began, time.perf_counter())


class ChromeTrace:
    """Collects spans in memory; `write` puts them into a file."""

    def __init__(self) -> None:
        self._spans: list[tuple[str, str, str, float, float]] = []
        self._lock = threading.Lock()

    def span(self, process: str, track: str, name: str, start_s: float, end_s: float) -> None:
        with self._lock:
            self._spans.append((process, track, name, start_s, end_s))

    def gather(self, ranks: Any) -> None:
        """Have the first rank's trace take the spans of all ranks, whose processes it names with theirs. Clocks of
        several machines agree at a moment that all ranks pass."""
        ranks.everybody(None)
        now = time.perf_counter()
        with self._lock:
            given = ranks.to_first((now, self._spans))
            self._spans = [
                (f"rank {rank}: {process}", track, name, start_s + now - its, end_s + now - its)
                for rank, (its, spans) in enumerate(given)
                for process, track, name, start_s, end_s in spans
            ]

    def events(self) -> list[dict[str, Any]]:
        """The spans as complete events ("X", microseconds from the first) after the names of processes and tracks."""
        processes = {name: number for number, name in enumerate(sorted({span[0] for span in self._spans}))}
        tracks = {pair: number for number, pair in enumerate(sorted({span[:2] for span in self._spans}))}
        found: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}}
            for name, number in processes.items()
        ]
        found += [
            {"ph": "M", "name": "thread_name", "pid": processes[process], "tid": number, "args": {"name": track}}
            for (process, track), number in tracks.items()
        ]
        origin = min((span[3] for span in self._spans), default=0.0)
        for process, track, name, start_s, end_s in sorted(self._spans, key=lambda span: span[3]):
            place = {"pid": processes[process], "tid": tracks[process, track]}
            begin, length = (start_s - origin) * 1e6, (end_s - start_s) * 1e6
            found.append({"ph": "X", "name": name, **place, "ts": round(begin, 3), "dur": round(length, 3)})
        return found

    def write(self, path: str | Path, run: dict[str, Any] | None = None) -> None:
        """Write the trace as JSON, with the first span's time by the system's monotonic clock beside it.

        run: what `gstream report` shows beside the spans (gstream.reporting.recorder).
        The file is complete or absent. Raises UsageError, ResourceError.
        """
        first = min((span[3] for span in self._spans), default=0.0)
        other = {"monotonic_s": first} | ({} if run is None else {"gstream": plain_values(run)})
        about = {"traceEvents": self.events(), "displayTimeUnit": "ms", "otherData": other}
        with replacing(path) as stream:
            stream.write(json.dumps(about).encode())
