"""Control groups (version 2) around this process, whose limits a container or a batch job sets."""

from __future__ import annotations

from pathlib import Path

GROUPS, OWN_GROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def control_groups() -> list[Path]:
    """Folders of the control groups that hold this process, innermost first: the limits of each bind it."""
    try:
        lines = OWN_GROUP.read_text().splitlines()
    except OSError:
        return [GROUPS]
    inner = next((line[3:] for line in lines if line.startswith("0::")), "/")
    path = GROUPS / inner.lstrip("/")
    return [path, *(parent for parent in path.parents if parent.is_relative_to(GROUPS))]


def numbers(path: Path) -> list[int]:
    """The numbers in a group's file: none where it says "max", or where there is no such file."""
    try:
        words = path.read_text().split()
    except OSError:
        return []
    return [int(word) for word in words if word.isdigit()]


def file_pages(folder: Path) -> int:
    """Bytes of files that the system caches for a group, and drops when its memory is short (memory.stat)."""
    try:
        fields = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return int(fields["inactive_file"]) + int(fields["active_file"])
    except (OSError, ValueError, KeyError):
        return 0
