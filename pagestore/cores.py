"""How many cores this process may use; fewer than the machine has under taskset or in a container."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Cores that this process may run on, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
