"""Line feeds within quoted fields: they end no line, as in RFC 4180 and pandas.

A field is quoted where it begins with a quote and the quote that closes it, within MOST_QUOTED bytes, is followed by a
separator or a line's end. Any other quote is left for `judge` to tell.
"""

from __future__ import annotations

import numpy as np

from pagestore.inputs.lines import NEW, QUOTE, RETURN, SPACE, TAB
from pagestore.jit import compiled

MOST_QUOTED = 1 << 16  # bytes of a field with line feeds
LOOKED_AT_ONCE = 1 << 18  # bytes, that stay in a core's cache: half the time of all at once
HIDDEN = SPACE  # stands for a line feed while lines are cut and parsed
ANY = -1  # for the separator: each of those that are known, and blanks
BAR, COMMA, SEMICOLON = 124, 44, 59


@compiled(inline="always")
def parts(char: np.uint8, separator: np.int64) -> bool:
    """Whether a byte stands between fields."""
    if separator > 0:
        return char == separator
    blank = char == SPACE or char == TAB
    return blank or (separator == ANY and (char == COMMA or char == SEMICOLON or char == BAR))


@compiled
def quote_end(buf: np.ndarray, begin: np.int64, size: np.int64, separator: np.int64, limit: np.int64) -> tuple:
    """Of the quoted field at buf[begin]: (place of the quote that closes it, or -1; whether that may yet come)."""
    at = begin + 1
    while at < size and at - begin <= limit:
        if buf[at] == QUOTE:
            if at + 1 < size and buf[at + 1] == QUOTE:
                at += 2
                continue
            after = at + 1
            while after < size and (buf[after] == SPACE or buf[after] == TAB) and not parts(buf[after], separator):
                after += 1
            if after >= size:
                return at, True
            ended = buf[after] == NEW or buf[after] == RETURN or parts(buf[after], separator)
            return (at, False) if ended else (-1, False)
        at += 1
    return -1, at - begin <= limit


@compiled
def breaks_in_quotes(
    buf: np.ndarray, size: np.int64, separator: np.int64, comment: np.int64, comment2: np.int64, ended: bool,
    limit: np.int64, places: np.ndarray,
) -> tuple:  # fmt: skip
    """Find the line feeds in quoted fields of buf[:size] (uint8, from a line's start); places: int64[], ample.

    ended: nothing follows. Returns (how many, start of the line whose last field may yet be closed, else size).
    """
    count, i, line = 0, 0, 0
    starts, first = True, True
    while i < size:
        char = buf[i]
        if char == NEW:
            i += 1
            line, starts, first = i, True, True
            continue
        if first and (char == comment or char == comment2):
            while i < size and buf[i] != NEW:
                i += 1
            continue
        blank = char == SPACE or char == TAB
        if starts and char == QUOTE:
            end, open_yet = quote_end(buf, i, size, separator, limit)
            if open_yet and not ended:
                return count, line
            if end >= 0:
                for at in range(i, end):
                    if buf[at] == NEW:
                        places[count] = at
                        count += 1
                i = end
            starts = False
        elif parts(char, separator):
            starts = True
        elif not blank:
            starts = False
        first = first and blank
        i += 1
    return count, size


def find_breaks(
    data: np.ndarray, size: int, separator: int, comments: tuple[int, int], ended: bool, limit: int = MOST_QUOTED
) -> tuple[np.ndarray, int]:
    """Places int64[n] of the line feeds in quoted fields of data[:size], and where a line begins that is not whole."""
    if not any((data[at : min(at + LOOKED_AT_ONCE, size)] == QUOTE).any() for at in range(0, size, LOOKED_AT_ONCE)):
        return np.empty(0, np.int64), size
    places = np.empty(int((data[:size] == NEW).sum()), np.int64)
    count, whole = breaks_in_quotes(data, size, separator, *comments, ended, limit, places)
    return places[: int(count)], int(whole)
