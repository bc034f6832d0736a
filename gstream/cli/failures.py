"""Every failure as one plain line and an exit code: pagestore.errors lists them. GSTREAM_DEBUG=1 adds a traceback."""

from __future__ import annotations

import errno
import os
import re
import resource
import shlex
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from gstream.cli.logs import log
from gstream.language.loading import place_of_user
from gstream.options.stopping import RunStopped, StopRequest
from pagestore.errors import GstreamError, interruption, visible
from pagestore.faults import FAILING, library_error, no_space, number_of, reason_of, shortage
from pagestore.nearnames import meant_by

NO_NUMBER = re.compile(r"Invalid value for '(--[\w-]+)': Input should be a valid (number|integer)")
PEERS = {"damping": "alpha", "damping-factor": "alpha"}  # what peers call options

EXIT_INTERNAL, EXIT_USAGE, EXIT_INPUT, EXIT_RESOURCE = 1, 2, 4, 5
NO_PROCESSES = "no further process or thread can be started. Raise the limit with `ulimit -u`, or pass fewer --threads."
NO_SPACE = "out of memory. Raise the limit of the address space (ulimit -v)."
NO_SPACE_FOR_THREADS = (
    "no further thread can be started. Raise the limit of the address space (ulimit -v) or of processes (ulimit -u), "
    "or pass fewer --threads."
)
AGAIN_SECONDS = 0.01
SECOND_SIGNAL_SECONDS = 2.0  # `timeout` and terminals often deliver one signal twice: only a later one is impatience

REMOVED = "temporary files are removed."
NOT_KEPT = f"no superstep was under way, and nothing more was kept; {REMOVED}"


class Interrupted(SystemExit):
    """A signal asked the process to end. Unwinds like an exception, so temporary files are removed. left: what the
    process leaves, for the line that says how it ended."""

    def __init__(self, number: int, left: str = REMOVED) -> None:
        super().__init__(128 + number)
        self.number, self.left = number, left


class Signals:
    """What SIGINT and SIGTERM do: raise Interrupted in the main thread; the same again 2 s later ends the process.
    stop: of a run that keeps checkpoints; during its supersteps the first signal asks it to end after this one."""

    def __init__(self) -> None:
        self.number = self.again = 0
        self.short: MemoryError | None = None
        self.first_s = 0.0
        self.stop: StopRequest | None = None
        self.left = REMOVED

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.number:
            if now - self.first_s > SECOND_SIGNAL_SECONDS:
                os._exit(128 + number)
            return
        self.number, self.first_s = number, now
        if self.stop is None or not self.stop.ask():
            raise Interrupted(number, self.left)

    def lost(self, unraisable: Any) -> None:
        """For sys.unraisablehook: what was raised in a callback or a __del__ is ignored there, so it comes again."""
        if isinstance(unraisable.exc_value, Interrupted):
            self.again = unraisable.exc_value.number
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        elif unraisable.exc_type is MemoryError:  # a thread could not begin, and its starter would wait for it
            self._out_of_memory()
        else:
            sys.__unraisablehook__(unraisable)

    def thread_died(self, died: Any) -> None:
        """For threading.excepthook: where memory ends a thread, outside of what it was to do, nobody else knows."""
        if died.exc_type is MemoryError:
            self._out_of_memory()
        else:
            threading.__excepthook__(died)

    def _out_of_memory(self) -> None:
        self.short = MemoryError()
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)

    def repeat(self, number: int, frame: FrameType | None) -> None:
        """For SIGALRM: the signal, or the MemoryError, that was lost."""
        short, self.short = self.short, None
        if short is not None:
            raise short
        self.number = 0
        self(self.again, frame)


SIGNALS = Signals()


def install_signals() -> None:
    """Let SIGNALS have SIGINT and SIGTERM."""
    signal.signal(signal.SIGINT, SIGNALS)
    signal.signal(signal.SIGTERM, SIGNALS)
    signal.signal(signal.SIGALRM, SIGNALS.repeat)
    sys.unraisablehook = SIGNALS.lost
    threading.excepthook = SIGNALS.thread_died


