"""Errors a user can cause or meet; each carries the exit code of the command line. All codes:

    0    done; PageRank that did not converge, and a program that diverged, too: a line on standard error says so
    1    GstreamError: a GPU that fails where no other process goes on, a certificate that does not hold; and errors of
         gstream itself
    2    UsageError: change the command line. An option, name or program that can't be, by itself or for this graph; a
         file that can't be written, or is there already
    3    DeviceMissingError: a GPU, its driver or its compiler is not there; LibraryMissingError: a package of Python's
         is not, or can't be loaded
    4    InputError: change the file. An input or a store that is missing, unreadable, damaged, or not what it should be
    5    ResourceError: memory, disk or open files ran out, or would under the caps that were given; a disk that fails
    130, 143, 141    SIGINT, SIGTERM, and SIGPIPE (the reader of standard output has left): 128 + the signal

Message form: where, offending text, limit, remedy. Example:
`web.txt:1041:7: vertex ID -3 is negative; IDs run from 0 to 2^63-1. Fix the line, or pass --bad-lines skip.`
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType

MOST_SHOWN = 80  # characters of a name in messages and tables
LONG_WORD = re.compile(r"\S{501,}")  # in a message: no path is that long that could be opened
MOST_LINE = 4000  # characters of a message
OURS = ("gstream", "pagestore", "contextlib")  # packages whose frames say nothing to users
DEBUG = "GSTREAM_DEBUG"  # a variable of the environment: "1" shows whole tracebacks


class GstreamError(Exception):
    """Base of every error that is shown as one plain line, without a traceback.

    spoken: what str() gives instead of `line` to callers from Python, who have no options (gstream.options.wording).
    """

    exit_code = 1
    spoken = ""

    def __str__(self) -> str:
        return self.spoken or self.line

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: as `traceback_lines`."""
        return "".join(traceback_lines(self)).splitlines()

    @property
    def line(self) -> str:
        """The message for the command line; words and messages that are too long to read are cut."""
        text = LONG_WORD.sub(lambda word: cut(word[0], 200), super().__str__())
        return cut(text, MOST_LINE)


class UsageError(GstreamError):
    """The command line, or the call, has to change: it contradicts itself or the graph."""

    exit_code = 2


class DeviceMissingError(GstreamError):
    """A device that was asked for is not there."""

    exit_code = 3


class LibraryMissingError(GstreamError):
    """A package of Python's that is needed is not installed, or can't be loaded."""

    exit_code = 3


class InputError(GstreamError):
    """A file has to change: input that can't be read as a graph, or a store that can't be trusted."""

    exit_code = 4


class StoreError(InputError):
    """A store that is truncated, damaged, of another version, or no store at all."""


class ResourceError(GstreamError):
    """Memory, disk or open files ran out."""

    exit_code = 5


class CapError(ResourceError):
    """A memory cap is too small. option: its name on the command line; need: bytes that are enough."""

    def __init__(self, message: str, option: str = "", need: int = 0) -> None:
        super().__init__(message)
        self.option, self.need = option, need


def plain(value: object) -> str:
    """A value for a message or a table, on one line: control characters in Python's notation, long names cut."""
    text = cut(str(value), MOST_SHOWN)
    return text if text.isprintable() else repr(text)


def visible(text: str, kept: str = "") -> str:
    """`text` with characters that a terminal obeys, or that turn its direction, in Python's notation; not those `kept`.

    Names of files and vertices are other people's text: an escape sequence in one must not reach a terminal.
    """
    if text.isprintable():
        return text
    return "".join(c if c in kept or c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cut(text: str, most: int) -> str:
    """About `most` characters of `text`: its beginning, the length of all of it, and its end."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}...({len(text):,} characters)...{text[-(most // 4) :]}"


def interruption(error: BaseException | None, handled: BaseException | None) -> BaseException | None:
    """The KeyboardInterrupt or SystemExit that became this error, or None.

    handled: sys.exc_info()[1] before the call that failed: an error that a caller is handling is not ours.

    A signal's handler may raise inside C code that ignores exceptions: Python then raises SystemError. Or the signal
    cuts a clean-up short, such as the closing of a ZIP archive, and the next clean-up fails.
    """
    while error is not None and error is not handled:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            return error
        error = error.__cause__ or error.__context__
    return None


def traceback_lines(error: GstreamError) -> list[str]:
    """A traceback that ends at the last line of the user's: what lies below is gstream's, and not where the mistake is.

    Whole where GSTREAM_DEBUG=1, and where no line is the user's.
    """
    import traceback

    first = error.__traceback__
    last = None if os.environ.get(DEBUG) == "1" else _last_of_user(first)
    if last is None:
        return traceback.format_exception(error)
    shown = traceback.StackSummary.extract(_frames(first, last))
    return ["Traceback (most recent call last):\n", *shown.format(), *traceback.format_exception_only(error)]


def _frames(first: TracebackType | None, last: TracebackType) -> Iterator[tuple[FrameType, int]]:
    """(frame, line) from the first to the last."""
    while first is not None:
        yield first.tb_frame, first.tb_lineno
        first = None if first is last else first.tb_next


def _last_of_user(at: TracebackType | None) -> TracebackType | None:
    """The last place before gstream's first one; None: the first place is gstream's."""
    last = None
    while at is not None and at.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in OURS:
        last, at = at, at.tb_next
    return last if at is not None else None


def end_at_the_caller() -> None:
    """Let Python show errors of ours with a traceback that ends at the user's line, unless a program shows its own."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
    if isinstance(error, GstreamError):
        sys.stderr.write("".join(traceback_lines(error)))
    else:
        sys.__excepthook__(kind, error, place)
