"""Headers of text formats: reading their integers, and what is wrong with them."""

from __future__ import annotations

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import shown
from pagestore.inputs.base import MAX_ID, InputOptions
from pagestore.inputs.signatures import INTEGER

MOST_DIGITS = 40  # of a count, leading zeros among them


def header_error(name: str, line: int, reason: str, remedy: str = "Fix the header, or convert the file.") -> InputError:
    """InputError for line `line` (from 1) of a header."""
    return InputError(f"{name}:{line}:1: {reason}. {remedy}")


def integers(name: str, number: int, line: bytes, count: int, meaning: str, most: int = 0) -> list[int]:
    """The `count` (up to `most`) non-negative integers on a header line; `meaning` names them."""
    text = line.decode("utf-8", "replace")
    words = text.split()
    if not count <= len(words) <= max(count, most):
        raise header_error(
            name, number, f"{shown(text)!r} has {len(words)} field{'s' * (len(words) != 1)}; {count} are due: {meaning}"
        )
    for word in words:
        if not INTEGER.match(word) or len(word) > MOST_DIGITS or not 0 <= int(word) <= MAX_ID:
            column = text.index(word) + 1
            raise InputError(
                f"{name}:{number}:{column}: {shown(word)!r} is no count; {meaning} are integers from 0 to 2^63-1. "
                f"Fix the header, or convert the file."
            )
    return [int(word) for word in words]


def promised_vertices(name: str, vertices: int, options: InputOptions) -> int:
    """`vertices` of a header; UsageError when --num-vertices says otherwise."""
    if options.num_vertices not in (None, vertices):
        raise UsageError(
            f"{name}: its header says {vertices} vertices, --num-vertices {options.num_vertices}. Drop the option."
        )
    return vertices
