"""What a process is started with, made ready for a command: nothing of it may end the command, or change its answer.

- A descriptor that was closed (`>&-`) is /dev/null: otherwise the next file that is opened would take its number, and
  what libraries print would be written into a store.
- Characters that a terminal's encoding lacks are shown as `\\xfc`, `\\u65e5`; so are undecodable bytes of file names.
- Standard error that can't be written, as its reader has left or its disk is full, is given up: the answer goes on.
- Warnings of libraries are for their own developers: none is shown, and none becomes an error (PYTHONWARNINGS).
- Variables that would have libraries work in another way than gstream needs are removed (UNWANTED, Numba's but KEPT).
"""

from __future__ import annotations

import io
import os
import sys
import warnings

from pagestore.errors import UsageError

NUMBA = "NUMBA_"  # switched off, kernels would be Python, which has none of their atomics; debugging is printed
KEPT = ("NUMBA_CACHE_DIR", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_BOUNDSCHECK")
UNWANTED = (
    "HDF5_USE_FILE_LOCKING",  # a conversion has a lock of its own on its file, which HDF5's would meet
    "HDF5_DRIVER",  # stores are plain files
)
SAID_ANYHOW = ("ignore", "replace", "backslashreplace", "xmlcharrefreplace", "namereplace")  # of PYTHONIOENCODING
closed: set[int] = set()  # descriptors that were not there
typed: list[str] = []  # the command line's words after gstream


class _Forgiving(io.FileIO):
    """Standard error, without its errors."""

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data).cast("B"))  # type: ignore[arg-type]


def prepare() -> None:
    """Do all of the above, once at the start of the process."""
    warnings.simplefilter("ignore")
    for name in [*UNWANTED, *(name for name in os.environ if name.startswith(NUMBA) and name not in KEPT)]:
        os.environ.pop(name, None)
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the least number that is free: this one
            closed.add(descriptor)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)
    encoding, errors = getattr(sys.stderr, "encoding", "utf-8"), getattr(sys.stderr, "errors", None)
    raw = _Forgiving(2, "w", closefd=False)
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(raw), encoding, _said(errors), line_buffering=True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_said(sys.stdout.errors))


def refuse_closed(name: object) -> None:
    """UsageError where an answer is to go to standard output, which was closed."""
    if 1 in closed:
        raise UsageError(f"{name}: standard output is closed. Name a file.")


def _said(errors: str | None) -> str:
    """How characters are shown that the encoding lacks."""
    return errors if errors in SAID_ANYHOW else "backslashreplace"
