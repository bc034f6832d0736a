"""Vertices that a user lists in a file: one a line (--nodes), or with a number each (--personalization, --initial).

UTF-8 text, compressed or not as `gstream convert` takes it; lines that begin with # or % are comments. A number stands
behind its vertex, after a tab, a comma or blanks: the last tab of a line if it has one, else its last comma. A vertex
may stand in quotes ("" is a quote inside). Whatever is wrong in a file is named by its line.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import shown
from pagestore.inputs.streams import STDIN, ByteStream

if TYPE_CHECKING:
    from pagestore.store import Store

READ_BYTES = 1 << 20
NEWLINE = b"\n"
QUOTED = re.compile(r'"((?:[^"]|"")*)"')
QUOTED_PAIR = re.compile(QUOTED.pattern + r"(?:\s*,\s*|\s+)(.*)")
MOST_SHOWN = 60  # characters of a line that is refused


def find_vertices(store: Store, path: str | os.PathLike, what: str) -> np.ndarray:
    """Store IDs (u8[n]) of the vertices of a file with one a line. Raises InputError naming the line."""
    lines: list[int] = []
    names: Any = []
    for number, line in _lines(path, "a vertex a line"):
        lines.append(number)
        names.append(_unquoted(quoted[1]) if (quoted := QUOTED.fullmatch(line)) else line)
    if store.meta.id_kind != "strings":
        try:
            names = np.array(names, dtype=object).astype(np.int64)  # as str all would be as long as the longest
        except (ValueError, OverflowError):
            pass  # the look-up names the one that is no number
    return store.lookup(names, what, InputError, lambda index: f"{path}:{lines[index]}: ")


def find_numbers(
    store: Store, given: Any, option: str, word: str, least: float = -math.inf
) -> tuple[np.ndarray, np.ndarray]:
    """(store IDs u8[n], float64[n]) of a mapping from user IDs to numbers, or of the path of a file of lines of both.

    word: what a number is called; least: what it must be at least. Raises UsageError (neither of the two), InputError
    (a vertex that is none, or comes twice; a number that is none, or not finite).
    """
    if isinstance(given, (str, os.PathLike)):
        vertices, texts, lines = _read_pairs(given, word)
    elif isinstance(given, Mapping):
        vertices, texts = list(given), list(given.values())
        lines = []
    else:
        raise UsageError(f"{option}: must be a mapping from vertices to numbers, or a file with such lines.")

    def where(index: int) -> str:
        return f"{given}:{lines[index]}: " if lines else f"{option}: "

    values = np.zeros(len(vertices))
    for index, text in enumerate(texts):
        values[index] = _number(where(index), vertices[index], text, word, least)
    return store.lookup(vertices, f"{option} vertex", InputError, where), values


def _number(where: str, vertex: Any, text: Any, word: str, least: float) -> float:
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= least):
        limit = "" if least == -math.inf else f" of at least {least:g}"
        said = shown(str(vertex), MOST_SHOWN)
        raise InputError(f"{where}the {word} of {said} is {text!r}; it must be a finite number{limit}. Correct it.")
    return number


def _read_pairs(path: str | os.PathLike, word: str) -> tuple[Sequence[str], Sequence[str], list[int]]:
    """(vertices, numbers, both as text, the line of each) of a file. Raises InputError."""
    found: dict[str, str] = {}
    lines: list[int] = []
    for number, line in _lines(path, f"lines `vertex {word}`"):
        parts = _parted(line)
        if len(parts) < 2:
            raise InputError(
                f"{path}:{number}: `{shown(line, MOST_SHOWN)}` has one field; a line is `vertex {word}`. Fix the line."
            )
        vertex = parts[0].strip()
        if vertex in found:
            raise InputError(
                f"{path}:{number}: {shown(vertex, MOST_SHOWN)} stands there for the second time. "
                "Keep one line a vertex."
            )
        found[vertex] = parts[1].strip()
        lines.append(number)
    return list(found), list(found.values()), lines


def _parted(line: str) -> list[str]:
    """Vertex and number of a line; fewer where nothing parts them."""
    if quoted := QUOTED_PAIR.fullmatch(line):
        return [_unquoted(quoted[1]), quoted[2]]
    return line.rsplit("\t" if "\t" in line else "," if "," in line else None, 1)


def _unquoted(text: str) -> str:
    """What stands between quotes, with `""` for a quote."""
    return text.replace('""', '"')


def _lines(path: str | os.PathLike, holds: str) -> Iterator[tuple[int, str]]:
    """(number, text without blanks around it) of the lines of a file that say something."""
    if os.fspath(path) == STDIN:
        raise UsageError(f"{path}: standard input is for graphs. Name a file that holds {holds}.")
    stream = ByteStream(Path(path), may_be_empty=True)
    try:
        data = b"".join(iter(lambda: stream.read(READ_BYTES), b""))
    finally:
        stream.close()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"{path}:{data.count(NEWLINE, 0, error.start) + 1}"
        raise InputError(f"{place}: is not UTF-8 text; the file holds {holds}. Convert it to UTF-8.") from None
    for number, line in enumerate(text.split("\n"), 1):
        said = line.strip()
        if said and not said.startswith(("#", "%")):
            yield number, said
