"""Persistent threads that all call one compiled function at once and share its work through an atomic counter.

Measured on 2 cores: a hand-over to a waiting thread through its lock costs 10 to 20 µs, concurrent.futures 40 to 80.
The caller works too, so a short task is over before the helpers have woken up. It leaves a long one to them: Python
handles signals in the main thread alone, and not while that runs compiled code, but while it waits for a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gstream.hostcode.claims import STOPPED

AWAKE_SECONDS = 0.2  # a signal that another thread got wakes nobody: the main thread looks so often


class _Helper:
    """One thread, woken and awaited by locks (the cheapest hand-over CPython has).

    A signal may raise in the caller between any two of its steps, so a lock that is open says no more than "look
    again": whether there is work is `task`, whether it is done is `done`.
    """

    def __init__(self, name: str) -> None:
        self.go = threading.Lock()
        self.ready = threading.Lock()
        self.go.acquire()
        self.ready.acquire()
        self.task: tuple[Callable[..., int], tuple[Any, ...]] | None = None
        self.done, self.closing = True, False
        self.result = 0
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self.thread.start()

    def begin(self, task: tuple[Callable[..., int], tuple[Any, ...]]) -> None:
        self.result, self.error, self.done = 0, None, False
        self.task = task  # after `done`: the thread may be looking
        _open(self.go)

    def wait(self) -> None:
        while not self.done:
            self.ready.acquire(timeout=AWAKE_SECONDS)

    def _serve(self) -> None:
        while True:
            self.go.acquire()
            if self.closing:
                return
            if self.task is None:
                continue
            (function, arguments), self.task = self.task, None
            try:
                self.result = int(function(*arguments) or 0)
            except BaseException as error:  # handed to the caller, who raises it
                self.error = error
            del function, arguments  # what the caller holds no longer must not live on here
            self.done = True
            _open(self.ready)


def _open(lock: threading.Lock) -> None:
    try:
        lock.release()
    except RuntimeError:
        pass  # it is open


class Workers:
    """`threads` threads that work at the same time. Use from one thread at a time; `close` ends the helpers."""

    def __init__(self, threads: int, name: str = "host") -> None:
        if threads < 1:
            raise ValueError(f"threads is {threads}; it must be at least 1")
        self.threads, self._name = threads, name
        self._helpers = [_Helper(f"{name}-{number}") for number in range(1, threads)]

    def run(
        self, function: Callable[..., int], *arguments: Any, limit: int | None = None, claims: np.ndarray | None = None
    ) -> int:
        """Call `function(*arguments)` on all threads (on `limit` at most) and return the sum of what they return.

        The function must share its work out by itself and release the GIL. The first error of any thread, or what a
        signal raised here, is raised after all have ended. claims: of a long call, the counter (int64[1]) that its
        threads claim work from; what a signal raises stops it, with what they have claimed done and no more.
        """
        if claims is not None and len(self._helpers) < self.threads:  # the first long call: one in the caller's place
            self._helpers.append(_Helper(f"{self._name}-0"))
        most = self.threads if limit is None else min(max(1, limit), self.threads)
        helpers = self._helpers[: most if claims is not None else most - 1]
        error: BaseException | None = None
        total = 0
        try:
            for helper in helpers:
                helper.begin((function, arguments))
            if claims is None:
                total = int(function(*arguments) or 0)
        except BaseException as raised:  # raised below, when no helper still uses the arguments
            error = raised
        while True:
            try:
                if error is not None and claims is not None:
                    claims[0] = STOPPED
                for helper in helpers:
                    if error is not None:
                        _open(helper.go)  # it may have been told what to do, and not to look
                    helper.wait()
                break
            except BaseException as raised:
                error = error or raised
        for helper in helpers:
            total += helper.result
            error = error or helper.error
        if error is not None:
            raise error
        return total

    def close(self) -> None:
        """End the helper threads; the workers can't be used afterwards."""
        for helper in self._helpers:
            helper.closing = True
            _open(helper.go)
            helper.thread.join()
        self._helpers = []
