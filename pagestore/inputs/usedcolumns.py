"""Which columns of a text hold source, target and weight: as asked for, as a header names them, else 1, 2 and 3.

Where that would be a guess it is refused, for a guess may give a wrong graph: the message has the columns, the first
rows as they would be read, and what to type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import quoted, shown
from pagestore.inputs.base import InputOptions
from pagestore.inputs.columnnames import (
    first_named,
    held_fields,
    is_number,
    leaves_ends_open,
    likely_ends,
    listed,
    named_ends,
    names_several,
    reads_as_header,
    refuse_twice,
    share_of_numbers,
    typed_path,
)
from pagestore.inputs.headerwords import is_no_third_end, is_no_weight, named_weights, weighs
from pagestore.inputs.judge import marks, split_fields
from pagestore.inputs.signatures import COUNT, DECIMAL_COMMA, INTEGER, WHOLE

LEAST_TIMES = 8  # numbers that differ: of a few any may be times
MOST_COLUMNS = 3  # source, target and a weight: what edge lists have that name nothing
SHOWN_ROWS = 3
WHOLE_NUMBERS, NUMBERS, DATES, NAMES = "whole numbers", "numbers", "dates", "names"  # what columns hold
DIGIT = re.compile(r"[0-9]")
DATE = re.compile(
    r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([T ][0-9:.]+(Z|[+-][0-9:]+)?)?\Z|[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?\Z"
)
WEIGHT_NUMBER = "Pass --weight-column with a number, or --no-weights."

TIMES = {  # of 1990 to 2039
    "seconds since 1970": re.compile(r"(6[4-9]|[7-9][0-9]|1[0-9]{2}|20[0-9]|21[0-9])[0-9]{7}(\.[0-9]+)?\Z"),
    "parts of seconds since 1970": re.compile(
        r"(6[4-9]|[7-9][0-9]|1[0-9]{2}|20[0-9]|21[0-9])[0-9]{7}([0-9]{3}){1,3}\Z"
    ),
    "years, months and days": re.compile(r"(19[0-9]{2}|20[0-3][0-9])(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])\Z"),
}


def find_ends(
    name: str, header: Sequence[str], is_line: bool, rows: Sequence[Sequence[str]], konect: bool, weight_asked: bool
) -> tuple[int, int]:
    """Columns of source and target: by their names, else the first two. InputError where these would be a guess.

    header: names of all columns, or none; is_line: of a line of the text, not of a comment. weight_asked: an option
    names the weight.
    """
    if (ends := likely_ends(header) if is_line else named_ends(header)) is not None:
        return ends
    edges = _edges(rows)
    width = columns_in_use(edges)
    if not is_line and first_named(header) is None:
        header = ()  # a comment of as many words
    whole = all(len(row) > 2 and all(map(WHOLE.match, row[:3])) for row in edges)
    if (width > MOST_COLUMNS and not konect) or leaves_ends_open(header, whole, weight_asked):
        raise refuse_unnamed(name, header, rows, width)
    return 0, 1


def fitted(header: Sequence[str], rows: Sequence[Sequence[str]], fields: int) -> tuple[str, ...]:
    """A header with a name, perhaps an empty one, for each of `fields` columns, where separators at the ends of lines
    are all that its width differs by; else as it is."""
    names = header[: columns_in_use([header])]
    fits = len(names) <= fields and (len(header) > fields or columns_in_use(_edges(rows)) <= len(names))
    return (*names, *[""] * (fields - len(names))) if fits else tuple(header)


def refuse_other_width(name: str, above: Sequence[str], rows: Sequence[Sequence[str]], fields: int) -> None:
    """InputError where line 1, `above` lines of another width, names ends elsewhere than in columns 1 and 2, or one
    column less than the lines have: R writes names of rows without a name of their column."""
    ends = named_ends(above) or first_named(above) or (0, 1)
    missing = len(above) == fields - 1
    if not above or (ends == (0, 1) and not missing):
        return
    behind = [(ends[0] + 1, ends[1] + 1)] if missing else []  # a name of the row
    readings = [one for one in dict.fromkeys([*behind, ends, (0, 1)]) if max(one) < fields]
    raise InputError(
        f"{name}: line 1 names {len(above)} columns ({listed(above)}), and most lines have {fields}. "
        f"{_choices(name, rows, readings, ' --header')}"
    )


def refuse_mixed(
    name: str, header: Sequence[str], is_line: bool, rows: Sequence[Sequence[str]], weight_asked: bool
) -> None:
    """InputError for three columns of which column 1 or 2 is the odd one, where no name says which hold the ends."""
    if likely_ends(header) is not None or not rows or any(len(row) < MOST_COLUMNS for row in rows):
        return
    amounts = any(is_number(row[2]) and not INTEGER.match(row[2]) for row in rows)
    no_third = weight_asked or amounts or (is_line and _is_no_end(header))
    for body in (rows[1:], rows):  # line 1 may be a header of unknown words
        kinds = [kind_of([row[at] for row in body]) for at in range(MOST_COLUMNS)]
        if (odd := odd_end(kinds, no_third)) is None:
            continue
        named_above = is_line or kind_of([rows[0][odd]]) != kinds[odd]
        left = [at for at in range(MOST_COLUMNS) if at != odd]
        found = f"column {odd + 1} holds {kinds[odd]}, the others {' and '.join(sorted({kinds[at] for at in left}))}"
        body = rows if is_line or not named_above else rows[1:]
        readings = [(left[0], left[1]), (0, 1)]
        if odd == 0 and kinds[0] == NAMES:  # a person, a thing and a number
            readings.reverse()
        raise InputError(
            f"{name}: {found}, and no known name says which hold source and target. "
            f"{_choices(name, body, readings, ' --header' if named_above else '')}"
        )


def odd_end(kinds: Sequence[str], no_third: bool = False) -> int | None:
    """Which of the first two of three columns may be no end: 0, 1, or None.

    kinds: what the columns hold (`kind_of`). A column of dates may be none, and one that differs from the other two:
    a number beside two names, a relation between two numbers. no_third: the third column is known to be no end.
    """
    if len(kinds) != MOST_COLUMNS or "" in kinds:
        return None
    dates = [at for at, kind in enumerate(kinds) if kind == DATES]
    if len(dates) == 1:
        return dates[0] if dates[0] < 2 else None
    first, second, third = (NUMBERS if kind == WHOLE_NUMBERS else kind for kind in kinds)
    if first == second or third not in (first, second):
        return None
    if third == NUMBERS and (no_third or kinds[2] != WHOLE_NUMBERS):
        return None  # a weight: an odd pair of ends, but the only one
    return 0 if third == second else 1


def kind_of(values: Sequence[str]) -> str:
    """What the values of a column are, in words, empty ones left out; "" for a mixture and for none."""
    held = [value for value in values if value]
    if times_of(held):
        return DATES
    for kind, fits in ((WHOLE_NUMBERS, INTEGER.match), (NUMBERS, is_number), (DATES, DATE.match)):
        if held and all(map(fits, held)):
            return kind
    return NAMES if held and not any(is_number(value) or DATE.match(value) for value in held) else ""


def _is_no_end(header: Sequence[str]) -> bool:
    """Whether a third column is called as weights are, or as what is no end."""
    return len(header) == MOST_COLUMNS and (weighs(header[2]) or is_no_third_end(header[2]))


def _choices(name: str, rows: Sequence[Sequence[str]], readings: Sequence[tuple[int, int]], more: str = "") -> str:
    """What to type for each of several readings of the first rows."""
    commands = [
        f"gstream convert {typed_path(name)} STORE{more} --source-column {source + 1} --target-column {target + 1}, if "
        f"they are {read_so(rows, source, target)}"
        for source, target in readings
    ]
    return f"Name both by number: {'; or '.join(commands)}. --weight-column N names a weight."


def read_so(rows: Sequence[Sequence[str]], source: int = 0, target: int = 1) -> str:
    """The first rows as edges of two columns."""
    wide = [row for row in rows[:SHOWN_ROWS] if len(row) > max(source, target)]
    return ", ".join(f"{shown(row[source], 20)} -> {shown(row[target], 20)}" for row in wide)


def _edges(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Rows that may be edges: among IDs that are whole numbers a row of words is a bad line, however wide."""
    whole = [row for row in rows if len(row) > 1 and WHOLE.match(row[0]) and WHOLE.match(row[1])]
    return whole if 2 * len(whole) > len(rows) else rows


