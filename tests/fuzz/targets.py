"""What fuzzing feeds: a target takes any bytes, returns a word ("read", "refused"); what it raises is a finding.

Targets need no fuzzer: a test runs kept inputs through them. tests/fuzz/every.py lists all of them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import threading
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from pagestore.errors import GstreamError
from pagestore.inputs.streams import ByteStream

CORPUS = Path(__file__).resolve().parents[2] / "tests" / "inputs" / "corpus"
MEMORY_FOLDER = Path("/dev/shm")
LONGEST = 200  # bytes of an input


class Wrong(AssertionError):
    """An input was read as something that it is not, or refused in a way that no user understands."""


class Target(NamedTuple):
    """run: reads an input, returns a word, raises for a finding. seeds: inputs to begin with. longest: bytes of one."""

    name: str
    promise: str
    run: Callable[[bytes], str]
    seeds: Callable[[], list[bytes]]
    longest: int = LONGEST


class refusal:
    """A block that may be refused. error: how; word: what became of it. Other exceptions pass.

    Raises Wrong for a refusal that is not one plain line.
    """

    def __init__(self, also: tuple[type[BaseException], ...] = ()) -> None:
        self.error: BaseException | None = None
        self._taken = (GstreamError, *also)

    def __enter__(self) -> refusal:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> bool:
        if not isinstance(error, self._taken):
            return False
        said = str(error)
        if isinstance(error, GstreamError) and (not said.isprintable() or not said.endswith((".", "?")) or
                                                error.exit_code == 1):  # fmt: skip
            raise Wrong(f"refused by {said!r}") from error
        self.error = error
        return True

    @property
    def word(self) -> str:
        """What became of the block."""
        return "read" if self.error is None else "refused"


class Drawn:
    """Bytes that options are drawn from, one after the other; zeros where there are none left."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        self._at += count
        return part.ljust(count, b"\0")

    def number(self, nbytes: int) -> int:
        return int.from_bytes(self.take(nbytes), "little")

    @property
    def left(self) -> bool:
        return self._at < len(self._data)

    def rest(self) -> bytes:
        return self._data[self._at :]


class MemoryStream(ByteStream):
    """A pipe that gives `data`, up to `step` bytes at a time."""

    def __init__(self, data: bytes, name: str, step: int = 1 << 20, may_be_empty: bool = False) -> None:
        self.name, self.total_bytes, self.replayable, self.device = name, None, False, False
        self._left, self._step = data, step
        self._file, self._owned, self._reading, self._closed = -1, False, threading.Lock(), False
        self._consumed, self._given, self._ahead, self._taken, self._raw = 0, 0, b"", 0, b""
        self.reached = 0
        self._begin(may_be_empty)

    def _read_file(self, size: int) -> bytes:
        part = self._left[: min(size, self._step)]
        self._left = self._left[len(part) :]
        self._consumed += len(part)
        return part


class TextStream(MemoryStream):
    """The same, but never taken for an archive: those are a target of their own, and hold lines too seldom."""

    def _beginning(self, raw: bytes, padded: bool = False) -> bytes:
        return b""  # where a magic number is looked for


@cache
def work_folder() -> Path:
    """Where files are written: FUZZ_FOLDER, or a folder, in memory if it can be, that goes with the process."""
    if given := os.environ.get("FUZZ_FOLDER"):
        return Path(given)
    folder = Path(mkdtemp(prefix="fuzz-", dir=MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None))
    atexit.register(shutil.rmtree, folder, True)
    return folder


@cache
def _open_file(name: str) -> tuple[str, int]:
    path = str(work_folder() / name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def written(name: str, data: bytes | bytearray) -> str:
    """Path of a file of `work_folder` that holds `data`: it stays open, and is written over."""
    path, file = _open_file(name)
    os.ftruncate(file, len(data))
    os.pwrite(file, data, 0)
    return path


def kept(name: str) -> list[bytes]:
    """The inputs of a target that were kept."""
    path = archive_of(name)
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as archive:
        return [archive.read(member) for member in archive.namelist()]


def archive_of(name: str) -> Path:
    """Where inputs of a target are kept."""
    return CORPUS / f"{name.replace(' ', '-')}.zip"
