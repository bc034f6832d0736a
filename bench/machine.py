"""Facts of the machine a result was measured on, how busy others kept it meanwhile (Linux /proc), and its file."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("numpy", "numba", "llvmlite", "scipy", "networkit", "igraph", "h5py", "pyarrow", "isal", "pycuda")


def _first(path: str, key: str) -> str:
    """Value of the first `key : value` line of a /proc file; "unknown" where there is none."""
    try:
        for line in Path(path).read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    except OSError:
        pass
    return "unknown"


def _git(*arguments: str, folder: Path = ROOT) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def commit(folder: Path = ROOT) -> str:
    """Of the checkout in `folder`; "" where it is none."""
    return _git("rev-parse", "HEAD", folder=folder)


def cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0))


def facts() -> dict[str, Any]:
    """CPU, cores, memory, versions, date and commit, as they stand in every result."""
    memory_kib = int(_first("/proc/meminfo", "MemTotal").split()[0])
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit() or os.environ.get("GSTREAM_COMMIT", "unknown"),  # no .git: a plain copy
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "cpu": f"{_first('/proc/cpuinfo', 'model name')}, family {_first('/proc/cpuinfo', 'cpu family')}"
        f" model {_first('/proc/cpuinfo', 'model')}",
        "cores": cores(),
        "memory_gib": round(memory_kib / (1 << 20), 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
        "load_average_before": round(os.getloadavg()[0], 2),
    }


def _busy_ticks() -> int:
    """Ticks that the cores of this process spent working since boot (user, nice, system, irq, softirq, steal)."""
    ours = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    busy = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *words = line.split()
        if name in ours:
            numbers = [int(word) for word in words]
            busy += sum(numbers[:3]) + sum(numbers[5:8])
    return busy


def _own_seconds() -> float:
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def write_json(path: Path, whole: dict[str, Any]) -> None:
    """Write a result whole or not at all: a kill leaves the last one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".json.partial")
    partial.write_text(json.dumps(whole, indent=1) + "\n")
    partial.rename(path)


class Disturbance:
    """Cores kept busy by other processes between two moments: says whether a figure can be trusted."""

    def __init__(self) -> None:
        self.ticks, self.own, self.wall = _busy_ticks(), _own_seconds(), os.times().elapsed

    def cores(self) -> float:
        """Mean number of cores others used since the start; children count as ours once they were waited for."""
        wall = os.times().elapsed - self.wall
        busy = (_busy_ticks() - self.ticks) / os.sysconf("SC_CLK_TCK")
        return max(0.0, (busy - (_own_seconds() - self.own)) / wall) if wall > 0 else 0.0
