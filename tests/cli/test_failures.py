"""Every failure becomes one line and the exit code of its kind."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from gstream.cli.failures import Interrupted, Signals, describe, exit_code_of, report
from pagestore.errors import DeviceMissingError, InputError, ResourceError, StoreError, UsageError
from tests.cli.command import ROOT


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("x"), 2),
        (DeviceMissingError("x"), 3),
        (InputError("x"), 4),
        (StoreError("x"), 4),
        (ResourceError("x"), 5),
        (MemoryError(), 5),
        (OSError(errno.ENOSPC, "No space left on device", "out.gs"), 5),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "out.gs"), 5),
        (OSError(errno.EIO, "Input/output error"), 5),
        (OSError(errno.EMFILE, "Too many open files"), 5),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 5),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), 5),
        (RuntimeError("can't start new thread"), 5),
        (RuntimeError("x"), 1),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "web.txt"), 4),
        (PermissionError(errno.EACCES, "Permission denied", "web.txt"), 4),
        (ZeroDivisionError("x"), 1),
    ],
)
def test_exit_code_and_one_line(error: Exception, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(error) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err


def test_messages_say_where_and_remedy() -> None:
    assert describe(OSError(errno.ENOSPC, "No space left on device", "/mnt/out.gs")) == (
        5,
        "/mnt/out.gs: no space left. Free some space, or write to another disk.",
    )
    assert describe(FileNotFoundError(errno.ENOENT, "No such file or directory", "web.txt"))[1].startswith("web.txt: ")
    assert describe(OSError(errno.ENOMEM, "Cannot allocate memory", "web.gs")) == (
        5,
        "web.gs: out of memory (Cannot allocate memory). Pass a smaller --memory or --host-memory.",
    )
    assert describe(InputError("a.txt:1: two\nlines"))[1] == "a.txt:1: two lines"


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GSTREAM_DEBUG", "1")
    try:
        raise InputError("web.txt: empty")
    except InputError as error:
        assert report(error) == 4
    assert "Traceback" in capsys.readouterr().err


LOST = """
import os, signal, sys, time, weakref
from gstream.cli.failures import Interrupted, install_signals

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)  # whose exception Python ignores here
        for _ in range(9):
            pass

install_signals()
try:
    Dying()
    time.sleep(30)
except Interrupted as stop:
    print("stopped", stop.number)
    raise
"""


def test_a_signal_that_python_ignores_comes_again() -> None:
    command = [sys.executable, "-c", LOST]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "stopped 15\n", "")


def test_other_exceptions_that_python_ignores_are_shown() -> None:
    unraisable = SimpleNamespace(
        exc_type=ValueError, exc_value=ValueError("odd"), exc_traceback=None, err_msg=None, object=None
    )
    with pytest.MonkeyPatch.context() as patch:
        seen: list[object] = []
        patch.setattr(sys, "__unraisablehook__", seen.append)
        Signals().lost(unraisable)
    assert seen == [unraisable]


def test_a_signal_that_c_code_made_an_error_of(capsys: pytest.CaptureFixture[str]) -> None:
    def action() -> None:
        try:
            raise SystemError("returned a result with an exception set") from Interrupted(15)
        except SystemError as error:
            raise InputError("web.txt: can't be read") from error

    def cleans_up() -> None:
        try:
            raise Interrupted(15)
        finally:
            raise OSError(errno.EBADF, "Bad file descriptor")

    for what in (action, cleans_up):
        assert exit_code_of(what) == 143
        assert capsys.readouterr().err == "stopped by SIGTERM; temporary files are removed.\n"


def test_a_clean_up_that_fails_after_a_signal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSTREAM_DEBUG", "1")

    def action() -> None:
        try:
            raise Interrupted(15)
        finally:
            raise PermissionError(errno.EACCES, "Permission denied", "g.gs.partial.d/runs")

    assert exit_code_of(action) == 143
    said = capsys.readouterr().err
    assert "Traceback" in said and said.endswith(
        "stopped by SIGTERM; but cleaning up failed (Permission denied): temporary files may be left.\n"
    )


def test_a_command_given_after_a_signal() -> None:
    """A program that handles an interruption and goes on: what fails then is no stop."""

    def action() -> None:
        raise InputError("web.txt: can't be read")

    try:
        raise Interrupted(15)
    except Interrupted:
        assert exit_code_of(action) == 4
