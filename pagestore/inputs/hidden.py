"""Texts whose edges would be lost to a rule: lines that begin with # as names do, and a line 1 with nothing below it.

Both are refused, with what to type: nothing in the file says which reading is meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pagestore.errors import InputError
from pagestore.inputs.badlines import quoted, shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.columnnames import DIGITS, first_named, is_number, named_ends, typed_path
from pagestore.inputs.signatures import SEPARATORS
from pagestore.inputs.streams import ByteStream

PROSE_WORDS = 4  # in a field: no name of a vertex has so many
MOST_OF_EXCEL = 16  # bytes of its line
EXCEL = re.compile(rb'"?sep=(.)"?\s*\Z', re.IGNORECASE)
SEPARATED = re.compile(rb"[^\s,;|\t][^,;|\t]*[,;|\t]\s*[^\s]")


def take_separator(stream: ByteStream) -> str | None:
    """The separator that Excel's first line `sep=;` says; the line is taken from the stream. None: there is none."""
    line = stream.peek(MOST_OF_EXCEL).partition(b"\n")[0]
    found = EXCEL.match(line)
    if found is None or (said := found[1].decode("latin-1")) not in SEPARATORS:
        return None
    stream.read_line()
    return said


def refuse_excel(name: str, lines: Sequence[bytes], numbers: Sequence[int]) -> None:
    """InputError for Excel's line `sep=;` below comments, or with a separator that no edge list has. numbers: of these
    lines, from 1."""
    if lines and (found := EXCEL.match(lines[0])):
        path, parts = "FILE" if name == "stdin" else typed_path(name), shown(found[1].decode("utf-8", "replace"))
        raise InputError(
            f"{name}:{numbers[0]}:1: {quoted(lines[0])} tells Excel that {parts} parts the fields, and is no edge. "
            f"Leave the line out: tail -n +{numbers[0] + 1} {path} | gstream convert - STORE."
        )


def refuse_hidden_edges(name: str, comments: Sequence[bytes], separator: str, fields: int) -> None:
    """InputError for a comment that has a field for each column, and no blank behind its mark: #1001,bob,5 may be an
    edge."""
    for line in comments:
        if line[1:2].strip() and line.count(separator.encode()) == fields - 1:
            mark = chr(line[0])
            raise InputError(
                f"{name}: {quoted(line)} begins with {mark}, as comments do, and has {fields} fields, as edges here "
                f"have. Pass --comments none if {mark} is part of a name, --comments '#%' if the line is a comment."
            )


def may_hide_edges(
    comments: Sequence[bytes], above: int, rows: Sequence[Sequence[str]], separator: str, used: Sequence[int],
    names: bool,
) -> list[bytes]:  # fmt: skip
    """Of the comments of a text without a header, `above` of them above the first edge, those that may be edges.

    rows: the first edges; used: the columns of their ends; names: whether these are names. Beside numbers a comment is
    none, unless its other end has the mark as well. Above the edges prose is none, nor what names columns: known words,
    or words alone in the last line that are no vertices.
    """
    said = [[field.strip(' "') for field in line.decode("utf-8", "replace").split(separator)] for line in comments]
    vertices = {row[end] for row in rows for end in used if len(row) > end}
    shapes = {DIGITS.sub("0", vertex) for vertex in vertices if DIGITS.search(vertex)}
    found = []
    for at, (line, row) in enumerate(zip(comments, said, strict=True)):
        marked = [field[:1] == row[0][0] for field in row]
        if len(row) <= max(used) or not (names or sum(marked[end] for end in used) > 1):
            continue
        words = [row[0][1:], *row[1:]]
        ends = {words[end] for end in used}
        alike = ends & vertices or any(DIGITS.sub("0", end) in shapes for end in ends)
        header = at == above - 1 and not alike and not any(marked[1:]) and not any(map(is_number, words))
        prose = any(len(word.split()) >= PROSE_WORDS for word in words)
        if at >= above or not (header or prose or named_ends(words) or first_named(words)):
            found.append(line)
    return found


def refuse_lone_line(name: str, line: int, row: Sequence[str], separator: str, options: InputOptions) -> None:
    """InputError where the only line of data, `row`, has words that name a source and a target: it may be a header."""
    if options.header is None and not any(map(is_number, row)) and (named_ends(row) or first_named(row)):
        path = typed_path(name)
        raise InputError(
            f"{name}:{line}:1: {quoted(separator.join(row), 60)} is the only line of data, and may name columns or be "
            f"an edge. Pass --no-header if it is an edge: gstream convert {path} STORE --no-header. Under a header "
            f"alone there are no edges: with --header, --num-vertices N gives the vertices."
        )


def no_data(name: str, comments: Sequence[bytes]) -> InputError:
    """The error for a text without a line of data. comments: those that it has."""
    hidden = [line for line in comments if line[1:2].strip() and SEPARATED.match(line)]
    told = f", or --comments none if names begin with {chr(hidden[0][0])}, as in {quoted(hidden[0])}" if hidden else ""
    return InputError(
        f"{name}: holds no line of data (only a header, comments and blank lines); an input has at least one edge. "
        f"Pass --num-vertices N for a graph without edges{told}."
    )
