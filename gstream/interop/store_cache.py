"""Stores that `gstream run ALGORITHM FILE` makes of edge lists: once each, kept in the user's cache up to a size.

    stores/PLACE/lock       shared while a run reads the store, exclusive while one is made or removed
    stores/PLACE/input      JSON: path, size and time of the file; its own time is that of the last use
    stores/PLACE/KEY.gs     the store; KEY is of the file's size and time, and of how stores are made

PLACE is a hash of the file's whole path. What lies there under another name is of a file that changed, or of a
conversion that was killed, and goes with the next conversion.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pagestore.caches import cache_base, why_refused
from pagestore.errors import ResourceError, UsageError
from pagestore.faults import NO_LOCKS, disk_error
from pagestore.sizes import parse_size, show_bytes

LIMIT = "GSTREAM_CACHE_SIZE"
DEFAULT_LIMIT = "20GiB"
ATTEMPTS = 100  # other processes may remove a folder before it is locked
NAME_LENGTH = 16  # hexadecimal digits


@dataclass(frozen=True)
class CachedStore:
    """A store of the cache. file: the edge list it was made of, as it was: size in bytes, time in ns."""

    folder: Path
    file: str
    size: int
    time: int

    @property
    def path(self) -> Path:
        """The store."""
        return self.folder / f"{_hash(f'{self.size} {self.time} {_version()}')}.gs"

    @property
    def stored_bytes(self) -> int:
        """Bytes of all that lies there."""
        return sum(_size(path) for path in self.folder.iterdir())

    @property
    def used(self) -> float:
        """When a run read it last, in seconds since 1970."""
        return (self.folder / "input").stat().st_mtime

    @property
    def outdated(self) -> bool:
        """Whether the file changed, or is no longer there."""
        try:
            found = os.stat(self.file)
        except OSError:
            return True
        return (found.st_size, found.st_mtime_ns) != (self.size, self.time)


def stores_folder() -> Path:
    """Where the stores lie."""
    return cache_base() / "stores"


def limit_bytes() -> int:
    """Bytes that all stores in the cache may take (GSTREAM_CACHE_SIZE). Raises UsageError if it is not a size."""
    return parse_size(os.environ.get(LIMIT) or DEFAULT_LIMIT, LIMIT) or 0


@contextmanager
def store_of(file: Path, make: Callable[[Path], None], say: Callable[[str], None]) -> Iterator[Path]:
    """The store of an edge list, made by `make(store)` unless it is there; nobody removes it while the block lasts.

    say: gets a line about an older store that is used, about what is waited for, and about what is removed. `make`
    says that it converts, once it knows that the file can be read. Errors of `make` are raised, and leave no file.
    Raises UsageError where the cache cannot be used, ResourceError where the store would be too large for it.
    """
    limit, base = limit_bytes(), stores_folder()
    if why := why_refused(base):
        raise UsageError(f"{file}: its store would lie in the cache, which cannot be used: {why}. {_by_hand(file)}")
    found = os.stat(file)
    if found.st_size > limit:
        raise _too_large(file, found.st_size, limit)
    whole = os.path.realpath(file)
    entry = CachedStore(base / _hash(whole), whole, found.st_size, found.st_mtime_ns)
    lock = _found_or_made(entry, file, make, say, limit)
    try:
        with suppress(OSError):
            os.utime(entry.folder / "input")
        yield entry.path
    finally:
        os.close(lock)


def _found_or_made(
    entry: CachedStore, file: Path, make: Callable[[Path], None], say: Callable[[str], None], limit: int
) -> int:
    """The open lock file, shared, of a folder in which the store is."""
    for _ in range(ATTEMPTS):
        entry.folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(entry.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            there = entry.path.exists()
            _wait(lock, fcntl.LOCK_SH if there else fcntl.LOCK_EX, file, say)
            if not _is_of(lock, entry.folder):
                continue
            if there:
                say(f"{file}: its store is in the cache.")
            elif not entry.path.exists():  # no other process made it meanwhile
                _make(entry, file, make, say, limit)
            _wait(lock, fcntl.LOCK_SH, file, say)  # which gives the exclusive lock up first
            if entry.path.exists() and _is_of(lock, entry.folder):
                lock, kept = -1, lock
                return kept
        except FileNotFoundError:  # the folder was removed meanwhile
            continue
        finally:
            if lock >= 0:
                os.close(lock)
    raise UsageError(f"{file}: other processes keep removing its store from the cache. {_by_hand(file)}")


def _is_of(lock: int, folder: Path) -> bool:
    """Whether a folder's lock file is still the one that is open."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(folder / "lock"))
    except FileNotFoundError:
        return False


