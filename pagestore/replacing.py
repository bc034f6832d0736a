"""Files that are replaced whole: exports, edge lists, results, traces and plots. Old, complete or absent at any moment.

    .NAME.TOKEN.partial (new, locked) --write, fsync--> rename to NAME --> fsync of the folder

Each writer has a partial file of its own, so two writers of one name never mix: the one that ends last replaces the
file. Each writer locks its file (`flock`), and the kernel drops the lock on any death: a partial file without a lock is
a killed process's, and is removed when NAME is written again. File systems without locks keep such files. (A store is
written as NAME.partial, which its conversion's lock guards and --resume continues: pagestore/writer.py.)
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pagestore.errors import UsageError
from pagestore.faults import NO_LOCKS, disk_error

ATTEMPTS = 100  # another process may remove a partial file as a leftover before it is locked
TOKEN_BYTES = 8


def refuse_replacing(path: Path, force: bool) -> None:
    """UsageError when `path` exists: a file without `force`, or anything that is no file."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        what = "a folder" if path.is_dir() else "a device or a pipe, which a rename would replace"
        raise UsageError(f"{path}: is {what}. Name a file.")
    if path.exists() and not force:
        raise UsageError(f"{path}: exists. Pass --force to replace it, or another name.")


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A binary stream that becomes the file at `path` when the block ends well, and nothing when it fails.

    Libraries that write by a name may write to `stream.name`. Raises UsageError if the target is no file, and
    UsageError or ResourceError for any OSError, also of the block.
    """
    target = Path(path)
    refuse_replacing(target, force=True)
    try:
        remove_leftovers(target)
        with _partial(target) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(stream.name, target)
        sync_folder(target.parent)
    except OSError as error:
        raise disk_error(error, str(target)) from error


def remove_leftovers(path: str | os.PathLike) -> None:
    """Remove the partial files of `path` whose writers have died, as far as that is allowed."""
    target, found = Path(path), []
    named = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{{2 * TOKEN_BYTES}}}\.partial")
    with suppress(OSError), os.scandir(target.parent) as entries:
        found = [entry.path for entry in entries if named.fullmatch(entry.name)]
    for leftover in found:
        remove_unlocked(leftover)


def remove_unlocked(path: str) -> None:
    """Remove a partial file unless its writer lives, as far as that is allowed."""
    with suppress(OSError):  # BlockingIOError: its writer lives
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(file)


def sync_folder(folder: str | os.PathLike) -> None:
    """Make new and renamed files in a folder survive a power cut, where the system allows to sync a folder."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL):
            raise


@contextmanager
def _partial(target: Path) -> Iterator[IO[bytes]]:
    """A new file beside `target`, locked while the block lasts; gone afterwards, unless it was renamed."""
    for _ in range(ATTEMPTS):
        path = target.with_name(f".{target.name}.{os.urandom(TOKEN_BYTES).hex()}.partial")
        try:
            with open(path, "xb") as stream:
                if _is_ours(stream.fileno(), path):
                    yield stream
                    return
        finally:
            path.unlink(missing_ok=True)
    raise UsageError(f"{target}: other processes keep removing what is written to it. Write to another name.")


def lock_file(file: int, path: str | os.PathLike) -> bool:
    """Lock an open file until this process ends or closes it; whether it is still the one at `path`.

    File systems that have no locks give none. Raises BlockingIOError where another process has it, OSError.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _is_ours(file: int, path: Path) -> bool:
    """Lock a new partial file; False where another process took it for a leftover first."""
    try:
        return lock_file(file, path)
    except BlockingIOError:
        return False
