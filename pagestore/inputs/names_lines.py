"""Compiled splitting of lines whose vertex IDs are text; the rules and the odd lines are those of lines.py."""

from __future__ import annotations

import numpy as np

from pagestore.inputs.lines import (
    QUOTE,
    RETURN,
    U0,
    U1,
    begin_line,
    ends_line,
    field_end,
    gather_fields,
    is_blank,
    next_field,
    number_at,
    passed_field,
)
from pagestore.jit import compiled


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
    end = i
    while end > at and is_blank(buf[end - U1], separator):
        end -= U1
    if end > at and buf[end - U1] == RETURN:  # of a line end with two carriage returns, for `judge` to say
        return at, at, at
    return i, at, end


@compiled
def split_lines(
    buf: np.ndarray,
    size: np.uint64,
    rules: np.ndarray,
    places: np.ndarray,
    weight: np.ndarray,
    odd: np.ndarray,
    hard: np.ndarray,
) -> tuple:
    """Find the names in the lines of buf[:size] (uint8, ends in a line feed).

    places: int64[, 4], first and last + 1 byte of source and target of each edge. The rest as `lines.parse_lines`.
    """
    separator, fields = rules[0], rules[1]
    source_column, target_column, weight_column = rules[2], rules[3], rules[4]
    edges, lines, comments, odd_count, hard_count = U0, 0, 0, U0, U0
    i = U0
    while i < size:
        start = i
        i, data, good = begin_line(buf, i, rules)
        if not data:
            comments += not ends_line(buf, i)
        else:
            column, ended, is_hard = 0, False, False
            value = 0.0
            hard_first, hard_end = U0, U0
            while good and not ended:
                first = i
                if column == source_column or column == target_column:
                    i, low, high = name_at(buf, i, separator)
                    good = high > low
                    side = 0 if column == source_column else 2
                    places[edges, side], places[edges, side + 1] = low, high
                elif column == weight_column:
                    i, value, is_hard = number_at(buf, i)
                    good = i != first
                    hard_first, hard_end = first, i
                else:
                    i, good = passed_field(buf, i, separator)
                column += 1
                if good:
                    i, ended, good = next_field(buf, i, separator)
            if good and column == fields:
                if is_hard:
                    hard[hard_count, 0], hard[hard_count, 1], hard[hard_count, 2] = edges, hard_first, hard_end
                    hard_count += U1
                if weight_column >= 0:
                    weight[edges] = value
                edges += U1
            else:
                odd[odd_count, 0], odd[odd_count, 1] = start, lines
                odd_count += U1
        while buf[i] != 10:
            i += U1
        i += U1
        lines += 1
    return edges, lines, comments, odd_count, hard_count


def gather_names(buf: np.ndarray, first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets int64[n + 1] and bytes uint8[] of the names in the bytes first[k]..end[k]-1 of buf."""
    offsets = np.empty(len(first) + 1, dtype=np.int64)
    data = np.empty(max(int((end - first).sum()), 1), dtype=np.uint8)
    gather_fields(buf, first, end, offsets, data)
    return offsets, data
