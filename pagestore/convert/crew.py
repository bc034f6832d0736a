"""A crew of threads that take work from a shared list until it is empty, an error stops it, or the user does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from pagestore.convert.options import Progress, ProgressHook

REPORT_SECONDS = 0.1  # progress hooks are called at most this often


class Ticker:
    """Counts work done and calls the progress hook now and then, one call at a time."""

    def __init__(self, hook: ProgressHook | None, phase: str, total: int | None, unit: str):
        self.hook, self.phase, self.total, self.unit = hook, phase, total, unit
        self.done = 0
        self._next = 0.0
        self._lock = threading.Lock()
        self._report(force=True)

    def _report(self, force: bool = False) -> None:
        now = time.monotonic()
        if self.hook is not None and (force or now >= self._next):
            self._next = now + REPORT_SECONDS
            self.hook(Progress(self.phase, self.done, self.total, self.unit))

    def add(self, amount: int) -> None:
        """`amount` more units are done."""
        with self._lock:
            self.done += amount
            self._report()

    def set(self, done: int) -> None:
        """`done` units are done in all."""
        with self._lock:
            self.done = max(self.done, done)
            self._report()

    def finish(self) -> None:
        """The phase is over."""
        with self._lock:
            self.total = self.done if self.total is None else self.total
            self._report(force=True)


def run_crew(threads: int, items: Iterator[Any], work: Callable[[int, Any], None]) -> None:
    """Call `work(thread number, item)` for every item on `threads` threads; the first error is raised here.

    After an error, or a signal that raises in the calling thread, the threads finish the item they are at and end.
    """
    taking, ended, end = threading.Lock(), threading.Event(), object()
    errors: list[BaseException] = []

    def body(number: int) -> None:
        try:
            while True:
                with taking:
                    item = end if ended.is_set() else next(items, end)
                if item is end:
                    return
                work(number, item)
        except BaseException as error:  # handed to the caller, whatever it is
            errors.append(error)
            ended.set()

    crew = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(threads) if threads > 1]
    try:
        for thread in crew:
            thread.start()
        if not crew:  # one alone is the caller's: to start a thread takes as long as a tiny graph
            body(0)
        for thread in crew:
            thread.join()
    except BaseException:
        ended.set()
        for thread in crew:
            if thread.ident is not None:
                thread.join()
        raise
    if errors:
        raise errors[0]
