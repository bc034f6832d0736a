"""Lines that look like edges and are something else: arrows, matrices, tables of vertices, relations, other comments.

Each check sees the first lines of a text and refuses it with what it is and the option or the command that helps, or
returns a doubt: what is to be said beside the answer.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from pagestore.errors import InputError
from pagestore.inputs.badlines import quoted, shown
from pagestore.inputs.base import COMMENT_MARKS, InputOptions
from pagestore.inputs.columnnames import is_number, named_ends
from pagestore.inputs.headerwords import column_name, named
from pagestore.inputs.idspelling import meant
from pagestore.inputs.signatures import (
    ARROW,
    COUNT,
    INNER_ARROW,
    INTEGER,
    KEYED,
    NEO4J_IDS,
    OTHER_COMMENTS,
    TARGET_NAMES,
    THOUSANDS,
    VERTEX_TABLE,
    WEIGHTED_NEIGHBOUR,
)

LEAST_MATRIX, SURE_MATRIX = 3, 4  # rows of a matrix; from how many on zeros on the diagonal are enough
WIDE_MATRIX = 8  # columns of zeros and ones alone
LEAST_ROWS = 8  # that count up: of a few any may
LEAST_LISTS = 2  # vertices of LGL's lists
BLANK_IN_NUMBERS = re.compile(r"[+-]?[0-9.]+( +[+-]?[0-9.]+)+\Z")
THIRD_COLUMN = "pass --source-column 1 --target-column 3"
OVERRIDE = "If the lines are edges, pass --source-column 1 --target-column 2."


class Shape(NamedTuple):
    """First lines: `lines` and their numbers, the rows of fields behind a header (which may be that of a comment).

    first_row: its line among `lines`. whole: nothing follows. single: comments of one word among the lines.
    parted: rows above the only comment that is a mark alone, 0 without one.
    """

    name: str
    lines: Sequence[bytes]
    numbers: Sequence[int]
    header: Sequence[str]
    first_row: int
    rows: Sequence[Sequence[str]]
    separator: str | None
    whole: bool
    single: Sequence[str]
    parted: int

    @property
    def file(self) -> str:
        """The name as commands take it."""
        return "-" if self.name == "stdin" else shlex.quote(self.name)

    def refusal(self, what: str, remedy: str, override: str = OVERRIDE) -> InputError:
        """override: what to pass where the check is wrong; left out where the remedy names columns."""
        line = self.numbers[min(self.first_row, len(self.numbers) - 1)]
        override = "" if "--source-column" in remedy else f" {override}"
        return InputError(f"{self.name}:{line}:1: {what}. {remedy}{override}")


def refuse_shape(shape: Shape, options: InputOptions) -> str:
    """InputError for lines that are no edges, else a doubt or ""."""
    if options.comments is None:
        _refuse_comments(shape)
    if options.source_column is not None:
        return ""
    _refuse_arrows(shape)
    _refuse_fields(shape)
    if not options.string_ids:
        _refuse_thousands(shape)
        _refuse_blanks(shape)
        _refuse_matrix(shape)
    if options.header is not False:
        _refuse_tables(shape)
    _refuse_lgl(shape)
    _refuse_tgf(shape)
    return _relation(shape) or _counts(shape) or _single_quotes(shape) or _numbered(shape)


def _refuse_comments(shape: Shape) -> None:
    if shape.first_row >= len(shape.lines):
        return
    line = shape.lines[shape.first_row].lstrip().decode("utf-8", "replace")
    mark = next((mark for mark in OTHER_COMMENTS if line.startswith(mark)), None)
    if mark is None or mark[0] == shape.separator:
        return
    words = len(shape.rows[0]) if shape.rows else 0
    usual = [len(row) for row in shape.rows[1:]]
    if mark not in ("//", "/*") and usual and words == max(usual, key=usual.count):
        return  # an edge of a vertex that is called so
    remedy = f"Leave such lines out: grep -v '^{mark.strip()}' {shape.file} > NEW."
    if COMMENT_MARKS.fullmatch(mark[0]) and not mark[0].isalpha() and mark != "/*":
        remedy = f"If it is a comment, pass --comments '{mark[0]}#'."
    raise shape.refusal(
        f"{quoted(line)} begins with {mark.strip()}, which begins no comment here", remedy,
        "If it is an edge, pass --comments '#%'.",
    )  # fmt: skip


def _refuse_arrows(shape: Shape) -> None:
    rows = shape.rows
    if not rows:
        return
    if all(len(row) > 2 and ARROW.match(row[1]) for row in rows):
        found = sorted({row[1] for row in rows})
        what = f"column 2 holds {' and '.join(map(shown, found))} between two vertices"
        if len(found) == 1 and not found[0].startswith("<"):
            remedy = f"{THIRD_COLUMN[0].upper()}{THIRD_COLUMN[1:]}."
            if found[0] in ("--", "<->", "---"):
                remedy = f"{remedy[:-1]} --undirected."
        else:
            remedy = "Write a source and a target a line, in the order of the arrow."
        raise shape.refusal(what, remedy)
    joined = [INNER_ARROW.search(field) for row in rows for field in row[:1] or [""]]
    parted = [INNER_ARROW.match(row[1]) if len(row) > 1 else None for row in rows]
    for arrows in (joined, parted):
        if all(arrows):
            arrow = arrows[0][0] if arrows[0] else ""
            raise shape.refusal(
                f"an arrow, {shown(arrow)}, stands between two vertices",
                f"Make an edge list of it first: sed 's/{arrow}/ /' {shape.file} > edges.txt.",
            )


def _refuse_fields(shape: Shape) -> None:
    rows = shape.rows
    if not rows or not all(len(row) > 1 for row in rows):
        return
    file = shape.file
    if all(KEYED.match(row[0]) and KEYED.match(row[1]) for row in rows):
        command = f"sed -E 's/[A-Za-z_][A-Za-z_0-9]*=//g' {file} > edges.txt"
        raise shape.refusal(
            f"its fields are keys and values, as {shown(rows[0][0])}", f"Leave the keys out: {command}."
        )
    if all(row[0].endswith(":") and len(row[0]) > 1 for row in rows):
        raise shape.refusal(
            f"lists of neighbours behind a colon, as {shown(rows[0][0])}",
            f"Make adjacency lists of it first: sed 's/:/ /; s/,/ /g' {file} > lists.adj.",
        )
    lists = [list(filter(None, row[1:])) for row in rows]
    if any(lists) and all(
        is_number(row[0]) and all(map(WEIGHTED_NEIGHBOUR.match, more)) for row, more in zip(rows, lists, strict=True)
    ):
        command = "awk '{for (i = 2; i <= NF; i++) {split($i, e, \":\"); print $1, e[1], e[2]}}'"
        raise shape.refusal(
            f"lists of neighbours with weights, as {shown(next(filter(None, lists))[0])}",
            f"Make an edge list of it first: {command} {file} > edges.txt.",
        )


def _refuse_thousands(shape: Shape) -> None:
    """1,000 2,000: the comma parts no fields, or else 1 -> '000 2' would be an edge. Nor are "1,000", "1_000" and other
    scripts' digits names."""
    words = [line.decode("utf-8", "replace").split() for line in shape.lines[shape.first_row :]]
    for rows in (words, shape.rows):
        ends = [word for row in rows for word in row[:2]]
        first = next((word for word in ends if THOUSANDS.match(word) or _is_other_digits(word)), None)
        if first is None or not all(len(row) > 1 for row in rows):
            continue
        if not all(THOUSANDS.match(word) or INTEGER.match(word) or _is_other_digits(word) for word in ends):
            continue
        file = shape.file
        if _is_other_digits(first):
            digits = "".join(chr(ord(first[0]) - unicodedata.decimal(first[0]) + number) for number in range(10))
            what, command = "written in digits of another script", f"sed 'y/{digits}/0123456789/' {file}"
        else:
            mark = next(letter for letter in first if not letter.isdigit())
            what = "written with a mark between thousands"
            command = f"sed -E ':a; s/([0-9]){mark}([0-9]{{3}})/\\1\\2/; ta' {file}"
            command = f"tr -d {shlex.quote(mark)} < {file}" if mark == "'" else command
        raise shape.refusal(
            f"{shown(first)} is {what}; IDs are digits alone, and it would be {meant(first)}",
            f"Convert them: {command} > NEW.",
            "If they are names, pass --string-ids.",
        )


