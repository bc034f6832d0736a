"""Calls of the system's that a child makes: which count, how they fail, where a process dies."""

from __future__ import annotations

import errno
import os
import signal
import threading
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.torture.ordeals import in_child, small_files
from tests.torture.syscalls import CHANGES, Fault, Kinds, calls_of, supported, watched

pytestmark = pytest.mark.skipif(not supported(), reason="the kernel does not tell of calls (seccomp's notifications)")
READING = Kinds(reading=True)
VALUES = np.arange(5000.0)


def test_calls_that_fail(tmp_path: Path) -> None:
    def action() -> None:
        (tmp_path / "a").mkdir(exist_ok=True)
        with open(tmp_path / "a" / "b", "w") as file:
            file.write("text")
        np.load(tmp_path / "array.npy")

    np.save(tmp_path / "array.npy", np.arange(9))
    assert calls_of(action, tmp_path) == 3, "mkdir, open, write: what is only read does not count"
    assert calls_of(action, tmp_path / "a") == 3 and calls_of(action, tmp_path / "other") == 0
    assert calls_of(action, tmp_path, READING) > 1
    assert in_child(action).code == 0
    (tmp_path / "a" / "b").unlink()
    assert watched(action, tmp_path, CHANGES, Fault(1))[0].code == -signal.SIGKILL
    assert os.listdir(tmp_path / "a") == []
    assert watched(action, tmp_path, CHANGES, Fault(2))[0].code == -signal.SIGKILL
    assert (tmp_path / "a" / "b").read_text() == ""
    ended, calls = watched(action, tmp_path, CHANGES, Fault(1, errno.EIO))
    assert ended.code == 1 and "Input/output error" in ended.last_line and calls == 2
    ended, _ = watched(action, tmp_path, READING, Fault(0, errno.EIO, errno.EMFILE))
    assert ended.code == 1 and "Too many open files" in ended.last_line
    ended, _ = watched(action, tmp_path, READING, Fault(1, errno.EIO, errno.EMFILE))
    assert ended.code == 1 and "Input/output error" in ended.last_line
    assert watched(action, tmp_path, CHANGES, Fault(3))[0].code == 0
    ended = in_child(small_files(3, action))
    assert ended.code == 1 and "File too large" in ended.last_line


def write_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["values"] = VALUES


def write_parquet(path: Path) -> None:
    pq.write_table(pa.table({"values": VALUES}), path)


def write_in_a_thread(path: Path) -> None:
    failed = []

    def run() -> None:
        try:
            path.write_bytes(VALUES.tobytes())
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("write", [write_hdf5, write_parquet, write_in_a_thread])
def test_calls_of_libraries_and_threads(tmp_path: Path, write) -> None:
    calls = calls_of(lambda: write(tmp_path / "file"), tmp_path)
    assert calls >= 2
    for site in range(calls):
        ended, _ = watched(lambda: write(tmp_path / "file"), tmp_path, CHANGES, Fault(site))
        assert ended.code == -signal.SIGKILL
        if write is not write_hdf5:  # h5py dies of it where nobody has seen to that
            full = Fault(site, errno.ENOSPC, lasting=True)
            ended, _ = watched(lambda: write(tmp_path / "file"), tmp_path, CHANGES, full)
            assert ended.code == 1 and "No space left" in ended.last_line, (site, ended)


def test_which_paths_count(tmp_path: Path) -> None:
    """Relative ones, ones below an open folder, renames, files without a name; none that lies elsewhere."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()

    def relative() -> None:
        os.chdir(inside)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY))

    def below() -> None:
        folder = os.open(inside, os.O_DIRECTORY)
        os.mkdir("more", dir_fd=folder)
        os.rename("more", "less", src_dir_fd=folder, dst_dir_fd=folder)
        os.rmdir("less", dir_fd=folder)

    def nameless() -> None:
        file = os.open(inside, os.O_TMPFILE | os.O_RDWR)
        os.write(file, b"text")
        os.fsync(file)

    def elsewhere() -> None:
        (outside / "file").write_text("text")
        os.write(1, b"told\n")

    found = [calls_of(action, inside) for action in (relative, below, nameless, elsewhere)]
    assert found == [1, 2, 3, 0]
    (inside / "file").unlink()
    assert calls_of(below, inside, Kinds(removing=True)) == 3
    ended, _ = watched(nameless, inside, CHANGES, Fault(2, errno.EIO))
    assert ended.code == 1 and "Input/output error" in ended.last_line


def test_folders_by_other_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a link or a relative path, or opened by its number; a folder whose name begins the same is another one."""
    inside, beside, link = tmp_path / "inside", tmp_path / "inside-not", tmp_path / "link"
    inside.mkdir()
    beside.mkdir()
    link.symlink_to(inside)

    def action() -> None:
        (link / "a").write_text("text")
        (inside / "b").write_text("text")
        (beside / "c").write_text("text")
        file = os.open(inside / "b", os.O_RDONLY)
        os.close(os.open(f"/proc/self/fd/{file}", os.O_WRONLY))
        os.close(os.open("/proc/self/fd/1", os.O_WRONLY))

    monkeypatch.chdir(tmp_path)
    assert [calls_of(action, folder) for folder in (inside, link, Path("inside"), Path("link"))] == [4, 5, 4, 5]


def test_what_goes_wrong_while_watching_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> bool:
        raise PermissionError(errno.EPERM, "may not be looked at")

    monkeypatch.setattr("tests.torture.syscalls.Watcher._counts", fail)
    with pytest.raises(PermissionError, match="may not be looked at"):
        watched(lambda: os.mkdir(tmp_path / "a"), tmp_path)


def test_a_child_that_ends_before_it_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.torture.syscalls.Watcher.install", lambda watcher: os._exit(7))
    assert watched(lambda: 0, tmp_path)[0].code == 7
