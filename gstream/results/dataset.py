"""An answer as a folder with a file a rank, `part-00000.parquet` and so on, whose rows together are in order.

    .NAME.TOKEN.partial (new, locked) --each rank writes its part--> rename to NAME --> fsync of the folder

The name's ending says the format of the parts; without one they are Parquet. A folder that a killed run left is removed
when NAME is written again.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gstream.devices.ranks import Alone, Ranks
from gstream.results.files import check_output, write_result
from pagestore.errors import UsageError
from pagestore.faults import disk_error
from pagestore.replacing import sync_folder
from pagestore.rowtext import parted_name

DEFAULT = ".parquet"
PART = re.compile(r"part-\d{5,}\..+")
TOKEN_BYTES = 8


def part_name(path: Path, number: int) -> str:
    """The name of a rank's file in the dataset at `path`."""
    ending, compression = parted_name(path.name)
    suffixes = "".join(path.suffixes[-2 if compression else -1 :]) if ending else DEFAULT
    return f"part-{number:05}{suffixes}"


def check_dataset(path: Path, force: bool, ldbc: bool, edges: bool) -> None:
    """Raise UsageError, before anything is computed, where no dataset can be written at `path`."""
    check_output(path.parent / part_name(path, 0), ldbc, edges)
    if path.is_dir() and force and not all(PART.fullmatch(name) for name in os.listdir(path)):
        raise UsageError(f"{path}: holds other files than the parts of an answer. Name another folder.")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: is a file; ranks write a folder, with a file each. Name another one.")
    if path.exists() and not force:
        raise UsageError(f"{path}: exists. Pass --force to replace it, or another name.")


def write_dataset(result: Any, path: Path, ranks: Ranks | Alone, ldbc: bool) -> None:
    """Write an answer, which all ranks hold, a part each; what exists is replaced. All ranks make this call, but where
    the first has the answer alone, and writes all parts.

    Rows that are no vertices', which are few, are the first rank's to write. Raises as Result.write does; then nothing
    is at `path` that was not there before.
    """
    with _folder(path, ranks) as folder:
        ranks.together(lambda: _write_parts(result, folder, path, ranks, ldbc))
        ranks.by_first(lambda: _become(folder, path))


def _write_parts(result: Any, folder: Path, path: Path, ranks: Ranks | Alone, ldbc: bool) -> None:
    for number in ranks.written_parts:
        part = result.part(number, ranks.size)
        if part is not None:
            write_result(part, folder / part_name(path, number), ldbc)


@contextmanager
def _folder(path: Path, ranks: Ranks | Alone) -> Iterator[Path]:
    """A new folder beside `path` that all ranks see; gone afterwards, unless it was renamed."""
    lock, made = [], path.with_name(f".{path.name}.{ranks.of_first(os.urandom(TOKEN_BYTES)).hex()}.partial")

    def make() -> None:
        _remove_leftovers(path)
        try:
            made.mkdir()
            lock.append(os.open(made, os.O_RDONLY | os.O_DIRECTORY))
            with suppress(OSError):  # a file system that locks no folders
                fcntl.flock(lock[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise disk_error(error, str(path)) from error

    try:
        ranks.by_first(make)
        yield made
    finally:
        for file in lock:
            os.close(file)
            shutil.rmtree(made, ignore_errors=True)


def _become(folder: Path, path: Path) -> None:
    """The folder comes to be at `path`; one that was there goes."""
    old = path.with_name(f"{folder.name}.old.partial")
    try:
        sync_folder(folder)
        if path.exists():
            os.rename(path, old)
        os.rename(folder, path)
        sync_folder(path.absolute().parent)
    except OSError as error:
        raise disk_error(error, str(path)) from error
    shutil.rmtree(old, ignore_errors=True)


def _remove_leftovers(path: Path) -> None:
    """Remove folders that killed runs left beside `path`, as far as that is allowed."""
    named = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{{2 * TOKEN_BYTES}}}\.partial(\.old\.partial)?")
    with suppress(OSError), os.scandir(path.absolute().parent) as entries:
        for entry in [entry for entry in entries if named.fullmatch(entry.name)]:
            with suppress(OSError):  # BlockingIOError: its writer lives
                file = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path)
                finally:
                    os.close(file)