@contextmanager
def stops_when_kept(
    keeps: bool, under_way: Callable[[], None] = lambda: None, others: Callable[[], bool] = lambda: False
) -> Iterator[StopRequest]:
    """While the block lasts, the first signal only asks the run that has the request to end once it is kept;
    RunStopped, which it then raises, becomes Interrupted. keeps: whether the user wants checkpoints, and so hears if
    none could be written. under_way, others: of StopRequest."""
    stop = SIGNALS.stop = StopRequest(under_way, others)
    SIGNALS.left = NOT_KEPT if keeps else REMOVED
    try:
        yield stop
    except RunStopped as stopped:
        number = SIGNALS.number or signal.SIGTERM  # 0: another rank had the signal
        raise Interrupted(number, stopped.line) from stopped
    finally:
        SIGNALS.stop, SIGNALS.left = None, REMOVED


def describe(error: BaseException) -> tuple[int, str]:
    """Exit code and the one line that says where, what, the limit and the remedy."""
    if isinstance(error, GstreamError):
        return error.exit_code, " ".join(error.line.split("\n"))
    if not isinstance(error, MemoryError) and (place := place_of_user(error)):
        said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".: ")
        return EXIT_USAGE, f"{place}: {said}. Mend the file; GSTREAM_DEBUG=1 shows the traceback."
    if isinstance(error, MemoryError):
        detail = f" ({error})" if str(error) else ""
        return EXIT_RESOURCE, (
            f"out of memory{detail}. Pass a smaller --memory (convert) or --host-memory (run), or fewer --threads."
        )
    if isinstance(error, OSError | ImportError):
        return _describe_os(error)
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        return EXIT_RESOURCE, NO_SPACE_FOR_THREADS if address_space_limited() else NO_PROCESSES
    if isinstance(error, SystemError) and "exception set" in str(error) and address_space_limited():
        return EXIT_RESOURCE, NO_SPACE  # what is written in C had none left to say so
    return _internal(error)


def address_space_limited() -> bool:
    """Whether the address space has a limit (ulimit -v)."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _internal(error: BaseException) -> tuple[int, str]:
    return EXIT_INTERNAL, (
        f"internal error: {type(error).__name__}: {' '.join(str(error).split())}. "
        "This is a bug in gstream; GSTREAM_DEBUG=1 shows the traceback."
    )


def _describe_os(error: Any) -> tuple[int, str]:
    where = f"{error.filename}: " if getattr(error, "filename", None) else ""
    if full := no_space(error):  # of standard output, where no file is named
        return EXIT_RESOURCE, f"{where or 'writing failed: '}{full[0]}. {full[1]}, or write to another disk."
    if short := shortage(error):
        what = f" ({error.strerror})" if getattr(error, "strerror", None) else ""
        return EXIT_RESOURCE, f"{where}{short[0]}{what}. {short[1]}."
    if isinstance(error, ImportError):
        lacking = library_error(error)
        return _internal(error) if lacking is None else (lacking.exit_code, lacking.line)
    if error.errno == errno.EAGAIN and not where:  # of fork
        return EXIT_RESOURCE, NO_PROCESSES
    if number_of(error) in FAILING:
        return EXIT_RESOURCE, f"{where}the disk reports an input/output error. Check it, then run again."
    return EXIT_INPUT, f"{where}{error.strerror or error}. Check the path and its permissions."


def report(error: BaseException, where: str = "") -> int:
    """Print the failure on standard error and return the exit code. where: what the line begins with."""
    try:
        code, line = describe(error)
    except MemoryError:  # which words take, too
        code, line = EXIT_RESOURCE, NO_SPACE
    line = where + (line if line.endswith((".", "?", "!")) else f"{line}.")
    show_traceback(error)
    print(visible(line, "\n"), file=sys.stderr, flush=True)
    log(line)
    return code


def show_traceback(error: BaseException) -> None:
    """On standard error, where GSTREAM_DEBUG asks for it."""
    if os.environ.get("GSTREAM_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error)


def exit_code_of(action: Callable[[], Any]) -> int:
    """Do a command; every failure becomes one line on standard error. Returns the exit code, which `action` may give.
    Raises SystemExit as `action` does, except Interrupted and that of a closed pipe."""
    handled = sys.exc_info()[1]
    try:
        outcome = action()
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except Interrupted as stop:
        return _report_stop(stop)
    except BrokenPipeError:
        return _stop_writing()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # what typer makes of it
            return _stop_writing()
        raise
    except Exception as error:
        if isinstance(stopped := interruption(error, handled), Interrupted):
            show_traceback(error)
            return _report_stop(stopped, error)
        if hasattr(error, "format_message"):  # typer's usage errors, whichever click they come from
            return _report_usage(error)
        return report(error)


def _report_stop(stop: Interrupted, failed: Exception | None = None) -> int:
    """failed: the exception that the stop became. System errors are those of a clean-up and are reported, but for
    descriptors that are closed twice when a clean-up was cut short."""
    left = stop.left
    if isinstance(failed, OSError) and number_of(failed) != errno.EBADF:
        left = f"but cleaning up failed ({reason_of(failed)}): temporary files may be left."
    line = f"stopped by {signal.Signals(stop.number).name}; {left}"
    print(line, file=sys.stderr)
    log(line)
    return 128 + stop.number


def _stop_writing() -> int:
    """The reader (`head`) has what it wants: nothing may be flushed to the pipe again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


