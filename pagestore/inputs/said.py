"""What comments and columns of a text say beside its edges: how many there are, and whether the graph is directed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pagestore.errors import InputError
from pagestore.inputs.badlines import quoted, shown
from pagestore.inputs.signatures import DIRECTION_COLUMNS, PROMISES, SAID_DIRECTED, SAID_UNDIRECTED
from pagestore.sizes import show_things

WORDS = {True: "directed", False: "undirected"}


class Promise(NamedTuple):
    """Counts of vertices and of edges; None where nothing promises them."""

    vertices: int | None = None
    edges: int | None = None


def promised_in(comments: Sequence[bytes]) -> Promise:
    """What comments above the first edge promise: SNAP's `Nodes: 5 Edges: 7`, KONECT's second line."""
    for line in comments:
        text = line.decode("utf-8", "replace")
        for pattern in PROMISES:
            if found := pattern.match(text):
                return Promise(*(int(found[name].replace(",", "") or 0) for name in Promise._fields))
    return Promise()


def of_all(promises: Sequence[Promise]) -> Promise:
    """What several files of one graph promise together; they may share vertices, but no edges."""
    if len(promises) == 1:
        return promises[0]
    edges = [promise.edges for promise in promises if promise.edges is not None]
    return Promise(None, sum(edges) if len(edges) == len(promises) else None)


def broken(name: str, promise: Promise, vertices: int | None, edges: int) -> list[str]:
    """Notes on promised counts that differ from those read; vertices None: an option says them."""
    said = []
    if promise.edges not in (None, edges):
        said.append(
            f"{name}: its comments promise {show_things(promise.edges or 0, 'edge')}, and {edges:,} were read. "
            "If it was cut or damaged, get it again."
        )
    if vertices is not None and promise.vertices not in (None, vertices):
        said.append(
            f"{name}: its comments promise {show_things(promise.vertices or 0, 'vertex')}, and its edges name "
            f"{vertices:,}. --num-vertices N adds vertices without edges."
        )
    return said


class Direction(NamedTuple):
    """directed: None if the text does not say. said_by: the part of the text that says it. doubt: a contradiction.

    column, words: a column that says it of each edge, and the words in small letters that agree.
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
        f"column {shown(title)} says {quoted(word)} here and {quoted(first)} above; the edges of a graph are all "
        f"directed, or none is. Write each undirected edge in both directions and pass --directed."
    )
