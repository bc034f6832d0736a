"""What the torture harness is made of: properties, whose cases come from a seed; children that die; calls that fail.

A property is a generator of outcomes. Each case that held yields its outcome as a word ("refused", "resumed"), each
that did not a Bad, which says how to see it again. What ends a case early is a child process of its own (a fork, so
that nothing is imported again): it may be killed at any moment, or at a call (syscalls.py), or may find calls failing.
"""

from __future__ import annotations

import fcntl
import gc
import io
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from gstream.cli.commands import run_command_line
from gstream.cli.failures import install_signals

PIPE_BYTES = 1 << 20
LONGEST_S = 120.0  # of a child: then it hangs
ROOT = Path(__file__).resolve().parents[2]
MOST_FAILURES = 20  # of a property, that are kept with their texts
ASKING = {signal.SIGINT, signal.SIGTERM}


class Bad(NamedTuple):
    """A case that did not hold."""

    what: str


class Counted(NamedTuple):
    """How many cases there are, which a property tells ahead of the first where it has counted them."""

    cases: int


Cases = Iterator["str | Bad | Counted"]


@dataclass(frozen=True)
class Property:
    """One promise. cases(folder, numbers): its cases; they end where all were tried, or never. wanted: how many.

    Where none is wanted, those that a property counts are, so that it shows when some were left out.
    """

    name: str
    promise: str
    cases: Callable[[Path, random.Random], Cases]
    wanted: int | None = None


@dataclass
class Found:
    """What became of a property. complete: all cases that there are were tried."""

    name: str
    promise: str
    seed: int
    cases: int = 0
    seconds: float = 0.0
    complete: bool = False
    wanted: int | None = None
    outcomes: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    failures: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        told = {"failures": [without_places(text) for text in self.failures], "seconds": round(self.seconds, 1)}
        return {**vars(self), "outcomes": dict(sorted(self.outcomes.items())), **told}


def without_places(text: str) -> str:
    """A failure as any machine would tell it: where this one has the project, its Python and its files is cut off."""
    for place, name in ((sys.prefix, "PYTHON"), (str(ROOT), "PROJECT"), (tempfile.gettempdir(), "TEMPORARY")):
        text = text.replace(place, name)
    return text


def try_property(tried: Property, folder: Path, seed: int, seconds: float, most: int | None = None) -> Found:
    """Try cases until the time is over, there are `most`, or no more. An exception of a case is a failure, and ends."""
    found = Found(tried.name, tried.promise, seed, wanted=tried.wanted)
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    cases = tried.cases(folder, random.Random(f"{tried.name} {seed}"))
    while time.monotonic() - began < seconds and (most is None or found.cases < most):
        try:
            outcome = next(cases, None)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            outcome = Bad(f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
        if outcome is None:
            found.complete = True
            break
        if isinstance(outcome, Counted):
            found.wanted = outcome.cases
            continue
        found.cases += 1
        if isinstance(outcome, Bad):
            found.failed += 1
            found.failures += [outcome.what][: MOST_FAILURES - len(found.failures)]
        else:
            found.outcomes[outcome] += 1
    cases.close()  # type: ignore[attr-defined]
    found.seconds = time.monotonic() - began
    return found


class Ended(NamedTuple):
    """How a child ended: its exit code, or minus the signal; None: it hung. said: standard output and error."""

    code: int | None
    said: str

    @property
    def last_line(self) -> str:
        return self.said.strip().rpartition("\n")[2]

    @property
    def crashed(self) -> bool:
        """It hung, died by a signal, or showed a traceback or an error of gstream's own."""
        return self.code is None or self.code < 0 or self.code == 1 or "Traceback" in self.said


def in_child(action: Callable[[], int | None], kill_after_s: float | None = None, number: int = 9) -> Ended:
    """Run `action` in a forked process; its result is the exit code. kill_after_s: then it gets the signal `number`."""
    sys.stdout.flush()
    sys.stderr.flush()
    reads, writes = os.pipe()  # not a file, which a limit of file sizes would cut
    fcntl.fcntl(reads, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)  # until the child has its handlers
    child = os.fork()
    if child == 0:
        os.close(reads)
        _be_child(action, writes)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)
    os.close(writes)
    try:
        code = _wait(child, kill_after_s, number)
        with os.fdopen(reads, "rb", closefd=False) as pipe:
            return Ended(code, pipe.read().decode(errors="replace"))
    finally:
        os.close(reads)


