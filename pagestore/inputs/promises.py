"""Comments that promise how many vertices and edges a text has, and what is said where it has others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pagestore.inputs.signatures import PROMISES
from pagestore.sizes import show_things


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
    """What to say of counts that differ from what was read; vertices None: they are what an option says."""
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
