"""What a superstep did, in words: for the command line's progress, and for `progress=True` of Python's calls."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pagestore.sizes import show_count, show_seconds, show_things

if TYPE_CHECKING:
    from gstream.telemetry.stats import StepStats

LEAST_SECONDS = 0.5  # between two lines


def step_line(number: int, step: StepStats, pages: int) -> str:
    """One line of superstep `number`. pages: of all supersteps so far."""
    return (
        f"superstep {number}: {show_count(step.frontier)} vertices active, {show_things(step.pages, 'page')} in "
        f"{show_seconds(step.seconds)}; {show_things(pages, 'page')} in all"
    )


class ShowSteps:
    """A line on standard error after the first superstep, and then at most every 0.5 s.

    Two are equal: an engine is kept while its options stay equal.
    """

    def __init__(self) -> None:
        self._pages, self._shown = 0, 0.0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShowSteps)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, number: int, step: StepStats) -> None:
        self._pages = step.pages + (self._pages if number > 1 else 0)
        now = time.monotonic()
        if number == 1 or now - self._shown >= LEAST_SECONDS:
            self._shown = now
            with suppress(OSError, ValueError):  # nobody reads it, or it was closed
                print(step_line(number, step, self._pages), file=sys.stderr, flush=True)
