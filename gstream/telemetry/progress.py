"""What a superstep did, in words: for the command line's progress, and for `progress=True` of Python's calls."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pagestore.errors import UsageError
from pagestore.sizes import show_count, show_seconds, show_things

if TYPE_CHECKING:
    from collections.abc import Callable

    from gstream.telemetry.stats import StepStats
    from pagestore.convert.options import Progress

LEAST_SECONDS = 0.5  # between two lines
WITHIN_SECONDS = 0.1  # between two looks at the pages of a superstep


def step_line(number: int, step: StepStats, pages: int) -> str:
    """One line of superstep `number`. pages: of all supersteps so far."""
    return (
        f"superstep {number}: {show_count(step.frontier)} vertices active, {show_things(step.pages, 'page')} in "
        f"{show_seconds(step.seconds)}; {show_things(pages, 'page')} in all"
    )


def notebook_bar() -> Any:
    """A bar of tqdm's in a notebook, where tqdm is installed; None: elsewhere lines do."""
    if "ipykernel" not in sys.modules:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(bar_format="{desc} {bar} {elapsed}")


class ShowSteps:
    """A line on standard error after the first superstep, and then at most every 0.5 s; a bar in notebooks.

    Two are equal: an engine is kept while its options stay equal.
    """

    def __init__(self) -> None:
        self._pages, self._shown = 0, 0.0
        self._bar: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShowSteps)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, number: int, step: StepStats) -> None:
        self._pages = step.pages + (self._pages if number > 1 else 0)
        now = time.monotonic()
        if number == 1:
            self._bar = notebook_bar()
        if number == 1 or now - self._shown >= LEAST_SECONDS:
            self._shown = now
            if self._bar is not None:
                self._bar.set_description_str(step_line(number, step, self._pages))
                return
            with suppress(OSError, ValueError):  # nobody reads it, or it was closed
                print(step_line(number, step, self._pages), file=sys.stderr, flush=True)


class ShowWork:
    """The same of a conversion: a line on standard error at most every 0.5 s, and when a phase ends."""

    def __init__(self) -> None:
        self._shown, self._bar = time.monotonic(), notebook_bar()

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if self._bar is not None:
            self._bar.set_description_str(step.phase)
            self._bar.total, self._bar.n = step.total, step.done
            self._bar.refresh()
        elif step.done == step.total or now - self._shown >= LEAST_SECONDS:
            self._shown = now
            of = f" of {show_count(step.total)}" if step.total else ""
            with suppress(OSError, ValueError):
                print(f"{step.phase}: {show_count(step.done)}{of} {step.unit}", file=sys.stderr, flush=True)


class WorkDone:
    """Counts the pages of a superstep or a sweep at the ends of batches, for progress callbacks that have `within`.

    within(superstep, done, total): called at most every 0.1 s; superstep: from 1, 0: it is a sweep. tell: calls it, in
    a thread that feeds a device, in one at a time. rounds(done, sources, total): the same between sweeps of an
    algorithm, with its rounds so far and what it did of its sources; total 0: it has none. None: it is not told.
    """

    def __init__(
        self, within: Callable[[int, int, int], None], tell: Callable[..., None],
        rounds: Callable[[int, int, int], None] | None = None,
    ) -> None:  # fmt: skip
        self._within, self._tell, self._telling, self._rounds = within, tell, threading.Lock(), rounds
        self._superstep, self._done, self._total, self._due = 0, 0, 0, 0.0
        self._made, self._rounds_due = 0, 0.0  # a time of its own: sweeps may be short

    def begin(self, superstep: int, pages: int) -> None:
        """The next pages are of another superstep or sweep, which reads so many."""
        self._superstep, self._done, self._total = superstep, 0, pages
        self._due = time.monotonic() + WITHIN_SECONDS

    def count(self, pages: int) -> None:
        """So many pages more are done. Threads may lose a count: it is only shown."""
        self._done += pages
        if (now := time.monotonic()) < self._due or not self._telling.acquire(blocking=False):
            return
        try:
            self._due = now + WITHIN_SECONDS
            self._tell(self._within, self._superstep, min(self._done, self._total), self._total)
        finally:
            self._telling.release()

    def count_rounds(self, rounds: int, sources: int, total: int) -> None:
        """So many rounds more are over, and so many of an algorithm's sources."""
        self._made += rounds
        if self._rounds is not None and (now := time.monotonic()) >= self._rounds_due:
            self._rounds_due = now + WITHIN_SECONDS
            self._tell(self._rounds, self._made, sources, total)


def shown_counts(progress: Any, phase: str, unit: str) -> Callable[[int, int], None] | None:
    """What takes (done, total) of one phase: for True a line now and then, else `progress` itself.

    Raises UsageError for what is neither, nor None.
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        from pagestore.convert.options import Progress

        show = ShowWork()
        return lambda done, total: show(Progress(phase, done, total, unit))
    if callable(progress):
        return progress
    raise UsageError(f"progress {progress!r}: must be True, or a function of what is done and the total.")
