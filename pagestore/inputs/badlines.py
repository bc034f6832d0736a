"""What happens to a line that is no edge: `fail` stops at the first one, `skip` counts and lists it (--bad-lines).

Encoding of the list: one line each, `file:line:column<TAB>reason<TAB>text`, text cut at SKIPPED_TEXT_BYTES.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

from pagestore.convert.storage import disk_errors
from pagestore.errors import InputError, visible
from pagestore.inputs.base import SKIPPED_TEXT_BYTES, SkippedLines

FIRST_MESSAGES = 10
SKIP_REMEDY = "Fix the line, or pass --bad-lines skip."


class LineProblem(Exception):
    """Why a line is no edge: `column` counts bytes from 1; `reason` names the offending text and the limit."""

    def __init__(self, column: int, reason: str, remedy: str = SKIP_REMEDY) -> None:
        super().__init__(reason)
        self.column, self.reason, self.remedy = column, reason, remedy


def shown(text: bytes | str, limit: int = 40) -> str:
    """`text` on one line, control characters escaped, cut at `limit` characters."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    text = visible(text)
    return text if len(text) <= limit else text[:limit] + "..."


def quoted(text: bytes | str, limit: int = 40) -> str:
    """`shown` in quotes. Not by repr(): it would escape again what is escaped, a tab as \\\\t."""
    said = shown(text, limit)
    mark = '"' if "'" in said else "'"
    return f"{mark}{said}{mark}"


class BadLines:
    """Collects bad lines of one graph in input order. `mode`: fail or skip. `path`: the list of skipped lines; None: no
    list is written."""

    def __init__(self, mode: str, path: Path | None, skipped: SkippedLines) -> None:
        self._mode, self._path, self._skipped = mode, path, skipped
        self._file: IO[str] | None = None

    @property
    def skips(self) -> bool:
        return self._mode == "skip"

    @property
    def count(self) -> int:
        return self._skipped.count

    def begin(self) -> None:
        """Forget everything: the source is read from its start (again)."""
        self.close()
        self._skipped.count = self._skipped.comments = self._skipped.filtered = 0
        self._skipped.first.clear()
        self._skipped.path = None

    def pass_comments(self, lines: int) -> None:
        """Count lines that are comments."""
        self._skipped.comments += lines

    def pass_rows(self, rows: int) -> None:
        """Count lines or rows for which --where does not hold."""
        self._skipped.filtered += rows

    def report(self, name: str, line: int, problem: LineProblem, text: bytes) -> None:
        """Raise InputError (fail) or list the line (skip). `line` counts from 1."""
        where = f"{name}:{line}:{problem.column}"
        if not self.skips:
            raise InputError(f"{where}: {problem.reason}. {problem.remedy}")
        self.add(where, problem.reason, text)

    def add(self, where: str, reason: str, text: bytes | str) -> None:
        """List what is skipped: a line or a row at `where`."""
        if self._path is not None:
            self._list(self._path, f"{where}\t{reason}\t{shown(text, SKIPPED_TEXT_BYTES)}\n")
        self._skipped.count += 1
        if len(self._skipped.first) < FIRST_MESSAGES:
            self._skipped.first.append(f"{where}: {reason}")

    def _list(self, path: Path, entry: str) -> None:
        if self._file is None:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
            with disk_errors(path):
                self._file = open(path, "w", encoding="utf-8")
            self._skipped.path = path
        with disk_errors(path, len(entry)):
            self._file.write(entry)

    def close(self) -> None:
        if self._file is not None and self._path is not None:
            file, self._file = self._file, None
            with disk_errors(self._path):
                file.close()