def refuse_dictionaries(name: str, lines: Sequence[bytes], numbers: Sequence[int], separator: str | None) -> None:
    """InputError for networkx's edge attributes, `1 2 {'weight': 1.5}`: their weights would be dropped silently."""
    for line, number in zip(lines, numbers, strict=True):
        at = line.find(b"{")
        if at > 0 and b"weight" in line[at:] and line[at - 1 : at] in (b" ", b"\t", (separator or " ").encode()):
            raise InputError(
                f"{name}:{number}:{at + 1}: {quoted(line[at:])} is a Python dictionary; a weight is a number in a "
                f"column of its own. Write the graph with networkx.write_weighted_edgelist, or pass --no-weights."
            )


def refuse_unnamed_weights(name: str, rows: Sequence[Sequence[str]], used: tuple[int, int]) -> None:
    """InputError where options name the ends of more than three columns without names, and others hold numbers: the
    third would be the weight by its place alone."""
    width = columns_in_use(rows)
    numbers = [at for at in range(width) if at not in used and share_of_numbers(rows, at) > 0.5]
    if width > MOST_COLUMNS and numbers:
        held = [f"{at + 1} ({shown(next(iter(held_fields(rows, at))), 20)})" for at in numbers]
        raise InputError(
            f"{name}: has {width} columns without names; of those beside source and target, {', '.join(held)} "
            f"{'hold' if len(held) > 1 else 'holds'} numbers, and may weigh the edges. Pass --weight-column N or "
            f"--no-weights: gstream convert {typed_path(name)} STORE --source-column {used[0] + 1} --target-column "
            f"{used[1] + 1} --no-weights."
        )