def _refuse_blanks(shape: Shape) -> None:
    """1 2,5: blanks and commas part the fields, and '1 2' would be a vertex."""
    ends = [word for row in shape.rows for word in row[:2]]
    parted = next((word for word in ends if BLANK_IN_NUMBERS.match(word) and not THOUSANDS.match(word)), None)
    if parted is not None and all(BLANK_IN_NUMBERS.match(word) or is_number(word) for word in ends):
        mark = shown(shape.separator or "")  # of a tab, \t, as tr takes it
        raise shape.refusal(
            f"'{shown(parted)}' holds two numbers: blanks part them, and '{mark}' other ones",
            f"Part all alike: tr -s ' {mark}' ' ' < {shape.file} | gstream convert - STORE.",
            "If they are names, pass --string-ids.",
        )


def _is_other_digits(word: str) -> bool:
    return word.isdecimal() and not word.isascii()


def _refuse_matrix(shape: Shape) -> None:
    """InputError for a dense adjacency matrix, with labels or without."""
    rows, header = shape.rows, [word.strip() for word in shape.header]
    if not header and len(rows) > 1 and not all(map(is_number, filter(None, rows[0]))):
        header, rows = [word.strip() for word in rows[0]], rows[1:]
    width = len(rows[0]) if rows else 0
    if width < LEAST_MATRIX or any(len(row) != width for row in rows):
        return
    labels = [row[0] for row in rows]
    labelled = [header[1:]] if len(header) == width else [header] if len(header) == width - 1 else []
    sure = any(len(labels) > 1 and names[: len(labels)] == labels for names in labelled)
    square = shape.whole and len(rows) == width
    if not sure and (square or width >= WIDE_MATRIX):
        values = [value for row in rows for value in row]
        zeros_and_ones = all(value in ("0", "1", "0.0", "1.0") for value in values)
        hollow = square and width >= SURE_MATRIX and all(row[at] in ("0", "0.0") for at, row in enumerate(rows))
        sure = zeros_and_ones or (hollow and all(map(is_number, values)))
    if sure:
        separator = repr(shape.separator or " ")
        named_too = labels and labelled and any(names[: len(labels)] == labels for names in labelled)
        read = f'pandas.read_csv("{shape.name}", sep={separator.replace(chr(39), chr(34))}'
        read += ", index_col=0)" if named_too else ", header=None)"
        raise shape.refusal(
            "a dense adjacency matrix, a row of numbers for each vertex",
            f"Make an edge list of it first: python3 -c 'import pandas; w = {read}.stack(); "
            f'w[w != 0].to_csv("edges.csv", header=False)\'.',
        )


