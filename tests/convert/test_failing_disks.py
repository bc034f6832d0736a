"""Single calls that fail or are interrupted: what the torture harness (tests/torture/run.py) found, one by one."""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gstream.telemetry.trace import ChromeTrace
from pagestore.convert import ConvertOptions, Progress, convert
from pagestore.convert.storage import OPEN_FILES
from pagestore.convert.workfolder import WorkFolder, work_folder_of
from pagestore.errors import InputError, ResourceError, UsageError
from pagestore.inputs.streams import ByteStream
from pagestore.memory import ArraySource
from pagestore.verify import verify

EDGES = np.random.default_rng(4).integers(0, 500, (2, 9_000))
CODES = {errno.EIO: "writing failed .Input/output error.. Check the disk", errno.ENOSPC: "no space left. Free some"}


def failing(monkeypatch: pytest.MonkeyPatch, name: str, code: int, wanted: Any) -> None:
    """os.NAME fails for the arguments that `wanted` says yes to."""
    real = getattr(os, name)

    def call(*arguments: Any, **named: Any) -> Any:
        if wanted(*arguments):
            raise OSError(code, os.strerror(code))
        return real(*arguments, **named)

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize("code", CODES)
def test_the_sync_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """The store is complete, and the error is the disk's; the file that was renamed is not looked for again."""
    with monkeypatch.context() as patch:
        failing(patch, "fsync", code, lambda file: os.path.isdir(f"/proc/self/fd/{file}"))
        with pytest.raises(ResourceError, match=CODES[code]):
            convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
    assert [path.name for path in tmp_path.iterdir()] == ["graph.gs"]
    assert verify(tmp_path / "graph.gs").ok


@pytest.mark.parametrize("code", CODES)
def test_the_file_that_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    with monkeypatch.context() as patch:
        failing(patch, "open", code, lambda path, flags, *rest: str(path).endswith(".partial") and flags & os.O_RDWR)
        with pytest.raises(ResourceError, match=CODES[code]):
            convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", CODES)
def test_the_lock_of_the_work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    with monkeypatch.context() as patch:
        failing(patch, "open", code, lambda path, flags, *rest: str(path).endswith("/lock"))
        with pytest.raises(ResourceError):
            convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(
    ("holder", "name", "wanted"),
    [
        (os, "mkdir", ".partial.d"), (os, "open", "/lock"), (fcntl, "flock", ""), (Path, "read_text", "boot_id"),
        (WorkFolder, "_open_manifest", ""), (WorkFolder, "_empty", ""),
    ],
)  # fmt: skip
def test_a_signal_on_the_way_to_the_lock_or_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: Any, name: str, wanted: str, before: bool
) -> None:
    """What a handler raises before or after any call leaves nothing; it comes once."""
    real, raised = getattr(holder, name), []

    def call(*arguments: Any, **named: Any) -> Any:
        if raised or not str(arguments[0]).endswith(wanted):
            return real(*arguments, **named)
        raised.append(True)
        if not before:
            real(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(holder, name, call)
        with pytest.raises(KeyboardInterrupt):
            convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
    assert {path.name for path in tmp_path.iterdir()} <= {"graph.gs"}
    convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))


def begun(path: Path, **options: Any) -> ConvertOptions:
    """A conversion with all of its data in files, given up when its pages are being packed; how to go on with it."""

    def hook(progress: Progress) -> None:
        if progress.phase == "pack":
            raise KeyboardInterrupt

    wanted = ConvertOptions(page_bytes=4096, memory_bytes=1 << 14, resume=True, **options)
    with pytest.raises(KeyboardInterrupt):
        convert(ArraySource(EDGES[0], EDGES[1]), path, wanted, hook)
    return wanted


