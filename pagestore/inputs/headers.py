"""Headers of text formats: their lines and integers, what they promise, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pagestore.errors import InputError, UsageError
from pagestore.inputs.badlines import quoted
from pagestore.inputs.base import MAX_ID, InputOptions
from pagestore.inputs.judge import LineRules
from pagestore.inputs.signatures import INTEGER
from pagestore.inputs.streams import ByteStream

MOST_DIGITS = 40  # of a count, leading zeros among them
REMEDY = "Fix the header, or convert the file."
CUT = "The file was cut or damaged: get it again."


@dataclass(frozen=True)
class Head:
    """The head of a text: the rules of its lines of edges, and the number of the first of them.

    vertices: the number that a header promises; IDs then count from 1. edges: the number of `noun` that its line `line`
    promises.
    """

    rules: LineRules
    first_line: int
    vertices: int | None = None
    edges: int | None = None
    noun: str = "edges"
    line: int = 1


class HeadReader:
    """Takes the lines of a header from a stream; `number` is that of the last one, from 1."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream, self.number = stream, 0

    def next(self, due: str, remedy: str = REMEDY) -> bytes:
        """The next line; InputError where the file ends before `due`."""
        line = self.stream.read_line()
        self.number += 1
        if line is None:
            raise self.error(f"the file ends before {due}", remedy)
        return line

    def error(self, reason: str, remedy: str = REMEDY) -> InputError:
        """What is wrong with the last line."""
        return header_error(self.stream.name, self.number, reason, remedy)

    def integers(self, line: bytes, count: int, meaning: str, most: int = 0) -> list[int]:
        """The `count` (up to `most`) non-negative integers on the last line; `meaning` names them."""
        text = line.decode("utf-8", "replace")
        words = text.split()
        if not count <= len(words) <= max(count, most):
            fields = f"{len(words)} field{'s' * (len(words) != 1)}"
            raise self.error(f"{quoted(text)} has {fields}; {count} are due: {meaning}")
        for word in words:
            if not INTEGER.match(word) or len(word) > MOST_DIGITS or not 0 <= int(word) <= MAX_ID:
                raise InputError(
                    f"{self.stream.name}:{self.number}:{text.index(word) + 1}: {quoted(word)} is no count; {meaning} "
                    f"are integers from 0 to 2^63-1. {REMEDY}"
                )
        return [int(word) for word in words]


def numbered_to(vertices: int) -> dict[str, Any]:
    """Rules of lines whose IDs run from 1 to the number of vertices that a header promises."""
    limit = f"the header lets IDs run from 1 to {vertices}"
    return {"low": 1, "high_source": vertices, "high_target": vertices, "limit": limit}


def header_error(name: str, line: int, reason: str, remedy: str = REMEDY) -> InputError:
    """InputError for line `line` (from 1) of a header."""
    return InputError(f"{name}:{line}:1: {reason}. {remedy}")


def promised_vertices(name: str, vertices: int, options: InputOptions) -> int:
    """`vertices` of a header; UsageError when --num-vertices says otherwise."""
    if options.num_vertices not in (None, vertices):
        raise UsageError(
            f"{name}: its header says {vertices} vertices, --num-vertices {options.num_vertices}. Drop the option."
        )
    return vertices
