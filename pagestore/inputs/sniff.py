"""How a text edge list is laid out, found from its first lines: header, separator, columns, numbers or names.

Nothing is guessed later: the layout found here holds for every line, and a line that breaks it is a bad line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pagestore.errors import InputError
from pagestore.inputs.badlines import LineProblem, quoted, shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.columnnames import (
    asked_ends,
    held_fields,
    is_header,
    is_number,
    may_be_header,
    named_ends,
    typed_path,
)
from pagestore.inputs.hidden import may_hide_edges, no_data, refuse_excel, refuse_hidden_edges, refuse_lone_line
from pagestore.inputs.idspelling import bare
from pagestore.inputs.judge import SLASHES, LineRules, split_fields
from pagestore.inputs.quotes import ANY, HIDDEN, find_breaks
from pagestore.inputs.said import Direction, Promise, promised_in, said_in_column, said_in_comments
from pagestore.inputs.shapes import Shape, refuse_shape
from pagestore.inputs.signatures import DECIMAL_COMMA, KONECT, MISSING, SEPARATORS
from pagestore.inputs.streams import ByteStream
from pagestore.inputs.usedcolumns import (
    find_ends,
    fitted,
    refuse_dictionaries,
    refuse_first_line,
    refuse_mixed,
    refuse_other_width,
    refuse_unnamed_weights,
    weight_column,
)

SAMPLE_BYTES, MOST_SAMPLE_BYTES = 1 << 16, 1 << 24
SAMPLE_LINES = 50  # data lines that decide
NAME_LINES = 4000  # in which names of line 1 are looked for again, as far as SAMPLE_BYTES go
NUMBERS_AHEAD = re.compile(rb"[\d.,;|\t +\-eE\"]*?\d\"?[,;|]?(?=[ \t])")


@dataclass(frozen=True)
class TextLayout:
    """What the first lines say: `skip_bytes`/`skip_lines` of the header come before the data.

    skip_comments: comment lines among those. empty: no line of data was found.
    doubtful_line: one that was taken for data and may be a header, 0 where none is. doubt: another one, in words.
    direction: what says whether the graph is directed. promise: counts that comments promise. rows: the first ones.
    """

    rules: LineRules
    skip_bytes: int
    skip_lines: int
    header: tuple[str, ...] | None
    skip_comments: int = 0
    empty: bool = False
    doubtful_line: int = 0
    direction: Direction = Direction()
    doubt: str = ""
    promise: Promise = Promise()
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class _Sample:
    """The first data lines: text, offset behind the line feed and number of lines up to and with it.

    comments: comment lines; those above the first data line are the first `above`. whole: nothing follows.
    parted: lines of data above the only comment that is a mark alone, 0 without one.
    """

    lines: list[bytes]
    ends: list[int]
    numbers: list[int]
    comments: list[bytes]
    above: int
    whole: bool
    parted: int

    @property
    def single(self) -> list[str]:
        """Words of comments of one word, where one comment alone stands above the data."""
        words = [line.split() for line in self.comments] if self.above == 1 else []
        return [found[1].decode("utf-8", "replace") for found in words if len(found) == 2]


def _take_sample(stream: ByteStream, comments: str, taken: int) -> _Sample:
    size = SAMPLE_BYTES
    while True:
        head = stream.peek(size)
        sample = _split_sample(head, len(head) < size, comments, number=taken)
        refuse_excel(stream.name, sample.lines, sample.numbers)
        if sample.lines or len(head) < size:
            return sample
        if size >= MOST_SAMPLE_BYTES:
            raise InputError(
                f"{stream.name}: has no line of data within its first {size >> 20} MiB; an edge list holds a source "
                f"and a target a line. Check the file, or name its format with --format."
            )
        size *= 4


def _first_lines(stream: ByteStream, marks: str) -> _Sample:
    """More lines than decide."""
    head = stream.peek(SAMPLE_BYTES)
    return _split_sample(head, len(head) < SAMPLE_BYTES, marks, NAME_LINES)


def _split_sample(head: bytes, whole: bool, marks: str, most: int = SAMPLE_LINES, number: int = 0) -> _Sample:
    lines: list[bytes] = []
    ends: list[int] = []
    numbers: list[int] = []
    comments: list[bytes] = []
    parted: list[int] = []
    above = at = 0
    cuttable = _breaks_hidden(head, whole, marks)
    while at < len(head) and len(lines) < most:
        end = cuttable.find(b"\n", at)
        if end < 0 and not whole:
            break
        end = len(head) if end < 0 else end
        line = head[at:end].strip(b" \t\r")
        # keep leading separators: a tab at the start of a TSV line is an empty field
        kept = head[at:end].rstrip(b"\r")
        at, number = min(end + 1, len(head)), number + 1 + kept.count(b"\n")
        if not line:
            continue
        if chr(line[0]) in marks:
            comments.append(line)
            above += not lines
            if len(line) == 1:
                parted.append(len(lines))
            continue
        lines.append(kept)
        ends.append(at)
        numbers.append(number - kept.count(b"\n"))
    return _Sample(
        lines, ends, numbers, comments, above, whole and at == len(head), parted[0] if len(parted) == 1 else 0
    )


def _breaks_hidden(head: bytes, whole: bool, marks: str) -> bytes:
    """`head` with blanks for the line feeds in quoted fields, whatever parts the fields."""
    if b'"' not in head:
        return head
    data = np.frombuffer(head, np.uint8).copy()
    first, last = [ord(mark) for mark in (marks[:1], marks[-1:])] if marks else (-1, -1)
    data[find_breaks(data, len(data), ANY, (first, last), whole)[0]] = HIDDEN
    return data.tobytes()


def _cut(line: bytes, marks: tuple[bytes, ...]) -> bytes:
    """`line` up to a comment behind an edge, as `judge.without_comment` without knowing the separator."""
    if numbers := NUMBERS_AHEAD.match(line):
        rest = line[numbers.end() :].lstrip()
        while not rest.startswith(marks) and (more := NUMBERS_AHEAD.match(line, numbers.end() + 1)):
            numbers, rest = more, line[more.end() :].lstrip()
        if rest.startswith(marks) and len(re.findall(rb"\d+", line[: numbers.end()])) > 1:
            return line[: numbers.end()]
    for at, word in enumerate(re.finditer(rb"[^ \t]+", line)):
        if at >= 2 and word[0].startswith(marks) and b'"' not in line[: word.start()]:
            return line[: word.start()].rstrip()
    return line


def _without_comments(
    name: str, sample: _Sample, forced: str | None, marks: str
) -> tuple[list[bytes], str | None, list[list[str]]]:
    """Lines, separator and rows of a sample: without comments behind edges where the lines agree better so."""
    found = find_separator(name, sample.lines, forced)
    rows = [_fields(line, found) for line in sample.lines]
    signs = tuple(mark.encode() for mark in (*marks, SLASHES) if not mark.isalpha()) if marks else ()
    cut = [_cut(line, signs) for line in sample.lines] if signs else sample.lines
    if cut == sample.lines:
        return sample.lines, found, rows
    same = len({len(row) for row in rows}) == 1
    lone = any(part.strip() in signs for line in sample.lines for part in re.findall(rb"[ \t]\S{1,2}(?=[ \t])", line))
    within = any(sign.decode() in field for sign in signs for row in rows for field in row[:2])
    if same and not (lone and (found is None or within)) and not (within and len(rows[0]) == 2 and found is not None):
        return sample.lines, found, rows
    found = find_separator(name, cut, forced)
    return cut, found, [_fields(line, found) for line in cut]


def _fields(line: bytes, separator: str | None) -> list[str]:
    try:
        return [value.decode("utf-8", "replace") for _, value in split_fields(line, separator)]
    except LineProblem:
        return []


def find_separator(name: str, lines: list[bytes], forced: str | None) -> str | None:
    """The separator that cuts most of `lines` into the same two or more fields; None is runs of blanks.

    Between equals the one that gives two numbers wins, then tabs; blanks come last. Where commas part decimals in
    fields that another one cuts, that one is taken. InputError where nothing tells commas, semicolons and bars apart.
    """
    if forced is not None:
        return forced
    scores: list[tuple[int, bool]] = []
    together = b"\n".join(lines)
    for candidate in (*SEPARATORS, None):
        if candidate is not None and candidate.encode() not in together:
            scores.append((0, False))  # no line has two fields
            continue
        rows = [_fields(line, candidate) for line in lines]
        counts = [len(row) for row in rows]
        usual = max(counts, key=counts.count)
        numeric = sum(len(row) >= 2 and is_number(row[0]) and is_number(row[1]) for row in rows) * 2 > len(rows)
        scores.append((counts.count(usual) if usual >= 2 else 0, numeric))
    alike = [one for one, score in zip((*SEPARATORS, None), scores, strict=True) if score == max(scores)]
    best = alike[0]
    if best == "\t":
        even = {line.count(b"\t") for line in lines}
        pure = len(even) == 1 and not any(b" " in line or b"\t" in line[-1:] for line in lines)
        if not pure and all(len(_fields(line, None)) == len(_fields(line, "\t")) for line in lines):
            return None  # no field holds a blank or is empty: let tabs and spaces mix
        return best
    rivals = [one for one in alike[1:] if one is not None]
    if best == "," and (other := next((one for one in alike[1:] if _decimals_are_cut(lines, one)), ",")) != ",":
        return other
    if rivals and max(scores)[0]:
        raise _two_separators(name, lines, best or ",", rivals[0])
    return best


def _decimals_are_cut(lines: list[bytes], separator: str | None) -> bool:
    """Whether all commas stand in numbers behind two other fields, as `separator` cuts them: a;b;3,5."""
    rows = [_fields(line, separator) for line in lines]
    commas = [(at, field) for row in rows for at, field in enumerate(row) if "," in field]
    return bool(commas) and all(at > 1 and DECIMAL_COMMA.match(field) for at, field in commas)


def _two_separators(name: str, lines: list[bytes], one: str, other: str) -> InputError:
    read = [" -> ".join(shown(field, 20) for field in _fields(lines[0], separator)[:2]) for separator in (one, other)]
    path = "FILE" if name == "stdin" else typed_path(name)
    return InputError(
        f"{name}: both {one} and {other} cut its lines into as many fields each: the first one would be {read[0]}, or "
        f"{read[1]}. Put tabs there, with tr {shlex.quote(one)} '\\t' < {path} | gstream convert - STORE, or with "
        f"tr {shlex.quote(other)} '\\t'."
    )


def sniff(stream: ByteStream, options: InputOptions, separator: str | None = None, taken: int = 0) -> TextLayout:
    """Find the layout of `stream` without consuming it. `separator` is forced for .tsv. taken: lines before.

    Raises InputError when there is no line of data, or its lines can't be edges, UsageError for options
    that name no column of it.
    """
    comments = options.comment_marks
    sample = _take_sample(stream, comments, taken)
    if not sample.lines:
        return _no_data(stream.name, options, sample)
    lines, found, rows = _without_comments(stream.name, sample, separator, comments)

    def more_rows() -> list[list[str]]:
        return [_fields(line, found) for line in _first_lines(stream, comments).lines]

    said = sample.comments[: sample.above]
    parted = found or ("\t" if all(b"\t" in line.strip() for line in lines) else "")  # else blanks part names
    skip = skip_lines = 0
    if is_header(rows, options, more_rows if parted else None):
        header, skip = tuple(rows[0]), sample.ends[0]
        skip_lines = sample.numbers[0] + sample.lines[0].count(b"\n")
        rows = rows[1:]
        if not rows:
            _refuse_hidden(stream, sample, options, found, [header])
            return _no_data(stream.name, options, sample, skip, skip_lines, header)
    else:
        last = sample.comments[-1] if sample.comments else b""
        header = tuple(_fields(last.lstrip(comments.encode() + b" \t"), found))
    counts = [len(row) for row in rows]
    fields = max(counts, key=counts.count)  # a first line that is short or long is a bad line, not the layout
    if skip_lines:
        header = fitted(header, rows, fields)
        _refuse_hidden(stream, sample, options, found, [rows[counts.index(fields)]])
    if skip_lines and len(header) != fields:
        said = [*said, sample.lines[0]]  # words above the edges, as good as a comment
    direction = said_in_comments(said)
    first_row = 1 if skip_lines else 0
    shape = Shape(
        stream.name, lines, sample.numbers, header if skip_lines else (), first_row, rows, found, sample.whole,
        sample.single, max(0, sample.parted - first_row),
    )  # fmt: skip
    doubt = refuse_shape(shape, options)
    if fields < 2:
        raise _no_edge(stream.name, sample.numbers[first_row], sample.lines[first_row])
    above = header if skip_lines and len(header) != fields else ()
    header = header if len(header) == fields else ()
    first = rows[counts.index(fields)]
    used = _ends(stream.name, sample, options, found, header, above, skip_lines > 0, rows, first, said)
    strings = bool(options.string_ids) or not _are_numbers(rows, fields, used)
    told = rows if fields != 3 or held_fields(rows, 2) else more_rows()[first_row:]  # of a weight that first lines lack
    weight = weight_column(stream.name, told, first, header, skip_lines > 0, used, options,
                           (sample.numbers[at := first_row + counts.index(fields)], lines[at], found))  # fmt: skip
    if skip_lines and header and options.directed is None:
        columns = used if weight is None else (*used, weight)
        direction = said_in_column(stream.name, header, rows, columns, sample.numbers[1]) or direction
    rules = LineRules(
        fields, found, *used, weight, comments=comments, strings=strings, due=_due(fields, weight),
        kind=direction.column, kind_words=direction.words, decimal=options.decimal,
        header=sample.lines[0] if skip_lines else b"",
    )  # fmt: skip
    unsure = strings and not skip_lines and options.header is None
    if not skip_lines:
        _refuse_hidden(stream, sample, options, found, rows, used, strings)
    if unsure:
        refuse_first_line(stream.name, sample.numbers[0], more_rows() if parted else [], used, parted)
    return TextLayout(
        rules, skip, skip_lines, header or None, sample.above if skip_lines else 0,
        doubtful_line=sample.numbers[0] if unsure and may_be_header(rows, options) else 0,
        direction=direction, doubt=doubt or direction.doubt, promise=promised_in(said), rows=rows,
    )  # fmt: skip


def _ends(
    name: str, sample: _Sample, options: InputOptions, separator: str | None, header: tuple[str, ...],
    above: tuple[str, ...], headed: bool, rows: list[list[str]], first: list[str], said: list[bytes],
) -> tuple[int, int]:  # fmt: skip
    """Columns of an edge's ends, asked for or found. first: a row of usual width; above: a header of another one."""
    if options.weights and options.weight_column is None:
        refuse_dictionaries(name, sample.lines, sample.numbers, separator)
    fields = len(first)
    asked = asked_ends(name, options, header, fields, above or first, bool(above))
    konect, weighed = any(map(KONECT.match, said)), options.third_weighs or options.weight_column is not None
    if asked is not None:
        if options.weights and not (weighed or konect or headed or named_ends(header)):
            refuse_unnamed_weights(name, rows, asked)
        return asked
    refuse_other_width(name, above, rows, fields)
    found = find_ends(name, header, headed, rows, konect, weighed)
    if fields == 3 and not konect:
        refuse_mixed(name, header, headed, [row for row in rows if len(row) == fields], weighed)
    return found