def test_temporary_files_that_were_cut(tmp_path: Path) -> None:
    path = tmp_path / "graph.gs"
    options = begun(path)
    os.truncate(work_folder_of(path) / "first.targets", 100)
    with pytest.raises(ResourceError, match=r"first\.targets: a temporary file was cut short. Run again without --res"):
        convert(ArraySource(EDGES[0], EDGES[1]), path, options)
    convert(ArraySource(EDGES[0], EDGES[1]), path, replace(options, resume=False))
    assert verify(path).ok and [entry.name for entry in tmp_path.iterdir()] == ["graph.gs"]


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    failing(monkeypatch, "open", code, lambda path, *rest: str(path).endswith(".bucket"))
    with pytest.raises(
        ResourceError, match=r"\.bucket: too many open files. Raise the limit \(ulimit -n\), or --memory"
    ):
        convert(ArraySource(EDGES[0], EDGES[1]), tmp_path / "graph.gs", ConvertOptions(memory_bytes=1 << 14))
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_the_disks_is_told_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "open", errno.ELOOP, lambda path, *rest: str(path).endswith(".bucket"))
    with pytest.raises(OSError) as error:
        convert(ArraySource(EDGES[0], EDGES[1]), tmp_path / "graph.gs", ConvertOptions(memory_bytes=1 << 14))
    assert error.value.errno == errno.ELOOP
    assert list(tmp_path.iterdir()) == []


def test_as_many_files_as_the_system_lets_us(tmp_path: Path) -> None:
    """The limit that a shell sets is raised, up to the one that only root may; it never falls."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    try:
        for before in (most // 2, most):
            resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
            convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs")
            assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("ends", [True, False])
def test_locks_of_conversions_that_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool, ends: bool
) -> None:
    """Another one removes its lock file after we opened it; a third may have made its own by then. One more try."""
    lock, usual, tries = work_folder_of(tmp_path / "graph.gs") / "lock", fcntl.flock, []

    def flock(file: int, how: int) -> None:
        usual(file, how)
        if not ends or len(tries) < 3:
            tries.append(file)
            lock.unlink()
            if replaced:
                lock.write_bytes(b"")

    monkeypatch.setattr(fcntl, "flock", flock)
    if ends:
        convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
        assert verify(tmp_path / "graph.gs").ok
        assert [entry.name for entry in tmp_path.iterdir()] == ["graph.gs"]
        return
    with pytest.raises(UsageError, match="other conversions keep taking it. Write to another name"):
        convert(ArraySource([1, 2], [2, 3]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
    assert not (tmp_path / "graph.gs").exists()


def test_damaged_archives_leave_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    whole = gzip.compress(b"1 2\n" * 999)
    open_files = len(os.listdir("/proc/self/fd"))
    for data in (whole[:5], b"no archive", whole[:1] + b"?" + whole[2:], b""):
        path.write_bytes(data)
        with pytest.raises(InputError):
            ByteStream(path)
    assert len(os.listdir("/proc/self/fd")) == open_files


def test_a_trace_is_complete_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, path = ChromeTrace(), tmp_path / "run.json"
    path.write_text("an older one")
    trace.span("driver", "supersteps", "push", 1.0, 2.0)
    with monkeypatch.context() as patch:
        failing(patch, "fsync", errno.ENOSPC, lambda file: True)
        with pytest.raises(ResourceError, match=r"run\.json: no space left"):
            trace.write(path)
    assert path.read_text() == "an older one"
    trace.write(path)
    assert path.read_text().startswith('{"traceEvents"')
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """As checkpoints do; what else fails is told."""

    def fail(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", fail)
    convert(ArraySource(EDGES[0], EDGES[1]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
    assert verify(tmp_path / "graph.gs").ok and [path.name for path in tmp_path.iterdir()] == ["graph.gs"]


def test_a_lock_that_fails_is_the_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(ResourceError, match="Check the disk"):
        convert(ArraySource(EDGES[0], EDGES[1]), tmp_path / "graph.gs", ConvertOptions(page_bytes=4096))
