"""Vertices that a user lists in a file: one a line (--nodes), or with a number each (--personalization, --initial).

UTF-8 text, compressed or not as `gstream convert` takes it, names and numbers as in its edge lists. Lines that begin
with # or % are comments; so is what follows a number, or a quoted name, a blank and one of those or //. A number stands
behind its vertex, after a tab, a comma or blanks: the last tab of a line if it has one, else its last comma. A vertex
may stand in quotes, with blanks and line feeds ("" is a quote inside). What is wrong in a file is named by its line.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import shown
from pagestore.inputs.decimals import nearest_double
from pagestore.inputs.foreign import check_encoding
from pagestore.inputs.signatures import INTEGER, NUMBER
from pagestore.inputs.streams import STDIN, ByteStream

if TYPE_CHECKING:
    from pagestore.store import Store

READ_BYTES = 1 << 20
NEWLINE = b"\n"
CHECK_BYTES = 1 << 12
_TWICE = "{} stands there for the second time. Keep one line a vertex."
BLANKS = " \t"
COMMENT = r"[ \t]+(?:[#%]|//).*"
QUOTED = re.compile(r'"((?:[^"]|"")*)"')
QUOTED_PAIR = re.compile(QUOTED.pattern + r"(?:[ \t]*,[ \t]*|[ \t]+)(.*)")
COMMENTED = re.compile(rf"({QUOTED.pattern}){COMMENT}", re.DOTALL)
COMMENTED_NUMBER = re.compile(rf"([+-]?[0-9]+()){COMMENT}")  # a number of a vertex; of names it may be a part
COMMENTED_PAIR = re.compile(rf"(.*[ \t,][+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?){COMMENT}", re.DOTALL)
MOST_SHOWN = 60  # characters of a line that is refused


def given_vertices(store: Store, given: Any, algorithm: str, word: str) -> np.ndarray:
    """Store IDs (u8[n]) of the vertices that are given, by user IDs or the path of a file with a vertex a line.

    Raises UsageError where none is given, or one is none of the graph's, InputError as `find_vertices`.
    """
    if given is None:
        raise UsageError(f"{algorithm}: no vertices were given. Pass --{word}s FILE, a vertex a line, or --{word} ID.")
    if isinstance(given, (str, os.PathLike)):
        if not os.path.lexists(given) and os.fspath(given) != STDIN:
            raise InputError(f"{given}: no such file. Pass --{word}s FILE, a vertex a line, or --{word} ID.")
        return find_vertices(store, given, word)
    one = getattr(given, "shape", None) == () or not isinstance(given, Iterable)
    ids: Any = [given] if one else given if isinstance(given, np.ndarray) else list(given)
    return store.lookup(ids, word)


def find_vertices(store: Store, path: str | os.PathLike, what: str) -> np.ndarray:
    """Store IDs (u8[n]) of the vertices of a file with one a line. Raises InputError naming the line."""
    lines: list[int] = []
    names: Any = []
    numbers = store.meta.id_kind != "strings"
    for number, line in _lines(path, "a vertex a line"):
        lines.append(number)
        if commented := COMMENTED.fullmatch(line) or (numbers and COMMENTED_NUMBER.fullmatch(line)):
            line = commented[1]
        names.append(_unquoted(quoted[1]) if (quoted := QUOTED.fullmatch(line)) else line)
    if numbers and all(map(INTEGER.match, names)):
        try:
            names = np.array(names, dtype=object).astype(np.int64)  # as str all would be as long as the longest
        except (ValueError, OverflowError):
            pass  # the look-up names the one that is none
    return store.lookup(names, what, InputError, lambda index: f"{path}:{lines[index]}: ")


def find_numbers(
    store: Store, given: Any, option: str, word: str, least: float = -math.inf
) -> tuple[np.ndarray, np.ndarray]:
    """(store IDs u8[n], float64[n]) of a mapping from user IDs to numbers, or of a file whose lines have both.

    word: what a number is called; least: what it must be at least. Raises UsageError (neither mapping nor file) and
    InputError (an unknown or repeated vertex; text that is no number; a number not finite or too small).
    """
    if isinstance(given, (str, os.PathLike)):
        vertices, texts, lines = _read_pairs(given, word)
    elif isinstance(given, Mapping) or (hasattr(given, "items") and hasattr(given, "index")):  # pandas' Series
        vertices, texts = map(list, zip(*given.items(), strict=True)) if len(given) else ([], [])
        lines = []
    else:
        raise UsageError(f"{option}: must be a mapping from vertices to numbers, or a file with such lines.")

    def where(index: int) -> str:
        return f"{given}:{lines[index]}: " if lines else f"{option}: "

    values = np.zeros(len(vertices))
    for index, text in enumerate(texts):
        values[index] = _number(where(index), vertices[index], text, word, least)
    found = store.lookup(vertices, f"{option} vertex", InputError, where)
    first = np.unique(found, return_index=True)[1]
    if len(first) < len(found):
        again = int(np.setdiff1d(np.arange(len(found)), first)[0])  # as 7 and 007
        raise InputError(f"{where(again)}{_TWICE.format(shown(str(vertices[again]), MOST_SHOWN))}")
    return found, values


def _number(where: str, vertex: Any, text: Any, word: str, least: float) -> float:
    try:
        number = _read(text) if isinstance(text, str) else float(text)
    except (TypeError, ValueError, OverflowError):  # integers past all doubles overflow
        number = math.nan
    if not (math.isfinite(number) and number >= least):
        limit = "" if least == -math.inf else f" of at least {least:g}"
        said = shown(str(vertex), MOST_SHOWN)
        raise InputError(f"{where}the {word} of {said} is {text!r}; it must be a finite number{limit}. Correct it.")
    return number


def _read(text: str) -> float:
    """A number as edge lists have weights: no `1_000`. NaN if `text` is no number."""
    return nearest_double(text) if NUMBER.match(text) else math.nan


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
        vertex = parts[0]
        if vertex in found:
            raise InputError(f"{path}:{number}: {_TWICE.format(shown(vertex, MOST_SHOWN))}")
        found[vertex] = parts[1].strip(BLANKS)
        lines.append(number)
    return list(found), list(found.values()), lines


def _parted(line: str) -> list[str]:
    """Vertex and number of a line; fewer where nothing parts them."""
    if commented := COMMENTED_PAIR.fullmatch(line):
        line = commented[1]
    if quoted := QUOTED_PAIR.fullmatch(line):
        return [_unquoted(quoted[1]), quoted[2]]
    return [part.strip(BLANKS) for part in line.rsplit("\t" if "\t" in line else "," if "," in line else None, 1)]


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
    check_encoding(str(path), data[:CHECK_BYTES])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"{path}:{data.count(NEWLINE, 0, error.start) + 1}"
        raise InputError(f"{place}: is not UTF-8 text; the file holds {holds}. Convert it to UTF-8.") from None
    for number, line in enumerate(text.split("\n"), 1) if '"' not in text else _quoted_lines(data):
        said = line.strip(BLANKS + "\r")
        if said and not said.startswith(("#", "%")):
            yield number, said


def _quoted_lines(data: bytes) -> Iterator[tuple[int, str]]:
    """(number, text) of the lines of UTF-8 text, some of which have line feeds in quotes."""
    from pagestore.inputs.quotes import ANY, HIDDEN, find_breaks

    cut = np.frombuffer(data, np.uint8).copy()
    cut[find_breaks(cut, len(cut), ANY, (ord("#"), ord("%")), True)[0]] = HIDDEN
    number, begin = 1, 0
    for piece in cut.tobytes().split(NEWLINE):
        line = data[begin : begin + len(piece)]
        yield number, line.decode()
        number, begin = number + 1 + line.count(NEWLINE), begin + len(piece) + 1
