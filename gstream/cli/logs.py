"""--progress and --log-file: how a command tells of its work, and the file that keeps it for a batch job.

A log file is added to: a job that begins again goes on in it. Each line has the time and its time zone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from gstream.options.written import refuse_existing, refuse_overwriting
from pagestore.errors import UsageError, visible

WAYS = ("auto", "plain", "json", "off")
HELP = "A bar, or a line every 30 s; json: an object a line. Default auto: a bar on a terminal."
LOG_HELP = "Add progress, notes and errors to FILE, with times."


class _Log:
    """What the command at work was told: how progress is shown, and the log file, if any."""

    def __init__(self) -> None:
        self.way = "auto"
        self.file: IO[str] | None = None


_log = _Log()


def begin(way: str, log_file: Path | None, words: list[str], others: Iterable[Any]) -> None:
    """Take the options of a command. words: as typed; others: files that it reads or writes, which the log is none of.

    Raises UsageError.
    """
    if way not in WAYS:
        raise UsageError(f"--progress {way}: must be one of {', '.join(WAYS)}. Leave it out for the default.")
    _log.way = way
    if log_file is None:
        return
    files = [Path(other) for other in others if other is not None and str(other) != "-"]
    refuse_existing(log_file, force=True, example="run.log")
    refuse_overwriting([log_file], files)
    if any(log_file.resolve() == other.resolve() for other in files):
        raise UsageError(f"{log_file}: is named twice; the log would end up in it. Name two files.")
    try:
        _log.file = open(log_file, "a", encoding="utf-8", errors="backslashreplace")  # until the command ends
    except OSError as error:
        raise UsageError(f"--log-file {log_file}: {error.strerror}. Name another file.") from None
    import shlex

    log(shlex.join(["gstream", *words]))


def end(text: str = "") -> None:
    """Close the log, with a last line, and forget the options."""
    log(text)
    if _log.file is not None:
        with suppress(OSError):
            _log.file.close()
    _log.way, _log.file = "auto", None


def way() -> str:
    """How progress is shown."""
    return _log.way


def is_open() -> bool:
    """Whether there is a log file."""
    return _log.file is not None


def log(text: str) -> None:
    """Add a line to the log, if there is one. A log that can't be written is given up: the answer goes on."""
    if _log.file is None or not text:
        return
    line = visible(" ".join(text.splitlines()))
    try:
        _log.file.write(line + "\n" if line.startswith("{") else f"{time_now()} {line}\n")
        _log.file.flush()
    except (OSError, ValueError) as error:
        _log.file = None
        print(f"--log-file: can't be written any more ({error}).", file=sys.stderr)


def time_now() -> str:
    """The time as logs have it: 2026-03-01T09:30:00+01:00."""
    from datetime import datetime

    return datetime.now().astimezone().isoformat(timespec="seconds")