def weight_column(
    name: str, rows: list[list[str]], first: Sequence[str], header: Sequence[str], is_line: bool,
    used: tuple[int, int], options: InputOptions, line: tuple[int, bytes, str | None],
) -> int | None:  # fmt: skip
    """Column of the weight, from 0: as asked for, else one that is called so, else a third column of numbers. line:
    where `first` stands, its text and separator."""
    if not options.weights:
        return None
    column = _find_weight(name, rows, first, header, is_line, used, options.weight_column)
    if column == 2 and not (is_line or options.third_weighs or options.weight_column is not None):
        _refuse_times(name, header, held_fields(rows, 2))
    if column is not None and options.decimal is None and DECIMAL_COMMA.match(first[column]):
        what, remedy = marks(first[column])
        at = split_fields(line[1], line[2])[column][0] + 1
        raise InputError(f"{name}:{line[0]}:{at}: {what}. {remedy}; or pass --no-weights.")
    return column


def _find_weight(
    name: str, rows: list[list[str]], first: Sequence[str], header: Sequence[str], is_line: bool,
    used: tuple[int, int], asked: int | str | None,
) -> int | None:  # fmt: skip
    """`weight_column`, whatever stands there."""
    width = len(first)
    if asked is None:
        if (column := _named_weight(name, rows, header, is_line, used)) is not None:
            return column
        if left_out(header, used, is_line):
            return None
        if width > 2 and 2 not in used and DECIMAL_COMMA.match(first[2]):
            return 2
        # a word among numbers, or an empty field, is a bad line, not a reason to drop the weights
        numbers = width > 2 and (is_number(first[2]) or share_of_numbers(rows, 2) > 0.5)
        return 2 if numbers and 2 not in used else None
    if isinstance(asked, str) and COUNT.match(asked) and asked not in header:
        asked = int(asked)
    refuse_twice(name, str(asked), header, WEIGHT_NUMBER)
    if isinstance(asked, str) and asked not in header:
        known = (
            ", ".join(map(shown, header)) if header else f"no header line was found; the first line has {listed(first)}"
        )
        raise UsageError(f"{name}: --weight-column {asked}: no such column ({known}). Give its name or number.")
    column = asked - 1 if isinstance(asked, int) else header.index(asked)
    if not 0 <= column < width or column in used:
        raise UsageError(
            f"{name}: --weight-column {asked} is not a column of weights; the lines have {width} columns, of which "
            f"{used[0] + 1} and {used[1] + 1} are the source and the target. Name another column."
        )
    return column


