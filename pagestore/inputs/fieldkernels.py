"""Compiled work on single fields of plain lines: where they lie, lines that go, numbers with marks made plain."""

from __future__ import annotations

import numpy as np

from pagestore.inputs.decimals import ASCII_0, LETTER_E, LETTER_E_LARGE, MINUS, PLUS, POINT, U0, U1, U9
from pagestore.inputs.lines import NEW, QUOTE, SPACE, begin_line, ends_line, name_at, next_field
from pagestore.jit import compiled

THREE = np.uint64(3)
APOSTROPHE, COMMA = 39, 44


@compiled
def fields_of_lines(
    buf: np.ndarray, size: np.uint64, rules: np.ndarray, columns: np.ndarray, bounds: np.ndarray, lines: np.ndarray
) -> int:
    """Find fields in the lines of buf[:size] that hold data; returns how many lines these are.

    columns: int64[k], from 0. bounds: uint64[k, lines, 2], first and last + 1 byte of each field's content, equal where
    it is empty. lines: uint64[lines, 2], where a line begins, and 1 if its fields are plain and as many as are due.
    """
    count, i = 0, U0
    while i < size:
        begin = i
        i, holds, good = begin_line(buf, i, rules)
        if holds:
            column, ended = 0, False
            while good and not ended:
                if ends_line(buf, i):
                    first, last, ended = i, i, True
                else:
                    if rules[0] != 0 and buf[i] == rules[0]:
                        stop, first, last = i, i, i
                    else:
                        stop, first, last = name_at(buf, i, rules[0])
                        empty_quotes = buf[i] == QUOTE and stop == i + U1 + U1
                        good = last > first or empty_quotes
                    if good:
                        i, ended, good = next_field(buf, stop, rules[0])
                for k in range(len(columns)):
                    if columns[k] == column:
                        bounds[k, count, 0], bounds[k, count, 1] = first, last
                column += 1
            lines[count, 0] = begin
            lines[count, 1] = U1 if good and column == rules[1] else U0
            count += 1
        while buf[i] != NEW:
            i += U1
        i += U1
    return count


@compiled
def blank_lines(buf: np.ndarray, begins: np.ndarray) -> None:
    """Fill the lines that begin at `begins` uint64[] with blanks: they hold nothing, and keep their numbers."""
    for k in range(len(begins)):
        i = begins[k]
        while buf[i] != NEW:
            buf[i] = SPACE
            i += U1


@compiled(inline="always")
def _is_digit(char: np.uint8) -> bool:
    return bool(np.uint64(char) - ASCII_0 <= U9)


@compiled
def _is_marked_number(buf: np.ndarray, first: np.uint64, last: np.uint64, decimal: np.int64) -> bool:
    """Whether buf[first:last] is a number whose thousands may be parted by one mark, and its decimals by `decimal`."""
    i = first
    if i < last and (buf[i] == MINUS or buf[i] == PLUS):
        i += U1
    digits, group, mark = U0, U0, 0
    while i < last:
        char = buf[i]
        if _is_digit(char):
            digits += U1
            group += U1
        elif char != decimal and (char == POINT or char == COMMA or char == APOSTROPHE or char == SPACE):
            if (mark == 0 and (group == U0 or group > THREE)) or (mark != 0 and (group != THREE or char != mark)):
                return False
            mark, group = char, U0
        else:
            break
        i += U1
    if mark != 0 and group != THREE:
        return False
    if i < last and buf[i] == decimal:
        i += U1
        while i < last and _is_digit(buf[i]):
            digits += U1
            i += U1
    if digits == U0:
        return False
    if i < last and (buf[i] == LETTER_E or buf[i] == LETTER_E_LARGE):
        i += U1
        if i < last and (buf[i] == MINUS or buf[i] == PLUS):
            i += U1
        begin = i
        while i < last and _is_digit(buf[i]):
            i += U1
        if i == begin:
            return False
    return i == last


@compiled
def plain_numbers(buf: np.ndarray, bounds: np.ndarray, lines: np.ndarray, decimal: np.int64) -> None:
    """Write the numbers in the fields `bounds` uint64[n, 2] of plain lines anew: no quotes, no thousands, a point.

    A quote before a field that is no number so, and quotes instead of a line that is not plain, make the line odd: its
    text goes to `judge`.
    """
    for k in range(len(bounds)):
        first, last = bounds[k, 0], bounds[k, 1]
        if lines[k, 1] == U0:
            i = lines[k, 0]
            while buf[i] != NEW:
                buf[i] = QUOTE
                i += U1
            continue
        if first == last:
            continue
        if not _is_marked_number(buf, first, last, decimal):
            buf[first] = QUOTE
            continue
        quoted = buf[last] == QUOTE and first > U0 and buf[first - U1] == QUOTE
        to = first - U1 if quoted else first
        end = last + U1 if quoted else last
        for i in range(first, last):
            char = buf[i]
            if char == decimal:
                char = np.uint8(POINT)
            elif char == POINT or char == COMMA or char == APOSTROPHE or char == SPACE:
                continue
            buf[to] = char
            to += U1
        while to < end:
            buf[to] = SPACE
            to += U1
