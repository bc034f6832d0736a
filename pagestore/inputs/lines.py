"""Compiled reading of plain lines, `source separator target [separator number]`, over the bytes of a block.

Why own code beside polars and pandas (2 M lines of two 7-digit IDs, edges a CPU-second on an EPYC; polars 2.1, pandas
3.1, pyarrow 26): these kernels 62 to 72 M with any separator and mixed blanks; polars 18 M with one fixed separator;
pandas 5 to 19 M; pyarrow 4 to 16 M; with a third column of six-digit decimals 21 M against polars' 12 M. And they are
strict: pandas with integer columns reads "1.0", "1e3" and "true" as IDs and drops a fourth field without a word.

The kernels decide only what they are sure of. Any other line (doubled quotes, signs, words, a wrong number of fields)
is *odd*: its place is noted and `judge.py` reads it again, slowly, and says what is wrong or what it means.

Rules are one int64 array, see `Rule`: the same code reads SNAP text, CSV, Matrix Market and DIMACS.
All indices are unsigned: signed ones cost a wraparound test a byte.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from pagestore.inputs.decimals import ASCII_0, MOST_DIGITS, U0, U1, U9, U10, digits_at, number_at
from pagestore.jit import compiled


def shortest_line(fields: int) -> int:
    """Bytes of the shortest line with an edge: two digits ("0 1\\n"), or one for a list of vertices ("7\\n")."""
    return fields + 2 if fields > 1 else 2


class Rule(IntEnum):
    """Places in the rules array."""

    SEPARATOR = 0  # byte between fields, 0 = any run of blanks
    FIELDS = 1  # fields a line has
    SOURCE = 2  # column of the source, from 0
    TARGET = 3
    WEIGHT = 4  # column of the weight, -1 = none
    LEAD = 5  # byte a line begins with (DIMACS "a"), 0 = none
    COMMENT = 6  # bytes that begin a comment line
    COMMENT2 = 7
    LOW = 8  # least vertex ID
    HIGH_SOURCE = 9  # greatest vertex IDs
    HIGH_TARGET = 10
    WIDTH = 11  # digits of IDs with zeros ahead, 0 = there are none, -1 = any


RULES = len(Rule)
SHORTEST_HARD_LINE = 9  # "0 1 1e99\n"
NEW, TAB, RETURN, SPACE, QUOTE = 10, 9, 13, 32, 34
MAX_ID = np.uint64((1 << 63) - 1)
PLAIN_DIGITS = np.uint64(18)


@compiled(inline="always")
def is_blank(char: np.uint8, separator: np.int64) -> bool:
    return char == SPACE or (char == TAB and separator != TAB)


@compiled(inline="always")
def ends_line(buf: np.ndarray, i: np.uint64) -> bool:
    return buf[i] == NEW or (buf[i] == RETURN and buf[i + U1] == NEW)


@compiled(inline="always")
def is_as_wide(buf: np.ndarray, first: np.uint64, digits: np.uint64, width: np.int64) -> bool:
    """Whether an ID with zeros ahead has `width` digits, and another no fewer: else 007 and 7 may be two IDs."""
    if digits > U1 and buf[first] == ASCII_0:
        return bool(width < 0 or np.int64(digits) == width)
    return bool(np.int64(digits) >= width)


@compiled
def id_at(buf: np.ndarray, at: np.uint64, width: np.int64) -> tuple:
    """Read a vertex ID, quoted or not: (first byte behind it, ID), or (at, 0) when it is not one plain ID."""
    quoted = buf[at] == QUOTE
    first = at + U1 if quoted else at
    i, value = digits_at(buf, first)
    if i == first or i - first > MOST_DIGITS or value > MAX_ID or not is_as_wide(buf, first, i - first, width):
        return at, U0
    if quoted:
        return (i + U1, value) if buf[i] == QUOTE else (at, U0)
    return i, value


@compiled
def field_end(buf: np.ndarray, at: np.uint64, separator: np.int64) -> np.uint64:
    """First byte behind the field at buf[at], blanks before a separator included; `at` when its quotes are not plain.

    A NUL byte ends a field too: it makes the line one to be judged. An empty field ends where it begins, so this is not
    for a separator's place.
    """
    i = at
    if buf[i] == QUOTE:
        i += U1
        while buf[i] != QUOTE and buf[i] != NEW and buf[i] != 0:
            i += U1
        return i + U1 if buf[i] == QUOTE else at
    blanks = separator == 0
    while True:  # `is_blank` and `ends_line`, as conditions that Numba makes fast: 6 ns a field, by calls 140
        char = buf[i]
        if char == separator or char == 0 or (blanks and (char == SPACE or char == TAB)) or char == NEW:
            return i
        if char == RETURN and buf[i + U1] == NEW:
            return i
        i += U1


@compiled
def passed_field(buf: np.ndarray, at: np.uint64, separator: np.int64) -> tuple:
    """A field that nobody reads: (first byte behind it, it is plain). Two carriage returns may end its line, of which
    one is no field: `judge` says so."""
    if buf[at] == separator or (separator != 0 and ends_line(buf, at)):  # an empty one, in the middle or at the end
        return at, True
    i = field_end(buf, at, separator)
    return i, i != at and buf[i - U1] != RETURN


@compiled
def next_field(buf: np.ndarray, at: np.uint64, separator: np.int64) -> tuple:
    """From the end of a field to the next one: (its first byte, the line ended instead, all is well)."""
    i = at
    while is_blank(buf[i], separator):
        i += U1
    if ends_line(buf, i):
        return i, True, True
    if separator == 0:
        return i, False, i != at
    if buf[i] != separator:
        return i, False, False
    i += U1
    while is_blank(buf[i], separator):
        i += U1
    return i, False, True


@compiled
def begin_line(buf: np.ndarray, at: np.uint64, rules: np.ndarray) -> tuple:
    """From the start of a line to its first field: (its first byte, it holds data, its lead is right)."""
    separator, lead = rules[0], rules[5]
    i = at
    while is_blank(buf[i], separator):
        i += U1
    if ends_line(buf, i) or buf[i] == rules[6] or buf[i] == rules[7]:
        return i, False, True
    if lead != 0:
        if buf[i] != lead or not is_blank(buf[i + U1], separator):
            return i, True, False
        i += U1
        while is_blank(buf[i], separator):
            i += U1
    return i, True, True


@compiled(inline="always")
def plain_pair(buf: np.ndarray, at: np.uint64, separator: np.int64) -> tuple:
    """The common case, at the start of a line: `digits, one separator, digits` of at most 18 digits each, and no zero
    ahead.

    Returns (first byte behind, source, target), or (at, 0, 0): then the line is read in the general way. This path
    doubles the speed (65 against 32 M lines/s).
    """
    i = at
    source, target = U0, U0
    digit = np.uint64(buf[i]) - ASCII_0
    if digit == U0:
        return at, U0, U0
    while digit <= U9:
        source = source * U10 + digit
        i += U1
        digit = np.uint64(buf[i]) - ASCII_0
    middle = i
    i += U1
    digit = np.uint64(buf[i]) - ASCII_0
    if digit == U0:
        return at, U0, U0
    while digit <= U9:
        target = target * U10 + digit
        i += U1
        digit = np.uint64(buf[i]) - ASCII_0
    parted = buf[middle] == separator if separator != 0 else (buf[middle] == SPACE or buf[middle] == TAB)
    long = middle - at > PLAIN_DIGITS or i - middle > PLAIN_DIGITS + U1
    if not parted or long or middle == at or i == middle + U1:
        return at, U0, U0
    return i, source, target


@compiled
def name_at(buf: np.ndarray, at: np.uint64, separator: np.int64) -> tuple:
    """Field at buf[at]: (first byte behind it, first and last + 1 byte of its content); equal bounds: not plain."""
    if buf[at] == separator:
        return at, at, at
    i = field_end(buf, at, separator)
    if i == at:
        return at, at, at
    if buf[at] == QUOTE:
        return i, at + U1, i - U1
    if buf[i - U1] == RETURN:  # of a line end with two carriage returns, for `judge` to say
        return at, at, at
    end = i
    while end > at and is_blank(buf[end - U1], separator):
        end -= U1
    return i, at, end


@compiled
def columns_at(
    buf: np.ndarray, at: np.uint64, column: int, rules: np.ndarray, names: bool, source: np.uint64, target: np.uint64
) -> tuple:
    """Read a line from field `column` at buf[at] to its end.

    Returns (where reading stopped, all is well, source, target, last + 1 byte of both if they are names, weight, first
    and last + 1 byte of a hard weight or 0). source, target: IDs, or the first bytes of names.
    """
    separator, fields = rules[0], rules[1]
    i, good, ended = at, True, False
    source_end, target_end = U0, U0
    weight, hard_first, hard_end = 0.0, U0, U0
    while good and not ended:
        first = i
        if column == rules[2] or column == rules[3]:
            if names:
                i, low, high = name_at(buf, i, separator)
                good = high > low
            else:
                i, low = id_at(buf, i, rules[11])
                good, high = i != first, U0
            if column == rules[2]:
                source, source_end = low, high
            else:
                target, target_end = low, high
        elif column == rules[4]:
            i, weight, is_hard = number_at(buf, i)
            good = i != first
            if is_hard:
                hard_first, hard_end = first, i
        else:
            i, good = passed_field(buf, i, separator)
        column += 1
        if good:
            i, ended, good = next_field(buf, i, separator)
    return i, good and column == fields, source, target, source_end, target_end, weight, hard_first, hard_end


@compiled
def parse_lines(
    buf: np.ndarray, size: np.uint64, rules: np.ndarray, source: np.ndarray, target: np.ndarray,
    ends: np.ndarray | None, weight: np.ndarray, odd: np.ndarray, hard: np.ndarray,
) -> tuple:  # fmt: skip
    """Read the lines of buf[:size] (uint8, ends in a line feed) into source, target uint64[] and weight float64[].

    ends: None where IDs are numbers. Of names uint64[, 2]: last + 1 byte of source and target, whose first bytes are in
    `source` and `target`. Returns (edges, lines, comment lines, odd lines, hard numbers). odd: int64[, 2], offset and
    number (from 0) of each odd line. hard: int64[, 3], edge and first and last + 1 byte of each hard weight.
    """
    weighted, pairs, names = rules[4] >= 0, rules[1] == 2, ends is not None
    plain = rules[2] == 0 and rules[3] == 1 and rules[5] == 0 and rules[11] <= 0 and not names
    low, high_source, high_target = np.uint64(rules[8]), np.uint64(rules[9]), np.uint64(rules[10])
    edges, lines, comments, odd_count, hard_count = U0, 0, 0, U0, U0
    i = U0
    while i < size:
        start = i
        column, data, good, ended = 0, True, True, False
        u, v, u_end, v_end, w, hard_first, hard_end = U0, U0, U0, U0, 0.0, U0, U0
        if plain:
            i, u, v = plain_pair(buf, i, rules[0])
            if i != start:
                column = 2
                ended = buf[i] == NEW
                good = pairs or not ended
                if not ended:
                    i, ended, good = next_field(buf, i, rules[0])
                    good = good and pairs == ended
        if column == 0:
            i, data, good = begin_line(buf, i, rules)
        if not data:
            comments += not ends_line(buf, i)
        else:
            if good and not ended:
                i, good, u, v, u_end, v_end, w, hard_first, hard_end = columns_at(buf, i, column, rules, names, u, v)
            if good and (names or (low <= u and u <= high_source and low <= v and v <= high_target)):
                if hard_end != U0:
                    hard[hard_count, 0], hard[hard_count, 1], hard[hard_count, 2] = edges, hard_first, hard_end
                    hard_count += U1
                source[edges], target[edges] = u, v
                if ends is not None:
                    ends[edges, 0], ends[edges, 1] = u_end, v_end
                if weighted:
                    weight[edges] = w
                edges += U1
            else:
                odd[odd_count, 0], odd[odd_count, 1] = start, lines
                odd_count += U1
        while buf[i] != NEW:
            i += U1
        i += U1
        lines += 1
    return edges, lines, comments, odd_count, hard_count


@compiled
def gather_fields(buf: np.ndarray, first: np.ndarray, end: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """Copy buf[first[k]:end[k]] one behind the other: offsets uint64[n + 1] and out uint8[offsets[n]] (ample room)."""
    at = U0
    for k in range(len(first)):
        offsets[k] = at
        for i in range(np.uint64(first[k]), np.uint64(end[k])):
            out[at] = buf[i]
            at += U1
    offsets[len(first)] = at


def gather_names(buf: np.ndarray, first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets int64[n + 1] and bytes uint8[] of the names in the bytes first[k]..end[k]-1 of buf."""
    offsets = np.empty(len(first) + 1, dtype=np.int64)
    data = np.empty(max(int((end - first).sum()), 1), dtype=np.uint8)
    gather_fields(buf, first, end, offsets, data)
    return offsets, data
