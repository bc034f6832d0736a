"""What the commands show: progress (a bar on a terminal, one plain line every 30 s elsewhere), tables, notes.

Standard output carries results only: tables of vertices, or exactly one JSON object with --json. All else goes to
standard error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from gstream.telemetry.plain_values import plain_values
from pagestore.errors import plain, visible
from pagestore.sizes import show_bytes, show_count, show_seconds

LINE_FEED = "\n"  # which values of several lines have
PLAIN_SECONDS = 30.0  # between progress lines where standard error is no terminal
REDRAW_SECONDS = 0.1
LARGEST_WHOLE = 1e15  # of floats that stand for whole numbers, and are shown as such


def note(text: str) -> None:
    """One line on standard error."""
    print(visible(text), file=sys.stderr, flush=True)


def print_json(value: dict[str, Any]) -> None:
    """The one JSON object of --json, on standard output. null is no value; NaN and infinity, which JSON lacks, are the
    strings "NaN", "Infinity" and "-Infinity", which most languages read as numbers."""
    import json

    print(json.dumps(plain_values(value), allow_nan=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
    """Aligned columns on standard output; numbers to the right, missing values as a dash."""
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [all(_is_number(row[i]) for row in cells) for i in range(len(columns))]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    if title:
        print(title)
    for row in [list(columns), *cells]:
        line = "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True))
        print(line.rstrip())


def print_pairs(pairs: Iterable[tuple[str, str]], file: Any = None) -> None:
    """`name   value` lines, aligned; on standard output unless `file` says otherwise."""
    listed = list(pairs)
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        print(f"{name.ljust(width)}  {visible(value, LINE_FEED)}", file=file or sys.stdout)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < LARGEST_WHOLE else f"{value:.6g}"
    return plain(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "-"
    return True


class Step(Protocol):
    """How far a long step is: `done` of `total` (None: unknown) `unit`s ("bytes", "edges", "pages") of `phase`."""

    @property
    def phase(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int | None: ...
    @property
    def unit(self) -> str: ...


class ProgressBar:
    """Shows the steps it is called with, with rate and time left; silent when `quiet`. Leaving the `with` clears it."""

    def __init__(self, quiet: bool = False, stream: Any = None) -> None:
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.terminal = bool(getattr(self.stream, "isatty", lambda: False)())
        self.phase = ""
        self.began = self.shown = time.monotonic()
        self.drawn = False

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        if step.phase != self.phase:
            # The 30 s of plain lines run on across phases, so that many short phases stay quiet.
            self.phase, self.began = step.phase, now
        if self._due(now):
            self._show(self._line(step, now - self.began))

    def say(self, line: str) -> None:
        """Show a line that stands for itself, when it is time for one."""
        if self._due(time.monotonic()):
            self._show(line)

    def _due(self, now: float) -> bool:
        if self.quiet or now - self.shown < (REDRAW_SECONDS if self.terminal else PLAIN_SECONDS):
            return False
        self.shown = now
        return True

    def _show(self, line: str) -> None:
        if self.terminal:
            self.stream.write(f"\r\x1b[2K{line}")
            self.drawn = True
        else:
            self.stream.write(line + "\n")
        self.stream.flush()

    def _line(self, step: Step, seconds: float) -> str:
        show = show_bytes if step.unit == "bytes" else show_count
        noun = "" if step.unit == "bytes" else f" {step.unit}"
        rate = f", {show(step.done / seconds)}{noun}/s" if seconds > 0 and step.done else ""
        if not step.total:
            return f"{step.phase}: {show(step.done)}{noun}{rate}"
        share = min(1.0, step.done / step.total)
        left = f", {show_seconds(seconds * (1 - share) / share)} left" if share > 0.001 else ""
        bar = ""
        if self.terminal:
            filled = int(20 * share)
            bar = f" [{'#' * filled}{'.' * (20 - filled)}]"
        return f"{step.phase}:{bar} {share:4.0%} of {show(step.total)}{noun}{rate}{left}"

    def _clear(self) -> None:
        if self.drawn:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()
            self.drawn = False
