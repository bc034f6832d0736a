"""How much memory this process may take: the machine's, or that of its control group (a container, a batch job)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pagestore.groups import control_groups, file_pages, numbers

SPARE = 0.85  # of the memory that is free: what a run or a conversion may take where no cap is given
MEMINFO = Path("/proc/meminfo")


def memory() -> tuple[int, int]:
    """(total, available) bytes: the smallest of the machine and of all control groups around this process.

    What a group caches of files is available, as MemAvailable has it: a conversion would leave its run no memory.
    """
    fields = {}
    for line in MEMINFO.read_text().splitlines():
        name, _, rest = line.partition(":")
        fields[name] = int(rest.split()[0]) << 10
    total, available = fields["MemTotal"], fields["MemAvailable"]
    for folder in control_groups():
        if limit := numbers(folder / "memory.max"):
            held = sum(numbers(folder / "memory.current"))
            left = limit[0] - max(0, held - file_pages(folder))
            total, available = min(total, limit[0]), min(available, max(0, left))
    return total, available


def spare_memory() -> int:
    """What may be taken of the memory that is available."""
    return int(memory()[1] * SPARE)


@cache
def total_memory() -> int:
    """The total of `memory`, asked for once: every run's options are checked against it, and it takes 0.4 ms."""
    return memory()[0]
