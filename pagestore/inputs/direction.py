"""Whether a text says that its graph is directed: in comments above its edges, or in a column of each edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pagestore.errors import InputError
from pagestore.inputs.badlines import shown
from pagestore.inputs.signatures import DIRECTION_COLUMNS, SAID_DIRECTED, SAID_UNDIRECTED

WORDS = {True: "directed", False: "undirected"}


class Direction(NamedTuple):
    """directed: None where nothing says it. said_by: what does. doubt: what is to be said of contradictions.

    column, words: the column that says it of each edge, and the words in small letters that agree.
    """

    directed: bool | None = None
    said_by: str = ""
    doubt: str = ""
    column: int | None = None
    words: tuple[str, ...] = ()


def said_in_comments(comments: Sequence[bytes]) -> Direction:
    """What comments above the first edge say: KONECT's first line, SNAP's, or the plain word."""
    lines = [line.decode("utf-8", "replace") for line in comments]
    undirected = any(SAID_UNDIRECTED.search(line) for line in lines)
    directed = any(SAID_DIRECTED.search(line) for line in lines)
    if undirected and directed:
        return Direction(doubt="its comments say both directed and undirected; pass --undirected or --directed")
    if not undirected and not directed:
        return Direction()
    return Direction(directed, "as its comments say")


def said_in_column(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], used: Sequence[int], first_line: int
) -> Direction | None:
    """What a column says of the edges in `rows`, as Gephi's Type, if one does; InputError where the edges differ.

    first_line: number of the line of rows[0], lines without edges left out.
    """
    for column, title in enumerate(header):
        meaning = DIRECTION_COLUMNS.get(title.strip().lower(), DIRECTION_COLUMNS["type"])
        if column in used:
            continue
        held = [row[column].strip().lower() if len(row) > column else "" for row in rows]
        if not held or not all(word in meaning for word in held):
            continue
        directed = meaning[held[0]]
        for at, word in enumerate(held):
            if meaning[word] != directed:
                raise InputError(f"{name}:{first_line + at}:1: {mixed(title, word, held[0])}")
        words = tuple(word for word, means in meaning.items() if means == directed)
        return Direction(directed, f"as column {shown(title)} says", "", column, words)
    return None


def mixed(title: str, word: str, first: str) -> str:
    """What to say of a file with edges of both kinds."""
    return (
        f"column {shown(title)} says {shown(word)!r} here and {shown(first)!r} above; the edges of a graph are all "
        f"directed, or none is. Write each undirected edge in both directions and pass --directed."
    )