def _due(fields: int, weight: int | None) -> str:
    """What a line holds, for messages about those that don't."""
    if weight == 2 and fields == 3:
        return "source, target and weight"
    return "source and target" if fields == 2 else "as many as most lines have"


def _refuse_hidden(
    stream: ByteStream, sample: _Sample, options: InputOptions, separator: str | None,
    rows: Sequence[Sequence[str]], used: tuple[int, int] | None = None, names: bool = True,
) -> None:  # fmt: skip
    """InputError for comments among the first lines that may be edges, and for a line 1 alone that may be a header.

    used: the columns of the ends, names: whether these are names; None below a header.
    """
    marks, name = options.comment_marks, stream.name
    if separator is None:
        return
    if options.comments is None and any(mark.encode() in stream.peek(SAMPLE_BYTES) for mark in marks):
        comments = _first_lines(stream, marks).comments
        hidden = comments[sample.above :]
        if used is not None:
            hidden = may_hide_edges(comments, sample.above, rows, separator, used, names)
        widths = [len(row) for row in rows]
        refuse_hidden_edges(name, hidden, separator, max(widths, key=widths.count))
    if used is not None and len(rows) == 1 and sample.whole:
        refuse_lone_line(name, sample.numbers[0], rows[0], separator, options)


def _are_numbers(rows: list[list[str]], fields: int, used: tuple[int, int]) -> bool:
    """Whether the ends of the first edge are numbers, beside characters that nobody sees: then all are. A word for a
    missing one does not say."""
    edges = [[row[column] for column in used] for row in rows if len(row) == fields]
    first = next((ends for ends in edges if not any(end.lower() in ("", *MISSING) for end in ends)), edges[0])
    return all(is_number(bare(end)) for end in first)


def _no_edge(name: str, line: int, text: bytes) -> InputError:
    return InputError(
        f"{name}:{line}:1: {quoted(text)} is no edge; a line holds a source and a target. Check the separator, or "
        f"name the format with --format."
    )


def _no_data(
    name: str, options: InputOptions, sample: _Sample, skip: int = 0, skip_lines: int = 0,
    header: tuple[str, ...] | None = None,
) -> TextLayout:  # fmt: skip
    """The layout of a text that ends behind its header; InputError unless --num-vertices gives vertices."""
    if options.num_vertices is None:
        raise no_data(name, sample.comments if options.comments is None else [])
    rules = LineRules(fields=2, comments=options.comment_marks, strings=bool(options.string_ids))
    return TextLayout(rules, skip, skip_lines, header, sample.above if skip_lines else 0, empty=True)
