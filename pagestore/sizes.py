"""Sizes, counts and times as users write and read them: `2GiB`, `1.2 M edges`, `3 min 20 s`."""

from __future__ import annotations

import re

from pagestore.errors import UsageError, plain

BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([kmgtp]?)(i?b?)\s*", re.IGNORECASE)
MOST_BYTES = 1 << 50  # no machine has it: a slip of the keyboard
BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
COUNT_UNITS = ("", " k", " M", " G", " T")
PLURALS = {"vertex": "vertices"}  # of nouns that take no s


def parse_size(given: str | int | None, option: str = "size") -> int | None:
    """Bytes of `512MiB`, `2G`, `1.5 TiB`, `64k`, `2GB` (decimal) or a plain number; a number of bytes and None stay.

    Raises UsageError, naming `option`, for what is no size or more than any machine has.
    """
    if given is None:
        return None
    text = str(given)
    match = SIZE.fullmatch(text)
    if match:
        number, prefix, suffix = match.groups()
        exponent = "kmgtp".find(prefix.lower()) + 1 if prefix else 0
        unit = 1000**exponent if suffix.lower() == "b" else BINARY[prefix.lower()]
        about = min(float(number) * unit, 2.0 * MOST_BYTES)  # a number of a thousand digits is infinite
        exact = "." not in number and about <= MOST_BYTES
        size = int(number.lstrip("0") or 0) * unit if exact else int(about)
    elif isinstance(given, int) and not isinstance(given, bool):  # a negative one: its own limits refuse it
        return given
    else:
        raise UsageError(f"{option} {plain(text)}: not a size. Write a number with a unit, as 512MiB or 2GiB.")
    if size > MOST_BYTES:
        raise UsageError(f"{option} {plain(text)}: too much; the limit is {show_bytes(MOST_BYTES)}. Pass less.")
    return size


def show_bytes(count: float) -> str:
    """`12.3 MiB`; whole numbers below 1 KiB."""
    value, unit = float(count), 0
    while abs(value) >= 1024 and unit < len(BYTE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return (
        f"{value:.0f} B"
        if unit == 0
        else f"{value:.4g} {BYTE_UNITS[unit]}"
        if value < 1000
        else f"{value:.0f} {BYTE_UNITS[unit]}"
    )


def show_things(count: int, noun: str) -> str:
    """How many there are of what a noun names: `1 edge`, `12,000 edges`, `2 vertices`."""
    return f"{count:,} {noun if count == 1 else PLURALS.get(noun, noun + 's')}"


def show_row(row: int) -> str:
    """What a message calls row `row`, from 0, of a table or an array: people count rows as lines, from 1."""
    return f"row {row + 1} (from 1)"


def show_count(count: float) -> str:
    """`282 k`, `1.47 G`: three digits and a decimal unit."""
    value, unit = float(count), 0
    while abs(value) >= 999.5 and unit < len(COUNT_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g}{COUNT_UNITS[unit]}"


def show_seconds(seconds: float) -> str:
    """`0.123 s`, `3 min 20 s`, `2 h 05 min`, `9,528 days`."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02d} s"
    if minutes < 100 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes / (24 * 60):,.3g} days" if minutes < 1000 * 24 * 60 else f"{round(minutes / (24 * 60)):,} days"
