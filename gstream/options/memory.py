"""How much memory this process may take: the machine's, or that of its control group (a container, a batch job)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SPARE = 0.85  # of the memory that is free: what a run or a conversion may take where no cap is given
GROUPS = Path("/sys/fs/cgroup")
MEMINFO, OWN_GROUP = Path("/proc/meminfo"), Path("/proc/self/cgroup")


def memory() -> tuple[int, int]:
    """(total, available) bytes: the smallest of the machine and of all control groups around this process."""
    fields = {}
    for line in MEMINFO.read_text().splitlines():
        name, _, rest = line.partition(":")
        fields[name] = int(rest.split()[0]) << 10
    total, available = fields["MemTotal"], fields["MemAvailable"]
    for folder in _groups():
        limit = _number(folder / "memory.max")
        if limit is not None:
            total = min(total, limit)
            available = min(available, max(0, limit - (_number(folder / "memory.current") or 0)))
    return total, available


def spare_memory() -> int:
    """What may be taken of the memory that is available."""
    return int(memory()[1] * SPARE)


@cache
def total_memory() -> int:
    """The total of `memory`, asked for once: every run's options are checked against it, and it takes 0.4 ms."""
    return memory()[0]


def _groups() -> list[Path]:
    """Folders of the control groups (version 2) that hold this process, innermost first."""
    try:
        lines = OWN_GROUP.read_text().splitlines()
    except OSError:
        return [GROUPS]
    inner = next((line[3:] for line in lines if line.startswith("0::")), "/")
    path = GROUPS / inner.lstrip("/")
    return [path, *(parent for parent in path.parents if parent.is_relative_to(GROUPS))]


def _number(path: Path) -> int | None:
    """The number in a file; None where there is none ("max"), or no such file."""
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
