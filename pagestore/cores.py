"""How many cores this process may use; fewer than the machine has under taskset or in a container."""

from __future__ import annotations

import os

from pagestore.errors import UsageError

MAX_THREADS = 256  # or as many as there are cores: more only wait for each other


def usable_cores() -> int:
    """Cores that this process may run on, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked_threads(threads: int | None, option: str = "--threads") -> int:
    """Threads that were asked for, or one a core. Raises UsageError, naming `option`, outside the limits."""
    cores = usable_cores()
    most = max(MAX_THREADS, cores)
    if threads is not None and not 1 <= threads <= most:
        raise UsageError(f"{option} {threads}: it must be 1 to {most}. Leave it out for one a core ({cores} here).")
    return threads or cores