def _refuse_tables(shape: Shape) -> None:
    """InputError for a table of vertices, and for rows that begin with a number of their own."""
    header, rows = [word.strip().lower() for word in shape.header], shape.rows
    lowered = tuple(header[:2])
    _refuse_groups(shape)
    if named_ends(shape.header) is not None and len(header) >= (len(rows[0]) if rows else 0):
        return
    above = tuple(word.strip().lower() for word in rows[0][:2]) if len(rows) > 1 and not shape.first_row else ()
    first = header if shape.first_row else rows[0] if len(rows) > 1 else ()
    if (lowered in VERTEX_TABLE and shape.first_row) or above in VERTEX_TABLE or ":id" in map(column_name, first):
        raise shape.refusal(
            f"a table of vertices, whose columns are {' and '.join(lowered if shape.first_row else above)}",
            "Name the table of edges; its vertices are the IDs that occur there.",
        )
    width = len(rows[0]) if rows else 0
    if not shape.first_row or width < LEAST_MATRIX or any(len(row) != width for row in rows):
        return
    numbers = [row[0] for row in rows]
    counted = all(map(COUNT.match, numbers)) and [int(n) - int(numbers[0]) for n in numbers] == [*range(len(numbers))]
    unnamed = len(header) == width and header[0] in ("", "unnamed: 0")
    if (unnamed or len(header) == width - 1) and counted and int(numbers[0]) < 2:
        raise shape.refusal(
            "column 1 has no name and numbers the rows, as pandas and R write it",
            "Pass --source-column 2 --target-column 3, or write the table without it (index=False, row.names=FALSE).",
        )


def _refuse_groups(shape: Shape) -> None:
    """InputError for Neo4j's relationships between two groups of IDs, which may share numbers."""
    found = [match for word in shape.header if (match := NEO4J_IDS.match(word.strip().lower()))]
    ends = {match[1]: (match[2] or "", match[0]) for match in found}
    start, end = ends.get(":start_id"), ends.get(":end_id")
    if start and end and start[0] != end[0]:
        raise shape.refusal(
            f"{shown(start[1])} and {shown(end[1])} are two sets of IDs that may share numbers",
            "Write the name of its set before each ID. If no number stands for two vertices, pass --source-column "
            f"{named(shape.header, (':start_id',), 0) + 1} --target-column {named(shape.header, (':end_id',), 1) + 1}.",
        )


