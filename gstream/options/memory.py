"""How much memory this process may take: the machine's, or that of its control group (a container, a batch job)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pagestore.groups import control_groups, numbers

SPARE = 0.85  # of the memory that is free: what a run or a conversion may take where no cap is given
MEMINFO = Path("/proc/meminfo")


def memory() -> tuple[int, int]:
    """(total, available) bytes: the smallest of the machine and of all control groups around this process."""
    fields = {}
    for line in MEMINFO.read_text().splitlines():
        name, _, rest = line.partition(":")
        fields[name] = int(rest.split()[0]) << 10
    total, available = fields["MemTotal"], fields["MemAvailable"]
    for folder in control_groups():
        if limit := numbers(folder / "memory.max"):
            left = limit[0] - sum(numbers(folder / "memory.current"))
            total, available = min(total, limit[0]), min(available, max(0, left))
    return total, available


def spare_memory() -> int:
    """What may be taken of the memory that is available."""
    return int(memory()[1] * SPARE)


@cache
def total_memory() -> int:
    """The total of `memory`, asked for once: every run's options are checked against it, and it takes 0.4 ms."""
    return memory()[0]