def _wait(child: int, kill_after_s: float | None, number: int) -> int | None:
    began = time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        passed = time.monotonic() - began
        if passed > LONGEST_S:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        if kill_after_s is not None and passed >= kill_after_s:
            os.kill(child, number)
            kill_after_s = None
        time.sleep(0.0005)


def _be_child(action: Callable[[], int | None], writes: int) -> None:
    code = 1
    try:
        try:
            os.dup2(writes, 1)
            os.dup2(writes, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            install_signals()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)
            code = action() or 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(BaseException):
                signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
                sys.stdout.flush()
                sys.stderr.flush()
    finally:  # whenever a signal comes, a child does not go on as its parent
        os._exit(code)


def command(*arguments: object) -> Callable[[], int]:
    """`gstream ARGUMENTS` as an action of a child."""

    return lambda: run_command_line([str(argument) for argument in arguments])


def counted(action: Callable[[], int | None]) -> str:
    """What an action says on a line that begins with "calls: ". AssertionError: it failed, with what it said."""
    ended = in_child(action)
    found = re.search(r"^calls: (.+)$", ended.said, re.MULTILINE)
    if found is None:
        raise AssertionError(f"undisturbed, it ended with {ended.code}: {ended.said.strip()[-2000:]}")
    return found.group(1)


def signalled(action: Callable[[], int | None], place: int, number: int) -> Callable[[], int | None]:
    """`action`, in which the main thread gets the signal at the call, or end of one in C, of this number, from 1 on.

    Python looks for signals there; none is too short for one to come in.
    """

    def run() -> int | None:
        left = place

        def look(frame: FrameType, event: str, _: object) -> None:
            nonlocal left
            left -= event in ("call", "c_return")
            if left == 0:
                signal.raise_signal(number)

        gc.disable()  # what is called as it collects comes at any call
        sys.setprofile(look)
        try:
            return action()
        finally:
            sys.setprofile(None)

    return run


def places_of(action: Callable[[], int | None]) -> int:
    """How many there are for `signalled`, about."""

    def run() -> int:
        places = 0

        def look(frame: FrameType, event: str, _: object) -> None:
            nonlocal places
            places += event in ("call", "c_return")

        gc.disable()  # what is called as it collects comes at any call
        sys.setprofile(look)
        try:
            return action() or 0
        finally:
            sys.setprofile(None)
            print(f"\ncalls: {places}")

    return int(counted(run))


def quietly(action: Callable[[], int | None]) -> int:
    """An action in this process, so that children find its kernels loaded; what it prints goes."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        code = action() or 0
    assert code == 0, said.getvalue()
    return code


def small_files(limit: int, action: Callable[[], int | None]) -> Callable[[], int | None]:
    """`action` where no file may grow past so many bytes: a full disk that libraries in C meet, too."""

    def run() -> int | None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        return action()

    return run


def in_space(limit: int, arguments: Sequence[str]) -> Callable[[], int | None]:
    """`gstream ARGUMENTS` in an interpreter of its own, whose address space has so many bytes."""

    def run() -> None:
        os.environ["PYTHONPATH"] = str(ROOT)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        os.execv(sys.executable, [sys.executable, "-m", "gstream", *arguments])

    return run


def plain_error(ended: Ended, codes: Sequence[int] = (5,)) -> str | None:
    """None where a command failed as it should: exit code, one line that ends with a remedy, no traceback."""
    if ended.code not in codes or ended.crashed:
        return f"ended with {ended.code}: {ended.said.strip()[-300:]}"
    if not ended.last_line.endswith(".") or "rrno" in ended.last_line:
        return f"says {ended.last_line!r}"
    return None


def names_in(folder: Path) -> list[str]:
    """Everything below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