def cached_stores() -> list[CachedStore]:
    """All stores of the cache, the one used last first."""
    found = []
    for folder in stores_folder().glob("*/"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads((folder / "input").read_text())
            entry = CachedStore(folder, str(said["path"]), int(said["size"]), int(said["time"]))
            if entry.path.exists():
                found.append(entry)
    return sorted(found, key=lambda entry: entry.used, reverse=True)


def clear() -> tuple[int, int, int]:
    """Remove all stores but those that runs read: (how many went, their bytes, how many stay)."""
    gone = size = kept = 0
    for folder in stores_folder().glob("*/"):
        held = sum(_size(path) for path in folder.iterdir())
        if _removed(folder):
            gone, size = gone + 1, size + held
        else:
            kept += 1
    return gone, size, kept


def _make(entry: CachedStore, file: Path, make: Callable[[Path], None], say: Callable[[str], None], limit: int) -> None:
    _empty(entry.folder)
    try:
        make(entry.path)
        said = {"path": entry.file, "size": entry.size, "time": entry.time}
        (entry.folder / "input").write_text(json.dumps(said))
        if (size := _size(entry.path)) > limit:
            raise _too_large(file, size, limit)
    except BaseException as error:
        _empty(entry.folder)
        if isinstance(error, OSError):
            raise disk_error(error, str(entry.path)) from error
        raise
    _make_room(entry, limit, say)


def _make_room(newest: CachedStore, limit: int, say: Callable[[str], None]) -> None:
    """Remove the stores that were used longest ago, until the others are within the limit."""
    left = limit - newest.stored_bytes
    for entry in cached_stores():
        if entry.folder == newest.folder:
            continue
        size = entry.stored_bytes
        if size <= left:
            left -= size
        elif _removed(entry.folder):
            say(f"{entry.file}: its store was removed from the cache, which may hold {show_bytes(limit)} ({LIMIT}).")


def _wait(lock: int, kind: int, file: Path, say: Callable[[str], None]) -> None:
    """Lock, and say so where that has to wait. A file system without locks gives none."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"{file}: another process converts it; waiting for it.")
        fcntl.flock(lock, kind)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def _removed(folder: Path) -> bool:
    """Remove a folder of the cache, unless a process uses it."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)


def _empty(folder: Path) -> None:
    """Remove all but the lock."""
    for path in folder.iterdir():
        if path.name == "lock":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _too_large(file: Path, size: int, limit: int) -> ResourceError:
    return ResourceError(
        f"{file}: takes {show_bytes(size)}, and the cache may hold {show_bytes(limit)} ({LIMIT}). {_by_hand(file)}"
    )


def _by_hand(file: Path) -> str:
    return f"Make a store of it elsewhere: gstream convert {file} {store_name(file)}."


def store_name(file: Path) -> str:
    """What a store of a file may be called: web.gs for web.txt.gz."""
    return f"{file.name.partition('.')[0] or 'graph'}.gs"


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:NAME_LENGTH]


def _version() -> str:
    from gstream.version import __version__
    from pagestore.meta import VERSIONS

    return f"{__version__} {VERSIONS}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone meanwhile
        return 0