def _plainly(text: str) -> str:
    """A value that is not of its option's kind, in our words: those of the library name neither the value nor the
    kind."""
    from gstream.cli.surroundings import typed

    found = NO_NUMBER.match(text)
    if found is None:
        return text
    option, kind = found.groups()
    given = [after for word, after in zip(typed, typed[1:], strict=False) if word == option]
    given += [word.partition("=")[2] for word in typed if word.startswith(f"{option}=")]
    return (
        f"{option}{f' {visible(given[-1])}' if given else ''}: must be {'a whole' if kind == 'integer' else 'a'} number"
    )


def _as_algorithm(text: str) -> str:
    """What to type where the word in place of a command is an algorithm."""
    from gstream.algorithms.registry import ALGORITHMS
    from gstream.cli.surroundings import typed

    if not typed or text != f"No such command {typed[0]!r}":
        return ""
    if typed[0] in ALGORITHMS:
        return f". Write gstream run {shlex.join(typed)}"
    like = meant_by(typed[0], list(ALGORITHMS))
    return f". Did you mean gstream run {shlex.join([like, *typed[1:]])}?" if like else ""


def _report_usage(error: Exception) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "gstream"
    text = _plainly(error.format_message().rstrip("."))  # type: ignore[attr-defined]
    wrong = getattr(error, "option_name", None)
    if context and isinstance(wrong, str) and hasattr(error, "possibilities"):
        known = [name[2:] for option in context.command.params for name in option.opts if name.startswith("--")]
        bare = wrong.lstrip("-")
        like = PEERS[bare] if PEERS.get(bare) in known else meant_by(bare, known)
        text = f"No such option: {wrong}" + (f". Did you mean --{like}?" if like else "")
    # one name alone is taken for the store's
    if "Missing" in type(error).__name__ and getattr(getattr(error, "param", None), "name", None) == "inputs":
        text = "the argument STORE, the name of the store to write, is missing"
    text += _as_algorithm(text)
    if context and "argument" in text:  # one is missing, or too many are there: which is which?
        pieces = [piece.replace("{", "").replace("}", "") for piece in context.command.collect_usage_pieces(context)]
        text += f". Write {command} {' '.join(pieces)}"
    end = "" if text.endswith("?") else "."
    print(f"{command}: {text}{end} See {command} --help.", file=sys.stderr)
    return EXIT_USAGE
