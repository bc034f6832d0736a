"""How long Numba compiled: the first command after an installation, or of a new program, waits for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

LOCK = "numba:compiler_lock"  # held while Numba compiles a kernel or loads one that it kept
LEAST_SECONDS = 0.001  # that are worth a word


@cache
def meter() -> Any:
    """`seconds` in which one thread of this process or several compiled, or waited for one that did."""
    from numba.core.event import Listener, register  # dear to import

    class Meter(Listener):
        def __init__(self) -> None:
            self.seconds = 0.0
            self.begin_again()
            os.register_at_fork(after_in_child=self.begin_again)

        def begin_again(self) -> None:
            """No thread compiles: others do not live on in a process that was forked."""
            self._change, self._threads, self._since = threading.Lock(), 0, 0.0

        def on_start(self, event: Any) -> None:
            with self._change:
                self._since = time.perf_counter() if self._threads == 0 else self._since
                self._threads += 1

        def on_end(self, event: Any) -> None:
            with self._change:
                if self._threads:  # else it began before this meter
                    self._threads -= 1
                    self.seconds += time.perf_counter() - self._since if self._threads == 0 else 0.0

    meter = Meter()
    register(LOCK, meter)
    return meter


class Stopwatch:
    """Time since it was made, or from `earlier` seconds before, apart from compiling. began: by time.perf_counter."""

    def __init__(self, earlier: float = 0.0) -> None:
        self.began, self._compiled = time.perf_counter() - earlier, meter().seconds

    def compiled(self) -> float:
        """Seconds that went by while kernels were compiled, or loaded."""
        return meter().seconds - self._compiled

    def worked(self, ended: float | None = None) -> float:
        """The other seconds, up to `ended` (None: to this moment)."""
        return max(0.0, (time.perf_counter() if ended is None else ended) - self.began - self.compiled())


@contextmanager
def compile_time() -> Iterator[Callable[[], float]]:
    """Gives what tells how many seconds of the block went by while kernels were compiled, or loaded."""
    yield Stopwatch().compiled
