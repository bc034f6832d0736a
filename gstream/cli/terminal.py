"""What the commands show: tables, notes, JSON; gstream.cli.progress shows how far they are.

Standard output carries results only: tables of vertices, or exactly one JSON object with --json. All else goes to
standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from gstream.cli.logs import log
from gstream.telemetry.plain_values import plain_values
from pagestore.errors import plain, visible

LINE_FEED = "\n"  # which values of several lines have
LARGEST_WHOLE = 1e15  # of floats that stand for whole numbers, and are shown as such
SHOWN = 8  # numbers of a vector


def note(text: str) -> None:
    """One line on standard error, and in the log."""
    print(visible(text), file=sys.stderr, flush=True)
    log(text)


def print_json(value: dict[str, Any]) -> None:
    """The one JSON object of --json, on standard output. null is no value; NaN and infinity, which JSON lacks, are the
    strings "NaN", "Infinity" and "-Infinity", which most languages read as numbers."""
    import json

    print(json.dumps(plain_values(value), allow_nan=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
    """Aligned columns on standard output; numbers to the right, missing values as a dash."""
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [all(_is_number(row[i]) for row in cells) for i in range(len(columns))]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    if title:
        print(title)
    for row in [list(columns), *cells]:
        line = "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True))
        print(line.rstrip())


def print_pairs(pairs: Iterable[tuple[str, str]], file: Any = None) -> None:
    """`name   value` lines, aligned; on standard output unless `file` says otherwise."""
    listed = list(pairs)
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        print(f"{name.ljust(width)}  {visible(value, LINE_FEED)}", file=file or sys.stdout)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, list):
        return f"[{', '.join(map(_cell, value[:SHOWN]))}{', ...' if len(value) > SHOWN else ''}]"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < LARGEST_WHOLE else f"{value:.6g}"
    return plain(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "-"
    return True