def _refuse_times(name: str, header: Sequence[str], held: Sequence[str]) -> None:
    """InputError where all that a third column holds, which no name says to weigh, reads as times (`TIMES`).

    SNAP's temporal graphs have such a column.
    """
    if (what := times_of(held)) and not _is_no_end(header):
        raise InputError(
            f"{name}: column 3 may hold times, as {shown(held[0])} is one in {what}, and no name says what it is; "
            f"times weigh nothing. Pass --no-weights: gstream convert {typed_path(name)} STORE --no-weights; or "
            "--weight-column 3 if they are weights."
        )


def times_of(held: Sequence[str]) -> str:
    """The unit (a key of TIMES) in which all numbers of a column are times.

    "" where one of them is no time, or where too few differ to tell.
    """
    if len({*held}) < max(LEAST_TIMES, len(held) // 2):
        return ""
    for unit, pattern in TIMES.items():
        if all(map(pattern.match, held)):
            return unit
    return ""


def _named_weight(
    name: str, rows: Sequence[Sequence[str]], header: Sequence[str], is_line: bool, used: Sequence[int]
) -> int | None:
    """The column, beside the ends, that is called as weights are, wherever it stands; InputError for several."""
    said = is_line or named_ends(header) is not None  # else a comment of as many words
    found = named_weights(header, used, lambda at: said and _may_weigh(rows, at))
    if not found:
        return None
    refuse_twice(name, header[found[0]], header, WEIGHT_NUMBER)
    if len(found) > 1:
        held = [next(iter(held_fields(rows, at)), "nothing") for at in found]
        which = [f"{at + 1} ({shown(header[at], 20)}: {shown(one, 20)})" for at, one in zip(found, held, strict=True)]
        raise InputError(
            f"{name}: columns {', '.join(which)} are called as weights are; one weighs the edges. Pass its "
            f"number, gstream convert {typed_path(name)} STORE --weight-column N, or pass --no-weights."
        )
    return found[0]


def _may_weigh(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column called as a weight may hold some: a digit, or nothing in the first rows. What is no number there
    is a bad line; words alone are a column of text."""
    held = held_fields(rows, column)
    return not held or any(map(DIGIT.search, held))


def left_out(header: Sequence[str], used: Sequence[int], is_line: bool) -> bool:
    """Whether a third column, beside the ends, says by its name that it weighs nothing."""
    said = is_line or named_ends(header) is not None  # else a comment of as many words
    return said and len(header) > 2 and 2 not in used and is_no_weight(header[2])


def columns_in_use(rows: Sequence[Sequence[str]]) -> int:
    """How many columns hold anything in one of the rows: separators at the ends of lines make others. A dictionary of
    NetworkX's is one, whatever blanks it has."""
    held = [row[: next((at + 1 for at, value in enumerate(row) if value.startswith("{")), len(row))] for row in rows]
    return max((at + 1 for row in held for at, value in enumerate(row) if value), default=0)


def refuse_unnamed(name: str, header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> InputError:
    """The error for `width` columns, called so (or nothing), of which none, or several, are known to hold an end.

    rows: the first ones, as text.
    """
    words = header or (rows[0] if rows else ())
    above = "" if header or not words or any(map(is_number, words)) else " --header"
    which = "several names may say" if names_several(header) else "no known name says"
    return InputError(
        f"{name}: has {width} columns ({listed(words)}), and {which} which hold source and target; by columns "
        f"1 and 2 the first rows would be {read_so(rows)}. Name both, by number or by a header's word: gstream "
        f"convert {typed_path(name)} STORE{above} --source-column N --target-column N, with --weight-column N or "
        "--no-weights."
    )


def refuse_first_line(
    name: str, line: int, rows: list[list[str]], used: tuple[int, int], separator: str
) -> None:  # fmt: skip
    """InputError where rows[0], between names, may name columns as well as be an edge; rows: none where blanks part
    the fields, for then it is an edge."""
    if rows and reads_as_header(rows, used):
        said = quoted(separator.join(rows[0]), 60)
        raise InputError(
            f"{name}:{line}:1: {said} may name columns, in words that are not known, or be the first edge; the names "
            f"below do not tell. Pass --header if it names columns, --no-header if it is an edge: gstream convert "
            f"{typed_path(name)} STORE --header --source-column {used[0] + 1} --target-column {used[1] + 1}."
        )
