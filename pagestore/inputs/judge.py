"""One line, read slowly and exactly: what it means as an edge, or what is wrong with it and where.

This is the authority on the grammar of edge lines; the compiled kernels (lines.py) only take lines that it would
take. Fields may be quoted ("" is a quote inside); numbers may carry a sign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from pagestore.inputs.badlines import SKIP_REMEDY, LineProblem, quoted, shown
from pagestore.inputs.base import MAX_ID
from pagestore.inputs.decimals import nearest_double, without_marks
from pagestore.inputs.idspelling import meant
from pagestore.inputs.lines import RULES, Rule
from pagestore.inputs.signatures import DECIMAL_COMMA, INTEGER, NOT_FINITE, NUMBER, UTF8_MARK

BLANK_FIELD = re.compile(rb"[^ \t]+")
SLASHES = "//"  # begin a comment behind an edge, beside the marks that begin lines of comments
ID_LIMIT = "IDs run from 0 to 2^63-1"
WORD_REMEDY = "Fix the line, pass --string-ids to take all IDs as text, or pass --bad-lines skip."
CODE_REMEDY = "Convert the file: iconv -f LATIN1 -t UTF-8, with its own encoding; or pass --bad-lines skip."
KIND_REMEDY = "Write each undirected edge in both directions and pass --directed; or pass --undirected."
NUMBER_AND_BLANK = re.compile(rb"([+-]?[0-9.]+)[ \t]+")
COMMA = "Pass --decimal , if commas begin decimals, --decimal . if they part thousands"
APOSTROPHE = "Pass --decimal . if points begin decimals, --decimal , if commas do"
PADDING_REMEDY = "Pass --string-ids if they are two, --number-ids if one."
OTHERWISE = "; or pass --no-weights, or --bad-lines skip."
JOINED_REMEDY = "Name the files one by one, or pass --bad-lines skip."
WEIGHT_REMEDY = "Fix the line, pass --no-weights, or pass --bad-lines skip."


@dataclass(frozen=True)
class LineRules:
    """How lines of one input are read. `separator` None is any run of blanks; columns count from 0.

    `lead` is the letter a line begins with (DIMACS). `low`..`high_*` bound the IDs. `strings`: IDs are text.
    `integer_weights` is (least, greatest, type name) when the format declares an integer type.
    `passed`: letters of lines that say nothing about edges (DIMACS). `kind`: the column that says of each edge whether
    it is directed, which holds one of `kind_words`.
    `decimal`: the mark of decimals in weights, where an option says so; None: a point, and no mark of thousands.
    `header`: the line that names the columns, which files that were joined hold again.
    `width`: digits that IDs with zeros ahead have, and others at least; 0: none has zeros ahead; -1: any have.
    `loops` False refuses edges from a vertex to itself, as `loop_reason` says. `due`: what a line holds, in words.
    """

    fields: int
    separator: str | None = None
    source: int = 0
    target: int = 1
    weight: int | None = None
    lead: str = ""
    comments: str = "#%"
    low: int = 0
    high_source: int = MAX_ID
    high_target: int = MAX_ID
    limit: str = ID_LIMIT
    strings: bool = False
    integer_weights: tuple[int, int, str] | None = None
    due: str = "source and target"
    loops: bool = True
    loop_reason: str = ""
    passed: str = ""
    kind: int | None = None
    kind_words: tuple[str, ...] = ()
    decimal: str | None = None
    header: bytes = b""
    width: int = -1

    def array(self) -> np.ndarray:
        """The rules as the kernels of lines.py take them: int64[RULES]."""
        rules = np.zeros(RULES, dtype=np.int64)
        rules[Rule.SEPARATOR] = ord(self.separator) if self.separator else 0
        rules[Rule.FIELDS] = self.fields
        rules[Rule.SOURCE], rules[Rule.TARGET] = self.source, self.target
        rules[Rule.WEIGHT] = -1 if self.weight is None else self.weight
        rules[Rule.LEAD] = ord(self.lead) if self.lead else 0
        marks = [ord(mark) for mark in self.comments] or [-1]  # -1 is no byte
        rules[Rule.COMMENT], rules[Rule.COMMENT2] = marks[0], marks[-1]
        rules[Rule.WIDTH] = self.width
        rules[Rule.LOW], rules[Rule.HIGH_SOURCE], rules[Rule.HIGH_TARGET] = self.bounds
        return rules

    @property
    def bounds(self) -> tuple[int, int, int]:
        """`low`, `high_source`, `high_target` for kernels, which compare without signs: of no IDs at all, 1, 0, 0."""
        empty = min(self.high_source, self.high_target) < self.low
        return (1, 0, 0) if empty else (self.low, self.high_source, self.high_target)


@dataclass(frozen=True)
class Edge:
    source: int | str
    target: int | str
    weight: float | None


def split_fields(line: bytes, separator: str | None) -> list[tuple[int, bytes]]:
    """Fields of a line with their byte offsets; quotes removed, blanks around fields dropped."""
    sep = separator.encode() if separator else b""
    blanks = b" " if separator == "\t" else b" \t"
    return _split_quoted(line, sep, blanks) if b'"' in line else _split_plain(line, sep, blanks)


def _split_plain(line: bytes, sep: bytes, blanks: bytes) -> list[tuple[int, bytes]]:
    """`split_fields` of a line without quotes, which most are, in two thirds of the time."""
    if not sep:
        return [(match.start(), match.group()) for match in BLANK_FIELD.finditer(line)]
    fields: list[tuple[int, bytes]] = []
    at = 0
    for part in line.split(sep):
        value = part.lstrip(blanks)
        fields.append((at + len(part) - len(value), value.rstrip(blanks)))
        at += len(part) + len(sep)
    return fields


def _split_quoted(line: bytes, sep: bytes, blanks: bytes) -> list[tuple[int, bytes]]:
    """`split_fields` of any line, byte by byte."""
    fields: list[tuple[int, bytes]] = []
    at, size = 0, len(line)
    while True:
        while at < size and line[at : at + 1] in (b" ", b"\t") and line[at : at + 1] in blanks:
            at += 1
        if at == size and not sep:
            return fields
        if line[at : at + 1] == b'"':
            begin = at
            value, at = _quoted(line, at)
            fields.append((begin, value))
            quote_end = at
            while at < size and line[at] in blanks:
                at += 1
            parted = at > quote_end or at == size
            if (at < size and line[at : at + 1] != sep) if sep else not parted:
                raise LineProblem(at + 1, f"text {quoted(line[at:])} follows a quoted field")
        elif sep:
            end = line.find(sep, at)
            end = size if end < 0 else end
            fields.append((at, line[at:end].rstrip(blanks)))
            at = end
        else:
            match = BLANK_FIELD.match(line, at)
            assert match is not None
            fields.append((at, match.group()))
            at = match.end()
        if sep:
            if at >= size:
                return fields
            at += 1


def _quoted(line: bytes, begin: int) -> tuple[bytes, int]:
    """Content of the quoted field at line[begin] and the offset behind it."""
    parts, at = [], begin + 1
    while True:
        end = line.find(b'"', at)
        if end < 0:
            raise LineProblem(begin + 1, f"the quote before {quoted(line[begin + 1 :])} is not closed on its line")
        parts.append(line[at:end])
        if line[end + 1 : end + 2] != b'"':
            return b'"'.join(parts), end + 1
        at = end + 2


def parse_vertex(text: str, column: int, rules: LineRules, high: int) -> int:
    """A vertex ID from its field; LineProblem says why it is none."""
    if INTEGER.match(text):
        value = int(text) if len(text) < 4000 else MAX_ID + 1
        if rules.low <= value <= high:
            refuse_padding(text, value, column, rules.width)
            return value
        if value < 0:
            raise LineProblem(column, f"vertex ID {shown(text)} is negative; {rules.limit}")
        past = "is past the limit" if value > high else "is below the limit"
        remedy = WORD_REMEDY if value > MAX_ID else SKIP_REMEDY
        raise LineProblem(column, f"vertex ID {shown(text)} {past}; {rules.limit}", remedy)
    if not text:
        raise LineProblem(column, f"a vertex ID is missing; {rules.limit}")
    if (number := meant(text)) is not None:
        remedy = SKIP_REMEDY.replace("Fix the line", f"Write {number}")
        if rules.limit == ID_LIMIT:  # of text, not of a format with a header
            remedy = WORD_REMEDY.replace("Fix the line", f"Write {number}")
        reason = f"vertex ID {shown(text)} is not written in digits, as IDs are, and would be {number}; {rules.limit}"
        raise LineProblem(column, reason, remedy)
    if NUMBER.match(text) or NOT_FINITE.match(text):
        raise LineProblem(column, f"vertex ID {shown(text)} is not an integer; {rules.limit}")
    raise LineProblem(column, f"vertex ID {quoted(text)} is not a number; {rules.limit}", WORD_REMEDY)


def refuse_padding(text: str, value: int, column: int, width: int) -> None:
    """LineProblem for an ID with zeros ahead where others have none, or other widths: 007 and 7 may be two IDs."""
    digits = text.lstrip("+-")
    padded = digits[0] == "0" and len(digits) > 1
    if width < 0 or (len(digits) == width if padded else len(digits) >= width or width == 0):
        return
    if padded:
        others = f"{width} digits" if width else "no zeros ahead"
        what = f"vertex ID {shown(text)} is {value} as a number, and other IDs have {others}"
    else:
        what = f"vertex ID {shown(text)} has fewer digits than others, which have zeros ahead and {width} digits"
    twin = str(value).zfill(max(width, len(digits)))
    raise LineProblem(column, f"{what}; {value} and {twin} may be two vertices or one", PADDING_REMEDY)


def parse_name(text: str, column: int) -> str:
    """A vertex name from its field."""
    if not text:
        raise LineProblem(column, "a vertex name is missing; names have at least one character")
    return text


def marks(text: str) -> tuple[str, str]:
    """(what is wrong with a weight that DECIMAL_COMMA matches, the options that read it)."""
    if "," in text:
        return f"weight {shown(text)} is written with a comma; decimals take a point", COMMA
    return f"weight {shown(text)} is written with an apostrophe, which is of no number without --decimal", APOSTROPHE


def parse_weight(text: str, column: int, rules: LineRules) -> float:
    """A finite weight from its field."""
    if rules.decimal is not None and text and not NOT_FINITE.match(text):
        given, text = text, without_marks(text, rules.decimal) or ""
        if not text:
            other = "," if rules.decimal == "." else "."
            what = f"weight {quoted(given)} is not a number whose decimals begin with {rules.decimal!r}"
            raise LineProblem(column, what, f"Pass --decimal {other} if they begin with {other!r}" + OTHERWISE)
    if DECIMAL_COMMA.match(text):
        what, remedy = marks(text)
        raise LineProblem(column, what, remedy + OTHERWISE)
    if NOT_FINITE.match(text):
        raise LineProblem(column, f"weight {text} is not finite; weights are finite numbers", WEIGHT_REMEDY)
    if not text:
        raise LineProblem(column, "the weight is missing; weights are finite numbers", WEIGHT_REMEDY)
    if not NUMBER.match(text):
        raise LineProblem(column, f"weight {quoted(text)} is not a number; weights are finite numbers", WEIGHT_REMEDY)
    value = nearest_double(text)
    if value in (float("inf"), float("-inf")):
        raise LineProblem(column, f"weight {shown(text)} is past float64 (1.8e308); weights are finite", WEIGHT_REMEDY)
    if rules.integer_weights is not None:
        least, greatest, name = rules.integer_weights
        if not value.is_integer():
            raise LineProblem(column, f"weight {shown(text)} is not an integer; the header says {name}")
        if not least <= value <= greatest:
            raise LineProblem(
                column, f"weight {shown(text)} does not fit {name}; the header allows {least} to {greatest}"
            )
    return value


def _not_text(text: bytes) -> LineProblem | None:
    """What is wrong with bytes that are not UTF-8."""
    if text.isascii():
        return None
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return LineProblem(error.start + 1, f"byte 0x{text[error.start]:02x} is not UTF-8; text is UTF-8", CODE_REMEDY)
    return None


def without_comment(line: bytes, separator: str | None, comments: str) -> bytes:
    """`line` up to a comment behind its edge, which a mark of `comments` or // begins.

    The mark begins a field from the third on, or stands behind a number and a blank.
    """
    marks = tuple(mark.encode() for mark in comments if not mark.isalpha())
    if not marks or not any(mark in line for mark in (*marks, SLASHES.encode())):
        return line
    marks += (SLASHES.encode(),)
    try:
        fields = split_fields(line, separator)
    except LineProblem:
        begins = [match.start() for match in BLANK_FIELD.finditer(line)][2:]
        begin = next((at for at in begins if line[at:].startswith(marks)), len(line))
        return line[:begin].rstrip() if separator is None and b'"' not in line[:begin] else line
    for at, (begin, value) in enumerate(fields):
        if at >= 2 and line[begin:].startswith(marks):
            return line[:begin].rstrip(b" \t" + (separator or "").encode())
        if at >= 1 and separator and (found := NUMBER_AND_BLANK.match(value)):
            if value[found.end() :].startswith(marks) and not line[begin:].startswith(b'"'):
                return line[: begin + len(found[1])]
    return line


def judge(line: bytes, rules: LineRules) -> Edge | None:
    """Read one line (without its line feed): an Edge, or None for a comment or blank line; raises LineProblem.

    A comment behind an edge is left out where the line is no edge with it.
    """
    line = line.rstrip(b"\r") if line.endswith(b"\r") else line
    try:
        return _judge_all(line, rules)
    except LineProblem:
        cut = without_comment(line, rules.separator, rules.comments)
        if cut == line:
            raise
        try:
            return _judge_all(cut, rules)
        except LineProblem:
            pass
        raise


def _judge_all(line: bytes, rules: LineRules) -> Edge | None:
    """`judge` of all that a line holds."""
    stripped = line.lstrip(b" \t")
    if not stripped or chr(stripped[0]) in rules.comments:
        return None
    if (nul := line.find(b"\0")) >= 0:
        raise LineProblem(nul + 1, "a NUL byte; text holds none. Is this a binary file or UTF-16", SKIP_REMEDY)
    if line == rules.header or line.startswith(UTF8_MARK):
        what = "the header again" if line == rules.header else "a byte order mark within the text"
        raise LineProblem(1, f"{what}: files were joined", JOINED_REMEDY)
    not_text = _not_text(line)
    if not_text and rules.strings:
        raise not_text
    fields = split_fields(line, rules.separator)
    if rules.lead:
        if rules.passed and fields[0][1].decode("utf-8", "replace") in {*rules.passed}:
            return None
        if fields[0][1] != rules.lead.encode():
            raise LineProblem(
                fields[0][0] + 1, f"a line begins with {quoted(fields[0][1])}; edge lines begin with {rules.lead!r}"
            )
        fields = fields[1:]
    if len(fields) != rules.fields:
        at = len(line) if len(fields) < rules.fields else fields[rules.fields][0]
        raise LineProblem(
            at + 1,
            f"{len(fields)} field{'s' * (len(fields) != 1)} in {quoted(line)}; {rules.fields} are due: {rules.due}",
        )
    used = [column for column in (rules.source, rules.target, rules.weight) if column is not None]
    if not_text and any(_not_text(fields[column][1]) for column in used):
        raise not_text  # columns that nobody reads may hold anything, as the kernels have it
    if rules.kind is not None and fields[rules.kind][1].decode("utf-8", "replace").lower() not in rules.kind_words:
        at, value = fields[rules.kind]
        words = " or ".join(rules.kind_words)
        raise LineProblem(at + 1, f"{quoted(value)} stands where lines above have {words}", KIND_REMEDY)
    texts = [(begin + 1, value.decode("utf-8", "replace")) for begin, value in fields]
    weight = None if rules.weight is None else parse_weight(texts[rules.weight][1], texts[rules.weight][0], rules)
    (source_at, source), (target_at, target) = texts[rules.source], texts[rules.target]
    if rules.strings:
        return Edge(parse_name(source, source_at), parse_name(target, target_at), weight)
    edge = Edge(
        parse_vertex(source, source_at, rules, rules.high_source),
        parse_vertex(target, target_at, rules, rules.high_target),
        weight,
    )
    if not rules.loops and edge.source == edge.target:
        raise LineProblem(source_at, rules.loop_reason.format(edge.source))
    return edge
