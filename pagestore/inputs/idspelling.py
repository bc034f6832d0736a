"""How vertex IDs that are numbers are written, wherever a file or an option names one: digits, a sign ahead or none.

Other spellings of whole numbers (1e5, 12.0, 1_000, 0x10, 1,000, full-width digits) are no IDs, because some programs
read them and others do not. A refusal says which number such a text stands for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from pagestore.inputs.signatures import INTEGER, NUMBER, THOUSANDS

PADDED = re.compile(rb"(?<![0-9.])0[0-9]")
MOST_DIGITS = 19  # of 2^63 - 1
PARTED = re.compile(r"[+-]?[0-9]+(_[0-9]+)+\Z")
PREFIXED = re.compile(r"[+-]?0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)\Z")


def bare(text: str) -> str:
    """`text` without what is not seen at its ends: blanks of any kind, control and format characters."""
    first, last = 0, len(text)
    while first < last and not _is_seen(text[first]):
        first += 1
    while last > first and not _is_seen(text[last - 1]):
        last -= 1
    return text[first:last]


def _is_seen(letter: str) -> bool:
    return letter.isprintable() and not letter.isspace()


def zeros_ahead(head: bytes, separator: str | None, columns: Sequence[int]) -> str:
    """The first ID in these columns, from 0, of the lines of `head` that is written with zeros ahead, as 007; "": none.

    Numbers lose them.
    """
    if not PADDED.search(head):
        return ""
    mark = re.escape((separator or "").encode())
    field = rb"[^%b\n]*+%b" % (mark, mark) if separator else rb"[^ \t\n]++[ \t]++"
    for column in sorted(columns):
        if found := re.search(rb'^[ \t]*(?:%b){%d}[ \t]*"?(0+[0-9]+)\b' % (field, column), head, re.MULTILINE):
            return found[1].decode()
    return ""


def meant(text: str) -> int | None:
    """The number from 0 to 2^63 - 1 that a text stands for which is no ID; None where it stands for none."""
    if len(text) > 4 * MOST_DIGITS:
        return None
    word = bare(text)
    number: int | None = None
    if word != text and INTEGER.match(word):
        number = int(word)
    elif NUMBER.match(word):
        number = _whole(word)
    elif PARTED.match(word):
        number = int(word)
    elif PREFIXED.match(word):
        number = int(word, 0)
    elif THOUSANDS.match(word):
        number = int("".join(filter(str.isdigit, word)))
    elif word.isdecimal() and not word.isascii():
        number = int(word)
    return number if number is not None and 0 <= number < 1 << 63 else None


def _whole(text: str) -> int | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if value and not 0 <= value.adjusted() < MOST_DIGITS:
        return None
    return int(value) if value == value.to_integral_value() else None