def _refuse_tgf(shape: Shape) -> None:
    """InputError for TGF: vertices and their labels, a bare `#`, and edges between the vertices."""
    above, below = shape.rows[: shape.parted], shape.rows[shape.parted :]
    vertices = {row[0] for row in above if row}
    if not above or not below or len(vertices) != len(above):
        return
    if all(len(row) > 1 and {*row[:2]} <= vertices for row in below):
        raise shape.refusal(
            "vertices and their labels, a line # and edges, as TGF has them",
            f"Make an edge list of it first: awk '/^#/{{on = 1; next}} on{{print $1 \"\\t\" $2}}' {shape.file} > "
            "edges.tsv.",
        )


def _numbered(shape: Shape) -> str:
    """Lines are numbered, and each has a name of its own: TGF's vertices, or another table of them."""
    rows = shape.rows
    if len(rows) < LEAST_MATRIX or not rows[0] or not COUNT.match(rows[0][0]):
        return ""
    counted = [row[:1] for row in rows] == [[str(int(rows[0][0]) + at)] for at in range(len(rows))]
    if counted and len(rows) >= LEAST_ROWS and all(len(row) == 3 and all(map(COUNT.match, row)) for row in rows):
        return "column 1 counts the lines; if it numbers rows, pass --source-column 2 --target-column 3"
    if any(len(row) != 2 for row in rows):
        return ""
    names = {row[1] for row in rows}
    if counted and int(rows[0][0]) < 2 and len(names) == len(rows) and not any(map(is_number, names)):
        return "column 1 numbers the lines and column 2 holds names: it may be a table of vertices, not of edges"
    return ""


def _refuse_lgl(shape: Shape) -> None:
    """InputError for LGL's lists, `# vertex` above its neighbours, which are comments and columns of weights here."""
    first = {row[0] for row in shape.rows if row}
    if len(shape.single) >= LEAST_LISTS and all(len(row) < 3 for row in shape.rows) and first & {*shape.single[1:]}:
        raise shape.refusal(
            "lists of neighbours below comments that name their vertex, as LGL writes them",
            f"Make an edge list of it first: awk '/^#/{{u = $2; next}} {{print u, $0}}' {shape.file} > edges.txt; "
            f"convert that with --undirected.",
        )


def _relation(shape: Shape) -> str:
    """Column 2 names a relation, as in SIF: refused where vertices show it, else a doubt."""
    rows = shape.rows
    header = [word.strip().lower() for word in shape.header]
    if not rows or any(len(row) != 3 for row in rows) or named(header, TARGET_NAMES, -1) >= 0:
        return ""
    middle = {row[1] for row in rows}
    if any(map(is_number, middle)) or not all(any(map(str.isalpha, word)) for word in middle):
        return ""
    first, last = {row[0] for row in rows}, {row[2] for row in rows}
    if any(map(is_number, last)) or middle & (first | last):
        return ""
    if first & last:
        raise shape.refusal(
            f"column 2, as {shown(rows[0][1])}, names no vertex of columns 1 and 3: a relation, as in SIF",
            f"{THIRD_COLUMN[0].upper()}{THIRD_COLUMN[1:]}, or 1 and 2 if it is a vertex.",
        )
    if len(middle) < len(rows):
        return f"column 2 ({shown(rows[0][1])}) may be a relation; {THIRD_COLUMN} if it is"
    return ""


def _counts(shape: Shape) -> str:
    """Line 1 holds numbers of vertices and edges: only where all lines are known can it be told."""
    rows = shape.rows
    if not shape.whole or shape.first_row or len(rows) < 3:
        return ""
    if not all(len(row) > 1 and COUNT.match(row[0]) and COUNT.match(row[1]) for row in rows):
        return ""
    counts, ends = (
        [int(word) for word in rows[0] if COUNT.match(word)],
        [int(word) for row in rows[1:] for word in row[:2]],
    )
    if counts[-1] == len(rows) - 1 and max(ends) <= counts[0] <= 2 * max(ends) and len(counts) == len(rows[0]) <= 3:
        file = shape.file
        return (
            f"line {shape.numbers[0]} may hold counts of vertices and edges, and was taken for an edge; "
            f"if so, leave it out: tail -n +{shape.numbers[0] + 1} {file}"
        )
    return ""


def _single_quotes(shape: Shape) -> str:
    ends = [word for row in shape.rows for word in row[:2]]
    if ends and all(len(word) > 2 and word[0] == word[-1] == "'" for word in ends):
        return 'names keep their single quotes, which quote nothing here; sed "s/\'//g" leaves them out'
    return ""
