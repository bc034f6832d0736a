"""Inputs by folder, by pattern and from pipes: which files they are, and the columns that folders' names hold.

folder/           every file below it, in the order of names; hidden ones and those that begin with _ are left out
part-*.parquet    as a shell has it, where the shell left it alone; ** is any number of folders
year=2024/        of tables: a column `year`, as Hive, Spark and DuckDB write it
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pagestore.convert.storage import disk_errors
from pagestore.errors import InputError
from pagestore.inputs.signatures import COUNT
from pagestore.inputs.streams import STDIN, ByteStream

PATTERN = frozenset("*?[")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
COPY_BYTES = 1 << 20
MOST_FILES = 100_000


def listed(paths: Iterable[str | Path]) -> tuple[list[str | Path], tuple[str, ...]]:
    """The files that `paths` name, folders and patterns unfolded, and the folders among them.

    InputError for a folder without files, a pattern that fits nothing, and for what is no file in a folder.
    """
    files: list[str | Path] = []
    folders: list[str] = []
    for path in paths:
        found = _fitting(path)
        for one in found:
            if str(one) != STDIN and os.path.isdir(one):
                folders.append(os.path.normpath(one))
                files += _below(one)
            else:
                files.append(one)
        if len(files) > MOST_FILES:
            raise InputError(f"{path}: names {len(files)} files; the limit is {MOST_FILES}. Join some of them first.")
        if len(found) > 1 or found[0] is not path:
            folders.append(_fixed_part(str(path)))
    return files, tuple(folders)


def _fitting(path: str | Path) -> list[Any]:
    """Names that a pattern fits; the path itself where it is none, or names a file."""
    text = str(path)
    if not PATTERN & set(text) or os.path.lexists(path):
        return [path]
    found = sorted(glob.glob(text, recursive=True))
    if "**" in text:  # which fits folders and, once more, the files in them
        found = [name for name in found if not os.path.isdir(name)]
    if not found:
        raise InputError(f"{path}: no file fits the pattern. Check the path.")
    return found


def _fixed_part(pattern: str) -> str:
    """The folder of a pattern up to its first sign."""
    at = min(pattern.index(sign) for sign in PATTERN & set(pattern))
    return os.path.normpath(os.path.dirname(pattern[:at]) or ".")


def _below(folder: str | Path) -> list[str]:
    """Files below a folder, in the order of their names. Links to files are followed, links to folders are not."""
    files: list[str] = []
    for place, below, names in os.walk(folder, onerror=_unreadable):
        below[:] = [name for name in below if name[0] not in "._"]
        for name in names:
            path = os.path.join(place, name)
            if name[0] in "._":
                continue
            if not stat.S_ISREG(os.stat(path).st_mode if os.path.exists(path) else 0):
                raise InputError(f"{path}: is no file, but a pipe, a device or a dead link. Take it out of the folder.")
            files.append(path)
    graphs = {os.path.splitext(path)[0] for path in files if path.endswith((".e", ".v"))}
    files = [path for path in files if not (path.endswith(".properties") and os.path.splitext(path)[0] in graphs)]
    if not files:
        raise InputError(f"{folder}: is a folder without files to read; names that begin with . or _ are left out.")
    return sorted(files)


def _unreadable(error: OSError) -> None:
    raise InputError(f"{error.filename}: can't be listed ({error.strerror}). Check its rights.")


def partitions(path: str, folders: Iterable[str]) -> dict[str, int | str | None]:
    """Columns that the folders of a path hold, as `year=2024`, below one of `folders`; integers where they are."""
    inside = [folder for folder in folders if os.path.normpath(path).startswith(os.path.join(folder, ""))]
    inside += ["."] if "." in folders and not os.path.isabs(path) else []
    if not inside:
        return {}
    found: dict[str, int | str | None] = {}
    for part in Path(os.path.relpath(path, min(inside, key=len))).parts[:-1]:
        key, is_pair, value = part.partition("=")
        if is_pair and key:
            value = unquote(value)
            whole = COUNT.match(value) and str(int(value)) == value and int(value) < 1 << 63
            found[unquote(key)] = None if value == NO_VALUE else int(value) if whole else value
    return found


class Spooled(os.PathLike):
    """A pipe's bytes in a temporary file, for formats whose reader needs one; called as the pipe is."""

    def __init__(self, stream: ByteStream, folder: Path, number: int) -> None:
        self.name = stream.name
        if stream.device:
            raise InputError(f"{self.name}: is a device, which may have no end; the format needs a file. Name one.")
        self._path = folder / f"pipe-{number}"
        with disk_errors(self._path), open(self._path, "xb") as file:
            while part := stream.read(COPY_BYTES):
                with disk_errors(self._path, len(part)):
                    file.write(part)

    def __fspath__(self) -> str:
        return str(self._path)

    def __str__(self) -> str:
        return self.name
