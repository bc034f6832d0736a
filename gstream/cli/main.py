"""The command line as a process: its start, and its end.

Signals that come before anything was made end it at once; what is imported later takes most of a start. At the end
Python would take everything apart, for as long as a tenth of a second, in which signals kill as they would any process,
and libraries that met an error crash (h5py, where a disk was full): what is registered for the exit is done, no more.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # typing's, which takes longer to import than what is here
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

# A start makes 220,000 objects that stay: looking for garbage among them takes a seventh of its time. What BLAS (no
# kernel of ours uses it) starts threads for spins beside our own.
GC_THRESHOLD = 300_000


def main() -> NoReturn:
    """Entry point of the console script."""
    _leave_on_signals(_leave_early)

    import gc

    from gstream.cli import quick, surroundings

    surroundings.prepare()
    quick.begin()

    from gstream.cli.failures import address_space_limited, exit_code_of

    gc.set_threshold(GC_THRESHOLD)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = 0
    if address_space_limited():
        from gstream.cli.scarce import prepare

        code = exit_code_of(prepare)
    end(code or exit_code_of(_run))


def _run() -> int:
    from gstream.cli.commands import run_command_line
    from gstream.cli.failures import install_signals

    install_signals()
    return run_command_line()


def _leave_on_signals(leave: Callable[[int, FrameType | None], object]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)


def _leave_early(number: int, frame: FrameType | None) -> NoReturn:
    try:
        os.write(2, f"stopped by {signal.Signals(number).name}; nothing had begun.\n".encode())
    finally:
        _leave(number, frame)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os._exit(128 + number)


def end(code: int) -> NoReturn:
    """End the process: what was registered for its exit is done, and what was printed is out."""
    import atexit

    _leave_on_signals(_leave)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the reader of the pipe has left
            pass
    os._exit(code)
