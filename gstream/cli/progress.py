"""How far a command is: a bar on a terminal, elsewhere a line every 30 s, or JSON (--progress, --log-file).

JSON is one object a line: time, stage, done, total (null: unknown), unit, rate (units a second), left_seconds (null:
unknown) and, of supersteps, text.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Any, Protocol

from gstream.cli import logs
from pagestore.sizes import show_bytes, show_count, show_seconds

PLAIN_SECONDS = 30.0  # between progress lines where standard error is no terminal
REDRAW_SECONDS = 0.1
LEAST_SHARE = 0.001  # from which the time left is said


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


@dataclass(frozen=True)
class Superstep:
    """A step of a run: `done` supersteps of `total`, of those that this run made `seconds`. text: what the last did."""

    done: int
    total: int | None
    text: str
    phase: str = "supersteps"
    unit: str = "supersteps"


@dataclass(frozen=True)
class Within:
    """Pages of one superstep, from 1, or of a sweep (0)."""

    done: int
    total: int | None
    superstep: int
    unit: str = "pages"

    @property
    def phase(self) -> str:
        return f"superstep {self.superstep}" if self.superstep else "sweep"


@dataclass(frozen=True)
class Rounds:
    """What an algorithm of its own did: `done` of its sources, or of its rounds, of which nobody knows the `total`."""

    done: int
    total: int | None

    @property
    def phase(self) -> str:
        return self.unit

    @property
    def unit(self) -> str:
        return "rounds" if self.total is None else "sources"


class ProgressBar:
    """Shows the steps it is called with, with rate and time left. Leaving the `with` clears what a terminal shows.

    way: as --progress has it; None: as the command was told. Lines go to the log, too, whatever is shown.
    """

    def __init__(self, way: str | None = None, stream: Any = None) -> None:
        self.stream = stream or sys.stderr
        self.way = way or logs.way()
        self.terminal = self.way == "auto" and bool(getattr(self.stream, "isatty", lambda: False)())
        self.phase = ""
        self.began = self.shown = self.logged = time.monotonic()
        self.first = 0  # done before this process began, as of a run that goes on from a checkpoint
        self.run: tuple[float, int] | None = None  # when it began, and supersteps done before
        self.counted: tuple[float, int] | None = None  # the same of its sources or rounds
        self.drawn = False

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        if step.phase != self.phase:
            # The 30 s of plain lines run on across phases, so that many short phases stay quiet.
            self.phase = step.phase
            if self.run is None and isinstance(step, Superstep | Within):
                self.run = self.began, (step.done if isinstance(step, Superstep) else step.superstep) - 1
            self.began, self.first = now, 0
            if isinstance(step, Superstep) and self.run is not None:
                self.began, self.first = self.run
            if isinstance(step, Rounds):
                self.began, self.first = self.counted = self.counted or (now, step.done)
        due = self.way != "off" and now - self.shown >= (REDRAW_SECONDS if self.terminal else PLAIN_SECONDS)
        logged = logs.is_open() and now - self.logged >= PLAIN_SECONDS
        if due:
            self.shown = now
            self._show(self._said(step, now, self.terminal))
        if logged:
            self.logged = now
            logs.log(self._said(step, now, False))

    def _show(self, line: str) -> None:
        if self.terminal:
            self.stream.write(f"\r\x1b[2K{line}")
            self.drawn = True
        else:
            self.stream.write(line + "\n" if self.way == "json" else f"{logs.time_now()} {line}\n")
        self.stream.flush()

    def _said(self, step: Step, now: float, bar: bool) -> str:
        seconds, here = now - self.began, step.done - self.first
        rate = here / seconds if seconds > 0 and here else 0.0
        share = min(1.0, step.done / step.total) if step.total else 0.0
        left = (step.total - step.done) / rate if step.total and rate and share > LEAST_SHARE else None
        one_of_many = isinstance(step, Within) and not step.superstep
        if one_of_many:  # nobody knows how many sweeps follow
            left = None
        if self.way == "json":
            return self._object(step, rate, left)
        if isinstance(step, Superstep):
            of = "" if left is None else f"; {share:.0%} of {step.total} supersteps, {show_seconds(max(0, left))} left"
            return step.text + of
        show = show_bytes if step.unit == "bytes" else show_count
        noun = "" if step.unit == "bytes" else f" {step.unit}"
        speed = f", {show(rate)}{noun}/s" if rate else ""
        if not step.total:
            return f"{step.phase}: {show(step.done)}{noun}{speed}"
        if one_of_many:
            return f"{step.phase}: {show(step.done)} of {show(step.total)}{noun}{speed}"
        filled = int(20 * share)
        drawn = f" [{'#' * filled}{'.' * (20 - filled)}]" if bar else ""
        remaining = "" if left is None else f", {show_seconds(max(0, left))} left"
        return f"{step.phase}:{drawn} {share:4.0%} of {show(step.total)}{noun}{speed}{remaining}"

    def _object(self, step: Step, rate: float, left: float | None) -> str:
        about = {
            "time": logs.time_now(), "stage": step.phase, "done": step.done, "total": step.total, "unit": step.unit,
            "rate": round(rate, 3), "left_seconds": None if left is None else round(max(0.0, left), 1),
        }  # fmt: skip
        return json.dumps(about | ({"text": step.text} if isinstance(step, Superstep) else {}))

    def _clear(self) -> None:
        if self.drawn:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()
            self.drawn = False
