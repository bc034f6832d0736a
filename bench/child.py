"""Run a command as a user would and measure it from outside: wall time, peak memory, disk traffic.

Peak memory is the larger of the child's high-water mark (`VmHWM`) and the sum of the resident sets of the whole process
tree, both sampled every 20 ms: the first misses helpers, the second misses short peaks. `ru_maxrss` would not do: a
child starts with the memory of whoever forked it, and the graphs of a benchmark are in there.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench.machine import ROOT

SAMPLE_SECONDS = 0.02


@dataclass(frozen=True)
class Run:
    """One finished command."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str
    errors: str


class CommandError(Exception):
    """A measured command that failed; carries its last lines."""


def _children(process: int) -> list[int]:
    found = [process]
    for known in found:  # grows while we walk: breadth-first over the process tree
        for task in Path(f"/proc/{known}/task").glob("*/children"):
            found.extend(int(word) for word in task.read_text().split())
    return found


def _status_bytes(process: int, field: str) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0  # a zombie has no memory


def _command_line(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


def peak_bytes(process: int) -> int:
    """High-water mark of a process so far, or what its whole tree holds at this moment when that is more.

    0 as long as the process is a fork of this one that has not begun to be another program.
    """
    try:
        if _command_line(process) == _command_line(os.getpid()):
            return 0
        tree = sum(_status_bytes(each, "VmRSS:") for each in _children(process))
        return max(tree, _status_bytes(process, "VmHWM:"))
    except (OSError, IndexError, ValueError):
        return 0  # a process ended between listing and reading it


def run(command: Sequence[str], stdin: Path | None = None) -> Run:
    """Run `command` to its end. Raises CommandError with its last words when it fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source = stdin.open("rb") if stdin else subprocess.DEVNULL
        start = time.perf_counter()
        process = subprocess.Popen(list(command), stdin=source, stdout=out, stderr=err, cwd=ROOT)
        peak = 0
        stop = threading.Event()

        def sample() -> None:
            nonlocal peak
            while not stop.wait(SAMPLE_SECONDS):
                peak = max(peak, peak_bytes(process.pid))

        sampler = threading.Thread(target=sample)
        sampler.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again
        stop.set()
        sampler.join()
        out.seek(0)
        err.seek(0)
        done = Run(
            seconds=seconds,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_bytes=peak,
            output=out.read().decode(errors="replace"),
            errors=err.read().decode(errors="replace"),
        )
    if process.returncode:
        last = "\n".join((done.errors or done.output).splitlines()[-12:])
        raise CommandError(f"{' '.join(command)} ended with exit code {process.returncode}:\n{last}")
    return done


def gstream(*arguments: str | Path) -> list[str]:
    """The command line of `gstream ARGUMENTS`, by this interpreter."""
    return [sys.executable, "-m", "gstream", *(str(argument) for argument in arguments)]


def lines_within(pipe: IO[bytes], limit_s: float) -> Iterator[bytes | None]:
    """Lines of a pipe, each within so many seconds of the one before, else None; empty at its end."""
    rest = b""
    while True:
        while b"\n" not in rest:
            if not select.select([pipe], [], [], limit_s)[0]:
                yield None
            elif more := os.read(pipe.fileno(), 1 << 16):
                rest += more
            else:
                yield b""
        line, _, rest = rest.partition(b"\n")
        yield line
