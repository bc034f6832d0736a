"""Compiled reading of lists: a line holds the neighbours of one vertex (METIS, adjacency lists)."""

from __future__ import annotations

import numpy as np

from pagestore.inputs.lines import MAX_ID, MINUS, NEW, PLUS, U0, U1, U9, digits_at, ends_line, is_blank, number_at
from pagestore.jit import compiled

MOST_DIGITS = np.uint64(19)
ZERO = 48
SHORTEST_ENTRY = 2  # "1 ": bounds the entries of a block


@compiled
def parse_lists(
    buf: np.ndarray, size: np.uint64, headed: bool, skipped: int, weighted: bool, low: np.uint64, high: np.uint64,
    source: np.ndarray, target: np.ndarray, weight: np.ndarray, heads: np.ndarray, odd: np.ndarray,
) -> tuple:  # fmt: skip
    """Read the lists of buf[:size] (uint8, ends in a line feed; `%` and, when headed, `#` begin comments).

    headed: a line begins with its vertex, blank lines are nothing; else line k is vertex k (from 0, within this block)
    and a blank line a vertex without neighbours. skipped: numbers before the neighbours (vertex sizes and weights).
    Returns (entries, lines, lists, odd lists). source, target: uint64[]; weight: float64[] when weighted; heads:
    uint64[] the vertex of each list without entries, when headed; odd: int64[, 2], offset and number of each odd line.
    Numbers that need more than float64's exact digits make a line odd.
    """
    entries, lines, lists, odd_count, lonely = U0, 0, U0, U0, U0
    i = U0
    while i < size:
        start, first_entry = i, entries
        while is_blank(buf[i], 0):
            i += U1
        comment = buf[i] == 37 or (headed and buf[i] == 35)
        if comment or (headed and ends_line(buf, i)):
            while buf[i] != NEW:
                i += U1
            i += U1
            lines += 1
            continue
        field, good, vertex = 0, True, lists
        before = skipped + (1 if headed else 0)
        while good and not ends_line(buf, i):
            begin = i
            if weighted and field >= before and (field - before) % 2 == 1:
                i, value, hard = number_at(buf, i)
                good = i != begin and not hard
                weight[entries - U1] = value
            else:
                minus = buf[i] == MINUS
                if minus or buf[i] == PLUS:
                    i += U1
                while buf[i] == ZERO and np.uint64(buf[i + U1]) - np.uint64(ZERO) <= U9:
                    i += U1
                begin = i
                i, number = digits_at(buf, i)
                good = i != begin and i - begin <= MOST_DIGITS and number <= MAX_ID and (not minus or number == U0)
                if field >= before:
                    good = good and low <= number and number <= high
                    source[entries], target[entries] = vertex, number
                    entries += U1
                elif headed and field == 0:
                    good = good and low <= number and number <= high
                    vertex = number
            good = good and (is_blank(buf[i], 0) or ends_line(buf, i))
            while is_blank(buf[i], 0):
                i += U1
            field += 1
        good = good and field >= before and (not weighted or (field - before) % 2 == 0)
        if not good:
            entries = first_entry
            odd[odd_count, 0], odd[odd_count, 1] = start, lines
            odd_count += U1
        elif headed and entries == first_entry:
            heads[lonely] = vertex
            lonely += U1
        while buf[i] != NEW:
            i += U1
        i += U1
        lines += 1
        lists += U1
    return entries, lines, lists, odd_count, lonely
