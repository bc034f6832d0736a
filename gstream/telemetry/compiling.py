"""How long Numba compiled: the first command after an installation, or of a new program, waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOCK = "numba:compiler_lock"  # held while Numba compiles a kernel or loads one that it kept
LEAST_SECONDS = 0.001  # that are worth a word


@contextmanager
def compile_time() -> Iterator[Callable[[], float]]:
    """Gives what tells how many seconds of the block went by while kernels were compiled, or loaded."""
    from numba.core.event import install_timer

    with install_timer(LOCK, lambda seconds: None) as timer:
        yield lambda: timer.duration if timer.done else 0.0
